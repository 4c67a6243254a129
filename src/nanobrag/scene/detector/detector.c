/*
 * detector.c - resolves the detector and computes its position (docs/conventions.md).
 *
 * The position of an unrotated detector is given by the point where the direct beam hits
 * it, or by the point nearest to the crystal. Either point follows from the other. The
 * detector is then rotated about one of them, the pivot.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/detector/detector.h"

#include <float.h>
#include <math.h>

#include "base/context.h"
#include "base/log.h"
#include "scene/beam.h"
#include "scene/detector/layers.h"
#include "scene/linear.h"

enum { DETECTOR_EDGE_MOST = 1000000 };

/* Indices of the vectors in the table of conventions. */
enum { BEAM, FAST, SLOW, NORMAL, TWOTHETA, POLARIZATION, SPINDLE, VECTORS };

static const double *convention_vector(int convention, int which)
{
    static const double table[][VECTORS][3] = {
        /* MOSFLM, DENZO */
        {{1, 0, 0}, {0, 0, 1}, {0, -1, 0}, {1, 0, 0}, {0, 0, -1}, {0, 0, 1}, {0, 0, 1}},
        /* ADXV */
        {{0, 0, 1}, {1, 0, 0}, {0, -1, 0}, {0, 0, 1}, {-1, 0, 0}, {1, 0, 0}, {1, 0, 0}},
        /* XDS */
        {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}},
        /* DIALS */
        {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 0}, {0, 1, 0}},
        /* CUSTOM */
        {{1, 0, 0}, {0, 0, 1}, {0, -1, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, 1}},
    };
    /* row of the table for each enum nb_convention */
    static const int row[] = {0, 0, 1, 2, 3, 4};

    return table[row[convention]][which];
}

static void fill_vector(int convention, int which, double v[3])
{
    if (linear_is_zero(v)) linear_copy(convention_vector(convention, which), v);
}

static void resolve_size(nb_detector *d)
{
    int *const count[2] = {&d->nfast, &d->nslow};

    if (d->pixel == 0) d->pixel = 0.1;
    for (int i = 0; i < 2; i++) {
        if (*count[i] == 0) {
            if (d->size[i] == 0) d->size[i] = 102.4;
            *count[i] = (int)fmin(ceil(d->size[i] / d->pixel - 0.5), 1e9);
        } else if (d->size[i] == 0)
            d->size[i] = d->pixel * *count[i];
    }
}

/* Cuts the ROI to the image. An ROI of four 0 stands for the whole image; an ROI without
 * pixels becomes 1 1 1 1. */
static void resolve_roi(nb_detector *d)
{
    const int limit[4] = {d->nfast, d->nfast, d->nslow, d->nslow};

    if (d->roi[0] == 0 && d->roi[1] == 0 && d->roi[2] == 0 && d->roi[3] == 0) {
        d->roi[1] = d->nfast;
        d->roi[3] = d->nslow;
    }
    for (int i = 0; i < 4; i++) {
        if (d->roi[i] < 0) d->roi[i] = 0;
        if (d->roi[i] > limit[i]) d->roi[i] = limit[i];
    }
    for (int i = 0; i < 4; i += 2)
        if (d->roi[i + 1] <= d->roi[i]) d->roi[0] = d->roi[1] = d->roi[2] = d->roi[3] = 1;
}

static nb_status check_size(nb_context *ctx, const nb_detector *d)
{
    if (d->nfast < 1 || d->nslow < 1 || d->nfast > DETECTOR_EDGE_MOST
        || d->nslow > DETECTOR_EDGE_MOST || (double)d->nfast * d->nslow > 2147483647.0)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "the detector has %d x %d pixels; expected 1 to %d along an edge and "
                    "at "
                    "most 2^31 (-detpixels, -detsize, -pixel)",
                    d->nfast, d->nslow, DETECTOR_EDGE_MOST);
    return NB_OK;
}

/* Checks that boxes lie inside the image and hold pixels. */
static nb_status check_boxes(nb_context *ctx, const nb_detector *d)
{
    for (size_t i = 0; i < d->nbox; i++) {
        const int *b = d->box + 4 * i;

        if (b[0] < 0 || b[1] <= b[0] || b[1] > d->nfast || b[2] < 0 || b[3] <= b[2]
            || b[3] > d->nslow)
            return fail(ctx, NB_ERR_SCENE,
                        "box %zu is %d %d %d %d (fast0 fast1 slow0 slow1, ends excluded), "
                        "expected pixels of the image of %d x %d",
                        i + 1, b[0], b[1], b[2], b[3], d->nfast, d->nslow);
    }
    return NB_OK;
}

/* Checks that the fast and slow axes span a plane, and that the beam and the spindle have
 * directions. */
static nb_status check_vectors(nb_context *ctx, const nb_scene *scene)
{
    const nb_detector *d = &scene->detector;
    double cross[3];

    linear_cross(d->vectors[0], d->vectors[1], cross);
    if (!(linear_norm(cross)
          > 1e-6 * linear_norm(d->vectors[0]) * linear_norm(d->vectors[1])))
        return fail(ctx, NB_ERR_SCENE,
                    "the fast and slow axes of the detector are parallel; give both "
                    "-fdet_vector and -sdet_vector");
    return beam_check_directions(ctx, scene);
}

/* Fills the directions of beam, polarization and spindle from the convention. */
static void resolve_directions(nb_scene *scene)
{
    const int convention = scene->detector.convention;

    fill_vector(convention, BEAM, scene->beam.direction);
    fill_vector(convention, POLARIZATION, scene->beam.polarization_axis);
    fill_vector(convention, SPINDLE, scene->scan.axis);
}

static nb_status resolve_vectors(nb_context *ctx, nb_scene *scene)
{
    nb_detector *d = &scene->detector;
    double *normal = d->vectors[2];

    for (int i = 0; i < 4; i++) fill_vector(d->convention, FAST + i, d->vectors[i]);
    resolve_directions(scene);
    if ((scene->quirks & NB_QUIRK_NORMAL_SIGN) && linear_norm(normal) != 1) {
        linear_cross(d->vectors[0], d->vectors[1], normal);
        linear_unit(normal, normal);
        log_line(ctx, NB_LOG_WARNING, "detector", "auto-generating odet_vector");
    } else if (fabs(linear_dot(normal, d->vectors[0]))
                   > 1e-6 * linear_norm(normal) * linear_norm(d->vectors[0])
               || fabs(linear_dot(normal, d->vectors[1]))
                      > 1e-6 * linear_norm(normal) * linear_norm(d->vectors[1]))
        log_line(ctx, NB_LOG_WARNING, "detector",
                 "the normal of the detector is not at right angles to its fast and slow "
                 "axes; give -odet_vector to match");
    return check_vectors(ctx, scene);
}

static int convention_pivot(int convention)
{
    return convention == NB_CONVENTION_XDS || convention == NB_CONVENTION_DIALS
               ? NB_PIVOT_SAMPLE
               : NB_PIVOT_BEAM;
}

/* Replaces a default origin by the origin of the convention, and an origin in pixels by an
 * origin in mm. */
static void resolve_origin(nb_detector *d)
{
    const double *size = d->size, p = d->pixel;

    if (d->origin_kind == NB_ORIGIN_NEAR) {
        d->origin_kind = NB_ORIGIN_CLOSE;
        for (int i = 0; i < 2; i++) d->origin[i] = (d->origin[i] - 0.5) * p;
    }
    if (d->origin_kind != NB_ORIGIN_DEFAULT) return;
    switch (d->convention) {
    case NB_CONVENTION_MOSFLM:
    case NB_CONVENTION_DENZO:
        d->origin_kind = NB_ORIGIN_BEAM;
        d->origin[0] = (size[1] + p) / 2;
        d->origin[1] = (size[0] + p) / 2;
        break;
    case NB_CONVENTION_ADXV:
        d->origin_kind = NB_ORIGIN_BEAM;
        d->origin[0] = (size[0] + p) / 2;
        d->origin[1] = (size[1] - p) / 2;
        break;
    default:
        d->origin_kind = NB_ORIGIN_CLOSE;
        d->origin[0] = size[0] / 2;
        d->origin[1] = size[1] / 2;
    }
}

void detector_beam_from_centre(int convention, const nb_detector *d, const double xy[2],
                               double *fast, double *slow)
{
    const double x = xy[0] / 1000, y = xy[1] / 1000, p = d->pixel / 1000;

    switch (convention) {
    case NB_CONVENTION_ADXV:
        *fast = x;
        *slow = d->size[1] / 1000 - y;
        break;
    case NB_CONVENTION_MOSFLM:
        *fast = y + p / 2;
        *slow = x + p / 2;
        break;
    case NB_CONVENTION_DENZO:
        *fast = y;
        *slow = x;
        break;
    default:
        *fast = x;
        *slow = y;
    }
}

void detector_beam_centre(int convention, const double size[2], double pixel, double fast,
                          double slow, double xy[2])
{
    switch (convention) {
    case NB_CONVENTION_ADXV:
        xy[0] = fast;
        xy[1] = size[1] - slow;
        break;
    case NB_CONVENTION_MOSFLM:
        xy[0] = slow - pixel / 2;
        xy[1] = fast - pixel / 2;
        break;
    case NB_CONVENTION_DENZO:
        xy[0] = slow;
        xy[1] = fast;
        break;
    default:
        xy[0] = fast;
        xy[1] = slow;
    }
}

/* A point on the detector before its rotations, which gives the position of the
 * detector. */
struct anchor {
    int kind; /* NB_PIVOT_BEAM: the point hit by the direct beam; NB_PIVOT_SAMPLE: the point
                 nearest to the crystal; -1: neither, pix0 is given */
    double fast, slow; /* from the outer corner of the first pixel, m */
};

static struct anchor make_anchor(const nb_detector *d, int kind, const double value[3])
{
    struct anchor s = {NB_PIVOT_SAMPLE, 0, 0};

    switch (kind) {
    case NB_ORIGIN_BEAM:
        s.kind = NB_PIVOT_BEAM;
        detector_beam_from_centre(d->convention, d, value, &s.fast, &s.slow);
        break;
    case NB_ORIGIN_NEAR:
        s.fast = (value[0] - 0.5) * d->pixel / 1000;
        s.slow = (value[1] - 0.5) * d->pixel / 1000;
        break;
    case NB_ORIGIN_CLOSE:
        s.fast = value[0] / 1000;
        s.slow = value[1] / 1000;
        break;
    default:
        s.kind = -1;
    }
    return s;
}

/* Computes the anchor of the other kind for the same unrotated detector. `distance` is
 * measured along the beam, m. */
static struct anchor other_anchor(const struct detector_place *unrotated, double distance,
                                  struct anchor s)
{
    const double *f = unrotated->fast, *o = unrotated->normal, *b = unrotated->beam;
    const double *l = unrotated->slow, fs = linear_dot(f, l);
    struct anchor t;
    double v[3] = {0, 0, 0};

    if (s.kind == NB_PIVOT_BEAM) { /* pix0 = -Fb f - Sb s + D b */
        linear_add(-s.fast, f, v);
        linear_add(-s.slow, l, v);
        linear_add(distance, b, v);
        t.kind = NB_PIVOT_SAMPLE;
        t.fast = -linear_dot(v, f);
        t.slow = -linear_dot(v, l);
        return t;
    }
    /* Solve Fb f + Sb s = D b - pix0 in the plane, with pix0 = -Fc f - Sc s + D (b.o) o. */
    linear_add(distance, b, v);
    linear_add(s.fast, f, v);
    linear_add(s.slow, l, v);
    linear_add(-distance * linear_dot(b, o), o, v);
    t.kind = NB_PIVOT_BEAM;
    t.fast = (linear_dot(v, f) - fs * linear_dot(v, l)) / (1 - fs * fs);
    t.slow = (linear_dot(v, l) - fs * linear_dot(v, f)) / (1 - fs * fs);
    return t;
}

static void unrotated_place(const nb_scene *scene, struct detector_place *place)
{
    const nb_detector *d = &scene->detector;

    linear_unit(scene->beam.direction, place->beam);
    linear_unit(d->vectors[0], place->fast);
    linear_unit(d->vectors[1], place->slow);
    linear_unit(d->vectors[2], place->normal);
    linear_unit(d->vectors[3], place->twotheta_axis);
}

/* Returns the distance of the unrotated detector along the beam, m. */
static double unrotated_distance(const nb_detector *d, const struct detector_place *place)
{
    const double r = linear_dot(place->beam, place->normal);

    return (d->close_distance != 0 ? d->close_distance / (r == 0 ? DBL_MIN : r)
                                   : d->distance)
           / 1000;
}

/* Checks that a second statement of the origin (nb_detector.also) agrees with the first. */
static nb_status check_second_origin(nb_context *ctx, const nb_scene *scene)
{
    const nb_detector *d = &scene->detector;
    struct detector_place place;
    struct anchor a, b;
    double apart;

    if (d->also_kind == NB_ORIGIN_DEFAULT) return NB_OK;
    unrotated_place(scene, &place);
    a = make_anchor(d, d->origin_kind, d->origin);
    b = make_anchor(d, d->also_kind, d->also);
    if (a.kind < 0 || b.kind < 0)
        return fail(ctx, NB_ERR_SCENE,
                    "pix0 fixes the detector; give no beam centre or near point beside it");
    if (a.kind != b.kind) b = other_anchor(&place, unrotated_distance(d, &place), b);
    apart = hypot(a.fast - b.fast, a.slow - b.slow) * 1000 / d->pixel;
    if (apart <= 1e-6) return NB_OK;
    return fail(ctx, NB_ERR_SCENE,
                "the beam centre (-Xbeam, -Ybeam) and the point nearest to the crystal "
                "(-ORGX, -ORGY, -Xclose, -Yclose) were both given and differ by %.9g "
                "pixels "
                "on the unrotated detector; leave one out",
                apart);
}

static nb_status resolve_detector_of_panels(nb_context *ctx, nb_scene *scene,
                                            struct panel_middle *middle)
{
    nb_detector *d = &scene->detector;

    NB_TRY(panels_resolve(ctx, scene, middle));
    NB_TRY(check_size(ctx, d));
    resolve_roi(d);
    NB_TRY(check_boxes(ctx, d));
    resolve_directions(scene);
    NB_TRY(beam_check_directions(ctx, scene));
    if (d->pivot == NB_PIVOT_DEFAULT) d->pivot = NB_PIVOT_SAMPLE;
    return NB_OK;
}

nb_status detector_resolve(nb_context *ctx, nb_scene *scene, struct panel_middle *middle)
{
    nb_detector *d = &scene->detector;

    if (d->npanel > 0) return resolve_detector_of_panels(ctx, scene, middle);
    resolve_size(d);
    NB_TRY(check_size(ctx, d));
    resolve_roi(d);
    NB_TRY(check_boxes(ctx, d));
    NB_TRY(resolve_vectors(ctx, scene));
    if (d->distance < 0 && !(scene->quirks & NB_QUIRK_TWOTHETA_DISTANCE))
        return fail(ctx, NB_ERR_SCENE, "the distance is %g mm, expected more than 0",
                    d->distance);
    if (d->distance != 0 && d->close_distance != 0)
        log_line(ctx, NB_LOG_WARNING, "detector",
                 "a close distance and a distance were both given; the distance is "
                 "ignored");
    if (d->close_distance != 0)
        d->distance = 0;
    else if (d->distance == 0)
        d->distance = 100;
    resolve_origin(d);
    NB_TRY(check_second_origin(ctx, scene));
    d->also_kind = NB_ORIGIN_DEFAULT;
    if (d->pivot == NB_PIVOT_DEFAULT) d->pivot = convention_pivot(d->convention);
    return NB_OK;
}

void detector_measure_along_beam(nb_scene *scene)
{
    nb_detector *d = &scene->detector;
    struct detector_place place;
    double normal[3], ratio;

    if (d->npanel > 0 || d->close_distance == 0 || d->origin_kind != NB_ORIGIN_CLOSE
        || d->pivot != NB_PIVOT_SAMPLE)
        return;
    unrotated_place(scene, &place);
    linear_rotate_xyz(d->rotation, place.normal, normal); /* as in derive_rectangle() */
    ratio = linear_dot(place.beam, normal);
    if (!(ratio > 0)) return;
    d->distance = d->close_distance / ratio;
    d->close_distance = 0;
}

/* Rotates a vector with the detector: about the axes of the laboratory, then by two theta
 * about `axis`. */
static void rotate_with_detector(const nb_detector *d, const double axis[3],
                                 const double *v, double *out)
{
    linear_rotate_xyz(d->rotation, v, out);
    if (d->twotheta != 0) linear_rotate(axis, linear_radian(d->twotheta), out, out);
}

/* Computes pix0, the outer corner of the first pixel, and rotates the vectors of
 * `place`. */
static void place_origin(const nb_scene *scene, struct detector_place *place)
{
    const nb_detector *d = &scene->detector;
    struct anchor s = make_anchor(d, d->origin_kind, d->origin);

    place->pivot = d->pivot;
    if (s.kind >= 0 && s.kind != d->pivot)
        s = other_anchor(place, unrotated_distance(d, place), s);
    place->pix0[0] = place->pix0[1] = place->pix0[2] = 0;
    if (s.kind == NB_PIVOT_SAMPLE) {
        linear_add(-s.fast, place->fast, place->pix0);
        linear_add(-s.slow, place->slow, place->pix0);
        linear_add(place->close, place->normal, place->pix0);
        rotate_with_detector(d, place->twotheta_axis, place->pix0, place->pix0);
    }
    rotate_with_detector(d, place->twotheta_axis, place->fast, place->fast);
    rotate_with_detector(d, place->twotheta_axis, place->slow, place->slow);
    rotate_with_detector(d, place->twotheta_axis, place->normal, place->normal);
    if (s.kind == NB_PIVOT_BEAM) {
        linear_add(-s.fast, place->fast, place->pix0);
        linear_add(-s.slow, place->slow, place->pix0);
        linear_add(place->distance, place->beam, place->pix0);
    } else if (s.kind < 0)
        linear_scale(1e-3, d->origin, place->pix0);
}

/* Sets the beam centre of the convention: as the user gave it, or else from the direct
 * beam. */
static void place_centre(const nb_detector *d, struct detector_place *place)
{
    const double size[2] = {d->size[0] / 1000, d->size[1] / 1000};
    const int near_convention = d->convention >= NB_CONVENTION_XDS;
    double xy[2];

    if (d->origin_kind == NB_ORIGIN_BEAM) {
        place->xbeam = d->origin[0] / 1000;
        place->ybeam = d->origin[1] / 1000;
        return;
    }
    detector_beam_centre(d->convention, size, d->pixel / 1000, place->beam_fast,
                         place->beam_slow, xy);
    if (near_convention && d->origin_kind != NB_ORIGIN_PIX0) {
        const struct anchor s = make_anchor(d, d->origin_kind, d->origin);

        xy[0] = s.fast;
        xy[1] = s.slow;
    }
    place->xbeam = xy[0];
    place->ybeam = xy[1];
}

void detector_corner(const struct detector_place *place, int corner, double p[3])
{
    linear_copy(place->pix0, p);
    linear_add((corner & 1) * place->nfast * place->pixel, place->fast, p);
    linear_add((corner >> 1) * place->nslow * place->pixel, place->slow, p);
}

/* Checks that the geometry is finite and that the detector faces the crystal. */
static nb_status check_place(nb_context *ctx, const nb_scene *scene,
                             const struct detector_place *place)
{
    const double facing = linear_dot(place->beam, place->normal);

    if (!isfinite(place->close) || !isfinite(place->distance)
        || !isfinite(linear_norm(place->pix0)))
        return fail(ctx, NB_ERR_SCENE, "the geometry of the detector is not finite");
    if (scene->quirks & NB_QUIRK_TWOTHETA_DISTANCE) return NB_OK;
    if (!(place->close > 1e-9 * linear_norm(place->pix0)))
        return fail(ctx, NB_ERR_SCENE,
                    "the detector lies behind the crystal or edge-on to it (close distance "
                    "%g mm); turn its normal or its two theta",
                    place->close * 1000);
    if (scene->detector.curved && facing < 0.01)
        return fail(ctx, NB_ERR_SCENE,
                    "a curved detector needs a plane that the beam can hit; reduce two "
                    "theta");
    return NB_OK;
}

void detector_complete(double ratio, struct detector_place *out)
{
    double to_beam[3];

    out->close_fast = -linear_dot(out->pix0, out->fast);
    out->close_slow = -linear_dot(out->pix0, out->slow);
    out->close = linear_dot(out->pix0, out->normal);
    out->distance = out->close / (ratio == 0 ? DBL_MIN : ratio);
    linear_scale(-1, out->pix0, to_beam);
    linear_add(out->distance, out->beam, to_beam);
    out->beam_fast = linear_dot(out->fast, to_beam);
    out->beam_slow = linear_dot(out->slow, to_beam);
}

static nb_status derive_rectangle(nb_context *ctx, const nb_scene *scene,
                                  struct detector_place *out)
{
    const nb_detector *d = &scene->detector;
    double rotated[3], ratio;

    unrotated_place(scene, out);
    linear_rotate_xyz(d->rotation, out->normal, rotated);
    ratio = linear_dot(out->beam, rotated);
    if (ratio == 0) ratio = DBL_MIN;
    out->close = d->close_distance != 0 ? d->close_distance / 1000
                                        : fabs(ratio * d->distance / 1000);
    out->distance = out->close / ratio;
    place_origin(scene, out);
    if (!(scene->quirks & NB_QUIRK_TWOTHETA_DISTANCE))
        ratio = linear_dot(out->beam, out->normal);
    detector_complete(ratio, out);
    place_centre(d, out);
    return check_place(ctx, scene, out);
}

int detector_panels(const nb_detector *d)
{
    return d->npanel > 0 ? d->npanel : 1;
}

nb_status detector_derive(nb_context *ctx, const nb_scene *scene,
                          const struct panel_middle *middle, int i,
                          struct detector_place *out)
{
    const nb_detector *d = &scene->detector;

    out->nfast = d->npanel > 0 ? d->panel[i].nfast : d->nfast;
    out->nslow = d->npanel > 0 ? d->panel[i].nslow : d->nslow;
    out->pixel = panels_pixel(d, i) / 1000;
    if (d->npanel > 0) return panels_derive(ctx, scene, middle, i, out);
    return derive_rectangle(ctx, scene, out);
}

void detector_frame(const nb_scene *scene, const struct detector_place *place,
                    const struct layers *layers, struct phys_frame *frame)
{
    const nb_detector *d = &scene->detector;

    frame->nfast = place->nfast;
    frame->nslow = place->nslow;
    frame->oversample = scene->oversample;
    frame->nlayers = d->nlayers;
    linear_copy(place->pix0, frame->pix0);
    linear_copy(place->fast, frame->fast);
    linear_copy(place->slow, frame->slow);
    linear_copy(place->normal, frame->normal);
    linear_copy(place->beam, frame->beam);
    frame->pixel = place->pixel;
    frame->distance = place->distance;
    frame->close_distance = place->close;
    frame->layer_step = layers->step;
    frame->layer_offset = layers->offset;
    frame->layer_mu = layers->mu;
    frame->surface = PHYS_FLAT;
    if (d->curved)
        frame->surface = scene->quirks & NB_QUIRK_CURVED ? PHYS_CURVED_QUIRK : PHYS_CURVED;
    frame->point_pixel = d->point_pixel;
    frame->each_omega = scene->oversample_omega;
    frame->each_polar = scene->oversample_polar;
    frame->each_capture = scene->oversample_thick;
    frame->last_capture =
        (scene->quirks & NB_QUIRK_LAST_CAPTURE) && !scene->oversample_thick;
    /* nanoBragg's polarization factor is 0 until the first sample within dmin. A factor
     * that is switched off is 1 from the start, so that pixels without such a sample keep
     * their water. */
    frame->dark_polar =
        (scene->quirks & NB_QUIRK_DMIN_POLAR) != 0 && !scene->beam.unpolarised;
}
