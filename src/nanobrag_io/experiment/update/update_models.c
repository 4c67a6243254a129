/*
 * update_models.c - changes beam, goniometer and crystal of an .expt.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "base/context.h"
#include "nanobrag_io/experiment/expt_panels.h"
#include "nanobrag_io/experiment/update/update.h"
#include "scene/crystal.h"

static const double identity[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

/* ---- the experiment before ---- */

/* Reads the detector if it has one panel. Several panels are not part of s->before. */
static nb_status read_rectangle(struct update_state *s, nb_experiment *out)
{
    const cJSON *detector;

    NB_TRY(expt_model(&s->e, s->experiment, "detector", &detector));
    if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(detector, "panels")) != 1)
        return NB_OK;
    return expt_read_detector(&s->e, detector, identity, &s->m, out);
}

/* Reads one row of a list of scan points: n numbers of the model `what`. */
static nb_status read_row(const struct update_state *s, const cJSON *row, const char *what,
                          double *out, int n)
{
    return expt_numbers(&s->e, row, what, "scan points", out, n, n);
}

/* If the goniometer changes during the scan, sets its setting rotation at phi: interpolated
 * linearly between two scan points, as for the scene. */
static nb_status read_setting(struct update_state *s, const nb_scan_points *points,
                              double phi)
{
    const cJSON *const list = s->source.list[SCAN_SETTING];
    const double place = points ? scan_points_place(points, phi, NULL) : 0;
    const int i = (int)fmin(floor(place), s->images - 1);
    double *const to = s->source.g.setting[0], row[2][9];

    if (!points || cJSON_GetArraySize(list) == 0) return NB_OK;
    for (int k = 0; k < 2; k++)
        NB_TRY(read_row(s, cJSON_GetArrayItem(list, i + k), "goniometer", row[k], 9));
    for (int k = 0; k < 9; k++) to[k] = row[0][k] + (place - i) * (row[1][k] - row[0][k]);
    return NB_OK;
}

nb_status update_read(struct update_state *s, double phi)
{
    nb_experiment out = {.count = 0};
    nb_status status;

    s->source = (struct scan_source){.quiet = 1};
    s->m = (struct models){0};
    status = read_rectangle(s, &out);
    if (status == NB_OK)
        status = expt_read_models(&s->e, s->experiment, &s->m, &s->source, &out);
    s->images = out.images;
    if (status == NB_OK)
        status = models_to_scene(s->e.ctx, s->e.name, &s->m, identity, NB_CONVENTION_DIALS,
                                 &out);
    if (status == NB_OK)
        status =
            scan_points_read(&s->e, &s->source, &s->m, s->images, identity, &out.points);
    if (status == NB_OK) (void)nb_scan_points_set(out.points, phi, ~0U, &out.scene, NULL);
    if (status == NB_OK) status = read_setting(s, out.points, phi);
    s->before = out.scene; /* its mask is freed below, and not used */
    nb_experiment_clear(&out);
    return status;
}

/* ---- rotations ---- */

/* Finds the smallest rotation from one direction to another. Returns 0 if the directions
 * are the same, with the unit matrix. */
static int rotation_between(const double from[3], const double to[3], double turn[3][3])
{
    double axis[3], sine;

    memcpy(turn, identity, sizeof identity);
    linear_cross(from, to, axis);
    sine = linear_norm(axis);
    if (linear_dot(from, to) > 0
        && !(sine > update_rounding * linear_norm(from) * linear_norm(to)))
        return 0;
    if (linear_is_zero(axis)) { /* opposite: any axis across both will do */
        const int least = fabs(from[0]) < 0.7 * linear_norm(from) ? 0 : 1;

        linear_cross(from, identity[least], axis);
    }
    linear_unit(axis, axis);
    linear_rotate_columns(axis, atan2(sine, linear_dot(from, to)), turn);
    return 1;
}

/* Inverts a matrix (rows). */
static void invert(const double m[3][3], double out[3][3])
{
    double columns[3][3], volume;

    for (int i = 0; i < 3; i++) linear_cross(m[(i + 1) % 3], m[(i + 2) % 3], columns[i]);
    volume = linear_dot(m[0], columns[0]);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) out[i][k] = columns[k][i] / volume;
}

/* Applies the inverse of a matrix to a vector. */
static void apply_inverse(const double m[3][3], const double v[3], double out[3])
{
    double inverse[3][3];

    invert(m, inverse);
    linear_apply((const double(*)[3])inverse, v, out);
}

/* ---- beam ---- */

/* Finds the unit vector perpendicular to a beam and its electric field. Returns 0 if the
 * field lies along the beam. */
static int normal_of(const double beam[3], const double field[3], double out[3])
{
    linear_cross(beam, field, out);
    if (!(linear_norm(out) > 1e-6 * linear_norm(field))) return 0;
    linear_unit(out, out);
    return 1;
}

static void update_polarization(const struct update_state *s, const double beam[3],
                                struct span text, struct edits *edits)
{
    const nb_beam *before = &s->before.beam, *after = &s->after->beam;
    double field[3], from[3], to[3];

    linear_apply(expt_turn, after->polarization_axis, field);
    if (normal_of(before->direction, before->polarization_axis, from)
        && normal_of(beam, field, to) && update_differs(from, to, 3, 1))
        edits_set_vector(edits, text, "polarization_normal", to);
    if (!after->unpolarised
        && update_differs(&before->polarization, &after->polarization, 1, 1))
        edits_set_real(edits, text, "polarization_fraction", (1 + after->polarization) / 2);
}

/* Rotates the vectors s0 at the scan points, and divides them by `stretch`, because their
 * length is 1/wavelength. */
static nb_status update_beam_points(const struct update_state *s, const double turn[3][3],
                                    double stretch, struct span text, struct edits *edits)
{
    const cJSON *row = s->source.list[SCAN_BEAM] ? s->source.list[SCAN_BEAM]->child : NULL;
    struct span list, inside, at;

    if (!row || s->images == 0 || !edits_member(text, "s0_at_scan_points", &list))
        return NB_OK;
    for (inside = edits_inside(list); row && edits_next(&inside, &at); row = row->next) {
        double v[3];

        NB_TRY(read_row(s, row, "beam", v, 3));
        linear_apply(turn, v, v);
        linear_scale(1 / stretch, v, v);
        edits_reals(edits, at, v, 3);
    }
    return NB_OK;
}

nb_status update_beam(const struct update_state *s, const cJSON *model, struct span text,
                      struct edits *edits)
{
    const nb_beam *before = &s->before.beam, *after = &s->after->beam;
    /* listed sources have their own wavelengths, so the beam's stays */
    const double wavelength = after->nsource > 0 ? before->wavelength : after->wavelength;
    double beam[3], turn[3][3], source[3], stretch = 1, stated;
    int turned;

    linear_unit(after->direction, beam);
    linear_apply(expt_turn, beam, beam);
    turned = rotation_between(before->direction, beam, turn);
    if (turned) {
        NB_TRY(expt_reals(&s->e, model, "beam", "direction", source, 3));
        linear_apply((const double(*)[3])turn, source, source);
        edits_set_vector(edits, text, "direction", source);
    }
    if (update_differs(&before->wavelength, &wavelength, 1, wavelength)) {
        stretch = wavelength / before->wavelength;
        NB_TRY(expt_reals(&s->e, model, "beam", "wavelength", &stated, 1));
        edits_set_real(edits, text, "wavelength", stated * stretch);
    }
    update_polarization(s, beam, text, edits);
    if (!turned && stretch == 1) return NB_OK;
    return update_beam_points(s, (const double(*)[3])turn, stretch, text, edits);
}

/* ---- goniometer ---- */

nb_status update_goniometer(const struct update_state *s, const cJSON *model,
                            struct span text, struct edits *edits)
{
    const struct goniometer *g = &s->source.g;
    struct span axes, inside, at;
    double axis[3], turn[3][3], number = 0;

    linear_apply(expt_turn, s->after->scan.axis, axis);
    if (!(s->m.found & NB_FOUND_AXIS) || !rotation_between(s->before.scan.axis, axis, turn))
        return NB_OK;
    linear_apply(g->setting, g->axis, axis);
    linear_apply((const double(*)[3])turn, axis, axis);
    apply_inverse(g->setting, axis, axis);
    if (!edits_member(text, "axes", &axes)) {
        edits_set_vector(edits, text, "rotation_axis", axis);
        return NB_OK;
    }
    NB_TRY(expt_reals(&s->e, model, "goniometer", "scan_axis", &number, 1));
    inside = edits_inside(axes);
    for (int i = 0; edits_next(&inside, &at); i++)
        if (i == (int)number) edits_reals(edits, at, axis, 3);
    return NB_OK;
}

/* ---- crystal ---- */

/* how a crystal changes: its matrix A, with a*, b* and c* as columns, becomes turn A
 * strain, where strain depends on the change of the cell alone */
struct crystal_change {
    double turn[3][3], strain[3][3];
    double drift[3]; /* rotation vector for each degree of phi, degree */
};

/* Divides A into a rotation (the transpose of u) and a matrix b, whose columns are a* along
 * x, b* in the plane of x and y, and c*. */
static void divide(const double star[3][3], double u[3][3], double b[3][3])
{
    linear_unit(star[0], u[0]);
    linear_cross(star[0], star[1], u[2]);
    linear_unit(u[2], u[2]);
    linear_cross(u[2], u[0], u[1]);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) b[i][k] = linear_dot(u[i], star[k]);
}

static void multiply(const double a[3][3], const double b[3][3], double out[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            out[i][k] = a[i][0] * b[0][k] + a[i][1] * b[1][k] + a[i][2] * b[2][k];
}

/* Finds the change from one matrix A to another. Returns 0 if they differ only by
 * rounding. */
static int change_between(const double before[3][3], const double after[3][3],
                          struct crystal_change *out)
{
    double u[2][3][3], b[2][3][3], inverse[3][3];

    divide(before, u[0], b[0]);
    divide(after, u[1], b[1]);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            out->turn[i][k] =
                u[1][0][i] * u[0][0][k] + u[1][1][i] * u[0][1][k] + u[1][2][i] * u[0][2][k];
    invert((const double(*)[3])b[0], inverse);
    multiply((const double(*)[3])inverse, (const double(*)[3])b[1], out->strain);
    if (!update_differs(out->turn[0], identity[0], 9, 1))
        memcpy(out->turn, identity, sizeof identity);
    if (!update_differs(out->strain[0], identity[0], 9, 1))
        memcpy(out->strain, identity, sizeof identity);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            if (out->turn[i][k] != identity[i][k] || out->strain[i][k] != identity[i][k])
                return 1;
    return 0;
}

/* Rotates a vector of the crystal as the change does in the laboratory, where the
 * goniometer has the given setting, after `away` degrees of phi with drift. */
static void turn_within(const struct goniometer *g, const double setting[3][3],
                        const struct crystal_change *change, double away, double v[3])
{
    double drift[3];

    linear_apply(g->fixed, v, v);
    linear_apply(setting, v, v);
    linear_apply(change->turn, v, v);
    linear_scale(linear_radian(away), change->drift, drift);
    if (!linear_is_zero(drift)) linear_rotate_by_vector(drift, v, v);
    apply_inverse(setting, v, v);
    apply_inverse(g->fixed, v, v);
}

/* Changes a matrix A of the file, where the goniometer has the given setting. */
static void change_axes(const struct goniometer *g, const double setting[3][3],
                        const struct crystal_change *change, double away, double a[3][3])
{
    double strained[3][3];

    multiply((const double(*)[3])a, change->strain, strained);
    for (int k = 0; k < 3; k++) {
        double v[3] = {strained[0][k], strained[1][k], strained[2][k]};

        turn_within(g, setting, change, away, v);
        for (int j = 0; j < 3; j++) a[j][k] = v[j];
    }
}

static void update_axes(const struct update_state *s, const struct crystal_change *change,
                        struct span text, struct edits *edits)
{
    static const char *const keys[] = {"real_space_a", "real_space_b", "real_space_c"};
    const struct goniometer *g = &s->source.g;
    double a[3][3], real[3][3];

    invert(s->source.real_axes, a);
    change_axes(g, g->setting, change, 0, a);
    invert((const double(*)[3])a, real);
    for (int i = 0; i < 3; i++) edits_set_vector(edits, text, keys[i], real[i]);
}

static nb_status update_crystal_points(const struct update_state *s,
                                       const struct crystal_change *change,
                                       struct span text, struct edits *edits)
{
    const cJSON *row = s->source.list[SCAN_CRYSTAL];
    const cJSON *set = s->source.list[SCAN_SETTING];
    double setting[3][3], a[3][3];
    struct span list, inside, at;

    if (!edits_member(text, "A_at_scan_points", &list)) return NB_OK;
    memcpy(setting, s->source.g.setting, sizeof setting);
    row = row ? row->child : NULL;
    set = set ? set->child : NULL;
    inside = edits_inside(list);
    for (int i = 0; row && edits_next(&inside, &at); i++, row = row->next) {
        const double phi = s->m.phi0 + i * s->m.osc;

        NB_TRY(read_row(s, row, "crystal", a[0], 9));
        if (set) NB_TRY(read_row(s, set, "goniometer", setting[0], 9));
        set = set ? set->next : NULL;
        change_axes(&s->source.g, (const double(*)[3])setting, change,
                    phi - s->after->scan.drift_phi, a);
        edits_reals(edits, at, a[0], 9);
    }
    return NB_OK;
}

/* Writes the mosaicity in the terms that the file uses. */
static void update_mosaicity(const struct update_state *s, const cJSON *crystal,
                             struct span text, struct edits *edits)
{
    const cJSON *half = cJSON_GetObjectItemCaseSensitive(crystal, "ML_half_mosaicity_deg");

    if (s->mosaicity < 0 || !(s->m.found & NB_FOUND_MOSAIC)) return;
    if (cJSON_IsNumber(half) && half->valuedouble > 0)
        edits_set_real(edits, text, "ML_half_mosaicity_deg", s->mosaicity * sqrt(3));
    else
        edits_set_real(edits, text, "mosaicity", s->mosaicity);
}

nb_status update_crystal(const struct update_state *s, const cJSON *model, struct span text,
                         struct edits *edits)
{
    const double *matrix = s->before.crystal.matrix;
    struct crystal_change change;
    struct crystal_axes axes;
    double before[3][3], spindle[3];
    int moves, drifts;

    linear_unit(s->after->scan.axis, spindle);
    update_mosaicity(s, model, text, edits);
    NB_TRY(crystal_derive(s->e.ctx, s->after, &axes));
    for (int i = 0; i < 3; i++) {
        if (!(s->m.found & NB_FOUND_AXIS)) /* the file states a still as its image shows it,
                                              at phi0 */
            linear_rotate(spindle, linear_radian(s->after->scan.phi0), axes.star[i],
                          axes.star[i]);
        linear_apply(expt_turn, axes.star[i], axes.star[i]);
        for (int k = 0; k < 3; k++) before[i][k] = matrix[3 * k + i];
    }
    moves =
        change_between((const double(*)[3])before, (const double(*)[3])axes.star, &change);
    linear_apply(expt_turn, s->after->scan.drift, change.drift);
    drifts = !linear_is_zero(change.drift);
    if (moves) update_axes(s, &change, text, edits);
    if (s->images > 0 && (moves || drifts))
        return update_crystal_points(s, &change, text, edits);
    return NB_OK;
}
