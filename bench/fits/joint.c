/*
 * joint.c - fits of several stills together: own parameters, structure factors, thousands
 * of stills that are loaded one by one; and the memory that a fit takes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "fits.h"
#include "timing.h"

enum { SIDE = 512, PIXELS = SIDE * SIDE, STILLS = 8, STREAMED = 1000 };

static const struct still small = {NB_SHAPE_GAUSS, 40, SIDE, {8, 18, 18}, 1e27, 0.12};
static const char shared[] = "cell ncells mosaic origin", own[] = "misset scale water";

/* Returns the largest resident size so far, in bytes. */
static double resident(void)
{
    struct rusage used;

    if (getrusage(RUSAGE_SELF, &used) != 0) return 0;
#ifdef __APPLE__
    return (double)used.ru_maxrss;
#else
    return 1024 * (double)used.ru_maxrss;
#endif
}

/* Each still has an orientation and a scale of its own. */
static nb_scene still_number(const struct campaign *c, int64_t i)
{
    nb_scene scene = still_scene(&small, c->list);
    uint64_t state = 4711 + 977 * (uint64_t)i;

    for (int k = 0; k < 10; k++) (void)draw(&state);
    for (int k = 0; k < 3; k++) scene.crystal.misset[k] = 360 * draw(&state);
    scene.crystal.scale = 0.5 + draw(&state);
    return scene;
}

/* The start of a still: own values off, and shared ones by the same for all. */
static void disturb(nb_scene *scene, int64_t i)
{
    uint64_t state = 815 + 31 * (uint64_t)i;

    for (int k = 0; k < 10; k++) (void)draw(&state);
    for (int k = 0; k < 3; k++)
        scene->crystal.misset[k] += 0.15 * (draw(&state) < 0.5 ? -1 : 1);
    scene->crystal.scale *= 0.7;
    scene->background.water *= 1.4;
    for (int k = 0; k < 3; k++) scene->crystal.cell[k] *= 1.003;
    scene->crystal.cell[4] += 0.2;
    for (int k = 0; k < 3; k++) scene->crystal.ncells[k] *= 0.85;
    scene->crystal.mosaic[0] *= 1.4;
}

/* ---- eight stills in memory ---- */

struct stills {
    nb_scene scene[STILLS];
    nb_array observed[STILLS];
    nb_shot shot[STILLS];
    double *photons;
};

static void make_stills(struct campaign *c, struct stills *s)
{
    s->photons = malloc((size_t)STILLS * PIXELS * sizeof *s->photons);
    if (!s->photons) exit(1);
    for (int i = 0; i < STILLS; i++) {
        s->scene[i] = still_number(c, i);
        s->observed[i] = nb_array_f64(s->photons + (size_t)i * PIXELS, SIDE, SIDE);
        still_observe(c->ctx, s->scene + i, 50 + i, s->photons + (size_t)i * PIXELS);
        s->shot[i] = (nb_shot){
            .scene = s->scene + i,
            .target = {.kind = NB_LOSS_POISSON,
                       .observed = s->observed + i,
                       .saturation = STILL_OVERLOAD},
        };
    }
}

struct followed {
    double loss;
    int rose, verbose;
};

static int follow(void *user, const nb_fit_state *state)
{
    struct followed *f = user;

    if (state->alone == 0 && state->loss > f->loss) f->rose++;
    f->loss = state->loss;
    if (f->verbose)
        (void)printf("  pass %d, stage %d, %d alone: loss %.4f, gain %.3g\n", state->passes,
                     state->stage, (int)state->alone, state->loss, state->gain);
    return 0;
}

static double fit_stills(struct campaign *c, int threads, const struct stills *s,
                         double *values, size_t *n, nb_fit_result *r)
{
    const nb_context_options options = {.threads = threads};
    struct followed f = {.loss = INFINITY, .verbose = c->verbose};
    const nb_fit_options fitting = {.shared = shared,
                                    .scaling = NB_FIT_SCALING_MISFIT,
                                    .own = own,
                                    .progress = follow,
                                    .user = &f};
    nb_context *ctx;
    nb_fit *fit;
    double seconds;

    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) exit(1);
    must(ctx, nb_fit_create(ctx, STILLS, s->shot, &fitting, &fit));
    seconds = timing_seconds();
    must(ctx, nb_fit_run(fit));
    seconds = timing_seconds() - seconds;
    must(ctx, nb_fit_result_get(fit, r));
    *n = r->nvalue;
    for (size_t i = 0; i < *n; i++) values[i] = r->value[i].value;
    nb_fit_free(fit);
    nb_context_free(ctx);
    return seconds;
}

void campaign_joint(struct campaign *c, const char *name)
{
    struct stills s;
    double values[2][64], seconds[2];
    nb_fit_result r;
    size_t n;

    make_stills(c, &s);
    for (int i = 0; i < STILLS; i++) disturb(s.scene + i, i);
    for (int t = 0; t < 2; t++) seconds[t] = fit_stills(c, t + 1, &s, values[t], &n, &r);
    (void)printf("%-24s %d passes of which %d together (wanted 8), 2 threads %.2f times as "
                 "fast (1.8), %s bits\n",
                 name, r.passes, r.joint, seconds[0] / seconds[1],
                 memcmp(values[0], values[1], n * sizeof **values) ? "OTHER" : "the same");
    free(s.photons);
}

/* ---- structure factors ---- */

/* Returns the list with a random error of 20 % on every F. */
static nb_hkl *spoiled_list(struct campaign *c)
{
    nb_hkl_info info;
    uint64_t state = 99;
    nb_hkl *list;
    size_t n = 0;
    int *hkl;
    double *f;

    nb_hkl_info_get(c->list, &info);
    hkl = malloc(3 * info.count * sizeof *hkl);
    f = malloc(info.count * sizeof *f);
    if (!hkl || !f) exit(1);
    for (int h = info.min[0]; h <= info.max[0]; h++)
        for (int k = info.min[1]; k <= info.max[1]; k++)
            for (int l = info.min[2]; l <= info.max[2]; l++) {
                const double u = draw(&state), v = draw(&state);
                const double normal = sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);

                if (!nb_hkl_get(c->list, h, k, l, f + n)) continue;
                hkl[3 * n] = h, hkl[3 * n + 1] = k, hkl[3 * n + 2] = l;
                f[n++] *= fmax(1 + 0.2 * normal, 0.1);
            }
    must(c->ctx, nb_hkl_create(c->ctx, n, hkl, f, &list));
    free(hkl);
    free(f);
    return list;
}

/* How far structure factors are from the truth, in errors and before the fit. */
static void judge_factors(const struct campaign *c, const nb_fit_result *r)
{
    double before = 0, after = 0, squares = 0, scale = 0, sum = 0;
    int known = 0;

    for (int pass = 0; pass < 2; pass++) /* the scale of F is that of its mean */
        for (size_t i = 0; i < r->nvalue; i++) {
            const nb_fit_value *v = r->value + i;
            int h, k, l;
            double truth;

            if (sscanf(v->param.name, "F[%d,%d,%d]", &h, &k, &l) != 3) continue;
            (void)nb_hkl_get(c->list, h, k, l, &truth);
            if (!(v->error < 0.1 * truth)) continue;
            if (pass == 0) {
                const double w = 1 / (v->error * v->error);

                scale += w * truth * v->value;
                sum += w * v->value * v->value;
                continue;
            }
            known++;
            before += pow(v->param.value / truth - 1, 2);
            after += pow(scale / sum * v->value / truth - 1, 2);
            squares += pow((scale / sum * v->value - truth) / (scale / sum * v->error), 2);
        }
    (void)
        printf("  %d of F have an error under 10 %%: off by %.1f %% at the start, %.2f %% "
               "now; pulls %.2f rms (1)\n",
               known, 100 * sqrt(before / known), 100 * sqrt(after / known),
               sqrt(squares / known));
}

void campaign_factors(struct campaign *c, const char *name)
{
    struct followed f = {.loss = INFINITY, .verbose = c->verbose};
    const nb_fit_options options = {.shared = "F",
                                    .scaling = NB_FIT_SCALING_MISFIT,
                                    .own = "misset scale",
                                    .progress = follow,
                                    .user = &f};
    nb_hkl *list = spoiled_list(c);
    struct stills s;
    nb_fit_result r;
    nb_fit *fit;

    make_stills(c, &s);
    for (int i = 0; i < STILLS; i++) {
        uint64_t state = 7 + (uint64_t)i;

        s.scene[i].crystal.hkl = list;
        for (int k = 0; k < 10; k++) (void)draw(&state);
        for (int k = 0; k < 3; k++)
            s.scene[i].crystal.misset[k] += 0.02 * (draw(&state) < 0.5 ? -1 : 1);
    }
    must(c->ctx, nb_fit_create(c->ctx, STILLS, s.shot, &options, &fit));
    must(c->ctx, nb_fit_run(fit));
    must(c->ctx, nb_fit_result_get(fit, &r));
    (void)printf("%-24s %zu values, %d passes of which %d together (15), the loss rose %d "
                 "times (0): %s\n",
                 name, r.nvalue, r.passes, r.joint, f.rose, r.why);
    judge_factors(c, &r);
    nb_fit_free(fit);
    nb_hkl_free(list);
    free(s.photons);
}

/* ---- a thousand stills, each simulated when it is wanted ---- */

struct loaded {
    nb_scene scene;
    nb_array observed;
    double photons[];
};

static nb_status load(void *user, int64_t shot, nb_shot *out)
{
    struct campaign *c = user;
    const nb_context_options options = {.threads = 1};
    struct loaded *l = malloc(sizeof *l + PIXELS * sizeof *l->photons);
    nb_context *ctx; /* that of the fit is in use */

    if (!l) return NB_ERR_MEMORY;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) exit(1);
    l->scene = still_number(c, shot);
    l->observed = nb_array_f64(l->photons, SIDE, SIDE);
    still_observe(ctx, &l->scene, 50 + shot, l->photons);
    nb_context_free(ctx);
    disturb(&l->scene, shot);
    *out = (nb_shot){.scene = &l->scene,
                     .target = {.kind = NB_LOSS_POISSON,
                                .observed = &l->observed,
                                .saturation = STILL_OVERLOAD}};
    return NB_OK;
}

static void unload(void *user, int64_t shot, nb_shot *loaded)
{
    (void)user;
    (void)shot;
    /* the scene is the first member */
    free((void *)(uintptr_t)loaded->scene);
}

void campaign_stream(struct campaign *c, const char *name)
{
    const int64_t n = c->runs > 0 ? c->runs : STREAMED;
    const nb_fit_options options = {.shared = shared,
                                    .scaling = NB_FIT_SCALING_MISFIT,
                                    .own = own,
                                    .load = load,
                                    .unload = unload,
                                    .user = c};
    const double before = resident();
    double seconds = timing_seconds(), peak;
    nb_fit_result r;
    nb_fit *fit;

    must(c->ctx, nb_fit_create(c->ctx, n, NULL, &options, &fit));
    must(c->ctx, nb_fit_run(fit));
    seconds = timing_seconds() - seconds;
    peak = resident();
    must(c->ctx, nb_fit_result_get(fit, &r));
    (void)printf("%-24s %lld stills, %zu values, %d passes of which %d together, %.0f s; "
                 "%.0f MB "
                 "in all, %.0f before (wanted: under 200)\n",
                 name, (long long)n, r.nvalue, r.passes, r.joint, seconds, peak / 1e6,
                 before / 1e6);
    (void)printf("  cell_a %.6f +- %.6f, true 53.91; %s\n", r.value[0].value,
                 r.value[0].error, r.why);
    nb_fit_free(fit);
}

/* ---- how soon a fit stops ---- */

struct stopper {
    nb_fit *fit;
    double after, at; /* s; clock when it was told to stop */
};

static void *stop_later(void *user)
{
    struct stopper *s = user;
    const struct timespec wait = {(time_t)s->after, (long)(1e9 * fmod(s->after, 1))};

    (void)nanosleep(&wait, NULL);
    s->at = timing_seconds();
    nb_fit_cancel(s->fit);
    return NULL;
}

void campaign_cancel(struct campaign *c, const char *name)
{
    const int runs = c->runs > 0 ? c->runs : 20;
    double most = 0;
    struct stills s;
    uint64_t state = 5;

    make_stills(c, &s);
    for (int i = 0; i < STILLS; i++) disturb(s.scene + i, i);
    for (int k = 0; k < runs; k++) {
        const nb_fit_options options = {.shared = shared,
                                        .own = own,
                                        .scaling = NB_FIT_SCALING_MISFIT};
        struct stopper stopper = {.after = 0.1 + draw(&state)};
        pthread_t thread;

        must(c->ctx, nb_fit_create(c->ctx, STILLS, s.shot, &options, &stopper.fit));
        if (pthread_create(&thread, NULL, stop_later, &stopper) != 0) exit(1);
        if (nb_fit_run(stopper.fit) == NB_ERR_CANCELLED)
            most = fmax(most, timing_seconds() - stopper.at);
        (void)pthread_join(thread, NULL);
        nb_fit_free(stopper.fit);
    }
    (void)printf("%-24s %d fits ended at most %.1f ms after nb_fit_cancel() (20)\n", name,
                 runs, 1e3 * most);
    free(s.photons);
}

/* ---- memory of one large image ---- */

void campaign_memory(struct campaign *c, const char *name)
{
    enum { SLOW = 2527, FAST = 2463 };
    const size_t pixels = (size_t)SLOW * FAST;
    const double data = (double)(pixels * sizeof(double)), before = resident();
    double *photons = malloc(pixels * sizeof *photons), after;
    const nb_array observed = nb_array_f64(photons, SLOW, FAST);
    nb_scene scene = still_scene(&small, c->list);
    nb_shot shot = {.scene = &scene,
                    .target = {.kind = NB_LOSS_POISSON, .observed = &observed}};
    const nb_fit_options options = {.shared = still_names,
                                    .passes = 3,
                                    .scaling = NB_FIT_SCALING_MISFIT};
    nb_array image = observed;
    nb_simulator *sim;
    nb_fit *fit;

    if (!photons) exit(1);
    scene.detector.nslow = SLOW, scene.detector.nfast = FAST;
    scene.detector.pixel = 0.172;
    must(c->ctx, nb_simulator_create(c->ctx, &scene, NULL, NULL, &sim));
    must(c->ctx, nb_forward(sim, NULL, &image));
    nb_simulator_free(sim);
    for (size_t i = 0; i < pixels; i++) photons[i] = rint(photons[i]);
    scene.crystal.misset[0] += 0.05;
    must(c->ctx, nb_fit_create(c->ctx, 1, &shot, &options, &fit));
    must(c->ctx, nb_fit_run(fit));
    after = resident();
    (void)printf("%-24s %d x %d pixels, 15 parameters: %.0f MB beyond the data (wanted "
                 "150)\n",
                 name, SLOW, FAST, (after - before - data) / 1e6);
    nb_fit_free(fit);
    free(photons);
}
