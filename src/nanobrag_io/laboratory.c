/*
 * laboratory.c - turns a scene into the frame of dxtbx. SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/laboratory.h"

#include <string.h>

#include "base/context.h"
#include "scene/beam.h"
#include "scene/crystal.h"
#include "scene/detector/detector.h"
#include "scene/linear.h"

void laboratory_turn(const struct laboratory *laboratory, const double v[3], double out[3])
{
    linear_apply((const double(*)[3])laboratory->turn, v, out);
}

void laboratory_nexus(const double v[3], double out[3])
{
    static const double turn[3][3] = {{-1, 0, 0}, {0, 1, 0}, {0, 0, -1}};

    linear_apply(turn, v, out);
}

nb_status laboratory_of(nb_context *ctx, const nb_scene *scene, struct laboratory *out)
{
    static const double source[3] = {0, 0, 1};
    struct crystal_axes axes;
    double beam[3], field[3], normal[3], spindle[3];

    NB_TRY(crystal_derive(ctx, scene, &axes));
    linear_unit(scene->beam.direction, beam);
    beam_turn_to_dxtbx(scene, out->turn);
    linear_copy(source, out->source);
    linear_unit(scene->beam.polarization_axis, field);
    linear_cross(beam, field, normal);
    linear_unit(normal, normal);
    laboratory_turn(out, normal, out->polarization_normal);
    if (linear_is_zero(normal)) /* unpolarised light, whose axis may lie along the beam */
        out->polarization_normal[1] = 1;
    out->polarization_fraction =
        scene->beam.unpolarised ? 0.5 : (1 + scene->beam.polarization) / 2;
    linear_unit(scene->scan.axis, spindle);
    laboratory_turn(out, spindle, out->spindle);
    for (int i = 0; i < 3; i++) laboratory_turn(out, axes.real[i], out->real_axes[i]);
    out->npanel = detector_panels(&scene->detector);
    out->ngroup = scene->detector.npanel > 0 ? scene->detector.ngroup : 0;
    return NB_OK;
}

nb_status laboratory_panel(nb_context *ctx, const nb_scene *scene,
                           const struct laboratory *laboratory,
                           const struct panel_middle *middle, int i,
                           struct laboratory_panel *out)
{
    struct detector_place place;
    double origin[3];

    memset(out, 0, sizeof *out);
    if (i < 0 || i >= laboratory->npanel)
        return fail(ctx, NB_ERR_ARGUMENT, "panel %d of %d", i, laboratory->npanel);
    NB_TRY(detector_derive(ctx, scene, middle, i, &place));
    laboratory_turn(laboratory, place.fast, out->fast);
    laboratory_turn(laboratory, place.slow, out->slow);
    linear_scale(1000, place.pix0, origin);
    laboratory_turn(laboratory, origin, out->origin);
    out->pixel = panels_pixel(&scene->detector, i);
    out->nfast = place.nfast;
    out->nslow = place.nslow;
    if (scene->detector.npanel > 0) {
        const nb_panel *panel = scene->detector.panel + i;

        out->name = panel->name;
        out->group = panel->group;
        out->slow0 = panel->slow0;
        out->fast0 = panel->fast0;
    }
    return NB_OK;
}

void laboratory_group(const nb_scene *scene, const struct laboratory *laboratory,
                      const struct panel_middle *middle, int g,
                      struct laboratory_group *out)
{
    const nb_panel_group *group = scene->detector.group + g;

    panels_group_in_lab(&scene->detector, middle, g, &out->pose);
    laboratory_turn(laboratory, out->pose.at, out->pose.at);
    for (int i = 0; i < 3; i++)
        laboratory_turn(laboratory, out->pose.axis[i], out->pose.axis[i]);
    out->name = group->name;
    out->parent = group->parent;
}
