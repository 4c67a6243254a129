/*
 * plane_subject.h - what tests of planes share: a scene with boxes, and data that are a
 * wrong image with planes and noise.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PLANE_SUBJECT_H
#define NB_TESTS_PLANE_SUBJECT_H

#include "api/planes_by_hand.h"

enum { FAST = 40, SLOW = 37, PIXELS = FAST * SLOW, BOXES = 9 };

/* Two overlap, one is a pixel, one a row, one a column, one ends with the detector, one is
 * inside another that comes first and so has no pixel; the last two hold few photons. */
extern const int subject_boxes[BOXES][4];

struct subject {
    nb_context *ctx;
    nb_simulator *sim;
    nb_scene scene;
    struct hand_scene hand;
    nb_array y, w;
    double image[PIXELS], observed[PIXELS], weight[PIXELS];
    uint8_t mask[PIXELS];
};

/* Opens a scene whose brightest pixel has 60 photons. Its name is that of the catalogue;
 * or "faint", "spread_nearest", "spread_faint". */
struct subject *subject_open(const char *name, const char *names, int strategy);
void subject_close(struct subject *t);

/* Makes the simulator again, after it was dropped. */
void subject_make(struct subject *t, const char *names, int strategy, int precision,
                  int threads);
void subject_drop(struct subject *t);

/* Draws few photons everywhere, others for each number. */
void subject_draw_few(struct subject *t, int draw);

/* Returns a target of a kind; the odd ones have saturated pixels. */
nb_target subject_target(struct subject *t, int kind);

/* What the library finds; x: NULL: the values of the scene. */
double subject_loss(struct subject *t, const double *x, const nb_target *target,
                    nb_normal *out);
void subject_planes(struct subject *t, const nb_target *target, double *planes);

#endif
