/*
 * view.h - a view: the numbers of a frame as the spots of a continuous crystal need them;
 * and the adjoint of this step, from the cotangents of a spot to the cotangents of the
 * frame.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_VIEW_H
#define NB_KERNELS_CONTINUOUS_VIEW_H

#include "kernels/continuous/forms/form_make.h"
#include "kernels/continuous/forms/nodes.h"
#include "kernels/continuous/forms/rules.h"
#include "physics/frame_tangent.h"
#include "physics/spec.h"

/* The two mosaics of a crystal, core and tail; broad.tail is the share of the tail. */
enum { MOSAIC_CORE, MOSAIC_TAIL, MOSAICS };

/* The crystal at the middle phi of a part of the rotation. Matrices of six numbers are
 * symmetric: xx yy zz xy xz yz. */
struct crystal_at {
    double axes[9], stars[9]; /* rows a, b, c, A; and a*, b*, c*, 1/A */
    /* K of a block, which scatters exp(-g K g/2), A^2; K^-1, 1/A^2 */
    double k[6], block[6];
    double spread[MOSAICS][6]; /* covariance of the rotations, radian^2 */
    double share[MOSAICS]; /* share of the intensity, times the weight of the orientation */
};

/* A group: neighbouring sources of one direction. Relative energies are divided by the
 * energy of wave number k, the group's mean. */
struct beam_group {
    int first, n; /* index of the first source in the frame; number of sources */
    double k, s[3]; /* mean wave number, 1/A; direction */
    double low, high; /* range of the logarithms of the relative energies */
    struct rules rules; /* Gauss's rules, for two sources or more */
};

/* The crystals and the groups of sources of a frame. */
struct view {
    const struct phys_frame *frame; /* frame of the first panel */
    int ncrystal, ngroup;
    struct crystal_at *crystal; /* (ncrystal) */
    struct beam_group *group; /* (ngroup) */
};

/* Tells which spot is meant: the spot of one reflection, by the core or the tail of the
 * mosaic spread (MOSAIC_...), in one part of the rotation, in the light of one group of
 * sources, on one layer of a panel. */
struct spot_name {
    int h, k, l;
    int crystal, mosaic, group, panel, layer;
    int along; /* enum along */
    /* If rule = 0, `line` is a source, or -1 for all sources of the group along their
     * energies. Otherwise `line` is a point of Gauss's rule of `rule` points. */
    int line, rule;
    /* gauss: phi of a still within its part of the rotation, over broad.half_range. turn:
     * phi at which laboratory widths are turned into the crystal's frame, radian */
    double gauss, turn;
    double x, y; /* middle of the spot, sub-pixels from the corner of the panel */
    int star; /* widths that a star integrates (star.h): STAR_LIGHT, STAR_PLACES */
};

/* The widths that are fixed in the laboratory: divergence of the light, and places in the
 * crystal. Without a star they are part of the block. */
enum { STAR_LIGHT = 1, STAR_PLACES = 2 };

/* Fills in the crystals and the groups. Their lists must have memory for as many as the
 * frame has orientations and sources. If `kept` is 1, the groups and their k stay, even if
 * the directions of their sources have changed. */
void view_make(const struct phys_frame *frame, int kept, struct view *out);

/* Returns F^2 of a reflection without the factor that phys_constant_factor() has; *place
 * becomes the place of F in the box of structure factors. */
double view_square(const struct view *view, const struct phys_spec *spec, const int hkl[3],
                   int *place);

/* The light of a spot: its wave number, in 1/A, and its weight. */
struct spot_light {
    double k, weight;
};

/* Returns the light of a spot. If the spot stands for all sources of a group, its light has
 * the group's k and weight 1. */
struct spot_light view_light(const struct view *view, const struct spot_name *name);

/* Adds the cotangents of a spot's light to the cotangents of the sources. */
void view_light_adjoint(const struct view *view, const struct spot_name *name,
                        const struct spot_light *bar, struct phys_source *source);

/* Returns the change of a spot's light along a tangent of the frame with the sources
 * `dot`. */
struct spot_light view_light_tangent(const struct view *view, const struct spot_name *name,
                                     const struct phys_source *dot);

/* Fills in `of` and all of `nodes` but x, y, at, line_at, the lengths of steps and the
 * star. `frame` is the frame of the spot's panel. */
void view_nodes(const struct view *view, const struct phys_frame *frame,
                const struct spot_name *name, struct form_of *of, struct spot_nodes *nodes);

/* Cotangents of the numbers that all spots of a crystal share. view_close() propagates them
 * to the frame. */
struct crystal_bar {
    double block[6], spread[MOSAICS][6], share[MOSAICS];
};

/* Adds the cotangents of a spot's nodes to the cotangents of the frame and of its
 * crystal. */
void view_nodes_adjoint(const struct view *view, const struct phys_frame *frame,
                        const struct spot_name *name, const struct form_of *of,
                        const struct spot_nodes *nodes, const struct nodes_change *bar,
                        struct crystal_bar *crystal, struct phys_frame_tangent *to);
void view_close(const struct view *view, const struct crystal_bar *crystal,
                struct phys_frame_tangent *to);

/* The change of a crystal along a tangent of the frame. */
struct crystal_change {
    double stars[9], block[6], spread[MOSAICS][6], share[MOSAICS];
};

void view_crystal_tangent(const struct view *view, int crystal,
                          const struct phys_frame_tangent *dot, struct crystal_change *out);

/* Writes the change of a spot's nodes along a tangent of the frame. The form's own change
 * is left out; it follows from `made`, the change of the numbers from which the form is
 * made. */
void view_nodes_tangent(const struct view *view, const struct phys_frame *frame,
                        const struct spot_name *name, const struct spot_nodes *nodes,
                        const struct phys_frame_tangent *dot,
                        const struct crystal_change *crystal, struct nodes_change *out,
                        struct form_of *made);

#endif
