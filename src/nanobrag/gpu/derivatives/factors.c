/*
 * factors.c - cotangents of structure factors, added up on the device in whole multiples of
 * a unit (text/derivatives/f_block.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "gpu/derivatives/derivatives_run.h"
#include "gpu/text/block.h"
#include "kernels/rounding.h"
#include "physics/step.h"

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
    run->cotangents.total = run->cotangents.most = 0;
    return NB_OK;
}

/* How many pixels are before a strip. */
static size_t pixels_before(const struct derivatives_run *run,
                            const struct gpu_strip *strip)
{
    return (size_t)strip->first * GPU_SLOW * (size_t)run->job->frame->nfast;
}

double *factors_cotangents_of(const struct derivatives_run *run,
                              const struct gpu_strip *strip)
{
    return (double *)gpu_pointer(&run->scene->sum_bar) + pixels_before(run, strip);
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

nb_status factors_add_cotangents(struct derivatives_run *run, const struct gpu_strip *strip)
{
    struct gpu_scene *s = run->scene;
    const size_t nfast = (size_t)run->job->frame->nfast;
    const gpu_address from =
        s->sum_bar.address + pixels_before(run, strip) * sizeof(double);
    double *bar =
        gpu_workspace(run->ctx, &s->staged, (size_t)strip->rows * nfast * sizeof *bar,
                      "a strip of cotangents");

    if (!bar) return NB_ERR_MEMORY;
    NB_TRY(gpu_fetch_strip(run->ctx, s, run->job, strip, from, bar));
    NB_TRY(s->gpu->driver->wait(run->ctx, s->gpu->device));
    for (int i = 0; i < strip->rows; i++)
        add_cotangents(run, bar + (size_t)i * nfast, &run->cotangents);
    return NB_OK;
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
 * the threads of a warp, with pixels of the largest cotangent, add at once.
 */
static const double most_units = 4611686018427387904.0; /* 2^62 */
static const double enough_units = 281474976710656.0; /* 2^48 */

static double largest_addend(const struct job *job)
{
    const double common = phys_constant_factor(job->spec, job->frame);

    return 2 * rounding_largest_sum(job) / (common * job->frame->f_max);
}

static double finer_unit(const struct derivatives_run *run, double unit, double largest)
{
    const struct phys_frame *frame = run->job->frame;
    const double subs = (double)frame->oversample * frame->oversample;
    const double at_once = WARP_THREADS * run->cotangents.most * largest_addend(run->job);
    const double pixels =
        (double)run->layout.across * run->layout.down * GPU_FAST * GPU_SLOW;
    const double samples = pixels * subs * frame->nlayers * gpu_pairs_of(frame);

    return fmax((largest + samples) * unit, at_once) / most_units;
}

/* ---- launches ---- */

/* Add one strip of tiles to the counts. */
static nb_status run_strip(void *user, const struct gpu_strip *strip)
{
    struct derivatives_run *run = user;
    struct gpu_scene *s = run->scene;
    struct gpu_f_parameters *f = &run->block.f;
    const unsigned blocks = (unsigned)strip->tiles * (unsigned)run->layout.segments;
    const struct gpu_sequence sequence = {"structure factors",
                                          1,
                                          {{run->f_kernel, blocks,
                                            offsetof(struct derivatives_block, f), 0}}};

    f->image.first_slow = strip->slow;
    f->image.down = strip->down;
    f->sum_bar = factors_cotangents_of(run, strip);
    NB_TRY(gpu_run_with(run->ctx, s, run->job, &sequence, &run->block, sizeof run->block));
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

    NB_TRY(gpu_reserve(run->ctx, s->gpu, &s->f_counts, places * sizeof *counts));
    NB_TRY(driver->zero(run->ctx, s->gpu->device, s->f_counts.address,
                        places * sizeof *counts));
    f->image = run->block.jacobian.image;
    f->image.photons = NULL;
    f->image.segments = run->layout.segments;
    f->count = gpu_pointer(&s->f_counts);
    f->unit = unit;
    NB_TRY(gpu_run_strips(run->progress, s->gpu, run->job, &run->layout, run_strip, run));
    NB_TRY(driver->download(run->ctx, s->gpu->device, counts, s->f_counts.address,
                            places * sizeof *counts));
    NB_TRY(driver->wait(run->ctx, s->gpu->device));
    *largest = 0;
    for (size_t i = 0; i < places; i++) *largest = fmax(*largest, fabs((double)counts[i]));
    return NB_OK;
}

nb_status factors_gather(struct derivatives_run *run)
{
    const size_t places = places_of(run->job->frame);
    const int strips = gpu_strips_of(&run->layout);
    double unit = run->cotangents.total * largest_addend(run->job) / most_units;
    double largest, finer;
    int64_t *counts;

    if (!isfinite(run->cotangents.total)) {
        /* a cotangent that is not finite makes every sum meaningless */
        for (size_t i = 0; i < places; i++) run->out->f[i] = NAN;
        return NB_OK;
    }
    if (!(run->cotangents.total * largest_addend(run->job) > 0)) return NB_OK; /* all 0 */
    counts = gpu_workspace(run->ctx, &run->scene->counted, places * sizeof *counts,
                           "cotangents of structure factors");
    if (!counts) return NB_ERR_MEMORY;
    derivatives_part(run, run->part, 0.5, strips);
    NB_TRY(run_all(run, unit, counts, &largest));
    finer = finer_unit(run, unit, largest);
    if (largest < enough_units && finer < unit / 4) {
        unit = finer;
        derivatives_part(run, run->part + 0.5, 0.5, strips);
        NB_TRY(run_all(run, unit, counts, &largest));
    }
    for (size_t i = 0; i < places; i++) run->out->f[i] += (double)counts[i] * unit;
    return NB_OK;
}
