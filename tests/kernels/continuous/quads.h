/*
 * quads.h - the closed form in 128-bit floating point: the kernels' own text with another
 * type, whose differences are derivatives to 20 digits. Numbers come and go as arrays of
 * double, in the order of the structs that they stand for.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_QUADS_H
#define NB_TESTS_QUADS_H

enum { QUADS_NODES = 24 };

/* Writes the slopes of log I of a struct form at the place q0 + d: those by d, then those
 * by the numbers of the form, each by a change of its size. */
void quads_form_slopes(const double *form, const double d[3], const double *size,
                       double *slope);

/* Writes the change of a form along a change of the struct form_of it is made from. */
void quads_form_change(const double *of, const double *dot, double *change);

/* The nodes of a spot beside their numbers. */
struct quads_at {
    int along;
    double step, line_step;
    const double *x, *y, *at, *line_at; /* (QUADS_NODES, the last 5 times) */
    /* a star: which widths have one, its variables, their ways, and its points (room for
     * those of four variables) */
    int star, star_n, star_light;
    const double *star_ways, *star_at;
};

/* Writes the changes of the outputs, along a struct nodes_change, of nodes whose numbers
 * are another one. */
void quads_nodes_change(const struct quads_at *at, const double *numbers, const double *dot,
                        double (*change)[QUADS_NODES]);

/* A frame of one source and one orientation: its numbers (physics/frame_tangent.def), its
 * struct phys_broad and its struct phys_source; axes and weight of the orientation; and
 * changes of all of these. */
struct quads_frame {
    const double *number, *broad, *source, *axes, *number_dot, *broad_dot, *source_dot,
        *rotation_dot; /* struct phys_rotation */
    double weight;
    int oversample;
};

/* A spot, as struct spot_name. */
struct quads_name {
    int h, k, l, mosaic, layer;
    double gauss, turn, x, y;
};

/* Writes the changes of the outputs along a change of the frame, and that of the share of
 * the intensity that the spot's mosaic has. */
void quads_view_change(const struct quads_frame *frame, const struct quads_name *name,
                       const struct quads_at *at, double (*change)[QUADS_NODES],
                       double *share);

#endif
