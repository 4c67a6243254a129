/*
 * panels.h - computes the places of the panels of a detector from nb_panel and
 * nb_panel_group (include/nanobrag/scene.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_PANELS_H
#define NB_SCENE_PANELS_H

#include <nanobrag/context.h>
#include <nanobrag/scene.h>

enum { PANELS_MOST = 4096 };

/* The middle of a panel or group in its own frame, mm: at + per_pixel x nb_detector.pixel.
 * Panels without a pixel size of their own contribute to per_pixel. */
struct panel_middle {
    double at[3], per_pixel[3];
};

/* A pose in some frame: an origin, mm, and three unit vectors at right angles, which are
 * fast, slow and fast x slow. */
struct panel_pose {
    double at[3], axis[3][3];
};

/* Checks the panels and groups of a detector, and refuses members of nb_detector that do
 * not go with panels. Fills in the size of the image, and `middle` (ngroup), the middles of
 * the groups. Also completes the lists of panels and groups, which must belong to the
 * simulator: places in the image, and axes, which become exact unit vectors at right
 * angles. Errors: NB_ERR_ARGUMENT, NB_ERR_SCENE. */
nb_status panels_resolve(nb_context *ctx, nb_scene *scene, struct panel_middle *middle);

/* Writes the middles of the groups of a resolved detector (ngroup). */
nb_status panels_middles(nb_context *ctx, const nb_detector *detector,
                         struct panel_middle *middle);

/* Finds two panels that share a pixel of the image. pair[0] is the panel whose first row
 * comes first. Returns 1 if there are such panels, 0 if not, -1 if there is no memory. */
int panels_overlap(const nb_panel *panel, int n, int pair[2]);

/* Returns the edge of a pixel, mm: of panel i, or of a detector that is one rectangle. */
double panels_pixel(const nb_detector *detector, int i);

/* Returns the middle of a panel in its own frame, mm. */
struct panel_middle panels_middle(const nb_panel *panel);

/* Computes a middle, mm, for the pixel size of a detector. */
void panels_middle_at(const nb_detector *detector, const struct panel_middle *middle,
                      double out[3]);

/* Returns the pose that an origin and two axes give, before shifts and rotations. */
struct panel_pose panels_pose(const double origin[3], const double fast[3],
                              const double slow[3]);

/* Moves a pose: rotates it about `middle` (in its own frame, mm) by `rotation` (degree),
 * then shifts it by `shift` (mm), both along its own axes; see nb_panel. */
void panels_move(const double middle[3], const double shift[3], const double rotation[3],
                 struct panel_pose *pose);

/* Converts a pose that is stated in the frame of `outer` to the frame that states
 * `outer`. */
void panels_place(const struct panel_pose *outer, struct panel_pose *pose);

/* Writes the pose of panel i of a resolved detector in the laboratory, mm. */
void panels_in_lab(const nb_detector *detector, const struct panel_middle *middle, int i,
                   struct panel_pose *out);

/* Writes the pose of group g of a resolved detector in the laboratory, mm. */
void panels_group_in_lab(const nb_detector *detector, const struct panel_middle *middle,
                         int g, struct panel_pose *out);

/* Converts a pose that is stated in the same frame as `outer` to the frame of `outer`. */
void panels_within(const struct panel_pose *outer, struct panel_pose *pose);

#endif
