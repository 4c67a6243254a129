/*
 * sample_factors.c - derivatives of the factors of a sample (solid angle, captured
 * fraction, polarization), and of the lattice factor with respect to the crystal.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "gradients/gradients.h"
#include "physics/lattice.h"
#include "physics/pixel_position.h"
#include "physics/polarization.h"
#include "support/closed_forms.h"

/* a vector of numbers, one of which moves along a ladder */
enum { MOST = 16 };

struct numbers {
    double at[MOST];
    int moving, kind;
    double size; /* of what is rounded; 0: the function's own */
};

static long double number(const struct numbers *n, int i, double x)
{
    return i == n->moving ? x : n->at[i];
}

static double random_between(double low, double high, uint64_t *state)
{
    return low + (high - low) * random_number(state);
}

/* slope i of a function of n numbers, over a tenth of each number's own size or `length` */
static void check(struct tally *tally, const char *what, ladder_function *truth,
                  struct numbers *n, int i, double length, double slope)
{
    struct ladder ladder = {truth, n, n->at[i], length, 0, n->size};

    n->moving = i;
    tally_slope(tally, what, &ladder, slope);
}

/* ---- solid angle: r, close distance, area ---- */
static long double omega_truth(const void *context, double x)
{
    const struct numbers *n = context;
    const long double r = number(n, 0, x), close = number(n, 1, x), area = number(n, 2, x);

    return n->kind == 0 ? area * close / (r * r * r) : area / (r * r);
}

/* flat, curved, point pixel */
int factor_solid_angle(void)
{
    struct tally tally = {0};
    uint64_t state = 3;

    for (int i = 0; i < 60; i++) {
        struct numbers n = {.kind = i % 3};
        struct phys_detector det = {0};
        struct phys_point point = {{0, 0, 1}, 0};
        struct phys_omega_slopes s;

        n.at[0] = point.r = random_between(0.02, 2, &state);
        n.at[1] = det.close_distance = point.r * random_between(0.1, 1, &state);
        n.at[2] = det.area = random_between(1e-10, 1e-7, &state);
        det.surface = n.kind == 1 ? PHYS_CURVED : PHYS_FLAT;
        det.point_pixel = n.kind == 2;
        s = phys_solid_angle_scaled(&det, point.r, phys_solid_angle(&det, point));
        check(&tally, "solid angle in r", omega_truth, &n, 0, point.r / 4, s.dr);
        if (n.kind == 0)
            check(&tally, "in the close distance", omega_truth, &n, 1, det.close_distance,
                  s.dclose);
        else
            tap_check(s.dclose == 0, "the close distance does not count: %g", s.dclose);
        check(&tally, "in the area", omega_truth, &n, 2, det.area, s.darea);
    }
    return tally_finish(&tally);
}

/* ---- capture: cosine, absorption, layer ---- */
static long double capture_truth(const void *context, double x)
{
    const struct numbers *n = context;
    const long double path = number(n, 1, x) / number(n, 0, x), t = n->at[2];

    return expl(-t * path) - expl(-(t + 1) * path);
}

int factor_capture(void)
{
    struct tally tally = {0};
    uint64_t state = 4;

    for (int i = 0; i < 80; i++) {
        struct numbers n = {.kind = 0};
        struct phys_detector det = {0};
        struct phys_point point;
        struct phys_capture_slopes s;
        double cosine;

        cosine = n.at[0] = random_between(0.1, 1, &state);
        n.at[1] = det.layer_mu = pow(10, random_between(-4, 0.5, &state));
        n.at[2] = i % 7;
        det.normal = phys_vec3(0, 0, 1);
        point.d = phys_vec3(sqrt(1 - cosine * cosine), 0, cosine);
        point.r = 1;
        s = phys_capture_slopes(&det, point, n.at[2]);
        check(&tally, "capture in the cosine", capture_truth, &n, 0,
              cosine / (2 + n.at[2] * det.layer_mu / cosine), s.dcosine);
        check(&tally, "in the absorption", capture_truth, &n, 1,
              fmin(det.layer_mu, cosine / (1 + n.at[2])), s.dmu);
        det.surface = PHYS_CURVED;
        tap_check(phys_capture_slopes(&det, point, n.at[2]).dcosine == 0,
                  "a curved detector has one cosine, layer %g", n.at[2]);
    }
    return tally_finish(&tally);
}

/* ---- polarization: K, incident, e, b, d ---- */
static long double dot_of(const struct numbers *n, int a, int b, double x)
{
    long double sum = 0;

    for (int i = 0; i < 3; i++) sum += number(n, a + i, x) * number(n, b + i, x);
    return sum;
}

static long double polarization_truth(const void *context, double x)
{
    const struct numbers *n = context;
    const long double c = dot_of(n, 1, 10, x), along = dot_of(n, 4, 10, x),
                      across = dot_of(n, 7, 10, x);

    return (1 + c * c - number(n, 0, x) * (along * along - across * across)) / 2;
}

static struct phys_vec3 vector_at(const struct numbers *n, int i)
{
    return phys_load(n->at + i);
}

int factor_polarization(void)
{
    struct tally tally = {0};
    uint64_t state = 5;

    for (int i = 0; i < 40; i++) {
        struct numbers n = {.kind = 0};
        struct phys_polarization_slopes s;
        double slopes[13];

        /* any vectors will do: that they are at right angles is not used */
        for (int k = 0; k < 13; k++) n.at[k] = random_between(-1, 1, &state);
        s = phys_polarization_slopes(n.at[0], vector_at(&n, 1), vector_at(&n, 4),
                                     vector_at(&n, 7), vector_at(&n, 10));
        slopes[0] = s.dkahn;
        slopes[1] = s.dincident.x, slopes[2] = s.dincident.y, slopes[3] = s.dincident.z;
        slopes[4] = s.de.x, slopes[5] = s.de.y, slopes[6] = s.de.z;
        slopes[7] = s.db.x, slopes[8] = s.db.y, slopes[9] = s.db.z;
        slopes[10] = s.dd.x, slopes[11] = s.dd.y, slopes[12] = s.dd.z;
        for (int k = 0; k < 13; k++)
            check(&tally, "polarization", polarization_truth, &n, k, 0.5, slopes[k]);
    }
    return tally_finish(&tally);
}

/* ---- the crystal: cells, or peak, fudge and metric; at a distance d ---- */
enum { CELLS = 0, PEAK = 3, FUDGE = 4, METRIC = 5, DISTANCE = 11 };

static long double crystal_truth(const void *context, double x)
{
    const struct numbers *n = context;
    const double *d = n->at + DISTANCE;
    long double rho2 = 0, u;

    if (n->kind == PHYS_SQUARE)
        return closed_slit(d[0], number(n, CELLS, x)).f
               * closed_slit(d[1], number(n, CELLS + 1, x)).f
               * closed_slit(d[2], number(n, CELLS + 2, x)).f;
    for (int i = 0; i < 3; i++)
        rho2 += number(n, METRIC + i, x) * d[i] * d[i]
                + number(n, METRIC + 3 + i, x) * d[i == 2 ? 1 : 0] * d[i == 0 ? 1 : 2];
    u = number(n, FUDGE, x) * rho2;
    if (n->kind == PHYS_ROUND)
        return number(n, PEAK, x) * 0.723601254558268L * closed_sphere(u).f;
    return number(n, PEAK, x) * expl(-u / 0.63L);
}

static struct phys_crystal crystal_of(const struct numbers *n)
{
    struct phys_frame frame = {0};

    for (int i = 0; i < 3; i++) frame.ncells[i] = n->at[CELLS + i];
    frame.peak = n->at[PEAK];
    frame.fudge = n->at[FUDGE];
    for (int i = 0; i < 6; i++) frame.metric[i] = n->at[METRIC + i];
    return phys_crystal(&frame);
}

/* random crystals, and distances from nothing to half an index on each axis */
static struct numbers random_crystal(int shape, uint64_t *state)
{
    struct numbers n = {.kind = shape};

    for (int i = 0; i < 3; i++) {
        n.at[CELLS + i] = floor(random_between(1, 30, state));
        n.at[METRIC + i] = random_between(4, 100, state);
        n.at[METRIC + 3 + i] = random_between(-3, 3, state);
        n.at[DISTANCE + i] =
            random_between(-0.5, 0.5, state) * (random_number(state) < 0.3 ? 1e-3 : 0.5);
    }
    n.at[PEAK] = random_between(1, 1000, state);
    n.at[FUDGE] = random_between(0.2, 2, state);
    return n;
}

static int crystal_slopes(int shape)
{
    const struct phys_spec spec = {shape, PHYS_CONSTANT, 0, 0};
    struct tally tally = {0};
    uint64_t state = 6;

    for (int i = 0; i < 60; i++) {
        struct numbers n = random_crystal(shape, &state);
        const struct phys_crystal crystal = crystal_of(&n);
        const struct phys_vec3 d = vector_at(&n, DISTANCE);
        const struct phys_crystal_slopes s = phys_lattice_crystal(spec, &crystal, d);
        const double slopes[] = {s.dn.x, s.dn.y, s.dn.z, s.dpeak, s.dfudge, s.dhh,
                                 s.dkk,  s.dll,  s.dhk,  s.dhl,   s.dkl};
        const double sign = phys_parity(rint(n.at[0] * d.x))
                            * phys_parity(rint(n.at[1] * d.y))
                            * phys_parity(rint(n.at[2] * d.z));
        const int first = shape == PHYS_SQUARE ? CELLS : PEAK;
        const int end = shape == PHYS_SQUARE ? CELLS + 3 : METRIC + 6;

        for (int k = first; k < end; k++) {
            /* far out the sphere is a difference of numbers a hundred times as large */
            n.size = shape == PHYS_ROUND && k == PEAK ? 0.01 * n.at[PEAK] : 0;
            check(&tally, "lattice factor in the crystal", crystal_truth, &n, k,
                  k == PEAK ? n.at[PEAK] : 0.3,
                  shape == PHYS_SQUARE ? sign * slopes[k] : slopes[k]);
        }
    }
    return tally_finish(&tally);
}

int crystal_square(void)
{
    return crystal_slopes(PHYS_SQUARE);
}

int crystal_round(void)
{
    return crystal_slopes(PHYS_ROUND);
}

int crystal_gauss(void)
{
    return crystal_slopes(PHYS_GAUSS);
}
