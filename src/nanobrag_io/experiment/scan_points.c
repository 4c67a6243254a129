/*
 * scan_points.c - models that change during a scan. Each row of a list in the file belongs
 * to a boundary between images, so n images have n + 1 rows. SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/experiment/scan_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "base/log.h"
#include "scene/crystal.h"
#include "scene/linear.h"

/* The numbers of one scan point: the matrix A, with a*, b*, c* as columns, 1/A; the
 * direction of the beam divided by the wavelength, 1/A; and the axis of rotation. */
enum { AT_A = 0, AT_BEAM = 9, AT_AXIS = 12, NUMBERS = 15 };
struct point {
    double v[NUMBERS];
};

struct nb_scan_points {
    int n;
    unsigned changes; /* NB_FOUND_... of the models that change */
    int has_cells; /* 1: the crystal changes not only by rotation */
    double phi0, osc; /* of the first image, degree */
    struct point *at; /* (n) */
    nb_scan_points **lattice; /* points of the lattices; NULL: a lattice that does not
                                 change */
    int nlattice;
};

/* the lists of a file, in the order of enum SCAN_... */
static const struct {
    const char *what, *key;
    int n; /* numbers of a row */
} lists[SCAN_LISTS] = {
    {"crystal", "A_at_scan_points", 9},
    {"beam", "s0_at_scan_points", 3},
    {"goniometer", "setting_rotation_at_scan_points", 9},
};

/* Numbers of a scan point must be smaller than this: 1e6 would be an axis or a wavelength
 * of 1e-6 A. */
static const double largest = 1e6;

/* ---- reading ---- */

void goniometer_turn(const struct goniometer *g, double axes[3][3])
{
    for (int i = 0; i < 3; i++) {
        linear_apply(g->fixed, axes[i], axes[i]);
        linear_apply(g->setting, axes[i], axes[i]);
    }
}

/* Multiplies m, given as rows, by a: out = m a. `out` may be `a`. */
static void multiply(const double m[3][3], const double a[9], double out[9])
{
    double product[9];

    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            product[3 * i + k] = m[i][0] * a[k] + m[i][1] * a[3 + k] + m[i][2] * a[6 + k];
    memcpy(out, product, sizeof product);
}

/* Finds three vectors v with u_i . v_k = 1 for i = k, and else 0. Returns 0 if the vectors
 * u lie in a plane. */
static int reciprocal(const double u[3][3], double v[3][3])
{
    double volume;

    for (int i = 0; i < 3; i++) linear_cross(u[(i + 1) % 3], u[(i + 2) % 3], v[i]);
    volume = linear_dot(u[0], v[0]);
    for (int i = 0; i < 3; i++) linear_scale(1 / volume, v[i], v[i]);
    return fabs(volume) > 1e-6 * linear_norm(u[0]) * linear_norm(u[1]) * linear_norm(u[2]);
}

static void transpose(const double a[9], double out[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) out[i][k] = a[3 * k + i];
}

/* Checks the number of rows of list k. *used becomes the list; NULL if it is empty, or if
 * the experiment has no scan of images. */
static nb_status check_list(const struct expt *e, const struct scan_source *source, int k,
                            int images, const cJSON **used)
{
    const cJSON *const list = source->list[k];
    const int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;

    *used = NULL;
    if (n == 0) return NB_OK;
    if (images == 0 && !source->quiet)
        log_line(e->ctx, NB_LOG_WARNING, "expt",
                 "%s: the %s changes during a scan (%s) that experiment %d does not have; "
                 "the static model is taken",
                 e->name, lists[k].what, lists[k].key, e->i);
    if (images == 0) return NB_OK;
    if (n != images + 1)
        return fail(e->ctx, NB_ERR_FORMAT,
                    "%s: the number of rows in \"%s\" of the %s of experiment %d is %d, "
                    "expected %d, one more than the scan has images",
                    e->name, lists[k].key, lists[k].what, e->i, n, images + 1);
    *used = list;
    return NB_OK;
}

/* Replaces static models in *p by a row of each list (NULL: the model is static), then
 * rotates all of *p to the frame of the scene. */
static nb_status read_point(const struct expt *e, const cJSON *const row[SCAN_LISTS],
                            const struct goniometer *g, const double turn[3][3],
                            struct point *p)
{
    double setting[3][3], axes[3][3], unused[3][3];
    double *const to[SCAN_LISTS] = {p->v + AT_A, p->v + AT_BEAM, setting[0]};

    memcpy(setting, g->setting, sizeof setting);
    for (int k = 0; k < SCAN_LISTS; k++)
        if (row[k])
            NB_TRY(expt_numbers(e, row[k], lists[k].what, lists[k].key, to[k], lists[k].n,
                                lists[k].n));
    transpose(p->v + AT_A, axes);
    if (row[SCAN_CRYSTAL] && !reciprocal((const double(*)[3])axes, unused))
        return expt_wrong(e, "crystal", lists[SCAN_CRYSTAL].key, "axes that span a volume");
    if (row[SCAN_BEAM] && !(linear_norm(p->v + AT_BEAM) > 0))
        return expt_wrong(e, "beam", lists[SCAN_BEAM].key, "vectors with a direction");
    multiply(g->fixed, p->v + AT_A, p->v + AT_A);
    multiply((const double(*)[3])setting, p->v + AT_A, p->v + AT_A);
    multiply(turn, p->v + AT_A, p->v + AT_A);
    linear_apply(turn, p->v + AT_BEAM, p->v + AT_BEAM);
    linear_apply((const double(*)[3])setting, g->axis, p->v + AT_AXIS);
    linear_apply(turn, p->v + AT_AXIS, p->v + AT_AXIS);
    for (int k = 0; k < NUMBERS; k++)
        if (!(fabs(p->v[k]) < largest))
            return fail(e->ctx, NB_ERR_FORMAT,
                        "%s: a scan point of experiment %d holds the number %g, expected "
                        "less than %g",
                        e->name, e->i, p->v[k], largest);
    return NB_OK;
}

static nb_status read_points(const struct expt *e, const struct scan_source *source,
                             const cJSON *const used[SCAN_LISTS], const struct models *m,
                             const double turn[3][3], nb_scan_points *out)
{
    const cJSON *row[SCAN_LISTS];
    const double length = linear_norm(m->beam);
    double star[3][3] = {{0}};

    if (m->found & NB_FOUND_CRYSTAL) (void)reciprocal(source->real_axes, star);
    for (int k = 0; k < SCAN_LISTS; k++) row[k] = used[k] ? used[k]->child : NULL;
    for (int i = 0; i < out->n; i++) {
        struct point *p = out->at + i;

        for (int k = 0; k < 9; k++) p->v[AT_A + k] = star[k % 3][k / 3];
        p->v[AT_BEAM + 2] = 1; /* if there is no beam, any direction, which nobody uses */
        if (length > 0) linear_scale(1 / length / m->wavelength, m->beam, p->v + AT_BEAM);
        NB_TRY(read_point(e, row, &source->g, turn, p));
        for (int k = 0; k < SCAN_LISTS; k++) row[k] = row[k] ? row[k]->next : NULL;
    }
    return NB_OK;
}

/* Returns the angle between two vectors, degree. */
static double angle_between(const double *u, const double *v)
{
    double cross[3];

    linear_cross(u, v, cross);
    return linear_degree(atan2(linear_norm(cross), linear_dot(u, v)));
}

/* Returns the largest rotation, degree, of the model of list k between two consecutive scan
 * points. */
static double largest_turn(const nb_scan_points *s, int k)
{
    double most = 0;

    for (int i = 1; i < s->n; i++) {
        const double *u = s->at[i - 1].v, *v = s->at[i].v;
        double before[3][3], after[3][3];

        if (k == SCAN_BEAM) most = fmax(most, angle_between(u + AT_BEAM, v + AT_BEAM));
        if (k == SCAN_SETTING) most = fmax(most, angle_between(u + AT_AXIS, v + AT_AXIS));
        if (k == SCAN_BEAM) continue;
        transpose(u + AT_A, before);
        transpose(v + AT_A, after);
        for (int j = 0; j < 3; j++) most = fmax(most, angle_between(before[j], after[j]));
    }
    return most;
}

static void warn_of_change(const struct expt *e, const nb_scan_points *s,
                           const cJSON *const used[SCAN_LISTS])
{
    for (int k = 0; k < SCAN_LISTS; k++)
        if (used[k])
            log_line(e->ctx, NB_LOG_WARNING, "expt",
                     "%s: the %s changes during the scan (%s): each image takes the value "
                     "at its middle, up to %.2g degrees from the values at its ends",
                     e->name, lists[k].what, lists[k].key, largest_turn(s, k) / 2);
}

nb_status scan_points_read(const struct expt *e, const struct scan_source *source,
                           const struct models *m, int images, const double turn[3][3],
                           nb_scan_points **out)
{
    const cJSON *used[SCAN_LISTS];
    nb_scan_points *s;
    nb_status status;

    for (int k = 0; k < SCAN_LISTS; k++) NB_TRY(check_list(e, source, k, images, used + k));
    if (!used[SCAN_CRYSTAL] && !used[SCAN_BEAM] && !used[SCAN_SETTING]) return NB_OK;
    s = calloc(1, sizeof *s);
    if (!s) return fail_memory(e->ctx, e->name);
    s->n = images + 1;
    s->phi0 = m->phi0;
    s->osc = m->osc;
    if (used[SCAN_BEAM]) s->changes |= NB_FOUND_BEAM;
    if (used[SCAN_SETTING]) s->changes |= NB_FOUND_AXIS | (m->found & NB_FOUND_CRYSTAL);
    if (used[SCAN_CRYSTAL]) s->changes |= NB_FOUND_CRYSTAL;
    s->has_cells = used[SCAN_CRYSTAL] != NULL;
    s->at = calloc((size_t)s->n, sizeof *s->at);
    if (!s->at) {
        free(s);
        return fail_memory(e->ctx, e->name);
    }
    status = read_points(e, source, used, m, turn, s);
    if (status != NB_OK) {
        nb_scan_points_free(s);
        return status;
    }
    if (!source->quiet) warn_of_change(e, s, used);
    *out = s;
    return NB_OK;
}

/* ---- setting a scene ---- */

void nb_scan_points_free(nb_scan_points *points)
{
    if (!points) return;
    for (int i = 0; i < points->nlattice; i++) nb_scan_points_free(points->lattice[i]);
    free(points->lattice);
    free(points->at);
    free(points);
}

void scan_points_adopt(nb_scan_points *points, nb_scan_points **lattice, int n)
{
    points->lattice = lattice;
    points->nlattice = n;
}

double scan_points_place(const nb_scan_points *s, double phi, int *beyond)
{
    static const double rounding = 1e-6;
    const double last = s->n - 1;
    double x = 0.5;

    if (s->osc != 0) {
        const double whole = 360 / fabs(s->osc);

        x = (phi - s->phi0) / s->osc;
        if (x < -rounding || x > last + rounding) {
            const double within = x - whole * floor(x / whole);

            if (within <= last + rounding) x = within;
        }
    }
    if (beyond) *beyond = x < -rounding || x > last + rounding;
    return fmin(fmax(x, 0), last);
}

/* Interpolates linearly between two scan points. If this gives no direction, because
 * vectors are opposite, takes the nearer point. */
static void mean_of(const double *before, const double *after, double share, double *out)
{
    double star[3][3], unused[3][3];

    for (int k = 0; k < NUMBERS; k++) out[k] = (1 - share) * before[k] + share * after[k];
    transpose(out + AT_A, star);
    if ((linear_is_zero(before + AT_A) || reciprocal((const double(*)[3])star, unused))
        && linear_norm(out + AT_BEAM) > 0 && linear_norm(out + AT_AXIS) > 0)
        return;
    memcpy(out, share < 0.5 ? before : after, NUMBERS * sizeof *out);
}

unsigned nb_scan_points_set(const nb_scan_points *points, double phi, unsigned members,
                            nb_scene *scene, int *beyond)
{
    STANDARD_FLOATS;
    double x, mean[NUMBERS], real[3][3], star[3][3];
    int i;

    if (beyond) *beyond = 0;
    if (!points || !scene || !isfinite(phi)) return 0;
    members &= points->changes;
    x = scan_points_place(points, phi, beyond);
    i = (int)fmin(floor(x), points->n - 2);
    mean_of(points->at[i].v, points->at[i + 1].v, x - i, mean);
    if (members & NB_FOUND_CRYSTAL) {
        memcpy(scene->crystal.matrix, mean + AT_A, sizeof scene->crystal.matrix);
        transpose(mean + AT_A, star);
        (void)reciprocal((const double(*)[3])star, real);
        crystal_cell_of((const double(*)[3])real, scene->crystal.cell);
    }
    if (members & NB_FOUND_BEAM) {
        linear_unit(mean + AT_BEAM, scene->beam.direction);
        scene->beam.wavelength = 1 / linear_norm(mean + AT_BEAM);
    }
    if (members & NB_FOUND_AXIS) linear_unit(mean + AT_AXIS, scene->scan.axis);
    return members;
}

int scan_points_have_cells(const nb_scan_points *points)
{
    return points && points->has_cells;
}

void scan_points_set_lattice(const nb_scan_points *points, double phi, nb_lattice *lattice)
{
    nb_scene scene = {0};

    if (!(nb_scan_points_set(points, phi, NB_FOUND_CRYSTAL, &scene, NULL)
          & NB_FOUND_CRYSTAL))
        return;
    memcpy(lattice->matrix, scene.crystal.matrix, sizeof lattice->matrix);
    if (points->has_cells) memcpy(lattice->cell, scene.crystal.cell, sizeof lattice->cell);
}

void nb_scan_points_set_lattices(const nb_scan_points *points, double phi, int n,
                                 nb_lattice *lattice)
{
    STANDARD_FLOATS;

    if (!points || !lattice) return;
    for (int i = 0; i < n && i < points->nlattice; i++)
        scan_points_set_lattice(points->lattice[i], phi, lattice + i);
}
