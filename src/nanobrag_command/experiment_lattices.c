/*
 * experiment_lattices.c - crystals of -expt that share an image become lattices of the
 * scene: messages about them, and their cells and orientations at an angle of the scan.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_command/command.h"

/* ---- messages ---- */

/* Returns the angle between two matrices of reciprocal axes (columns), degree. With real
 * axes a_k of the first and reciprocal axes b_k of the second, the rotation is the sum of
 * b_k a_k^T. */
static double turn_between(const double from[3][3], const double to[3][3])
{
    double real[3], volume = 0, twice[3] = {0}, trace = 0;
    for (int k = 0; k < 3; k++) {
        const int p = (k + 1) % 3, q = (k + 2) % 3;
        for (int i = 0; i < 3; i++) {
            const double *const u = from[(i + 1) % 3], *const v = from[(i + 2) % 3];
            real[i] = u[p] * v[q] - v[p] * u[q]; /* times the cell's volume */
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

/* Turn a vector about x, then y, then z, by the angles misset, degree. */
static void turn_by_misset(const double misset[3], double v[3])
{
    for (int k = 0; k < 3; k++) {
        const double angle = misset[k] * acos(-1) / 180;
        const int p = (k + 1) % 3, q = (k + 2) % 3;
        const double u = v[p];
        v[p] = cos(angle) * u - sin(angle) * v[q];
        v[q] = sin(angle) * u + cos(angle) * v[q];
    }
}

/* Turn a vector by the rotation vector r, degree. */
static void turn_about(const double r[3], double v[3])
{
    const double length = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
    const double angle = length * acos(-1) / 180, from[3] = {v[0], v[1], v[2]};
    if (length == 0) return;
    const double along = (r[0] * v[0] + r[1] * v[1] + r[2] * v[2]) / (length * length);
    for (int i = 0; i < 3; i++) {
        const int p = (i + 1) % 3, q = (i + 2) % 3;
        v[i] = cos(angle) * from[i] + (1 - cos(angle)) * along * r[i]
               + sin(angle) / length * (r[p] * from[q] - r[q] * from[p]);
    }
}

/* Turns a matrix of axes by misset, then by rotation. A matrix of nine zeros stands for the
 * unit matrix. */
static void turned(const double matrix[9], const double misset[3], const double rotation[3],
                   double out[3][3])
{
    int given = 0;
    for (int i = 0; i < 9; i++) given |= matrix[i] != 0;
    for (int k = 0; k < 3; k++) {
        double v[3];
        for (int i = 0; i < 3; i++) v[i] = given ? matrix[3 * i + k] : i == k;
        turn_by_misset(misset, v);
        turn_about(rotation, v);
        for (int i = 0; i < 3; i++) out[i][k] = v[i];
    }
}

double lattices_angle(const nb_crystal *crystal, int i)
{
    const nb_lattice *const l = crystal->lattice + i;
    double from[3][3], to[3][3];
    int given = 0;
    for (int k = 0; k < 9; k++) given |= l->matrix[k] != 0;
    turned(crystal->matrix, crystal->misset, crystal->rotation, from);
    turned(given ? l->matrix : crystal->matrix, l->misset, l->rotation, to);
    return turn_between((const double(*)[3])from, (const double(*)[3])to);
}

void lattices_say(const struct settings *s, struct messages *messages,
                  const nb_experiment *from, int is_data)
{
    const nb_crystal *const crystal = &from->scene.crystal;
    const int n = crystal->nlattice;
    const char *become = "they become lattices, and -nolattices takes one crystal alone";
    double most = 0;
    if (s->nlattice > 0) become = "-lattice replaces all but the first";
    if (s->matrix) become = "-mat replaces them";
    for (int i = 0; i < n; i++)
        most = fmax(most, turn_between((const double(*)[3])crystal->matrix,
                                       (const double(*)[3])crystal->lattice[i].matrix));
    if (n > 0)
        message_note(messages,
                     "%s: %d of the %d experiments are crystals in one image, up to %.3g "
                     "degrees apart; %s",
                     s->expt, n + 1, from->count, most, become);
    if (n > 0 && s->scene.crystal.lattice == from->lattice && s->given[OPT_MISSET])
        message_note(messages, "-misset turns the first of these crystals only; -param "
                               "'lattice_misset_x[0]=...' turns a further one");
    if (!is_data && from->count > n + 1 && s->expt && !strchr(s->expt, ':'))
        message_note(messages, "%s: the first of %d experiments is taken (:0)", s->expt,
                     from->count);
}

/* ---- lattices during the scan ---- */

int lattices_begin(struct command *command)
{
    const nb_scene *const scene = &command->s->scene;
    nb_experiment *const from = &command->inputs.experiment;
    const int n = scene->crystal.nlattice;
    int cells = 0;
    if (n == 0 || scene->crystal.lattice != from->lattice) return 0;
    nb_scan_points_set_lattices(from->points, scene->scan.phi0 + scene->scan.osc / 2, n,
                                from->lattice);
    for (int i = 0; i < n && command->s->given[OPT_CELL]; i++)
        memset(from->lattice[i].cell, 0, sizeof from->lattice[i].cell);
    /* each image of a fit has a scene of its own, whose lattices lattices_at() sets */
    if (!strstr(command->changing, "matrix") || fit_asked(command->s)) return 0;
    free(command->lattices);
    command->lattices = malloc((size_t)n * sizeof *command->lattices);
    if (!command->lattices)
        return message_failure(command->messages, "out of memory for the lattices");
    for (int i = 0; i < n; i++) cells |= from->lattice[i].cell[0] != 0;
    const size_t end = strlen(command->changing);
    (void)snprintf(command->changing + end, sizeof command->changing - end,
                   ",lattice_rotation%s", cells ? ",lattice_cell" : "");
    return 0;
}

/* Finds three perpendicular unit vectors, right-handed, from reciprocal axes (columns): the
 * first along a*, the third perpendicular to a* and b*. */
static void axes_of(const double star[3][3], double e[3][3])
{
    double length[2] = {0};
    for (int i = 0; i < 3; i++) e[0][i] = star[i][0];
    for (int i = 0; i < 3; i++) {
        const int u = (i + 1) % 3, v = (i + 2) % 3;
        e[2][i] = e[0][u] * star[v][1] - e[0][v] * star[u][1];
        length[0] += e[0][i] * e[0][i];
    }
    for (int i = 0; i < 3; i++) length[1] += e[2][i] * e[2][i];
    for (int i = 0; i < 3; i++) e[0][i] /= sqrt(length[0]), e[2][i] /= sqrt(length[1]);
    for (int i = 0; i < 3; i++) {
        const int u = (i + 1) % 3, v = (i + 2) % 3;
        e[1][i] = e[2][u] * e[0][v] - e[2][v] * e[0][u];
    }
}

/* Finds the rotation vector that turns one orientation into the other, degree. */
static void rotation_between(const double from[3][3], const double to[3][3], double out[3])
{
    double before[3][3], after[3][3], twice[3] = {0}, trace = 0;
    axes_of(from, before);
    axes_of(to, after);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) {
            const int u = (i + 1) % 3, v = (i + 2) % 3;
            twice[i] += before[k][u] * after[k][v] - before[k][v] * after[k][u];
            trace += before[k][i] * after[k][i];
        }
    const double sine =
        sqrt(twice[0] * twice[0] + twice[1] * twice[1] + twice[2] * twice[2]);
    const double angle = atan2(sine, trace - 1) * 180 / acos(-1);
    for (int i = 0; i < 3; i++) out[i] = sine > 0 ? twice[i] / sine * angle : 0;
}

/* Returns the index in x of a parameter of lattice i, or params.n if it is no free
 * parameter. */
static size_t place_of(const struct command *command, const char *group, const char *which,
                       int i)
{
    char name[48];
    size_t place = 0;
    (void)snprintf(name, sizeof name, "%s_%s[%d]", group, which, i);
    while (place < command->params.n && strcmp(command->params.at[place].name, name) != 0)
        place++;
    return place;
}

/* Set n numbers of lattice i in x, except parameters that -param sets. */
static void set_numbers(const struct command *command, const char *group, int i,
                        const double *from, int n, double *x)
{
    static const char *const axes[] = {"x", "y", "z"};
    static const char *const cell[] = {"a", "b", "c", "alpha", "beta", "gamma"};
    for (int k = 0; k < n; k++) {
        const size_t place = place_of(command, group, n == 3 ? axes[k] : cell[k], i);
        if (place < command->params.n && !command->params.set[place]) x[place] = from[k];
    }
}

void lattices_in_x(const struct command *command, double phi, double *x)
{
    const nb_scene *const scene = &command->s->scene;
    const nb_lattice *const first = scene->crystal.lattice;
    const int n = scene->crystal.nlattice;
    if (!command->lattices) return;
    memcpy(command->lattices, first, (size_t)n * sizeof *first);
    nb_scan_points_set_lattices(command->inputs.experiment.points,
                                phi + scene->scan.osc / 2, n, command->lattices);
    for (int i = 0; i < n; i++) {
        static const char *const axes[] = {"x", "y", "z"};
        double turn[3], misset[3];
        rotation_between((const double(*)[3])first[i].matrix,
                         (const double(*)[3])command->lattices[i].matrix, turn);
        for (int k = 0; k < 3; k++) {
            const size_t place = place_of(command, "lattice_misset", axes[k], i);
            misset[k] = place < command->params.n ? x[place] : 0;
        }
        /* lattice_rotation is applied after misset, but `turn` before it: so the misset
         * has to turn the vector `turn` */
        turn_by_misset(misset, turn);
        set_numbers(command, "lattice_rotation", i, turn, 3, x);
        if (first[i].cell[0] != 0)
            set_numbers(command, "lattice_cell", i, command->lattices[i].cell, 6, x);
    }
}

nb_lattice *lattices_at(const struct command *command, const nb_experiment *from,
                        double phi, nb_scene *scene)
{
    const size_t n = (size_t)scene->crystal.nlattice;
    nb_lattice *const list = malloc((n + 1) * sizeof *list);
    if (!list || n == 0) return list;
    memcpy(list, scene->crystal.lattice, n * sizeof *list);
    const nb_lattice *const origin = from == &command->inputs.experiment
                                         ? command->s->scene.crystal.lattice
                                         : scene->crystal.lattice;
    const int is_of_file = origin == from->lattice;
    if (is_of_file)
        nb_scan_points_set_lattices(from->points, phi + scene->scan.osc / 2, (int)n, list);
    for (size_t i = 0; is_of_file && i < n && command->s->given[OPT_CELL]; i++)
        memset(list[i].cell, 0, sizeof list[i].cell);
    scene->crystal.lattice = list;
    return list;
}

void lattices_warn(const struct command *command, nb_simulator *sim, const double *x)
{
    nb_scene scene;
    int differ = 0;
    if (nb_simulator_resolved(sim, x, &scene) != NB_OK) return;
    for (int i = 0; i < scene.crystal.nlattice; i++)
        differ |= scene.crystal.lattice[i].scale != 1;
    if (differ)
        message_note(command->messages,
                     "%s does not state how bright each lattice is: .expt has no place for "
                     "it",
                     command->s->truth);
}
