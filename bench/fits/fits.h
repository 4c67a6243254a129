/*
 * fits.h - fits of images with noise whose truth is known, many of a kind.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_FITS_H
#define BENCH_FITS_H

#include <nanobrag/nanobrag.h>

enum { STILL_PARAMETERS = 15 };

/* Counts of 16 bits end there: a pixel held at least so many. */
enum { STILL_OVERLOAD = 65535 };

/* A still of the protein Er-1, monoclinic, in water. */
struct still {
    int shape, ndomains, side; /* side: pixels of a square of 176 mm */
    double ncells[3], fluence, water;
};

/* What the programs of a campaign share. */
struct campaign {
    nb_context *ctx;
    nb_hkl *list;
    int runs, verbose;
};

nb_scene still_scene(const struct still *still, const nb_hkl *list);

/* Simulates the scene, with noise of this seed, into `photons` (side x side). */
void still_observe(nb_context *ctx, const nb_scene *scene, int64_t seed, double *photons);

/* The 15 free parameters of a still. */
extern const char still_names[];

/* The still that was observed; free its simulator. */
struct truth {
    nb_simulator *sim;
    double values[STILL_PARAMETERS];
};

void still_open(struct campaign *c, const struct still *still, struct truth *out);

/* Returns the scene with these values; it holds pointers of the simulator. */
nb_scene still_at(struct campaign *c, const struct truth *truth, const double *values);

/* A start of run k: cell off by 0.3 % and beta by 0.2 degree, misset by 0.15 degree about
 * each axis, the origin by 0.1 mm, with signs drawn at random; N 15 % too small, mosaic
 * spread and water 40 % too large, scale 30 % too small. The first three are `factor` times
 * as far off, beta `angle` times. */
void still_start(int k, double factor, double angle, double *values);

/* A number between 0 and 1, of a sequence that `state` carries on. */
double draw(uint64_t *state);

/* Sums over fits of the 15 parameters, in units of the errors; it has to begin as {0}. */
struct pulls {
    double squares[STILL_PARAMETERS], sums[STILL_PARAMETERS], chi2, largest;
    int runs;
};

void pulls_add(struct pulls *p, const double *truth, const nb_fit_result *r);

/* Prints d^T C^-1 d and the pulls, with what is wanted: 15 +- `margin`, and 0.8 or so
 * to 1.2.
 */
void pulls_print(const struct pulls *p, const char *name, double margin, double least);

/* Stops the program if a call has failed. */
void must(nb_context *ctx, nb_status status);

/* ---- campaigns ---- */

void campaign_starts(struct campaign *c, const char *name);
void campaign_pulls(struct campaign *c, const char *name);
void campaign_memory(struct campaign *c, const char *name);
void campaign_joint(struct campaign *c, const char *name);
void campaign_bias(struct campaign *c, const char *name);
void campaign_drawn(struct campaign *c, const char *name);
void campaign_stream(struct campaign *c, const char *name);
void campaign_cancel(struct campaign *c, const char *name);
void campaign_factors(struct campaign *c, const char *name);

#endif
