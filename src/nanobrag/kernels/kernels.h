/*
 * kernels.h - the tables that a backend fills, and how a job is run on them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_KERNELS_H
#define NB_KERNELS_KERNELS_H

#include "base/progress.h"
#include "kernels/derivatives/objective.h"
#include "kernels/derivatives/tile_jacobian.h"
#include "kernels/job.h"
#include "kernels/spots/splat.h"
#include "physics/frame_tangent.h"

/* photons of the width x height pixels of a tile, fast axis innermost */
typedef void tile_forward(const struct phys_frame *frame, const struct tile *tile,
                          double *photons);

/* what an adjoint keeps of each lane under a source, and of each pair of it and an
 * orientation, there one more where structure factors are asked for: numbers */
enum { KEPT_OF_SOURCE = 1 + FRAME_CRYSTAL, KEPT_OF_PAIR = 4 };

/* Adds to `bar` the cotangent of the frame for a tile that `pull` pulls on, and fills in
 * its photons; returns what the tile adds to the value. `room`: memory for the slopes of
 * all samples, needed unless the pull is linear. */
typedef double tile_vjp(const struct job *job, const struct tile *tile,
                        const struct objective *objective, void *workspace,
                        struct phys_frame_tangent *bar, double *photons);

/* photons of a tile whose Bragg sums over samples are known: `photons` holds them, less
 * their constant factor, and is overwritten */
typedef void tile_finish(const struct phys_frame *frame, const struct tile *tile,
                         double factor, double *photons);

/* Adjoints of a tile whose Bragg sums over samples are known, less their constant factor.
 * Both fill in the photons.
 *
 * weigh: what the number at the end changes by with each sum. Where the pull is linear the
 * sums may be any.
 * close: adds to `bar` all that does not come from the samples: factors that a pixel takes
 * once, numbers before the sums, the amorphous material. Returns what the tile adds to the
 * value. */
typedef void tile_weigh(const struct job *job, const struct tile *tile, double factor,
                        const struct objective *objective, const double *sums,
                        double *weight, double *photons);
typedef double tile_close(const struct job *job, const struct tile *tile, double factor,
                          const struct objective *objective, const double *sums,
                          struct phys_frame_tangent *bar, double *photons);

/* solid angles of a tile's pixels, as their samples are weighted with on average, sr */
typedef void tile_omega(const struct phys_frame *frame, const struct tile *tile,
                        double *omega);

struct kernels {
    const char *name; /* of the instruction set, or "reference" */
    tile_omega *omega;
    tile_finish *finish; /* NULL: this backend has none */
    tile_forward *forward[PHYS_SHAPES][PHYS_LOOKUPS];
    tile_forward *single_orientation[PHYS_SHAPES][PHYS_LOOKUPS]; /* spec.lone; NULL: not in
                                                                    this backend */
};

/* the adjoints of a backend */
struct adjoint_kernels {
    size_t real_size; /* of the numbers that it keeps of its samples; 0: it keeps none */
    tile_vjp *vjp[PHYS_SHAPES][PHYS_LOOKUPS];
    tile_weigh *weigh; /* NULL: this backend has none of these */
    tile_close *close;
    tile_jacobian *rows[PHYS_SHAPES][PHYS_LOOKUPS];
    double (*product)(int n, const double *a, const double *b); /* sum of a b */
};

/* what a job runs on: `single` where its rounding keeps to the tolerance, else `precise` */
struct kernel_set {
    const struct kernels *precise, *single; /* single: NULL when all is in double */
    const struct splat_kernels *splat_precise, *splat_single;
    const struct adjoint_kernels *adjoint_precise, *adjoint_single;
    const struct splat_vjp_kernels *splat_vjp_precise, *splat_vjp_single;
};

extern const struct kernels kernels_reference;
extern const struct adjoint_kernels adjoint_kernels_reference;

/* adds to `bar` what pulls on the amorphous material, seen from the centre of pixel i of a
 * tile, or of all its pixels. Of all lanes, in float too: where it outshines the crystal,
 * float would round away the latter's gradient */
void reference_amorphous_pixel_vjp(const struct phys_frame *frame, const struct tile *tile,
                                   int i, double photons_bar,
                                   struct phys_frame_tangent *bar);
void reference_amorphous_vjp(const struct phys_frame *frame, const struct tile *tile,
                             const double *photons_bar, struct phys_frame_tangent *bar);

/* Best lanes this machine can run; `isa` (may be "") names one. precise is NULL when the
 * build or the machine lacks the one that was named. */
struct kernel_set kernels_lanes(const char *isa);

/* Names of the lanes this machine can run, for messages: "v2 v3 scalar". */
const char *kernels_lanes_names(void);

/* How a tile is computed: so many divisions (each into four) in float, or TILE_IN_DOUBLE,
 * and what rounding then leaves. */
struct rounding;
enum { TILE_IN_DOUBLE = -1 };
int tiles_divisions(const struct kernel_set *kernels, const struct job *job,
                    const struct rounding *rounding, const struct tile *tile, double *left);

/* How the tiles of a job are computed, and the worst estimate of what rounding does to a
 * pixel, of the image's peak. */
struct tiles_summary {
    int tiles, divided, precise;
    double rounding;
};

/* Without computing a pixel. */
struct tiles_summary tiles_survey(const struct kernel_set *kernels, const struct job *job);

/* The solid angle that the rendered pixels see, sr. `rows`: work memory, one number per row
 * of the image. */
double tiles_solid_angle(const struct kernels *kernels, const struct job *job, int threads,
                         double *rows);

/* Run a job tile by tile on the threads of the context. The same bits for any number of
 * threads. NB_ERR_CANCELLED when the context's progress handler asks to stop. */
nb_status tiles_forward(struct progress *progress, const struct kernel_set *kernels,
                        const struct job *job);

#endif
