/* renders.c - see renders.h. SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200112L
#include "support/renders.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <nanobrag/description.h>

#include "support/tap.h"
#include "support/worst.h"

nb_context *renders_context(int threads)
{
    nb_context_options options = {0};
    nb_context *ctx;

    options.threads = threads;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    return ctx;
}

void renders_require(const nb_context *ctx, nb_status status)
{
    if (status == NB_OK) return;
    tap_check(0, "%s", nb_context_message(ctx));
    exit(1);
}

nb_simulator *renders_simulator(nb_context *ctx, const nb_scene *scene, const char *names,
                                const nb_options *options)
{
    nb_simulator *sim;

    renders_require(ctx, nb_simulator_create(ctx, scene, names, options, &sim));
    return sim;
}

void renders_forward(nb_context *ctx, nb_simulator *sim, int nslow, int nfast,
                     double *image)
{
    nb_array array = nb_array_f64(image, nslow, nfast);

    for (int i = 0; i < nslow * nfast; i++) image[i] = NAN;
    renders_require(ctx, nb_forward(sim, NULL, &array));
}

static nb_context *context_of(const struct renders_way *way)
{
    (void)setenv("NANOBRAG_ISA", way->isa ? way->isa : "", 1);
    return renders_context(way->threads ? way->threads : 1);
}

int renders_image(const nb_scene *scene, const struct renders_way *way, double *image,
                  nb_description *about)
{
    const nb_options options = {way->precision, way->strategy, way->tolerance};
    nb_array array = nb_array_f64(image, scene->detector.nslow, scene->detector.nfast);
    nb_context *ctx = context_of(way);
    nb_simulator *sim = NULL;
    nb_status status = nb_simulator_create(ctx, scene, NULL, &options, &sim);

    if (status == NB_OK) status = nb_forward(sim, NULL, &array);
    if (status == NB_OK && about) status = nb_simulator_describe(sim, NULL, about);
    if (status != NB_OK) tap_check(0, "renders: %s", nb_context_message(ctx));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return status == NB_OK;
}

nb_description renders_describe(const nb_scene *scene, const struct renders_way *way)
{
    const nb_options options = {way->precision, way->strategy, way->tolerance};
    nb_context *ctx = context_of(way);
    nb_description about;
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, NULL, &options, &sim) != NB_OK
        || nb_simulator_describe(sim, NULL, &about) != NB_OK) {
        tap_check(0, "describes: %s", nb_context_message(ctx));
        exit(1);
    }
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return about;
}

static double mean_of(const double *image, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) sum += image[i];
    return sum / (double)n;
}

static double spread_of(const double *image, size_t n, double mean)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) sum += (image[i] - mean) * (image[i] - mean);
    return sqrt(sum);
}

struct renders_gap renders_compare(const double *image, const double *truth, size_t n)
{
    struct renders_gap gap = {0, 0, 0};
    struct worst worst = {0};
    const double a = mean_of(image, n), b = mean_of(truth, n);
    const double x = spread_of(image, n, a), y = spread_of(truth, n, b);

    gap.peak = worst_largest(truth, n);
    for (size_t i = 0; i < n; i++) {
        /* half the squared distance of unit vectors: nothing cancels */
        const double apart =
            (image[i] - a) / (x > 0 ? x : 1) - (truth[i] - b) / (y > 0 ? y : 1);

        worst_add(&worst, image[i], truth[i], gap.peak > 0 ? gap.peak : 1);
        gap.uncorrelated += apart * apart / 2;
    }
    gap.worst = worst.error;
    return gap;
}

/* Returns the shortest wavelength of the beam or its sources, in A. */
static double shortest_wavelength(const nb_scene *scene)
{
    double shortest = scene->beam.wavelength;

    if (scene->beam.nsource > 0) shortest = scene->beam.source[0].wavelength;
    for (int i = 1; i < scene->beam.nsource; i++)
        shortest = fmin(shortest, scene->beam.source[i].wavelength);
    return shortest > 0 ? shortest : 1;
}

double renders_phase(const nb_scene *scene)
{
    const struct renders_way way = {NB_PRECISION_DOUBLE, NB_STRATEGY_LANES, 0, 1, NULL};
    const nb_description about = renders_describe(scene, &way);
    const double q = fmax(about.qmax, 1 / shortest_wavelength(scene));
    double most = 0;

    for (int i = 0; i < 3; i++) most = fmax(most, about.ncells[i] * about.cell[i] * q);
    return 3.14159265358979323846 * most;
}

double renders_allowed(const nb_scene *scene)
{
    return DBL_EPSILON * (64 + 4 * renders_phase(scene));
}

/* ---- aiming at a reflection ---- */
static void cross(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;

        out[i] = a[j] * b[k] - a[k] * b[j];
    }
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Set the matrix of a crystal to real axes a, b, c in the laboratory. */
static void orient(nb_crystal *crystal, const double axes[3][3])
{
    double star[3][3], volume;

    for (int i = 0; i < 3; i++) cross(axes[(i + 1) % 3], axes[(i + 2) % 3], star[i]);
    volume = dot(axes[0], star[0]);
    for (int i = 0; i < 3; i++) {
        crystal->misset[i] = 0;
        for (int j = 0; j < 3; j++) crystal->matrix[3 * j + i] = star[i][j] / volume;
    }
    for (int i = 0; i < 6; i++) crystal->cell[i] = 0;
}

int renders_aim(nb_scene *scene, int slow, int fast, double off, int hkl[3])
{
    const nb_options options = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0};
    const struct renders_way way = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0, 1, NULL};
    nb_context *ctx = context_of(&way);
    nb_description about;
    nb_pixel_trace trace;
    nb_simulator *sim;
    double q[3], q2, length, axes[3][3];
    int ok;

    ok = nb_simulator_create(ctx, scene, NULL, &options, &sim) == NB_OK
         && nb_simulator_describe(sim, NULL, &about) == NB_OK
         && nb_simulator_trace(sim, NULL, 0, slow, fast, &trace) == NB_OK;
    nb_simulator_free(sim);
    nb_context_free(ctx);
    if (!ok || (trace.hkl[0] == 0 && trace.hkl[1] == 0 && trace.hkl[2] == 0)) return 0;
    length = sqrt(dot(trace.position, trace.position));
    for (int i = 0; i < 3; i++)
        q[i] = (trace.position[i] / length - about.beam[i]) / shortest_wavelength(scene);
    q2 = dot(q, q);
    for (int i = 0; i < 3; i++) {
        const double h = trace.hkl[i] + off / about.ncells[i];

        for (int j = 0; j < 3; j++)
            axes[i][j] = trace.axes[i][j] + (h - dot(trace.axes[i], q)) * q[j] / q2;
        if (hkl) hkl[i] = trace.hkl[i];
    }
    orient(&scene->crystal, (const double(*)[3])axes);
    return 1;
}
