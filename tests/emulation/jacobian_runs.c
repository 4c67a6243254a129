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

/* ---- runs ---- */

/* 1 when a kernel makes all the sums that tangent d needs */
static int suits(const struct device_run *t, const struct derivative_kernel *kernel, int d)
{
    const struct phys_frame_tangent *dot = t->dot + d;
    double strain = 0, crystal = fabs(dot->fudge);

    for (int i = 0; i < 9; i++) strain += fabs(dot->strain[i]);
    for (int i = 0; i < 3; i++) crystal += fabs(dot->ncells[i]);
    for (int i = 0; i < 6; i++) crystal += fabs(dot->metric[i]);
    return (kernel->strain || strain == 0) && (kernel->crystal || crystal == 0)
           && (kernel->turns > 0 || d >= t->turning);
}

int jacobian_next(const struct device_run *t, struct jacobian_way *way)
{
    const struct derivative_kernel *kernel =
        &way->kernels->jacobian[t->job.spec.shape][t->job.spec.lookup][way->kind];

    while (way->first < t->n && !suits(t, kernel, way->first)) way->first++;
    for (way->n = 0; way->n < TANGENTS_MOST && way->first + way->n < t->n; way->n++) {
        const int d = way->first + way->n;

        if (!suits(t, kernel, d) || (d < t->turning && way->n == kernel->turns)) break;
    }
    return way->n;
}

/* a profile that ends, and how fast rho may change */
static void find_cut(const struct device_run *t, struct gpu_parameters *image)
{
    const double *a = t->frame.orientation[0].axes, *m = t->frame.metric;
    double axes2 = 0, metric = 0;

    image->cut = -1;
    if (t->job.spec.shape == PHYS_GAUSS) image->cut = sqrt(354 * 0.63 / t->frame.fudge);
    if (t->job.spec.shape == PHYS_TOPHAT) image->cut = sqrt(0.3969 / t->frame.fudge);
    for (int i = 0; i < 9; i++) axes2 += a[i] * a[i];
    for (int i = 0; i < 6; i++) metric += fabs(m[i]);
    image->stretch = sqrt(axes2 * metric);
}

struct gpu_derivatives_parameters jacobian_parameters(const struct device_run *t,
                                                      const struct jacobian_way *way)
{
    const struct rounding rounding = rounding_of(&t->frame, t->job.spec);
    struct gpu_derivatives_parameters p;
    struct gpu_parameters *image = &p.image;

    memset(&p, 0, sizeof p);
    image->frame = t->frame;
    image->frame.f_single = t->f_single;
    image->factor = phys_constant_factor(t->job.spec, &t->frame);
    image->edges = rounding.edges[0] + rounding.edges[1] + rounding.edges[2];
    find_cut(t, image);
    memcpy(image->roi, t->job.roi, sizeof image->roi);
    image->stride = t->frame.nfast;
    image->mask = t->job.mask;
    image->parts = way->parts;
    image->across = (t->frame.nfast + GPU_FAST - 1) / GPU_FAST;
    image->down = (t->frame.nslow + GPU_SLOW - 1) / GPU_SLOW;
    p.n = way->n;
    p.dot = t->dot + way->first;
    p.turning = t->turning - way->first;
    if (p.turning < 0) p.turning = 0;
    if (p.turning > way->n) p.turning = way->n;
    for (int d = 0; d < way->n; d++)
        for (int i = 0; i < t->frame.nsource; i++)
            if (phys_source_inner(p.dot[d].source + i, p.dot[d].source + i) != 0)
                p.moving |= 1u << d;
    return p;
}

/* bands of rows of tiles, whose photons, changes or totals follow each other */
static void run(const struct device_run *t, const struct jacobian_way *way,
                const struct gpu_derivatives_parameters *all)
{
    const struct derivative_kernel *kernel =
        &way->kernels->jacobian[t->job.spec.shape][t->job.spec.lookup][way->kind];
    const int strips = way->strips ? way->strips : 1, down = all->image.down;

    if (!kernel->block || all->turning > kernel->turns || all->n > TANGENTS_MOST) abort();
    for (int strip = 0; strip < strips; strip++) {
        const int first = down * strip / strips, end = down * (strip + 1) / strips;
        struct gpu_derivatives_parameters p = *all;
        const int n = (end - first) * p.image.across;

        p.image.first_slow = first * GPU_SLOW;
        p.image.down = end - first;
        if (p.totals) p.totals += (size_t)(first * p.image.across) * (size_t)p.length;
        for (int i = 0; i < n; i++) kernel->block(&p, way->reversed ? n - 1 - i : i);
    }
}

void jacobian_changes(const struct device_run *t, const struct jacobian_way *way,
                      double *photons, double *change)
{
    struct gpu_derivatives_parameters p = jacobian_parameters(t, way);
    const size_t rows = (size_t)p.image.down * GPU_SLOW, nfast = (size_t)t->frame.nfast;
    double *padded = zeros((size_t)p.n * rows * nfast, sizeof *padded);

    p.end = REDUCE_NOTHING;
    p.change = padded;
    p.image.photons = photons;
    run(t, way, &p);
    for (int d = 0; d < p.n; d++)
        memcpy(change + (size_t)d * t->pixels, padded + (size_t)d * rows * nfast,
               t->pixels * sizeof *change);
    free(padded);
    plant_numbers("pixel", photons, t->pixels);
    for (int d = 0; d < p.n; d++)
        plant_numbers("jacobian", change + (size_t)d * t->pixels, t->pixels);
}

void jacobian_totals(const struct device_run *t, const struct jacobian_way *way,
                     struct gpu_derivatives_parameters *p, double *out)
{
    const int normal = p->end == REDUCE_NORMAL || p->end == REDUCE_SQUARES;
    int count = p->image.across * p->image.down;
    struct gpu_sum_parameters sum = {0};
    double *from, *to;

    sum.length = p->length =
        normal ? 2 + p->n + p->n * (p->n + 1) / 2 : SUM_LIST + p->n + 1;
    from = zeros((size_t)count * (size_t)p->length, sizeof *from);
    to = zeros((size_t)count * (size_t)p->length, sizeof *to);
    p->totals = from;
    run(t, way, p);
    do {
        const int blocks = (count + SUM_FAN - 1) / SUM_FAN;
        double *swapped = from;

        sum.from = from;
        sum.to = to;
        sum.count = count;
        sum.n = p->n;
        sum.dot = p->dot;
        sum.gradient = blocks == 1 && !normal ? out : NULL;
        for (int i = 0; i < blocks; i++)
            way->kernels->sum(&sum, way->reversed ? blocks - 1 - i : i);
        from = to;
        to = swapped;
        count = blocks;
    } while (count > 1);
    if (normal) memcpy(out, from, (size_t)(p->length - 1) * sizeof *out);
    plant_numbers("loss", out, 1);
    plant_numbers("gradient", out + 1, (size_t)p->n);
    if (normal) plant_numbers("matrix", out + 1 + p->n, (size_t)(p->length - 2 - p->n));
    free(from);
    free(to);
}

/* ---- structure factors ---- */

size_t jacobian_places(const struct device_run *t)
{
    const int *size = t->frame.hkl_size;

    return (size_t)size[0] * (size_t)size[1] * (size_t)size[2] + 1;
}

void jacobian_f(const struct device_run *t, const struct jacobian_way *way,
                const double *bar, double *f_bar)
{
    const size_t places = jacobian_places(t);
    struct gpu_derivatives_parameters p = jacobian_parameters(t, way);
    struct gpu_f_parameters f = {0};
    const size_t rows = (size_t)p.image.down * GPU_SLOW, nfast = (size_t)t->frame.nfast;
    double *sum_bar = zeros(rows * nfast, sizeof *sum_bar), out[1 + TANGENTS_MOST];
    int blocks;

    p.end = REDUCE_COTANGENT;
    p.cotangent.wide = bar;
    p.sum_bar = sum_bar;
    jacobian_totals(t, way, &p, out);
    f.image = p.image;
    f.image.segments = (t->frame.nsource * t->frame.norientation + 1023) / 1024;
    f.sum_bar = sum_bar;
    f.unit = t->peak * 1e-16;
    f.count = zeros(places, sizeof *f.count);
    blocks = f.image.across * f.image.down * f.image.segments;
    for (int i = 0; i < blocks; i++)
        way->kernels->f[t->job.spec.shape][t->job.spec.lookup](&f, way->reversed
                                                                       ? blocks - 1 - i
                                                                       : i);
    for (size_t i = 0; i < places; i++) f_bar[i] = (double)f.count[i] * f.unit;
    plant_numbers("factors", f_bar, places);
    free(f.count);
    free(sum_bar);
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
