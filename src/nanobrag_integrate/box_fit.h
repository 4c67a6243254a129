/*
 * box_fit.h - a linear fit to the pixels of one box: profiles and a plane.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_INTEGRATE_BOX_FIT_H
#define NB_INTEGRATE_BOX_FIT_H

#include <stddef.h>

enum { BOX_PROFILES = 48, BOX_TERMS = BOX_PROFILES + 3 };

/* The used pixels of a box, and the terms of its model. */
struct box_fit {
    size_t n; /* number of pixels */
    int profiles, terms; /* terms: profiles, and three of a plane or none */
    const double *observed; /* (n) photons, minus those that are known */
    const double *known; /* (n) expected photons that the terms do not include */
    const double *term; /* (terms x n) */
    double gain, readout; /* variance I/gain + readout^2 */
    /* results: the factor of each term, and their covariance */
    double value[BOX_TERMS], covariance[BOX_TERMS][BOX_TERMS];
    double *variance; /* (n) of the pixels, at the fitted model */
};

/* Fits the factors. Returns 0 if the pixels do not determine them. */
int box_fit_solve(struct box_fit *fit);

#endif
