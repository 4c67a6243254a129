/*
 * probe.h - short ways to ask a scene for its image, its description or its refusal, and
 * rotations by quaternion, which share nothing with the library's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PROBE_H
#define NB_TESTS_PROBE_H

#include <stddef.h>

#include <nanobrag/nanobrag.h>

#define PROBE_PI     3.14159265358979323846
#define PROBE_RADIAN (PROBE_PI / 180)
#define COUNT(list)  (sizeof(list) / sizeof *(list))

/* The context of all that is made here; it keeps what was logged. */
nb_context *probe_context(void);

/* What was logged since probe_forget(). */
const char *probe_log(void);
void probe_forget(void);

/* Ends the program with the message when the scene is refused. */
nb_simulator *probe_make(const nb_scene *scene, const char *free_names);
void probe_image(const nb_scene *scene, double *image);
nb_description probe_describe(const nb_scene *scene);
nb_scene probe_resolve(const nb_scene *scene);

/* A check: the scene is refused with this status and a message that has this part. */
void probe_refused(const nb_scene *scene, nb_status expected, const char *part);

/* Rows a, b, c of a phi step and a domain. */
void probe_orientation(nb_simulator *sim, int phi, int domain, double axes[3][3]);

/* A gaussian crystal at phi = 30 without anything that broadens its spots. */
nb_scene probe_gauss(int mosaic_model);

/* One of the scenes of support/scenes.h; its image at x, 37 x 40 pixels. */
void probe_forward(nb_simulator *sim, const double *x, double *image);

/* A check: <bar, J dx> is <J^T bar, dx> at the scene's own values, within
 * `allowed` of the sum of |bar J dx|. */
void probe_transposed(const char *what, nb_simulator *sim, const double *dx,
                      double allowed);

/* The next of a stream of numbers between 0 and 1. */
double probe_uniform(uint64_t *state);

/* Largest |a - b| over largest |b|. */
double probe_off(const double *a, const double *b, size_t n);
double probe_peak(const double *image, size_t n);

double probe_dot(const double *a, const double *b);
void probe_cross(const double *a, const double *b, double *out);
void probe_unit(const double *a, double *out);

/* v turned by an angle in degree about an axis of any length. */
void probe_turn(const double *axis, double degree, const double *v, double *out);

/* v turned about lab x, then y, then z. */
void probe_turn_xyz(const double *degree, const double *v, double *out);

/* Three vectors to their duals: u_i.v_j = 1 where i = j, else 0. */
void probe_dual(double u[3][3], double v[3][3]);

#endif
