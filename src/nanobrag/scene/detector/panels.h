/*
 * panels.h - the places of the panels of a detector (include/nanobrag/scene.h, nb_panel).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_PANELS_H
#define NB_SCENE_PANELS_H

#include <nanobrag/context.h>
#include <nanobrag/scene.h>

enum { PANELS_MOST = 4096 };

/* The middle of a group in its own frame, mm: `at` plus `per_pixel` times the edge of the
 * pixels of all panels that have no edge of their own. */
struct panel_middle {
    double at[3], per_pixel[3];
};

/* An origin, mm, and three unit vectors at right angles, fast, slow and fast x slow, in
 * some frame. */
struct panel_pose {
    double at[3], axis[3][3];
};

/* Checks the panels and groups of a detector, and refuses members that a detector of panels
 * cannot have. Fills in the size of the image, and `middle` (ngroup), the middles of the
 * groups. In the lists, which belong to the simulator, it fills in places in the image, and
 * axes, which become exact unit vectors at right angles. Errors: NB_ERR_ARGUMENT,
 * NB_ERR_SCENE. */
nb_status panels_resolve(nb_context *ctx, nb_scene *scene, struct panel_middle *middle);

/* Writes the middles of the groups of a resolved detector (ngroup). */
nb_status panels_middles(nb_context *ctx, const nb_detector *detector,
                         struct panel_middle *middle);

/* Finds two panels that share a pixel of the image. pair[0] is the panel whose first row
 * comes first. Returns 1, 0 if there are none, -1 without memory. */
int panels_overlap(const nb_panel *panel, int n, int pair[2]);

/* Returns the edge of a pixel of panel i, or of the rectangle, mm. */
double panels_pixel(const nb_detector *detector, int i);

/* Returns the middle of a panel in its own frame, mm. */
struct panel_middle panels_middle(const nb_panel *panel);

/* Writes the middle for the pixel edge of a detector, mm. */
void panels_middle_at(const nb_detector *detector, const struct panel_middle *middle,
                      double out[3]);

/* Returns the pose that axes and origin give, before any move. */
struct panel_pose panels_pose(const double origin[3], const double fast[3],
                              const double slow[3]);

/* Moves a pose about a middle in its own frame: see nb_panel. */
void panels_move(const double middle[3], const double shift[3], const double rotation[3],
                 struct panel_pose *pose);

/* Converts a pose within `outer` to the frame that `outer` is in. */
void panels_place(const struct panel_pose *outer, struct panel_pose *pose);

/* Writes the pose of panel i of a resolved detector in the laboratory, mm. */
void panels_in_lab(const nb_detector *detector, const struct panel_middle *middle, int i,
                   struct panel_pose *out);

/* Writes the pose of the frame of group g in the laboratory, mm. */
void panels_group_in_lab(const nb_detector *detector, const struct panel_middle *middle,
                         int g, struct panel_pose *out);

/* Converts a pose in the frame that `outer` is in to a pose within `outer`. */
void panels_within(const struct panel_pose *outer, struct panel_pose *pose);

#endif
