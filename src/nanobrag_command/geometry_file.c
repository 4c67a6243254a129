/*
 * geometry_file.c - detectors of panels, from a geometry file of CrystFEL (-geom) or from
 * -expt.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_command/command.h"

/* ---- reading ---- */

/* options that state the wavelength */
static const int energies[] = {OPT_ENERGY, OPT_LAMBDA, OPT_SPECTRUM, OPT_SOURCEFILE,
                               OPT_SPECTRA};

int geometry_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                     const struct event_list *events, struct inputs *in)
{
    nb_geometry_info info;
    s->geom = events_text(events, OPT_GEOM);
    in->geometry = in->experiment.geometry; /* panels of -expt, or NULL */
    in->experiment.geometry = NULL;
    if (s->geom) {
        nb_geometry_free(in->geometry);
        in->geometry = NULL;
        const nb_status status = nb_geom_read(ctx, s->geom, &in->geometry);
        if (status != NB_OK)
            return message_status(messages, status, nb_context_message(ctx), 0);
        s->frame = NB_CONVENTION_XDS;
    }
    if (!in->geometry) return 0;
    nb_geometry_info_get(in->geometry, &info);
    s->pixel = info.pixel;
    s->npixel[0] = info.nfast;
    s->npixel[1] = info.nslow;
    if (info.wavelength > 0) s->scene.beam.wavelength = info.wavelength;
    return 0;
}

int geometry_check(const struct settings *s, struct messages *messages,
                   const nb_geometry *geometry)
{
    nb_geometry_info info = {0};
    int any = 0;
    if (!geometry) return 0;
    nb_geometry_info_get(geometry, &info);
    for (size_t i = 0; i < sizeof energies / sizeof *energies; i++)
        any |= s->given[energies[i]];
    if (info.distance_from && !s->given[OPT_DISTANCE])
        return message_usage(messages,
                             "%s: clen is %s%s%s; state the distance by -distance", s->geom,
                             *info.distance_from ? "in the data files (" : "not stated",
                             info.distance_from, *info.distance_from ? ")" : "");
    if (info.wavelength_from && !any)
        return message_usage(messages,
                             "%s: the photon energy is in the data files (%s); state it by "
                             "-energy",
                             s->geom, info.wavelength_from);
    return 0;
}

int geometry_apply(struct inputs *in, struct settings *s, struct messages *messages)
{
    nb_detector *const d = &s->scene.detector;
    const nb_detector given = *d; /* keeps its roi and boxes */
    if (!in->geometry) return 0;
    d->distance = s->given[OPT_DISTANCE] ? s->distance : 0;
    /* the panels of -expt are in the frame of the experiment, whatever convention options
     * name */
    if (!s->geom) d->convention = in->experiment.scene.detector.convention;
    if (nb_geometry_apply(in->geometry, &s->scene) != NB_OK)
        return message_usage(messages,
                             "%s: the distance or the wavelength is missing; give "
                             "-distance and -energy",
                             s->geom ? s->geom : s->expt);
    d->convention = given.convention;
    memcpy(d->roi, given.roi, sizeof d->roi);
    inputs_add_mask(in, s, d->mask);
    return 0;
}
