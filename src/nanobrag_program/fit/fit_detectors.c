/*
 * fit_detectors.c - detectors of experiments that differ: each image has the detector of
 * its own experiment, unless an option states the detector or all images share free
 * parameters of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "nanobrag_program/fit/fit_run.h"

static int differ_in(const double a[3], const double b[3])
{
    return a[0] != b[0] || a[1] != b[1] || a[2] != b[2];
}

/* Returns 1 if the panels, or the rectangle, have the same pixels of the image. */
static int same_pixels(const nb_detector *p, const nb_detector *q)
{
    int differ = p->npanel != q->npanel || p->nfast != q->nfast || p->nslow != q->nslow;
    for (int i = 0; !differ && i < p->npanel; i++)
        differ |= p->panel[i].nfast != q->panel[i].nfast
                  || p->panel[i].nslow != q->panel[i].nslow
                  || p->panel[i].fast0 != q->panel[i].fast0
                  || p->panel[i].slow0 != q->panel[i].slow0;
    return !differ;
}

/* Returns 1 if two detectors with the same pixels have them at the same places. */
static int same_places(const nb_detector *p, const nb_detector *q)
{
    int differ = p->pixel != q->pixel || p->close_distance != q->close_distance
                 || p->ngroup != q->ngroup || differ_in(p->origin, q->origin);
    for (int i = 0; i < 4; i++) differ |= differ_in(p->vectors[i], q->vectors[i]);
    for (int i = 0; !differ && i < p->npanel; i++)
        differ |= differ_in(p->panel[i].origin, q->panel[i].origin)
                  || differ_in(p->panel[i].fast, q->panel[i].fast)
                  || differ_in(p->panel[i].slow, q->panel[i].slow)
                  || p->panel[i].group != q->panel[i].group;
    for (int i = 0; !differ && i < p->ngroup; i++)
        differ |= differ_in(p->group[i].origin, q->group[i].origin)
                  || differ_in(p->group[i].fast, q->group[i].fast)
                  || differ_in(p->group[i].slow, q->group[i].slow)
                  || p->group[i].parent != q->group[i].parent;
    return !differ;
}

int fit_detector_compare(struct run *run, struct fit_source *source,
                         const nb_experiment *own)
{
    const struct inputs *const in = &run->command.inputs;
    const nb_detector *const p = &own->scene.detector;
    const nb_detector *const q = &in->experiment.scene.detector;
    const struct expt_entry *const a = experiment_entry(in, source->experiment);
    const struct expt_entry *const b = experiment_entry(in, in->expt_number);
    source->has_detector = 0;
    if (!(own->found & in->experiment.found & NB_FOUND_DETECTOR)) return 0;
    if (!same_pixels(p, q))
        return message_usage(run->command.messages,
                             "%s: the detector of experiment %d has other panels or pixels "
                             "than the detector of experiment %d of %s; fit them apart, as "
                             "%s:%d",
                             a->file, source->experiment - a->first,
                             in->expt_number - b->first, b->file, a->file,
                             source->experiment - a->first);
    source->has_detector = !same_places(p, q);
    return 0;
}

/* Returns 1 if a list of parameters or groups has one of the detector; `end` ends it. */
static int names_detector(const char *list, char end)
{
    static const char *const words[] = {"origin", "distance", "close_distance",
                                        "pixel",  "twotheta", "detector_rot",
                                        "panel_", "group_",   "*",
                                        "all"};
    while (list && *list && *list != end) {
        const char *const name = list + strspn(list, " ,");
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strncmp(name, words[i], strlen(words[i])) == 0) return 1;
        list = name + strcspn(name, " ,=");
    }
    return 0;
}

/* Returns why no image can have a detector of its own; NULL: they can. */
static const char *why_shared(const struct run *run)
{
    static const int options[] = {OPT_DISTANCE,  OPT_CLOSE_DISTANCE, OPT_PIXEL,
                                  OPT_DETPIXELS, OPT_DETPIXELS_F,    OPT_DETPIXELS_S,
                                  OPT_DETSIZE,   OPT_DETSIZE_F,      OPT_DETSIZE_S,
                                  OPT_XBEAM,     OPT_YBEAM,          OPT_ORGX,
                                  OPT_ORGY,      OPT_XCLOSE,         OPT_YCLOSE,
                                  OPT_PIVOT,     OPT_TWOTHETA_AXIS,  OPT_TWOTHETA,
                                  OPT_ROTX,      OPT_ROTY,           OPT_ROTZ,
                                  OPT_FDET,      OPT_SDET,           OPT_ODET,
                                  OPT_PIX0,      OPT_CURVED_DET,     OPT_GEOM};
    const struct settings *const s = run->command.s;
    const struct event_list *const events = run->command.events;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (s->given[options[i]]) return "an option states the detector";
    for (size_t i = 0; i < events->n; i++)
        if (events->at[i].option == OPT_PARAM && names_detector(events->at[i].text, '='))
            return "-param states the detector";
    if (run->command.resolved.detector.convention != NB_CONVENTION_DIALS)
        return "an option names another convention";
    return names_detector(s->fit.shared, 0) ? "-fit frees one detector for all" : NULL;
}

void fit_detectors_say(struct run *run, struct fit_sources *sources)
{
    const struct inputs *const in = &run->command.inputs;
    const char *const why = why_shared(run);
    const struct expt_entry *const first = experiment_entry(in, in->expt_number);
    size_t n = 0;
    for (size_t i = 0; i < sources->n; i++) {
        n += (size_t)sources->at[i].has_detector;
        if (why) sources->at[i].has_detector = 0;
    }
    if (n > 0 && why)
        message_warning(run->command.messages,
                        "%zu of %zu images have another detector than experiment %d of %s, "
                        "whose detector is taken for all, because %s",
                        n, sources->n, in->expt_number - first->first, first->file, why);
    else if (n > 0)
        message_note(run->command.messages,
                     "%zu of %zu images have another detector than experiment %d of %s: "
                     "each image has the detector of its own experiment",
                     n, sources->n, in->expt_number - first->first, first->file);
}

void fit_detector_take(const nb_experiment *from, nb_detector *to)
{
    const nb_detector before = *to;
    *to = from->scene.detector;
    to->convention = before.convention;
    to->thickness = before.thickness;
    to->attenuation = before.attenuation;
    to->attenuation_wavelength = before.attenuation_wavelength;
    to->material = before.material;
    to->nlayers = before.nlayers;
    to->layer_cosine = before.layer_cosine;
    to->curved = before.curved;
    to->point_pixel = before.point_pixel;
    to->mask = before.mask;
    to->box = before.box;
    to->nbox = before.nbox;
    memcpy(to->roi, before.roi, sizeof to->roi);
}
