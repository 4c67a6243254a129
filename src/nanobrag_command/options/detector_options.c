/*
 * detector_options.c - combines what options and headers state about the detector into the
 * form that the library takes. In nanoBragg each convention reads only its own options and
 * sets the pivot, the point that stays in place when the detector is rotated. Without
 * -compat nanobragg all options count, and contradictions are refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "nanobrag_command/options/settings.h"

static int is_beam_convention(int convention)
{
    return convention == NB_CONVENTION_MOSFLM || convention == NB_CONVENTION_DENZO
           || convention == NB_CONVENTION_ADXV;
}

void settings_pixels(const struct settings *s, int count[2])
{
    for (int i = 0; i < 2; i++) {
        const double pixel = s->pixel / 1000;
        const double size = s->npixel[i] > 0 ? pixel * s->npixel[i] : s->size[i] / 1000;
        const double n = ceil(size / pixel - 0.5);
        count[i] = n >= 1 && n <= INT_MAX / 2 ? (int)n : 0;
    }
}

static double detector_length(const struct settings *s, int i)
{
    return s->npixel[i] > 0 ? s->pixel * s->npixel[i] : s->size[i];
}

static int any(const struct pair *pair)
{
    return pair->given[0] || pair->given[1];
}

/* Fill in both coordinates: the given value, or else the value in `preset`. */
static void fill(const struct pair *pair, const double preset[2], double out[2])
{
    for (int i = 0; i < 2; i++) out[i] = pair->given[i] ? pair->value[i] : preset[i];
}

/* Take from `other` the coordinates that `pair` lacks. */
static void merge(struct pair *pair, const struct pair *other)
{
    for (int i = 0; i < 2; i++) {
        if (pair->given[i] || !other->given[i]) continue;
        pair->value[i] = other->value[i];
        pair->given[i] = 1;
    }
}

/* Find the default Xbeam and Ybeam, mm, of a convention by its beam centre. Other
 * conventions go by the point nearest to the crystal instead. */
static void default_beam(const struct settings *s, int convention, double out[2])
{
    const double fast = detector_length(s, 0), slow = detector_length(s, 1), p = s->pixel;
    out[0] = fast / 2;
    out[1] = slow / 2;
    if (convention == NB_CONVENTION_ADXV) {
        out[0] = (fast + p) / 2;
        out[1] = (slow - p) / 2;
    } else if (is_beam_convention(convention)) {
        out[0] = (slow + p) / 2;
        out[1] = (fast + p) / 2;
    }
}

/* Finds the default beam centre as a place on the detector: fast and slow, mm, from the
 * outer corner of the first pixel. */
static void default_near(const struct settings *s, int convention, double out[2])
{
    double xy[2];
    default_beam(s, convention, xy);
    const double shift = convention == NB_CONVENTION_MOSFLM ? s->pixel / 2 : 0;
    out[0] = convention >= NB_CONVENTION_ADXV ? xy[0] : xy[1] + shift;
    out[1] = convention >= NB_CONVENTION_ADXV ? xy[1] : xy[0] + shift;
    if (convention == NB_CONVENTION_ADXV) out[1] = detector_length(s, 1) - xy[1];
}

static void set_origin(nb_detector *detector, int kind, const double value[2])
{
    detector->origin_kind = kind;
    detector->origin[0] = value[0];
    detector->origin[1] = value[1];
}

static void compat_origin(struct settings *s)
{
    nb_detector *detector = &s->scene.detector;
    const int convention = detector->convention;
    double near[2], close[2], beam[2], org[2];
    for (int i = 0; i < 2; i++) {
        org[i] =
            s->org.given[i] ? s->org.value[i] : detector_length(s, i) / 2 / s->pixel + 0.5;
        near[i] = s->org.given[i] ? (org[i] - 0.5) * s->pixel : detector_length(s, i) / 2;
    }
    fill(&s->close, near, close);
    memcpy(s->report_close, close, sizeof close);
    if (is_beam_convention(convention)) {
        detector->pivot = NB_PIVOT_BEAM;
        default_beam(s, convention, beam);
        fill(&s->beam, beam, beam);
        if (any(&s->beam)) set_origin(detector, NB_ORIGIN_BEAM, beam);
        return;
    }
    fill(&s->beam, close, beam);
    detector->pivot = s->reference_pivot;
    if (convention == NB_CONVENTION_CUSTOM) {
        const int on_beam = detector->pivot == NB_PIVOT_BEAM;
        set_origin(detector, on_beam ? NB_ORIGIN_BEAM : NB_ORIGIN_CLOSE, beam);
        return;
    }
    detector->pivot = NB_PIVOT_SAMPLE;
    if (any(&s->org)) set_origin(detector, NB_ORIGIN_NEAR, org);
    if (any(&s->beam) || any(&s->close))
        s->header_beam = (struct pair){{beam[0], beam[1]}, {1, 1}};
}

/* Use the geometry of -mask, -img, -expt or -xparm if no option states a place of the
 * detector. */
static void inherit_origin(struct settings *s)
{
    const struct inherited *from = &s->inherited;
    if (any(&s->beam) || any(&s->org) || any(&s->close) || s->given[OPT_PIX0]) return;
    if (from->ours) {
        merge(&s->org, &from->org);
        if (!s->pivot) s->scene.detector.pivot = NB_PIVOT_SAMPLE;
        return;
    }
    const int use_beam = is_beam_convention(s->scene.detector.convention)
                             ? any(&from->beam)
                             : !any(&from->org);
    if (use_beam)
        merge(&s->beam, &from->beam);
    else
        merge(&s->org, &from->org);
}

static int default_profile_origin(struct settings *s, struct messages *messages)
{
    nb_detector *detector = &s->scene.detector;
    double beam[2], near[2], org[2], close[2];
    int kinds[3], n = 0;
    double *values[3];
    detector->pivot = s->pivot;
    inherit_origin(s);
    default_beam(s, detector->convention, beam);
    default_near(s, detector->convention, near);
    for (int i = 0; i < 2; i++) org[i] = near[i] / s->pixel + 0.5;
    fill(&s->beam, beam, beam);
    fill(&s->org, org, org);
    fill(&s->close, near, close);
    if (any(&s->org) && any(&s->close))
        for (int i = 0; i < 2; i++)
            if (fabs((org[i] - 0.5) - close[i] / s->pixel) > 1e-6)
                return message_usage(messages,
                                     "-ORGX, -ORGY and -Xclose, -Yclose state the same "
                                     "point but differ; leave one pair out");
    if (any(&s->beam)) {
        values[n] = beam;
        kinds[n++] = NB_ORIGIN_BEAM;
    }
    if (any(&s->org)) {
        values[n] = org;
        kinds[n++] = NB_ORIGIN_NEAR;
    } else if (any(&s->close)) {
        values[n] = close;
        kinds[n++] = NB_ORIGIN_CLOSE;
    }
    if (n > 0) set_origin(detector, kinds[0], values[0]);
    if (n > 1) {
        detector->also_kind = kinds[1];
        memcpy(detector->also, values[1], 2 * sizeof(double));
    }
    return 0;
}

static int finish_vectors(struct settings *s, struct messages *messages)
{
    static const int ids[VECTOR_COUNT] = {OPT_FDET,        OPT_SDET,
                                          OPT_ODET,        OPT_TWOTHETA_AXIS,
                                          OPT_BEAM_VECTOR, OPT_POLAR_VECTOR,
                                          OPT_SPINDLE};
    nb_scene *scene = &s->scene;
    double *const target[VECTOR_COUNT] = {scene->detector.vectors[0],
                                          scene->detector.vectors[1],
                                          scene->detector.vectors[2],
                                          scene->detector.vectors[3],
                                          scene->beam.direction,
                                          scene->beam.polarization_axis,
                                          scene->scan.axis};
    if (s->compat && s->convention != NB_CONVENTION_CUSTOM) return 0;
    for (int i = 0; i < VECTOR_COUNT; i++) {
        const double *v = s->vector[i];
        if (!s->vector_given[i]) continue;
        if (v[0] == 0 && v[1] == 0 && v[2] == 0)
            return message_usage(messages, "%s 0 0 0: a vector needs a length",
                                 option_at(ids[i])->name);
        memcpy(target[i], v, sizeof s->vector[i]);
    }
    return 0;
}

static int finish_distance(struct settings *s, struct messages *messages)
{
    nb_detector *detector = &s->scene.detector;
    const struct inherited *from = &s->inherited;
    const int given = s->given[OPT_DISTANCE] || s->given[OPT_CLOSE_DISTANCE];
    if (s->given[OPT_DISTANCE] && s->distance == 0)
        return message_usage(messages,
                             "-distance 0: the detector must not touch the crystal");
    detector->distance = s->distance;
    detector->close_distance = s->close_distance;
    if (s->compat || !given) {
        /* if a header has both distances, take `distance` where the convention states the
         * beam centre; else, and from nanobrag's own headers, `close_distance` */
        const int both = from->has_distance && from->has_close && !s->compat;
        const int by_beam = is_beam_convention(detector->convention) && !from->ours;
        if (!s->given[OPT_DISTANCE] && from->has_distance && !(both && !by_beam))
            detector->distance = from->distance;
        if (!s->given[OPT_CLOSE_DISTANCE] && from->has_close && !(both && by_beam))
            detector->close_distance = from->close_distance;
    }
    if (!s->compat && !s->given[OPT_TWOTHETA] && from->has_twotheta)
        detector->twotheta = from->twotheta;
    return 0;
}

static int finish_roi(struct settings *s, struct messages *messages, const int count[2])
{
    int *const out = s->scene.detector.roi;
    int beyond = 0;
    for (int i = 0; i < 4; i++) {
        const int upper = i % 2, n = count[i / 2];
        beyond = beyond || s->roi[i] >= n;
        if (s->roi[i] < 0) s->roi[i] = upper ? n : 0;
        out[i] = upper && s->roi[i] < n ? s->roi[i] + 1 : s->roi[i];
        if (out[i] > n) out[i] = n;
    }
    if (out[0] < out[1] && out[2] < out[3]) {
        if (beyond && !s->compat)
            message_warning(messages,
                            "-roi reaches beyond the detector of %d x %d pixels; the run "
                            "renders -roi %d %d %d %d",
                            count[0], count[1], out[0], out[1] - 1, out[2], out[3] - 1);
        return 0;
    }
    if (!s->compat)
        return message_usage(
            messages, "-roi %d %d %d %d holds no pixel of the detector of %d x %d pixels",
            s->roi[0], s->roi[1], s->roi[2], s->roi[3], count[0], count[1]);
    /* the options leave no pixel; an roi of four zeros would mean the whole detector */
    for (int i = 0; i < 4; i++) out[i] = 1;
    return 0;
}

/* Refuse a point spread that is wider than the detector, where it could not be
 * recognised. */
static int check_psf(const struct settings *s, struct messages *messages,
                     const int count[2])
{
    const double edge = s->pixel * (count[0] > count[1] ? count[0] : count[1]);
    if (!(s->scene.psf.fwhm > edge)) return 0;
    return message_usage(messages,
                         "-psf_fwhm %g mm is wider than the detector of %g x %g mm",
                         s->scene.psf.fwhm, s->pixel * count[0], s->pixel * count[1]);
}

int geometry_finish(struct settings *s, struct messages *messages)
{
    nb_detector *detector = &s->scene.detector;
    int count[2];
    if (!(s->pixel > 0)) return message_usage(messages, "-pixel must be greater than 0");
    settings_pixels(s, count);
    if (count[0] < 1 || count[1] < 1)
        return message_usage(messages, "the detector has no pixels or too many; correct "
                                       "-detpixels, -detsize or -pixel");
    detector->pixel = s->pixel;
    detector->nfast = s->npixel[0] > 0 ? s->npixel[0] : 0;
    detector->nslow = s->npixel[1] > 0 ? s->npixel[1] : 0;
    for (int i = 0; i < 2; i++) detector->size[i] = s->npixel[i] > 0 ? 0 : s->size[i];
    detector->convention = s->compat || s->named < 0 ? s->convention : s->named;
    if (s->named < 0 && s->frame >= 0) detector->convention = s->frame;
    int status = finish_vectors(s, messages);
    if (!status) status = finish_distance(s, messages);
    if (!status) status = finish_roi(s, messages, count);
    if (!status) status = check_psf(s, messages, count);
    if (status) return status;
    if (s->compat) {
        merge(&s->beam, &s->inherited.beam);
        merge(&s->org, &s->inherited.org);
        compat_origin(s);
    } else {
        status = default_profile_origin(s, messages);
    }
    if (s->given[OPT_PIX0]) {
        if (s->compat && any(&s->beam)) {
            s->header_beam.given[0] = s->header_beam.given[1] = 1;
            memcpy(s->header_beam.value, detector->origin, sizeof s->header_beam.value);
        }
        detector->origin_kind = NB_ORIGIN_PIX0;
        detector->also_kind = NB_ORIGIN_DEFAULT;
        for (int i = 0; i < 3; i++) detector->origin[i] = 1000 * s->pix0[i];
    }
    return status;
}
