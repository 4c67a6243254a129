/* gpu_calls.c - see gpu_calls.h. SPDX-License-Identifier: MIT */
#include "gpu/gpu_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

enum { MOST = 64, BATCH = 64 };

/* 22 of them */
static const char parameters[] = "cell misset ncells distance origin detector_rot fluence "
                                 "wavelength b_factor scale";

/* a simulator on the device, and what calls work on */
struct calls {
    nb_context *ctx;
    nb_simulator *sim;
    nb_description about;
    size_t pixels, nparam;
    double *photons, *observed; /* (pixels) */
    uint16_t *counts;
    double *x, *gradient; /* (BATCH x nparam), (nparam) */
    nb_array *images; /* (BATCH), over `many` */
    float *many;
};

/* one call; NB_OK or an error */
typedef nb_status one_call(struct calls *c);

static nb_status image_to_host(struct calls *c)
{
    nb_array image = nb_array_f64(c->photons, c->about.nslow, c->about.nfast);

    return nb_forward(c->sim, c->x, &image);
}

static nb_status loss(struct calls *c, nb_normal *out)
{
    const nb_array observed = nb_array_f64(c->observed, c->about.nslow, c->about.nfast);
    const nb_target target = {.kind = NB_GAUSSIAN, .observed = &observed};
    double value;

    return nb_loss(c->sim, c->x, &target, &value, out);
}

static nb_status loss_alone(struct calls *c)
{
    return loss(c, NULL);
}

static nb_status loss_and_gradient(struct calls *c)
{
    nb_normal out = {.gradient = c->gradient};

    return loss(c, &out);
}

static nb_status draw(struct calls *c)
{
    const nb_digitizer how = {.noise = 1, .seed = 1};
    nb_array image = nb_array_f64(c->photons, c->about.nslow, c->about.nfast);
    nb_array counts = nb_array_u16(c->counts, c->about.nslow, c->about.nfast);

    return nb_digitize(c->sim, &how, &image, &counts);
}

static nb_status batch(struct calls *c)
{
    return nb_forward_batch(c->sim, BATCH, c->x, c->images);
}

/* ---- a case ---- */

static void close_calls(struct calls *c)
{
    nb_simulator_free(c->sim);
    nb_context_free(c->ctx);
    free(c->photons);
    free(c->observed);
    free(c->counts);
    free(c->x);
    free(c->gradient);
    free(c->images);
    free(c->many);
}

static int make_room(struct calls *c, int batched)
{
    c->pixels = (size_t)c->about.nslow * (size_t)c->about.nfast;
    c->nparam = nb_nparam(c->sim);
    c->photons = calloc(c->pixels, sizeof *c->photons);
    c->observed = calloc(c->pixels, sizeof *c->observed);
    c->counts = calloc(c->pixels, sizeof *c->counts);
    c->x = calloc(BATCH * c->nparam, sizeof *c->x);
    c->gradient = calloc(c->nparam, sizeof *c->gradient);
    c->images = calloc(BATCH, sizeof *c->images);
    c->many = batched ? calloc(BATCH * c->pixels, sizeof *c->many) : NULL;
    if (!c->photons || !c->observed || !c->counts || !c->x || !c->gradient || !c->images
        || (batched && !c->many))
        return 0;
    for (size_t i = 0; i < BATCH * c->nparam; i++) {
        const size_t image = i / c->nparam;
        nb_param param;

        if (nb_param_at(c->sim, i % c->nparam, &param) != NB_OK) return 0;
        c->x[i] = param.value * (1 + 1e-6 * (double)image);
    }
    for (int i = 0; batched && i < BATCH; i++)
        c->images[i] =
            nb_array_f32(c->many + (size_t)i * c->pixels, c->about.nslow, c->about.nfast);
    return 1;
}

/* 0 with a line that says why */
static int open_calls(struct calls *c, const struct bench_case *of, int precision,
                      int batched)
{
    const nb_context_options choice = {.device = NB_CUDA};
    const nb_options options = {.precision = precision};
    nb_scene scene;

    memset(c, 0, sizeof *c);
    if (nb_context_create(NB_API_VERSION, &choice, &c->ctx) != NB_OK) return 0;
    scene = cases_scene(of, NB_PROFILE_NANOBRAG, NULL);
    if (nb_simulator_create(c->ctx, &scene, parameters, &options, &c->sim) != NB_OK
        || nb_describe(c->sim, NULL, &c->about) != NB_OK || !make_room(c, batched)
        || image_to_host(c) != NB_OK) {
        (void)printf("%c: %s\n", of->letter, nb_context_message(c->ctx));
        return 0;
    }
    memcpy(c->observed, c->photons, c->pixels * sizeof *c->observed);
    return 1;
}

/* the median, the first call apart; below 0: it failed */
static double time_call(struct calls *c, one_call *call, int repeat)
{
    const double enough = 0.2, budget = 3;
    double times[MOST], spent = 0;
    int n = 0;

    if (call(c) != NB_OK) return -1;
    while (n < MOST && (n < repeat || spent < enough) && (n == 0 || spent < budget)) {
        const double start = timing_seconds();

        if (call(c) != NB_OK) return -1;
        times[n] = timing_seconds() - start;
        spent += times[n++];
    }
    return timing_median(times, n);
}

/* ---- the table ---- */

void gpu_calls_head(void)
{
    (void)printf("\n%-8s %10s %10s %10s %12s %10s %10s %6s\n", "case", "image", "loss",
                 "gradient", "x evals/s", "noise", "of batch", "lost");
}

static void print_time(double seconds, int width)
{
    if (seconds < 0)
        (void)printf(" %*s", width, "-");
    else
        (void)printf(" %*.4g", width - 3, 1e3 * seconds), (void)printf(" ms");
}

int gpu_calls_measure(const struct bench_case *of, int repeat)
{
    const int batched = of->nslow * of->nfast <= 256 * 256;
    int good = 1;

    for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++) {
        struct calls c;
        nb_compile_stats stats;
        double image, value, gradient, noise, of_batch = -1;

        if (!open_calls(&c, of, precision, batched)) {
            close_calls(&c);
            return 0;
        }
        image = time_call(&c, image_to_host, repeat);
        value = time_call(&c, loss_alone, repeat);
        gradient = time_call(&c, loss_and_gradient, repeat);
        noise = time_call(&c, draw, repeat);
        if (batched) of_batch = time_call(&c, batch, repeat) / BATCH;
        nb_simulator_stats(c.sim, &stats);
        (void)printf("%c %-6s", of->letter, precision == NB_SINGLE ? "float" : "double");
        print_time(image, 10);
        print_time(value, 10);
        print_time(gradient, 10);
        (void)printf(" %12.2e", gradient > 0 ? c.about.evaluations / gradient : 0);
        print_time(noise, 10);
        print_time(of_batch, 10);
        (void)printf(" %6d\n", (int)stats.fallbacks);
        (void)fflush(stdout);
        good = good && stats.fallbacks == 0 && image > 0 && value > 0 && gradient > 0
               && noise > 0 && strcmp(c.about.device, "cpu") != 0;
        close_calls(&c);
    }
    return good;
}
