/* plane_subject.c - see plane_subject.h. SPDX-License-Identifier: MIT */
#include "api/plane_subject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

const int subject_boxes[BOXES][4] = {{2, 14, 3, 15},   {10, 22, 9, 21},  {30, 31, 5, 6},
                                     {25, 37, 19, 20}, {24, 25, 22, 33}, {28, 40, 24, 37},
                                     {4, 6, 5, 7},     {0, 12, 20, 32},  {26, 38, 7, 18}};

/* the same numbers everywhere, from -1 to 1 */
static double noise(int i)
{
    return sin(12.9898 * i) * cos(78.233 * i + 1);
}

void subject_make(struct subject *t, const char *names, int strategy, int precision,
                  int threads)
{
    const nb_options options = {precision, strategy,
                                precision == NB_PRECISION_DOUBLE ? 1e-14 : 0};

    t->ctx = renders_context(threads);
    if (nb_simulator_create(t->ctx, &t->scene, names, &options, &t->sim) != NB_OK) {
        tap_check(0, "%s", nb_context_message(t->ctx));
        abort();
    }
}

void subject_drop(struct subject *t)
{
    nb_simulator_free(t->sim);
    nb_context_free(t->ctx);
}

static void render(struct subject *t)
{
    nb_array image = nb_array_f64(t->image, SLOW, FAST);

    if (nb_forward(t->sim, NULL, &image) != NB_OK) abort();
}

/* "faint" has spots so sharp that pixels between them get anything from 1e-300 photons to
 * none at all. */
static nb_scene scene_of(const char *name)
{
    const int is_faint = strstr(name, "faint") != NULL;
    const int is_spread = strncmp(name, "spread", 6) == 0;
    nb_scene scene;

    if (!is_faint && !is_spread) return scenes_named(SCENES_FEATURES, name);
    scene = scenes_named(SCENES_FEATURES, "gauss_nearest");
    for (int k = 0; is_faint && k < 3; k++) scene.crystal.ncells[k] *= 5;
    if (is_spread) scene.psf = scenes_named(SCENES_FEATURES, "point_spread").psf;
    return scene;
}

struct subject *subject_open(const char *name, const char *names, int strategy)
{
    struct subject *t = calloc(1, sizeof *t);
    double level;

    if (!t) abort();
    t->scene = scene_of(name);
    memset(t->scene.detector.roi, 0, sizeof t->scene.detector.roi);
    for (int i = 0; i < PIXELS; i++) t->mask[i] = i % 23 != 7;
    t->scene.detector.mask = t->mask;
    t->scene.detector.box = subject_boxes[0];
    t->scene.detector.nbox = BOXES;
    subject_make(t, NULL, strategy, NB_PRECISION_DOUBLE, 1);
    render(t);
    subject_drop(t);
    t->scene.crystal.scale = 60 / worst_largest(t->image, PIXELS)
                             * (t->scene.crystal.scale > 0 ? t->scene.crystal.scale : 1);
    subject_make(t, names, strategy, NB_PRECISION_DOUBLE, 2);
    render(t);
    t->hand = (struct hand_scene){.nfast = FAST,
                                  .nslow = SLOW,
                                  .image = t->image,
                                  .observed = t->observed,
                                  .weight = t->weight,
                                  .mask = t->mask,
                                  .box = subject_boxes,
                                  .nbox = BOXES};
    for (int i = 0; i < PIXELS; i++) {
        const int s = i / FAST, f = i % FAST, b = hand_owner(&t->hand, s, f);

        level = b >= BOXES - 2 ? 0.04 * b - 0.2 : 4 + 0.2 * f - 0.1 * s;
        level += t->image[i] * (b >= BOXES - 2 ? 0.1 : 1 + 0.05 * noise(i + 7));
        t->observed[i] = fmax(0, rint(level + 1.7 * noise(i) * sqrt(level)));
        t->weight[i] = i % 5 == 0 ? 0 : 0.5 + (i % 7) / 7.0;
    }
    t->y = nb_array_f64(t->observed, SLOW, FAST);
    t->w = nb_array_f64(t->weight, SLOW, FAST);
    return t;
}

void subject_close(struct subject *t)
{
    subject_drop(t);
    free(t);
}

void subject_draw_few(struct subject *t, int draw)
{
    for (int i = 0; i < PIXELS; i++) {
        const double u = 0.5 + 0.5 * noise(i + 2000 * draw);

        t->observed[i] = u > 0.97 ? 2 : u > 0.8 + 0.01 * (draw % 18) ? 1 : 0;
    }
}

nb_target subject_target(struct subject *t, int kind)
{
    const nb_target target = {.kind = kind,
                              .observed = &t->y,
                              .weight = &t->w,
                              .sigma_readout = 1.5,
                              .gain = 1.25,
                              .delta = 3,
                              .saturation = kind % 2 ? 25 : 0,
                              .background = NB_BACKGROUND_PLANES};

    t->hand.target = target;
    return target;
}

double subject_loss(struct subject *t, const double *x, const nb_target *target,
                    nb_normal *out)
{
    double value = NAN;

    if (nb_loss(t->sim, x, target, &value, out) != NB_OK)
        tap_check(0, "nb_loss: %s", nb_context_message(t->ctx));
    return value;
}

void subject_planes(struct subject *t, const nb_target *target, double *planes)
{
    if (nb_planes(t->sim, NULL, target, planes) != NB_OK)
        tap_check(0, "nb_planes: %s", nb_context_message(t->ctx));
}
