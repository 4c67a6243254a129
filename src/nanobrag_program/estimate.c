/*
 * estimate.c - estimates how long the images of a run will take, from small images of the
 * same scene. Stops a run that is too long by automatic oversampling, which follows the
 * narrowest spot and may ask for 10^8 samples a pixel.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_program/run.h"
#include "nanobrag_program/share/team.h"
#include "nanobrag_program/timing.h"

/* Runs with fewer evaluations are not measured, because even the slowest kernel ends in
 * minutes (0.4 million a second). NB_STRATEGY_SPOTS visits only some of them. */
static const double measured_from = 1e8, spots_measured_from = 1e11;

static const double longest = 600; /* a run may take so long, seconds */
static const double trial_evaluations = 2e6, trial_seconds = 0.1;

/* Limit an roi to about `pixels` pixels around its centre. */
static void crop(int roi[4], double pixels)
{
    for (int axis = 0; axis < 2; axis++) {
        int *end = roi + (size_t)2 * (size_t)axis;
        const int middle = (end[0] + end[1]) / 2;
        const int half = (int)fmax(1, fmin(sqrt(pixels) / 2, 1e6));

        if (end[1] - end[0] <= 2 * half) continue;
        end[0] = middle - half, end[1] = middle + half;
    }
}

/* The small images have a context of their own, because the run's plans must not change. */
struct estimate {
    struct run *run;
    nb_context *ctx;
    double a, b; /* seconds of an image with n x n sub-pixels: a + b n^2 */
};

/* A small image, which is rendered twice: seconds of the faster rendering, because other
 * programs may use the machine, and number of pixels. */
struct trial {
    double seconds, pixels;
};

static nb_status try_image(const struct estimate *estimate, nb_scene *scene, int oversample,
                           struct trial *trial)
{
    const struct run *run = estimate->run;
    nb_array image = nb_array_f64(run->image, run->command.description.nslow,
                                  run->command.description.nfast);
    nb_description d;
    nb_simulator *sim;
    nb_status status;

    trial->seconds = INFINITY;
    scene->oversample = oversample;
    status = nb_simulator_create(estimate->ctx, scene, NULL, &run->command.s->how, &sim);
    if (status != NB_OK) return status;
    status = nb_simulator_describe(sim, NULL, &d);
    if (status == NB_OK) trial->pixels = (double)d.pixels;
    for (int i = 0; i < 2 && status == NB_OK; i++) {
        const double start = timing_seconds();

        status = nb_forward(sim, NULL, &image);
        trial->seconds = fmin(trial->seconds, timing_seconds() - start);
    }
    nb_simulator_free(sim);
    return status;
}

/* Estimate the seconds of an image. The oversampling of small images is doubled until one
 * takes long enough to be measured; that image and the one before give a and b. */
static nb_status measure(struct estimate *estimate)
{
    const struct run *run = estimate->run;
    const nb_description *d = &run->command.description;
    const double per_pixel =
        d->evaluations / (double)d->pixels / d->oversample / d->oversample;
    nb_scene scene = run->command.resolved;
    struct trial before = {0, 0}, now;
    double share, b;
    int k = 1;

    if (d->strategy != NB_STRATEGY_SPOTS)
        crop(scene.detector.roi, trial_evaluations / per_pixel);
    for (;; k *= 2) {
        nb_status status = try_image(estimate, &scene, k, &now);

        if (status == NB_OK && now.pixels < 1) { /* the middle is masked */
            memcpy(scene.detector.roi, run->command.resolved.detector.roi,
                   sizeof scene.detector.roi);
            status = try_image(estimate, &scene, k, &now);
        }
        if (status != NB_OK) return status;
        if (2 * k >= d->oversample || (k > 1 && now.seconds > trial_seconds)) break;
        before = now;
    }
    share = now.pixels > 0 ? (double)d->pixels / now.pixels : 0;
    b = k > 1 ? fmax(now.seconds - before.seconds, 0) * 4 / 3 / k / k : now.seconds;
    estimate->a = share * fmax(now.seconds - b * k * k, 0);
    estimate->b = share * b;
    return NB_OK;
}

/* Write a time in the largest unit that fits into it twice or more, or in minutes. */
static void write_time(double seconds, char *out, size_t size)
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{31557600, "years"}, {86400, "days"}, {3600, "hours"}, {60, "minutes"}};
    size_t i = 0;

    while (i < 3 && seconds < 2 * units[i].seconds) i++;
    (void)snprintf(out, size, "%.3g %s", seconds / units[i].seconds, units[i].name);
}

int estimate_check(struct run *run)
{
    const nb_description *d = &run->command.description;
    const double least =
        d->strategy == NB_STRATEGY_SPOTS ? spots_measured_from : measured_from;
    const int ranks = run->team ? run->team->ranks : 1;
    const int n = d->oversample, images = (run->command.s->images + ranks - 1) / ranks;
    struct estimate e = {.run = run};
    double affordable, seconds;
    char time[40], message[512] = "";
    nb_status status;

    if (run->command.s->compat || run->command.s->given[OPT_OVERSAMPLE] || n < 4) return 0;
    if (d->evaluations * images < least) return 0;
    status = command_context(&run->command,
                             run->command.s->compile == NB_COMPILE_OFF ? NB_COMPILE_OFF
                                                                       : NB_COMPILE_ON,
                             &e.ctx);
    if (status == NB_OK) {
        status = measure(&e);
        (void)snprintf(message, sizeof message, "%s", nb_context_message(e.ctx));
        nb_context_free(e.ctx);
    }
    if (status == NB_ERR_CANCELLED) return EXIT_INTERRUPTED;
    if (status != NB_OK) return message_status(run->command.messages, status, message, 0);
    seconds = images * (e.a + e.b * n * n);
    if (seconds < longest) return 0;
    affordable = e.b > 0 ? floor(sqrt(fmax(longest / images - e.a, 0) / e.b)) : 1;
    write_time(seconds, time, sizeof time);
    return message_usage(run->command.messages,
                         "automatic oversampling is %d-fold, with %.3g samples per pixel, "
                         "and would take about %s; give -oversample (%d takes ten minutes; "
                         "%d is accepted too), a wider -mosaic, a smaller -N or a smaller "
                         "-roi",
                         n, (double)n * n, time, (int)fmin(fmax(affordable, 1), n), n);
}
