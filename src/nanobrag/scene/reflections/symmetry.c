/*
 * symmetry.c - crystal systems and point groups, in their standard settings: monoclinic
 * with unique axis b, trigonal on hexagonal axes, 32 and -3m as 321 and -3m1.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/reflections/symmetry.h"

#include <math.h>
#include <string.h>

#include "base/context.h"

/* The ties of a crystal system. Each number of a cell equals another number, or is free, or
 * has a fixed value in degree. */
struct ties {
    const char *name;
    int leader[6]; /* index of the number that it equals, which may be itself; -1: fixed */
    double fixed[6];
};

static const struct ties *ties_of(int system)
{
    static const struct ties table[] = {
        /* indexed by enum nb_system */
        {"", {0, 1, 2, 3, 4, 5}, {0}},
        {"triclinic", {0, 1, 2, 3, 4, 5}, {0}},
        {"monoclinic", {0, 1, 2, -1, 4, -1}, {0, 0, 0, 90, 0, 90}},
        {"orthorhombic", {0, 1, 2, -1, -1, -1}, {0, 0, 0, 90, 90, 90}},
        {"tetragonal", {0, 0, 2, -1, -1, -1}, {0, 0, 0, 90, 90, 90}},
        {"hexagonal", {0, 0, 2, -1, -1, -1}, {0, 0, 0, 90, 90, 120}},
        {"rhombohedral", {0, 0, 0, 3, 3, 3}, {0}},
        {"cubic", {0, 0, 0, -1, -1, -1}, {0, 0, 0, 90, 90, 90}},
    };

    return table + system;
}

int symmetry_leader(int system, int i)
{
    return ties_of(system)->leader[i];
}

const char *symmetry_system_name(int system)
{
    return ties_of(system)->name;
}

void symmetry_tie_cell(int system, double cell[6])
{
    const struct ties *ties = ties_of(system);

    for (int i = 0; i < 6; i++)
        if (ties->leader[i] >= 0) cell[i] = cell[ties->leader[i]];
}

/* Fills the tied numbers of a cell. Returns the index of the first number that contradicts
 * the system, with the right value in *wanted, or -1 if no number does. */
static int fill_cell(const struct ties *ties, double cell[6], double *wanted)
{
    for (int i = 0; i < 6; i++) {
        const int leader = ties->leader[i];
        const double value = leader < 0    ? ties->fixed[i]
                             : leader < i  ? cell[leader]
                             : cell[i] > 0 ? cell[i]
                             : i < 3       ? cell[0]
                                           : 90;

        *wanted = value;
        if (cell[i] != 0 && !(fabs(cell[i] - value) <= 1e-6 * value)) return i;
        cell[i] = value;
    }
    return -1;
}

int symmetry_agrees(int system, const double cell[6])
{
    double filled[6], wanted;

    memcpy(filled, cell, sizeof filled);
    return cell[0] > 0 && fill_cell(ties_of(system), filled, &wanted) < 0;
}

static nb_status resolve_cell(nb_context *ctx, nb_crystal *crystal)
{
    static const char *const names[] = {"a", "b", "c", "alpha", "beta", "gamma"};
    const struct ties *ties = ties_of(crystal->system);
    double wanted;
    int wrong;

    if (crystal->cell[0] == 0)
        return fail(ctx, NB_ERR_SCENE, "a %s crystal needs a unit cell (-cell)",
                    ties->name);
    wrong = fill_cell(ties, crystal->cell, &wanted);
    if (wrong >= 0)
        return fail(ctx, NB_ERR_SCENE,
                    "%s of the unit cell is %.9g, but in a %s crystal it is %.9g",
                    names[wrong], crystal->cell[wrong], ties->name, wanted);
    return NB_OK;
}

/* ---- point groups ---- */

/* Generators of point groups; the comments give their action on h, k, l. */
enum generator {
    END,
    INVERSION, /* -h -k -l */
    TWO_Y, /* -h k -l */
    TWO_Z, /* -h -k l */
    TWO_XY, /* k h -l */
    THREE_Z, /* k -h-k l, on hexagonal axes */
    FOUR_Z, /* k -h l */
    THREE_XYZ, /* k l h */
    GENERATORS
};

static const int generators[GENERATORS][3][3] = {
    [INVERSION] = {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}},
    [TWO_Y] = {{-1, 0, 0}, {0, 1, 0}, {0, 0, -1}},
    [TWO_Z] = {{-1, 0, 0}, {0, -1, 0}, {0, 0, 1}},
    [TWO_XY] = {{0, 1, 0}, {1, 0, 0}, {0, 0, -1}},
    [THREE_Z] = {{0, 1, 0}, {-1, -1, 0}, {0, 0, 1}},
    [FOUR_Z] = {{0, 1, 0}, {-1, 0, 0}, {0, 0, 1}},
    [THREE_XYZ] = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}},
};

/* Point groups of rotations only. Their Laue classes add the inversion. */
static const struct point_group {
    const char *name, *laue;
    int generator[4]; /* enum generator, up to END */
} point_groups[] = {
    {"1", "-1", {END}},
    {"2", "2/m", {TWO_Y}},
    {"222", "mmm", {TWO_Y, TWO_Z}},
    {"4", "4/m", {FOUR_Z}},
    {"422", "4/mmm", {FOUR_Z, TWO_Y}},
    {"3", "-3", {THREE_Z}},
    {"32", "-3m", {THREE_Z, TWO_XY}},
    {"6", "6/m", {THREE_Z, TWO_Z}},
    {"622", "6/mmm", {THREE_Z, TWO_Z, TWO_XY}},
    {"23", "m-3", {TWO_Y, TWO_Z, THREE_XYZ}},
    {"432", "m-3m", {FOUR_Z, THREE_XYZ}},
};

enum { POINT_GROUPS = sizeof point_groups / sizeof *point_groups };

static nb_status resolve_point_group(nb_context *ctx, nb_crystal *crystal)
{
    const char *name = crystal->point_group;

    if (!name) return NB_OK;
    for (int i = 0; i < POINT_GROUPS; i++) {
        const struct point_group *g = point_groups + i;
        const int rotations = strcmp(name, g->name) == 0;

        if (!rotations && strcmp(name, g->laue) != 0) continue;
        crystal->point_group = rotations ? g->name : g->laue;
        return NB_OK;
    }
    return fail(ctx, NB_ERR_ARGUMENT,
                "the point group '%.20s' is none of 1 2 222 4 422 3 32 6 622 23 432 -1 2/m "
                "mmm 4/m 4/mmm -3 -3m 6/m 6/mmm m-3 m-3m",
                name);
}

nb_status symmetry_resolve(nb_context *ctx, nb_crystal *crystal)
{
    if (crystal->system != NB_SYSTEM_NONE) NB_TRY(resolve_cell(ctx, crystal));
    return resolve_point_group(ctx, crystal);
}

/* Appends the operator m, unless the list already has it. */
static void append(const int m[3][3], struct symmetry *out)
{
    for (int i = 0; i < out->n; i++)
        if (memcmp(out->matrix[i], m, sizeof out->matrix[i]) == 0) return;
    memcpy(out->matrix[out->n++], m, sizeof *out->matrix);
}

/* Appends the product of a generator and operator i. */
static void multiply(const int g[3][3], int i, struct symmetry *out)
{
    int product[3][3];

    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            product[r][c] = 0;
            for (int k = 0; k < 3; k++) product[r][c] += g[r][k] * out->matrix[i][k][c];
        }
    append((const int(*)[3])product, out);
}

void symmetry_operators(const char *point_group, struct symmetry *out)
{
    static const int identity[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

    out->n = 0;
    append(identity, out);
    for (int g = 0; point_group && g < POINT_GROUPS; g++) {
        const int laue = strcmp(point_group, point_groups[g].laue) == 0;

        if (!laue && strcmp(point_group, point_groups[g].name) != 0) continue;
        /* Products are appended to the list and multiplied in turn, until there is no new
         * one. */
        for (int i = 0; i < out->n; i++) {
            for (const int *at = point_groups[g].generator; *at != END; at++)
                multiply(generators[*at], i, out);
            if (laue) multiply(generators[INVERSION], i, out);
        }
    }
}
