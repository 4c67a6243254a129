/*
 * step.c - derivatives with respect to h, k and l of the lattice factor, of the tricubic
 * look-up, and of a step, which is made of both.
 *
 * The closed forms continue the piece that contains a point (its nearest reflection, its
 * cell of the table), so that a derivative can be tested at the very edge of a piece.
 *
 * SPDX-License-Identifier: MIT
 */
#include "physics/step.h"

#include <math.h>

#include "gradients/gradients.h"
#include "support/closed_forms.h"

enum { SIDE_H = 11, SIDE_K = 9, SIDE_L = 10, FIRST_H = -5, FIRST_K = -2, FIRST_L = 1 };

/* a crystal and a table, and the point about which they are looked at */
struct setting {
    struct phys_spec spec;
    struct phys_crystal crystal;
    struct phys_box box;
    struct phys_anchor anchor;
    double at[3]; /* h, k, l */
    int axis; /* along which a ladder moves */
};

static struct setting setting_of(int shape, int lookup)
{
    static double f[SIDE_H * SIDE_K * SIDE_L + 1];
    static const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    struct setting s = {{shape, lookup, 0, 0}, .axis = 0};
    struct phys_frame frame = {0};
    uint64_t state = 5;

    for (int i = 0; i < SIDE_H * SIDE_K * SIDE_L; i++)
        f[i] = 100 * (random_number(&state) - 0.3);
    frame.hkl_min[0] = FIRST_H, frame.hkl_min[1] = FIRST_K, frame.hkl_min[2] = FIRST_L;
    frame.hkl_size[0] = SIDE_H, frame.hkl_size[1] = SIDE_K, frame.hkl_size[2] = SIDE_L;
    f[SIDE_H * SIDE_K * SIDE_L] = 37; /* the default stands behind the last */
    frame.f = f;
    frame.default_f = 37;
    frame.ncells[0] = 5, frame.ncells[1] = 4, frame.ncells[2] = 7;
    frame.peak = 140;
    frame.fudge = 0.9;
    frame.metric[0] = 25, frame.metric[1] = 16, frame.metric[2] = 49;
    frame.metric[3] = 8, frame.metric[4] = -11, frame.metric[5] = 6;
    s.crystal = phys_crystal(&frame);
    s.box = phys_box(&frame);
    s.anchor = phys_anchor_none(unit);
    return s;
}

static double component(struct phys_vec3 v, int axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static struct phys_vec3 nearest_of(const struct setting *s)
{
    return phys_lattice_point(s->spec, phys_load(s->at));
}

/* at, moved to x along the axis of the ladder */
static struct phys_vec3 moved(const struct setting *s, double x)
{
    double to[3];

    for (int i = 0; i < 3; i++) to[i] = i == s->axis ? x : s->at[i];
    return phys_load(to);
}

/* ---- closed forms ---- */
static long double lattice_truth(const struct setting *s, double x)
{
    const struct phys_crystal *c = &s->crystal;
    const struct phys_vec3 n = nearest_of(s), to = moved(s, x);
    const long double h = (long double)to.x - n.x, k = (long double)to.y - n.y,
                      l = (long double)to.z - n.z;
    const long double rho2 = c->hh * h * h + c->kk * k * k + c->ll * l * l + c->hk * h * k
                             + c->hl * h * l + c->kl * k * l;

    switch (s->spec.shape) {
    case PHYS_SQUARE:
        return closed_slit(h, c->n.x).f * closed_slit(k, c->n.y).f
               * closed_slit(l, c->n.z).f;
    case PHYS_ROUND:
        return c->peak * 0.723601254558268L * closed_sphere(c->fudge * rho2).f;
    case PHYS_GAUSS:
        return c->peak * expl(-c->fudge * rho2 / 0.63L);
    default:
        return phys_lattice(s->spec, c, phys_axpy(-1, n, phys_load(s->at))).f;
    }
}

static double table_at(const struct setting *s, int h, int k, int l)
{
    return s->box.f[((h - FIRST_H) * SIDE_K + k - FIRST_K) * SIDE_L + l - FIRST_L];
}

static int fits(const struct setting *s)
{
    return s->at[0] >= FIRST_H + 2 && s->at[0] <= FIRST_H + SIDE_H - 3
           && s->at[1] >= FIRST_K + 2 && s->at[1] <= FIRST_K + SIDE_K - 3
           && s->at[2] >= FIRST_L + 2 && s->at[2] <= FIRST_L + SIDE_L - 3;
}

static long double factor_truth(const struct setting *s, double x)
{
    const struct phys_vec3 to = moved(s, x);
    const double near = 1e-11; /* so close below an index a point is on it */
    const int h = (int)floor(s->at[0] + near), k = (int)floor(s->at[1] + near);
    const int l = (int)floor(s->at[2] + near);
    long double wh[4], wk[4], wl[4], sum = 0;

    if (s->spec.lookup == PHYS_CONSTANT) return s->box.outside;
    if (s->spec.lookup == PHYS_NEAREST || !fits(s))
        return s->box.f[phys_f_place(0, &s->box, nearest_of(s))];
    closed_cubic((long double)to.x - h, wh);
    closed_cubic((long double)to.y - k, wk);
    closed_cubic((long double)to.z - l, wl);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            for (int c = 0; c < 4; c++)
                sum += wh[a] * wk[b] * wl[c] * table_at(s, h + a - 1, k + b - 1, l + c - 1);
    return sum;
}

static long double lattice_function(const void *context, double x)
{
    return lattice_truth(context, x);
}

static long double factor_function(const void *context, double x)
{
    return factor_truth(context, x);
}

static long double step_function(const void *context, double x)
{
    const long double f = lattice_truth(context, x) * factor_truth(context, x);

    return f * f;
}

/* ---- the code's own values ---- */
static double square_sign(const struct setting *s, struct phys_vec3 d)
{
    const struct phys_vec3 n = s->crystal.n;

    if (s->spec.shape != PHYS_SQUARE) return 1;
    return phys_parity(rint(n.x * d.x)) * phys_parity(rint(n.y * d.y))
           * phys_parity(rint(n.z * d.z));
}

static long double lattice_own(const void *context, double x)
{
    const struct setting *s = context;
    const struct phys_vec3 d = phys_axpy(-1, nearest_of(s), moved(s, x));

    return square_sign(s, d) * phys_lattice(s->spec, &s->crystal, d).f;
}

static long double factor_own(const void *context, double x)
{
    const struct setting *s = context;

    return phys_f_tricubic(0, &s->box, moved(s, x), nearest_of(s)).f;
}

static long double step_own(const void *context, double x)
{
    const struct setting *s = context;

    return phys_step(s->spec, &s->crystal, &s->box, &s->anchor, moved(s, x)).f2;
}

/* ---- where ---- */
/* length over which the lattice factor changes along an axis */
static double length_of(const struct setting *s)
{
    const struct phys_crystal *c = &s->crystal;
    const double metric = component(phys_vec3(c->hh, c->kk, c->ll), s->axis);

    if (s->spec.shape == PHYS_SQUARE) return 1 / fmax(2, component(c->n, s->axis));
    if (s->spec.shape == PHYS_TOPHAT) return 0.5;
    return 1 / (PHYS_PI * sqrt(c->fudge * metric));
}

/* what roundings are measured against: where the sine of one axis is 0 those of the others
 * still have theirs. On top of sin(pi n v)/sin(pi v) that is 1/sin(pi v) */
static double size_of_lattice(const struct setting *s)
{
    const struct phys_vec3 nearest = nearest_of(s);
    double size = 1;

    if (s->spec.shape != PHYS_SQUARE) return 0;
    for (int axis = 0; axis < 3; axis++) {
        const double v = fabs(s->at[axis] - component(nearest, axis));

        size *= fmin(component(s->crystal.n, axis), 1 / fmax(sin(PHYS_PI * v), 1e-9));
    }
    return size;
}

static double size_of_step(const struct setting *s)
{
    const double f = (double)factor_truth(s, s->at[s->axis]) * size_of_lattice(s);

    return f * f;
}

/* distance to where the code changes to another piece */
static double workspace(const struct setting *s)
{
    const double x = s->at[s->axis], off = fabs(x - phys_nearest(x));

    return s->spec.lookup == PHYS_TRICUBIC ? fmin(off, 0.5 - off) : 0.5 - off;
}

/* point i of the list: distances to a lattice point that deserve a look, and random ones */
static void place(struct setting *s, int i, uint64_t *state)
{
    static const double special[] = {0,    1e-16, -1e-13, 1e-6,   -1e-3, 0.2,
                                     0.25, -0.4,  0.499,  -0.499, 0.5};
    static const int first[] = {FIRST_H, FIRST_K, FIRST_L};
    static const int side[] = {SIDE_H, SIDE_K, SIDE_L};

    for (int axis = 0; axis < 3; axis++) {
        const int beyond = i % 5 == 4 ? 3 : -2; /* one in five may lie outside */
        const double x =
            first[axis] - beyond + (side[axis] - 1 + 2 * beyond) * random_number(state);
        const size_t choices = LENGTH(special);
        const size_t pick = (size_t)(random_number(state) * (double)choices);

        s->at[axis] = i % 2 ? x : phys_nearest(x) + special[pick];
    }
}

/* slopes along the three axes; own values where there is room for them */
static void check_slopes(struct tally *tally, struct setting *s, const double slope[3],
                         ladder_function *truth, ladder_function *own)
{
    for (s->axis = 0; s->axis < 3; s->axis++) {
        struct ladder ladder = {truth, s, s->at[s->axis], length_of(s), 0, 0};

        if (truth == lattice_function) ladder.size = size_of_lattice(s);
        if (truth == step_function) ladder.size = size_of_step(s);

        tally_slope(tally, "closed form", &ladder, slope[s->axis]);
        ladder.f = own;
        ladder.limit = workspace(s);
        if (s->spec.shape != PHYS_TOPHAT && ladder.limit > 0.1 * ladder.length)
            tally_slope(tally, "own value", &ladder, slope[s->axis]);
    }
}

/* ---- lattice ---- */
static void check_lattice(struct tally *tally, struct setting *s)
{
    const struct phys_vec3 d = phys_axpy(-1, nearest_of(s), phys_load(s->at));
    const struct phys_lattice r = phys_lattice(s->spec, &s->crystal, d);
    const double sign = square_sign(s, d);
    const double slope[3] = {sign * r.dh, sign * r.dk, sign * r.dl};

    check_slopes(tally, s, slope, lattice_function, lattice_own);
}

static int lattice_of(struct setting s)
{
    struct tally tally = {0};
    uint64_t state = 17;

    for (int i = 0; i < 120; i++) {
        place(&s, i, &state);
        check_lattice(&tally, &s);
    }
    return tally_finish(&tally);
}

int lattice_square(void)
{
    return lattice_of(setting_of(PHYS_SQUARE, PHYS_CONSTANT));
}

int lattice_real_cells(void)
{
    struct setting s = setting_of(PHYS_SQUARE, PHYS_CONSTANT);

    s.crystal.n = phys_vec3(4.3, 200, 1);
    return lattice_of(s);
}

int lattice_round(void)
{
    return lattice_of(setting_of(PHYS_ROUND, PHYS_CONSTANT));
}

int lattice_gauss(void)
{
    return lattice_of(setting_of(PHYS_GAUSS, PHYS_CONSTANT));
}

/* ---- tricubic ---- */
static void check_tricubic(struct tally *tally, struct setting *s)
{
    const struct phys_f r = phys_f_tricubic(0, &s->box, phys_load(s->at), nearest_of(s));
    const double slope[3] = {r.dh, r.dk, r.dl};

    check_slopes(tally, s, slope, factor_function, factor_own);
}

/* a point of the table where interpolation fits; whole: numbers to the full */
static void place_inside(struct setting *s, int whole, uint64_t *state)
{
    static const int first[] = {FIRST_H, FIRST_K, FIRST_L};
    static const int side[] = {SIDE_H, SIDE_K, SIDE_L};

    for (int axis = 0; axis < 3; axis++) {
        s->at[axis] = first[axis] + 2 + (side[axis] - 5) * random_number(state);
        if (whole) s->at[axis] = round(s->at[axis]);
    }
}

int tricubic_inside(void)
{
    struct setting s = setting_of(PHYS_SQUARE, PHYS_TRICUBIC);
    struct tally tally = {0};
    uint64_t state = 23;

    for (int i = 0; i < 200; i++) {
        place_inside(&s, 0, &state);
        check_tricubic(&tally, &s);
    }
    return tally_finish(&tally);
}

/* where the cell of the table changes the slope is that of the cell above */
int tricubic_at_integers(void)
{
    struct setting s = setting_of(PHYS_SQUARE, PHYS_TRICUBIC);
    struct tally tally = {0};
    uint64_t state = 29;

    for (int i = 0; i < 100; i++) {
        place_inside(&s, 1, &state);
        if (s.at[0] > FIRST_H + SIDE_H - 4 || s.at[1] > FIRST_K + SIDE_K - 4
            || s.at[2] > FIRST_L + SIDE_L - 4)
            continue; /* the last whole number belongs to the cell below */
        check_tricubic(&tally, &s);
    }
    return tally_finish(&tally);
}

/* beyond the table F is constant about every reflection */
int tricubic_outside(void)
{
    struct setting s = setting_of(PHYS_SQUARE, PHYS_TRICUBIC);
    uint64_t state = 31;
    int tested = 0, sloping = 0, wrong = 0;

    for (int i = 4; i < 2000; i += 5) {
        struct phys_f r;

        place(&s, i, &state);
        if (fits(&s)) continue;
        r = phys_f_tricubic(0, &s.box, phys_load(s.at), nearest_of(&s));
        tested++;
        sloping += r.dh != 0 || r.dk != 0 || r.dl != 0;
        wrong += r.f != s.box.f[phys_f_place(0, &s.box, nearest_of(&s))];
    }
    tap_check(tested > 100, "%d points lie outside", tested);
    tap_check(sloping == 0, "%d of them have a slope", sloping);
    tap_check(wrong == 0, "%d of them have not got the F of the nearest", wrong);
    return TAP_PASS;
}

/* ---- step ---- */
static int step_of(int shape, int lookup)
{
    struct setting s = setting_of(shape, lookup);
    struct tally tally = {0};
    uint64_t state = 37;

    for (int i = 0; i < 150; i++) {
        struct phys_sample r;

        place(&s, i, &state);
        /* the last whole number that fits belongs to the cell below */
        if (lookup == PHYS_TRICUBIC && fits(&s)
            && (s.at[0] == FIRST_H + SIDE_H - 3 || s.at[1] == FIRST_K + SIDE_K - 3
                || s.at[2] == FIRST_L + SIDE_L - 3))
            continue;
        r = phys_step(s.spec, &s.crystal, &s.box, &s.anchor, phys_load(s.at));
        check_slopes(&tally, &s, (const double[3]){r.dh, r.dk, r.dl}, step_function,
                     step_own);
    }
    return tally_finish(&tally);
}

int step_square_constant(void)
{
    return step_of(PHYS_SQUARE, PHYS_CONSTANT);
}

int step_square_nearest(void)
{
    return step_of(PHYS_SQUARE, PHYS_NEAREST);
}

int step_square_tricubic(void)
{
    return step_of(PHYS_SQUARE, PHYS_TRICUBIC);
}

int step_round_constant(void)
{
    return step_of(PHYS_ROUND, PHYS_CONSTANT);
}

int step_round_nearest(void)
{
    return step_of(PHYS_ROUND, PHYS_NEAREST);
}

int step_round_tricubic(void)
{
    return step_of(PHYS_ROUND, PHYS_TRICUBIC);
}

int step_gauss_constant(void)
{
    return step_of(PHYS_GAUSS, PHYS_CONSTANT);
}

int step_gauss_nearest(void)
{
    return step_of(PHYS_GAUSS, PHYS_NEAREST);
}

int step_gauss_tricubic(void)
{
    return step_of(PHYS_GAUSS, PHYS_TRICUBIC);
}

int step_tophat_tricubic(void)
{
    return step_of(PHYS_TOPHAT, PHYS_TRICUBIC);
}

/* without interpolation a tophat is flat */
int step_tophat_flat(void)
{
    for (int lookup = PHYS_CONSTANT; lookup <= PHYS_NEAREST; lookup++) {
        struct setting s = setting_of(PHYS_TOPHAT, lookup);
        uint64_t state = 41;
        int bright = 0, sloping = 0;

        for (int i = 0; i < 400; i++) {
            struct phys_sample r;

            place(&s, i, &state);
            r = phys_step(s.spec, &s.crystal, &s.box, &s.anchor, phys_load(s.at));
            bright += r.f2 > 0;
            sloping += r.dh != 0 || r.dk != 0 || r.dl != 0;
        }
        tap_check(bright > 5 && bright < 395, "look-up %d: %d of 400 points are lit",
                  lookup, bright);
        tap_check(sloping == 0, "look-up %d: %d points have a slope", lookup, sloping);
    }
    return TAP_PASS;
}

/* through the axes of a triclinic crystal: dI/dq = dI/dh a + dI/dk b + dI/dl c */
int step_along_q(void)
{
    static const double rows[9] = {31, 4, -2, -7, 36, 5, 3, -9, 42};
    struct tally tally = {0};
    uint64_t state = 43;

    for (int shape = PHYS_SQUARE; shape <= PHYS_GAUSS; shape++) {
        struct setting s = setting_of(shape, PHYS_CONSTANT);

        s.anchor = phys_anchor_none(rows);
        for (int i = 0; i < 60; i++) {
            struct phys_sample r;
            double room_left = 0.5;
            struct phys_vec3 x;

            for (int k = 0; k < 3; k++) s.at[k] = 0.2 * (random_number(&state) - 0.5);
            x = phys_miller(s.anchor.axes, phys_load(s.at));
            for (int k = 0; k < 3; k++) {
                const double h = component(x, k);

                room_left = fmin(room_left, 0.5 - fabs(h - phys_nearest(h)));
            }
            r = phys_step(s.spec, &s.crystal, &s.box, &s.anchor, phys_load(s.at));
            for (s.axis = 0; s.axis < 3; s.axis++) {
                const double slope = r.dh * component(s.anchor.axes.a, s.axis)
                                     + r.dk * component(s.anchor.axes.b, s.axis)
                                     + r.dl * component(s.anchor.axes.c, s.axis);
                const struct ladder ladder = {step_own,       &s, s.at[s.axis], 0.002,
                                              room_left / 50, 0};

                if (room_left > 0.02) tally_slope(&tally, "along q", &ladder, slope);
            }
        }
    }
    return tally_finish(&tally);
}
