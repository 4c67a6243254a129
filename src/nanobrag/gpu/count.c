/*
 * gpu/count.c - converts photons to counts on a device, by the kernels of count_block.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/count.h"

#include <string.h>

#include "gpu/text/block.h"
#include "gpu/text/count_parameters.h"

/* RESIDENT: largest number of blocks that run on one multiprocessor at once. FOUND: largest
 * size of a block's result, bytes. */
enum { RESIDENT = 16, FOUND = sizeof(struct phys_tally) };
_Static_assert(sizeof(float) <= (size_t)FOUND, "a float fits into FOUND");

static void *pointer_at(gpu_address address)
{
    return (void *)(uintptr_t)address;
}

static int blocks_for(const struct gpu *gpu, const struct gpu_counting *how)
{
    const int64_t pixels = (int64_t)how->window->nslow * how->window->nfast;
    const int64_t needed = (pixels + BLOCK_THREADS - 1) / BLOCK_THREADS;
    const int64_t most = (int64_t)RESIDENT * gpu->properties.processors;

    return (int)(needed < most ? needed : most);
}

/* Upload a map of the pixels that an image of panels shows. The map leaves out pixels
 * between panels and pixels under the mask. One upload is enough, because panels and mask
 * never change. */
static nb_status send_shown(nb_context *ctx, struct gpu_scene *s,
                            const struct window *window)
{
    const size_t nslow = (size_t)window->nslow, nfast = (size_t)window->nfast;
    uint8_t *shown;
    nb_status status;

    if (s->shown.address) return NB_OK;
    shown = gpu_workspace(ctx, &s->staged, nslow * nfast, "the pixels that are shown");
    if (!shown) return NB_ERR_MEMORY;
    for (size_t i = 0; i < nslow; i++)
        window_shown(window, (int)i, 0, window->nfast, shown + i * nfast);
    status = gpu_put(ctx, s->gpu, &s->shown, shown, nslow * nfast);
    if (status != NB_OK) gpu_drop(s->gpu, &s->shown);
    return status;
}

/* Upload the mask or, for panels, the map of send_shown(). *out becomes its address on the
 * device, or NULL if all pixels are shown. */
static nb_status send_hidden(nb_context *ctx, struct gpu_scene *s,
                             const struct window *window, const unsigned char **out)
{
    *out = NULL;
    if (window->npanel > 0) {
        if (!window_hides(window)) return NB_OK;
        NB_TRY(send_shown(ctx, s, window));
        *out = pointer_at(s->shown.address);
        return NB_OK;
    }
    NB_TRY(gpu_send_mask(ctx, s, window, window->mask));
    if (window->mask) *out = pointer_at(s->mask.address);
    return NB_OK;
}

/* Fill in the parameters, and reserve memory for the results of all blocks. */
static nb_status prepare(nb_context *ctx, struct gpu_scene *s,
                         const struct gpu_counting *how, const nb_array *image,
                         const nb_array *counts, struct gpu_count_parameters *p)
{
    memset(p, 0, sizeof *p);
    p->nslow = how->window->nslow;
    p->nfast = how->window->nfast;
    memcpy(p->roi, how->window->roi, sizeof p->roi);
    NB_TRY(send_hidden(ctx, s, how->window, &p->mask));
    p->image = image->data;
    p->image_bits = image->bits;
    p->counts = counts->data;
    p->counts_bits = counts->bits;
    for (int i = 0; i < 2; i++) {
        p->image_stride[i] = array_stride(image, i);
        p->counts_stride[i] = array_stride(counts, i);
    }
    p->noise = how->noise;
    p->scale = how->scale;
    p->offset = how->offset;
    p->seed = how->seed;
    p->image_number = how->image;
    p->blocks = blocks_for(s->gpu, how);
    NB_TRY(gpu_reserve(ctx, s->gpu, &s->tallies, (size_t)p->blocks * FOUND));
    p->tally = pointer_at(s->tallies.address);
    p->brightest = pointer_at(s->tallies.address);
    return NB_OK;
}

/* Launch a kernel, and download the result of each block, `each` bytes long, to `found`. */
static nb_status launch(nb_context *ctx, struct gpu_scene *s, enum gpu_work work,
                        const struct gpu_count_parameters *p, void *found, size_t each)
{
    const struct gpu_driver *driver = s->gpu->driver;
    const struct gpu_launch launch = {{work, 0, 0, 0, NULL}, (unsigned)p->blocks, 0, 0};

    NB_TRY(gpu_put(ctx, s->gpu, &s->count_parameters, p, sizeof *p));
    NB_TRY(driver->launch(ctx, s->gpu->device, &launch, s->count_parameters.address));
    NB_TRY(driver->download(ctx, s->gpu->device, found, s->tallies.address,
                            (size_t)p->blocks * each));
    return driver->wait(ctx, s->gpu->device);
}

/* Find the scale that turns the brightest pixel into 55000 counts. */
static nb_status find_scale(nb_context *ctx, struct gpu_scene *s,
                            struct gpu_count_parameters *p, float *found)
{
    float most = 0;

    NB_TRY(launch(ctx, s, GPU_BRIGHTEST, p, found, sizeof *found));
    for (int i = 0; i < p->blocks; i++) most = found[i] > most ? found[i] : most;
    p->scale = most > 0 ? 55000 / (double)most : 1;
    return NB_OK;
}

static nb_status count_all(nb_context *ctx, struct gpu_scene *s,
                           struct gpu_count_parameters *p, void *found,
                           struct phys_tally *out)
{
    const struct phys_tally *tally = found;

    if (!p->noise && !(p->scale > 0)) NB_TRY(find_scale(ctx, s, p, found));
    NB_TRY(launch(ctx, s, GPU_COUNT, p, found, sizeof *tally));
    memset(out, 0, sizeof *out);
    for (int i = 0; i < p->blocks; i++) phys_tally_join(out, tally + i);
    return NB_OK;
}

nb_status gpu_count(nb_context *ctx, struct gpu_scene *scene,
                    const struct gpu_counting *how, const nb_array *image,
                    const nb_array *counts, struct phys_tally *out)
{
    const struct gpu_driver *driver = scene->gpu->driver;
    const size_t pixels = (size_t)how->window->nslow * (size_t)how->window->nfast;
    const size_t given = pixels * (size_t)counts->bits / 8;
    const int on_host = image->device == NB_DEVICE_CPU;
    nb_array from = *image, to = *counts;
    struct gpu_count_parameters p;
    void *found;

    NB_TRY(gpu_begin(ctx, scene));
    if (on_host) {
        NB_TRY(gpu_put(ctx, scene->gpu, &scene->pixels, image->data,
                       pixels * (size_t)image->bits / 8));
        NB_TRY(gpu_reserve(ctx, scene->gpu, &scene->counts, given));
        from.data = pointer_at(scene->pixels.address);
        to.data = pointer_at(scene->counts.address);
    }
    NB_TRY(prepare(ctx, scene, how, &from, &to, &p));
    found = gpu_workspace(ctx, &scene->staged, (size_t)p.blocks * FOUND, "sums of counts");
    if (!found) return NB_ERR_MEMORY;
    NB_TRY(count_all(ctx, scene, &p, found, out));
    if (!on_host) return NB_OK;
    NB_TRY(driver->download(ctx, scene->gpu->device, counts->data, scene->counts.address,
                            given));
    return driver->wait(ctx, scene->gpu->device);
}
