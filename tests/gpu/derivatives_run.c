/* derivatives_run.c - see derivatives_run.h. SPDX-License-Identifier: MIT */
#include "gpu/derivatives_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator.h"
#include "support/renders.h"
#include "support/scenes.h"

static void *zeros(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p) abort();
    return p;
}

static int turns(const struct phys_frame *frame, const struct phys_frame_tangent *dot)
{
    for (int k = 0; k < frame->norientation; k++) {
        const struct phys_rotation *t = dot->rotation + k;

        if (t->by[0] != 0 || t->by[1] != 0 || t->by[2] != 0 || t->weight != 0) return 1;
    }
    return 0;
}

static void swap(struct device_run *t, int a, int b)
{
    const struct phys_frame_tangent dot = t->dot[a];

    t->dot[a] = t->dot[b];
    t->dot[b] = dot;
}

static void find_tangents(struct device_run *t)
{
    const size_t n = nb_simulator_nparam(t->sim);
    struct lattice_at at;

    t->n = (int)n;
    t->dot = zeros(n, sizeof *t->dot);
    if (simulator_lattice(t->sim, &t->scene, &t->frame, 0, &at) != NB_OK) abort();
    for (size_t i = 0; i < n; i++) {
        const double one = 1;

        t->dot[i].source = zeros((size_t)t->frame.nsource, sizeof *t->dot->source);
        t->dot[i].rotation = zeros((size_t)t->frame.norientation, sizeof *t->dot->rotation);
        simulator_tangent(t->sim, &at, i, 1, &one, t->dot + i);
        if (turns(&t->frame, t->dot + i)) swap(t, (int)i, t->turning++);
    }
}

void device_run_make(const nb_scene *scene, struct device_run *t)
{
    const struct phys_frame *frame;

    memset(t, 0, sizeof *t);
    t->ctx = renders_context(1);
    if (nb_simulator_create(t->ctx, scene, "*", NULL, &t->sim) != NB_OK
        || simulator_frame(t->sim, NULL, &t->scene, &frame) != NB_OK) {
        (void)fprintf(stderr, "%s\n", nb_context_message(t->ctx));
        abort();
    }
    t->frame = *frame;
    t->f_single = zeros(jacobian_places(t), sizeof *t->f_single);
    for (size_t i = 0; t->frame.f && i < jacobian_places(t); i++)
        t->f_single[i] = (float)t->frame.f[i];
    t->pixels = (size_t)t->frame.nfast * (size_t)t->frame.nslow;
    t->job = simulator_job(t->sim, &t->scene, &t->frame, NULL);
    find_tangents(t);
}

void device_run_drop(struct device_run *t)
{
    for (int d = 0; d < t->n; d++) {
        free(t->dot[d].source);
        free(t->dot[d].rotation);
    }
    free(t->dot);
    free(t->f_single);
    nb_simulator_free(t->sim);
    nb_context_free(t->ctx);
}

size_t jacobian_places(const struct device_run *t)
{
    const int *size = t->frame.hkl_size;

    return (size_t)size[0] * (size_t)size[1] * (size_t)size[2] + 1;
}
