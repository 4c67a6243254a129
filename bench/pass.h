/*
 * pass.h - a pass of a fit, ready to be timed part by part.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BENCH_PASS_H
#define NB_BENCH_PASS_H

#include <nanobrag/nanobrag.h>

/* The image; the value of the loss; value and gradient; both with the normal matrix; and
 * nb_vjp(), which has no loss. */
enum pass_part { PASS_IMAGE, PASS_VALUE, PASS_GRADIENT, PASS_MATRIX, PASS_ADJOINT };

struct pass {
    nb_simulator *sim;
    double *photons, *observed, *slopes, *matrix;
    nb_array image, data;
    int background; /* of the target */
    double created; /* seconds that it took to make the simulator */
};

/* What a pass is of. */
struct pass_scene {
    nb_scene scene;
    const char *free_names;
    nb_options options;
    double planes; /* photons per pixel in the data, for planes to fit; 0: no planes */
};

/* Makes a simulator, and observed photons: its own image and the planes, rounded to whole
 * photons. Returns 0 on failure; close it in either case. */
int pass_open(nb_context *ctx, const struct pass_scene *of, struct pass *pass);
void pass_close(struct pass *pass);

/* Returns the seconds of one part; 0 on failure. */
double pass_time(struct pass *pass, enum pass_part part, double (*clock)(void));

/* Finds up to n boxes of so many pixels around the brightest reflections of a scene, which
 * then has them; a simulator for that keeps no image. Returns 0 on failure. */
int pass_boxes(nb_context *ctx, int size, int n, nb_scene *scene, int (*box)[4]);

#endif
