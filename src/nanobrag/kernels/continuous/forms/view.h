/*
 * view.h - the numbers of a frame as the spots of a continuous crystal need them; and the
 * adjoint, from the cotangents of a spot to the cotangents of the frame.
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

/* The two mosaics of a crystal: core and tail. The tail has the share `tail`. */
enum { MOSAIC_CORE, MOSAIC_TAIL, MOSAICS };

/* The crystal in the middle of a part of the rotation. Matrices of six numbers are
 * symmetric: xx yy zz xy xz yz. */
struct crystal_at {
    double axes[9], stars[9]; /* rows a, b, c and a*, b*, c* */
    double k[6], block[6]; /* K of a block, which scatters exp(-g K g/2); inverse of K */
    double spread[MOSAICS][6]; /* covariance of the rotations, radian^2 */
    double share[MOSAICS]; /* of the intensity, times the weight of the part */
};

/* The sources of one direction. Their energies are relative to the energy of wave number
 * k. */
struct beam_group {
    int first, n; /* among the sources of the frame */
    double k, s[3]; /* 1/A, direction */
    double low, high; /* the range of the logarithms of relative energies */
    struct rules rules; /* of two and more sources */
};

struct view {
    const struct phys_frame *frame; /* of the first panel */
    int ncrystal, ngroup;
    struct crystal_at *crystal; /* (ncrystal) */
    struct beam_group *group; /* (ngroup) */
};

/* A spot: one reflection of one mosaic, in one part of the rotation, of the light of one
 * group of sources, on one layer of a panel. */
struct spot_name {
    int h, k, l;
    int crystal, mosaic, group, panel, layer;
    int along; /* enum along */
    /* rule = 0: `line` is the source, or -1 for all sources of the group along their
     * energies; else `line` is a point of the rule of `rule` points */
    int line, rule;
    /* phi of a still in a part of the rotation, over broad.half_range; and the phi at which
     * laboratory widths are turned into the crystal's frame, radian */
    double gauss, turn;
    double x, y; /* middle of the spot, samples from the corner of the panel */
    int star; /* the widths that a star integrates (star.h): STAR_LIGHT, STAR_PLACES */
};

/* The widths that are fixed in the laboratory; without a star they are part of the
 * block. */
enum { STAR_LIGHT = 1, STAR_PLACES = 2 };

/* Fills in the crystals and the groups, for whose lists there is memory: as many as the
 * frame has orientations and sources. If `kept` is 1, the groups and their k stay, even if
 * the directions of their sources have changed. */
void view_make(const struct phys_frame *frame, int kept, struct view *out);

/* Returns F^2 of a reflection, less a constant factor (physics/step.h), and its place in
 * the box of structure factors. */
double view_square(const struct view *view, const struct phys_spec *spec, const int hkl[3],
                   int *place);

/* The light of a spot: its wave number, in 1/A, and its weight. */
struct spot_light {
    double k, weight;
};

/* Returns the light of a spot; for all sources of a group, the group's with weight 1. */
struct spot_light view_light(const struct view *view, const struct spot_name *name);

/* Adds the cotangents of a spot's light to the cotangents of the sources. */
void view_light_adjoint(const struct view *view, const struct spot_name *name,
                        const struct spot_light *bar, struct phys_source *source);

/* Returns the change of a spot's light along a tangent of the frame. */
struct spot_light view_light_tangent(const struct view *view, const struct spot_name *name,
                                     const struct phys_source *dot);

/* Fills in all of `nodes` but x, y, at, line_at, the lengths of steps and the star. Pass
 * the frame of the panel. */
void view_nodes(const struct view *view, const struct phys_frame *frame,
                const struct spot_name *name, struct form_of *of, struct spot_nodes *nodes);

/* Cotangents of the numbers that the spots of a crystal share; view_close() takes them to
 * the frame. */
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
 * is left out: it follows from the change of the numbers that the form is made from. */
void view_nodes_tangent(const struct view *view, const struct phys_frame *frame,
                        const struct spot_name *name, const struct spot_nodes *nodes,
                        const struct phys_frame_tangent *dot,
                        const struct crystal_change *crystal, struct nodes_change *out,
                        struct form_of *made);

#endif
