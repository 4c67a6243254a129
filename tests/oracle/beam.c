/* beam.c - the sources of the beam: docs/theory.md, 10. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "oracle/truth.h"

/* place i of n, about the middle; a step that is not range/(n - 1) keeps its share of the
 * range */
static struct dual grid(struct dual range, double step, int i, int n)
{
    const quad middle = (quad)(n - 1) / 2;

    if (n == 1) return dual_of(0);
    return dual_times((i - middle) * (step > 0 ? step / range.v : (quad)1 / (n - 1)),
                      range);
}

/* whether a place belongs to a round beam; h, v and their ranges in any one unit */
static int is_inside(const struct truth *t, const quad at[2])
{
    quad q = 0;

    if (t->scene.beam.square_divergence) return 1;
    for (int i = 0; i < 2; i++) {
        const quad range = t->scene.beam.divergence[i];
        const int n = t->scene.beam.ndivergence[i];
        quad step = t->scene.beam.divergence_step[i];

        if (!(range > 0) || n < 2) return 1;
        if (!(step > 0)) step = range / (n - 1);
        q += (at[i] * at[i] - (n % 2 ? 0 : step * step / 4)) / (range * range);
    }
    return 4 * q <= (quad)1.1;
}

static void generated(struct truth *t)
{
    const nb_beam *b = &t->scene.beam;
    const struct dual_vec forward = truth_vector(t, TRUTH_BEAM);
    const struct dual_vec axis = truth_vector(t, TRUTH_POLARIZATION);
    const struct dual_vec vertical = vec_unit(vec_cross(forward, axis));
    const int n[2] = {b->ndivergence[0] > 1 ? b->ndivergence[0] : 1,
                      b->ndivergence[1] > 1 ? b->ndivergence[1] : 1};
    const int ncolours = b->ndispersion > 1 ? b->ndispersion : 1;
    int made = 0;

    for (int i = 0; i < n[0] * n[1]; i++) {
        const struct dual h =
            grid(t->x.divergence[0], b->divergence_step[0], i / n[1], n[0]);
        const struct dual v =
            grid(t->x.divergence[1], b->divergence_step[1], i % n[1], n[1]);
        const quad at[2] = {h.v, v.v};
        struct dual_vec direction;

        if (!is_inside(t, at)) continue;
        direction = vec_rotate(axis, dual_times((quad)1 / 1000, v), forward);
        direction = vec_rotate(vertical, dual_times((quad)1 / 1000, h), direction);
        for (int k = 0; k < ncolours && made < t->nsource; k++) {
            struct truth_source *source = t->source + made++;
            const struct dual x = grid(t->x.dispersion, 0, k, ncolours);

            source->direction = direction;
            source->wavelength = dual_mul(t->x.wavelength, dual_add(dual_of(1), x));
            source->weight = dual_of((quad)1 / t->nsource);
        }
    }
    if (made != t->nsource) abort();
}

/* a number of source i */
static struct dual number(const struct truth *t, const char *name, int i, double value)
{
    char full[40];

    (void)snprintf(full, sizeof full, "%s[%d]", name, i);
    return truth_listed(t, full, value);
}

static void listed(struct truth *t)
{
    static const char *const axis[] = {"source_x", "source_y", "source_z"};
    struct dual sum = dual_of(0);

    for (int i = 0; i < t->nsource; i++) {
        const nb_source *from = t->scene.beam.source + i;
        struct truth_source *to = t->source + i;

        for (int k = 0; k < 3; k++)
            to->direction.at[k] = number(t, axis[k], i, from->direction[k]);
        to->direction = vec_unit(to->direction);
        to->wavelength = number(t, "source_wavelength", i, from->wavelength);
        to->weight = number(t, "source_weight", i, from->weight);
        sum = dual_add(sum, to->weight);
    }
    for (int i = 0; i < t->nsource; i++)
        t->source[i].weight = dual_div(t->source[i].weight, sum);
}

void truth_beam(struct truth *t)
{
    const struct dual_vec axis = truth_vector(t, TRUTH_POLARIZATION);

    t->nsource = t->counts.nsource;
    t->source = calloc((size_t)t->nsource, sizeof *t->source);
    if (!t->source) abort();
    if (t->scene.beam.nsource > 0)
        listed(t);
    else
        generated(t);
    for (int i = 0; i < t->nsource; i++) {
        struct truth_source *source = t->source + i;

        source->magnetic = vec_unit(vec_cross(axis, source->direction));
        source->electric = vec_unit(vec_cross(source->direction, source->magnetic));
    }
}
