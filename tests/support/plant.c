/* plant.c - see plant.h. SPDX-License-Identifier: MIT */
#include "support/plant.h"

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

/* The number of results with an error; calls may come from several threads. */
static atomic_uint calls;

/* Returns the error that the environment asks for in `result`: 0 for none, or a NaN. */
static double asked(const char *result)
{
    const char *plant = getenv("NANOBRAG_TEST_PLANT");
    const char *colon = plant ? strchr(plant, ':') : NULL;

    if (!colon || strcmp(colon + 1, result) != 0) return 0;
    return strtod(plant, NULL);
}

/* Returns the index of the error of call number k among n numbers. A NaN goes to the first
 * number that is not 0 from an index that depends on k; other errors go to the largest
 * number. */
static size_t place(double amount, unsigned k, size_t n, const double *numbers)
{
    const size_t first = (size_t)(k * 2654435761u) % n;
    size_t best = first;

    if (isnan(amount)) {
        for (size_t i = 0; i < n; i++)
            if (numbers[(first + i) % n] != 0) return (first + i) % n;
        return first;
    }
    for (size_t i = 0; i < n; i++)
        if (fabs(numbers[i]) > fabs(numbers[best])) best = i;
    return best;
}

/* Returns the number with the error of call number k; the errors of different calls differ.
 */
static double spoilt(double amount, unsigned k, double number)
{
    return isnan(amount) ? amount : number * (1 + amount * (1 + k % 31));
}

void plant_numbers(const char *result, double *numbers, size_t n)
{
    const double amount = asked(result);
    unsigned k;
    size_t at;

    if (amount == 0 || n == 0 || !numbers) return;
    k = atomic_fetch_add(&calls, 1u);
    at = place(amount, k, n, numbers);
    numbers[at] = spoilt(amount, k, numbers[at]);
}

/* ---- arrays ---- */

static char *element(const nb_array *a, size_t i)
{
    const int dense = a->stride[0] == 0 && a->stride[1] == 0;
    const int64_t slow = (int64_t)i / a->shape[1], fast = (int64_t)i % a->shape[1];
    const int64_t offset = dense ? (int64_t)i : slow * a->stride[0] + fast * a->stride[1];

    return (char *)a->data + offset * (a->bits / 8);
}

void plant_array(const char *result, nb_array *a)
{
    const size_t n = (size_t)a->shape[0] * (size_t)a->shape[1];
    double *copy;

    if (asked(result) == 0 || n == 0 || a->ndim != 2 || a->device == NB_DEVICE_CUDA) return;
    copy = calloc(n, sizeof *copy);
    if (!copy) abort();
    for (size_t i = 0; i < n; i++)
        copy[i] = a->bits == 32 ? (double)*(float *)(void *)element(a, i)
                                : *(double *)(void *)element(a, i);
    plant_numbers(result, copy, n);
    for (size_t i = 0; i < n; i++)
        if (a->bits == 32)
            *(float *)(void *)element(a, i) = (float)copy[i];
        else
            *(double *)(void *)element(a, i) = copy[i];
    free(copy);
}

static void plant_normal(const nb_simulator *sim, const nb_normal *out)
{
    const size_t n = nb_simulator_nparam(sim), dense = nb_simulator_ndense(sim);

    if (!out) return;
    plant_numbers("matrix", out->matrix, dense * dense);
    plant_numbers("diagonal", out->diagonal, n);
    plant_numbers("coupling", out->coupling, dense * (n - dense));
    plant_numbers("gradient", out->gradient, n);
}

/* ---- calls of the library, which the linker redirects to these functions ---- */

/* A test that wraps the same call itself overrides these. */
#define WEAK __attribute__((weak))

// NOLINTBEGIN(readability-identifier-naming)
#define WRAPPED(name, ...)                                                                 \
    nb_status __real_##name(__VA_ARGS__);                                                  \
    WEAK nb_status __wrap_##name(__VA_ARGS__);                                             \
    WEAK nb_status __wrap_##name(__VA_ARGS__)

WRAPPED(nb_forward, nb_simulator *sim, const double *x, nb_array *image)
{
    const nb_status status = __real_nb_forward(sim, x, image);

    if (status == NB_OK) plant_array("pixel", image);
    return status;
}

WRAPPED(nb_forward_batch, nb_simulator *sim, int n, const double *x, nb_array *image)
{
    const nb_status status = __real_nb_forward_batch(sim, n, x, image);

    for (int i = 0; status == NB_OK && i < n; i++) plant_array("pixel", image + i);
    return status;
}

WRAPPED(nb_forward_add, nb_simulator *sim, const double *x, double factor, nb_array *image)
{
    const nb_status status = __real_nb_forward_add(sim, x, factor, image);

    if (status == NB_OK) plant_array("pixel", image);
    return status;
}

WRAPPED(nb_jvp, nb_simulator *sim, const double *x, int ndir, const double *dx,
        nb_array *dimage)
{
    const nb_status status = __real_nb_jvp(sim, x, ndir, dx, dimage);

    for (int i = 0; status == NB_OK && i < ndir; i++) plant_array("jacobian", dimage + i);
    return status;
}

WRAPPED(nb_vjp, nb_simulator *sim, const double *x, int ncot, const nb_array *bar_image,
        double *bar_x)
{
    const nb_status status = __real_nb_vjp(sim, x, ncot, bar_image, bar_x);
    const size_t n = status == NB_OK ? nb_simulator_nparam(sim) : 0;

    for (int i = 0; n > 0 && i < ncot; i++)
        plant_numbers("gradient", bar_x + (size_t)i * n, n);
    return status;
}

WRAPPED(nb_jtj, nb_simulator *sim, const double *x, const nb_array *weight,
        const nb_array *residual, nb_normal *out)
{
    const nb_status status = __real_nb_jtj(sim, x, weight, residual, out);

    if (status == NB_OK) plant_normal(sim, out);
    return status;
}

WRAPPED(nb_loss, nb_simulator *sim, const double *x, const nb_target *target, double *value,
        nb_normal *out)
{
    const nb_status status = __real_nb_loss(sim, x, target, value, out);

    if (status == NB_OK) plant_numbers("loss", value, 1);
    if (status == NB_OK) plant_normal(sim, out);
    return status;
}

WRAPPED(nb_planes, nb_simulator *sim, const double *x, const nb_target *target,
        double *planes)
{
    const nb_status status = __real_nb_planes(sim, x, target, planes);

    if (status == NB_OK) plant_numbers("planes", planes, 3);
    return status;
}

/* Plant into one number of a trace, another one at each call. */
static void plant_trace(nb_pixel_trace *out)
{
    static atomic_uint traces;
    double *const number[] = {&out->stol,      out->position,      out->h,
                              &out->f_cell,    &out->f_latt,       &out->sum,
                              &out->capture,   &out->polarization, &out->omega,
                              &out->intensity, out->axes[0]};
    const size_t n = sizeof number / sizeof *number;

    plant_numbers("trace", number[atomic_fetch_add(&traces, 1u) % n], 1);
}

WRAPPED(nb_simulator_trace, nb_simulator *sim, const double *x, int panel, int slow,
        int fast, nb_pixel_trace *out)
{
    const nb_status status = __real_nb_simulator_trace(sim, x, panel, slow, fast, out);

    if (status == NB_OK) plant_trace(out);
    return status;
}

WRAPPED(nb_simulator_describe, nb_simulator *sim, const double *x, nb_description *out)
{
    const nb_status status = __real_nb_simulator_describe(sim, x, out);

    if (status != NB_OK) return status;
    plant_numbers("geometry", out->cell, 6);
    plant_numbers("geometry", out->cell_star, 6);
    plant_numbers("geometry", out->real_axes[0], 9);
    plant_numbers("geometry", out->star_axes[0], 9);
    plant_numbers("geometry", out->fast, 3);
    plant_numbers("geometry", out->slow, 3);
    plant_numbers("geometry", out->origin, 3);
    plant_numbers("geometry", out->beam, 3);
    plant_numbers("geometry", &out->distance, 1);
    return status;
}

WRAPPED(nb_simulator_source, nb_simulator *sim, const double *x, int i, nb_source *out,
        double *deviation)
{
    const nb_status status = __real_nb_simulator_source(sim, x, i, out, deviation);

    if (status == NB_OK) plant_numbers("geometry", out->direction, 3);
    return status;
}

WRAPPED(nb_simulator_orientation, nb_simulator *sim, const double *x, int i, int j,
        double out[9])
{
    const nb_status status = __real_nb_simulator_orientation(sim, x, i, j, out);

    if (status == NB_OK) plant_numbers("geometry", out, 9);
    return status;
}
// NOLINTEND(readability-identifier-naming)
