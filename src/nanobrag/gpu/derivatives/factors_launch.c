/*
 * factors_launch.c - cotangents of structure factors, which are added up on the device as
 * whole multiples of a unit (text/derivatives/f_sums.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "gpu/derivatives/derivatives_run.h"
#include "gpu/launch/layout.h"
#include "gpu/text/block.h"
#include "kernels/rounding.h"
#include "physics/step.h"

static size_t places_of(const struct phys_frame *frame)
{
    const int *size = frame->hkl_size;

    return (size_t)size[0] * (size_t)size[1] * (size_t)size[2] + 1;
}

nb_status factors_reserve(struct derivatives_run *run)
{
    const int panels = window_panels(run->image->window);
    struct gpu_scene *s = run->scene;
    size_t pixels = 0;

    run->panels =
        gpu_workspace(run->ctx, &s->views, (size_t)panels * sizeof *run->panels, "panels");
    if (!run->panels) return NB_ERR_MEMORY;
    for (int i = 0; i < panels; i++) {
        const struct job panel = job_of_panel(run->image, i);
        const struct gpu_layout l = gpu_layout_of(&s->gpu->properties, &panel, 0);

        memset(run->panels + i, 0, sizeof *run->panels);
        run->panels[i].before = pixels;
        if (layout_is_empty(&panel)) continue;
        pixels += (size_t)l.down * GPU_SLOW * (size_t)panel.frame->nfast;
    }
    /* columns beside the tiles are never written and stay 0 */
    return gpu_reserve_zeros(run->ctx, s->gpu, &s->sum_bar, pixels * sizeof(double));
}

void factors_prepare(struct derivatives_run *run)
{
    run->panels[run->number].layout = run->layout;
    run->block.jacobian.sum_bar = gpu_pointer(&run->scene->sum_bar);
}

/* Returns how many pixels lie before a strip of the current panel in scene->sum_bar. */
static size_t pixels_before(const struct derivatives_run *run,
                            const struct gpu_strip *strip)
{
    return run->panels[run->number].before
           + (size_t)strip->first * GPU_SLOW * (size_t)run->job->frame->nfast;
}

double *factors_cotangents_of(const struct derivatives_run *run,
                              const struct gpu_strip *strip)
{
    return (double *)gpu_pointer(&run->scene->sum_bar) + pixels_before(run, strip);
}

/* Add the sizes of the cotangents in one row of pixels. */
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

/* The choice of the unit. Let R bound the sum of weighted F^2 of a pixel as the kernel adds
 * it up, without the factor that all samples share, and F_max be the largest structure
 * factor. A pixel whose sum has the cotangent b adds at most 2 |b| R/F_max to one place,
 * since each sample adds 2 b weight F_cell F_latt^2. The total over all pixels bounds every
 * place, so a unit of 2^-62 of that total keeps all sums below 2^63, rounding included.
 *
 * This bound is far above the sums of most images, few of whose samples stand on spots. If
 * the largest sum comes out below 2^48 units, the kernel runs again with a finer unit. Sums
 * may wrap around as long as each final sum fits, so a smaller bound is enough for the
 * second run: the largest sum found, plus one unit for the rounding of each sample. The
 * bound must also cover the sum that the threads of a warp add at once if their pixels have
 * the largest cotangent. */
static const double most_units = 4611686018427387904.0; /* 2^62 */
static const double enough_units = 281474976710656.0; /* 2^48 */

static double largest_addend(const struct job *job)
{
    const double common = phys_constant_factor(job->spec, job->frame);

    return 2 * rounding_largest_sum(job) / (common * job->frame->f_max);
}

/* Returns the number of pixels in the tiles of all panels. */
static double pixels_of_tiles(const struct derivatives_run *run)
{
    double pixels = 0;

    for (int i = 0; i < window_panels(run->image->window); i++) {
        const struct gpu_layout *l = &run->panels[i].layout;

        pixels += (double)l->across * l->down * GPU_FAST * GPU_SLOW;
    }
    return pixels;
}

static double finer_unit(const struct derivatives_run *run, double unit, double largest)
{
    const struct phys_frame *frame = run->image->frame;
    const double subs = (double)frame->oversample * frame->oversample;
    const double at_once = WARP_THREADS * run->cotangents.most * largest_addend(run->image);
    const double pixels = pixels_of_tiles(run);
    const double samples = pixels * subs * frame->nlayers * gpu_pairs_of(frame);

    return fmax((largest + samples) * unit, at_once) / most_units;
}

/* ---- launches ---- */

/* Add the samples of one strip of tiles to scene->f_counts. */
static nb_status run_strip(void *user, int i)
{
    struct derivatives_run *run = user;
    struct gpu_scene *s = run->scene;
    struct gpu_f_parameters *f = &run->block.f;
    const struct gpu_strip strip = gpu_strip_at(&run->layout, run->job->frame->nslow, i);
    const unsigned blocks = (unsigned)strip.tiles * (unsigned)run->layout.segments;
    const struct gpu_sequence sequence = {"structure factors",
                                          1,
                                          {{run->f_kernels[run->layout.single], blocks,
                                            offsetof(struct derivatives_block, f), 0}}};

    f->image.first_slow = strip.slow;
    f->image.down = strip.down;
    f->sum_bar = factors_cotangents_of(run, &strip);
    NB_TRY(gpu_run_with(run->ctx, s, run->job, &sequence, &run->block, sizeof run->block));
    return s->gpu->driver->wait(run->ctx, s->gpu->device);
}

/* Add the samples of panel i to scene->f_counts. The progress continues from `begin`. */
static nb_status add_panel(struct derivatives_run *run, int i, double unit, double begin)
{
    const int panels = window_panels(run->image->window);
    struct gpu_f_parameters *f = &run->block.f;

    run->panel = job_of_panel(run->image, i);
    run->job = &run->panel;
    if (layout_is_empty(run->job)) return NB_OK;
    run->number = i;
    run->layout = run->panels[i].layout;
    NB_TRY(gpu_send_job(run->ctx, run->scene, run->job, &run->layout, &f->image));
    f->count = gpu_pointer(&run->scene->f_counts);
    f->unit = unit;
    progress_part(run->progress, begin + 0.25 * i / panels, 0.25 / panels,
                  gpu_strips_of(&run->layout));
    return gpu_run_launches(run->progress, run->scene->gpu, gpu_strips_of(&run->layout),
                            run_strip, run);
}

/* Compute the sums in a given unit. *largest becomes the largest size of a sum, in units.
 * The progress continues from `begin`. */
static nb_status run_all(struct derivatives_run *run, double unit, double begin,
                         int64_t *counts, double *largest)
{
    struct gpu_scene *s = run->scene;
    const struct gpu_driver *driver = s->gpu->driver;
    const size_t places = places_of(run->image->frame);

    NB_TRY(gpu_reserve(run->ctx, s->gpu, &s->f_counts, places * sizeof *counts));
    NB_TRY(driver->zero(run->ctx, s->gpu->device, s->f_counts.address,
                        places * sizeof *counts));
    for (int i = 0; i < window_panels(run->image->window); i++)
        NB_TRY(add_panel(run, i, unit, begin));
    NB_TRY(driver->download(run->ctx, s->gpu->device, counts, s->f_counts.address,
                            places * sizeof *counts));
    NB_TRY(driver->wait(run->ctx, s->gpu->device));
    *largest = 0;
    for (size_t i = 0; i < places; i++) *largest = fmax(*largest, fabs((double)counts[i]));
    return NB_OK;
}

nb_status factors_gather(struct derivatives_run *run)
{
    const size_t places = places_of(run->image->frame);
    double unit = run->cotangents.total * largest_addend(run->image) / most_units;
    double largest, finer;
    int64_t *counts;

    if (!isfinite(run->cotangents.total)) {
        /* a cotangent that is not finite makes every sum meaningless */
        for (size_t i = 0; i < places; i++) run->out->f[i] = NAN;
        return NB_OK;
    }
    /* all cotangents are 0 */
    if (!(run->cotangents.total * largest_addend(run->image) > 0)) return NB_OK;
    counts = gpu_workspace(run->ctx, &run->scene->counted, places * sizeof *counts,
                           "cotangents of structure factors");
    if (!counts) return NB_ERR_MEMORY;
    NB_TRY(run_all(run, unit, 0.5, counts, &largest));
    finer = finer_unit(run, unit, largest);
    if (largest < enough_units && finer < unit / 4) {
        unit = finer;
        NB_TRY(run_all(run, unit, 0.75, counts, &largest));
    }
    for (size_t i = 0; i < places; i++) run->out->f[i] = (double)counts[i] * unit;
    return NB_OK;
}
