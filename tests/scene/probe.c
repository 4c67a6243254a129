/* probe.c - see probe.h. SPDX-License-Identifier: MIT */
#include "scene/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { FAST = 40, SLOW = 37, PIXELS = FAST * SLOW }; /* of the base scene */

static char lines[1 << 16];

static void keep(void *user, int level, const char *topic, const char *line)
{
    const size_t n = strlen(lines);

    (void)user;
    (void)snprintf(lines + n, sizeof lines - n, "%d %s: %s\n", level, topic, line);
}

const char *probe_log(void)
{
    return lines;
}

void probe_forget(void)
{
    lines[0] = 0;
}

static nb_context *shared;

static void free_shared(void)
{
    nb_context_free(shared);
}

nb_context *probe_context(void)
{
    nb_context_options options = {0};

    options.log = keep;
    if (shared) return shared;
    if (nb_context_create(NB_API_VERSION, &options, &shared) != NB_OK) abort();
    (void)atexit(free_shared);
    return shared;
}

static void must(nb_status status)
{
    if (status == NB_OK) return;
    tap_check(0, "%s: %s", nb_status_text(status), nb_context_message(probe_context()));
    exit(1);
}

nb_simulator *probe_make(const nb_scene *scene, const char *free_names)
{
    nb_simulator *sim;

    must(nb_simulator_create(probe_context(), scene, free_names, NULL, &sim));
    return sim;
}

nb_scene probe_gauss(int mosaic_model)
{
    nb_scene s = scenes_base();

    s.crystal.shape = NB_SHAPE_GAUSS;
    s.crystal.mosaic[0] = 0;
    s.crystal.mosaic_model = mosaic_model;
    s.crystal.ndomains = 0;
    s.crystal.mosaic_seed = 0;
    s.scan.phi0 = 30;
    s.scan.osc = 0;
    s.scan.nphi = 0;
    return s;
}

void probe_image(const nb_scene *scene, double *image)
{
    nb_simulator *sim = probe_make(scene, NULL);
    nb_scene resolved;
    nb_array array;

    must(nb_simulator_resolved(sim, NULL, &resolved));
    array = nb_array_f64(image, resolved.detector.nslow, resolved.detector.nfast);
    must(nb_forward(sim, NULL, &array));
    nb_simulator_free(sim);
}

nb_description probe_describe(const nb_scene *scene)
{
    nb_simulator *sim = probe_make(scene, NULL);
    nb_description d;

    must(nb_simulator_describe(sim, NULL, &d));
    nb_simulator_free(sim);
    return d;
}

/* for scenes without lists: their memory is the simulator's */
nb_scene probe_resolve(const nb_scene *scene)
{
    nb_simulator *sim = probe_make(scene, NULL);
    nb_scene resolved;

    must(nb_simulator_resolved(sim, NULL, &resolved));
    resolved.crystal.hkl = scene->crystal.hkl;
    resolved.beam.source = scene->beam.source;
    resolved.detector.mask = scene->detector.mask;
    resolved.background.stol = scene->background.stol;
    nb_simulator_free(sim);
    return resolved;
}

void probe_refused(const nb_scene *scene, nb_status expected, const char *part)
{
    nb_simulator *sim;
    const nb_status status = nb_simulator_create(probe_context(), scene, NULL, NULL, &sim);
    const char *message = nb_context_message(probe_context());

    tap_check(status == expected && !sim && strstr(message, part),
              "status %d expected %d, '%s' names '%s'", (int)status, (int)expected, message,
              part);
    nb_simulator_free(sim);
}

void probe_orientation(nb_simulator *sim, int phi, int domain, double axes[3][3])
{
    double rows[9];

    must(nb_simulator_orientation(sim, NULL, phi, domain, rows));
    memcpy(axes[0], rows, 3 * sizeof *rows);
    memcpy(axes[1], rows + 3, 3 * sizeof *rows);
    memcpy(axes[2], rows + 6, 3 * sizeof *rows);
}

double probe_peak(const double *image, size_t n)
{
    return worst_largest(image, n);
}

double probe_off(const double *a, const double *b, size_t n)
{
    struct worst worst = {0};

    worst_add_all(&worst, a, b, n, probe_peak(b, n));
    return worst.error;
}

double probe_dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void probe_cross(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;

        out[i] = a[j] * b[k] - a[k] * b[j];
    }
}

void probe_unit(const double *a, double *out)
{
    const double n = sqrt(probe_dot(a, a));

    for (int i = 0; i < 3; i++) out[i] = a[i] / n;
}

void probe_turn(const double *axis, double degree, const double *v, double *out)
{
    double q[3], t[3], u[3], from[3] = {v[0], v[1], v[2]};
    const double w = cos(degree * PROBE_RADIAN / 2), s = sin(degree * PROBE_RADIAN / 2);

    probe_unit(axis, q);
    for (int i = 0; i < 3; i++) q[i] *= s;
    probe_cross(q, from, t); /* v + 2 w (q x v) + 2 q x (q x v) */
    probe_cross(q, t, u);
    for (int i = 0; i < 3; i++) out[i] = from[i] + 2 * (w * t[i] + u[i]);
}

void probe_turn_xyz(const double *degree, const double *v, double *out)
{
    static const double axis[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

    for (int i = 0; i < 3; i++) probe_turn(axis[i], degree[i], i == 0 ? v : out, out);
}

void probe_dual(double u[3][3], double v[3][3])
{
    double volume;

    for (int i = 0; i < 3; i++) probe_cross(u[(i + 1) % 3], u[(i + 2) % 3], v[i]);
    volume = probe_dot(u[0], v[0]);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) v[i][j] /= volume;
}

void probe_forward(nb_simulator *sim, const double *x, double *image)
{
    nb_array array = nb_array_f64(image, SLOW, FAST);

    if (nb_forward(sim, x, &array) != NB_OK) {
        tap_check(0, "%s", nb_context_message(probe_context()));
        exit(1);
    }
}

double probe_uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* <bar, J dx> against <J^T bar, dx> at the scene's own values */
void probe_transposed(const char *what, nb_simulator *sim, const double *dx, double allowed)
{
    static double change[PIXELS], bar[PIXELS];
    nb_array change_array = nb_array_f64(change, SLOW, FAST);
    nb_array bar_array = nb_array_f64(bar, SLOW, FAST);
    double *bar_x = calloc(nb_simulator_nparam(sim), sizeof *bar_x), forwards = 0,
           backwards = 0, size = 0;
    uint64_t state = 9;

    for (int i = 0; i < PIXELS; i++) bar[i] = probe_uniform(&state);
    if (nb_jvp(sim, NULL, 1, dx, &change_array) != NB_OK
        || nb_vjp(sim, NULL, 1, &bar_array, bar_x) != NB_OK)
        abort();
    for (int i = 0; i < PIXELS; i++) {
        forwards += bar[i] * change[i];
        size += fabs(bar[i] * change[i]);
    }
    for (size_t i = 0; i < nb_simulator_nparam(sim); i++) backwards += bar_x[i] * dx[i];
    tap_check(size > 0, "%s: sizes add up to %g", what, size);
    tap_close(what, backwards / size, forwards / size, allowed);
    free(bar_x);
}
