/* jacobian_runs.c - see jacobian_runs.h. SPDX-License-Identifier: MIT */
#include "emulation/jacobian_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/text/parameters.h"
#include "kernels/grid.h"
#include "kernels/rounding.h"
#include "physics/step.h"
#include "simulator.h"
#include "support/plant.h"
#include "support/renders.h"
#include "support/scenes.h"

static void *zeros(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p) abort();
    return p;
}

/* ---- a scene and its tangents ---- */

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
    const double unit = t->unit[a];
    char name[64];

    memcpy(name, t->name[a], sizeof name);
    t->dot[a] = t->dot[b];
    t->unit[a] = t->unit[b];
    memcpy(t->name[a], t->name[b], sizeof name);
    t->dot[b] = dot;
    t->unit[b] = unit;
    memcpy(t->name[b], name, sizeof name);
}

static void find_tangents(struct device_run *t)
{
    const size_t n = nb_nparam(t->sim);
    struct lattice_at at;

    t->n = (int)n;
    t->dot = zeros(n, sizeof *t->dot);
    t->name = zeros(n, sizeof *t->name);
    t->unit = zeros(n, sizeof *t->unit);
    if (simulator_lattice(t->sim, &t->scene, &t->frame, 0, &at) != NB_OK) abort();
    for (size_t i = 0; i < n; i++) {
        const double one = 1;
        nb_param param;

        t->dot[i].source = zeros((size_t)t->frame.nsource, sizeof *t->dot->source);
        t->dot[i].rotation = zeros((size_t)t->frame.norientation, sizeof *t->dot->rotation);
        simulator_tangent(t->sim, &at, i, 1, &one, t->dot + i);
        if (nb_param_at(t->sim, i, &param) != NB_OK) abort();
        (void)snprintf(t->name[i], sizeof t->name[i], "%s", param.name);
        t->unit[i] = 1 / param.scale;
        if (turns(&t->frame, t->dot + i)) swap(t, (int)i, t->turning++);
    }
}

static int renders(const struct job *job, int f, int s)
{
    return f >= job->roi[0] && f < job->roi[1] && s >= job->roi[2] && s < job->roi[3]
           && (!job->mask || job->mask[(size_t)s * (size_t)job->frame->nfast + (size_t)f]);
}

static void find_truth(struct device_run *t, int lanes)
{
    const struct adjoint_kernels *adjoint_kernels =
        lanes ? kernels_lanes("").adjoint_precise : &adjoint_kernels_reference;
    unsigned char *turning = zeros((size_t)t->n, sizeof *turning);
    const struct tangents along = jacobian_tangents(&t->frame, t->n, t->dot, turning);
    void *workspace = zeros(jacobian_workspace_size((size_t)t->n, (size_t)t->frame.nsource,
                                                    (size_t)t->frame.norientation),
                            1);
    double *change = zeros((size_t)t->n * TILE_PIXELS, sizeof *change);
    const int nfast = t->frame.nfast, nslow = t->frame.nslow;

    for (int slow = 0; slow < nslow; slow += TILE_SLOW)
        for (int fast = 0; fast < nfast; fast += TILE_FAST) {
            const struct tile tile = grid_whole(fast, slow, TILE_FAST, TILE_SLOW);
            double photons[TILE_PIXELS];

            adjoint_kernels->jacobian[t->job.spec.shape][t->job.spec.lookup](&t->job, &tile,
                                                                             &along,
                                                                             workspace,
                                                                             NULL, photons,
                                                                             change);
            for (int i = 0; i < TILE_PIXELS; i++) {
                const int f = fast + i % TILE_FAST, s = slow + i / TILE_FAST;
                const size_t at = (size_t)s * (size_t)nfast + (size_t)f;

                if (f >= nfast || s >= nslow || !renders(&t->job, f, s)) continue;
                t->photons[at] = photons[i];
                t->peak = fmax(t->peak, photons[i]);
                for (int d = 0; d < t->n; d++)
                    t->change[(size_t)d * t->pixels + at] =
                        change[(size_t)d * TILE_PIXELS + (size_t)i];
            }
        }
    free(change);
    free(workspace);
    free(turning);
}

void device_run_make(const nb_scene *scene, int lanes, struct device_run *t)
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
    t->photons = zeros(t->pixels, sizeof *t->photons);
    t->job = simulator_job(t->sim, &t->scene, &t->frame, NULL);
    t->job.scratch = aligned_alloc(64, TILE_SCRATCH);
    if (!t->job.scratch) abort();
    find_tangents(t);
    t->change = zeros((size_t)t->n * t->pixels, sizeof *t->change);
    find_truth(t, lanes);
}

void device_run_drop(struct device_run *t)
{
    for (int d = 0; d < t->n; d++) {
        free(t->dot[d].source);
        free(t->dot[d].rotation);
    }
    free(t->dot);
    free(t->name);
    free(t->unit);
    free(t->f_single);
    free(t->photons);
    free(t->change);
    free(t->job.scratch);
    nb_simulator_free(t->sim);
    nb_context_free(t->ctx);
}

/* ---- structure factors ---- */

size_t jacobian_places(const struct device_run *t)
{
    const int *size = t->frame.hkl_size;

    return (size_t)size[0] * (size_t)size[1] * (size_t)size[2] + 1;
}

void jacobian_f_truth(const struct device_run *t, const double *bar, double *f_bar)
{
    const struct adjoint_kernels *adjoint_kernels = kernels_lanes("").adjoint_precise;
    struct phys_frame_tangent out = {0};
    double given[TILE_PIXELS], photons[TILE_PIXELS];
    const struct objective cotangent = {.linear = 1, .given = given};

    out.source = zeros((size_t)t->frame.nsource, sizeof *out.source);
    out.rotation = zeros((size_t)t->frame.norientation, sizeof *out.rotation);
    out.f = f_bar;
    for (int slow = 0; slow < t->frame.nslow; slow += TILE_SLOW)
        for (int fast = 0; fast < t->frame.nfast; fast += TILE_FAST) {
            const struct tile tile = grid_whole(fast, slow, TILE_FAST, TILE_SLOW);

            for (int i = 0; i < TILE_PIXELS; i++) {
                const int f = fast + i % TILE_FAST, s = slow + i / TILE_FAST;
                const int in =
                    f < t->frame.nfast && s < t->frame.nslow && renders(&t->job, f, s);

                given[i] = in ? bar[(size_t)s * (size_t)t->frame.nfast + (size_t)f] : 0;
            }
            (void)adjoint_kernels->vjp[t->job.spec.shape][t->job.spec.lookup](&t->job,
                                                                              &tile,
                                                                              &cotangent,
                                                                              NULL, &out,
                                                                              photons);
        }
    free(out.source);
    free(out.rotation);
}
