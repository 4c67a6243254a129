/*
 * kernels.h - the tables of functions that a backend fills in, and the functions that run a
 * job on them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_KERNELS_H
#define NB_KERNELS_KERNELS_H

#include "base/progress.h"
#include "kernels/derivatives/objective.h"
#include "kernels/derivatives/tile_jacobian.h"
#include "kernels/job.h"
#include "kernels/spots/rows/continuous_tile.h"
#include "kernels/spots/rows/spot_rows.h"
#include "kernels/spots/splat.h"
#include "physics/frame_tangent.h"
#include "physics/loss.h"

/* Computes the photons of the pixels of a tile that lie inside the detector, fast axis
 * innermost. A slow tile reports to `progress` on the way. If `progress` then asks to stop,
 * the function returns at once, and its photons are not valid. */
typedef void tile_forward(struct progress *progress, const struct phys_frame *frame,
                          const struct tile *tile, double *photons);

/* How many samples of a tile are evaluated between two reports to `progress`. */
enum { EVALUATIONS_PER_REPORT = 1 << 22 };

/* How many numbers the adjoint of a tile saves for each sample: KEPT_OF_SOURCE for each
 * source, and KEPT_OF_PAIR for each pair of source and orientation. If derivatives by
 * structure factors are wanted, a pair has one number more. */
enum { KEPT_OF_SOURCE = 1 + FRAME_CRYSTAL, KEPT_OF_PAIR = 4 };

/* TILE_SCRATCH: bytes that the derivatives of a tile need at job.scratch.
 * TILE_SCRATCH_BRAGG of them are for the derivatives of the Bragg photons. */
enum { TILE_SCRATCH_BRAGG = 384 << 10, TILE_SCRATCH = 640 << 10 };

/* Computes the photons of a tile, asks `objective` for their cotangents, and adds the
 * resulting cotangent of the frame to `bar`. Returns the tile's contribution to the value
 * of the objective. `workspace` saves the slopes of all samples between the photons and the
 * cotangents; it may be NULL if the objective is linear. */
typedef double tile_vjp(const struct job *job, const struct tile *tile,
                        const struct objective *objective, void *workspace,
                        struct phys_frame_tangent *bar, double *photons);

/* Replaces the Bragg sums in `photons` (sums of F^2 over the samples of each pixel, without
 * their constant `factor`) by the photons of the pixels of a tile. */
typedef void tile_finish(const struct phys_frame *frame, const struct tile *tile,
                         double factor, double *photons);

/* tile_weigh() and tile_close() together are the adjoint of tile_finish(). `sums` are the
 * Bragg sums of the pixels without their constant `factor`; `weight` receives the
 * cotangents of the sums.
 *
 * tile_weigh() is for a linear objective, whose cotangents do not depend on the sums.
 * tile_close() adds every cotangent to `bar` that does not come from the samples: those by
 * the factors evaluated once per pixel, by the scale factors before the sums, and by the
 * amorphous material. It returns the tile's contribution to the value of the objective;
 * `weight` may be NULL. */
typedef void tile_weigh(const struct job *job, const struct tile *tile, double factor,
                        const struct objective *objective, double *weight);
typedef double tile_close(const struct job *job, const struct tile *tile, double factor,
                          const struct objective *objective, const double *sums,
                          struct phys_frame_tangent *bar, double *weight, double *photons);

/* Adds the photons of the amorphous material, seen from the centres of the pixels, to
 * `photons`, and their derivatives along the tangents to `change`. */
typedef void tile_amorphous(const struct job *job, const struct tile *tile,
                            const struct tangents *along, double *photons, double *change);

/* Computes the solid angle of each pixel of a tile, averaged over its samples, sr. */
typedef void tile_omega(const struct phys_frame *frame, const struct tile *tile,
                        double *omega);

/* Applies phys_loss() to n <= TILE_FAST pixels: writes slope[i] and curvature[i] of each
 * pixel and returns the sum of the losses. The arrays have n elements and do not
 * overlap. */
typedef double loss_of_pixels(const struct phys_loss_model *model, int n,
                              const double *photons, const double *observed,
                              const double *weight, double *slope, double *curvature);

/* The rows of a tile's Jacobian, and the sums that their products are added to. change[r
 * TILE_PIXELS + i] is the derivative of pixel i along tangent r. After the n pixels come
 * the repeated ones, up to `lanes` (kernels/grid.h), with weights of 0. The sums are
 * `gradient` and `matrix`, a square matrix with `stride` numbers in a row; to[r] is the
 * index of tangent r in them, and ascends with r. */
struct gram {
    int n, lanes, rows;
    const double *change, *bar, *weight;
    const int *to; /* (rows); NULL: to[r] is r */
    int *moving; /* (rows) workspace: the tangents along which the tile changes */
    double *gradient, *matrix;
    size_t stride;
};

/* Adds the sums of bar x change to the gradient, and the sums of weight x change x change
 * to the lower triangle of the matrix, with its diagonal. */
typedef void tile_gram(const struct gram *gram);

struct kernels {
    const char *name; /* name of the instruction set, or "reference" */
    tile_omega *omega;
    tile_finish *finish; /* NULL: not in this backend */
    tile_forward *forward[PHYS_SHAPES][PHYS_LOOKUPS];
    tile_forward *single_orientation[PHYS_SHAPES][PHYS_LOOKUPS]; /* `forward` compiled for
                                      spec.single_orientation; NULL: not in this backend */
};

/* The derivative kernels of a backend. */
struct adjoint_kernels {
    /* bytes of each number that `vjp` saves for a sample; 0: saves none */
    size_t real_size;
    tile_vjp *vjp[PHYS_SHAPES][PHYS_LOOKUPS];
    tile_weigh *weigh; /* NULL: this backend has neither tile_weigh() nor tile_close() */
    tile_close *close;
    tile_jacobian *jacobian[PHYS_SHAPES][PHYS_LOOKUPS];
    spot_rows *spot_rows; /* NULL: also continuous_tile and amorphous_rows are NULL */
    continuous_tile *continuous_tile;
    tile_amorphous *amorphous_rows;
    double (*product)(int n, const double *a, const double *b); /* inner product */
    tile_gram *gram;
    loss_of_pixels *loss;
};

struct node_kernels;
struct change_kernels;
struct continuous_kernels;

/* The kernels that a job runs on: those in float (`single`) in tiles where the rounding of
 * float stays within the tolerance, those in double (`precise`) in all others. */
struct kernel_set {
    const struct kernels *precise, *single; /* single: NULL when the job is all in double */
    const struct splat_kernels *splat_precise, *splat_single;
    const struct adjoint_kernels *adjoint_precise, *adjoint_single;
    const struct splat_vjp_kernels *splat_vjp_precise, *splat_vjp_single;
    const struct density_kernels *density; /* density of atoms; NULL: not in this backend */
    /* kernels of a continuous crystal; NULL: not in this backend */
    const struct node_kernels *nodes;
    const struct change_kernels *changes;
    const struct continuous_kernels *continuous_precise, *continuous_single;
};

extern const struct kernels kernels_reference;
extern const struct adjoint_kernels adjoint_kernels_reference;

/* Returns the kernels of the instruction set that `isa` names; if `isa` is "", of the
 * fastest one that this machine can run. `precise` is NULL if the build or the machine
 * lacks the named instruction set. */
struct kernel_set kernels_lanes(const char *isa);

/* Returns the names of the instruction sets that this machine can run, for messages: "v2 v3
 * scalar". */
const char *kernels_lanes_names(void);

/* Returns how often a tile must be divided into four so that float is precise enough, or
 * TILE_IN_DOUBLE if only double is. *left becomes the rounding error that remains, as a
 * fraction of the image's peak. */
struct rounding;
enum { TILE_IN_DOUBLE = -1 };
int tiles_divisions(const struct kernel_set *kernels, const struct job *job,
                    const struct rounding *rounding, const struct tile *tile, double *left);

/* How many tiles a job has, how many of them are divided or computed in double, and the
 * largest estimate of the rounding error of a pixel, as a fraction of the image's peak. */
struct tiles_summary {
    int tiles, divided, precise;
    double rounding;
};

/* Fills in the summary of a job without computing a pixel. */
struct tiles_summary tiles_survey(const struct kernel_set *kernels, const struct job *job);

/* Returns the solid angle of all rendered pixels of the job of a panel, sr. `rows` is a
 * workspace of one number for each row of the image. */
double tiles_solid_angle(const struct kernels *kernels, const struct job *job, int threads,
                         double *rows);

/* Runs a job tile by tile on the threads of its schedule. The image has the same bits for
 * any number of threads. Errors: NB_ERR_CANCELLED when the progress handler asks to
 * stop. */
nb_status tiles_forward(struct progress *progress, const struct kernel_set *kernels,
                        const struct job *job);

#endif
