/*
 * test_thread_order.c - the threads of a block may run a step in any order: in order,
 * reversed and in two shuffled orders that change at every step, all bytes that come back
 * from the emulated device are the same.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emulation/emulated.h"
#include "emulation/gpu_runs.h"
#include "emulation/jacobian_runs.h"
#include "emulation/thread_order.h"
#include "gpu/text/block.h"
#include "gpu/text/count_parameters.h"
#include "support/scenes.h"
#include "support/tap.h"

enum { ORDERS = THREADS_SHUFFLED_AGAIN + 1, MOST = 64 * 64 };

/* FNV-1a */
static uint64_t hashed(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < n; i++) hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

/* checks that runs in all orders return the same hash */
static void same(const char *name, uint64_t (*run)(const nb_scene *, int),
                 const nb_scene *scene)
{
    for (int single = 0; single < 2; single++) {
        uint64_t first = 0;

        for (int order = 0; order < ORDERS; order++) {
            uint64_t hash;

            thread_order = (enum thread_order)order;
            hash = run(scene, single);
            if (order == 0) first = hash;
            (void)tap_check(hash == first, "%s, %s, order %d: %016llx, in order %016llx",
                            name, single ? "float" : "double", order,
                            (unsigned long long)hash, (unsigned long long)first);
        }
    }
    thread_order = THREADS_IN_ORDER;
}

/* ---- images ---- */

static uint64_t image(const nb_scene *scene, int single)
{
    static double photons[MOST];
    struct gpu_case *c = gpu_case_open(scene);
    const size_t n = (size_t)c->frame.nfast * (size_t)c->frame.nslow;
    uint64_t hash = 14695981039346656037u;

    if (n > MOST) abort();
    for (int parts = 1; parts <= 2; parts++) {
        const struct gpu_way way = {.single = single, .parts = parts};

        if (gpu_case_run(c, &way, photons))
            hash = hashed(hash, photons, n * sizeof *photons);
    }
    gpu_case_close(c);
    return hash;
}

static int images(void)
{
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        same(named.name, image, &named.scene);
    return TAP_PASS;
}

/* several chunks and segments of pairs, many of which add nothing */
static int many_pairs(void)
{
    nb_scene scene = scenes_base();

    scene.crystal.shape = NB_GAUSS;
    scene.crystal.hkl = scenes_reflections();
    scene.crystal.interpolate = NB_NEAREST;
    scene.crystal.ndomains = 205;
    scene.beam.dispersion = 0.02;
    scene.beam.ndispersion = 7;
    scene.dmin = 4;
    same("many pairs", image, &scene);
    return TAP_PASS;
}

/* ---- derivatives ---- */

static uint64_t derivative(const nb_scene *scene, int single)
{
    struct device_run t;
    struct jacobian_way way = {.kernels = single ? &derivative_kernels_single
                                                 : &derivative_kernels_double,
                               .kind = JACOBIAN_OF_FEW,
                               .parts = 1};
    struct gpu_derivatives_parameters p;
    double totals[1 + TANGENTS_MOST], *photons, *change;
    uint64_t hash = 14695981039346656037u;

    device_run_make(scene, 1, &t);
    (void)jacobian_next(&t, &way);
    photons = calloc(t.pixels, sizeof *photons);
    change = calloc((size_t)way.n * t.pixels, sizeof *change);
    if (!photons || !change) abort();
    jacobian_changes(&t, &way, photons, change);
    hash = hashed(hash, photons, t.pixels * sizeof *photons);
    hash = hashed(hash, change, (size_t)way.n * t.pixels * sizeof *change);
    p = jacobian_parameters(&t, &way);
    p.end = REDUCE_COTANGENT;
    p.cotangent.wide = t.photons;
    jacobian_totals(&t, &way, &p, totals);
    hash = hashed(hash, totals, (1 + (size_t)way.n) * sizeof *totals);
    free(photons);
    free(change);
    device_run_drop(&t);
    return hash;
}

static int derivatives(void)
{
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_SUMS, i, &named); i++)
        same(named.name, derivative, &named.scene);
    return TAP_PASS;
}

static uint64_t factors(const nb_scene *scene, int single)
{
    struct device_run t;
    const struct jacobian_way way = {.kernels = single ? &derivative_kernels_single
                                                       : &derivative_kernels_double,
                                     .parts = 1 + single,
                                     .kind = JACOBIAN_OF_FEW};
    uint64_t hash = 14695981039346656037u;
    double *f_bar;

    device_run_make(scene, 1, &t);
    f_bar = calloc(jacobian_places(&t), sizeof *f_bar);
    if (!f_bar) abort();
    jacobian_f(&t, &way, t.photons, f_bar);
    hash = hashed(hash, f_bar, jacobian_places(&t) * sizeof *f_bar);
    free(f_bar);
    device_run_drop(&t);
    return hash;
}

static int structure_factors(void)
{
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FACTORS, i, &named); i++)
        same(named.name, factors, &named.scene);
    return TAP_PASS;
}

/* ---- counts ---- */

enum { WIDE = 61, HIGH = 37 };

/* means from 1e-3 to 1e7 in either type, some pixels left out, with noise and without */
static uint64_t count(const nb_scene *scene, int single)
{
    static double image[WIDE * HIGH];
    static float rounded[WIDE * HIGH];
    static unsigned char mask[WIDE * HIGH];
    unsigned short counts[WIDE * HIGH];
    struct phys_tally tally[3];
    float brightest[3];
    struct gpu_count_parameters p = {.nslow = HIGH,
                                     .nfast = WIDE,
                                     .roi = {3, WIDE - 2, 1, HIGH},
                                     .mask = mask,
                                     .image_bits = single ? 32 : 64,
                                     .image_stride = {WIDE, 1},
                                     .counts = counts,
                                     .counts_stride = {WIDE, 1},
                                     .scale = 1,
                                     .offset = 40,
                                     .seed = 17,
                                     .blocks = 3,
                                     .tally = tally,
                                     .brightest = brightest};
    uint64_t hash = 14695981039346656037u;

    (void)scene;
    for (int i = 0; i < WIDE * HIGH; i++) {
        image[i] = pow(10, -3 + 10.0 * i / (WIDE * HIGH));
        rounded[i] = (float)image[i];
        mask[i] = i % 11 != 0;
    }
    if (single)
        p.image = rounded;
    else
        p.image = image;
    memset(tally, 0, sizeof tally); /* what lies between its members */
    for (p.noise = 0; p.noise < 2; p.noise++) {
        for (int block = 0; block < p.blocks; block++) emulated_count(&p, block);
        hash = hashed(hash, counts, sizeof counts);
        hash = hashed(hash, tally, sizeof tally);
    }
    for (int block = 0; block < p.blocks; block++) emulated_brightest(&p, block);
    return hashed(hash, brightest, sizeof brightest);
}

static int counts(void)
{
    same("counts", count, NULL);
    return TAP_PASS;
}

/* ---- whether it would show ---- */

/* a step that reads what another thread of the same step writes */
static uint64_t wrong_step(void)
{
    int shared[BLOCK_THREADS] = {0};

    EACH_THREAD(t) shared[t] = t > 0 ? shared[t - 1] + 1 : 0;
    return hashed(0, shared, sizeof shared);
}

static int wrong_steps_show(void)
{
    uint64_t hash[ORDERS];
    int seen = 0;

    for (int order = 0; order < ORDERS; order++) {
        thread_order = (enum thread_order)order;
        hash[order] = wrong_step();
        for (int other = 0; other < order; other++) seen += hash[order] != hash[other];
    }
    thread_order = THREADS_IN_ORDER;
    tap_check(seen == ORDERS * (ORDERS - 1) / 2, "%d of %d pairs of orders differ", seen,
              ORDERS * (ORDERS - 1) / 2);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"images", images},           {"many_pairs", many_pairs},
        {"derivatives", derivatives}, {"structure_factors", structure_factors},
        {"counts", counts},           {"wrong_steps_show", wrong_steps_show},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
