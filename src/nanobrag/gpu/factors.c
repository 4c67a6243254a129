/*
 * factors.c - cotangents of structure factors, added up on the device in whole multiples of
 * a unit (text/derivatives/f_block.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/derivatives_run.h"
#include "kernels/rounding.h"
#include "physics/step.h"

/* The cotangents of all pixels' sums: the sum and the maximum of their sizes. */
struct cotangents {
    double total, most;
};

static size_t places_of(const struct phys_frame *frame)
{
    const int *size = frame->hkl_size;

    return (size_t)size[0] * (size_t)size[1] * (size_t)size[2] + 1;
}

nb_status factors_prepare(struct derivatives_run *run)
{
    const size_t rows = (size_t)run->layout.down * GPU_SLOW;
    struct gpu_buffer *sum_bar = &run->scene->sum_bar;

    NB_TRY(gpu_reserve(run->ctx, run->scene->gpu, sum_bar,
                       rows * (size_t)run->job->frame->nfast * sizeof(double)));
    run->block.jacobian.sum_bar = gpu_pointer(sum_bar);
    return NB_OK;
}

/* Add the cotangents of one row of pixels; columns outside the tiles were not written. */
static void add_cotangents(const struct derivatives_run *run, const double *row,
                           struct cotangents *cotangents)
{
    const struct gpu_layout *l = &run->layout;
    const int end = l->first_fast + l->across * GPU_FAST;
    const int nfast = run->job->frame->nfast;

    for (int f = l->first_fast; f < end && f < nfast; f++) {
        cotangents->total += fabs(row[f]);
        cotangents->most = fmax(cotangents->most, fabs(row[f]));
    }
}

static nb_status find_cotangents(struct derivatives_run *run, struct cotangents *out)
{
    const struct gpu *gpu = run->scene->gpu;
    const size_t nfast = (size_t)run->job->frame->nfast;
    nb_status status = NB_OK;

    for (int first = 0; first < run->layout.down && status == NB_OK;
         first += run->layout.strip) {
        const struct derivatives_strip strip = derivatives_strip_at(run, first);
        const size_t n = (size_t)strip.rows * nfast;
        const size_t before = (size_t)first * GPU_SLOW * nfast;
        double *bar = malloc(n * sizeof *bar);

        if (!bar) return fail_memory(run->ctx, "a strip of cotangents");
        status =
            gpu->driver->download(run->ctx, gpu->device, bar,
                                  run->scene->sum_bar.address + before * sizeof(double),
                                  n * sizeof *bar);
        if (status == NB_OK) status = gpu->driver->wait(run->ctx, gpu->device);
        for (int s = 0; status == NB_OK && s < strip.rows; s++)
            add_cotangents(run, bar + (size_t)s * nfast, out);
        free(bar);
    }
    return status;
}

/*
 * The choice of the unit. Let R bound the sum of weighted F^2 of a pixel as the kernel adds
 * it up, without the factor that all samples share, and F be the largest structure factor.
 * A pixel whose sum has the cotangent b adds at most 2 |b| R/F to one place, since each
 * sample adds 2 b (weight F^2)/F. The total over all pixels bounds every place, so a unit
 * of 2^-62 of that total keeps all sums below 2^63, rounding included.
 *
 * This bound is far above the sums of most images, few of whose samples stand on spots.
 * Where the largest sum came out below 2^48 units the kernel runs again with a finer unit.
 * Sums wrap around without harm as long as the last one fits, so the bound is then the
 * largest sum that was found plus half a unit for each rounded sample, and at least what
 * one sub-pixel of the largest cotangent adds at once.
 */
static const double most_units = 4611686018427387904.0; /* 2^62 */
static const double enough_units = 281474976710656.0; /* 2^48 */

static double largest_addend(const struct job *job)
{
    const double common = phys_constant_factor(job->spec, job->frame);

    return 2 * rounding_largest_sum(job) / (common * job->frame->f_max);
}

static double finer_unit(const struct derivatives_run *run,
                         const struct cotangents *cotangents, double unit, double largest)
{
    const struct phys_frame *frame = run->job->frame;
    const double subs = (double)frame->oversample * frame->oversample;
    const double pixels =
        (double)run->layout.across * run->layout.down * GPU_FAST * GPU_SLOW;
    const double samples = pixels * subs * frame->nlayers * gpu_pairs_of(frame);

    return fmax((largest + samples) * unit,
                cotangents->most * largest_addend(run->job) / subs)
           / most_units;
}

/* ---- launches ---- */

/* Add one strip of tiles to the counts. */
static nb_status run_strip(struct derivatives_run *run, int first)
{
    struct gpu_scene *s = run->scene;
    const struct derivatives_strip strip = derivatives_strip_at(run, first);
    struct gpu_f_parameters *f = &run->block.f;
    const unsigned blocks =
        (unsigned)(strip.down * run->layout.across) * (unsigned)run->layout.segments;
    const struct gpu_sequence sequence = {"structure factors",
                                          1,
                                          {{run->f_kernel, blocks,
                                            offsetof(struct derivatives_block, f), 0}}};

    f->image.first_slow = strip.slow;
    f->image.down = strip.down;
    f->sum_bar = (const double *)gpu_pointer(&s->sum_bar)
                 + (size_t)first * GPU_SLOW * (size_t)run->job->frame->nfast;
    NB_TRY(gpu_put(run->ctx, s->gpu, &s->parameters, &run->block, sizeof run->block));
    NB_TRY(gpu_run(run->ctx, s, run->job, &sequence));
    return s->gpu->driver->wait(run->ctx, s->gpu->device);
}

/* Compute the sums in a given unit; *largest is the largest of them, in units. */
static nb_status run_all(struct derivatives_run *run, double unit, int64_t *counts,
                         double *largest)
{
    struct gpu_scene *s = run->scene;
    const struct gpu_driver *driver = s->gpu->driver;
    const size_t places = places_of(run->job->frame);
    struct gpu_f_parameters *f = &run->block.f;

    memset(counts, 0, places * sizeof *counts);
    NB_TRY(gpu_put(run->ctx, s->gpu, &s->f_counts, counts, places * sizeof *counts));
    f->image = run->block.jacobian.image;
    f->image.photons = NULL;
    f->image.segments = run->layout.segments;
    f->count = gpu_pointer(&s->f_counts);
    f->unit = unit;
    for (int first = 0; first < run->layout.down; first += run->layout.strip) {
        NB_TRY(run_strip(run, first));
        progress_step(run->progress);
        NB_TRY(progress_check(run->progress));
    }
    NB_TRY(driver->download(run->ctx, s->gpu->device, counts, s->f_counts.address,
                            places * sizeof *counts));
    NB_TRY(driver->wait(run->ctx, s->gpu->device));
    *largest = 0;
    for (size_t i = 0; i < places; i++) *largest = fmax(*largest, fabs((double)counts[i]));
    return NB_OK;
}

static nb_status gather(struct derivatives_run *run, const struct cotangents *cotangents,
                        int64_t *counts)
{
    const size_t places = places_of(run->job->frame);
    const int strips = (run->layout.down + run->layout.strip - 1) / run->layout.strip;
    const double share = 1.0 / run->parts;
    double unit = cotangents->total * largest_addend(run->job) / most_units, largest, finer;

    progress_part(run->progress, share * run->part, share / 2, strips);
    NB_TRY(run_all(run, unit, counts, &largest));
    finer = finer_unit(run, cotangents, unit, largest);
    if (largest < enough_units && finer < unit / 4) {
        unit = finer;
        progress_part(run->progress, share * (run->part + 0.5), share / 2, strips);
        NB_TRY(run_all(run, unit, counts, &largest));
    }
    for (size_t i = 0; i < places; i++) run->out->f[i] = (double)counts[i] * unit;
    return NB_OK;
}

nb_status factors_gather(struct derivatives_run *run)
{
    const size_t places = places_of(run->job->frame);
    struct cotangents cotangents = {0, 0};
    int64_t *counts;
    nb_status status;

    NB_TRY(find_cotangents(run, &cotangents));
    if (!isfinite(cotangents.total)) {
        /* a cotangent that is not finite makes every sum meaningless */
        for (size_t i = 0; i < places; i++) run->out->f[i] = NAN;
        return NB_OK;
    }
    if (!(cotangents.total * largest_addend(run->job) > 0)) return NB_OK; /* all are 0 */
    counts = malloc(places * sizeof *counts);
    if (!counts) return fail_memory(run->ctx, "cotangents of structure factors");
    status = gather(run, &cotangents, counts);
    free(counts);
    return status;
}
