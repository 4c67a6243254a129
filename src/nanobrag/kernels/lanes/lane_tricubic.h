/*
 * lane_tricubic.h - F interpolated at the lanes of a tile. A cell is the cube between eight
 * neighbouring reflections; within it the interpolant is one polynomial of 64 terms.
 * Neighbouring pixels, and neighbouring orientations, mostly lie in the same cell. So the
 * polynomial of each cell is found once and evaluated for runs of lanes, with loads that
 * all lanes share, instead of gathering 64 values for every lane. The file is compiled with
 * lanes.c and lanes_vjp.c, once per instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_TRICUBIC_H
#define NB_KERNELS_LANES_LANE_TRICUBIC_H

#include <string.h>

#include "kernels/lanes/lane_places.h"

/* How many lanes of a run are evaluated at a time. Runs are short, so vectors of 32 bytes
 * are as fast as longer ones. Arrays extend VECTOR elements beyond the last lane. */
#ifdef __AVX__
enum { VECTOR = 32 / sizeof(real) };
#else
enum { VECTOR = 4 }; /* clang vectorises no loop over two */
#endif

/* clang unrolls a loop this short before it asks whether the loop can be vectorised. */
#ifdef __clang__
#define KEEP_LOOP _Pragma("clang loop unroll(disable)")
#else
#define KEEP_LOOP
#endif

typedef real long_lane[TILE_PIXELS + VECTOR];

/* A hash table of at most CELLS_KEPT cells, with open addressing. The key of a cell is the
 * place in f of its first node. */
enum { CELLS_KEPT = 64, SLOTS = 4 * CELLS_KEPT, TERMS = 64, NO_CELL = -1 };

struct cell_table {
    int n;
    int corner[SLOTS]; /* place in f of the cell's first node; NO_CELL: the slot is free */
    uint8_t number[SLOTS]; /* the cell's number, in order of arrival */
};

static void cell_table_clear(struct cell_table *table)
{
    table->n = 0;
    for (int i = 0; i < SLOTS; i++) table->corner[i] = NO_CELL;
}

/* Returns the slot of a cell, or the free slot into which it would go. */
PHYS_FN unsigned cell_slot(const struct cell_table *table, int corner)
{
    unsigned slot = (unsigned)corner * 2654435769u / (0xffffffffu / SLOTS + 1);

    while (table->corner[slot] != corner && table->corner[slot] != NO_CELL)
        slot = (slot + 1) % SLOTS;
    return slot;
}

/* Coefficients of the polynomials of the cells that lanes of a tile have visited. */
struct cells {
    struct cell_table table;
    /* the coefficient of h^a k^b l^c is term[cell][16 a + 4 b + c]; h, k, l count from the
     * middle of the cell */
    _Alignas(64) real term[CELLS_KEPT][TERMS];
};

/* Replaces the values at the nodes -1, 0, 1, 2 along the slowest of three axes by the
 * coefficients of the cubic through them, in powers of the distance from 1/2. The slowest
 * axis becomes the fastest, so that three calls treat all axes and restore their order. */
PHYS_FN void cubics_through(const double *restrict in, double *restrict out)
{
    for (ptrdiff_t i = 0; i < 16; i++) {
        const double a = in[i], b = in[16 + i], c = in[32 + i], d = in[48 + i];
        const double inner = b + c, outer = a + d, step = c - b, span = d - a;

        out[4 * i] = (9 * inner - outer) * (1. / 16);
        out[4 * i + 1] = (27 * step - span) * (1. / 24);
        out[4 * i + 2] = (outer - inner) * (1. / 4);
        out[4 * i + 3] = (span - 3 * step) * (1. / 6);
    }
}

/* Computes the polynomial of the cell whose first node is at f[corner]. */
static __attribute__((noinline)) void find_polynomial(const struct phys_box *box,
                                                      int corner, real *restrict term)
{
    _Alignas(64) double a[TERMS], b[TERMS];

    for (ptrdiff_t i = 0; i < 16; i++) {
        const real *f = box->f + corner + i / 4 * box->stride_h + i % 4 * box->stride_k;

        for (int j = 0; j < 4; j++) a[4 * i + j] = (double)f[j];
    }
    cubics_through(a, b);
    cubics_through(b, a);
    cubics_through(a, b);
    for (int i = 0; i < TERMS; i++) term[i] = (real)b[i];
}

/* Returns the polynomial of the cell whose first node is at f[corner]; computes it if it is
 * not in the table. */
PHYS_FN const real *cells_find(struct cells *cells, const struct phys_box *box, int corner)
{
    struct cell_table *table = &cells->table;
    unsigned slot = cell_slot(table, corner);

    if (table->corner[slot] == NO_CELL) {
        if (table->n == CELLS_KEPT) {
            cell_table_clear(table);
            slot = cell_slot(table, corner);
        }
        find_polynomial(box, corner, cells->term[table->n]);
        table->corner[slot] = corner;
        table->number[slot] = (uint8_t)table->n++;
    }
    return cells->term[table->number[slot]];
}

/* ---- the polynomial at a vector of lanes ---- */

/* Returns c0 + c1 t + c2 t^2 + c3 t^3 and its derivative by t. */
PHYS_FN struct phys_dual cubic(real c0, real c1, real c2, real c3, real t)
{
    struct phys_dual r;

    r.f = c3 * t + c2;
    r.df = c3 * t + r.f;
    r.f = r.f * t + c1;
    r.df = r.df * t + r.f;
    r.f = r.f * t + c0;
    return r;
}

/* Returns a polynomial of 16 terms in k and l, with its derivatives. */
PHYS_FN struct phys_f cubic_plane(const real *c, real k, real l)
{
    const struct phys_dual p0 = cubic(c[0], c[1], c[2], c[3], l);
    const struct phys_dual p1 = cubic(c[4], c[5], c[6], c[7], l);
    const struct phys_dual p2 = cubic(c[8], c[9], c[10], c[11], l);
    const struct phys_dual p3 = cubic(c[12], c[13], c[14], c[15], l);
    const struct phys_dual f = cubic(p0.f, p1.f, p2.f, p3.f, k);

    return (struct phys_f){f.f, 0, f.df, cubic(p0.df, p1.df, p2.df, p3.df, k).f};
}

/* F of the lanes, and its derivatives by h, k, l. */
struct lane_f {
    _Alignas(64) long_lane f, dh, dk, dl;
};

/* The places of the lanes: the first nodes of their cells as places in f, and the distances
 * from the middles of the cells along h, k and l. */
struct in_cells {
    int corner[TILE_PIXELS];
    long_lane h, k, l;
};

/* For every lane in one orientation, the distance from the nearest lattice point and F
 * there: the members of struct phys_site as separate arrays. */
struct sites {
    _Alignas(64) lane h, k, l;
    struct lane_f cell; /* F; its derivatives are set only if F is interpolated */
    _Alignas(64) int place[TILE_PIXELS]; /* place in f of the nearest reflection */
    int any_halfway; /* 1: some lane lies nearly halfway between two reflections */
    int by_cell; /* 1: F was interpolated by the polynomials of the lanes' cells */
    struct in_cells in;
};

/* VECTOR lanes: their distances from the middles of their cells, and the results there. */
struct vector {
    const real *h, *k, *l;
    real *f, *dh, *dk, *dl;
};

PHYS_FN struct vector vector_at(const struct in_cells *in, int at, struct lane_f *out)
{
    return (struct vector){in->h + at,   in->k + at,   in->l + at,  out->f + at,
                           out->dh + at, out->dk + at, out->dl + at};
}

/* The first step of Horner's rule along h: F becomes the polynomial in k and l with the
 * coefficients `term`. */
PHYS_FN void first_plane(int slopes, const real *restrict term, const struct vector *at)
{
    const real *restrict k = at->k, *restrict l = at->l;
    real *restrict f = at->f, *restrict dh = at->dh;
    real *restrict dk = at->dk, *restrict dl = at->dl;

#pragma omp simd
    KEEP_LOOP
    for (int i = 0; i < (int)VECTOR; i++) {
        const struct phys_f plane = cubic_plane(term, k[i], l[i]);

        f[i] = plane.f;
        if (slopes) {
            dh[i] = 0;
            dk[i] = plane.dk;
            dl[i] = plane.dl;
        }
    }
}

/* A later step of Horner's rule: F becomes F h + the polynomial in k and l. */
PHYS_FN void add_plane(int slopes, const real *restrict term, const struct vector *at)
{
    const real *restrict h = at->h, *restrict k = at->k, *restrict l = at->l;
    real *restrict f = at->f, *restrict dh = at->dh;
    real *restrict dk = at->dk, *restrict dl = at->dl;

#pragma omp simd
    KEEP_LOOP
    for (int i = 0; i < (int)VECTOR; i++) {
        const struct phys_f plane = cubic_plane(term, k[i], l[i]);

        if (slopes) {
            dh[i] = dh[i] * h[i] + f[i];
            dk[i] = dk[i] * h[i] + plane.dk;
            dl[i] = dl[i] * h[i] + plane.dl;
        }
        f[i] = f[i] * h[i] + plane.f;
    }
}

PHYS_FN void all_planes(int slopes, const real *restrict term,
                        const struct in_cells *restrict in, int at,
                        struct lane_f *restrict out)
{
    const struct vector vector = vector_at(in, at, out);

    first_plane(slopes, term + 48, &vector);
    add_plane(slopes, term + 32, &vector);
    add_plane(slopes, term + 16, &vector);
    add_plane(slopes, term, &vector);
}

/* Computes F of VECTOR lanes from lane `at` on, as if all of them lay in one cell. Each
 * step is a loop of its own, and the function is not inlined. Otherwise the compiler would
 * load the 64 terms before the loop, and it has no registers for them. */
static __attribute__((noinline, unused)) void interpolate(
    const real *restrict term, const struct in_cells *restrict in, int at,
    struct lane_f *restrict out)
{
    all_planes(0, term, in, at, out);
}

/* Does what interpolate() does, and computes the derivatives by h, k and l. */
static __attribute__((noinline, unused)) void interpolate_slopes(
    const real *restrict term, const struct in_cells *restrict in, int at,
    struct lane_f *restrict out)
{
    all_planes(1, term, in, at, out);
}

/* Finds the runs of neighbouring lanes in one cell: run i begins at start[i] and ends at
 * start[i + 1]. Returns how many there are. */
static int find_runs(int n, const int *restrict corner, int start[TILE_PIXELS + 1])
{
    int runs = 1;

    start[0] = 0;
    for (int i = 1; i < n; i++) {
        start[runs] = i;
        runs += corner[i] != corner[i - 1];
    }
    start[runs] = n;
    return runs;
}

/* Computes F of all lanes, and with `slopes` its derivatives. The last vector of a run may
 * write beyond the run's end, where the next run overwrites the results. */
PHYS_FN void interpolate_runs(int slopes, const struct phys_box *box, int n,
                              const struct in_cells *in, struct cells *cells,
                              struct lane_f *out)
{
    int start[TILE_PIXELS + 1];
    const int runs = find_runs(n, in->corner, start);

    for (int run = 0; run < runs; run++) {
        const real *term = cells_find(cells, box, in->corner[start[run]]);

        for (int at = start[run]; at < start[run + 1]; at += VECTOR) {
            if (slopes)
                interpolate_slopes(term, in, at, out);
            else
                interpolate(term, in, at, out);
        }
    }
}

/* Returns 1 if the lanes of an orientation lie in so few cells and long runs that the
 * polynomials take less time than gathering the nodes of every lane. The answer depends on
 * the tile, not on which of its pixels are rendered. */
static int few_cells(const struct launch *a, const struct lanes *l,
                     const struct phys_axes *axes)
{
    const struct phys_vec3 d = l->patch.d, fast = l->patch.fast, slow = l->patch.slow;
    const real n = (real)a->frame->oversample;
    const struct phys_vec3 u =
        phys_scale(n * (real)a->tile->width, phys_axpy(-phys_dot(d, fast), d, fast));
    const struct phys_vec3 v =
        phys_scale(n * (real)a->tile->height, phys_axpy(-phys_dot(d, slow), d, slow));
    const struct phys_vec3 across = phys_miller(*axes, u), down = phys_miller(*axes, v);
    const struct phys_vec3 area = phys_cross(across, down);
    const real row = 1 + fabs(across.x) + fabs(across.y) + fabs(across.z);
    const real column = fabs(down.x) + fabs(down.y) + fabs(down.z);
    const real cells = row + column + fabs(area.x) + fabs(area.y) + fabs(area.z);

    return cells <= CELLS_KEPT && row <= (real)a->tile->width * (real)0.6;
}

/* Computes the distance of every lane from the nearest lattice point in one orientation,
 * and its place in its cell. All cells must lie inside the box. */
PHYS_FN void find_cells(struct phys_spec spec, const struct phys_box *of,
                        const struct phys_anchor *at, real halfway,
                        const struct lanes *restrict l, struct sites *restrict out)
{
    struct in_cells *restrict in = &out->in;
    const struct phys_anchor anchor = *at;
    const struct phys_box box = *of;
    const int first = box.stride_h + box.stride_k + 1; /* places from node -1 to node 0 */
    int any = 0;

#pragma omp simd reduction(| : any)
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 x = phys_anchor_indices(&anchor, step_of(l, i));
        const struct phys_vec3 n = phys_lattice_point(spec, x), below = phys_nodes_below(x);
        const struct phys_vec3 d = phys_axpy(-1, n, x), t = phys_axpy(-1, below, x);
        const real h = fabs(d.x), k = fabs(d.y), m = fabs(d.z);
        const real hk = h > k ? h : k, off = hk > m ? hk : m;

        any |= phys_jumps_halfway(spec) && off > halfway ? 1 : 0;
        out->h[i] = d.x;
        out->k[i] = d.y;
        out->l[i] = d.z;
        in->h[i] = t.x - (real)0.5;
        in->k[i] = t.y - (real)0.5;
        in->l[i] = t.z - (real)0.5;
        in->corner[i] = phys_f_place(1, &box, below) - first;
    }
    for (int i = l->n; i < l->n + (int)VECTOR; i++) in->h[i] = in->k[i] = in->l[i] = 0;
    out->any_halfway = any;
}

/* Computes the sites of the lanes, with F by the polynomials of their cells. */
PHYS_FN void find_sites_by_cell(struct phys_spec spec, int slopes, const struct launch *a,
                                const struct phys_anchor *anchor, real halfway,
                                const struct lanes *l, struct sites *out)
{
    const struct phys_box box = phys_box_from(1, a->view.box, anchor->whole);

    find_cells(spec, &box, anchor, halfway, l, out);
    interpolate_runs(slopes, &box, l->n, &out->in, a->cells, &out->cell);
}

#endif
