/*
 * nodes.h - the form of a reflection at the nodes: 24 places of the ellipse that its spot
 * covers on a panel. Samples evaluate polynomials through the nodes (pattern.h).
 *
 * Let z be a coordinate: the phi of a rotation, or the logarithm of the energy of a
 * spectrum. Along z, log I is computed at five steps about its maximum. They give the value
 * l at the maximum, its place m, the curvature h = -l'', l''' and l''''. The nodes, the
 * middles of these steps and their lengths belong to the spot and do not change with the
 * parameters.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_NODES_H
#define NB_KERNELS_CONTINUOUS_NODES_H

#include "kernels/continuous/forms/form.h"

enum { NODES = 24, NODE_STEPS = 5, LINE_STEPS = 3, NODE_FORMS = NODE_STEPS * LINE_STEPS };

/* The outputs of a node, from its steps: l, m, h, l''' and l''''. A still has only l. */
enum { NODE_L, NODE_M, NODE_H, NODE_L3, NODE_L4, NODE_OUTPUTS };

typedef double on_nodes[NODES];

/* The coordinate z along which a spot is integrated: nothing, phi, or the logarithm of the
 * energy. In this logarithm a reflection has the same width all along its streak. */
enum along { ALONG_NOTHING, ALONG_PHI, ALONG_ENERGY };

/* A star describes widths that are fixed in the laboratory (star.h) by n normal variables
 * y. The first `light` of these turn the light, the rest move the crystal. */
enum {
    STAR_AXES = 4,
    STAR_POINTS = 2 * STAR_AXES + 1,
    STAR_MOST = STAR_POINTS * STAR_AXES + 1 /* numbers of a star at a node in a step */
};
typedef double star_matrix[STAR_AXES][STAR_AXES];

struct star {
    int n, light;
    double way[STAR_AXES][3]; /* change of s, or of the place (m), by each variable */
};

/* A reflection and the places where its form is computed. In the frame of the crystal at
 * the middle of its part of the rotation, the scattering vector of a place is p = (1 + e)
 * R(-z w) k (d - s),   d = x/|x|,   x = origin + X fast + Y slow. */
struct spot_nodes {
    struct form form;
    double q0[3]; /* reflection, 1/A */
    /* corner of the panel's layer and edges of a sub-pixel, m */
    double origin[3], fast[3], slow[3];
    double k, s[3], w[3]; /* 1/wavelength, 1/A; direction of the light; spindle */
    double z0; /* phi from the middle of the part, radian; not used with ALONG_PHI */
    double line; /* relative standard deviation of the energies; 0: a single energy */
    int along; /* enum along */
    double step, line_step; /* lengths of steps along z, and along the energies of a line */
    on_nodes x, y; /* X and Y of the nodes, sub-pixels */
    const double *at; /* (NODES) middle of the steps along z */
    const double (*line_at)[NODES]; /* (steps) middle of the energies of a line */
    const struct star *star; /* NULL: the spot has no star */
    star_matrix prior; /* inverse covariance of the star's variables */
    const double (*star_at)[NODES]; /* (steps x star_numbers()) its points and heights */
};

/* The results of a form at the nodes. Form (j, m) is step j along z and energy m of a
 * line. */
struct node_values {
    int steps, lines; /* number of steps, and of energies of a line */
    /* for each node: direction d, 1/|x|, direction s of the light, and 1 over the length
     * that s had before it was made a unit vector; with a star in each step, else only in
     * the first */
    on_nodes d[NODE_STEPS][3], per_length[NODE_STEPS], s[NODE_STEPS][3], per_s[NODE_STEPS];
    on_nodes p[NODE_STEPS][3]; /* scattering vector at relative energy 1 */
    on_nodes middle_energy; /* relative energy 1 + e in the middle step */
    double energy_ratio[NODE_STEPS]; /* 1 + e of each step over middle_energy */
    on_nodes log[NODE_FORMS]; /* log I of each form */
    on_nodes line_slope[NODE_STEPS][LINE_STEPS]; /* slope of a step's log I by each form */
    on_nodes by_line[NODE_STEPS]; /* slope of a step's log I by `line` */
    on_nodes star_log[NODE_STEPS][STAR_POINTS]; /* log I of a step at the star's points */
    on_nodes star_slope[NODE_STEPS][STAR_POINTS]; /* slope of a step's log I by log I at the
                                                     points */
    /* slope of a step's log I at a node by the elements of spot_nodes.prior */
    double by_prior[NODE_STEPS][NODES][STAR_AXES][STAR_AXES];
    on_nodes output[NODE_OUTPUTS];
    on_nodes output_slope[NODE_OUTPUTS][NODE_STEPS]; /* slope by log I of each step */
    on_nodes slope[NODE_FORMS][FORM_SLOPES]; /* slope of log I by place and numbers of the
                                                form */
};

/* Cotangents or changes of the numbers on which the nodes depend, named as in struct
 * spot_nodes. */
struct nodes_change {
    struct form form;
    double q0[3], origin[3], fast[3], slow[3], k, s[3], w[3], z0, line;
    double by[3]; /* rotation vector, radian: it rotates the crystal and all from which its
                     form is made */
    star_matrix prior; /* cotangents are by single elements, not by symmetric pairs */
};

struct node_kernels {
    /* values() writes everything except the slopes of forms; slopes() writes everything. */
    void (*values)(const struct spot_nodes *nodes, struct node_values *out);
    void (*slopes)(const struct spot_nodes *nodes, struct node_values *values);
    /* Does what slopes() does, for one point of a star and without the outputs. */
    void (*point)(const struct spot_nodes *nodes, int point, struct node_values *out);
    /* Propagates `bar`, the cotangents of the outputs, to the numbers on which the nodes
     * depend, and adds them to `to`. */
    void (*adjoint)(const struct spot_nodes *nodes, const struct node_values *values,
                    double (*bar)[NODES], struct nodes_change *to);
};

#endif
