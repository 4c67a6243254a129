/*
 * derivatives.c - derivatives on a device. The tangents are handled in as few passes over
 * the detector as possible, each pass in strips of tiles. Sums of tiles stay on the device
 * until one row of them is left.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "gpu/derivatives_run.h"
#include "gpu/image_launch.h"
#include "kernels/rounding.h"

/* `effort`: the cost of a sample in units of one of an image; estimated, not measured.
 * `too_much`: the limit of a row of tiles, in units of a launch. `most_share`: the share of
 * the device's memory that sums may take. */
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

static int count_rotating(const struct job *job, const struct gpu_derivatives_job *request)
{
    int n = 0;

    for (int d = 0; d < request->n; d++)
        n += rotates_orientations(job->frame, request->dot + d);
    return n;
}

static nb_status sort_tangents(struct derivatives_run *run)
{
    const struct gpu_derivatives_job *request = run->request;
    struct tangents_order *order = &run->order;
    int first = 0, last = request->n;

    order->at = gpu_workspace(run->ctx, &run->scene->order,
                              (size_t)request->n * sizeof *order->at, "tangents");
    if (!order->at) return NB_ERR_MEMORY;
    for (int d = 0; d < request->n; d++) {
        order->crystal |= phys_changes(request->dot + d, PHYS_CRYSTAL);
        if (rotates_orientations(run->job->frame, request->dot + d)) order->at[first++] = d;
    }
    order->rotating = first;
    for (int d = request->n - 1; d >= 0; d--)
        if (!rotates_orientations(run->job->frame, request->dot + d)) order->at[--last] = d;
    return NB_OK;
}

static int divide_up(int a, int b)
{
    return (a + b - 1) / b;
}

/* The number of passes over n tangents, `at_once` of which may rotate orientations in one
 * pass. It is at least 1. */
static int count_passes(int n, int rotating, int at_once)
{
    const int by_rotations = at_once > 0 ? divide_up(rotating, at_once) : 0;
    const int by_number = divide_up(n, TANGENTS_MOST);

    return by_rotations > by_number ? by_rotations : by_number > 0 ? by_number : 1;
}

/* Choose one class for all passes: a pass costs about the same whatever its tangents are,
 * and each class is a kernel that has to be built. */
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

/* The next tangents, after `rotated` that rotate orientations and `others` that do not. */
static struct derivatives_pass next_pass(const struct derivatives_run *run, int rotated,
                                         int others)
{
    const struct tangents_order *order = &run->order;
    const int most = derivative_kernel_rotations(run->class);
    struct derivatives_pass pass = {0};

    while (pass.n < most && rotated + pass.n < order->rotating) {
        pass.at[pass.n] = order->at[rotated + pass.n];
        pass.n++;
    }
    pass.rotating = pass.n;
    for (int i = order->rotating + others; pass.n < TANGENTS_MOST && i < run->request->n;
         i++)
        pass.at[pass.n++] = order->at[i];
    return pass;
}

/* ---- what a device refuses ---- */

static int is_normal(const struct gpu_derivatives_job *request)
{
    return request->end == REDUCE_NORMAL || request->end == REDUCE_SQUARES;
}

static int clamp_tangents(int n)
{
    return n < TANGENTS_MOST ? n : TANGENTS_MOST;
}

static double share_of_row(const struct gpu_properties *properties, const struct job *job,
                           const struct gpu_derivatives_job *request,
                           const struct gpu_layout *l)
{
    const double pixels = (double)job->frame->nfast * GPU_SLOW;
    const double images =
        request->end == REDUCE_NOTHING ? 1 + clamp_tangents(request->n) : 1;
    const struct gpu_row row = {l->across, l->single, images * pixels * sizeof(double),
                                effort};

    return gpu_share_of_row(properties, job, &row);
}

/* how many numbers of a tile are summed */
static int length_of(const struct gpu_derivatives_job *request, int n)
{
    return is_normal(request) ? jacobian_normal_length(n) : jacobian_sum_length(n);
}

static const char *normal_refuses(struct gpu *gpu, const struct job *job, int single,
                                  const struct gpu_derivatives_job *request)
{
    const struct gpu_layout l = gpu_layout_of(&gpu->properties, job, single, 0);
    /* An image that float may lose is computed again in double, where fewer tangents may
     * rotate orientations. */
    const int is_float = l.single && !gpu_may_lose(job, single);
    const enum gpu_derivatives_class class =
        derivative_kernel_class(gpu, job->spec, is_float ? CLASS_MANY : CLASS_FEW,
                                is_float);
    const int most = derivative_kernel_rotations(class);

    if (request->n > TANGENTS_MOST)
        return "a normal matrix on the device has at most 32 parameters";
    if (count_rotating(job, request) > most)
        return class == CLASS_MANY
                   ? "a normal matrix on the device has at most 8 parameters that turn the "
                     "crystal"
                   : "a normal matrix on the device in double, or without NVRTC, has at "
                     "most 4 parameters that turn the crystal";
    return NULL;
}

const char *gpu_derivatives_refuses(struct gpu *gpu, const struct job *job, int single,
                                    const struct gpu_derivatives_job *request)
{
    const char *refused = gpu_refuses(&gpu->properties, job, single);
    const struct gpu_layout l = gpu_layout_of(&gpu->properties, job, single, 0);
    const double tiles = (double)l.across * l.down;
    const double bytes =
        tiles * length_of(request, clamp_tangents(request->n)) * sizeof(double);

    if (refused) return refused;
    if (context_compile(gpu->ctx) == NB_COMPILE_OFF)
        return "the kernels of derivatives are built at run time, and compiled mode is off";
    if (!jacobian_serve(job->frame))
        return "the device has no derivatives of nanoBragg's own amorphous material, "
               "capture or curved detector";
    if (share_of_row(&gpu->properties, job, request, &l) > too_much)
        return "derivatives of a row of tiles alone would take too long, or too much "
               "memory, on the device";
    if (request->end != REDUCE_NOTHING
        && bytes > most_share * (double)gpu->properties.memory)
        return "sums of all tiles would take too much of the device's memory";
    return is_normal(request) ? normal_refuses(gpu, job, single, request) : NULL;
}

/* ---- memory ---- */

/* Reserve memory for the sums of tiles; the gradient follows the last sum. */
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

/* Reserve strips for the changes of an image, and find its brightest pixel where float may
 * lose it. */
static nb_status prepare_changes(struct derivatives_run *run)
{
    struct gpu_scene *s = run->scene;
    struct gpu_derivatives_parameters *p = &run->block.jacobian;
    const size_t rows = (size_t)run->layout.strip * GPU_SLOW;
    const size_t bytes = rows * (size_t)run->job->frame->nfast * sizeof(double);

    NB_TRY(gpu_reserve_zeros(run->ctx, s->gpu, &s->change, (size_t)run->pass.n * bytes));
    p->change = gpu_pointer(&s->change);
    if (!gpu_may_lose(run->job, run->layout.single)) return NB_OK;
    NB_TRY(gpu_clear_peaks(run->ctx, s, 1));
    p->image.peak = gpu_pointer(&s->peaks);
    return NB_OK;
}

/* ---- launches ---- */

/* Download a strip of changes; after the last, the brightest of the photons. */
static nb_status fetch_changes(struct derivatives_run *run, const struct gpu_strip *strip)
{
    struct gpu_scene *s = run->scene;
    const size_t nfast = (size_t)run->job->frame->nfast;
    const size_t pitch = (size_t)strip->down * GPU_SLOW * nfast * sizeof(double);

    for (int d = 0; d < run->pass.n; d++)
        NB_TRY(gpu_fetch_strip(run->ctx, s, run->job, strip,
                               s->change.address + (size_t)d * pitch,
                               run->out->change[run->pass.at[d]]
                                   + (size_t)strip->slow * nfast));
    if (run->block.jacobian.image.peak && strip->is_last)
        NB_TRY(gpu_fetch_peaks(run->ctx, s, 1, &run->brightest));
    return s->gpu->driver->wait(run->ctx, s->gpu->device);
}

static nb_status run_strip(void *user, const struct gpu_strip *strip)
{
    struct derivatives_run *run = user;
    struct gpu_scene *s = run->scene;
    const int sums = run->request->end != REDUCE_NOTHING;
    struct derivatives_block block = run->block;
    struct gpu_derivatives_parameters *p = &block.jacobian;
    struct gpu_sequence sequence = {"derivatives",
                                    1,
                                    {{run->kernel, (unsigned)strip->tiles, 0, 0}}};

    p->image.first_slow = strip->slow;
    p->image.down = strip->down;
    if (sums) p->totals = gpu_totals_of(s, &block.sums, &run->layout, strip);
    if (p->sum_bar) p->sum_bar = factors_cotangents_of(run, strip);
    if (sums && strip->is_last)
        gpu_add_sums(&block.sums, run->layout.single,
                     offsetof(struct derivatives_block, sums), &sequence);
    NB_TRY(gpu_run_with(run->ctx, s, run->job, &sequence, &block, sizeof block));
    if (!sums) return fetch_changes(run, strip);
    if (p->sum_bar) return factors_add_cotangents(run, strip);
    return s->gpu->driver->wait(run->ctx, s->gpu->device);
}

/* ---- results ---- */

static void read_normal(const struct derivatives_run *run, const double *found)
{
    const struct derivatives_pass *pass = &run->pass;
    const double *next = found + 1 + pass->n;
    const size_t n = (size_t)run->request->n;

    run->out->value = found[0];
    for (int i = 0; i < pass->n; i++) {
        const size_t row = (size_t)pass->at[i];

        run->out->gradient[row] = found[1 + i];
        for (int j = 0; j <= i; j++) {
            const size_t column = (size_t)pass->at[j];

            run->out->matrix[row * n + column] = run->out->matrix[column * n + row] =
                *next++;
        }
    }
}

/* Download the sum over all tiles, and the gradient behind it. */
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
    if (normal) {
        read_normal(run, found);
        return NB_OK;
    }
    run->out->value = found[length];
    for (int i = 0; i < pass->n; i++)
        run->out->gradient[pass->at[i]] = found[length + 1 + i];
    return NB_OK;
}

/* ---- runs ---- */

static nb_status run_pass(struct derivatives_run *run)
{
    const int sums = run->request->end != REDUCE_NOTHING;
    const double share = 1.0 / run->parts;

    run->brightest = 0;
    NB_TRY(derivatives_send_tangents(run));
    NB_TRY(sums ? prepare_sums(run) : prepare_changes(run));
    progress_part(run->progress, share * run->part++, share, gpu_strips_of(&run->layout));
    NB_TRY(gpu_run_strips(run->progress, run->scene->gpu, run->job, &run->layout, run_strip,
                          run));
    return sums ? fetch_sums(run) : NB_OK;
}

static nb_status prepare(struct derivatives_run *run, int single, int asks_f)
{
    const struct job *job = run->job;
    struct gpu_layout *l = &run->layout;
    const struct gpu_properties *properties = &run->scene->gpu->properties;
    double rows;

    *l = gpu_layout_of(properties, job, single, 0);
    rows = 1 / share_of_row(properties, job, run->request, l);
    l->strip = rows < 1 ? 1 : rows < l->down ? (int)rows : l->down;
    run->class = derivative_kernel_class(run->scene->gpu, job->spec,
                                         class_of(&run->order, run->request->n, l->single),
                                         l->single);
    run->part = 0;
    run->parts = asks_f
                 + count_passes(run->request->n, run->order.rotating,
                                derivative_kernel_rotations(run->class));
    NB_TRY(derivative_kernel(run->progress, run->scene, job, run->class, l->single,
                             &run->kernel));
    if (asks_f)
        NB_TRY(derivative_kernel(run->progress, run->scene, job, CLASS_F, l->single,
                                 &run->f_kernel));
    memset(&run->block, 0, sizeof run->block);
    NB_TRY(gpu_send_job(run->ctx, run->scene, job, l, &run->block.jacobian.image));
    run->block.jacobian.end = (int)run->request->end;
    NB_TRY(derivatives_send_inputs(run));
    return asks_f ? factors_prepare(run) : NB_OK;
}

/* Run all passes. *lost is 1 when float lost the image, in which case the run stopped
 * early. */
static nb_status run_all(struct derivatives_run *run, int single, int *lost)
{
    const int asks_f = run->out->f && run->job->spec.lookup != PHYS_CONSTANT;
    int rotated = 0, others = 0;

    *lost = 0;
    NB_TRY(prepare(run, single, asks_f));
    do {
        run->pass = next_pass(run, rotated, others);
        NB_TRY(run_pass(run));
        *lost = run->layout.single && rounding_is_lost(run->job, run->brightest);
        run->block.jacobian.sum_bar = NULL; /* only the first pass writes them */
        rotated += run->pass.rotating;
        others += run->pass.n - run->pass.rotating;
    } while (!*lost && rotated + others < run->request->n);
    return asks_f && !*lost ? factors_gather(run) : NB_OK;
}

/* Set all results to 0 that nothing else writes. */
static void clear_results(const struct derivatives_run *run)
{
    const struct phys_frame *frame = run->job->frame;
    const struct gpu_derivatives_sums *out = run->out;
    const size_t n = (size_t)run->request->n, row = (size_t)frame->nfast;
    const int *roi = run->job->roi, *size = frame->hkl_size;
    const size_t begin =
        image_is_empty(run->job) ? 0 : (size_t)(roi[2] / GPU_SLOW * GPU_SLOW);
    const size_t end = image_is_empty(run->job) ? 0 : (size_t)roi[3];

    run->out->value = 0;
    if (out->gradient) memset(out->gradient, 0, n * sizeof *out->gradient);
    if (out->matrix) memset(out->matrix, 0, n * n * sizeof *out->matrix);
    if (out->f)
        memset(out->f, 0,
               ((size_t)size[0] * (size_t)size[1] * (size_t)size[2] + 1) * sizeof *out->f);
    for (size_t d = 0; run->request->end == REDUCE_NOTHING && d < n; d++) {
        memset(out->change[d], 0, begin * row * sizeof(double));
        memset(out->change[d] + end * row, 0,
               ((size_t)frame->nslow - end) * row * sizeof(double));
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
                                  .job = job,
                                  .request = request,
                                  .out = out};
    int lost = 0;

    progress_start(progress, job->planned);
    clear_results(&run);
    if (image_is_empty(job)) return progress_end(progress);
    NB_TRY(gpu_begin(progress->ctx, scene));
    NB_TRY(sort_tangents(&run));
    NB_TRY(run_all(&run, single, &lost));
    if (lost) NB_TRY(run_all(&run, 0, &lost));
    return progress_end(progress);
}
