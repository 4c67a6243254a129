/*
 * image_launch.c - an image on a device: its frame and lists are sent, strips of tiles are
 * launched one after the other, and the photons come back.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/image_launch.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/progress.h"
#include "compile/jit/hot.h"
#include "gpu/text/block.h"
#include "gpu/tile_rows.h"
#include "gpu/upload.h"
#include "kernels/grid.h"
#include "kernels/rounding.h"

enum { THREADS = GPU_FAST * GPU_SLOW };
_Static_assert((int)THREADS == (int)BLOCK_THREADS, "a thread for each pixel of a tile");

/* ---- how a job is computed ---- */

int image_is_empty(const struct job *job)
{
    return job->roi[1] <= job->roi[0] || job->roi[3] <= job->roi[2] || grid_is_empty(job);
}

static int parts_of(const struct job *job, const struct rounding *rounding, int parts)
{
    return rounding_single_anywhere(rounding, GPU_FAST / parts, GPU_SLOW / parts)
           <= job->tolerance;
}

/* The cost of a row of tiles, in units of what one launch may cost. */
static double share_of_row(const struct gpu_properties *properties, const struct job *job,
                           int across, int single)
{
    const double segments = ceil(gpu_pairs_of(job->frame) / SEGMENT);
    const double bytes = across * segments * THREADS * sizeof(double)
                         + (double)job->frame->nfast * GPU_SLOW * sizeof(double);
    const struct gpu_row row = {across, single, bytes, 1};

    return gpu_share_of_row(properties, job, &row);
}

/* A row of tiles is the smallest launch. It is refused when it costs more than this many
 * launches, in time or in memory. */
static const double too_much = 8;

/* The image of several panels is kept on the device; it may take this share of the memory.
 */
static const double most_share = 0.5;

const char *gpu_refuses(const struct gpu_properties *properties, const struct job *job,
                        int single)
{
    const struct window *w = job->window;
    const double bytes = (double)w->nslow * w->nfast * sizeof(double);

    if (gpu_pairs_of(job->frame) > INT_MAX - SEGMENT)
        return "there are more pairs of source and orientation than a device can count";
    if (w->npanel > 0 && bytes > most_share * (double)properties->memory)
        return "the image of all panels would take too much of the device's memory";
    for (int i = 0; i < window_panels(job->window); i++) {
        const struct job panel = job_of_panel(job, i);
        const int across = (panel.frame->nfast + GPU_FAST - 1) / GPU_FAST;

        if (share_of_row(properties, &panel, across, single) > too_much)
            return "a row of tiles alone would take too long, or too much memory, on the "
                   "device";
    }
    return NULL;
}

double image_row_share(const struct gpu_properties *properties, const struct job *job,
                       const struct gpu_layout *l)
{
    return share_of_row(properties, job, l->across, l->single);
}

static int rows_of_strip(const struct gpu_properties *properties, const struct job *job,
                         const struct gpu_layout *l)
{
    const double rows = 1 / image_row_share(properties, job, l);

    return rows < 1 ? 1 : rows < l->down ? (int)rows : l->down;
}

int image_most(const struct gpu_properties *properties, const struct job *job, int whole)
{
    const struct phys_frame *frame = job->frame;
    const struct gpu_layout l = gpu_layout_of(properties, job, 0, whole);
    const double lists = (double)frame->nsource * sizeof *frame->source
                         + (double)frame->norientation * sizeof *frame->orientation
                         + sizeof(struct gpu_parameters);
    const double share = image_row_share(properties, job, &l) * l.down
                         + lists / gpu_launch_memory(properties);

    return share * GPU_MOST_IMAGES < 1 ? GPU_MOST_IMAGES : (int)(1 / share);
}

struct gpu_layout gpu_layout_of(const struct gpu_properties *properties,
                                const struct job *job, int single, int whole)
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
    l.segments = (int)ceil(gpu_pairs_of(job->frame) / SEGMENT);
    l.strip = rows_of_strip(properties, job, &l);
    l.halves = 1;
    return l;
}

int image_records(const struct gpu_properties *properties, const struct job *job)
{
    enum { FEW = GPU_RECORDINGS / 4 }; /* strips and the last strip of each */
    const int panels = window_panels(job->window);
    struct gpu_layout first = {0};

    for (int i = 0; i < panels && panels > FEW; i++) {
        const struct job panel = job_of_panel(job, i);
        const struct gpu_layout l = gpu_layout_of(properties, &panel, 0, 0);

        if (image_is_empty(&panel)) continue;
        if (first.down == 0) first = l;
        if (l.across != first.across || l.down != first.down) return 0;
    }
    return 1;
}

/* Bytes of photons in a strip that comes back: enough launches to copy beside the next, and
 * each with enough blocks to fill a large device many times. */
static const double most_fetched = 4e6;

/* Divide an image that comes back into equal strips, where there are several, which are
 * copied from two halves of the memory in turn, each while the other is computed. */
static void divide(const struct job *job, struct gpu_layout *l)
{
    const double row = (double)job->frame->nfast * GPU_SLOW * sizeof(double);
    const int most = row < most_fetched ? (int)(most_fetched / row) : 1;
    int strips;

    if (!job->photons) return;
    if (l->strip > most) l->strip = most;
    strips = gpu_strips_of(l);
    l->strip = (l->down + strips - 1) / strips;
    l->halves = strips > 1 ? 2 : 1;
}

/* Reserve the memory of a strip for each of so many images. Columns beside the tiles are
 * never written and stay 0. */
static nb_status reserve_strips(nb_context *ctx, struct gpu_scene *s, const struct job *job,
                                const struct gpu_layout *l, size_t images)
{
    const size_t rows = images * (size_t)l->halves * (size_t)l->strip * GPU_SLOW;
    const size_t nfast = (size_t)job->frame->nfast;
    const size_t tiles = images * (size_t)l->strip * (size_t)l->across;

    NB_TRY(gpu_reserve(ctx, s->gpu, &s->partial,
                       tiles * (size_t)l->segments * THREADS * sizeof(double)));
    if (!job->photons) return NB_OK;
    return gpu_reserve_zeros(ctx, s->gpu, &s->photons, rows * nfast * sizeof(double));
}

nb_status image_common(nb_context *ctx, struct gpu_scene *s, const struct job *job,
                       const struct gpu_layout *l, int images)
{
    NB_TRY(gpu_send_common(ctx, s, job, l->single));
    return reserve_strips(ctx, s, job, l, (size_t)images);
}

void image_describe(const struct gpu_scene *s, const struct job *job,
                    const struct gpu_layout *l, struct gpu_parameters *out)
{
    gpu_describe(s, job, l, out);
    out->first_slow = l->first_slow;
    out->down = l->down;
    out->segments = l->segments;
    out->partial = gpu_pointer(&s->partial);
    out->photons = job->photons ? gpu_pointer(&s->photons) : NULL;
}

nb_status image_prepare(nb_context *ctx, struct gpu_scene *s, const struct job *job,
                        const struct gpu_layout *l, struct gpu_parameters *out,
                        struct gpu_kernel *kernel)
{
    const struct gpu_kernel built = {GPU_IMAGE, job->spec.shape, job->spec.lookup,
                                     l->single, NULL};

    *kernel = built;
    NB_TRY(gpu_send_lists(ctx, s, job));
    NB_TRY(image_common(ctx, s, job, l, 1));
    image_describe(s, job, l, out);
    return hot_kernel(ctx, s, job, l, out, kernel);
}

/* ---- launches ---- */

_Static_assert(sizeof(struct gpu_parameters) <= (size_t)FRONT_BYTES, "sent at once");

struct image_run {
    nb_context *ctx;
    struct gpu_scene *scene;
    const struct job *job;
    struct gpu_layout layout;
    struct gpu_kernel kernel; /* of the Bragg sums */
    struct gpu_parameters parameters;
    double peak; /* photons of the brightest pixel, where float may lose the image */
    struct gpu_strip before; /* the strip before, where strips are copied in turn */
};

/* Half of the memory for photons that a strip uses. */
static int half_of(const struct image_run *run, const struct gpu_strip *strip)
{
    return strip->first / run->layout.strip % run->layout.halves;
}

static size_t half_pixels(const struct image_run *run)
{
    return (size_t)run->layout.strip * GPU_SLOW * (size_t)run->job->frame->nfast;
}

static size_t strip_pixels(const struct image_run *run, const struct gpu_strip *strip)
{
    return (size_t)strip->rows * (size_t)run->job->frame->nfast;
}

/* Wait for the photons of a strip, and give them to the caller. */
static nb_status take_strip(const struct image_run *run, const struct gpu_strip *strip)
{
    const struct gpu *gpu = run->scene->gpu;
    const size_t nfast = (size_t)run->job->frame->nfast;
    const double *photons = (const double *)(const void *)run->scene->strips.memory;
    const int half = half_of(run, strip);

    NB_TRY(gpu->driver->fetched(run->ctx, gpu->device, half));
    memcpy(run->job->photons + (size_t)strip->slow * nfast,
           photons + (size_t)half * half_pixels(run),
           strip_pixels(run, strip) * sizeof *photons);
    return NB_OK;
}

/* Begin to copy a strip back, and take the one before it, beside which it is computed. */
static nb_status fetch_in_turn(struct image_run *run, const struct gpu_strip *strip)
{
    const struct gpu *gpu = run->scene->gpu;
    const int half = half_of(run, strip);
    const size_t at = (size_t)half * half_pixels(run) * sizeof(double);

    NB_TRY(gpu->driver->fetch(run->ctx, gpu->device, half, run->scene->strips.memory + at,
                              run->scene->photons.address + at,
                              strip_pixels(run, strip) * sizeof(double)));
    if (strip->first > 0) NB_TRY(take_strip(run, &run->before));
    run->before = *strip;
    return strip->is_last ? take_strip(run, strip) : NB_OK;
}

static nb_status fetch_strip(struct image_run *run, const struct gpu_strip *strip)
{
    const struct job *job = run->job;
    double *to = job->photons + (size_t)strip->slow * (size_t)job->frame->nfast;

    if (run->layout.halves > 1) return fetch_in_turn(run, strip);
    return gpu_fetch_strip(run->ctx, run->scene, job, strip, run->scene->photons.address,
                           to);
}

static nb_status run_strip(void *user, const struct gpu_strip *strip)
{
    struct image_run *run = user;
    struct gpu_scene *s = run->scene;
    struct gpu_parameters *p = &run->parameters;
    const struct gpu_layout *l = &run->layout;
    const unsigned tiles = (unsigned)strip->tiles;
    const struct gpu_sequence image =
        {"image",
         2,
         {{run->kernel, tiles * (unsigned)l->segments, 0, 0},
          {{GPU_FINISH, 0, 0, l->single, NULL}, tiles, 0, 0}}};

    p->first_slow = strip->slow;
    p->down = strip->down;
    if (p->photons)
        p->photons = (double *)gpu_pointer(&s->photons)
                     + (size_t)half_of(run, strip) * half_pixels(run);
    NB_TRY(gpu_run_with(run->ctx, s, run->job, &image, p, sizeof *p));
    if (p->photons) NB_TRY(fetch_strip(run, strip));
    if (strip->is_last && p->peak) NB_TRY(gpu_fetch_peaks(run->ctx, s, 1, &run->peak));
    if (l->halves > 1 && !strip->is_last) return NB_OK;
    return s->gpu->driver->wait(run->ctx, s->gpu->device);
}

void image_output(const struct gpu_output *out, struct gpu_parameters *p)
{
    p->image = (void *)(uintptr_t)out->address;
    p->image_bits = out->bits;
    p->image_stride[0] = out->stride[0];
    p->image_stride[1] = out->stride[1];
}

/* Set all of the caller's image to 0 where the tiles of the ROI leave some of it out, by
 * finishing tiles that have no rendered pixel. */
static nb_status blank_output(struct image_run *run)
{
    const struct gpu_layout *l = &run->layout;
    const struct gpu_layout all =
        gpu_layout_of(&run->scene->gpu->properties, run->job, l->single, 1);
    const unsigned tiles = (unsigned)all.across * (unsigned)all.down;
    const struct gpu_sequence blank =
        {"blank", 1, {{{GPU_FINISH, 0, 0, l->single, NULL}, tiles, 0, 0}}};
    struct gpu_parameters p = run->parameters;

    if (l->across == all.across && l->down == all.down) return NB_OK;
    memset(p.roi, 0, sizeof p.roi);
    p.first_fast = p.first_slow = 0;
    p.across = all.across;
    p.down = all.down;
    p.photons = NULL;
    return gpu_run_with(run->ctx, run->scene, run->job, &blank, &p, sizeof p);
}

/* Compute the image of one rectangle; *peak is the photons of its brightest pixel, where
 * float may lose it. */
static nb_status run_all(struct progress *progress, struct gpu_scene *s,
                         const struct job *job, int single, const struct gpu_output *out,
                         double *peak)
{
    struct image_run run = {.ctx = progress->ctx, .scene = s, .job = job};
    struct gpu_layout *l = &run.layout;

    *l = gpu_layout_of(&s->gpu->properties, job, single, image_is_empty(job));
    divide(job, l);
    if (l->halves > 1)
        NB_TRY(
            gpu_pin(run.ctx, s->gpu, &s->strips, 2 * half_pixels(&run) * sizeof(double)));
    NB_TRY(image_prepare(run.ctx, s, job, l, &run.parameters, &run.kernel));
    if (out) {
        image_output(out, &run.parameters);
        NB_TRY(blank_output(&run));
    }
    if (gpu_may_lose(job, l->single)) {
        NB_TRY(gpu_clear_peaks(run.ctx, s, 1));
        run.parameters.peak = gpu_pointer(&s->peaks);
    }
    progress_part(progress, 0, 1, gpu_strips_of(l));
    NB_TRY(gpu_run_strips(progress, s->gpu, job, l, run_strip, &run));
    *peak = run.peak;
    return NB_OK;
}

int gpu_may_lose(const struct job *job, int single)
{
    return single && job->spec.shape == PHYS_GAUSS;
}

static nb_status image_of_rectangle(struct progress *progress, struct gpu_scene *s,
                                    const struct job *job, int single,
                                    const struct gpu_output *out)
{
    const int kept = gpu_layout_of(&s->gpu->properties, job, single, 0).single;
    double peak = 0;

    NB_TRY(run_all(progress, s, job, single, out, &peak));
    if (gpu_may_lose(job, kept) && rounding_is_lost(job, peak))
        NB_TRY(run_all(progress, s, job, 0, out, &peak));
    return NB_OK;
}

nb_status gpu_forward(struct progress *progress, struct gpu_scene *scene,
                      const struct job *job, int single, const struct gpu_output *out)
{
    progress_start(progress, job->planned);
    if (job->photons) grid_clear(job);
    if (!out && image_is_empty(job)) return progress_end(progress);
    NB_TRY(gpu_begin_image(progress->ctx, scene, job));
    NB_TRY(job->window->npanel > 0 ? image_of_panels(progress, scene, job, single, out)
                                   : image_of_rectangle(progress, scene, job, single, out));
    return progress_end(progress);
}
