/*
 * timed.h - one simulator, ready to have its calls timed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BENCH_TIMED_H
#define NB_BENCH_TIMED_H

#include <nanobrag/nanobrag.h>

#include "cases.h"

/* An image; one at other parameters each time; the gradient of a sum over the image; the
 * value of a loss, the value with its gradient, both with the normal matrix; one tangent
 * and sixteen at once; the normal matrix without a loss; counts with noise; a batch of
 * images in float. */
enum timed_call {
    TIMED_IMAGE,
    TIMED_MOVED,
    TIMED_ADJOINT,
    TIMED_VALUE,
    TIMED_GRADIENT,
    TIMED_MATRIX,
    TIMED_TANGENT,
    TIMED_TANGENTS,
    TIMED_NORMAL,
    TIMED_NOISE,
    TIMED_BATCH,
    TIMED_CALLS
};
extern const char timed_words[]; /* of these calls, separated by '|' */

/* What is asked for, by words KEY=VALUE: those of cases.h and case (a letter; it comes
 * first), profile, precision, strategy, threads, clock (wall|cpu), isa, free (names with
 * '+' between them), loss (gaussian|poisson), planes (photons per pixel of the data, for
 * planes to fit), boxes (how many around the brightest spots), panels (columns, rows),
 * calls (with
 * '+' between them). */
struct timed_request {
    struct cases_scene of;
    nb_options options;
    int profile, threads, loss, boxes, columns, rows;
    /* by no word: enum nb_device, enum nb_compile; images are in double */
    int device, compile, is_wide;
    double planes;
    double (*clock)(void);
    char free_names[512], isa[16];
    unsigned calls; /* bits */
};

/* Returns NULL, or the word that is not understood. */
const char *timed_read(char *words, struct timed_request *out);

enum { TIMED_MOST = 1000, TIMED_IN_BATCH = 64 };

struct timed {
    struct timed_request is;
    nb_context *ctx;
    nb_hkl *hkl;
    nb_simulator *sim;
    nb_description about;
    double made; /* seconds to make the simulator */
    double *photons, *observed, *slopes, *matrix, *directions, *x;
    nb_array image, data, same[16];
    uint16_t *counts;
    float *many; /* images of a batch */
    nb_array batch[TIMED_IN_BATCH];
    nb_panel *panel;
    int (*box)[4];
    const double *at; /* the parameters of images and gradients; NULL: those of the scene */
    double times[TIMED_CALLS][TIMED_MOST];
    int n; /* how often each call was timed */
    char said[NAME]; /* why it failed */
};

/* Make it ready; returns 1, or 0 with `said`. Close it in either case. */
int timed_open(struct timed *t, const struct timed_request *request);
void timed_close(struct timed *t);

/* Returns the seconds of a call, 0 with `said` on failure. */
double timed_run(struct timed *t, enum timed_call call);

/* Make all calls of all simulators in turn, after a first round that does not count, until
 * they were made `repeat` times and took a quarter of `budget` seconds; fewer times where
 * they take all of it. Returns 0 if one failed. */
int timed_turns(struct timed *all, int n, int repeat, double budget);

/* Returns a hash of the bits of numbers. */
unsigned long long timed_hash(const void *numbers, size_t bytes);

#endif
