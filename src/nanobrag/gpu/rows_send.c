/* rows_send.c - images and tangents to the device. SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "gpu/rows_run.h"

/* ---- images ---- */

/* the rows of an image behind each other, or NULL */
static void *pack(const struct gpu_input *input, size_t nslow, size_t nfast, size_t size)
{
    const char *from = input->host;
    char *dense = malloc(nslow * nfast * size);

    for (size_t s = 0; dense && s < nslow; s++)
        for (size_t f = 0; f < nfast; f++)
            memcpy(dense + (s * nfast + f) * size,
                   from
                       + ((int64_t)s * input->stride[0] + (int64_t)f * input->stride[1])
                             * (int64_t)size,
                   size);
    return dense;
}

static nb_status send_host(struct rows_run *run, const struct gpu_input *input,
                           struct gpu_buffer *buffer)
{
    const size_t nslow = (size_t)run->job->frame->nslow;
    const size_t nfast = (size_t)run->job->frame->nfast;
    const size_t size = input->bits == 64 ? sizeof(double) : sizeof(float);
    void *dense = NULL;
    nb_status status;

    if (input->stride[1] != 1 || input->stride[0] != (int64_t)nfast) {
        dense = pack(input, nslow, nfast, size);
        if (!dense) return fail_memory(run->ctx, "an image");
    }
    status = gpu_put(run->ctx, run->scene->gpu, buffer, dense ? dense : input->host,
                     nslow * nfast * size);
    free(dense);
    return status;
}

static nb_status send_input(struct rows_run *run, const struct gpu_input *input,
                            struct gpu_buffer *buffer, struct gpu_image *out)
{
    const void *at = (const void *)(uintptr_t)input->device;

    if (input->host) {
        NB_TRY(send_host(run, input, buffer));
        at = gpu_at(buffer);
    }
    out->wide = input->bits == 64 ? at : NULL;
    out->single = input->bits == 32 ? at : NULL;
    return NB_OK;
}

nb_status rows_send_inputs(struct rows_run *run)
{
    const struct gpu_rows_job *rows = run->rows;
    struct gpu_rows_parameters *p = &run->block.rows;
    struct gpu_buffer *inputs = run->scene->inputs;

    p->target.kind = rows->kind;
    p->target.sigma_readout = rows->sigma_readout;
    p->target.gain = rows->gain == 0 ? 1 : rows->gain;
    p->target.delta = rows->delta == 0 ? 1 : rows->delta;
    NB_TRY(send_input(run, &rows->pull, inputs, &p->pull));
    NB_TRY(send_input(run, &rows->observed, inputs + 1, &p->target.observed));
    return send_input(run, &rows->weight, inputs + 2, &p->target.weight);
}

/* ---- tangents ---- */

static int moves(const struct phys_frame *frame, const struct phys_slope *dot)
{
    for (int i = 0; i < frame->nsource; i++)
        if (phys_source_inner(dot->source + i, dot->source + i) != 0) return 1;
    return 0;
}

/* a list behind those that are there; where it will lie on the device */
static void *append(char *staged, size_t *end, gpu_address address, const void *list,
                    size_t bytes)
{
    void *at = (void *)(uintptr_t)(address + *end);

    memcpy(staged + *end, list, bytes);
    *end += bytes;
    return at;
}

/* numbers of all tangents, then the lists that are read: turns of those that turn, sources
 * of those that move one. Returns the bytes of all */
static size_t stage(struct rows_run *run, const struct rows_pass *pass, char *staged,
                    gpu_address address)
{
    const struct phys_frame *frame = run->job->frame;
    struct gpu_rows_parameters *p = &run->block.rows;
    struct phys_slope *dot = (struct phys_slope *)(void *)staged;
    size_t end = (size_t)pass->n * sizeof *dot;

    p->moving = 0;
    for (int i = 0; i < pass->n; i++) {
        const struct phys_slope *from = run->rows->dot + pass->at[i];

        dot[i] = *from;
        dot[i].f = NULL;
        dot[i].touched = NULL;
        dot[i].turn = NULL;
        dot[i].source = gpu_at(&run->scene->sources); /* not read */
        if (i < pass->turning)
            dot[i].turn = append(staged, &end, address, from->turn,
                                 (size_t)frame->norientation * sizeof *from->turn);
        if (!moves(frame, from)) continue;
        p->moving |= 1u << i;
        dot[i].source = append(staged, &end, address, from->source,
                               (size_t)frame->nsource * sizeof *from->source);
    }
    return end;
}

nb_status rows_send_tangents(struct rows_run *run, const struct rows_pass *pass)
{
    const struct phys_frame *frame = run->job->frame;
    struct gpu_buffer *tangents = &run->scene->tangents;
    const size_t most =
        (size_t)pass->n
            * (sizeof(struct phys_slope)
               + (size_t)frame->nsource * sizeof(struct phys_source))
        + (size_t)pass->turning * (size_t)frame->norientation * sizeof(struct phys_turn);
    char *staged = malloc(most + 1);
    nb_status status;

    if (!staged) return fail_memory(run->ctx, "tangents");
    status = gpu_reserve(run->ctx, run->scene->gpu, tangents, most + 1);
    if (status == NB_OK) {
        const size_t bytes = stage(run, pass, staged, tangents->address);

        status = gpu_put(run->ctx, run->scene->gpu, tangents, staged, bytes);
    }
    free(staged);
    run->block.rows.n = pass->n;
    run->block.rows.turning = pass->turning;
    run->block.rows.dot = gpu_at(tangents);
    return status;
}
