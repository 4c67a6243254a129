/* stills.c - see stills.h. SPDX-License-Identifier: MIT */
#include "fit/stills.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

const nb_fit_options stills_options = {.shared = "cell_a mosaic", .own = "misset scale"};

static const double truth[STILLS_VALUES] = {50, 0.4, 10,  20, 30,  1,   -25, 15,
                                            60, 1.5, 40,  -5, 12,  1.2, 75,  -32,
                                            8,  0.8, -50, 44, -20, 1.1};

/* Easily found starts; a still has the signs of its number. */
static const double off_by[STILLS_SHARED + STILLS_OWN] = {0.02,  0.03, 0.05,
                                                          -0.05, 0.05, 0.25};

double stills_truth(size_t i)
{
    return truth[i];
}

nb_scene stills_scene(const double *x, int still)
{
    const double *own = x + STILLS_SHARED + STILLS_OWN * still;
    nb_scene s = {
        .crystal = {.cell = {x[0], 60, 70, 90, 90, 90},
                    .ncells = {8, 8, 8},
                    .mosaic = {x[1]},
                    .ndomains = 12,
                    .shape = NB_SHAPE_GAUSS,
                    .default_f = 100,
                    .scale = own[3]},
        .beam = {.fluence = 1e28},
        .background = {.water = 0.02},
        .detector = {.nslow = STILLS_SIDE, .nfast = STILLS_SIDE, .pixel = 1.2},
        .oversample = 1,
    };

    memcpy(s.crystal.misset, own, sizeof s.crystal.misset);
    return s;
}

static void observe(struct stills *s, nb_context *ctx, int i, int noise)
{
    static uint16_t counts[STILLS_PIXELS];
    const nb_scene scene = stills_scene(truth, i);
    const nb_digitizer how = {.scale = 1, .noise = 1, .seed = 7 + i};
    nb_array counted = nb_array_u16(counts, STILLS_SIDE, STILLS_SIDE);
    nb_simulator *sim;

    s->observed[i] = nb_array_f64(s->photons[i], STILLS_SIDE, STILLS_SIDE);
    if (nb_simulator_create(ctx, &scene, NULL, NULL, &sim) != NB_OK
        || nb_forward(sim, NULL, s->observed + i) != NB_OK
        || nb_digitize(sim, &how, s->observed + i, &counted) != NB_OK)
        abort();
    nb_simulator_free(sim);
    for (int p = 0; noise && p < STILLS_PIXELS; p++) s->photons[i][p] = counts[p];
}

void stills_make(struct stills *s, nb_context *ctx, int n, int noise, double off)
{
    double start[STILLS_VALUES];

    for (size_t i = 0; i < STILLS_VALUES; i++) {
        const size_t own = i < STILLS_SHARED ? i : STILLS_SHARED + (i - STILLS_SHARED) % 4;
        const int sign = i >= STILLS_SHARED && (i - STILLS_SHARED) / 4 % 2 ? -1 : 1;

        start[i] = truth[i] + sign * off * off_by[own];
    }
    s->n = n;
    for (int i = 0; i < n; i++) {
        observe(s, ctx, i, noise);
        s->scene[i] = stills_scene(start, i);
        s->shot[i] =
            (nb_shot){.scene = s->scene + i,
                      .target = {.kind = NB_LOSS_POISSON, .observed = s->observed + i}};
    }
}

nb_fit *stills_fit(const struct stills *s, nb_context *ctx, const nb_fit_options *options)
{
    nb_fit_options how = *options;
    nb_fit *fit = NULL;

    if (how.scaling == NB_FIT_SCALING_AUTO) how.scaling = NB_FIT_SCALING_MISFIT;
    if (nb_fit_create(ctx, s->n, s->shot, &how, &fit) == NB_OK) return fit;
    tap_check(0, "%s", nb_context_message(ctx));
    abort();
}

nb_fit_result stills_run(nb_fit *fit, nb_status expected)
{
    nb_fit_result r = {0};
    const nb_status status = nb_fit_run(fit);

    tap_check(status == expected, "status %d%s%s", (int)status, status ? ": " : "",
              status ? nb_context_message(nb_fit_context(fit)) : "");
    if (nb_fit_result_get(fit, &r) != NB_OK) tap_check(0, "no result");
    tap_note("%s", r.why ? r.why : "");
    for (int64_t i = 0; i < r.nshot; i++)
        if (r.shot[i].left_out)
            tap_note("%s is left out: %s", r.shot[i].name, r.shot[i].left_out);
    return r;
}

double stills_pull(const nb_fit_result *r)
{
    struct worst off = {0};

    for (size_t i = 0; i < r->nvalue; i++) {
        const nb_fit_value *v = r->value + i;

        if (v->shot >= 0 && r->shot[v->shot].left_out) continue;
        worst_add(&off, v->value, truth[i], v->error);
    }
    return off.count > 0 ? off.error : INFINITY;
}

/* Solves a x = b by Cholesky's method, in place. Returns 0 if a is not positive. */
static int solve(size_t n, double *a, double *b)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];

            for (size_t k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0)) return 0;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
    return 1;
}

double stills_gain(nb_fit *fit, const nb_fit_result *r)
{
    const size_t n = r->nvalue;
    double *matrix = calloc(n * n, sizeof *matrix), *gradient = calloc(n, sizeof *gradient);
    nb_normal out = {.matrix = matrix, .gradient = gradient};
    double value, gain = 0;

    if (!matrix || !gradient || nb_fit_evaluate(fit, NULL, &value, &out) != NB_OK) abort();
    if (solve(n, matrix, gradient))
        for (size_t i = 0; i < n; i++) gain += gradient[i] * gradient[i] / 2;
    else
        gain = INFINITY;
    free(matrix);
    free(gradient);
    return gain;
}

void stills_deviance(double photons, double *mean, double *variance)
{
    const double wide = 40 * sqrt(photons) + 60;
    double square = 0;

    *mean = 0;
    for (int y = (int)fmax(photons - wide, 0); y < photons + wide; y++) {
        const double p = exp(y * log(photons) - photons - lgamma(y + 1.));
        const double d = 2 * (photons - y + (y > 0 ? y * log(y / photons) : 0));

        *mean += p * d;
        square += p * d * d;
    }
    *variance = square - *mean * *mean;
}
