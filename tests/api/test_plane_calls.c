/*
 * test_plane_calls.c - planes of background that can be written down: of boxes that leave
 * terms open, without photons, or with data that are an image and planes; and calls that
 * are refused or stopped.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { FAST = 40, SLOW = 37, PIXELS = FAST * SLOW, BOXES = 3 };

static const int boxes[BOXES][4] = {{2, 14, 3, 16}, {9, 30, 10, 30}, {20, 33, 25, 37}};

/* A simulator with boxes, its image of at most 100 photons, and data. */
struct subject {
    nb_context *ctx;
    nb_scene scene;
    nb_simulator *sim;
    double image[PIXELS], observed[PIXELS], weight[PIXELS];
    uint8_t mask[PIXELS];
    nb_array y, w;
    nb_target target;
};

static void make(struct subject *t, const char *names)
{
    nb_array image = nb_array_f64(t->image, SLOW, FAST);

    nb_simulator_free(t->sim);
    if (nb_simulator_create(t->ctx, &t->scene, names, NULL, &t->sim) != NB_OK
        || nb_forward(t->sim, NULL, &image) != NB_OK)
        abort();
}

static struct subject *open_subject(const int (*box)[4], size_t n, const char *names)
{
    struct subject *t = calloc(1, sizeof *t);

    if (!t) abort();
    t->ctx = renders_context(2);
    t->scene = scenes_named(SCENES_FEATURES, "gauss_nearest");
    memset(t->scene.detector.roi, 0, sizeof t->scene.detector.roi);
    make(t, NULL);
    t->scene.crystal.scale = 100 / worst_largest(t->image, PIXELS);
    t->scene.detector.box = box[0];
    t->scene.detector.nbox = n;
    memset(t->mask, 1, sizeof t->mask);
    t->scene.detector.mask = t->mask;
    make(t, names);
    for (int i = 0; i < PIXELS; i++) t->weight[i] = 1;
    for (int i = 0; i < PIXELS; i++) t->observed[i] = t->image[i];
    t->y = nb_array_f64(t->observed, SLOW, FAST);
    t->w = nb_array_f64(t->weight, SLOW, FAST);
    t->target = (nb_target){.observed = &t->y,
                            .weight = &t->w,
                            .sigma_readout = 2,
                            .background = NB_BACKGROUND_PLANES};
    return t;
}

static void close_subject(struct subject *t)
{
    nb_simulator_free(t->sim);
    nb_context_free(t->ctx);
    free(t);
}

static double loss(struct subject *t, nb_normal *out)
{
    double value = NAN;

    if (nb_loss(t->sim, NULL, &t->target, &value, out) != NB_OK)
        tap_check(0, "nb_loss: %s", nb_context_message(t->ctx));
    return value;
}

static void find_planes(struct subject *t, double *planes)
{
    if (nb_planes(t->sim, NULL, &t->target, planes) != NB_OK)
        tap_check(0, "nb_planes: %s", nb_context_message(t->ctx));
}

/* ---- planes that are known ---- */

static int box_of(int s, int f)
{
    for (int b = 0; b < BOXES; b++)
        if (f >= boxes[b][0] && f < boxes[b][1] && s >= boxes[b][2] && s < boxes[b][3])
            return b;
    return -1;
}

/* data that are the image and planes, also where boxes overlap: the first one counts */
static int planes_come_back(void)
{
    static const double truth[BOXES][3] = {{5, 0.3, -0.2},
                                           {20, -0.7, 0.5},
                                           {9, 0.02, 0.03}};
    struct subject *t = open_subject(boxes, BOXES, "misset scale");
    double gradient[4] = {0}, planes[3 * BOXES];
    nb_normal out = {.gradient = gradient};

    for (int i = 0; i < PIXELS; i++) {
        const int s = i / FAST, f = i % FAST, b = box_of(s, f);

        if (b < 0) continue;
        t->observed[i] += truth[b][0]
                          + truth[b][1] * (f - (boxes[b][0] + boxes[b][1] - 1) / 2.)
                          + truth[b][2] * (s - (boxes[b][2] + boxes[b][3] - 1) / 2.);
    }
    for (int kind = NB_LOSS_GAUSS; kind <= NB_LOSS_CAUCHY; kind++) {
        struct worst worst = {0};
        double value;

        if (kind == NB_LOSS_READOUT) continue; /* least below the data */
        t->target.kind = kind;
        memset(gradient, 0, sizeof gradient);
        value = loss(t, &out);
        find_planes(t, planes);
        worst_add_all(&worst, planes, truth[0], 3 * (size_t)BOXES, 20);
        worst_check(&worst, 2e-14, "kind %d: planes of the data, of 20 photons", kind);
        tap_check(fabs(value) < 1e-12 && fabs(gradient[0]) < 1e-9
                      && fabs(gradient[3]) < 1e-7,
                  "kind %d: loss %.1e, slopes %.1e and %.1e", kind, value, gradient[0],
                  gradient[3]);
    }
    close_subject(t);
    return TAP_PASS;
}

/* a pixel, a row, a column, and two pixels along a diagonal */
static int open_terms(void)
{
    static const int lone[4][4] = {{5, 6, 7, 8},
                                   {10, 20, 9, 10},
                                   {30, 31, 12, 22},
                                   {20, 26, 25, 31}};
    struct subject *t = open_subject(lone, 4, "scale");
    double planes[12], value;

    for (int s = 25; s < 31; s++)
        for (int f = 20; f < 26; f++)
            t->mask[s * FAST + f] = (s == 25 && f == 20) || (s == 29 && f == 24);
    make(t, "scale");
    for (int i = 0; i < PIXELS; i++)
        t->observed[i] = t->image[i] + 30 + 0.25 * (i % FAST) + 0.5 * (i / FAST);
    for (int kind = NB_LOSS_GAUSS; kind <= NB_LOSS_CAUCHY; kind++) {
        const int has_least = kind != NB_LOSS_READOUT;
        struct worst worst = {0};
        const double truth[12] =
            {30 + 1.25 + 3.5, 0, 0, 30 + 14.5 * 0.25 + 4.5, 0.25, 0, 30 + 7.5 + 8.25, 0,
             0.5,
             /* a line through the middle of the box, not both slopes */
             30 + 0.25 * 22.5 + 0.5 * 27.5, 0.75, 0};

        t->target.kind = kind;
        value = loss(t, NULL);
        find_planes(t, planes);
        tap_check(planes[1] == 0 && planes[2] == 0 && planes[5] == 0 && planes[7] == 0
                      && planes[11] == 0,
                  "kind %d: what is open is 0", kind);
        worst_add_all(&worst, planes, truth, 12, 50);
        if (has_least) worst_check(&worst, 1e-14, "kind %d: planes", kind);
        if (has_least) tap_check(fabs(value) < 1e-12, "kind %d: loss %.1e", kind, value);
    }
    close_subject(t);
    return TAP_PASS;
}

/* boxes without a pixel that counts, by mask or weight, and one with saturated ones alone:
 * at I + a = 60 in the darkest pixel its loss is 0 */
static int nothing_to_fit(void)
{
    struct subject *t = open_subject(boxes, BOXES, "scale");
    double planes[3 * BOXES], matrix, gradient, plain, found, darkest = 60;
    nb_normal out = {.matrix = &matrix, .gradient = &gradient}, none = {.matrix = &plain};
    const double *p = planes;

    for (int i = 0; i < PIXELS; i++) {
        const int b = box_of(i / FAST, i % FAST);

        if (b == 0) t->mask[i] = 0;
        if (b == 1) t->weight[i] = 0;
        if (b == 2) t->observed[i] = 70;
        if (b == 1) t->observed[i] = NAN;
    }
    make(t, "scale");
    t->target.saturation = 60;
    for (int i = 0; i < PIXELS; i++)
        if (box_of(i / FAST, i % FAST) == 2 && t->image[i] < 60)
            darkest = fmin(darkest, t->image[i]);
    for (int kind = NB_LOSS_GAUSS; kind <= NB_LOSS_POISSON; kind++) {
        t->target.kind = kind;
        matrix = gradient = plain = 0;
        t->target.background = 0;
        (void)loss(t, &none);
        t->target.background = NB_BACKGROUND_PLANES;
        found = loss(t, &out);
        find_planes(t, planes);
        tap_close("level of the saturated box", p[6], 60 - darkest, 1e-12);
        tap_check(fabs(found) < 1e-24 && fabs(gradient) < 1e-9
                      && fabs(matrix) <= 1e-14 * plain,
                  "kind %d: loss %.1e, slope %.1e, matrix %.1e of %.1e in the saturated "
                  "box",
                  kind, found, gradient, matrix, plain);
    }
    tap_check(p[0] == 0 && p[1] == 0 && p[2] == 0 && p[3] == 0 && p[4] == 0 && p[5] == 0
                  && p[7] == 0 && p[8] == 0,
              "what no pixel decides on is 0");
    close_subject(t);
    return TAP_PASS;
}

/* no photon observed: the planes are 0, and the loss is that without planes */
static int no_photons(void)
{
    static const int kinds[] = {NB_LOSS_POISSON, NB_LOSS_READOUT};
    struct subject *t = open_subject(boxes, BOXES, "scale misset");

    memset(t->observed, 0, sizeof t->observed);
    for (int k = 0; k < 2; k++) {
        double planes[3 * BOXES], with[4] = {0}, without[4] = {0}, value, plain;
        double matrix[16] = {0}, plain_matrix[16] = {0};
        nb_normal out = {.matrix = matrix, .gradient = with};
        nb_normal none = {.matrix = plain_matrix, .gradient = without};
        struct worst worst = {0};

        t->target.kind = kinds[k];
        t->target.background = NB_BACKGROUND_PLANES;
        value = loss(t, &out);
        find_planes(t, planes);
        t->target.background = 0;
        plain = loss(t, &none);
        for (int i = 0; i < 3 * BOXES; i++)
            tap_check(planes[i] == 0, "number %d of the planes is %g", i, planes[i]);
        tap_close("loss without photons", value, plain, 1e-14 * plain);
        worst_add_all(&worst, with, without, 4, worst_largest(without, 4));
        worst_add_all(&worst, matrix, plain_matrix, 16, worst_largest(plain_matrix, 16));
        worst_check(&worst, 1e-14, "kind %d: gradient and matrix as without planes",
                    kinds[k]);
    }
    close_subject(t);
    return TAP_PASS;
}

/* one pixel, and two: any change of the image is a plane, and nothing of it is left */
static int nothing_left(void)
{
    static const int small[2][4] = {{10, 11, 10, 11}, {25, 26, 12, 14}};
    struct subject *t = open_subject(small, 2, "misset scale");
    double matrix[16] = {0}, plain[16] = {0};
    nb_normal out = {.matrix = matrix}, none = {.matrix = plain};
    struct worst worst = {0};
    int negative = 0;

    (void)loss(t, &out);
    t->target.background = 0;
    (void)loss(t, &none);
    for (int i = 0; i < 4; i++) {
        negative += matrix[5 * i] < 0;
        worst_add(&worst, matrix[5 * i], 0, plain[5 * i]);
    }
    worst_check(&worst, 2e-15, "diagonal, of that without planes (%d negative)", negative);
    tap_check(negative == 0, "a diagonal is never negative");
    close_subject(t);
    return TAP_PASS;
}

/* a box larger than the memory of a thread, and one of the whole image */
static int large_boxes(void)
{
    enum { SIDE = 160 };
    static double image[SIDE * SIDE], observed[SIDE * SIDE];
    static const int whole[1][4] = {{0, SIDE, 0, SIDE}};
    nb_context *ctx = renders_context(1);
    nb_scene scene = scenes_base();
    nb_array out = nb_array_f64(image, SIDE, SIDE), y = nb_array_f64(observed, SIDE, SIDE);
    const nb_target target = {.kind = NB_LOSS_POISSON,
                              .observed = &y,
                              .background = NB_BACKGROUND_PLANES,
                              .saturation = 400};
    nb_simulator *sim;
    double planes[3], value, slope = 0, across = 0, down = 0, size = 0;

    memset(scene.detector.roi, 0, sizeof scene.detector.roi);
    scene.detector.nfast = scene.detector.nslow = SIDE;
    scene.detector.pixel /= 4;
    scene.detector.box = whole[0];
    scene.detector.nbox = 1;
    if (nb_simulator_create(ctx, &scene, NULL, NULL, &sim) != NB_OK
        || nb_forward(sim, NULL, &out) != NB_OK)
        abort();
    for (int i = 0; i < SIDE * SIDE; i++)
        observed[i] = rint(image[i] + 3 + 0.01 * (i % SIDE) + 2 * sin(1.7 * i));
    if (nb_loss(sim, NULL, &target, &value, NULL) != NB_OK
        || nb_planes(sim, NULL, &target, planes) != NB_OK)
        tap_check(0, "%s", nb_context_message(ctx));
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double f = i % SIDE - (SIDE - 1) / 2., s = i / SIDE - (SIDE - 1) / 2.;
        const double photons = image[i] + planes[0] + planes[1] * f + planes[2] * s;
        const double d = 1 - observed[i] / photons;

        slope += d, across += d * f, down += d * s;
        size += fabs(d);
    }
    tap_check(planes[0] > 3 && fabs(slope) < 1e-12 * size && fabs(across) < 1e-10 * size
                  && fabs(down) < 1e-10 * size,
              "a plane of %g photons in %d pixels: slopes %.1e, %.1e, %.1e of %g",
              planes[0], SIDE * SIDE, slope, across, down, size);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- what is refused ---- */

/* A call of each kind is refused with these words and adds nothing. */
static void refuse(struct subject *t, const double *x, nb_status expected,
                   const char *words)
{
    double matrix[16] = {0}, gradient[4] = {0}, planes[3 * BOXES], value[3] = {0};
    nb_normal slopes = {.gradient = gradient}, all = {.matrix = matrix};
    nb_status status[4];
    int wrong = 0;

    for (int i = 0; i < 3 * BOXES; i++) planes[i] = 7;
    for (int i = 0; i < 4; i++) {
        status[i] = i == 3 ? nb_planes(t->sim, x, &t->target, planes)
                           : nb_loss(t->sim, x, &t->target, value + i,
                                     i == 0   ? NULL
                                     : i == 1 ? &slopes
                                              : &all);
        wrong += status[i] != expected || !strstr(nb_context_message(t->ctx), words)
                 || strchr(nb_context_message(t->ctx), '\n') != NULL;
        if (expected == NB_ERR_DOMAIN && i < 3) wrong += value[i] != INFINITY;
    }
    for (int i = 0; i < 3 * BOXES; i++) wrong += planes[i] != 7;
    for (int i = 0; i < 4; i++) wrong += gradient[i] != 0 || matrix[5 * i] != 0;
    tap_check(wrong == 0, "status %d, %d, %d, %d, expected %d: %s", status[0], status[1],
              status[2], status[3], expected, nb_context_message(t->ctx));
}

static int refused(void)
{
    struct subject *t = open_subject(boxes, BOXES, "misset scale");
    const nb_target good = t->target;
    double x[4], planes[3 * BOXES];

    for (size_t i = 0; i < 4; i++) {
        nb_param param;

        if (nb_simulator_param(t->sim, i, &param) != NB_OK) abort();
        x[i] = param.value;
    }
    t->target.background = 2;
    refuse(t, NULL, NB_ERR_ARGUMENT, "background 2 is neither 0 nor NB_BACKGROUND_PLANES");
    t->target = good;
    t->target.kind = NB_LOSS_READOUT;
    t->target.sigma_readout = 0;
    refuse(t, NULL, NB_ERR_ARGUMENT, "target.sigma_readout");
    t->target = good;
    t->target.kind = NB_LOSS_POISSON;
    t->observed[11 * FAST + 12] = -3;
    refuse(t, NULL, NB_ERR_ARGUMENT, "observed[11][12] is -3, expected 0 or more");
    t->observed[11 * FAST + 12] = NAN;
    refuse(t, NULL, NB_ERR_ARGUMENT, "observed[11][12] is nan, expected a number");
    t->observed[11 * FAST + 12] = INFINITY;
    refuse(t, NULL, NB_ERR_ARGUMENT, "observed[11][12] is inf, expected a number");
    t->observed[11 * FAST + 12] = 1;
    t->weight[12 * FAST + 13] = -0.5;
    refuse(t, NULL, NB_ERR_ARGUMENT, "weight[12][13] is -0.5, expected 0 or more");
    t->weight[12 * FAST + 13] = NAN;
    refuse(t, NULL, NB_ERR_ARGUMENT, "not a number");
    t->weight[12 * FAST + 13] = 1;
    x[3] = -1;
    refuse(t, x, NB_ERR_DOMAIN, "scale");
    t->target = good;
    t->target.background = 0;
    tap_check(nb_planes(t->sim, NULL, &t->target, planes) == NB_ERR_ARGUMENT, "%s",
              nb_context_message(t->ctx));
    t->target = good;
    tap_check(nb_planes(t->sim, NULL, &t->target, NULL) == NB_ERR_ARGUMENT
                  && nb_planes(t->sim, NULL, NULL, planes) == NB_ERR_ARGUMENT
                  && nb_planes(NULL, NULL, &t->target, planes) == NB_ERR_ARGUMENT,
              "no place, no target, no simulator");
    t->scene.detector.nbox = 0;
    t->scene.detector.box = NULL;
    make(t, "misset scale");
    refuse(t, NULL, NB_ERR_ARGUMENT, "need boxes of pixels (detector.box)");
    close_subject(t);
    return TAP_PASS;
}

/* Stops at the n-th report, which `user` counts down. */
static int stop_at(void *user, double fraction)
{
    int *left = user;

    (void)fraction;
    return --*left <= 0;
}

/* a stopped call adds nothing; the reports of one that is not never go back */
static int stopped(void)
{
    struct subject *t = open_subject(boxes, BOXES, NULL);
    int left = 0, stops = 0, done = 0;
    const nb_context_options options = {.threads = 1, .progress = stop_at, .user = &left};
    nb_context *ctx;
    nb_simulator *sim;

    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    left = 1 << 30;
    if (nb_simulator_create(ctx, &t->scene, "misset", NULL, &sim) != NB_OK) abort();
    for (int n = 1; n < 1000 && !done; n++) {
        double matrix[9] = {0}, gradient[3] = {0}, value;
        nb_normal out = {.matrix = matrix, .gradient = gradient};
        nb_status status;

        left = n;
        status = nb_loss(sim, NULL, &t->target, &value, &out);
        done = status == NB_OK;
        stops += status == NB_ERR_CANCELLED && gradient[0] == 0 && matrix[0] == 0;
        if (!done && status != NB_ERR_CANCELLED) break;
    }
    tap_check(done && stops > 2, "stopped %d times, then done", stops);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    close_subject(t);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"planes_come_back", planes_come_back},
                                            {"open_terms", open_terms},
                                            {"nothing_to_fit", nothing_to_fit},
                                            {"no_photons", no_photons},
                                            {"nothing_left", nothing_left},
                                            {"large_boxes", large_boxes},
                                            {"refused", refused},
                                            {"stopped", stopped}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
