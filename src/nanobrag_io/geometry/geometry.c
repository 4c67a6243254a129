/* geometry.c - panels in two frames, and how they replace a scene's detector.
 * SPDX-License-Identifier: MIT */
#include "nanobrag_io/geometry/geometry.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "scene/linear.h"

nb_status geometry_reserve(nb_context *ctx, const char *name, int npanel, int ngroup,
                           nb_geometry *out)
{
    for (int frame = 0; frame < FRAMES; frame++) {
        out->panel[frame] = calloc((size_t)npanel, sizeof(nb_panel));
        out->group[frame] = calloc((size_t)ngroup + 1, sizeof(nb_panel_group));
        if (!out->panel[frame] || !out->group[frame]) return fail_memory(ctx, name);
    }
    out->info.npanel = npanel;
    out->info.ngroup = ngroup;
    return NB_OK;
}

/* Turns a vector from the frame whose beam is along +z to the frame whose beam is along
 * +x. */
static void turn(double v[3])
{
    const double z = v[2];

    v[2] = -v[0];
    v[0] = z;
}

void geometry_finish(nb_geometry *g)
{
    for (int i = 0; i < g->info.npanel; i++) {
        nb_panel *panel = g->panel[ALONG_X] + i;

        *panel = g->panel[ALONG_Z][i];
        if (panel->group > 0) continue;
        turn(panel->origin);
        turn(panel->fast);
        turn(panel->slow);
    }
    for (int i = 0; i < g->info.ngroup; i++) {
        nb_panel_group *group = g->group[ALONG_X] + i;

        *group = g->group[ALONG_Z][i];
        if (group->parent > 0) continue;
        turn(group->origin);
        turn(group->fast);
        turn(group->slow);
    }
}

void nb_geometry_info_get(const nb_geometry *geometry, nb_geometry_info *out)
{
    if (geometry && out) *out = geometry->info;
}

void nb_geometry_free(nb_geometry *geometry)
{
    if (!geometry) return;
    for (int frame = 0; frame < FRAMES; frame++) {
        free(geometry->panel[frame]);
        free(geometry->group[frame]);
    }
    free(geometry->mask);
    free(geometry->distance_from);
    free(geometry->wavelength_from);
    free(geometry);
}

/* ---- scenes ---- */

nb_status nb_geometry_apply(const nb_geometry *g, nb_scene *scene)
{
    STANDARD_FLOATS;
    nb_detector *d;
    double origin[3];
    int frame;

    if (!g || !scene) return NB_ERR_ARGUMENT;
    d = &scene->detector;
    if (g->is_placed && d->distance != 0) return NB_ERR_SCENE;
    if ((g->info.distance_from && d->distance == 0)
        || (g->info.wavelength_from && scene->beam.wavelength == 0
            && scene->beam.nsource == 0))
        return NB_ERR_SCENE;
    frame = d->convention == NB_CONVENTION_MOSFLM || d->convention == NB_CONVENTION_DENZO
                    || d->convention == NB_CONVENTION_CUSTOM
                ? ALONG_X
                : ALONG_Z;
    origin[0] = g->shift[0];
    origin[1] = g->shift[1];
    origin[2] = d->distance != 0 ? d->distance : g->info.distance;
    linear_copy(origin, d->origin);
    if (frame == ALONG_X) turn(d->origin);
    d->origin_kind = NB_ORIGIN_PIX0;
    d->npanel = g->info.npanel;
    d->panel = g->panel[frame];
    d->ngroup = g->info.ngroup;
    d->group = g->group[frame];
    d->nslow = g->info.nslow;
    d->nfast = g->info.nfast;
    d->pixel = g->info.pixel;
    d->mask = g->mask;
    d->distance = d->close_distance = d->twotheta = 0;
    d->size[0] = d->size[1] = 0;
    d->curved = 0;
    d->also_kind = NB_ORIGIN_DEFAULT;
    memset(d->also, 0, sizeof d->also);
    memset(d->vectors, 0, 3 * sizeof d->vectors[0]);
    memset(d->roi, 0, sizeof d->roi); /* the roi was meant for the former image */
    d->box = NULL;
    d->nbox = 0;
    if (scene->beam.wavelength == 0) scene->beam.wavelength = g->info.wavelength;
    return NB_OK;
}
