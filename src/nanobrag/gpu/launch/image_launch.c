/*
 * image_launch.c - computes images on a device by launches, one after the other. The
 * photons of a launch come back to the host while the next launch computes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/array.h"
#include "base/progress.h"
#include "compile/jit/hot.h"
#include "gpu/launch/layout.h"
#include "gpu/launch/views.h"
#include "gpu/text/block.h"
#include "gpu/upload.h"
#include "kernels/grid.h"

/* ---- parameters ---- */

/* Set where kernels write the photons of a view. If they come back to the host, they go to
 * dense rows of pixels from the address `dense` on, beginning with the strip's first row.
 * Else they go to the view's place in the caller's image. */
static void place_output(const struct gpu_view *view, const struct gpu_strip *rows,
                         gpu_address dense, struct gpu_parameters *p)
{
    const struct window *w = view->job.window;
    int64_t first = -(int64_t)rows->slow * view->job.frame->nfast;

    p->image_bits = 64;
    p->image_stride[0] = view->job.frame->nfast;
    p->image_stride[1] = 1;
    if (!view_comes_back(view)) {
        dense = (gpu_address)(uintptr_t)view->to->data;
        p->image_bits = view->to->bits;
        for (int i = 0; i < 2; i++) p->image_stride[i] = array_stride(view->to, i);
        first = w->slow0 * p->image_stride[0] + w->fast0 * p->image_stride[1];
    }
    p->image = (void *)(uintptr_t)(dense + (gpu_address)(first * (p->image_bits / 8)));
}

static const void *behind(const void *list, size_t bytes)
{
    return (const void *)((uintptr_t)list + bytes);
}

/* Fill in the parameters for a strip of view i. Its Bragg sums begin at the start of their
 * buffer. */
static void describe(const struct image_run *run, int i, const struct gpu_strip *rows,
                     gpu_address dense, struct gpu_parameters *p)
{
    const struct gpu_view *view = run->view + i;

    gpu_describe(run->scene, &view->job, &view->layout, p);
    p->frame.source = behind(p->frame.source, view->lists);
    p->frame.orientation = behind(p->frame.orientation, view->lists);
    p->first_slow = rows->slow;
    p->down = rows->down;
    place_output(view, rows, dense, p);
    if (gpu_may_lose(&view->job, view->layout.single))
        p->peak = (unsigned long long *)gpu_pointer(&run->scene->peaks) + i;
    if (!view->blank) return;
    p->frame.nslow = view->job.window->nslow;
    p->frame.nfast = view->job.window->nfast;
}

/* Let hot_kernel() choose the kernel of all views that are like view `alike`. Each call
 * compares the sums of another of these views, because some views are dark. */
static nb_status choose_kernel(struct image_run *run, int alike)
{
    struct gpu_view *view = run->view;
    const struct phys_spec spec = view[alike].job.spec;
    const int compared = run->scene->verifications.compared;
    struct gpu_parameters p;
    struct gpu_strip rows;
    int n = 1, number, i;

    for (i = alike + 1; i < run->views; i++) n += view[i].alike == alike;
    /* hot.c goes through the rows of tiles by the same number */
    number = (compared + compared / n) % n;
    for (i = alike; number > 0 || view[i].alike != alike; i++)
        number -= view[i].alike == alike;
    rows = gpu_strip_at(&view[i].layout, view[i].job.frame->nslow, 0);
    describe(run, i, &rows, 0, &p);
    view[alike].kernel = (struct gpu_kernel){GPU_IMAGE, spec.shape, spec.lookup,
                                             view[alike].layout.single, NULL};
    return hot_kernel(run->ctx, run->scene, &view[i].job, &view[i].layout, &p,
                      &view[alike].kernel);
}

/* Send the data that views share, reserve memory, and choose kernels. */
static nb_status prepare(struct image_run *run)
{
    const struct gpu_plan *plan = &run->plan;
    const size_t room = (size_t)plan->most_strips * sizeof(struct gpu_parameters);
    const size_t photons =
        (plan->launches > 1 ? 2 : 1) * plan->most_pixels * sizeof(double);
    struct gpu_scene *s = run->scene;

    NB_TRY(gpu_front_lists(run->ctx, s, room, run->lists));
    NB_TRY(gpu_reserve(run->ctx, s->gpu, &s->partial,
                       plan->most_blocks * BLOCK_THREADS * sizeof(double)));
    /* pixels beside the tiles are copied back too, but no kernel writes them */
    NB_TRY(gpu_reserve_zeros(run->ctx, s->gpu, &s->photons, photons));
    NB_TRY(gpu_pin(run->ctx, s->gpu, &s->strips, photons));
    if (plan->loses) NB_TRY(gpu_clear_peaks(run->ctx, s, run->views));
    for (int i = 0; i < run->views; i++) {
        const struct gpu_view *view = run->view + i;

        if (view->alike != i || view->blank) continue;
        NB_TRY(gpu_send_common(run->ctx, s, &view->job, view->layout.single));
        NB_TRY(choose_kernel(run, i));
    }
    return NB_OK;
}

/* ---- photons ---- */

/* Returns where a launch's pixels begin in the memory of photons, in pixels. GPU_FETCHES
 * launches take turns in this memory. */
static size_t pixels_before(const struct image_run *run, int launch)
{
    return (size_t)(launch % GPU_FETCHES) * run->plan.most_pixels;
}

/* Write the photons of a strip to the caller's image. */
static void deliver(const struct gpu_view *view, const struct gpu_strip *rows,
                    const double *photons)
{
    const struct gpu_layout *l = &view->layout;
    const struct window *w = view->job.window;
    const int nfast = view->job.frame->nfast, first = l->first_fast;
    const int width = min_int(l->across * GPU_FAST, nfast - first);

    for (int r = 0; r < rows->rows; r++, photons += nfast)
        array_set_row(view->to, w->slow0 + rows->slow + r, w->fast0 + first, width,
                      photons + first);
}

/* Wait until the photons of a launch have come back, and write them to the images. */
static nb_status take(const struct image_run *run, int launch)
{
    const struct gpu *gpu = run->scene->gpu;
    const double *photons = (const double *)(const void *)run->scene->strips.memory;
    const struct gpu_bundle *b = run->plan.bundle + max_int(launch, 0);

    if (launch < 0 || b->pixels == 0) return NB_OK;
    NB_TRY(gpu->driver->fetched(run->ctx, gpu->device, launch % GPU_FETCHES));
    for (int i = b->begin; i < b->end; i++) {
        const struct view_strip *strip = run->plan.strip + i;

        deliver(run->view + strip->view, &strip->rows,
                photons + pixels_before(run, launch) + strip->pixels);
    }
    return NB_OK;
}

/* Begin to copy the photons of a launch to the host. */
static nb_status fetch(const struct image_run *run, int launch)
{
    const struct gpu_scene *s = run->scene;
    const size_t at = pixels_before(run, launch) * sizeof(double);

    return s->gpu->driver->fetch(run->ctx, s->gpu->device, launch % GPU_FETCHES,
                                 s->strips.memory + at, s->photons.address + at,
                                 run->plan.bundle[launch].pixels * sizeof(double));
}

/* ---- launches ---- */

/* Send the parameters of a launch, and run its kernels. */
static nb_status launch(const struct image_run *run, const struct gpu_bundle *b,
                        const struct gpu_parameters *p)
{
    const struct gpu_view *view = run->view + run->plan.strip[b->begin].view;
    const unsigned tiles = (unsigned)b->most_tiles, n = (unsigned)(b->end - b->begin);
    const struct gpu_launch finish = {{GPU_FINISH, 0, 0, view->layout.single, NULL},
                                      tiles,
                                      0,
                                      n};
    struct gpu_sequence sequence = {n > 1 ? "images" : "image",
                                    2,
                                    {{run->view[view->alike].kernel,
                                      tiles * (unsigned)view->layout.segments, 0, n},
                                     finish}};

    if (view->blank) sequence = (struct gpu_sequence){"blank", 1, {finish}};
    return gpu_run_with(run->ctx, run->scene, &view->job, &sequence, p, n * sizeof *p);
}

/* Run a launch, and meanwhile take the photons of the launch before. If no photons come
 * back, wait for the launch, so that the call can be stopped. */
static nb_status run_launch(void *user, int number)
{
    struct image_run *run = user;
    struct gpu_scene *s = run->scene;
    const struct gpu_plan *plan = &run->plan;
    const struct gpu_bundle *b = plan->bundle + number;
    struct gpu_parameters *p =
        gpu_workspace(run->ctx, &s->staged, (size_t)plan->most_strips * sizeof *p,
                      "parameters of a launch");

    if (!p) return NB_ERR_MEMORY;
    for (int i = b->begin; i < b->end; i++) {
        const struct view_strip *strip = plan->strip + i;
        const size_t pixels = pixels_before(run, number) + strip->pixels;

        describe(run, strip->view, &strip->rows,
                 s->photons.address + pixels * sizeof(double), p + i - b->begin);
        p[i - b->begin].partial += strip->blocks * BLOCK_THREADS;
    }
    NB_TRY(launch(run, b, p));
    if (b->pixels > 0) NB_TRY(fetch(run, number));
    if (b->pixels > 0) return take(run, number - 1);
    return number + 1 < plan->launches ? s->gpu->driver->wait(run->ctx, s->gpu->device)
                                       : NB_OK;
}

/* Fetch the brightest pixels of all views. */
static nb_status fetch_peaks(struct image_run *run)
{
    struct gpu_scene *s = run->scene;
    double *peaks = gpu_workspace(run->ctx, &s->staged, (size_t)run->views * sizeof *peaks,
                                  "peaks of images");

    if (!peaks) return NB_ERR_MEMORY;
    NB_TRY(gpu_fetch_peaks(run->ctx, s, run->views, peaks));
    NB_TRY(s->gpu->driver->wait(run->ctx, s->gpu->device));
    for (int i = 0; i < run->views; i++) run->view[i].peak = peaks[i];
    return NB_OK;
}

/* Compute all views that are not done. */
static nb_status run_views(struct image_run *run)
{
    const struct gpu_plan *plan = &run->plan;
    const struct gpu *gpu = run->scene->gpu;

    NB_TRY(views_plan(run));
    if (plan->launches == 0) return NB_OK;
    if (plan->sequences >= GPU_RECORDINGS) run->scene->graphs.paused = 1;
    NB_TRY(prepare(run));
    progress_part(run->progress, 0, 1, plan->launches);
    NB_TRY(gpu_run_launches(run->progress, gpu, plan->launches, run_launch, run));
    NB_TRY(take(run, plan->launches - 1));
    return plan->loses ? fetch_peaks(run) : gpu->driver->wait(run->ctx, gpu->device);
}

nb_status views_run(struct image_run *run)
{
    NB_TRY(run_views(run));
    if (views_keep_lost(run) == 0) return NB_OK;
    run->scene->graphs.paused = 1;
    return run_views(run);
}

nb_status gpu_forward(struct progress *progress, struct gpu_scene *scene,
                      const struct job *job, int single, const nb_array *out)
{
    const struct window *w = job->window;
    const nb_array photons = nb_array_f64(job->photons, w->nslow, w->nfast);
    struct image_run run = {progress, progress->ctx, scene, .single = single};

    progress_start(progress, job->planned);
    if (job->photons) grid_clear(job);
    if (!out && layout_is_empty(job)) return progress_end(progress);
    NB_TRY(gpu_begin_image(run.ctx, scene, job));
    gpu_lists_of(job->frame, run.lists);
    NB_TRY(views_reserve(&run, job, 1));
    views_add(&run, job, out ? out : &photons, 0);
    NB_TRY(views_run(&run));
    return progress_end(progress);
}
