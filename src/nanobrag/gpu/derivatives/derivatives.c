/*
 * derivatives.c - derivatives on a device. The tangents of a panel are divided into as few
 * passes as possible, and a pass into strips of tiles. Sums of tiles stay on the device
 * until they are added up to one.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "gpu/derivatives/derivatives_run.h"
#include "gpu/launch/layout.h"
#include "kernels/derivatives/jacobian.h"
#include "kernels/rounding.h"

/* effort: the cost of a sample over its cost in an image; estimated, not measured.
 * too_much: the largest cost of a row of tiles, over the limit of a launch. most_share: the
 * share of the device's memory that sums may take. */
static const double effort = 8, too_much = 8, most_share = 0.25;

/* ---- tangents ---- */

static int rotates_orientations(const struct phys_frame *frame,
                                const struct phys_frame_tangent *dot)
{
    for (int k = 0; k < frame->norientation; k++) {
        const struct phys_rotation *t = dot->rotation + k;

        if (t->by[0] != 0 || t->by[1] != 0 || t->by[2] != 0 || t->weight != 0) return 1;
    }
    return 0;
}

/* Returns the tangents of panel i of the image. */
static struct tangents_along tangents_of(const struct gpu_derivatives_job *request, int i)
{
    struct tangents_along along = {request->n, NULL, request->dot};

    if (request->panel) {
        const struct panel_tangents *of = request->panel + i;

        along.n = (int)of->n;
        along.which = of->which;
        along.dot = of->dot;
    }
    return along;
}

/* Returns the number, among all tangents, of tangent d of the current panel. */
static size_t which_of(const struct derivatives_run *run, int d)
{
    return (size_t)(run->along.which ? run->along.which[d] : d);
}

static int count_rotating(const struct phys_frame *frame,
                          const struct tangents_along *along)
{
    int n = 0;

    for (int d = 0; d < along->n; d++) n += rotates_orientations(frame, along->dot + d);
    return n;
}

static nb_status sort_tangents(struct derivatives_run *run)
{
    const struct tangents_along *along = &run->along;
    const struct phys_frame *frame = run->job->frame;
    struct tangents_order *order = &run->order;
    int first = 0, last = along->n;

    memset(order, 0, sizeof *order);
    order->at = gpu_workspace(run->ctx, &run->scene->order,
                              (size_t)along->n * sizeof *order->at, "tangents");
    if (!order->at) return NB_ERR_MEMORY;
    for (int d = 0; d < along->n; d++) {
        order->crystal |= phys_changes(along->dot + d, PHYS_CRYSTAL);
        if (rotates_orientations(frame, along->dot + d)) order->at[first++] = d;
    }
    order->rotating = first;
    for (int d = along->n - 1; d >= 0; d--)
        if (!rotates_orientations(frame, along->dot + d)) order->at[--last] = d;
    return NB_OK;
}

/* Returns the number of passes, at least 1, over n tangents, `rotating` of which rotate
 * orientations. One pass may have `at_once` of these. */
static int count_passes(int n, int rotating, int at_once)
{
    const int by_rotations = at_once > 0 ? divide_up(rotating, at_once) : 0;
    const int by_number = divide_up(n, TANGENTS_MOST);

    return by_rotations > by_number ? by_rotations : by_number > 0 ? by_number : 1;
}

/* Choose one class for all passes: the cost of a pass hardly depends on its tangents, and
 * each class is a kernel that has to be built. */
static enum gpu_derivatives_class class_of(const struct tangents_order *order, int n,
                                           int single)
{
    const enum gpu_derivatives_class few = order->crystal ? CLASS_FEW : CLASS_TURNED;
    const int most = derivative_kernel_rotations(CLASS_MANY);

    if (order->rotating == 0 && !order->crystal) return CLASS_FRAME;
    if (single
        && count_passes(n, order->rotating, most)
               < count_passes(n, order->rotating, derivative_kernel_rotations(few)))
        return CLASS_MANY;
    return few;
}

/* Returns the tangents of the next pass. Earlier passes had `rotated` tangents that rotate
 * orientations and `others` that do not. */
static struct derivatives_pass next_pass(const struct derivatives_run *run, int rotated,
                                         int others)
{
    const struct tangents_order *order = &run->order;
    const int most = derivative_kernel_rotations(run->class);
    struct derivatives_pass pass = {.is_first = rotated + others == 0};

    while (pass.n < most && rotated + pass.n < order->rotating) {
        pass.at[pass.n] = order->at[rotated + pass.n];
        pass.n++;
    }
    pass.rotating = pass.n;
    for (int i = order->rotating + others; pass.n < TANGENTS_MOST && i < run->along.n; i++)
        pass.at[pass.n++] = order->at[i];
    return pass;
}

/* ---- jobs that a device refuses ---- */

static int is_normal(const struct gpu_derivatives_job *request)
{
    return request->end == REDUCE_NORMAL || request->end == REDUCE_SQUARES;
}

static int clamp_tangents(int n)
{
    return n < TANGENTS_MOST ? n : TANGENTS_MOST;
}

/* Returns the cost of a row of tiles along n tangents, over the limit of one launch. */
static double share_of_row(const struct gpu_properties *properties, const struct job *job,
                           const struct gpu_derivatives_job *request, int n,
                           const struct gpu_layout *l)
{
    const double pixels = (double)job->frame->nfast * GPU_SLOW;
    const double images = request->end == REDUCE_NOTHING ? 1 + clamp_tangents(n) : 1;

    return gpu_share_of_row(properties, job, l, images * pixels * sizeof(double), effort);
}

/* Returns how many numbers are summed for each tile. */
static int length_of(const struct gpu_derivatives_job *request, int n)
{
    return is_normal(request) ? jacobian_normal_length(n) : jacobian_sum_length(n);
}

static const char *normal_refuses(struct gpu *gpu, const struct job *job, int single,
                                  const struct tangents_along *along)
{
    const struct gpu_layout l = gpu_layout_of(&gpu->properties, job, single);
    /* An image that float may lose is computed again in double, where fewer tangents may
     * rotate orientations. */
    const int is_float = l.single && !gpu_may_lose(job, single);
    const enum gpu_derivatives_class class =
        derivative_kernel_class(gpu, job->spec, is_float ? CLASS_MANY : CLASS_FEW,
                                is_float);
    const int most = derivative_kernel_rotations(class);

    if (along->n > TANGENTS_MOST)
        return "a normal matrix on the device has at most 32 parameters";
    if (count_rotating(job->frame, along) > most)
        return class == CLASS_MANY
                   ? "a normal matrix on the device has at most 8 parameters that turn the "
                     "crystal"
                   : "a normal matrix on the device in double, or without NVRTC, has at "
                     "most 4 parameters that turn the crystal";
    return NULL;
}

/* Returns why the device cannot compute the derivatives of a panel. */
static const char *panel_refuses(struct gpu *gpu, const struct job *job, int single,
                                 const struct gpu_derivatives_job *request,
                                 const struct tangents_along *along)
{
    const struct gpu_layout l = gpu_layout_of(&gpu->properties, job, single);
    const double tiles = (double)l.across * l.down;
    const double bytes =
        tiles * length_of(request, clamp_tangents(along->n)) * sizeof(double);

    if (share_of_row(&gpu->properties, job, request, along->n, &l) > too_much)
        return "derivatives of a row of tiles alone would take too long, or too much "
               "memory, on the device";
    if (request->end != REDUCE_NOTHING
        && bytes > most_share * (double)gpu->properties.memory)
        return "sums of all tiles would take too much of the device's memory";
    return is_normal(request) ? normal_refuses(gpu, job, single, along) : NULL;
}

const char *gpu_derivatives_refuses(struct gpu *gpu, const struct job *job, int single,
                                    const struct gpu_derivatives_job *request)
{
    const char *refused = gpu_refuses(&gpu->properties, job, single);

    if (refused) return refused;
    if (context_compile(gpu->ctx) == NB_COMPILE_OFF)
        return "the kernels of derivatives are built at run time, and compiled mode is off";
    if (!jacobian_serve(job->frame))
        return "the device has no derivatives of nanoBragg's own amorphous material, "
               "capture or curved detector";
    for (int i = 0; i < window_panels(job->window) && !refused; i++) {
        const struct job panel = job_of_panel(job, i);
        const struct tangents_along along = tangents_of(request, i);

        if (!layout_is_empty(&panel))
            refused = panel_refuses(gpu, &panel, single, request, &along);
    }
    return refused;
}

/* ---- memory ---- */

/* Reserve memory for the sums of tiles, and for the gradient behind the last sum. */
static nb_status prepare_sums(struct derivatives_run *run)
{
    struct gpu_derivatives_parameters *p = &run->block.jacobian;
    struct gpu_sums *sums = &run->block.sums;
    const int n = run->pass.n;
    struct gpu_sum_parameters *last;

    p->length = length_of(run->request, n);
    NB_TRY(gpu_plan_sums(run->ctx, run->scene, &run->layout, p->length, 1 + n, sums));
    last = sums->level + sums->levels - 1;
    last->n = n;
    last->dot = p->dot;
    last->gradient = is_normal(run->request) ? NULL : last->to + p->length;
    return NB_OK;
}

/* Reserve strips for the changes of an image. If float may lose the image, let the
 * kernels find its brightest pixel too. Columns beside the tiles are never written. For
 * one rectangle they stay 0; for panels, whose columns differ, they are cleared in each
 * pass. */
static nb_status prepare_changes(struct derivatives_run *run)
{
    struct gpu_scene *s = run->scene;
    struct gpu_derivatives_parameters *p = &run->block.jacobian;
    const size_t rows = (size_t)run->layout.strip * GPU_SLOW;
    const size_t bytes =
        rows * (size_t)run->job->frame->nfast * sizeof(double) * (size_t)run->pass.n;

    if (run->image->window->npanel > 0) {
        NB_TRY(gpu_reserve(run->ctx, s->gpu, &s->change, bytes));
        NB_TRY(s->gpu->driver->zero(run->ctx, s->gpu->device, s->change.address, bytes));
    } else
        NB_TRY(gpu_reserve_zeros(run->ctx, s->gpu, &s->change, bytes));
    p->change = gpu_pointer(&s->change);
    if (!gpu_may_lose(run->job, run->layout.single)) return NB_OK;
    NB_TRY(gpu_clear_peaks(run->ctx, s, 1));
    p->image.peak = gpu_pointer(&s->peaks);
    return NB_OK;
}

/* ---- launches ---- */

/* Copy the changes of a strip to the panel's rows in the images. The changes lie in dense
 * rows, one tangent after the other. */
static void place_changes(const struct derivatives_run *run, const struct gpu_strip *strip,
                          const double *dense)
{
    const struct window *w = run->job->window;
    const size_t nfast = (size_t)w->nfast;

    for (int d = 0; d < run->pass.n; d++) {
        double *image = run->out->change[which_of(run, run->pass.at[d])];

        for (int r = 0; r < strip->rows; r++, dense += nfast)
            memcpy(image + window_pixel(w, strip->slow + r, 0), dense,
                   nfast * sizeof *dense);
    }
}

/* Download a strip of changes: straight into the images or, if the panel is narrower than
 * the images, by way of dense rows. After the last strip, find out whether float lost the
 * image. */
static nb_status fetch_changes(struct derivatives_run *run, const struct gpu_strip *strip)
{
    const struct window *w = run->job->window;
    struct gpu_scene *s = run->scene;
    const size_t numbers = (size_t)strip->rows * (size_t)w->nfast;
    const size_t pitch = (size_t)strip->down * GPU_SLOW * (size_t)w->nfast * sizeof(double);
    const int straight = w->nfast == w->stride;
    const int finds = run->block.jacobian.image.peak && strip->is_last;
    double *dense =
        gpu_workspace(run->ctx, &s->staged,
                      straight ? 0 : (size_t)run->pass.n * numbers * sizeof *dense,
                      "a strip of changes");

    if (!dense) return NB_ERR_MEMORY;
    for (int d = 0; d < run->pass.n; d++) {
        double *image = run->out->change[which_of(run, run->pass.at[d])];
        double *to = straight ? image + window_pixel(w, strip->slow, 0)
                              : dense + (size_t)d * numbers;

        NB_TRY(gpu_fetch_strip(run->ctx, s, run->job, strip,
                               s->change.address + (size_t)d * pitch, to));
    }
    if (finds) NB_TRY(gpu_fetch_peaks(run->ctx, s, 1, &run->brightest));
    NB_TRY(s->gpu->driver->wait(run->ctx, s->gpu->device));
    if (finds) run->lost = rounding_is_lost(run->job, run->brightest);
    if (!straight) place_changes(run, strip, dense);
    return NB_OK;
}

static nb_status run_strip(void *user, int i)
{
    struct derivatives_run *run = user;
    const struct gpu_strip strip = gpu_strip_at(&run->layout, run->job->frame->nslow, i);
    struct gpu_scene *s = run->scene;
    const int sums = run->request->end != REDUCE_NOTHING;
    struct derivatives_block block = run->block;
    struct gpu_derivatives_parameters *p = &block.jacobian;
    struct gpu_sequence sequence = {"derivatives",
                                    1,
                                    {{run->kernel, (unsigned)strip.tiles, 0, 0}}};

    p->image.first_slow = strip.slow;
    p->image.down = strip.down;
    if (sums) p->totals = gpu_totals_of(s, &block.sums, &run->layout, &strip);
    if (p->sum_bar) p->sum_bar = factors_cotangents_of(run, &strip);
    if (sums && strip.is_last)
        gpu_add_sums(&block.sums, run->layout.single,
                     offsetof(struct derivatives_block, sums), &sequence);
    NB_TRY(gpu_run_with(run->ctx, s, run->job, &sequence, &block, sizeof block));
    if (!sums) return fetch_changes(run, &strip);
    if (p->sum_bar) return factors_add_cotangents(run, &strip);
    return s->gpu->driver->wait(run->ctx, s->gpu->device);
}

/* ---- results ---- */

static void add_normal(const struct derivatives_run *run, const double *found)
{
    const struct derivatives_pass *pass = &run->pass;
    const double *next = found + 1 + pass->n;
    const size_t n = (size_t)run->request->n;

    for (int i = 0; i < pass->n; i++) {
        const size_t row = which_of(run, pass->at[i]);

        run->out->gradient[row] += found[1 + i];
        for (int j = 0; j <= i; j++, next++) {
            const size_t column = which_of(run, pass->at[j]);

            run->out->matrix[row * n + column] += *next;
            if (row != column) run->out->matrix[column * n + row] += *next;
        }
    }
}

/* Download the sum over all tiles and the gradient behind it. Add both to the results,
 * unless float lost the image. */
static nb_status fetch_sums(struct derivatives_run *run)
{
    enum { MOST = 1 + TANGENTS_MOST + TANGENTS_MOST * (TANGENTS_MOST + 1) / 2 + 1 };
    const struct gpu *gpu = run->scene->gpu;
    const struct derivatives_pass *pass = &run->pass;
    const int length = run->block.jacobian.length, normal = is_normal(run->request);
    const int n = normal ? length : length + 1 + pass->n;
    double found[MOST];

    NB_TRY(gpu->driver->download(run->ctx, gpu->device, found, gpu_sum_of(&run->block.sums),
                                 (size_t)n * sizeof *found));
    NB_TRY(gpu->driver->wait(run->ctx, gpu->device));
    run->brightest = found[length - 1];
    run->lost = run->layout.single && rounding_is_lost(run->job, run->brightest);
    if (run->lost) return NB_OK;
    if (pass->is_first) run->out->value += found[normal ? 0 : length];
    if (normal) add_normal(run, found);
    for (int i = 0; !normal && i < pass->n; i++)
        run->out->gradient[which_of(run, pass->at[i])] += found[length + 1 + i];
    return NB_OK;
}

/* ---- runs ---- */

static nb_status run_pass(struct derivatives_run *run)
{
    const int sums = run->request->end != REDUCE_NOTHING;
    const double part = run->share / run->parts;

    run->brightest = 0;
    NB_TRY(derivatives_send_tangents(run));
    NB_TRY(sums ? prepare_sums(run) : prepare_changes(run));
    progress_part(run->progress, run->base + part * run->part++, part,
                  gpu_strips_of(&run->layout));
    NB_TRY(gpu_run_launches(run->progress, run->scene->gpu, gpu_strips_of(&run->layout),
                            run_strip, run));
    return sums ? fetch_sums(run) : NB_OK;
}

static nb_status prepare(struct derivatives_run *run, int single)
{
    const struct job *job = run->job;
    struct gpu_layout *l = &run->layout;
    const struct gpu_properties *properties = &run->scene->gpu->properties;
    /* a normal matrix has one pass, however many tangents other panels have */
    const int most = is_normal(run->request) ? run->along.n : run->most;

    *l = gpu_layout_of(properties, job, single);
    l->strip =
        layout_rows(share_of_row(properties, job, run->request, run->along.n, l), l->down);
    run->class = derivative_kernel_class(run->scene->gpu, job->spec,
                                         class_of(&run->order, most, l->single), l->single);
    run->part = 0;
    run->parts = count_passes(run->along.n, run->order.rotating,
                              derivative_kernel_rotations(run->class));
    NB_TRY(derivative_kernel(run->progress, run->scene, job, run->class, l->single,
                             &run->kernel));
    if (run->asks_f)
        NB_TRY(derivative_kernel(run->progress, run->scene, job, CLASS_F, l->single,
                                 run->f_kernels + l->single));
    memset(&run->block, 0, sizeof run->block);
    NB_TRY(gpu_send_job(run->ctx, run->scene, job, l, &run->block.jacobian.image));
    run->block.jacobian.end = (int)run->request->end;
    run->block.jacobian.cotangent = gpu_image_on(&run->cotangent, job);
    run->block.jacobian.target = gpu_target_on(&run->target, job);
    if (run->asks_f) factors_prepare(run);
    return NB_OK;
}

/* Run all passes over the current panel. If float lost the panel, run->lost is 1, and the
 * run stopped early. */
static nb_status run_all(struct derivatives_run *run, int single)
{
    int rotated = 0, others = 0;

    run->lost = 0;
    NB_TRY(prepare(run, single));
    do {
        run->pass = next_pass(run, rotated, others);
        NB_TRY(run_pass(run));
        run->block.jacobian.sum_bar = NULL; /* only the first pass writes sum_bar */
        rotated += run->pass.rotating;
        others += run->pass.n - run->pass.rotating;
    } while (!run->lost && rotated + others < run->along.n);
    return NB_OK;
}

/* Returns 1 if no requested result depends on the current panel. */
static int is_idle(const struct derivatives_run *run)
{
    const enum gpu_reduction end = run->request->end;

    return run->along.n == 0 && !run->asks_f
           && (run->request->no_value || end == REDUCE_NOTHING);
}

/* Add the derivatives of panel i of the image to the results. */
static nb_status run_panel(struct derivatives_run *run, int i, int single)
{
    const struct cotangents before = run->cotangents;

    run->panel = job_of_panel(run->image, i);
    run->job = &run->panel;
    run->number = i;
    run->along = tangents_of(run->request, i);
    run->base = i * run->share;
    if (layout_is_empty(run->job) || is_idle(run)) return NB_OK;
    NB_TRY(sort_tangents(run));
    NB_TRY(run_all(run, single));
    if (!run->lost) return NB_OK;
    run->cotangents = before;
    return run_all(run, 0);
}

/* Run all panels, then gather the cotangents of structure factors. */
static nb_status run_image(struct derivatives_run *run, int single)
{
    const int panels = window_panels(run->image->window);

    run->asks_f = run->out->f && run->image->spec.lookup != PHYS_CONSTANT;
    run->share = (run->asks_f ? 0.5 : 1.0) / panels;
    run->scene->graphs.paused = !layout_records(&run->scene->gpu->properties, run->image);
    for (int i = 0; i < panels; i++) {
        const struct job panel = job_of_panel(run->image, i);
        const struct tangents_along along = tangents_of(run->request, i);

        if (!layout_is_empty(&panel) && along.n > run->most) run->most = along.n;
    }
    if (run->asks_f) NB_TRY(factors_reserve(run));
    for (int i = 0; i < panels; i++) NB_TRY(run_panel(run, i, single));
    return run->asks_f ? factors_gather(run) : NB_OK;
}

/* Set all results to 0 that are sums, and the rows of images that no kernel writes. */
static void clear_results(const struct derivatives_run *run, const struct job *image)
{
    const struct window *w = image->window;
    const struct gpu_derivatives_sums *out = run->out;
    const size_t n = (size_t)run->request->n, row = (size_t)w->nfast;
    const int *roi = image->roi, *size = image->frame->hkl_size;
    const int none = layout_is_empty(image) || w->npanel > 0;
    const size_t begin = none ? 0 : (size_t)(roi[2] / GPU_SLOW * GPU_SLOW);
    const size_t end = none ? 0 : (size_t)roi[3];

    run->out->value = 0;
    if (out->gradient) memset(out->gradient, 0, n * sizeof *out->gradient);
    if (out->matrix) memset(out->matrix, 0, n * n * sizeof *out->matrix);
    if (out->f)
        memset(out->f, 0,
               ((size_t)size[0] * (size_t)size[1] * (size_t)size[2] + 1) * sizeof *out->f);
    for (size_t d = 0; run->request->end == REDUCE_NOTHING && d < n; d++) {
        memset(out->change[d], 0, begin * row * sizeof(double));
        memset(out->change[d] + end * row, 0,
               ((size_t)w->nslow - end) * row * sizeof(double));
    }
}

nb_status gpu_derivatives(struct progress *progress, struct gpu_scene *scene,
                          const struct job *job, int single,
                          const struct gpu_derivatives_job *request,
                          struct gpu_derivatives_sums *out)
{
    struct derivatives_run run = {.ctx = progress->ctx,
                                  .progress = progress,
                                  .scene = scene,
                                  .image = job,
                                  .request = request,
                                  .out = out};

    progress_start(progress, job->planned);
    clear_results(&run, job);
    if (layout_is_empty(job)) return progress_end(progress);
    NB_TRY(gpu_begin_image(progress->ctx, scene, job));
    NB_TRY(derivatives_send_inputs(&run, job));
    NB_TRY(run_image(&run, single));
    return progress_end(progress);
}
