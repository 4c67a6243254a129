/* derivatives_subject.c - see derivatives_subject.h. SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include "gpu/derivatives_subject.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/devices.h"
#include "device/watched.h"
#include "support/files.h"
#include "support/plant.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

double *numbers(size_t n)
{
    double *p = calloc(n + 1, sizeof *p);

    if (!p) abort();
    return p;
}

double *draws(size_t n, uint32_t seed)
{
    double *out = numbers(n);

    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (double)seed / 2147483648.0 - 1;
    }
    return out;
}

static void empty_cache(void)
{
    DIR *dir = opendir(in_folder("cache/cubins"));
    const struct dirent *entry;
    char path[512];

    while (dir && (entry = readdir(dir))) {
        (void)snprintf(path, sizeof path, "cache/cubins/%s", entry->d_name);
        if (entry->d_name[0] != '.') (void)remove(in_folder(path));
    }
    if (dir) (void)closedir(dir);
}

void begin_anew(void)
{
    (void)unsetenv("PTX_NVRTC_FAULT");
    empty_cache();
    watched_reset();
}

static void mask_away(struct subject *s)
{
    struct device_run *t = &s->t;

    s->mask = calloc(t->pixels, 1);
    if (!s->mask) abort();
    t->job.mask = s->mask;
    for (size_t i = 0; i < t->pixels; i++) s->mask[i] = i % 7 != 3;
}

void subject_open(const char *name, int most_turning, struct subject *s)
{
    const nb_scene scene = scenes_named(SCENES_FEATURES, name);
    struct device_run *t = &s->t;

    memset(s, 0, sizeof *s);
    device_run_make(&scene, t);
    mask_away(s);
    t->frame.f_single = t->f_single;
    t->job.planned = 1;
    t->job.tolerance = 1e-5; /* float may be used */
    (void)snprintf(t->ctx->env.cache_dir, sizeof t->ctx->env.cache_dir, "%s",
                   in_folder("cache"));
    s->turning = t->turning < most_turning ? t->turning : most_turning;
    s->first = t->turning - s->turning;
    s->n = t->n - s->first;
    s->bar = draws(t->pixels, 5);
    if (gpu_open(t->ctx, &gpu_watched, 0, &s->gpu) != NB_OK) abort();
    s->scene.gpu = s->gpu;
}

void subject_close(struct subject *s)
{
    gpu_scene_drop(&s->scene);
    gpu_close(s->gpu);
    free(s->mask);
    free(s->bar);
    device_run_drop(&s->t);
    if (!devices_balanced() || watched.modules_held || watched.recordings_held)
        tap_check(0, "all was given back");
}

struct gpu_input host_image(const struct subject *s, const double *image)
{
    const struct gpu_input input = {image, 0, 64, {s->t.frame.nfast, 1}};

    return input;
}

struct gpu_derivatives_job objective_of(const struct subject *s)
{
    struct gpu_derivatives_job request = {.n = s->n,
                                          .dot = s->t.dot + s->first,
                                          .end = REDUCE_COTANGENT};

    request.cotangent = host_image(s, s->bar);
    return request;
}

struct results results_make(const struct subject *s,
                            const struct gpu_derivatives_job *request, int f)
{
    const size_t n = (size_t)request->n;
    struct results r = {0};

    r.gradient = numbers(n);
    r.matrix = numbers(n * n);
    r.change = calloc(n + 1, sizeof *r.change);
    if (!r.change) abort();
    for (size_t d = 0; request->end == REDUCE_NOTHING && d < n; d++) {
        r.change[d] = numbers(s->t.pixels);
        memset(r.change[d], 0xff, s->t.pixels * sizeof(double)); /* no number */
    }
    if (f) r.f = numbers(jacobian_places(&s->t));
    r.sums.gradient = request->end == REDUCE_NOTHING ? NULL : r.gradient;
    r.sums.matrix =
        request->end == REDUCE_NORMAL || request->end == REDUCE_SQUARES ? r.matrix : NULL;
    r.sums.f = r.f;
    r.sums.change = request->end == REDUCE_NOTHING ? r.change : NULL;
    return r;
}

void results_drop(const struct subject *s, struct results *r)
{
    for (int d = 0; d < s->n && r->change[d]; d++) free(r->change[d]);
    free(r->change);
    free(r->gradient);
    free(r->matrix);
    free(r->f);
}

int results_same(const struct subject *s, const struct results *a, const struct results *b)
{
    const size_t n = (size_t)s->n;
    int all = bits_same_or_zeros(&a->sums.value, &b->sums.value, 1)
              && bits_same_or_zeros(a->gradient, b->gradient, n)
              && bits_same_or_zeros(a->matrix, b->matrix, n * n);
    int some = a->sums.value != 0 || worst_largest(a->gradient, n) > 0;

    /* an end fills some of these and leaves the others 0 */
    for (size_t d = 0; d < n && a->change[d]; d++) {
        all &= bits_same_or_zeros(a->change[d], b->change[d], s->t.pixels);
        some |= worst_largest(a->change[d], s->t.pixels) > 0;
    }
    if (a->f) all &= bits_same(a->f, b->f, jacobian_places(&s->t));
    return all && some;
}

nb_status subject_run(struct subject *s, int single,
                      const struct gpu_derivatives_job *request, struct results *r)
{
    struct progress progress;
    nb_status status;

    progress_begin(&progress, s->t.ctx);
    status = gpu_derivatives(&progress, &s->scene, &s->t.job, single, request, &r->sums);
    if (status != NB_OK) return status;
    plant_numbers("loss", &r->sums.value, 1);
    return NB_OK;
}

void run_well(struct subject *s, int single, const struct gpu_derivatives_job *request,
              struct results *r)
{
    if (subject_run(s, single, request, r) != NB_OK)
        tap_check(0, "a run: %s", nb_context_message(s->t.ctx));
}
