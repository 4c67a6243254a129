/*
 * plane_step.h - Newton's step for the plane of a box: the minimum of a quadratic model of
 * its loss, among all planes or among the planes that are nowhere negative in the box.
 *
 * For u and v from -1 to 1, the planes that are nowhere negative form the cone a >= |b| +
 * |c|. It has ten faces: the inside, four sides (the plane is 0 in one corner of the box),
 * four edges (the plane is 0 along one edge of the box) and the apex. The model is
 * minimised on each face, and the least result that lies in the cone is taken. So no guess
 * of the active bounds is needed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_PLANES_PLANE_STEP_H
#define NB_KERNELS_PLANES_PLANE_STEP_H

/* The terms a, b u and c v of a plane. */
enum { PLANE_TERMS = 3 };

/* The quadratic model of a loss around a plane. */
struct plane_model {
    double slope[PLANE_TERMS];
    double curvature[PLANE_TERMS][PLANE_TERMS]; /* symmetric, positive semidefinite */
    int kept[PLANE_TERMS]; /* 0: the term stays 0 */
    int positive; /* 1: the plane may not be negative in its box */
};

/* Sets `to` to the minimum of the model around the plane `from`. Returns the face on which
 * the minimum lies. */
int plane_step(const struct plane_model *model, const double from[PLANE_TERMS],
               double to[PLANE_TERMS]);

/* Sets `inverse` to the inverse of a model's curvature on a face. Directions without
 * curvature count as 0 in it. */
void plane_inverse(const struct plane_model *model, int face,
                   double inverse[PLANE_TERMS][PLANE_TERMS]);

#endif
