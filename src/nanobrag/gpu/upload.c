/*
 * upload.c - uploads jobs, images and structure factors, and estimates the cost of
 * launches.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/upload.h"

#include <math.h>
#include <string.h>

#include "kernels/rounding.h"
#include "physics/step.h"

/* The limits of one launch: seconds, so that a call can be stopped, progress is reported
 * and the watchdog of a display does not end the launch; bytes, and their share of the
 * device's memory. */
static const double most_seconds = 0.25;
static const double most_memory = 256e6, most_share = 0.25;

double gpu_pairs_of(const struct phys_frame *frame)
{
    return (double)frame->nsource * frame->norientation;
}

/* Returns the number of samples in all pixels of a tile. */
static double tile_samples(const struct phys_frame *frame)
{
    return GPU_FAST * GPU_SLOW * gpu_pairs_of(frame) * frame->nlayers * frame->oversample
           * frame->oversample;
}

double gpu_launch_memory(const struct gpu_properties *properties)
{
    return fmin(most_memory, most_share * (double)properties->memory);
}

double gpu_share_of_row(const struct gpu_properties *properties, const struct job *job,
                        const struct gpu_layout *layout, double bytes, double effort)
{
    const double seconds = effort * tile_samples(job->frame) * layout->across
                           / gpu_rate(properties, layout->single);

    return fmax(bytes / gpu_launch_memory(properties), seconds / most_seconds);
}

/* ---- parameters ---- */

/* Returns the rho from which on the profile of the crystal's shape is exactly 0, or -1 if
 * there is none. For gauss this is where phys_exp() returns 0, because the square of e^x
 * would not be a normal number. */
static double profile_cutoff(const struct job *job, int single)
{
    const double fudge = job->frame->fudge;
    const double least_exponent = single ? -43 : -354;

    if (!(fudge > 0)) return -1;
    if (job->spec.shape == PHYS_GAUSS) return sqrt(-least_exponent * 0.63 / fudge);
    if (job->spec.shape == PHYS_TOPHAT) return sqrt(0.3969 / fudge);
    return -1;
}

/* Returns an upper bound of the largest singular value of G^(1/2) A, where G is the metric
 * and A has the axes of an orientation as rows: the root of the largest row sum of |A^T G
 * A|. The singular values are the same for all orientations, so the first one serves. */
static double metric_stretch(const struct phys_frame *frame)
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

void gpu_lists_of(const struct phys_frame *frame, struct gpu_span out[FRONT_LISTS])
{
    out[0].at = frame->source;
    out[0].bytes = (size_t)frame->nsource * sizeof *frame->source;
    out[1].at = frame->orientation;
    out[1].bytes = (size_t)frame->norientation * sizeof *frame->orientation;
}

nb_status gpu_send_mask(nb_context *ctx, struct gpu_scene *s, const struct window *image,
                        const uint8_t *mask)
{
    const size_t pixels = (size_t)image->nslow * (size_t)image->nfast;
    nb_status status;

    /* the mask never changes after its upload */
    if (!mask || s->mask.address) return NB_OK;
    status = gpu_put(ctx, s->gpu, &s->mask, mask, pixels);
    if (status != NB_OK) gpu_drop(s->gpu, &s->mask);
    return status;
}

nb_status gpu_begin_image(nb_context *ctx, struct gpu_scene *scene, const struct job *job)
{
    if (scene->f_varies) scene->f_sent = 0;
    NB_TRY(gpu_begin(ctx, scene));
    return gpu_send_mask(ctx, scene, job->window, job->mask);
}

/* Upload the structure factors in one precision. */
static nb_status send_f(nb_context *ctx, struct gpu_scene *s,
                        const struct phys_frame *frame, int single)
{
    const int *size = frame->hkl_size;
    const size_t places = (size_t)size[0] * (size_t)size[1] * (size_t)size[2] + 1;

    if (single)
        return gpu_put_changed(ctx, s->gpu, &s->f_single, frame->f_single,
                               places * sizeof *frame->f_single);
    return gpu_put_changed(ctx, s->gpu, &s->f, frame->f, places * sizeof *frame->f);
}

nb_status gpu_send_common(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                          int single)
{
    const struct phys_frame *frame = job->frame;
    const unsigned bit = single ? 2 : 1;
    const int looks_up = job->spec.lookup != PHYS_CONSTANT;

    if (frame->nstol > 0)
        NB_TRY(gpu_put_changed(ctx, scene->gpu, &scene->stol, frame->stol,
                               (size_t)frame->nstol * sizeof *frame->stol));
    if (!looks_up || scene->f_sent & bit) return NB_OK;
    NB_TRY(send_f(ctx, scene, frame, single));
    scene->f_sent |= bit;
    return NB_OK;
}

/* Returns the index in the image of a panel's first pixel. */
static size_t first_pixel(const struct job *panel)
{
    return window_pixel(panel->window, 0, 0);
}

void gpu_describe(const struct gpu_scene *scene, const struct job *job,
                  const struct gpu_layout *layout, struct gpu_parameters *out)
{
    struct phys_frame *frame = &out->frame;

    memset(out, 0, sizeof *out);
    *frame = *job->frame;
    frame->source = (const void *)(uintptr_t)gpu_list(scene, 0);
    frame->orientation = (const void *)(uintptr_t)gpu_list(scene, 1);
    frame->stol = gpu_pointer(&scene->stol);
    frame->f = layout->single ? NULL : gpu_pointer(&scene->f);
    frame->f_single = layout->single ? gpu_pointer(&scene->f_single) : NULL;
    out->factor = phys_constant_factor(job->spec, job->frame);
    out->cut = profile_cutoff(job, layout->single);
    out->stretch = metric_stretch(job->frame);
    out->edges = edges_of(job);
    memcpy(out->roi, job->roi, sizeof out->roi);
    out->stride = job->window->stride;
    if (job->mask)
        out->mask = (const unsigned char *)gpu_pointer(&scene->mask) + first_pixel(job);
    out->parts = layout->parts;
    out->first_fast = layout->first_fast;
    out->first_slow = layout->first_slow;
    out->across = layout->across;
    out->down = layout->down;
    out->segments = layout->segments;
    out->partial = gpu_pointer(&scene->partial);
}

nb_status gpu_send_job(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                       const struct gpu_layout *layout, struct gpu_parameters *out)
{
    struct gpu_span lists[FRONT_LISTS];

    gpu_lists_of(job->frame, lists);
    NB_TRY(gpu_front_lists(ctx, scene, FRONT_BYTES, lists));
    NB_TRY(gpu_send_common(ctx, scene, job, layout->single));
    gpu_describe(scene, job, layout, out);
    return NB_OK;
}

/* ---- images ---- */

/* Copy an image with strides to dense rows. */
static void pack(const struct gpu_input *input, size_t nslow, size_t nfast, size_t size,
                 char *dense)
{
    const char *from = input->host;

    for (size_t s = 0; s < nslow; s++)
        for (size_t f = 0; f < nfast; f++)
            memcpy(dense + (s * nfast + f) * size,
                   from
                       + ((int64_t)s * input->stride[0] + (int64_t)f * input->stride[1])
                             * (int64_t)size,
                   size);
}

static nb_status send_host(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                           const struct gpu_input *input, struct gpu_buffer *buffer)
{
    const size_t nslow = (size_t)job->window->nslow, nfast = (size_t)job->window->nfast;
    const size_t size = input->bits == 64 ? sizeof(double) : sizeof(float);
    const size_t bytes = nslow * nfast * size;
    char *dense;

    if (input->stride[1] == 1 && input->stride[0] == (int64_t)nfast)
        return gpu_put_changed(ctx, scene->gpu, buffer, input->host, bytes);
    dense = gpu_workspace(ctx, &scene->staged, bytes, "an image");
    if (!dense) return NB_ERR_MEMORY;
    pack(input, nslow, nfast, size, dense);
    return gpu_put_changed(ctx, scene->gpu, buffer, dense, bytes);
}

nb_status gpu_send_input(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                         const struct gpu_input *input, int number, struct gpu_image *out)
{
    struct gpu_buffer *buffer = scene->inputs + number;
    const void *at = (const void *)(uintptr_t)input->device;

    if (input->host) {
        NB_TRY(send_host(ctx, scene, job, input, buffer));
        at = gpu_pointer(buffer);
    }
    out->wide = input->bits == 64 ? at : NULL;
    out->single = input->bits == 32 ? at : NULL;
    return NB_OK;
}

nb_status gpu_send_target(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                          const struct gpu_loss_job *loss, struct gpu_target *out)
{
    out->model = loss->model;
    NB_TRY(gpu_send_input(ctx, scene, job, &loss->observed, 1, &out->observed));
    return gpu_send_input(ctx, scene, job, &loss->weight, 2, &out->weight);
}

struct gpu_image gpu_image_on(const struct gpu_image *image, const struct job *panel)
{
    const size_t first = first_pixel(panel);
    struct gpu_image on = *image;

    if (on.wide) on.wide += first;
    if (on.single) on.single += first;
    return on;
}

struct gpu_target gpu_target_on(const struct gpu_target *target, const struct job *panel)
{
    struct gpu_target on = *target;

    on.observed = gpu_image_on(&target->observed, panel);
    on.weight = gpu_image_on(&target->weight, panel);
    return on;
}

/* ---- memory ---- */

nb_status gpu_clear_peaks(nb_context *ctx, struct gpu_scene *scene, int images)
{
    const size_t bytes = (size_t)images * sizeof(double);

    NB_TRY(gpu_reserve(ctx, scene->gpu, &scene->peaks, bytes));
    return scene->gpu->driver->zero(ctx, scene->gpu->device, scene->peaks.address, bytes);
}

nb_status gpu_fetch_peaks(nb_context *ctx, const struct gpu_scene *scene, int images,
                          double *peaks)
{
    return scene->gpu->driver->download(ctx, scene->gpu->device, peaks,
                                        scene->peaks.address,
                                        (size_t)images * sizeof *peaks);
}

nb_status gpu_reserve_zeros(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                            size_t bytes)
{
    nb_status status;

    if (bytes <= buffer->bytes) return NB_OK;
    NB_TRY(gpu_reserve(ctx, gpu, buffer, bytes));
    status = gpu->driver->zero(ctx, gpu->device, buffer->address, bytes);
    if (status != NB_OK) gpu_drop(gpu, buffer);
    return status;
}
