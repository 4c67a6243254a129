/*
 * crystal.c - resolves the crystal and computes its axes (docs/theory.md, 5 and 8).
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/crystal.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "scene/linear.h"
#include "scene/mosaic.h"

static int has_matrix(const nb_crystal *crystal)
{
    for (int i = 0; i < 9; i++)
        if (crystal->matrix[i] != 0) return 1;
    return 0;
}

int64_t crystal_mosaic_seed(const nb_scene *scene)
{
    const int is_given = (scene->given & NB_GIVEN_MOSAIC_SEED) != 0;
    const int64_t seed = scene->crystal.mosaic_seed;

    return seed == 0 && !is_given ? 12345678 : seed;
}

void crystal_complete_cell(double cell[6])
{
    if (cell[0] == 0) return;
    for (int i = 1; i < 3; i++)
        if (cell[i] == 0) cell[i] = cell[0];
    for (int i = 3; i < 6; i++)
        if (cell[i] == 0) cell[i] = 90;
}

void crystal_resolve(nb_scene *scene, struct random_stream *random)
{
    nb_crystal *c = &scene->crystal;

    crystal_complete_cell(c->cell);
    if (c->fudge == 0 && !(scene->given & NB_GIVEN_FUDGE)) c->fudge = 1;
    if (c->scale == 0 && !(scene->given & NB_GIVEN_SCALE)) c->scale = 1;
    c->mosaic_seed = crystal_mosaic_seed(scene);
    scene->given |= NB_GIVEN_FUDGE | NB_GIVEN_SCALE | NB_GIVEN_MOSAIC_SEED;
    if (c->random_misset) {
        mosaic_random_misset(c->misset_seed, (scene->quirks & NB_QUIRK_RANDOM_MISSET) != 0,
                             random, c->misset);
        c->random_misset = 0;
    }
    for (int i = 0; i < 3; i++)
        if (c->ncells[i] == 0) c->ncells[i] = 1;
}

nb_status crystal_resolve_cells(nb_context *ctx, nb_scene *scene)
{
    static const char *const name[] = {"a", "b", "c"};
    nb_crystal *c = &scene->crystal;
    struct crystal_axes axes;

    NB_TRY(crystal_derive(ctx, scene, &axes));
    for (int i = 1; i < 3; i++)
        if (scene->beam.size >= 0 && c->size[i] > scene->beam.size) {
            log_line(ctx, NB_LOG_WARNING, "crystal",
                     "crystal size along %s clipped from %g to %g mm, the size of the beam",
                     name[i], c->size[i], scene->beam.size);
            c->size[i] = scene->beam.size;
        }
    for (int i = 0; i < 3; i++) {
        if (c->size[i] > 0)
            c->ncells[i] = ceil(c->size[i] * 1e7 / linear_norm(axes.real[i]));
        if (c->ncells[i] < 1) c->ncells[i] = 1;
        if (c->ncells[i] > 1e9)
            return fail(ctx, NB_ERR_SCENE, "%g cells along %s are too many; at most 1e9",
                        c->ncells[i], name[i]);
        c->size[i] = 0;
    }
    return NB_OK;
}

/* Trigonometry of a cell: cosines and sines of its angles and of the reciprocal angles, and
 * the volume, A^3. */
struct cell_angles {
    double cosine[3], sine[3], cosine_star[3], sine_star_c, volume;
};

/* Fills in *out; returns 0 if the cell is flat. */
static int cell_angles(const double cell[6], struct cell_angles *out)
{
    double *c = out->cosine, *s = out->sine, square;

    for (int i = 0; i < 3; i++) {
        /* The cosine of 90 degrees is exactly 0, but the cosine of its rounded radian is
         * not. */
        c[i] = cell[3 + i] == 90 ? 0 : cos(linear_radian(cell[3 + i]));
        s[i] = sin(linear_radian(cell[3 + i]));
    }
    square = 1 - c[0] * c[0] - c[1] * c[1] - c[2] * c[2] + 2 * c[0] * c[1] * c[2];
    if (!(square > 1e-12)) return 0;
    out->volume = cell[0] * cell[1] * cell[2] * sqrt(square);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;

        out->cosine_star[i] = (c[j] * c[k] - c[i]) / (s[j] * s[k]);
    }
    out->sine_star_c = sqrt(square) / (s[0] * s[1]);
    return 1;
}

/* Computes the reciprocal axes of a cell in the standard setting, with a* along x and b* in
 * the x-y plane. Returns 0 if the cell is flat. */
static int standard_setting(const double cell[6], int quirk, double star[3][3],
                            double *volume)
{
    struct cell_angles t;
    double length[3];

    if (!cell_angles(cell, &t)) return 0;
    for (int i = 0; i < 3; i++)
        length[i] = cell[(i + 1) % 3] * cell[(i + 2) % 3] * t.sine[i] / t.volume;
    star[0][0] = length[0];
    star[0][1] = star[0][2] = 0;
    star[1][0] = length[1] * t.cosine_star[2];
    star[1][1] = length[1] * t.sine_star_c;
    star[1][2] = 0;
    star[2][0] = length[2] * t.cosine_star[1];
    star[2][1] = length[2] * (t.cosine_star[0] - t.cosine_star[1] * t.cosine_star[2])
                 / t.sine_star_c;
    /* The formula needs the volume of a cell with the same angles and edges 1. nanoBragg
     * uses the volume of the cell instead. */
    star[2][2] = quirk
                     ? length[2] * t.volume / (cell[0] * cell[1] * cell[2] * t.sine_star_c)
                     : 1 / cell[2];
    *volume = t.volume;
    return 1;
}

/* Rotates `star`, the reciprocal axes B in the standard setting, by the rotation U of a
 * matrix A = U B. If A is left-handed, the sign of c*_z of B is changed first. Returns 0 if
 * a* and b* of A are parallel. */
static int orient_like(const double a[3][3], double star[3][3])
{
    double e[3][3], r[3][3];

    linear_unit(a[0], e[0]);
    linear_cross(a[0], a[1], e[2]);
    if (linear_norm(e[2]) == 0) return 0;
    linear_unit(e[2], e[2]);
    linear_cross(e[2], e[0], e[1]);
    if (linear_dot(e[2], a[2]) < 0) star[2][2] = -star[2][2];
    for (int i = 0; i < 3; i++) {
        r[i][0] = r[i][1] = r[i][2] = 0;
        for (int j = 0; j < 3; j++) linear_add(star[i][j], e[j], r[i]);
    }
    for (int i = 0; i < 3; i++) linear_copy(r[i], star[i]);
    return 1;
}

/* Computes the reciprocal axes before the misset. *cell_volume becomes 0 if the scene has
 * no cell. */
static nb_status unrotated_star(nb_context *ctx, const nb_scene *scene, double star[3][3],
                                double *cell_volume)
{
    const nb_crystal *c = &scene->crystal;
    const int quirk = (scene->quirks & NB_QUIRK_CELL_VECTORS) != 0;
    const int has_cell = c->cell[0] != 0;
    double matrix[3][3];

    *cell_volume = 0;
    if (has_cell && !standard_setting(c->cell, quirk, star, cell_volume))
        return fail(ctx, NB_ERR_UNIT_CELL, "the cell %g %g %g %g %g %g has no volume",
                    c->cell[0], c->cell[1], c->cell[2], c->cell[3], c->cell[4], c->cell[5]);
    if (!has_cell && !has_matrix(c))
        return fail(ctx, NB_ERR_UNIT_CELL,
                    "no unit cell was given; set crystal.cell or crystal.matrix (-cell or "
                    "-matrix)");
    if (!has_matrix(c)) return NB_OK;
    for (int j = 0; j < 3; j++) {
        matrix[j][0] = c->matrix[j];
        matrix[j][1] = c->matrix[3 + j];
        matrix[j][2] = c->matrix[6 + j];
    }
    if (!has_cell || quirk)
        for (int j = 0; j < 3; j++) linear_copy(matrix[j], star[j]);
    else if (!orient_like((const double(*)[3])matrix, star))
        return fail(ctx, NB_ERR_UNIT_CELL, "a* and b* of the matrix are parallel");
    return NB_OK;
}

nb_status crystal_derive(nb_context *ctx, const nb_scene *scene, struct crystal_axes *out)
{
    double star[3][3] = {{0}}, rotation[3], cell_volume, inverse, bulk;

    NB_TRY(unrotated_star(ctx, scene, star, &cell_volume));
    for (int i = 0; i < 3; i++) rotation[i] = linear_radian(scene->crystal.rotation[i]);
    for (int i = 0; i < 3; i++) {
        linear_rotate_xyz(scene->crystal.misset, star[i], star[i]);
        if (!linear_is_zero(rotation)) linear_rotate_by_vector(rotation, star[i], star[i]);
    }
    for (int i = 0; i < 3; i++)
        linear_cross(star[(i + 1) % 3], star[(i + 2) % 3], out->real[i]);
    inverse = linear_dot(star[0], out->real[0]); /* volume of the reciprocal cell, 1/A^3 */
    bulk = linear_norm(star[0]) * linear_norm(star[1]) * linear_norm(star[2]);
    if (!(fabs(inverse) > 1e-9 * bulk) || !isfinite(inverse))
        return fail(ctx, NB_ERR_UNIT_CELL, "the reciprocal axes lie in a plane");
    if (cell_volume > 0 && (scene->quirks & NB_QUIRK_CELL_VECTORS)) {
        /* nanoBragg keeps the directions of the axes; it takes lengths and volume from the
         * cell. */
        inverse = 1 / cell_volume;
        for (int i = 0; i < 3; i++)
            linear_scale(scene->crystal.cell[i] / cell_volume / linear_norm(out->real[i]),
                         out->real[i], out->real[i]);
    }
    for (int i = 0; i < 3; i++) linear_scale(1 / inverse, out->real[i], out->real[i]);
    for (int i = 0; i < 3; i++) {
        linear_cross(out->real[(i + 1) % 3], out->real[(i + 2) % 3], out->star[i]);
        linear_scale(inverse, out->star[i], out->star[i]);
    }
    out->volume = 1 / inverse;
    return NB_OK;
}

double crystal_largest_edge(const nb_scene *scene, const struct crystal_axes *axes)
{
    double largest = 0;

    for (int i = 0; i < 3; i++)
        largest = fmax(largest, scene->crystal.ncells[i] * linear_norm(axes->real[i]));
    return largest;
}

nb_status crystal_check_cells(nb_context *ctx, const nb_scene *scene)
{
    const nb_crystal *c = &scene->crystal;
    const double *n = c->ncells, *off = c->ncells_off;
    double metric[6];

    if (c->normalise && !(c->fudge > 0))
        return fail(ctx, NB_ERR_SCENE,
                    "-normalise on needs a -fudge above 0, because spots that reach "
                    "everywhere have no finite sum");
    if (linear_is_zero(off)) return NB_OK;
    if (c->shape == NB_SHAPE_SQUARE)
        return fail(ctx, NB_ERR_SCENE,
                    "a square crystal has no off-diagonal N (crystal.ncells_off); take "
                    "another shape");
    if (!(n[0] * n[1] - off[0] * off[0] > 0) || !(crystal_cells_metric(c, metric) > 0))
        return fail(ctx, NB_ERR_SCENE,
                    "the matrix N of %g %g %g cells, off its diagonal %g %g %g, is not "
                    "positive definite",
                    n[0], n[1], n[2], off[0], off[1], off[2]);
    return NB_OK;
}

double crystal_cells_metric(const nb_crystal *crystal, double metric[6])
{
    const double *n = crystal->ncells, *off = crystal->ncells_off;
    const double ab = off[0], ac = off[1], bc = off[2];

    metric[0] = n[0] * n[0] + ab * ab + ac * ac;
    metric[1] = n[1] * n[1] + ab * ab + bc * bc;
    metric[2] = n[2] * n[2] + ac * ac + bc * bc;
    metric[3] = 2 * (ab * (n[0] + n[1]) + ac * bc);
    metric[4] = 2 * (ac * (n[0] + n[2]) + ab * bc);
    metric[5] = 2 * (bc * (n[1] + n[2]) + ab * ac);
    return n[0] * n[1] * n[2] + 2 * ab * ac * bc - n[0] * bc * bc - n[1] * ac * ac
           - n[2] * ab * ab;
}

/* Returns the edge, A, in rho = edge |dh a* + dk b* + dl c*|, or 0 for shapes whose rho
 * comes from the matrix N. For gauss_star this is the edge of a cube with the volume of a
 * rectangular box of N_a |a| x N_b |b| x N_c |c|, which does not depend on the angles of
 * the cell. For gauss and tophat nanoBragg has the number of cells in place of an edge;
 * this number is returned with NB_QUIRK_GAUSS_METRIC. */
static double star_edge(const nb_scene *scene, const struct crystal_axes *axes,
                        double cells)
{
    const int shape = scene->crystal.shape;

    if (shape == NB_SHAPE_GAUSS_STAR)
        return cbrt(cells * linear_norm(axes->real[0]) * linear_norm(axes->real[1])
                    * linear_norm(axes->real[2]));
    return (shape == NB_SHAPE_GAUSS || shape == NB_SHAPE_TOPHAT)
                   && (scene->quirks & NB_QUIRK_GAUSS_METRIC)
               ? cells
               : 0;
}

double crystal_spot_sum(const nb_scene *scene, const struct crystal_axes *axes)
{
    /* Integral over x, y, z of the square of each profile, where u = x^2 + y^2 + z^2. */
    static const double integral[] = {
        [NB_SHAPE_ROUND] = 1, /* 0.7236^2 6/pi */
        [NB_SHAPE_GAUSS] = 0.98444314621763005, /* (0.315 pi)^(3/2) */
        [NB_SHAPE_TOPHAT] = 1.0473944243362227, /* 4/3 pi 0.63^3 */
        [NB_SHAPE_GAUSS_STAR] = 0.98444314621763005,
    };
    const nb_crystal *c = &scene->crystal;
    double metric[6], sum;

    if (c->shape == NB_SHAPE_SQUARE) return 1;
    sum = integral[c->shape] / (c->fudge * sqrt(c->fudge));
    const double cells = crystal_cells_metric(c, metric);
    const double edge = star_edge(scene, axes, cells);
    /* A unit volume of dh, dk, dl fills edge^3/V in x, y, z; with the matrix N it fills det
     * N. */
    if (edge > 0) {
        double across[3];

        linear_cross(axes->star[1], axes->star[2], across);
        sum *= cells / fabs(edge * edge * edge * linear_dot(axes->star[0], across));
    }
    return sum;
}

void crystal_lattice(const nb_scene *scene, const struct crystal_axes *axes,
                     struct phys_frame *frame)
{
    const nb_crystal *c = &scene->crystal;
    const double cells = crystal_cells_metric(c, frame->metric);
    const double edge = star_edge(scene, axes, cells);

    linear_copy(c->ncells, frame->ncells);
    frame->peak = cells;
    if (c->normalise) frame->peak /= sqrt(crystal_spot_sum(scene, axes));
    frame->fudge = c->fudge;
    if (edge > 0) {
        for (int i = 0; i < 3; i++)
            frame->metric[i] = linear_dot(axes->star[i], axes->star[i]) * edge * edge;
        for (int i = 0; i < 3; i++) {
            const int j = i == 2 ? 1 : 0, k = i == 0 ? 1 : 2; /* hk, hl, kl */

            frame->metric[3 + i] =
                2 * linear_dot(axes->star[j], axes->star[k]) * edge * edge;
        }
    }
}

void crystal_cell_of(const double axes[3][3], double cell[6])
{
    for (int i = 0; i < 3; i++) cell[i] = linear_norm(axes[i]);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        double cross[3];

        linear_cross(axes[j], axes[k], cross);
        cell[3 + i] =
            linear_degree(atan2(linear_norm(cross), linear_dot(axes[j], axes[k])));
    }
}
