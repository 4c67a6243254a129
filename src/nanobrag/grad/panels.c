/*
 * panels.c - tangents of the places of panels. It follows the formulas of
 * scene/detector/panels.c one by one, and computes each tangent (_dot) beside its value.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/detector/panels.h"

#include <string.h>

#include "grad/linear_tangent.h"
#include "grad/tangent.h"
#include "scene/detector/detector.h"

/* A pose and its tangent. */
struct moving_pose {
    struct panel_pose at, dot;
};

/* Computes the tangent of outwards(), which converts a vector from a pose's own frame to
 * the frame that states the pose. */
static void outwards_tangent(const struct moving_pose *pose, const double own[3],
                             const double own_dot[3], double out[3])
{
    double v[3] = {0, 0, 0};

    for (int i = 0; i < 3; i++)
        linear_add_tangent(own[i], own_dot[i], pose->at.axis[i], pose->dot.axis[i], v);
    linear_copy(v, out);
}

/* Applies panels_move() to a pose, and computes its tangent. Before the move the pose has
 * the tangent 0. */
static void move_tangent(const double middle[3], const double middle_dot[3],
                         const double shift[3], const double shift_dot[3],
                         const double rotation[3], const double rotation_dot[3],
                         struct moving_pose *pose)
{
    static const double still[3] = {0, 0, 0};
    const struct panel_pose before = pose->at;
    double way[3], turned[3];

    linear_rotate_xyz_tangent(rotation, rotation_dot, middle, middle_dot, turned);
    linear_copy(middle_dot, way);
    linear_add(-1, turned, way);
    linear_add(1, shift_dot, way);
    for (int i = 0; i < 3; i++) linear_add(way[i], before.axis[i], pose->dot.at);
    for (int i = 0; i < 3; i++) {
        const double unit[3] = {i == 0, i == 1, i == 2};

        linear_rotate_xyz_tangent(rotation, rotation_dot, unit, still, turned);
        memset(pose->dot.axis[i], 0, sizeof pose->dot.axis[i]);
        for (int j = 0; j < 3; j++)
            linear_add(turned[j], before.axis[j], pose->dot.axis[i]);
    }
    panels_move(middle, shift, rotation, &pose->at);
}

/* Applies panels_place() to a pose and to its tangent. */
static void place_tangent(const struct moving_pose *outer, struct moving_pose *pose)
{
    double at[3];

    outwards_tangent(outer, pose->at.at, pose->dot.at, at);
    linear_add(1, outer->dot.at, at);
    linear_copy(at, pose->dot.at);
    for (int i = 0; i < 3; i++)
        outwards_tangent(outer, pose->at.axis[i], pose->dot.axis[i], pose->dot.axis[i]);
    panels_place(&outer->at, &pose->at);
}

static void middle_tangent(double pixel_dot, const struct panel_middle *middle,
                           double out[3])
{
    linear_scale(pixel_dot, middle->per_pixel, out);
}

/* The moves of a panel or a group, and their tangents. */
struct moves {
    const double *shift, *shift_dot, *rotation, *rotation_dot;
};

static void move(const nb_detector *d, const nb_detector *dot,
                 const struct panel_middle *middle, const struct moves *moves,
                 struct moving_pose *pose)
{
    double about[3], about_dot[3];

    panels_middle_at(d, middle, about);
    middle_tangent(dot->pixel, middle, about_dot);
    move_tangent(about, about_dot, moves->shift, moves->shift_dot, moves->rotation,
                 moves->rotation_dot, pose);
}

/* Computes panels_in_lab() and its tangent. */
static void in_lab_tangent(const nb_detector *d, const nb_detector *dot,
                           const struct panel_middle *middle, int i,
                           struct moving_pose *out)
{
    static const double still[3] = {0, 0, 0};
    const nb_panel *panel = d->panel + i, *panel_dot = dot->panel ? dot->panel + i : NULL;
    const struct panel_middle own = panels_middle(panel);
    const struct moves moves = {panel->shift, panel_dot ? panel_dot->shift : still,
                                panel->rotation, panel_dot ? panel_dot->rotation : still};

    memset(out, 0, sizeof *out);
    out->at = panels_pose(panel->origin, panel->fast, panel->slow);
    move(d, dot, &own, &moves, out);
    for (int g = panel->group - 1; g >= 0; g = d->group[g].parent - 1) {
        const nb_panel_group *group = d->group + g;
        const nb_panel_group *group_dot = dot->group ? dot->group + g : NULL;
        const struct moves of_group = {group->shift, group_dot ? group_dot->shift : still,
                                       group->rotation,
                                       group_dot ? group_dot->rotation : still};
        struct moving_pose pose = {panels_pose(group->origin, group->fast, group->slow),
                                   {{0}, {{0}}}};

        move(d, dot, middle + g, &of_group, &pose);
        place_tangent(&pose, out);
    }
    linear_rotate_xyz_tangent(d->rotation, dot->rotation, out->at.at, out->dot.at,
                              out->dot.at);
    linear_rotate_xyz(d->rotation, out->at.at, out->at.at);
    linear_add(1, d->origin, out->at.at);
    linear_add(1, dot->origin, out->dot.at);
    for (int j = 0; j < 3; j++) {
        linear_rotate_xyz_tangent(d->rotation, dot->rotation, out->at.axis[j],
                                  out->dot.axis[j], out->dot.axis[j]);
        linear_rotate_xyz(d->rotation, out->at.axis[j], out->at.axis[j]);
    }
}

void panel_tangent(const nb_scene *scene, const nb_scene *dot,
                   const struct scene_fixed *fixed, int i,
                   double number[PHYS_PANEL_NUMBERS])
{
    const nb_detector *d = &scene->detector;
    struct phys_frame_tangent out = {0};
    double beam[3], beam_dot[3], normal[3], ratio, ratio_dot;
    struct moving_pose pose;
    double side, close;

    in_lab_tangent(d, &dot->detector, fixed->middle, i, &pose);
    side = linear_dot(pose.at.at, pose.at.axis[2]) < 0 ? -1 : 1;
    linear_scale(1e-3, pose.dot.at, out.pix0);
    linear_copy(pose.dot.axis[0], out.fast);
    linear_copy(pose.dot.axis[1], out.slow);
    linear_scale(side, pose.dot.axis[2], out.normal);
    linear_scale(side, pose.at.axis[2], normal);
    out.pixel = d->panel[i].pixel == 0 ? dot->detector.pixel / 1000 : 0;
    close = 1e-3 * linear_dot(pose.at.at, normal);
    out.close_distance =
        1e-3 * linear_dot(pose.at.at, out.normal) + linear_dot(out.pix0, normal);
    linear_unit(scene->beam.direction, beam);
    linear_unit_tangent(scene->beam.direction, dot->beam.direction, beam_dot);
    ratio = linear_dot(beam, normal);
    ratio_dot = linear_dot_tangent(beam, beam_dot, normal, out.normal);
    if (ratio != 0) out.distance = (out.close_distance - close / ratio * ratio_dot) / ratio;
    memcpy(number, phys_numbers(&out), PHYS_PANEL_NUMBERS * sizeof *number);
}

int panels_change(const nb_scene *dot)
{
    const nb_detector *d = &dot->detector;

    return d->panel || d->group || d->pixel != 0 || !linear_is_zero(d->origin)
           || !linear_is_zero(d->rotation) || !linear_is_zero(dot->beam.direction);
}
