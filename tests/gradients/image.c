/*
 * image.c - nb_jvp() in a fifth of all pairs of a parameter and a scene, against
 * differences of nb_forward() by the reference kernel, in a random sum over a window of
 * pixels. Parameters by which the image jumps (NB_SMOOTH_ALMOST) need masks and are left to
 * the harness.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "gradients/gradients.h"
#include "support/scenes.h"

enum { FAST = 40, SLOW = 37, PIXELS = FAST * SLOW };

struct weighted {
    nb_simulator *sim;
    double weight[PIXELS];
};

static long double weigh(const double *weight, const double *image)
{
    long double sum = 0;

    for (int i = 0; i < PIXELS; i++) sum += (long double)weight[i] * image[i];
    return sum;
}

static long double loss(const void *context, double x)
{
    static double image[PIXELS];
    const struct weighted *w = context;
    nb_array array = nb_array_f64(image, SLOW, FAST);

    if (nb_forward(w->sim, &x, &array) != NB_OK) abort();
    return weigh(w->weight, image);
}

/* a window of the base scene, and where the length of a parameter ends */
static nb_simulator *window_of(nb_context *ctx, const struct named_scene *named,
                               const char *name)
{
    const nb_options options = {NB_DOUBLE, NB_REFERENCE, 0};
    nb_scene scene = scenes_make(named);
    nb_simulator *sim;

    scene.detector.roi[0] = 16, scene.detector.roi[1] = 20;
    scene.detector.roi[2] = 12, scene.detector.roi[3] = 14;
    scene.psf.kind = NB_PSF_NONE;
    scene.quirks &= ~(uint64_t)NB_QUIRK_MOSAIC_F32;
    if (nb_simulator_create(ctx, &scene, name, &options, &sim) != NB_OK) return NULL;
    return sim;
}

static void check(const char *scene, nb_simulator *sim, struct tally *tally,
                  uint64_t *state)
{
    static struct weighted weighted;
    static double change[PIXELS], image[PIXELS];
    const double one = 1;
    nb_array dimage = nb_array_f64(change, SLOW, FAST);
    nb_array array = nb_array_f64(image, SLOW, FAST);
    struct ladder ladder = {loss, &weighted, 0, 0, 0, 0};
    nb_param param;
    char what[100];

    if (nb_param_at(sim, 0, &param) != NB_OK) abort();
    ladder.x = param.value;
    ladder.length =
        param.value != 0 ? fmin(fabs(param.value), 10 * param.scale) : param.scale;
    ladder.limit = fmin(param.value - param.lower, param.upper - param.value);
    if (param.smooth == NB_SMOOTH_ALMOST || !(ladder.limit > 0)) return;
    if (nb_jvp(sim, NULL, 1, &one, &dimage) != NB_OK
        || nb_forward(sim, NULL, &array) != NB_OK)
        return; /* nanoBragg's curved detector has no tangent */
    if (strncmp(scene, "tophat", 6) == 0 && strcmp(param.name, "fudge") == 0) {
        for (int i = 0; i < PIXELS; i++) ladder.size = fmax(ladder.size, fabs(change[i]));
        tap_check(ladder.size == 0, "%s: the edge moves no sample, %g", scene, ladder.size);
        return;
    }
    weighted.sim = sim;
    for (int i = 0; i < PIXELS; i++) weighted.weight[i] = random_number(state) - 0.5;
    for (int i = 0; i < PIXELS; i++) ladder.size += fabs(weighted.weight[i] * image[i]);
    (void)snprintf(what, sizeof what, "%s in %s", scene, param.name);
    tally_slope(tally, what, &ladder, (double)weigh(weighted.weight, change));
}

int image_jvp(void)
{
    struct tally tally = {0};
    uint64_t state = 8;
    nb_context *ctx;
    nb_param param;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) abort();
    for (size_t i = 0; i < scenes_count; i++)
        for (int row = (int)(i % 5); nb_param_registry(row, &param); row += 5) {
            const nb_scene scene = scenes_make(&scenes_list[i]);
            nb_param params[2];
            const size_t n = scenes_parameters(ctx, &scene, row, params, 2);

            for (size_t p = 0; p < n; p++) {
                nb_simulator *sim = window_of(ctx, &scenes_list[i], params[p].name);

                if (!sim) continue; /* the window has no point spread */
                check(scenes_list[i].name, sim, &tally, &state);
                nb_simulator_free(sim);
            }
        }
    nb_context_free(ctx);
    return tally_finish(&tally);
}
