/*
 * backend/arrays.c - checks where the caller's arrays lie: in host memory, or on the device
 * that computes, whose kernels then use them in place.
 *
 * SPDX-License-Identifier: MIT
 */
#include <assert.h>

#include "backend/backend.h"
#include "base/array.h"
#include "base/context.h"
#include "compile/donate.h"

int array_is_on_device(const nb_array *array)
{
    return array && array->device == NB_DEVICE_CUDA;
}

static nb_status check_place(const nb_simulator *sim, const nb_array *array,
                             const char *name)
{
    const struct gpu *gpu = sim->device.scene.gpu;

    assert(array);
    if (array->name) name = array->name;
    if (!gpu)
        return fail(sim->ctx, NB_ERR_SHAPE,
                    "%s lies on a CUDA device, but images are made on the cpu (%s); pass "
                    "an array in host memory",
                    name, sim->device.why);
    if (array->device_id != gpu->id)
        return fail(sim->ctx, NB_ERR_SHAPE, "%s lies on CUDA device %d, expected %d", name,
                    array->device_id, gpu->id);
    if (!gpu->driver->owns(gpu->device, (gpu_address)(uintptr_t)array->data))
        return fail(sim->ctx, NB_ERR_SHAPE,
                    "%s is said to lie on CUDA device %d, but its address is not of that "
                    "device's memory",
                    name, gpu->id);
    return NB_OK;
}

struct gpu_input backend_input(const nb_array *array)
{
    struct gpu_input input = {0};

    if (!array) return input;
    input.bits = array->bits;
    input.stride[0] = array_stride(array, 0);
    input.stride[1] = array_stride(array, 1);
    if (array->device == NB_DEVICE_CUDA)
        input.device = (gpu_address)(uintptr_t)array->data;
    else
        input.host = array->data;
    return input;
}

nb_status backend_check_output(const nb_simulator *sim, const nb_array *image)
{
    const int nslow = sim->window.nslow, nfast = sim->window.nfast;
    const char *name = "image";

    if (!array_is_on_device(image))
        return array_check(sim->ctx, image, name, nslow, nfast, NB_TYPE_FLOAT, 32, 64);
    NB_TRY(array_check_on_device(sim->ctx, image, name, nslow, nfast));
    NB_TRY(check_place(sim, image, name));
    if (image->name) name = image->name;
    if (sim->psf)
        return fail(sim->ctx, NB_ERR_UNSUPPORTED,
                    "%s lies on a CUDA device, but the point spread is applied on the cpu; "
                    "pass an array in host memory",
                    name);
    return NB_OK;
}

nb_status backend_check_input(const nb_simulator *sim, const nb_array *array,
                              const char *name, int derives)
{
    const int nslow = sim->window.nslow, nfast = sim->window.nfast;
    const struct gpu *gpu = sim->device.scene.gpu;
    const char *why = !gpu       ? sim->device.why
                      : derives  ? device_never_derives(sim)
                      : sim->psf ? "behind a point spread"
                                 : NULL;

    if (!array) return NB_OK;
    if (!array_is_on_device(array))
        return array_check(sim->ctx, array, name, nslow, nfast, NB_TYPE_FLOAT, 32, 64);
    NB_TRY(array_check_on_device(sim->ctx, array, name, nslow, nfast));
    if (array->name) name = array->name;
    if (why)
        return fail(sim->ctx, NB_ERR_UNSUPPORTED,
                    "%s lies on a CUDA device, but the cpu computes (%s); pass one in host "
                    "memory",
                    name, why);
    NB_TRY(check_place(sim, array, name));
    if (!array_is_dense(array))
        return fail(sim->ctx, NB_ERR_SHAPE,
                    "%s is a view with strides on a CUDA device; pass a dense copy", name);
    return NB_OK;
}

nb_status backend_check_on_host(const nb_simulator *sim,
                                const struct objective_terms *objective)
{
    const struct device *d = &sim->device;
    const nb_target *t = objective->target;
    const struct {
        const nb_array *array;
        const char *name;
    } inputs[] = {{objective->cotangent, "bar_image"},
                  {t ? t->observed : NULL, "observed"},
                  {t ? t->weight : NULL, "weight"},
                  {objective->weight, "weight"},
                  {objective->residual, "residual"}};

    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (array_is_on_device(inputs[i].array))
            return fail(sim->ctx, d->lost ? NB_ERR_DEVICE : NB_ERR_UNSUPPORTED,
                        "%s lies on a CUDA device, but the cpu computes (%s); pass one in "
                        "host memory",
                        inputs[i].array->name ? inputs[i].array->name : inputs[i].name,
                        d->scene.gpu ? d->derivatives_why : d->why);
    return NB_OK;
}

/* ---- arrays of nb_digitize() ---- */

/* Returns the image (may be NULL) without the flag NB_DONATE, which the checks of an image
 * would report as unused. Whether it can be donated is decided once the counts are known to
 * be valid. */
static const nb_array *without_donation(const nb_array *image, nb_array *copy)
{
    if (!image) return NULL;
    *copy = *image;
    copy->flags &= ~(unsigned)NB_DONATE;
    return copy;
}

/* Returns NB_OK if image and counts are valid, both on the device, and do not overlap. */
static nb_status check_device_counts(const nb_simulator *sim, const nb_digitizer *how,
                                     const nb_array *image, const nb_array *counts,
                                     int *in_place)
{
    const int nslow = sim->window.nslow, nfast = sim->window.nfast;
    nb_array copy;

    if (image && counts && array_is_on_device(image) != array_is_on_device(counts)) {
        const char *names[2] = {image->name ? image->name : "image",
                                counts->name ? counts->name : "counts"};

        return fail(sim->ctx, NB_ERR_SHAPE,
                    "%s lies on a CUDA device and %s in host memory; pass both on the "
                    "device or both in host memory",
                    names[array_is_on_device(counts)], names[array_is_on_device(image)]);
    }
    NB_TRY(array_check_on_device(sim->ctx, without_donation(image, &copy), "image", nslow,
                                 nfast));
    NB_TRY(array_check_counts(sim->ctx, counts, NB_DEVICE_CUDA, nslow, nfast));
    NB_TRY(check_place(sim, image, "image"));
    NB_TRY(check_place(sim, counts, "counts"));
    if (how->noise && (sim->scene.quirks & NB_QUIRK_NOISE))
        return fail(sim->ctx, NB_ERR_UNSUPPORTED,
                    "nanoBragg's noise (NB_QUIRK_NOISE) is one stream, drawn on the host; "
                    "pass arrays in host memory");
    NB_TRY(donate_check(sim->ctx, image, counts, in_place));
    if (*in_place)
        return fail(sim->ctx, NB_ERR_UNSUPPORTED,
                    "on a device counts are not made in the memory of their image; give "
                    "counts memory of its own");
    return NB_OK;
}

nb_status backend_check_counts(const nb_simulator *sim, const nb_digitizer *how,
                               const nb_array *image, const nb_array *counts, int *in_place)
{
    const int nslow = sim->window.nslow, nfast = sim->window.nfast;
    nb_array copy;

    if (array_is_on_device(image) || array_is_on_device(counts))
        return check_device_counts(sim, how, image, counts, in_place);
    NB_TRY(array_check(sim->ctx, without_donation(image, &copy), "image", nslow, nfast,
                       NB_TYPE_FLOAT, 32, 64));
    NB_TRY(array_check_counts(sim->ctx, counts, NB_DEVICE_CPU, nslow, nfast));
    return donate_check(sim->ctx, image, counts, in_place);
}
