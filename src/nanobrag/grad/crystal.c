/*
 * crystal.c - tangents of the crystal's members of the frame. It follows the formulas of
 * scene/crystal.c one by one; x_dot is the tangent of x.
 *
 * Let A have the rows a, b, c and R the rows a*, b*, c*, so that A R^T = 1. The strain, the
 * relative change of the axes, is dA R^T = -A dR^T.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "grad/linear_tangent.h"
#include "grad/tangent.h"
#include "scene/linear.h"

static int has_matrix(const nb_crystal *crystal)
{
    for (int i = 0; i < 9; i++)
        if (crystal->matrix[i] != 0) return 1;
    return 0;
}

/* Trigonometry of a cell as in scene/crystal.c; volume = a b c sqrt(square), A^3. */
struct cell_angles {
    double cosine[3], sine[3], cosine_star[3], sine_star_c, square, volume;
};

static void cell_angles(const double cell[6], struct cell_angles *out)
{
    double *c = out->cosine, *s = out->sine;

    for (int i = 0; i < 3; i++) {
        c[i] = cell[3 + i] == 90 ? 0 : cos(linear_radian(cell[3 + i]));
        s[i] = sin(linear_radian(cell[3 + i]));
    }
    out->square = 1 - c[0] * c[0] - c[1] * c[1] - c[2] * c[2] + 2 * c[0] * c[1] * c[2];
    out->volume = cell[0] * cell[1] * cell[2] * sqrt(out->square);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;

        out->cosine_star[i] = (c[j] * c[k] - c[i]) / (s[j] * s[k]);
    }
    out->sine_star_c = sqrt(out->square) / (s[0] * s[1]);
}

static void cell_angles_tangent(const double cell[6], const double cell_dot[6],
                                const struct cell_angles *t, struct cell_angles *out)
{
    const double *c = t->cosine, *s = t->sine;
    double *c_dot = out->cosine, *s_dot = out->sine, half;

    for (int i = 0; i < 3; i++) {
        c_dot[i] = -s[i] * linear_radian(cell_dot[3 + i]);
        s_dot[i] = c[i] * linear_radian(cell_dot[3 + i]);
    }
    out->square = 0;
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;

        out->square += 2 * c_dot[i] * (c[j] * c[k] - c[i]);
        out->cosine_star[i] = (c_dot[j] * c[k] + c[j] * c_dot[k] - c_dot[i]) / (s[j] * s[k])
                              - t->cosine_star[i] * (s_dot[j] / s[j] + s_dot[k] / s[k]);
    }
    half = out->square / (2 * t->square); /* d log(sqrt(square)) */
    out->volume =
        t->volume
        * (cell_dot[0] / cell[0] + cell_dot[1] / cell[1] + cell_dot[2] / cell[2] + half);
    out->sine_star_c = t->sine_star_c * (half - s_dot[0] / s[0] - s_dot[1] / s[1]);
}

/* Computes star and volume of standard_setting(), with their tangents; volume[1] is the
 * tangent of volume[0]. */
static void standard_setting_tangent(const double cell[6], const double cell_dot[6],
                                     int quirk, double star[3][3], double star_dot[3][3],
                                     double volume[2])
{
    struct cell_angles t, t_dot;
    double length[3], length_dot[3], middle, middle_dot;

    cell_angles(cell, &t);
    cell_angles_tangent(cell, cell_dot, &t, &t_dot);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;

        length[i] = cell[j] * cell[k] * t.sine[i] / t.volume;
        length_dot[i] = length[i]
                        * (cell_dot[j] / cell[j] + cell_dot[k] / cell[k]
                           + t_dot.sine[i] / t.sine[i] - t_dot.volume / t.volume);
    }
    middle = t.cosine_star[0] - t.cosine_star[1] * t.cosine_star[2];
    middle_dot = t_dot.cosine_star[0] - t_dot.cosine_star[1] * t.cosine_star[2]
                 - t.cosine_star[1] * t_dot.cosine_star[2];
    star[0][0] = length[0];
    star_dot[0][0] = length_dot[0];
    star[0][1] = star[0][2] = star[1][2] = 0;
    star_dot[0][1] = star_dot[0][2] = star_dot[1][2] = 0;
    star[1][0] = length[1] * t.cosine_star[2];
    star_dot[1][0] = length_dot[1] * t.cosine_star[2] + length[1] * t_dot.cosine_star[2];
    star[1][1] = length[1] * t.sine_star_c;
    star_dot[1][1] = length_dot[1] * t.sine_star_c + length[1] * t_dot.sine_star_c;
    star[2][0] = length[2] * t.cosine_star[1];
    star_dot[2][0] = length_dot[2] * t.cosine_star[1] + length[2] * t_dot.cosine_star[1];
    star[2][1] = length[2] * middle / t.sine_star_c;
    star_dot[2][1] =
        (length_dot[2] * middle + length[2] * middle_dot - star[2][1] * t_dot.sine_star_c)
        / t.sine_star_c;
    if (quirk) { /* nanoBragg's c*_z, with sqrt(square)/sine_star_c = sine[0] sine[1] */
        star[2][2] = length[2] * t.sine[0] * t.sine[1];
        star_dot[2][2] =
            length_dot[2] * t.sine[0] * t.sine[1]
            + length[2] * (t_dot.sine[0] * t.sine[1] + t.sine[0] * t_dot.sine[1]);
    } else {
        star[2][2] = 1 / cell[2];
        star_dot[2][2] = -star[2][2] * cell_dot[2] / cell[2];
    }
    volume[0] = t.volume;
    volume[1] = t_dot.volume;
}

/* Computes orient_like() and its tangent. */
static void orient_like_tangent(const double a[3][3], const double a_dot[3][3],
                                double star[3][3], double star_dot[3][3])
{
    double e[3][3], e_dot[3][3], normal[3], normal_dot[3];

    linear_unit(a[0], e[0]);
    linear_unit_tangent(a[0], a_dot[0], e_dot[0]);
    linear_cross(a[0], a[1], normal);
    linear_cross_tangent(a[0], a_dot[0], a[1], a_dot[1], normal_dot);
    linear_unit(normal, e[2]);
    linear_unit_tangent(normal, normal_dot, e_dot[2]);
    linear_cross(e[2], e[0], e[1]);
    linear_cross_tangent(e[2], e_dot[2], e[0], e_dot[0], e_dot[1]);
    if (linear_dot(e[2], a[2]) < 0) {
        star[2][2] = -star[2][2];
        star_dot[2][2] = -star_dot[2][2];
    }
    for (int i = 0; i < 3; i++) {
        double r[3] = {0, 0, 0}, r_dot[3] = {0, 0, 0};

        for (int j = 0; j < 3; j++) {
            linear_add(star[i][j], e[j], r);
            linear_add_tangent(star[i][j], star_dot[i][j], e[j], e_dot[j], r_dot);
        }
        linear_copy(r, star[i]);
        linear_copy(r_dot, star_dot[i]);
    }
}

/* Computes unrotated_star() and its tangent. `volume` receives the volume of the cell and
 * its tangent, or 0 0 if the scene has no cell. */
static void unrotated_star_tangent(const nb_scene *scene, const nb_scene *dot,
                                   double star[3][3], double star_dot[3][3],
                                   double volume[2])
{
    const nb_crystal *c = &scene->crystal, *c_dot = &dot->crystal;
    const int quirk = (scene->quirks & NB_QUIRK_CELL_VECTORS) != 0;
    const int has_cell = c->cell[0] != 0;
    double matrix[3][3], matrix_dot[3][3];

    volume[0] = volume[1] = 0;
    if (has_cell)
        standard_setting_tangent(c->cell, c_dot->cell, quirk, star, star_dot, volume);
    if (!has_matrix(c)) return;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) {
            matrix[j][i] = c->matrix[3 * i + j];
            matrix_dot[j][i] = c_dot->matrix[3 * i + j];
        }
    if (has_cell && !quirk) {
        orient_like_tangent((const double(*)[3])matrix, (const double(*)[3])matrix_dot,
                            star, star_dot);
        return;
    }
    for (int j = 0; j < 3; j++) {
        linear_copy(matrix[j], star[j]);
        linear_copy(matrix_dot[j], star_dot[j]);
    }
}

/* Returns 1 if the tangent `dot` of a crystal moves its axes, which most parameters do
 * not. */
static int moves_axes(const nb_crystal *dot)
{
    int any = 0;

    for (int i = 0; i < 6; i++) any |= dot->cell[i] != 0;
    for (int i = 0; i < 9; i++) any |= dot->matrix[i] != 0;
    return any || !linear_is_zero(dot->misset) || !linear_is_zero(dot->rotation);
}

/* Computes the strain, which is the tangent of crystal_derive(). Returns d log(V) - d
 * log(V'), where V is the volume of the axes and V' the volume used for a*, b*, c*; without
 * NB_QUIRK_CELL_VECTORS this is 0. */
static double crystal_derive_tangent(const nb_scene *scene, const nb_scene *dot,
                                     const struct crystal_axes *axes, double strain[9])
{
    const double *cell = scene->crystal.cell, *cell_dot = dot->crystal.cell;
    double star[3][3] = {{0}}, star_dot[3][3] = {{0}}, volume[2], r[3], r_dot[3];

    memset(strain, 0, 9 * sizeof *strain);
    if (!moves_axes(&dot->crystal)) return 0;
    unrotated_star_tangent(scene, dot, star, star_dot, volume);
    for (int i = 0; i < 3; i++) {
        r[i] = linear_radian(scene->crystal.rotation[i]);
        r_dot[i] = linear_radian(dot->crystal.rotation[i]);
    }
    for (int i = 0; i < 3; i++) {
        linear_rotate_xyz_tangent(scene->crystal.misset, dot->crystal.misset, star[i],
                                  star_dot[i], star_dot[i]);
        linear_rotate_xyz(scene->crystal.misset, star[i], star[i]);
        linear_rotate_by_vector_tangent(r, r_dot, star[i], star_dot[i], star_dot[i]);
        linear_rotate_by_vector(r, star[i], star[i]);
    }
    /* a . a* is 1, except with the lengths that NB_QUIRK_CELL_VECTORS sets. */
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            strain[3 * i + j] = -linear_dot(axes->real[i], star_dot[j])
                                / linear_dot(axes->real[j], star[j]);
    if (!(volume[0] > 0 && (scene->quirks & NB_QUIRK_CELL_VECTORS))) return 0;
    for (int i = 0; i < 3; i++) {
        const double *a = axes->real[i];
        double along = 0;

        for (int j = 0; j < 3; j++)
            along += strain[3 * i + j] * linear_dot(axes->real[j], a);
        strain[3 * i + i] += cell_dot[i] / cell[i] - along / linear_dot(a, a);
    }
    return strain[0] + strain[4] + strain[8] - volume[1] / volume[0];
}

/* Computes the tangent of the metric of rho = edge |dh a* + dk b* + dl c*|. `edge` holds
 * the edge, A, and its tangent; `stretch` is the result of crystal_derive_tangent(). */
static void star_metric_tangent(const struct crystal_axes *axes, const double strain[9],
                                double stretch, const double edge[2], double metric[6])
{
    double star_dot[3][3];

    /* The reciprocal axes change by the matrix -strain^T, plus `stretch` times 1. */
    for (int i = 0; i < 3; i++) {
        linear_scale(stretch, axes->star[i], star_dot[i]);
        for (int j = 0; j < 3; j++)
            linear_add(-strain[3 * j + i], axes->star[j], star_dot[i]);
    }
    for (int i = 0; i < 3; i++) {
        const double *r = axes->star[i];

        metric[i] = 2 * edge[0]
                    * (linear_dot(r, star_dot[i]) * edge[0] + linear_dot(r, r) * edge[1]);
    }
    for (int i = 0; i < 3; i++) {
        const int j = i == 2 ? 1 : 0, k = i == 0 ? 1 : 2; /* hk, hl, kl */
        const double *r = axes->star[j], *s = axes->star[k];
        const double change = linear_dot_tangent(r, star_dot[j], s, star_dot[k]);

        metric[3 + i] = 2 * edge[0] * (change * edge[0] + 2 * linear_dot(r, s) * edge[1]);
    }
}

/* Computes the tangent of crystal_cells_metric(). Returns the tangent of det N. */
static double cells_metric_tangent(const nb_crystal *c, const nb_crystal *dot,
                                   double metric[6])
{
    const double *n = c->ncells, *n_dot = dot->ncells;
    const double ab = c->ncells_off[0], ac = c->ncells_off[1], bc = c->ncells_off[2];
    const double ab_dot = dot->ncells_off[0], ac_dot = dot->ncells_off[1],
                 bc_dot = dot->ncells_off[2];

    metric[0] = 2 * (n[0] * n_dot[0] + ab * ab_dot + ac * ac_dot);
    metric[1] = 2 * (n[1] * n_dot[1] + ab * ab_dot + bc * bc_dot);
    metric[2] = 2 * (n[2] * n_dot[2] + ac * ac_dot + bc * bc_dot);
    metric[3] =
        2
        * (ab_dot * (n[0] + n[1]) + ab * (n_dot[0] + n_dot[1]) + ac_dot * bc + ac * bc_dot);
    metric[4] =
        2
        * (ac_dot * (n[0] + n[2]) + ac * (n_dot[0] + n_dot[2]) + ab_dot * bc + ab * bc_dot);
    metric[5] =
        2
        * (bc_dot * (n[1] + n[2]) + bc * (n_dot[1] + n_dot[2]) + ab_dot * ac + ab * ac_dot);
    return n_dot[0] * (n[1] * n[2] - bc * bc) + n_dot[1] * (n[0] * n[2] - ac * ac)
           + n_dot[2] * (n[0] * n[1] - ab * ab)
           + 2
                 * (ab_dot * (ac * bc - n[2] * ab) + ac_dot * (ab * bc - n[1] * ac)
                    + bc_dot * (ab * ac - n[0] * bc));
}

/* Computes star_edge() and its tangent; `cells` holds det N and its tangent. Returns 0 for
 * shapes whose rho comes from the matrix N. */
static int star_edge_tangent(const nb_scene *scene, const struct crystal_axes *axes,
                             const double strain[9], const double cells[2], double edge[2])
{
    const int shape = scene->crystal.shape;
    double cube = cells[0], log_dot = cells[1] / cells[0]; /* d log(cube) */

    if (shape != NB_SHAPE_GAUSS_STAR) {
        edge[0] = cells[0];
        edge[1] = cells[1];
        return (shape == NB_SHAPE_GAUSS || shape == NB_SHAPE_TOPHAT)
               && (scene->quirks & NB_QUIRK_GAUSS_METRIC);
    }
    for (int i = 0; i < 3; i++) {
        const double *a = axes->real[i];

        cube *= linear_norm(a);
        for (int j = 0; j < 3; j++)
            log_dot += strain[3 * i + j] * linear_dot(axes->real[j], a) / linear_dot(a, a);
    }
    edge[0] = cbrt(cube);
    edge[1] = edge[0] * log_dot / 3;
    return 1;
}

/* Computes the tangent of crystal_lattice(). */
static void crystal_lattice_tangent(const nb_scene *scene, const nb_scene *dot,
                                    const struct crystal_axes *axes, double stretch,
                                    struct phys_frame_tangent *out)
{
    const nb_crystal *c = &scene->crystal;
    const double *strain = out->strain;
    double metric[6], cells[2], edge[2], sum_dot; /* d log(crystal_spot_sum()) */
    int is_star;

    cells[0] = crystal_cells_metric(c, metric);
    cells[1] = cells_metric_tangent(c, &dot->crystal, out->metric);
    is_star = star_edge_tangent(scene, axes, strain, cells, edge);
    linear_copy(dot->crystal.ncells, out->ncells);
    out->peak = cells[1];
    out->fudge = dot->crystal.fudge;
    if (is_star) star_metric_tangent(axes, strain, stretch, edge, out->metric);
    if (!c->normalise || c->shape == NB_SHAPE_SQUARE) return;
    sum_dot = -1.5 * dot->crystal.fudge / c->fudge;
    if (is_star)
        sum_dot += cells[1] / cells[0] - 3 * edge[1] / edge[0] - 3 * stretch + strain[0]
                   + strain[4] + strain[8];
    out->peak = (cells[1] - cells[0] * sum_dot / 2) / sqrt(crystal_spot_sum(scene, axes));
}

void crystal_tangent(const nb_scene *scene, const nb_scene *dot,
                     const struct crystal_axes *axes, struct phys_frame_tangent *out)
{
    const double stretch = crystal_derive_tangent(scene, dot, axes, out->strain);

    crystal_lattice_tangent(scene, dot, axes, stretch, out);
    out->b_factor = dot->crystal.b_factor;
    out->default_f = dot->crystal.default_f;
}
