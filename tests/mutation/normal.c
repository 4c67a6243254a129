/* normal.c - see normal.h. SPDX-License-Identifier: MIT */
#include "mutation/normal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* numbers of a normal matrix: matrix, diagonal, coupling, gradient */
enum { NUMBERS = 2 * MOST_PARAMS * MOST_PARAMS + 2 * MOST_PARAMS };

struct normal {
    nb_simulator *sim;
    int nslow, nfast;
    double weight[MOST_PIXELS], residual[MOST_PIXELS], observed[MOST_PIXELS];
    double right[2][NUMBERS], healthy[2][NUMBERS]; /* of nb_jtj() and of nb_loss() */
    double size[NUMBERS];
};

static int find(const struct normal *n, double out[2][NUMBERS])
{
    nb_array weight = nb_array_f64((double *)n->weight, n->nslow, n->nfast);
    nb_array residual = nb_array_f64((double *)n->residual, n->nslow, n->nfast);
    nb_array observed = nb_array_f64((double *)n->observed, n->nslow, n->nfast);
    const nb_target target = {.kind = NB_LOSS_GAUSS,
                              .observed = &observed,
                              .weight = &weight};
    const size_t dense = nb_simulator_ndense(n->sim), all = nb_simulator_nparam(n->sim);
    int found = 1;
    double value;

    memset(out, 0, 2 * sizeof *out);
    for (int i = 0; i < 2; i++) {
        double *matrix = out[i], *diagonal = matrix + dense * dense;
        double *coupling = diagonal + all, *gradient = coupling + dense * (all - dense);
        nb_normal to = {matrix, diagonal, coupling, gradient};

        found &= (i == 0 ? nb_jtj(n->sim, NULL, &weight, &residual, &to)
                         : nb_loss(n->sim, NULL, &target, &value, &to))
                 == NB_OK;
    }
    return found;
}

static void sum_up(struct normal *n, const double *a, const double *b, size_t to)
{
    double sum = 0;

    for (int p = 0; p < n->nslow * n->nfast; p++) {
        sum += n->weight[p] * a[p] * b[p];
        n->size[to] += n->weight[p] * fabs(a[p] * b[p]);
    }
    n->right[0][to] = n->right[1][to] = sum;
}

struct normal *normal_start(nb_simulator *sim, int nslow, int nfast, const double *image,
                            double tangent[][MOST_PIXELS])
{
    const size_t dense = nb_simulator_ndense(sim), all = nb_simulator_nparam(sim);
    struct normal *n = calloc(1, sizeof *n);
    double peak = 0;
    size_t to = 0;

    if (!n) return NULL;
    n->sim = sim;
    n->nslow = nslow;
    n->nfast = nfast;
    for (int p = 0; p < nslow * nfast; p++) peak = fmax(peak, image[p]);
    for (int p = 0; p < nslow * nfast; p++) {
        n->weight[p] = 1 + 0.5 * sin(1 + 2.3 * p);
        n->residual[p] = peak * sin(2 + 1.7 * p);
        n->observed[p] = image[p] - n->residual[p];
    }
    for (size_t i = 0; i < dense; i++)
        for (size_t k = 0; k < dense; k++) sum_up(n, tangent[i], tangent[k], to++);
    for (size_t i = 0; i < all; i++) sum_up(n, tangent[i], tangent[i], to++);
    for (size_t i = 0; i < dense; i++)
        for (size_t k = dense; k < all; k++) sum_up(n, tangent[i], tangent[k], to++);
    for (size_t i = 0; i < all; i++) sum_up(n, tangent[i], n->residual, to++);
    return find(n, n->healthy) ? n : NULL;
}

static double differ(const struct normal *n, const double right[2][NUMBERS])
{
    static double now[2][NUMBERS];
    double most = 0;

    if (!find(n, now)) return HUGE_VAL;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < NUMBERS; k++) {
            const double off = fabs(now[i][k] - right[i][k]);

            if (isnan(off)) return HUGE_VAL;
            if (off > most * n->size[k] && n->size[k] > 0) most = off / n->size[k];
        }
    return most;
}

double normal_off(const struct normal *normal)
{
    return differ(normal, normal->right);
}

double normal_change(const struct normal *normal)
{
    return differ(normal, normal->healthy);
}
