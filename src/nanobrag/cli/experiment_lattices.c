/*
 * experiment_lattices.c - the crystals of -expt that share an image, as lattices of the
 * scene: what is said of them, and what they are at an angle of the scan.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run.h"

/* The angle by which one matrix of reciprocal axes is turned against another, degree. With
 * real axes a_k and reciprocal ones b_k, the turn is the sum of b_k a_k^T. */
static double turn_between(const double from[3][3], const double to[3][3])
{
    double real[3], volume = 0, twice[3] = {0}, trace = 0;
    for (int k = 0; k < 3; k++) {
        const int p = (k + 1) % 3, q = (k + 2) % 3;
        for (int i = 0; i < 3; i++) {
            const double *const u = from[(i + 1) % 3], *const v = from[(i + 2) % 3];
            real[i] = u[p] * v[q] - v[p] * u[q]; /* times the volume */
        }
        for (int i = 0; i < 3; i++) {
            const int u = (i + 1) % 3, v = (i + 2) % 3;
            trace += real[i] * to[i][k];
            twice[i] += real[u] * to[v][k] - real[v] * to[u][k];
            volume += real[i] * from[i][k] / 3;
        }
    }
    const double sine =
        sqrt(twice[0] * twice[0] + twice[1] * twice[1] + twice[2] * twice[2]);
    return atan2(sine / fabs(volume), trace / volume - 1) * 180 / acos(-1);
}

void lattices_say(const struct settings *s, struct messages *messages,
                  const nb_experiment *from)
{
    const nb_crystal *const crystal = &from->scene.crystal;
    const int n = crystal->nlattice;
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, turn_between((const double(*)[3])crystal->matrix,
                                       (const double(*)[3])crystal->lattice[i].matrix));
    if (n > 0)
        message_note(messages,
                     "%s: %d of its %d experiments are crystals of one image, up to %.3g "
                     "degree apart, and become its lattices; -nolattices takes the crystal "
                     "of one alone",
                     s->expt, n + 1, from->count, most);
    if (from->count > n + 1 && s->expt && !strchr(s->expt, ':'))
        message_note(messages, "%s: of its %d experiments the first is taken (:0)", s->expt,
                     from->count);
}

void lattices_begin(struct run *run)
{
    const nb_scene *const scene = &run->s->scene;
    nb_experiment *const from = &run->inputs.experiment;
    const int n = scene->crystal.nlattice;
    if (n == 0 || scene->crystal.lattice != from->lattice) return;
    nb_scan_points_set_lattices(from->points, scene->scan.phi0 + scene->scan.osc / 2, n,
                                from->lattice);
    for (int i = 0; i < n && run->s->given[OPT_CELL]; i++)
        memset(from->lattice[i].cell, 0, sizeof from->lattice[i].cell);
    if (strstr(run->changing, "matrix") && run->s->images > 1)
        message_warning(run->messages,
                        "%s: all images have its further lattices as they are in the first "
                        "one, while the first lattice changes during the scan",
                        run->s->expt);
}

nb_lattice *lattices_at(const struct run *run, double phi, nb_scene *scene)
{
    const size_t n = (size_t)scene->crystal.nlattice;
    nb_lattice *const list = malloc((n + 1) * sizeof *list);
    if (!list || n == 0) return list;
    memcpy(list, scene->crystal.lattice, n * sizeof *list);
    if (run->s->scene.crystal.lattice == run->inputs.experiment.lattice)
        nb_scan_points_set_lattices(run->inputs.experiment.points,
                                    phi + scene->scan.osc / 2, (int)n, list);
    for (size_t i = 0; i < n && run->s->given[OPT_CELL]; i++)
        memcpy(list[i].cell, scene->crystal.lattice[i].cell, sizeof list[i].cell);
    scene->crystal.lattice = list;
    return list;
}

void lattices_warn(const struct run *run, nb_simulator *sim, const double *x)
{
    nb_scene scene;
    int differ = 0;
    if (nb_resolved(sim, x, &scene) != NB_OK) return;
    for (int i = 0; i < scene.crystal.nlattice; i++)
        differ |= scene.crystal.lattice[i].scale != 1;
    if (differ)
        message_note(run->messages, "%s does not say how bright each lattice is",
                     run->s->truth);
}
