/*
 * derivatives_upload.c - uploads the images and tangents that derivatives need.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "gpu/derivatives/derivatives_run.h"

nb_status derivatives_send_inputs(struct derivatives_run *run, const struct job *image)
{
    const struct gpu_derivatives_job *request = run->request;

    NB_TRY(gpu_send_input(run->ctx, run->scene, image, &request->cotangent, 0,
                          &run->cotangent));
    return gpu_send_target(run->ctx, run->scene, image, &request->target, &run->target);
}

/* ---- tangents ---- */

static int moves_sources(const struct phys_frame *frame,
                         const struct phys_frame_tangent *dot)
{
    for (int i = 0; i < frame->nsource; i++)
        if (phys_source_inner(dot->source + i, dot->source + i) != 0) return 1;
    return 0;
}

/* Append a list to the staged bytes. Returns the address that the list will have on the
 * device. */
static void *append(char *staged, size_t *end, gpu_address address, const void *list,
                    size_t bytes)
{
    void *at = (void *)(uintptr_t)(address + *end);

    memcpy(staged + *end, list, bytes);
    *end += bytes;
    return at;
}

/* Stage the numbers of all tangents of a pass, then the lists that kernels read: rotations
 * for tangents that rotate orientations, sources for tangents that move a source. Returns
 * the number of bytes. */
static size_t stage(struct derivatives_run *run, char *staged, gpu_address address)
{
    const struct derivatives_pass *pass = &run->pass;
    const struct phys_frame *frame = run->job->frame;
    struct gpu_derivatives_parameters *p = &run->block.jacobian;
    struct phys_frame_tangent *dot = (struct phys_frame_tangent *)(void *)staged;
    size_t end = (size_t)pass->n * sizeof *dot;

    p->moving = 0;
    for (int i = 0; i < pass->n; i++) {
        const struct phys_frame_tangent *from = run->along.dot + pass->at[i];

        dot[i] = *from;
        dot[i].f = NULL;
        dot[i].touched = NULL;
        dot[i].rotation = NULL;
        dot[i].source = NULL;
        if (i < pass->rotating)
            dot[i].rotation = append(staged, &end, address, from->rotation,
                                     (size_t)frame->norientation * sizeof *from->rotation);
        if (!moves_sources(frame, from)) continue;
        p->moving |= 1u << i;
        dot[i].source = append(staged, &end, address, from->source,
                               (size_t)frame->nsource * sizeof *from->source);
    }
    return end;
}

nb_status derivatives_send_tangents(struct derivatives_run *run)
{
    const struct phys_frame *frame = run->job->frame;
    const struct derivatives_pass *pass = &run->pass;
    struct gpu_derivatives_parameters *p = &run->block.jacobian;
    struct gpu_buffer *tangents = &run->scene->tangents;
    const size_t most = (size_t)pass->n
                            * (sizeof(struct phys_frame_tangent)
                               + (size_t)frame->nsource * sizeof(struct phys_source))
                        + (size_t)pass->rotating * (size_t)frame->norientation
                              * sizeof(struct phys_rotation);
    char *staged = gpu_workspace(run->ctx, &run->scene->staged, most + 1, "tangents");

    if (!staged) return NB_ERR_MEMORY;
    NB_TRY(gpu_reserve(run->ctx, run->scene->gpu, tangents, most + 1));
    p->n = pass->n;
    p->turning = pass->rotating;
    p->dot = gpu_pointer(tangents);
    return gpu_put(run->ctx, run->scene->gpu, tangents, staged,
                   stage(run, staged, tangents->address));
}
