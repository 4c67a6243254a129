/*
 * image.c - an image on a device: the frame and its lists are sent there, bands of tiles
 * are launched one after the other, and their photons come back.
 *
 * SPDX-License-Identifier: MIT
 */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/block.h"
#include "gpu/hot.h"
#include "kernels/grid.h"
#include "kernels/headway.h"
#include "kernels/rounding.h"
#include "physics/step.h"

enum { THREADS = GPU_FAST * GPU_SLOW };
_Static_assert((int)THREADS == (int)BLOCK_THREADS, "a thread for each pixel of a tile");

/* A band should take so many samples, about half a second of a large card, that it can be
 * stopped; and so much of the device's memory for sums that wait. Of a row of tiles, the
 * least there is, gpu_refuses() bounds both. */
static const double most_samples = 5e10;
static const double most_memory = 256e6, most_share = 0.25;

/* ---- how a job is computed ---- */

static double pairs_of(const struct phys_frame *frame)
{
    return (double)frame->nsource * frame->norientation;
}

/* samples of all pixels of a tile */
static double tile_samples(const struct phys_frame *frame)
{
    return THREADS * pairs_of(frame) * frame->nlayers * frame->oversample
           * frame->oversample;
}

static int parts_of(const struct job *job, const struct rounding *rounding, int parts)
{
    return rounding_single_anywhere(rounding, GPU_FAST / parts, GPU_SLOW / parts)
           <= job->tolerance;
}

/* what a row of tiles takes, in units of what a band may: memory or samples */
static double share_of_row(const struct gpu_facts *facts, const struct job *job, int across)
{
    const double memory = fmin(most_memory, most_share * (double)facts->memory);
    const double segments = ceil(pairs_of(job->frame) / SEGMENT);
    const double per_row = across * segments * THREADS * sizeof(double)
                           + (double)job->frame->nfast * GPU_SLOW * sizeof(double);

    return fmax(per_row / memory, tile_samples(job->frame) * across / most_samples);
}

/* a row of tiles is the least there is: so many times what a band should be, and it is too
 * much, in seconds and in memory */
static const double too_much = 8;

const char *gpu_refuses(const struct gpu_facts *facts, const struct job *job)
{
    const int across = (job->frame->nfast + GPU_FAST - 1) / GPU_FAST;

    if (pairs_of(job->frame) > INT_MAX - SEGMENT)
        return "more pairs of source and orientation than its kernels count";
    if (share_of_row(facts, job, across) > too_much)
        return "a row of tiles alone would take too long, or too much memory, there";
    return NULL;
}

static int rows_of_band(const struct gpu_facts *facts, const struct job *job,
                        const struct gpu_layout *l)
{
    const double rows = 1 / share_of_row(facts, job, l->across);

    return rows < 1 ? 1 : rows < l->down ? (int)rows : l->down;
}

struct gpu_layout gpu_layout_of(const struct gpu_facts *facts, const struct job *job,
                                int single, int whole)
{
    const struct rounding rounding = rounding_of(job->frame, job->spec);
    const int all[4] = {0, job->frame->nfast, 0, job->frame->nslow};
    const int *roi = whole ? all : job->roi;
    struct gpu_layout l;

    l.parts = single && !parts_of(job, &rounding, 1) ? 2 : 1;
    l.single = single && parts_of(job, &rounding, l.parts);
    if (!l.single) l.parts = 1;
    l.first_fast = roi[0] / GPU_FAST * GPU_FAST;
    l.first_slow = roi[2] / GPU_SLOW * GPU_SLOW;
    l.across = (roi[1] - l.first_fast + GPU_FAST - 1) / GPU_FAST;
    l.down = (roi[3] - l.first_slow + GPU_SLOW - 1) / GPU_SLOW;
    l.segments = (int)ceil(pairs_of(job->frame) / SEGMENT);
    l.band = rows_of_band(facts, job, &l);
    return l;
}

/* ---- parameters ---- */

/* the rho from which on the profile of a crystal shape is 0 to the bit; below 0: there is
 * none (phys_exp() ends where e^x would not be a number that is normal when squared) */
static double cut_of(const struct job *job, int single)
{
    const double fudge = job->frame->fudge;
    const double least_exponent = single ? -43 : -354;

    if (!(fudge > 0)) return -1;
    if (job->spec.shape == PHYS_GAUSS) return sqrt(-least_exponent * 0.63 / fudge);
    if (job->spec.shape == PHYS_TOPHAT) return sqrt(0.3969 / fudge);
    return -1;
}

/* at least the largest singular value of G^(1/2) A, G the metric and A the rows of an
 * orientation, alike for all of them: the norm of A^T G A by its rows */
static double stretch_of(const struct phys_frame *frame)
{
    const double *a = frame->orientation[0].axes, *m = frame->metric;
    const double g[3][3] = {{m[0], m[3] / 2, m[4] / 2},
                            {m[3] / 2, m[1], m[5] / 2},
                            {m[4] / 2, m[5] / 2, m[2]}};
    double most = 0;

    for (int i = 0; i < 3; i++) {
        double row = 0;

        for (int j = 0; j < 3; j++) {
            double sum = 0;

            for (int k = 0; k < 3; k++)
                for (int l = 0; l < 3; l++) sum += a[3 * k + i] * g[k][l] * a[3 * l + j];
            row += fabs(sum);
        }
        most = fmax(most, row);
    }
    return sqrt(most);
}

static double edges_of(const struct job *job)
{
    const struct rounding r = rounding_of(job->frame, job->spec);

    return r.edges[0] + r.edges[1] + r.edges[2];
}

/* an address as the kernels' text spells it */
static void *at(const struct gpu_buffer *buffer)
{
    return (void *)(uintptr_t)buffer->address;
}

/* the lists of a frame, and the frame with the device's addresses of them */
static nb_status send_frame(nb_context *ctx, struct gpu_scene *s, const struct job *job,
                            int single, struct phys_frame *out)
{
    const struct phys_frame *frame = job->frame;
    const int *size = frame->hkl_size;
    const size_t places = (size_t)size[0] * (size_t)size[1] * (size_t)size[2] + 1;
    const int looks_up = job->spec.lookup != PHYS_CONSTANT;

    NB_TRY(gpu_put(ctx, s->gpu, &s->sources, frame->source,
                   (size_t)frame->nsource * sizeof *frame->source));
    NB_TRY(gpu_put(ctx, s->gpu, &s->orientations, frame->orientation,
                   (size_t)frame->norientation * sizeof *frame->orientation));
    if (frame->nstol > 0)
        NB_TRY(gpu_put(ctx, s->gpu, &s->stol, frame->stol,
                       (size_t)frame->nstol * sizeof *frame->stol));
    if (looks_up && (s->f_moves || s->f_sent != 1 + single)) {
        s->f_sent = 0;
        NB_TRY(gpu_put(ctx, s->gpu, &s->f,
                       single ? (const void *)frame->f_single : (const void *)frame->f,
                       places * (single ? sizeof(float) : sizeof(double))));
        s->f_sent = 1 + single;
    }
    *out = *frame;
    out->source = at(&s->sources);
    out->orientation = at(&s->orientations);
    out->stol = at(&s->stol);
    out->f = single ? NULL : at(&s->f);
    out->f_single = single ? at(&s->f) : NULL;
    return NB_OK;
}

static nb_status send_mask(nb_context *ctx, struct gpu_scene *s, const struct job *job)
{
    const size_t pixels = (size_t)job->frame->nslow * (size_t)job->frame->nfast;
    nb_status status;

    if (!job->mask || s->mask.address) return NB_OK; /* it never changes */
    status = gpu_put(ctx, s->gpu, &s->mask, job->mask, pixels);
    if (status != NB_OK) gpu_drop(s->gpu, &s->mask);
    return status;
}

/* memory of a band; columns beside the tiles are never written, and stay 0 */
static nb_status make_room(nb_context *ctx, struct gpu_scene *s, const struct job *job,
                           const struct gpu_layout *l)
{
    const size_t rows = (size_t)l->band * GPU_SLOW, nfast = (size_t)job->frame->nfast;
    const size_t tiles = (size_t)l->band * (size_t)l->across;
    const size_t bytes = rows * nfast * sizeof(double);
    double *zeros;
    nb_status status;

    NB_TRY(gpu_reserve(ctx, s->gpu, &s->partial,
                       tiles * (size_t)l->segments * THREADS * sizeof(double)));
    if (!job->photons || bytes <= s->photons.bytes) return NB_OK;
    zeros = calloc(rows * nfast, sizeof *zeros);
    if (!zeros) return fail_memory(ctx, "a band of an image");
    status = gpu_put(ctx, s->gpu, &s->photons, zeros, bytes);
    free(zeros);
    if (status != NB_OK) gpu_drop(s->gpu, &s->photons);
    return status;
}

static nb_status prepare(nb_context *ctx, struct gpu_scene *s, const struct job *job,
                         const struct gpu_layout *l, struct gpu_parameters *out)
{
    memset(out, 0, sizeof *out);
    NB_TRY(send_frame(ctx, s, job, l->single, &out->frame));
    NB_TRY(send_mask(ctx, s, job));
    NB_TRY(make_room(ctx, s, job, l));
    out->factor = phys_constant_factor(job->spec, job->frame);
    out->cut = cut_of(job, l->single);
    out->stretch = stretch_of(job->frame);
    out->edges = edges_of(job);
    memcpy(out->roi, job->roi, sizeof out->roi);
    out->mask = job->mask ? at(&s->mask) : NULL;
    out->parts = l->parts;
    out->first_fast = l->first_fast;
    out->across = l->across;
    out->segments = l->segments;
    out->partial = at(&s->partial);
    out->photons = job->photons ? at(&s->photons) : NULL;
    return NB_OK;
}

/* ---- launches ---- */

/* rows of tiles from number `first` on, into the image */
static nb_status run_band(nb_context *ctx, struct gpu_scene *s, const struct job *job,
                          const struct gpu_layout *l, int first,
                          const struct gpu_kernel *kernel,
                          struct gpu_parameters *parameters)
{
    const struct gpu_driver *driver = s->gpu->driver;
    const int down = first + l->band < l->down ? l->band : l->down - first;
    const unsigned tiles = (unsigned)(down * l->across);
    const int slow = l->first_slow + first * GPU_SLOW;
    const int end = slow + down * GPU_SLOW;
    const int rows = (end < job->frame->nslow ? end : job->frame->nslow) - slow;
    const size_t nfast = (size_t)job->frame->nfast;
    const struct gpu_sequence image = {"image",
                                       2,
                                       {{*kernel, tiles * (unsigned)l->segments, 0},
                                        {{GPU_FINISH, 0, 0, l->single, NULL}, tiles, 0}}};

    parameters->first_slow = slow;
    parameters->down = down;
    NB_TRY(gpu_put(ctx, s->gpu, &s->parameters, parameters, sizeof *parameters));
    NB_TRY(gpu_run(ctx, s, job, &image));
    if (job->photons)
        NB_TRY(driver->download(ctx, s->gpu->device, job->photons + (size_t)slow * nfast,
                                s->photons.address, (size_t)rows * nfast * sizeof(double)));
    return driver->wait(ctx, s->gpu->device);
}

static void set_output(const struct gpu_output *out, struct gpu_parameters *p)
{
    p->image = (void *)(uintptr_t)out->address;
    p->image_bits = out->bits;
    p->image_stride[0] = out->stride[0];
    p->image_stride[1] = out->stride[1];
}

/* Everything in an image of the caller's 0, by finishing tiles none of whose pixels are
 * rendered, where those of the ROI leave some out. */
static nb_status blank_output(nb_context *ctx, struct gpu_scene *s, const struct job *job,
                              const struct gpu_layout *l, struct gpu_parameters p)
{
    const struct gpu_layout all = gpu_layout_of(&s->gpu->facts, job, l->single, 1);
    const unsigned tiles = (unsigned)all.across * (unsigned)all.down;
    const struct gpu_sequence blank = {"blank",
                                       1,
                                       {{{GPU_FINISH, 0, 0, l->single, NULL}, tiles, 0}}};

    if (l->across == all.across && l->down == all.down) return NB_OK;
    memset(p.roi, 0, sizeof p.roi);
    p.first_fast = p.first_slow = 0;
    p.across = all.across;
    p.down = all.down;
    p.photons = NULL;
    NB_TRY(gpu_put(ctx, s->gpu, &s->parameters, &p, sizeof p));
    return gpu_run(ctx, s, job, &blank);
}

static int is_empty(const struct job *job)
{
    return job->roi[1] <= job->roi[0] || job->roi[3] <= job->roi[2];
}

static nb_status run_all(struct headway *headway, struct gpu_scene *s,
                         const struct job *job, int single, const struct gpu_output *out)
{
    nb_context *ctx = headway->ctx;
    const struct gpu_layout l = gpu_layout_of(&s->gpu->facts, job, single, is_empty(job));
    const int bands = (l.down + l.band - 1) / l.band;
    struct gpu_kernel kernel = {GPU_IMAGE, job->spec.shape, job->spec.lookup, l.single,
                                NULL};
    struct gpu_parameters parameters;

    NB_TRY(prepare(ctx, s, job, &l, &parameters));
    NB_TRY(hot_kernel(ctx, s, job, &l, &parameters, &kernel));
    if (out) {
        set_output(out, &parameters);
        NB_TRY(blank_output(ctx, s, job, &l, parameters));
    }
    headway_part(headway, 0, 1, bands);
    for (int first = 0; first < l.down && !headway_stopped(headway); first += l.band) {
        NB_TRY(run_band(ctx, s, job, &l, first, &kernel, &parameters));
        headway_step(headway);
    }
    return headway_check(headway);
}

static double brightest(const struct job *job)
{
    const size_t n = (size_t)job->frame->nslow * (size_t)job->frame->nfast;
    double peak = 0;

    assert(job->photons);
    for (size_t i = 0; i < n; i++) peak = fmax(peak, job->photons[i]);
    return peak;
}

int gpu_needs_photons(const struct job *job, int single)
{
    return single && job->spec.shape == PHYS_GAUSS;
}

nb_status gpu_forward(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                      int single, const struct gpu_output *out)
{
    struct headway headway;

    headway_start(&headway, ctx, job);
    if (job->photons) grid_blank(job);
    if (!out && is_empty(job)) return headway_end(&headway);
    NB_TRY(gpu_begin(ctx, scene));
    NB_TRY(run_all(&headway, scene, job, single, out));
    if (job->photons && gpu_needs_photons(job, single)
        && rounding_is_lost(job, brightest(job)))
        NB_TRY(run_all(&headway, scene, job, 0, out));
    return headway_end(&headway);
}
