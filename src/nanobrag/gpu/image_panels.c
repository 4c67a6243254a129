/*
 * image_panels.c - an image of several panels on a device. Each panel has a frame and tiles
 * of its own; a launch computes as many panels as it may, as it does images of a batch, and
 * all of them write to one image. A panel that is too large for one launch has several for
 * itself. Every panel has the bits of an image of that panel alone.
 *
 * The parameters of all launches go to the device in one copy, with the lists that the
 * panels share behind them:
 *
 *   parameters that hot.c may overwrite | the blank image | panels, launch after launch |
 *   sources, orientations
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "base/progress.h"
#include "compile/jit/hot.h"
#include "gpu/image_launch.h"
#include "gpu/text/block.h"
#include "gpu/upload.h"
#include "kernels/rounding.h"

enum { BLANK = 1, FIRST = 2 }; /* places of parameters */

/* What is known of a panel. */
struct panel_state {
    struct gpu_layout layout; /* down 0: none of its pixels is in the ROI, or it is done */
    double peak; /* photons of its brightest pixel, where float may lose it */
};

struct panels_run {
    struct progress *progress;
    nb_context *ctx;
    struct gpu_scene *scene;
    const struct job *job; /* of the image */
    const struct gpu_output *out; /* the image on the device */
    int panels;
    struct panel_state *state; /* (panels) */
    int launches, pieces; /* planned: all launches, and the panels or strips in them */
    size_t most_blocks; /* of a launch */
    unsigned char *block; /* what is copied to the device */
};

/* Where the next launch begins. Each kind of kernel has its turn: see kind_of(). */
enum { KINDS = 3 };
struct place {
    int kind, panel, row; /* row of tiles */
};

/* Those of the panels begin .. end - 1 that kernels of a kind compute; or `down` rows of
 * tiles from number `first` on, of one panel. */
struct panels_launch {
    int kind;
    int begin, end;
    int first, down; /* down 0: all rows of all panels */
};

/* ---- planning ---- */

/* Returns the kind of kernel that computes a panel, or -1 if there is nothing to compute: 0
 * in double, else the number of parts along an edge of a tile. */
static int kind_of(const struct gpu_layout *l)
{
    if (l->down == 0) return -1;
    return l->single ? l->parts : 0;
}

static double share_of_panel(const struct panels_run *run, int i)
{
    const struct job panel = job_of_panel(run->job, i);
    const struct gpu_layout *l = &run->state[i].layout;

    return image_row_share(&run->scene->gpu->properties, &panel, l) * l->down;
}

/* Take the next strip of a panel that needs several launches. */
static void take_strip(const struct gpu_layout *l, struct place *at,
                       struct panels_launch *out)
{
    const int left = l->down - at->row;

    out->kind = at->kind;
    out->begin = at->panel;
    out->end = at->panel + 1;
    out->first = at->row;
    out->down = left < l->strip ? left : l->strip;
    at->row += out->down;
    if (at->row < l->down) return;
    at->panel++;
    at->row = 0;
}

/* A launch has as many blocks for each panel as the largest needs. They may be this many
 * times those that have something to do. */
static const double most_empty = 8;

/* Take whole panels. */
static void take_panels(const struct panels_run *run, struct place *at,
                        struct panels_launch *out)
{
    double share = 0, tiles = 0, most = 0;
    int panels = 0;

    out->kind = at->kind;
    out->begin = at->panel;
    out->first = out->down = 0;
    for (; at->panel < run->panels; at->panel++) {
        const struct gpu_layout *l = &run->state[at->panel].layout;

        if (kind_of(l) != at->kind) continue;
        if (l->strip < l->down) break;
        share += share_of_panel(run, at->panel);
        tiles += l->across * l->down;
        most = l->across * l->down > most ? l->across * l->down : most;
        panels++;
        if ((share > 1 || most * panels > most_empty * tiles) && panels > 1) break;
    }
    out->end = at->panel;
}

/* Find the next launch; returns 0 behind the last. */
static int next_launch(const struct panels_run *run, struct place *at,
                       struct panels_launch *out)
{
    const struct gpu_layout *l;

    while (at->panel == run->panels || kind_of(&run->state[at->panel].layout) != at->kind) {
        if (at->panel < run->panels) {
            at->panel++;
            continue;
        }
        at->panel = 0;
        if (++at->kind == KINDS) return 0;
    }
    l = &run->state[at->panel].layout;
    if (l->strip < l->down)
        take_strip(l, at, out);
    else
        take_panels(run, at, out);
    return 1;
}

/* The rows of tiles of panel i in a launch; 0: the panel is not in it. */
static int rows_of(const struct panels_run *run, const struct panels_launch *launch, int i)
{
    const struct gpu_layout *l = &run->state[i].layout;

    if (kind_of(l) != launch->kind) return 0;
    return launch->down > 0 ? launch->down : l->down;
}

static size_t blocks_of(const struct panels_run *run, const struct panels_launch *launch,
                        int i)
{
    const struct gpu_layout *l = &run->state[i].layout;

    return (size_t)rows_of(run, launch, i) * (size_t)l->across * (size_t)l->segments;
}

/* Count launches, the pieces of all of them, and the blocks of the largest. */
static void plan(struct panels_run *run)
{
    struct place at = {0, 0, 0};
    struct panels_launch launch;

    run->launches = run->pieces = 0;
    run->most_blocks = 0;
    while (next_launch(run, &at, &launch)) {
        size_t blocks = 0;

        for (int i = launch.begin; i < launch.end; i++) {
            run->pieces += rows_of(run, &launch, i) > 0;
            blocks += blocks_of(run, &launch, i);
        }
        if (blocks > run->most_blocks) run->most_blocks = blocks;
        run->launches++;
    }
}

/* Lay out all panels. */
static void lay_out(struct panels_run *run, int single)
{
    const struct gpu_properties *properties = &run->scene->gpu->properties;

    for (int i = 0; i < run->panels; i++) {
        const struct job panel = job_of_panel(run->job, i);

        if (!image_is_empty(&panel))
            run->state[i].layout = gpu_layout_of(properties, &panel, single, 0);
    }
    plan(run);
}

/* Lay out those panels that float lost, in double. */
static void lay_out_lost(struct panels_run *run)
{
    const struct gpu_properties *properties = &run->scene->gpu->properties;

    for (int i = 0; i < run->panels; i++) {
        const struct job panel = job_of_panel(run->job, i);
        struct gpu_layout *l = &run->state[i].layout;

        if (l->down > 0 && l->single && rounding_is_lost(&panel, run->state[i].peak))
            *l = gpu_layout_of(properties, &panel, 0, 0);
        else
            memset(l, 0, sizeof *l);
    }
    plan(run);
}

/* ---- parameters ---- */

static size_t parameters_at(int place)
{
    return (size_t)place * sizeof(struct gpu_parameters);
}

static struct gpu_parameters *parameters_of(const struct panels_run *run, int place)
{
    return (struct gpu_parameters *)(void *)(run->block + parameters_at(place));
}

/* Fill in the parameters at a place, of a panel whose lists are those of the image. */
static struct gpu_parameters *describe(const struct panels_run *run, int i,
                                       const struct gpu_layout *l, int place)
{
    const struct job panel = job_of_panel(run->job, i);
    struct gpu_parameters *p = parameters_of(run, place);
    const gpu_address lists =
        run->scene->parameters.address + parameters_at(FIRST + run->pieces);
    const size_t sources = (size_t)panel.frame->nsource * sizeof *panel.frame->source;

    image_describe(run->scene, &panel, l, p);
    p->photons = NULL; /* they go to the image */
    p->frame.source = (const void *)(uintptr_t)lists;
    p->frame.orientation = (const void *)(uintptr_t)(lists + sources);
    return p;
}

/* Let a panel write to its place in the image. */
static void output_of_panel(const struct panels_run *run, int i, struct gpu_parameters *p)
{
    const struct window *w = window_panel(run->job->window, i);
    struct gpu_output out = *run->out;

    out.address += (gpu_address)((w->slow0 * out.stride[0] + w->fast0 * out.stride[1])
                                 * (out.bits / 8));
    image_output(&out, p);
}

static void describe_launch(const struct panels_run *run,
                            const struct panels_launch *launch, int *place)
{
    double *partial = gpu_pointer(&run->scene->partial);

    for (int i = launch->begin; i < launch->end; i++) {
        const struct gpu_layout *l = &run->state[i].layout;
        struct gpu_parameters *p;

        if (rows_of(run, launch, i) == 0) continue;
        p = describe(run, i, l, (*place)++);
        p->first_slow += GPU_SLOW * launch->first;
        p->down = rows_of(run, launch, i);
        p->partial = partial;
        partial += blocks_of(run, launch, i) * BLOCK_THREADS;
        output_of_panel(run, i, p);
        if (gpu_may_lose(run->job, l->single))
            p->peak = (unsigned long long *)gpu_pointer(&run->scene->peaks) + i;
    }
}

/* Describe the whole image as a panel without a rendered pixel. */
static void describe_blank(const struct panels_run *run)
{
    const struct window *w = run->job->window;
    const struct gpu_layout whole = {.parts = 1,
                                     .segments = 1,
                                     .across = (w->nfast + GPU_FAST - 1) / GPU_FAST,
                                     .down = (w->nslow + GPU_SLOW - 1) / GPU_SLOW};
    struct gpu_parameters *p = describe(run, 0, &whole, BLANK);

    p->frame.nslow = w->nslow;
    p->frame.nfast = w->nfast;
    memset(p->roi, 0, sizeof p->roi);
    image_output(run->out, p);
}

/* Send everything to the device, where memory for the sums is reserved. */
static nb_status send(struct panels_run *run)
{
    const struct phys_frame *frame = run->job->frame;
    struct gpu_scene *s = run->scene;
    const size_t sources = (size_t)frame->nsource * sizeof *frame->source;
    const size_t orientations = (size_t)frame->norientation * sizeof *frame->orientation;
    const size_t lists = parameters_at(FIRST + run->pieces);
    const size_t bytes = lists + sources + orientations, before = parameters_at(BLANK);
    struct place at = {0, 0, 0};
    struct panels_launch launch;
    int place = FIRST;

    run->block =
        gpu_workspace(run->ctx, &s->panel_parameters, bytes, "parameters of panels");
    if (!run->block) return NB_ERR_MEMORY;
    for (int i = 0; i < run->panels; i++)
        if (run->state[i].layout.down > 0)
            NB_TRY(gpu_send_common(run->ctx, s, run->job, run->state[i].layout.single));
    NB_TRY(gpu_reserve(run->ctx, s->gpu, &s->partial,
                       run->most_blocks * BLOCK_THREADS * sizeof(double)));
    NB_TRY(gpu_reserve(run->ctx, s->gpu, &s->parameters, bytes));
    gpu_front_forget(s); /* the block lies where its lists were */
    memcpy(run->block + lists, frame->source, sources);
    memcpy(run->block + lists + sources, frame->orientation, orientations);
    describe_blank(run);
    while (next_launch(run, &at, &launch)) describe_launch(run, &launch, &place);
    return s->gpu->driver->upload(run->ctx, s->gpu->device, s->parameters.address + before,
                                  run->block + before, bytes - before);
}

/* ---- launches ---- */

/* Returns the panel that comes after so many others of a launch. */
static int panel_in_launch(const struct panels_run *run, const struct panels_launch *launch,
                           int number)
{
    int i = launch->begin;

    for (int before = 0; before <= number; i++) before += rows_of(run, launch, i) > 0;
    return i - 1;
}

/* Let hot.c choose the kernel of a launch of so many panels, whose parameters begin at a
 * place. What it compares is one of them, another in each call, since some are dark. */
static nb_status choose_kernel(const struct panels_run *run,
                               const struct panels_launch *launch, int place, int images,
                               struct gpu_kernel *kernel)
{
    /* hot.c goes through the rows of tiles by the same number */
    const int compared = run->scene->verifications.compared;
    const int number = images > 1 ? (compared + compared / images) % images : 0;
    const int i = panel_in_launch(run, launch, number);
    const struct job panel = job_of_panel(run->job, i);
    struct gpu_parameters p = *parameters_of(run, place + number);

    p.partial = gpu_pointer(&run->scene->partial);
    return hot_kernel(run->ctx, run->scene, &panel, &run->state[i].layout, &p, kernel);
}

/* Launch what stands at a place and behind it, and move it on. */
static nb_status launch_panels(const struct panels_run *run,
                               const struct panels_launch *launch, int *place)
{
    const struct gpu_layout *l = &run->state[launch->begin].layout;
    const struct phys_spec spec = run->job->spec;
    const size_t offset = parameters_at(*place);
    unsigned most = 0, images = 0;
    struct gpu_sequence sequence =
        {"panels",
         2,
         {{{GPU_IMAGE, spec.shape, spec.lookup, l->single, NULL}, 0, offset, 0},
          {{GPU_FINISH, 0, 0, l->single, NULL}, 0, offset, 0}}};

    for (int i = launch->begin; i < launch->end; i++) {
        const unsigned blocks = (unsigned)blocks_of(run, launch, i);

        images += blocks > 0;
        most = blocks > most ? blocks : most;
    }
    sequence.launches[0].blocks = most;
    sequence.launches[1].blocks = most / (unsigned)l->segments;
    sequence.launches[0].images = sequence.launches[1].images = images;
    NB_TRY(choose_kernel(run, launch, *place, (int)images, &sequence.launches[0].kernel));
    *place += (int)images;
    return gpu_run(run->ctx, run->scene, run->job, &sequence);
}

/* 1 when the tiles of all panels hold every pixel of the image. */
static int covers_image(const struct panels_run *run)
{
    const struct window *image = run->job->window;
    int64_t pixels = 0;

    for (int i = 0; i < run->panels; i++) {
        const struct window *w = window_panel(image, i);
        const struct gpu_layout *l = &run->state[i].layout;

        if (l->first_fast > 0 || l->first_slow > 0 || l->across * GPU_FAST < w->nfast
            || l->down * GPU_SLOW < w->nslow)
            return 0;
        pixels += (int64_t)w->nslow * w->nfast;
    }
    return pixels == (int64_t)image->nslow * image->nfast;
}

static nb_status blank_image(const struct panels_run *run)
{
    const struct gpu_parameters *p = parameters_of(run, BLANK);
    const unsigned tiles = (unsigned)p->across * (unsigned)p->down;
    const struct gpu_sequence blank =
        {"blank", 1, {{{GPU_FINISH, 0, 0, 0, NULL}, tiles, parameters_at(BLANK), 0}}};

    return gpu_run(run->ctx, run->scene, run->job, &blank);
}

/* Run all launches that are planned. Each takes at most a fraction of a second, after which
 * the call can be stopped, and is waited for. */
static nb_status launch_all(struct panels_run *run)
{
    const struct gpu *gpu = run->scene->gpu;
    struct place at = {0, 0, 0};
    struct panels_launch launch;
    int place = FIRST;

    progress_part(run->progress, 0, 1, run->launches);
    while (!progress_stopped(run->progress) && next_launch(run, &at, &launch)) {
        NB_TRY(launch_panels(run, &launch, &place));
        NB_TRY(gpu->driver->wait(run->ctx, gpu->device));
        progress_step(run->progress);
    }
    return progress_check(run->progress);
}

/* Fetch the brightest pixels of all panels. */
static nb_status fetch_peaks(struct panels_run *run)
{
    const struct gpu *gpu = run->scene->gpu;
    double *peaks = gpu_workspace(run->ctx, &run->scene->staged,
                                  (size_t)run->panels * sizeof *peaks, "peaks of panels");

    if (!peaks) return NB_ERR_MEMORY;
    NB_TRY(gpu_fetch_peaks(run->ctx, run->scene, run->panels, peaks));
    NB_TRY(gpu->driver->wait(run->ctx, gpu->device));
    for (int i = 0; i < run->panels; i++) run->state[i].peak = peaks[i];
    return NB_OK;
}

/* Compute all panels; then those again, in double, that float lost. With `blank` the image
 * is the caller's, of which pixels outside all tiles are set to 0. */
static nb_status run_all(struct panels_run *run, int single, int blank)
{
    const struct gpu *gpu = run->scene->gpu;
    const int may_lose = gpu_may_lose(run->job, single);

    lay_out(run, single);
    run->scene->graphs.paused = run->launches >= GPU_RECORDINGS;
    if (may_lose) NB_TRY(gpu_clear_peaks(run->ctx, run->scene, run->panels));
    NB_TRY(send(run));
    if (blank && !covers_image(run)) {
        NB_TRY(blank_image(run));
        NB_TRY(gpu->driver->wait(run->ctx, gpu->device));
    }
    NB_TRY(launch_all(run));
    if (!may_lose) return NB_OK;
    NB_TRY(fetch_peaks(run));
    lay_out_lost(run);
    if (run->launches == 0) return NB_OK;
    run->scene->graphs.paused = 1;
    NB_TRY(send(run));
    return launch_all(run);
}

/* ---- the image of the host ---- */

/* bytes of an image that are copied at a time, from two places in turn */
enum { SLICE = 4 << 20 };

/* Fetch a part of an image, a slice at a time: each is given to the caller while the next
 * is on its way. */
static nb_status fetch(nb_context *ctx, struct gpu_scene *s, gpu_address from,
                       unsigned char *to, size_t bytes)
{
    const struct gpu_driver *driver = s->gpu->driver;
    size_t before = 0;
    int half = 0;

    NB_TRY(gpu_pin(ctx, s->gpu, &s->strips, bytes < SLICE ? bytes : (size_t)2 * SLICE));
    for (size_t at = 0; at < bytes; at += SLICE, half = !half) {
        const size_t some = bytes - at < SLICE ? bytes - at : SLICE;

        NB_TRY(driver->fetch(ctx, s->gpu->device, half,
                             s->strips.memory + (size_t)half * SLICE, from + at, some));
        if (at > 0) {
            NB_TRY(driver->fetched(ctx, s->gpu->device, !half));
            memcpy(to + before, s->strips.memory + (size_t)!half * SLICE, at - before);
        }
        before = at;
    }
    NB_TRY(driver->fetched(ctx, s->gpu->device, !half));
    memcpy(to + before, s->strips.memory + (size_t)!half * SLICE, bytes - before);
    return driver->wait(ctx, s->gpu->device);
}

/* Fetch the rows in which panels render pixels; the others were cleared. They may be more
 * than those of the image's ROI, where a point spread needs pixels beside it. */
static nb_status fetch_rows(const struct panels_run *run)
{
    const struct job *job = run->job;
    const size_t row = (size_t)job->window->nfast * sizeof *job->photons;
    int first = job->window->nslow, end = 0;

    for (int i = 0; i < run->panels; i++) {
        const struct job panel = job_of_panel(job, i);

        if (image_is_empty(&panel)) continue;
        first = min_int(first, panel.window->slow0 + panel.roi[2]);
        end = max_int(end, panel.window->slow0 + panel.roi[3]);
    }
    if (end <= first) return NB_OK;
    return fetch(run->ctx, run->scene, run->scene->photons.address + (size_t)first * row,
                 (unsigned char *)job->photons + (size_t)first * row,
                 (size_t)(end - first) * row);
}

nb_status image_of_panels(struct progress *progress, struct gpu_scene *s,
                          const struct job *job, int single, const struct gpu_output *out)
{
    const struct window *w = job->window;
    const size_t bytes = (size_t)w->nslow * (size_t)w->nfast * sizeof *job->photons;
    struct panels_run run = {.progress = progress,
                             .ctx = progress->ctx,
                             .scene = s,
                             .job = job,
                             .panels = window_panels(w)};
    struct gpu_output there = {0, 64, {w->nfast, 1}};

    run.state = gpu_workspace(run.ctx, &s->panels, (size_t)run.panels * sizeof *run.state,
                              "panels");
    if (!run.state) return NB_ERR_MEMORY;
    memset(run.state, 0, (size_t)run.panels * sizeof *run.state);
    if (!out) { /* its pixels outside all tiles are never written and stay 0 */
        NB_TRY(gpu_reserve_zeros(run.ctx, s->gpu, &s->photons, bytes));
        there.address = s->photons.address;
    }
    run.out = out ? out : &there;
    NB_TRY(run_all(&run, single, out != NULL));
    return out ? NB_OK : fetch_rows(&run);
}
