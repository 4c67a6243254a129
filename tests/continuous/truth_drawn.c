/* truth_drawn.c - see truth.h. SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "continuous/truth_view.h"

void truth_add(const struct truth *t, const struct truth_sample *sample, size_t n,
               const int *place, double *photons)
{
    struct truth_view v = truth_view_of(t, sample->phi, truth_source(t, sample->source));
    const double spacing = 1 + t->sd[TRUTH_SPACING] * sample->z[TRUTH_SPACING];
    const int samples = t->oversample * t->oversample;

    for (size_t i = 0; i < n * (size_t)samples; i++) {
        double q[3], h[3], r[3], square;

        truth_view_pixel(&v, place + 2 * (i / (size_t)samples), (int)(i % (size_t)samples));
        if (v.steady)
            memcpy(q, v.q, sizeof q);
        else
            truth_scattering(&v, sample->z, q);
        square = t->b_factor * truth_dot(q, q);
        truth_domain(t, sample->z, q, q);
        truth_apply(&v.axes, q, h);
        for (int k = 0; k < 3; k++) h[k] -= spacing * ceil(h[k] / spacing - 0.5);
        truth_apply(&t->shape, h, r);
        square += BLOCK * truth_dot(r, r);
        if (square < 80)
            photons[i / (size_t)samples] +=
                sample->weight * truth_brightness(t, place + 2 * (i / (size_t)samples))
                * exp(-square / 2);
    }
}

/* xorshift64* (Vigna, ACM Trans. Math. Softw. 42, 2016) */
static double uniform(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return ((double)(*state * 2685821657736338717ULL >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
    const double radius = sqrt(-2 * log(uniform(state)));

    return radius * cos(2 * M_PI * uniform(state));
}

/* Whether any reflection shines into the window: rho in the middle of the first and the
 * last pixel is within the reach of the block and half their distance. */
static int shines(const struct truth *t, const struct truth_sample *sample, size_t n,
                  const int *place)
{
    struct truth_view v = truth_view_of(t, sample->phi, truth_source(t, sample->source));
    double first[3], last[3], h[3], r[3];

    truth_view_pixel(&v, place, 0);
    truth_scattering(&v, sample->z, first);
    truth_view_pixel(&v, place + 2 * (n - 1), 0);
    truth_scattering(&v, sample->z, last);
    for (int i = 0; i < 3; i++) {
        const double half = (last[i] - first[i]) / 2;

        first[i] += half;
        last[i] = half;
    }
    truth_domain(t, sample->z, first, first);
    truth_apply(&v.axes, first, h);
    for (int k = 0; k < 3; k++) h[k] -= ceil(h[k] - 0.5);
    truth_apply(&t->shape, h, r);
    return sqrt(BLOCK * truth_dot(r, r))
           < 9 + 1.2 * truth_norm(&v.lattice) * sqrt(truth_dot(last, last));
}

void truth_drawn(const struct truth *t, size_t domains, int steps, int parts, size_t n,
                 const int *place, double *photons)
{
    const double all = truth_weights(t), weight = (double)parts / (double)domains / steps;
    uint64_t state = 0x9e3779b97f4a7c15ULL;

    memset(photons, 0, n * (size_t)parts * sizeof *photons);
    for (size_t i = 0; i < domains; i++) {
        struct truth_sample sample = {.weight = weight};
        const double wider = uniform(&state) < t->tail ? t->tail_width : 1;

        for (int k = 0; k < TRUTH_NORMALS; k++)
            sample.z[k] = normal(&state) * (k < 3 ? wider : 1);
        for (int j = 0; j < steps; j++) {
            double at = uniform(&state) * all;

            for (sample.source = 0; sample.source + 1 < t->nsource; sample.source++)
                if ((at -= truth_source(t, sample.source)->weight) < 0) break;
            for (int k = TRUTH_LINE; k < TRUTH_NORMALS; k++) sample.z[k] = normal(&state);
            sample.phi = t->phi0 + t->osc * (j + uniform(&state)) / steps;
            if (shines(t, &sample, n, place))
                truth_add(t, &sample, n, place, photons + n * (i % (size_t)parts));
        }
    }
}
