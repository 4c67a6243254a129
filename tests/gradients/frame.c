/*
 * frame.c - the tangent of the frame along every parameter that a scene has, compared with
 * differences of the frame itself. Its hundreds of members are compared through random
 * sums, each member in units of its size.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grad/grad.h"
#include "grad/tangent.h"
#include "gradients/gradients.h"
#include "scene/crystal.h"
#include "simulator.h"
#include "support/scenes.h"

enum {
    MOST_OF_A_LIST = 3, /* parameters */
    MOST_SOURCES = 60,
    MOST_ORIENTATIONS = 100,
    MEMBERS = 60 + PHYS_BROAD_NUMBERS + 11 * MOST_SOURCES + 10 * MOST_ORIENTATIONS
};

/* the numbers of a frame in a row */
struct members {
    double at[MEMBERS];
    int n;
};

static void put(struct members *m, const double *from, int n)
{
    memcpy(m->at + m->n, from, sizeof *from * (size_t)n);
    m->n += n;
}

static void put_source(struct members *m, const struct phys_source *s)
{
    put(m, s->direction, 3);
    put(m, &s->inverse_wavelength, 1);
    put(m, &s->weight, 1);
    put(m, s->e, 3);
    put(m, s->b, 3);
}

static struct members members_of(const struct phys_frame *f)
{
    struct members m = {{0}, 0};

#define FRAME_STRAIN(name, dimension, count, kind)
#define FRAME_NUMBER(name, dimension, count, kind) put(&m, (const double *)&f->name, count);
#include "physics/frame_tangent.def"
#undef FRAME_NUMBER
    put(&m, &f->broad.half_range, PHYS_BROAD_NUMBERS);
    for (int i = 0; i < f->nsource && i < MOST_SOURCES; i++) put_source(&m, f->source + i);
    for (int i = 0; i < f->norientation && i < MOST_ORIENTATIONS; i++) {
        put(&m, f->orientation[i].axes, 9);
        put(&m, &f->orientation[i].weight, 1);
    }
    return m;
}

/* strain and turn of one orientation, as a change of its axes */
static void put_axes(struct members *m, const double *axes, const double *strain,
                     const double *rotation)
{
    for (int i = 0; i < 3; i++) {
        const double *a = axes + 3 * i;
        const double turned[3] = {rotation[1] * a[2] - rotation[2] * a[1],
                                  rotation[2] * a[0] - rotation[0] * a[2],
                                  rotation[0] * a[1] - rotation[1] * a[0]};

        for (int k = 0; k < 3; k++) {
            double change = turned[k];

            for (int j = 0; j < 3; j++) change += strain[3 * i + j] * axes[3 * j + k];
            put(m, &change, 1);
        }
    }
}

static struct members changes_of(const struct phys_frame *f,
                                 const struct phys_frame_tangent *s)
{
    struct members m = {{0}, 0};

#define FRAME_STRAIN(name, dimension, count, kind)
#define FRAME_NUMBER(name, dimension, count, kind) put(&m, (const double *)&s->name, count);
#include "physics/frame_tangent.def"
#undef FRAME_NUMBER
    put(&m, &s->broad.half_range, PHYS_BROAD_NUMBERS);
    for (int i = 0; i < f->nsource && i < MOST_SOURCES; i++) put_source(&m, s->source + i);
    for (int i = 0; i < f->norientation && i < MOST_ORIENTATIONS; i++) {
        put_axes(&m, f->orientation[i].axes, s->strain, s->rotation[i].by);
        put(&m, &s->rotation[i].weight, 1);
    }
    return m;
}

/* one parameter of one scene, and the sum that is looked at */
struct look {
    nb_simulator *sim;
    double weight[MEMBERS];
    int n;
};

static struct phys_frame frame_at(nb_simulator *sim, double x)
{
    const struct phys_frame *frame;
    nb_scene scene;

    if (simulator_frame(sim, &x, &scene, &frame) != NB_OK) abort();
    return *frame;
}

static long double sum_of(const struct look *look, const struct members *m)
{
    long double sum = 0;

    for (int i = 0; i < m->n; i++) sum += (long double)look->weight[i] * m->at[i];
    return sum;
}

static long double look_at(const void *context, double x)
{
    const struct look *look = context;
    const struct phys_frame frame = frame_at(look->sim, x);
    const struct members m = members_of(&frame);

    return sum_of(look, &m);
}

/* the tangent at x in the simulator's only parameter */
static struct members tangent_at(nb_simulator *sim, double x)
{
    static struct phys_source sources[1000];
    static struct phys_rotation turns[10000];
    struct phys_frame_tangent slope = {.source = sources, .rotation = turns};
    const double one = 1;
    const struct phys_frame *frame;
    struct crystal_axes axes;
    nb_scene scene, dot;

    if (simulator_frame(sim, &x, &scene, &frame) != NB_OK || frame->nsource > 1000
        || frame->norientation > 10000 || crystal_derive(sim->ctx, &scene, &axes) != NB_OK)
        abort();
    params_unpack_change(&sim->params, 0, 1, &one, &scene, &sim->change, &dot);
    scene_derive_tangent(&scene, &dot, &sim->fixed, &axes, frame, &slope);
    return changes_of(frame, &slope);
}

/* over which length a parameter is moved, and the nearest end of its range */
static struct ladder ladder_of(const nb_param *p, const struct look *look)
{
    struct ladder l = {look_at, look, p->value, p->scale, 0, 0};
    const double below = p->value - p->lower, above = p->upper - p->value;

    l.limit = fmin(below, above);
    if (p->value != 0) l.length = fmin(fabs(p->value), 100 * p->scale);
    return l;
}

static void check(const char *scene, nb_simulator *sim, struct tally *tally,
                  uint64_t *state)
{
    static struct look look;
    nb_param param;
    struct members values, changes;
    struct phys_frame frame;
    struct ladder ladder;
    char what[100];

    if (nb_simulator_param(sim, 0, &param) != NB_OK) abort();
    frame = frame_at(sim, param.value);
    values = members_of(&frame);
    changes = tangent_at(sim, param.value);
    look.sim = sim;
    ladder = ladder_of(&param, &look);
    if (!(ladder.limit > 0)) return; /* at the end of its range: there is one side only */
    for (int i = 0; i < values.n; i++) {
        const double size = fmax(fabs(values.at[i]), fabs(changes.at[i]) * ladder.length);

        look.weight[i] = size > 0 ? (random_number(state) - 0.5) / size : 1;
        ladder.size += fabs(look.weight[i]) * size;
    }
    (void)snprintf(what, sizeof what, "%s in %s", scene, param.name);
    tally_slope(tally, what, &ladder, (double)sum_of(&look, &changes));
}

/* every parameter of a scene */
static void check_scene(const struct named_scene *named, struct tally *tally,
                        uint64_t *state)
{
    nb_scene scene = named->scene;
    nb_param param;
    nb_context *ctx;

    /* angles rounded to float make a staircase */
    scene.quirks &= ~(uint64_t)NB_QUIRK_MOSAIC_F32;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) abort();
    for (int row = 0; nb_param_registry(row, &param); row++) {
        nb_param params[MOST_OF_A_LIST];
        const size_t n = scenes_parameters(ctx, &scene, row, params, MOST_OF_A_LIST);

        if (strncmp(param.name, "F[", 2) == 0) continue; /* the box is not looked at */
        for (size_t p = 0; p < n; p++) {
            nb_simulator *sim;

            if (nb_simulator_create(ctx, &scene, params[p].name, NULL, &sim) != NB_OK)
                abort();
            check(named->name, sim, tally, state);
            nb_simulator_free(sim);
        }
    }
    nb_context_free(ctx);
}

int frame_tangents(void)
{
    struct tally tally = {0};
    uint64_t state = 7;
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        check_scene(&named, &tally, &state);
    return tally_finish(&tally);
}

/* a crystal with a drift; unless `domains`, everything is integrated, the rotation of
 * -9 degrees in two parts */
static struct named_scene wide(const char *name, int domains)
{
    struct named_scene named = {name, scenes_base()};
    nb_scene *s = &named.scene;
    const double spread[3] = {0.5, 0.3, 0.2}, off[3] = {0.1, -0.05, 0.02};
    const double drift[3] = {0.01, -0.02, 0.03}, axis[3] = {0.2, -0.1, 2};

    memcpy(s->crystal.mosaic, spread, sizeof spread);
    memcpy(s->crystal.mosaic_off, off, sizeof off);
    memcpy(s->scan.drift, drift, sizeof drift);
    memcpy(s->scan.axis, axis, sizeof axis);
    s->scan.phi0 = 20;
    s->scan.osc = -9;
    s->scan.drift_phi = 3;
    if (domains) return named;
    s->scan.nphi = 0;
    s->crystal.mosaic_model = NB_MOSAIC_GAUSS;
    s->crystal.shape = NB_SHAPE_GAUSS;
    s->crystal.interpolate = NB_LOOKUP_NEAREST;
    s->crystal.ndomains = 0;
    s->crystal.mosaic_seed = 0;
    s->crystal.mosaic_tail = 0.1;
    s->crystal.mosaic_tail_width = 6;
    s->crystal.strain = 2e-3;
    s->crystal.crystal_size = 0.03;
    s->beam.dispersion = 0.01;
    s->beam.divergence[0] = 1;
    s->beam.divergence[1] = 0.7;
    s->beam.ndispersion = s->beam.ndivergence[0] = s->beam.ndivergence[1] = 0;
    return named;
}

int continuous_tangents(void)
{
    struct tally tally = {0};
    uint64_t state = 8;
    struct named_scene named = wide("all widths", 0);

    check_scene(&named, &tally, &state);
    named.name = "all widths, star, square divergence";
    named.scene.crystal.shape = NB_SHAPE_GAUSS_STAR;
    named.scene.beam.square_divergence = 1;
    named.scene.scan.osc = 4;
    check_scene(&named, &tally, &state);
    named = wide("one spread, a sum over phi", 0);
    memset(named.scene.crystal.mosaic_off, 0, sizeof named.scene.crystal.mosaic_off);
    named.scene.crystal.mosaic[1] = named.scene.crystal.mosaic[2] = 0;
    named.scene.scan.nphi = 3;
    check_scene(&named, &tally, &state);
    named = wide("domains with a tensor and a drift", 1);
    check_scene(&named, &tally, &state);
    return tally_finish(&tally);
}
