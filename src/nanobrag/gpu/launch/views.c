/*
 * views.c - plans the launches that compute the views of a call.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/launch/views.h"

#include <math.h>
#include <string.h>

#include "gpu/launch/layout.h"
#include "gpu/text/frame_flags.h"
#include "kernels/rounding.h"

/* ---- views ---- */

int view_comes_back(const struct gpu_view *view)
{
    return view->to->device == NB_DEVICE_CPU;
}

/* Limit of the bytes copied for one launch, to the device or back. The limit divides a call
 * into several launches, so that a copy runs beside the next launch. Each launch still has
 * enough blocks to fill a large device. */
static const double most_copied = 4e6;

/* Returns the cost of `rows` rows of a view's tiles, as a fraction of the limit of one
 * launch. */
static double share_of(const struct image_run *run, const struct gpu_view *view, int rows)
{
    const double row = (double)view->job.frame->nfast * GPU_SLOW * sizeof(double);
    const double copied =
        (view_comes_back(view) ? rows * row : 0) + sizeof(struct gpu_parameters);

    return fmax(copied / most_copied, view->blank
                                          ? 0
                                          : rows
                                                * layout_share(&run->scene->gpu->properties,
                                                               &view->job, &view->layout));
}

/* Lay out a view. Several strips get equal sizes. */
static void lay_out(const struct image_run *run, struct gpu_view *view, int single)
{
    struct gpu_layout *l = &view->layout;

    *l = gpu_layout_of(&run->scene->gpu->properties, &view->job, single);
    l->strip = layout_rows(share_of(run, view, 1), l->down);
    l->strip = divide_up(l->down, gpu_strips_of(l));
    view->frame_flags = frame_flags_of(view->job.frame, l->parts);
}

nb_status views_reserve(struct image_run *run, const struct job *job, int images)
{
    const size_t each = 1 + (size_t)window_panels(job->window);

    run->view = gpu_workspace(run->ctx, &run->scene->views,
                              (size_t)images * each * sizeof *run->view, "views");
    return run->view ? NB_OK : NB_ERR_MEMORY;
}

/* Returns how many pixels of the image lie in the tiles of a view. */
static int64_t pixels_in_tiles(const struct gpu_view *view)
{
    const struct gpu_layout *l = &view->layout;
    const struct phys_frame *frame = view->job.frame;

    return (int64_t)min_int(l->across * GPU_FAST, frame->nfast - l->first_fast)
           * min_int(l->down * GPU_SLOW, frame->nslow - l->first_slow);
}

/* Returns a view that sets all pixels of an image to 0. */
static struct gpu_view blank_of(const struct job *job, const nb_array *to, size_t lists)
{
    const struct window *w = job->window;
    struct gpu_view view = {.job = *job, .to = to, .lists = lists, .blank = 1};

    memset(view.job.roi, 0, sizeof view.job.roi);
    view.layout = (struct gpu_layout){.parts = 1,
                                      .segments = 1,
                                      .across = divide_up(w->nfast, GPU_FAST),
                                      .down = divide_up(w->nslow, GPU_SLOW)};
    view.layout.strip = view.layout.down;
    return view;
}

void views_add(struct image_run *run, const struct job *job, const nb_array *to,
               size_t lists)
{
    const int64_t pixels = (int64_t)job->window->nslow * job->window->nfast;
    const struct gpu_view blank = blank_of(job, to, lists);
    int64_t covered = 0;

    for (int i = 0; i < window_panels(job->window); i++) {
        struct gpu_view *view = run->view + run->views;

        *view = (struct gpu_view){.job = job_of_panel(job, i), .to = to, .lists = lists};
        if (layout_is_empty(&view->job)) continue;
        lay_out(run, view, run->single);
        covered += pixels_in_tiles(view);
        run->views++;
    }
    if (!view_comes_back(&blank) && covered < pixels) run->view[run->views++] = blank;
}

int views_keep_lost(struct image_run *run)
{
    int lost = 0;

    for (int i = 0; i < run->views; i++) {
        struct gpu_view *view = run->view + i;

        if (view->layout.down > 0 && gpu_may_lose(&view->job, view->layout.single)
            && rounding_is_lost(&view->job, view->peak)) {
            lay_out(run, view, 0);
            lost++;
        } else
            memset(&view->layout, 0, sizeof view->layout);
    }
    return lost;
}

/* ---- launches ---- */

/* Returns 1 if the same kernels compute two views. */
static int is_alike(const struct gpu_view *a, const struct gpu_view *b)
{
    return a->blank == b->blank && a->layout.single == b->layout.single
           && a->layout.parts == b->layout.parts && a->frame_flags == b->frame_flags;
}

/* A launch has as many blocks for each of its views as the largest view needs. The number
 * of all its blocks may be this many times the number of blocks with work. */
static const double most_empty = 8;

/* Adds a strip of view i to the last launch, if that launch may compute it too. Returns 1
 * if it was added. */
static int add_strip(struct image_run *run, int i, const struct gpu_strip *rows)
{
    const struct gpu_view *view = run->view + i;
    struct gpu_plan *plan = &run->plan;
    struct gpu_bundle *last = plan->bundle + plan->launches - 1, b = *last;
    const struct view_strip strip = {i, *rows, b.blocks, b.pixels};
    const int n = ++b.end - b.begin;

    b.share += share_of(run, view, rows->down);
    b.tiles += rows->tiles;
    b.most_tiles = max_int(b.most_tiles, rows->tiles);
    if (n > 1 && (b.share > 1 || (double)b.most_tiles * n > most_empty * b.tiles)) return 0;
    if (!view->blank) b.blocks += (size_t)rows->tiles * (size_t)view->layout.segments;
    if (view_comes_back(view))
        b.pixels += (size_t)rows->rows * (size_t)view->job.frame->nfast;
    plan->strip[b.end - 1] = strip;
    plan->most_strips = max_int(plan->most_strips, n);
    if (b.blocks > plan->most_blocks) plan->most_blocks = b.blocks;
    if (b.pixels > plan->most_pixels) plan->most_pixels = b.pixels;
    *last = b;
    return 1;
}

static void add_launch(struct gpu_plan *plan)
{
    const int end = plan->launches > 0 ? plan->bundle[plan->launches - 1].end : 0;

    plan->bundle[plan->launches++] = (struct gpu_bundle){.begin = end, .end = end};
}

static struct gpu_strip strip_of(const struct gpu_view *view, int i)
{
    return gpu_strip_at(&view->layout,
                        view->blank ? view->job.window->nslow : view->job.frame->nslow, i);
}

/* Adds launches for view `first`: one for each of its strips or, if it has a single strip,
 * one launch for it and for further whole views. */
static void add_launches(struct image_run *run, int first)
{
    const struct gpu_view *view = run->view + first;
    const int strips = gpu_strips_of(&view->layout), alike = view->alike;
    struct gpu_strip rows;
    int fits = 1;

    run->plan.sequences += strips > 1 ? 2 : 1; /* the last strip may be shorter */
    for (int i = 0; i < strips && strips > 1; i++) {
        rows = strip_of(view, i);
        add_launch(&run->plan);
        (void)add_strip(run, first, &rows);
    }
    if (strips > 1) return;
    add_launch(&run->plan);
    for (int i = first; i < run->views && fits; i++) {
        view = run->view + i;
        if (view->planned || view->alike != alike || gpu_strips_of(&view->layout) > 1)
            continue;
        rows = strip_of(view, 0);
        fits = run->view[i].planned = add_strip(run, i, &rows);
    }
}

/* Find for each view the first view that the same kernels compute. Returns the number of
 * strips of all views. */
static size_t sort_out(struct image_run *run)
{
    size_t strips = 0;

    for (int i = 0; i < run->views; i++) {
        struct gpu_view *view = run->view + i;

        view->planned = 0;
        view->alike = -1;
        if (view->layout.down == 0) continue;
        do view->alike++;
        while (!is_alike(run->view + view->alike, view));
        strips += (size_t)gpu_strips_of(&view->layout);
        run->plan.loses |= gpu_may_lose(&view->job, view->layout.single);
    }
    return strips;
}

nb_status views_plan(struct image_run *run)
{
    struct gpu_plan *plan = &run->plan;
    size_t strips;

    memset(plan, 0, sizeof *plan);
    strips = sort_out(run);
    plan->strip = gpu_workspace(run->ctx, &run->scene->plan,
                                strips * (sizeof *plan->strip + sizeof *plan->bundle),
                                "strips of images");
    if (!plan->strip) return NB_ERR_MEMORY;
    plan->bundle = (struct gpu_bundle *)(void *)(plan->strip + strips);
    for (int blank = 1; blank >= 0; blank--)
        for (int i = 0; i < run->views; i++) {
            const struct gpu_view *view = run->view + i;

            if (view->alike >= 0 && view->blank == blank && !view->planned)
                add_launches(run, i);
        }
    return NB_OK;
}
