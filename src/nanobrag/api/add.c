/*
 * api/add.c - nb_forward_add(), which adds an image to the caller's image. All photons are
 * computed before the first one is added, so that a call that fails adds nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include <nanobrag/image.h>

#include "backend/backend.h"
#include "base/array.h"
#include "base/context.h"
#include "base/floats.h"
#include "gpu/driver/gpu_scene.h"
#include "simulator.h"

enum { AT_ONCE = 256 }; /* pixels that are added at once */

/* Add `factor` times the photons to the first n pixels of row s. */
static void add_row(const nb_array *image, int s, int n, double factor,
                    const double *photons)
{
    double sums[AT_ONCE];

    for (int f = 0; f < n; f += AT_ONCE) {
        const int some = n - f < AT_ONCE ? n - f : AT_ONCE;

        array_row(image, s, f, some, sums);
        for (int i = 0; i < some; i++) sums[i] += factor * photons[f + i];
        array_set_row(image, s, f, some, sums);
    }
}

/* Render a dense image, whose photons have the same bits as in nb_forward(), and add
 * `factor` times these photons. */
static nb_status add_rendered(nb_simulator *sim, const nb_scene *scene,
                              const struct phys_frame *frame, double factor,
                              const nb_array *image)
{
    const int nfast = sim->window.nfast;

    NB_TRY(simulator_photons(sim));
    NB_TRY(simulator_render(sim, scene, frame, sim->photons));
    for (int s = 0; s < sim->window.nslow; s++)
        add_row(image, s, nfast, factor, sim->photons + (size_t)s * (size_t)nfast);
    return NB_OK;
}

/* Add to a dense image on the device: copy it to the host, add there, and copy the sum
 * back. */
static nb_status add_on_device(nb_simulator *sim, const nb_scene *scene,
                               const struct phys_frame *frame, double factor,
                               const nb_array *image)
{
    const struct gpu *gpu = sim->device.scene.gpu;
    const size_t pixels = (size_t)sim->window.nslow * (size_t)sim->window.nfast;
    const size_t bytes = pixels * (size_t)(image->bits / 8);
    const gpu_address there = (gpu_address)(uintptr_t)image->data;
    nb_array here = *image;
    nb_status status = gpu_begin(sim->ctx, &sim->device.scene);

    here.device = NB_DEVICE_CPU;
    here.data = malloc(bytes);
    if (!here.data) return fail_memory(sim->ctx, "a copy of an image");
    if (status == NB_OK)
        status = gpu->driver->download(sim->ctx, gpu->device, here.data, there, bytes);
    if (status == NB_OK) status = gpu->driver->wait(sim->ctx, gpu->device);
    if (status == NB_OK) status = add_rendered(sim, scene, frame, factor, &here);
    if (status == NB_OK && !sim->device.scene.gpu)
        status = fail(sim->ctx, NB_ERR_DEVICE,
                      "the device that holds %s failed; nothing was added",
                      image->name ? image->name : "image");
    if (status == NB_OK) status = gpu_begin(sim->ctx, &sim->device.scene);
    if (status == NB_OK)
        status = gpu->driver->upload(sim->ctx, gpu->device, there, here.data, bytes);
    if (status == NB_OK) status = gpu->driver->wait(sim->ctx, gpu->device);
    free(here.data);
    return status;
}

static nb_status check_image(const nb_simulator *sim, const nb_array *image)
{
    NB_TRY(backend_check_output(sim, image));
    if (array_is_on_device(image) && !array_is_dense(image))
        return fail(sim->ctx, NB_ERR_SHAPE,
                    "%s is a view with strides on a CUDA device; pass a dense image",
                    image->name ? image->name : "image");
    return NB_OK;
}

nb_status nb_forward_add(nb_simulator *sim, const double *x, double factor, nb_array *image)
{
    STANDARD_FLOATS;
    nb_scene scene;
    const struct phys_frame *frame;

    if (!sim) return NB_ERR_ARGUMENT;
    progress_begin(&sim->progress, sim->ctx);
    if (!image) return fail(sim->ctx, NB_ERR_ARGUMENT, "image: no array was given");
    if (!isfinite(factor))
        return fail(sim->ctx, NB_ERR_ARGUMENT, "the factor of an image is not a number");
    NB_TRY(check_image(sim, image));
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    if (array_is_on_device(image)) return add_on_device(sim, &scene, frame, factor, image);
    return add_rendered(sim, &scene, frame, factor, image);
}
