/*
 * nodes.h - the form of a reflection at the nodes: fixed places of the ellipse that its
 * spot covers on a panel. Samples evaluate polynomials through the nodes (pattern.h).
 *
 * Along a coordinate z, the phi of a rotation or the relative energy of a spectrum, log I
 * is computed at five steps about its maximum. They give the value l at the maximum, its
 * place m, the curvature h = -l'', l''' and l''''. The nodes, the middles of these steps
 * and the lengths of steps are numbers of the spot: they do not change with the parameters.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_NODES_H
#define NB_KERNELS_CONTINUOUS_NODES_H

#include "kernels/continuous/forms/form.h"

enum { NODES = 24, NODE_STEPS = 5, LINE_STEPS = 3, NODE_FORMS = NODE_STEPS * LINE_STEPS };

/* The results of the steps, in order; a still has only the first. */
enum { NODE_L, NODE_M, NODE_H, NODE_L3, NODE_L4, NODE_OUTPUTS };

typedef double on_nodes[NODES];

/* The coordinate z along which a spot is integrated: phi, or the logarithm of the energy,
 * because a reflection has the same width in log energy all along its streak. */
enum along { ALONG_NOTHING, ALONG_PHI, ALONG_ENERGY };

/* Widths that are fixed in the laboratory (star.h): n normal variables y. The first `light`
 * of them turn the light, the rest move the crystal. */
enum {
    STAR_AXES = 4,
    STAR_POINTS = 2 * STAR_AXES + 1,
    STAR_MOST = STAR_POINTS * STAR_AXES + 1 /* numbers of a node in a step */
};
typedef double star_matrix[STAR_AXES][STAR_AXES];

struct star {
    int n, light;
    double way[STAR_AXES][3]; /* effect of each variable: on s, or on the place, m */
};

/* A reflection and the places where its form is computed. In the frame of the crystal, in
 * the middle of its part of the rotation, a place lies at
 *     p = (1 + e) R(-z w) k (d - s),   d = x/|x|,   x = origin + X fast + Y slow. */
struct spot_nodes {
    struct form form;
    double q0[3]; /* 1/A */
    double origin[3], fast[3], slow[3]; /* of the panel's layer, m for a sample */
    double k, s[3], w[3]; /* 1/wavelength, direction of the light, spindle */
    double z0; /* phi from the middle of the part, radian; not used with ALONG_PHI */
    double line; /* relative standard deviation of the energies; 0: one */
    int along; /* enum along */
    double step, line_step; /* along z, and along the energies of a line */
    on_nodes x, y; /* X and Y of the nodes */
    const double *at; /* (NODES) middle of the steps along z */
    const double (*line_at)[NODES]; /* (steps) middle of the energies of a line */
    const struct star *star; /* or NULL */
    star_matrix prior; /* inverse covariance of its variables */
    const double (*star_at)[NODES]; /* (steps x star_numbers()) the points, and a height */
};

/* The forms at the nodes. */
struct node_values {
    int steps, lines;
    /* directions of the nodes, 1/|x|, direction of the light, and the share of s in it;
     * with a star for each step, else for the first only */
    on_nodes d[NODE_STEPS][3], per_length[NODE_STEPS], s[NODE_STEPS][3], per_s[NODE_STEPS];
    on_nodes p[NODE_STEPS][3]; /* p for e = 0 */
    on_nodes middle_energy; /* 1 + e in the middle step, and 1 + e of step j over it */
    double energy_ratio[NODE_STEPS];
    on_nodes log[NODE_FORMS];
    on_nodes line_slope[NODE_STEPS][LINE_STEPS]; /* slope of a step's log I by its forms */
    on_nodes by_line[NODE_STEPS]; /* slope of a step's log I by `line` */
    on_nodes star_log[NODE_STEPS][STAR_POINTS]; /* log I of a step at the points */
    on_nodes star_slope[NODE_STEPS][STAR_POINTS]; /* slope of a step's log I by log I at the
                                                     points */
    double by_prior[NODE_STEPS][NODES][STAR_AXES][STAR_AXES];
    on_nodes output[NODE_OUTPUTS];
    on_nodes output_slope[NODE_OUTPUTS][NODE_STEPS]; /* slope by log I of each step */
    on_nodes slope[NODE_FORMS][FORM_SLOPES]; /* slope of log I by place and numbers of the
                                                form */
};

/* The numbers behind the nodes: their cotangents, or their changes. */
struct nodes_change {
    struct form form;
    double q0[3], origin[3], fast[3], slow[3], k, s[3], w[3], z0, line;
    double by[3]; /* by a rotation of the crystal and of all that the form is made from */
    star_matrix prior; /* by single elements */
};

struct node_kernels {
    /* values() writes all but the slopes of forms; slopes() writes all. */
    void (*values)(const struct spot_nodes *nodes, struct node_values *out);
    void (*slopes)(const struct spot_nodes *nodes, struct node_values *values);
    /* Does the work of `slopes` for one point of a star, without the outputs. */
    void (*point)(const struct spot_nodes *nodes, int point, struct node_values *out);
    /* Adds to `to` the cotangents of the numbers behind the nodes, given the cotangents of
     * the outputs. */
    void (*adjoint)(const struct spot_nodes *nodes, const struct node_values *values,
                    double (*bar)[NODES], struct nodes_change *to);
};

#endif
