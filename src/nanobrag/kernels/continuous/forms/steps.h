/*
 * steps.h - integrals of log I over the steps along phi or energy, and over the energies of
 * a line.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_STEPS_H
#define NB_KERNELS_CONTINUOUS_STEPS_H

#include <string.h>

#include "kernels/continuous/forms/nodes.h"

enum { MIDDLE_STEP = NODE_STEPS / 2, MIDDLE_LINE = LINE_STEPS / 2 };

/* Returns the phi of node i in step j, radian; along energies it is the phi of the
 * still. */
FORM_FN double phi_of(const struct spot_nodes *n, int j, int i)
{
    if (n->along != ALONG_PHI) return n->z0;
    return n->at[i] + (j - MIDDLE_STEP) * n->step;
}

/* Returns the relative energy 1 + e of node i in form (j, m): step j, energy m of a
 * line. */
FORM_FN double energy_of(const struct spot_nodes *n, const struct node_values *v, int j,
                         int m, int i)
{
    if (n->along == ALONG_ENERGY) return v->middle_energy[i] * v->energy_ratio[j];
    if (v->lines == 1) return 1;
    return 1 + n->line_at[j][i] + (m - MIDDLE_LINE) * n->line_step;
}

/* Returns the index under which node_values holds the directions of step j. */
FORM_FN int seen_of(const struct spot_nodes *n, int j)
{
    return n->star ? j : 0;
}

/* Integrates I over the energies of a line in step j, by the gaussian through the three
 * forms about the middle energy e. The energies have the standard deviation `line`. */
FORM_FN void over_line(const struct spot_nodes *n, int j, struct node_values *v,
                       double *out)
{
    const double u = n->line_step, per = 1 / n->line, per2 = per * per;
    on_nodes *of_step = v->log + (size_t)LINE_STEPS * (size_t)j;
    const double *low = of_step[0], *mid = of_step[1], *high = of_step[2];

    for (int i = 0; i < NODES; i++) {
        const double e = n->line_at[j][i];
        const double h = per2 - (high[i] - 2 * mid[i] + low[i]) / (u * u);
        const double t = ((high[i] - low[i]) / (2 * u) - e * per2) / h;
        const double bend = 0.5 * (t * t + 1 / h) / (u * u);

        out[i] = mid[i] - 0.5 * e * e * per2 + 0.5 * h * t * t - 0.5 * log(h / per2);
        v->line_slope[j][0][i] = bend - t / (2 * u);
        v->line_slope[j][1][i] = 1 - 2 * bend;
        v->line_slope[j][2][i] = bend + t / (2 * u);
        v->by_line[j][i] = (((e + t) * (e + t) + 1 / h) * per2 - 1) * per;
    }
}

/* Finds the outputs, and their slopes by log I, from log I at the five steps. */
FORM_FN void over_steps(const struct spot_nodes *n, double (*f)[NODES],
                        struct node_values *v)
{
    const double u = 1 / n->step;
    const double first[] = {u / 12, -8 * u / 12, 0, 8 * u / 12, -u / 12};
    const double h_of[] = {u * u / 12, -16 * u * u / 12, 30 * u * u / 12, -16 * u * u / 12,
                           u * u / 12};
    const double third[] = {-u * u * u / 2, u * u * u, 0, -u * u * u, u * u * u / 2};
    const double u4 = u * u * u * u, fourth[] = {u4, -4 * u4, 6 * u4, -4 * u4, u4};

    for (int i = 0; i < NODES; i++) {
        double l1 = 0, h = 0, l3 = 0, l4 = 0, t;

        for (int j = 0; j < NODE_STEPS; j++) {
            l1 += first[j] * f[j][i], h += h_of[j] * f[j][i];
            l3 += third[j] * f[j][i], l4 += fourth[j] * f[j][i];
        }
        t = l1 / h;
        v->output[NODE_L][i] = f[2][i] + 0.5 * l1 * t;
        v->output[NODE_M][i] = n->at[i] + t;
        v->output[NODE_H][i] = h;
        v->output[NODE_L3][i] = l3;
        v->output[NODE_L4][i] = l4;
        for (int j = 0; j < NODE_STEPS; j++) {
            v->output_slope[NODE_L][j][i] = (j == 2) + t * first[j] - 0.5 * t * t * h_of[j];
            v->output_slope[NODE_M][j][i] = (first[j] - t * h_of[j]) / h;
            v->output_slope[NODE_H][j][i] = h_of[j];
            v->output_slope[NODE_L3][j][i] = third[j];
            v->output_slope[NODE_L4][j][i] = fourth[j];
        }
    }
}

#endif
