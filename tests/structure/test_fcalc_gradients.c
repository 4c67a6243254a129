/*
 * test_fcalc_gradients.c - derivatives of structure factors with the atoms: the tangent
 * against the adjoint, the density against the direct sum, both against extrapolated
 * differences, and the chain from pixels over F to atoms.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "scene/reflections/hkl_table.h"
#include "structure/models.h"
#include "support/files.h"
#include "support/ladder.h"
#include "support/plant.h"
#include "support/worst.h"

#ifdef NANOBRAG_FFTW
enum { LAST_METHOD = NB_FCALC_FFT };
#else
enum { LAST_METHOD = NB_FCALC_DIRECT };
#endif

static const char *const method_names[] = {"auto", "direct", "density"};

static double noise(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)(*state >> 11) / 4503599627370496.0 - 1;
}

static double *random_numbers(size_t n, uint64_t seed)
{
    double *out = malloc(n * sizeof *out);

    if (!out) abort();
    for (size_t i = 0; i < n; i++) out[i] = noise(&seed);
    return out;
}

/* A model, a list of it, and the atoms' numbers. */
struct subject {
    nb_structure *structure;
    nb_fcalc how;
    nb_hkl *list;
    size_t n, numbers;
    double *x;
};

static struct subject make(const char *name, nb_fcalc how)
{
    struct subject s = {.structure = model_read(ctx, model_named(name)), .how = how};

    s.numbers = nb_structure_natom(s.structure) * NB_ATOM_NUMBERS;
    s.x = malloc(s.numbers * sizeof *s.x);
    nb_structure_numbers(s.structure, s.x);
    s.list = model_list(ctx, s.structure, &s.how, NULL);
    s.n = nb_hkl_reflections(s.list, NULL, NULL);
    return s;
}

static void subject_free(struct subject *s)
{
    free(s->x);
    nb_hkl_free(s->list);
    nb_structure_free(s->structure);
}

static void gradient(const struct subject *s, const double *bar_f, double *bar_x)
{
    memset(bar_x, 0, s->numbers * sizeof *bar_x);
    check_ok(nb_structure_vjp(ctx, s->structure, &s->how, NULL, s->list, bar_f, bar_x),
             "nb_structure_vjp");
    plant_numbers("gradient", bar_x, s->numbers);
}

static double dot(const double *a, const double *b, size_t n)
{
    long double sum = 0;

    for (size_t i = 0; i < n; i++) sum += (long double)a[i] * b[i];
    return (double)sum;
}

/* <bar, J dot> = <J^T bar, dot> */
static int transpose(void)
{
    static const nb_fcalc cases[] = {
        {.dmin = 2.5},
        {.dmin = 2.5, .wavelength = 1.3},
#ifdef NANOBRAG_FFTW
        {.dmin = 3, .wavelength = 1.7, .k_sol = 0.35, .b_sol = 46},
#endif
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        for (int method = NB_FCALC_DIRECT; method <= LAST_METHOD; method++) {
            nb_fcalc how = cases[i];
            struct subject s;
            double *bar_f, *dot_x, *dot_f, *bar_x, size = 0;

            how.method = method;
            s = make("2erl", how);
            bar_f = random_numbers(s.n, 3);
            dot_x = random_numbers(s.numbers, 4);
            dot_f = calloc(s.n, sizeof *dot_f);
            bar_x = calloc(s.numbers, sizeof *bar_x);
            check_ok(nb_structure_jvp(ctx, s.structure, &how, NULL, s.list, dot_x, dot_f),
                     "nb_structure_jvp");
            plant_numbers("jacobian", dot_f, s.n);
            gradient(&s, bar_f, bar_x);
            for (size_t k = 0; k < s.n; k++) size += fabs(bar_f[k] * dot_f[k]);
            tap_note("%s, wavelength %g, k_sol %g", method_names[method], how.wavelength,
                     how.k_sol);
            tap_close("tangent and adjoint", dot(bar_x, dot_x, s.numbers) / size,
                      dot(bar_f, dot_f, s.n) / size, 4e-16);
            free(bar_f);
            free(dot_x);
            free(dot_f);
            free(bar_x);
            subject_free(&s);
        }
    return TAP_PASS;
}

/* The density's gradient is that of the direct sum, to its tolerance. */
static int density_is_direct(void)
{
#ifndef NANOBRAG_FFTW
    return tap_skip("this build has no FFTW");
#endif
    for (int wave = 0; wave < 2; wave++) {
        nb_fcalc how = {.dmin = 2, .wavelength = wave ? 1.3 : 0, .method = NB_FCALC_FFT};
        struct subject s = make("2erl", how);
        double *bar_f = random_numbers(s.n, 7);
        double *found = calloc(s.numbers, sizeof *found);
        double *truth = calloc(s.numbers, sizeof *truth);

        gradient(&s, bar_f, found);
        s.how.method = NB_FCALC_DIRECT;
        gradient(&s, bar_f, truth);
        for (int k = 0; k < NB_ATOM_NUMBERS; k++) {
            double change = 0, size = 0;

            for (size_t i = (size_t)k; i < s.numbers; i += NB_ATOM_NUMBERS) {
                change += (found[i] - truth[i]) * (found[i] - truth[i]);
                size += truth[i] * truth[i];
            }
            /* 1e-5 of F; cotangents that are noise weigh its errors at high angle most */
            tap_close("rms over the atoms of dL/d(x y z B occupancy)", sqrt(change / size),
                      0, 2e-6);
        }
        free(bar_f);
        free(found);
        free(truth);
        subject_free(&s);
    }
    return TAP_PASS;
}

/* ---- differences ---- */

/* L(x) = sum of weight F^2, along one number. F^2 has no kink at F = 0. */
struct along {
    const struct subject *s;
    const double *weight;
    size_t number;
};

static long double loss_along(const void *context, double value)
{
    const struct along *a = context;
    const struct subject *s = a->s;
    double *x = malloc(s->numbers * sizeof *x), *f = malloc(s->n * sizeof *f);
    long double sum = 0;
    nb_hkl *list;

    memcpy(x, s->x, s->numbers * sizeof *x);
    x[a->number] = value;
    list = model_list(ctx, s->structure, &s->how, x);
    (void)nb_hkl_reflections(list, NULL, f);
    for (size_t i = 0; i < s->n; i++) sum += (long double)a->weight[i] * f[i] * f[i];
    nb_hkl_free(list);
    free(x);
    free(f);
    return sum;
}

/* Compare the gradient in the five numbers of an atom with differences. */
static void compare_atom(const struct subject *s, const double *weight, const double *bar_x,
                         size_t atom, struct worst *worst)
{
    /* over which F changes by its own size: a wave of F, B, an atom */
    static const double length[NB_ATOM_NUMBERS] = {0.2, 0.2, 0.2, 20, 1};
    /* the choice of grid and radii changes there */
    static const double limit[NB_ATOM_NUMBERS] = {0.25, 0.25, 0.25, 1, 0};

    for (size_t k = 0; k < NB_ATOM_NUMBERS; k++) {
        const struct along along = {s, weight, atom * NB_ATOM_NUMBERS + k};
        const struct ladder ladder = {.f = loss_along,
                                      .context = &along,
                                      .x = s->x[along.number],
                                      .length = length[k],
                                      .limit = limit[k]};
        const struct ladder_slope slope = ladder_run(&ladder);
        double off = NAN;

        tap_check(ladder_agrees(&slope, bar_x[along.number], &off),
                  "atom %zu, number %zu: %.10g, by differences %.10g +- %.2g", atom, k,
                  bar_x[along.number], slope.slope, slope.bar);
        worst_add(worst, slope.bar / fabs(slope.slope), 0, 1);
    }
}

static void differences_of(const char *name, nb_fcalc how, const size_t *atom, size_t n)
{
    struct subject s = make(name, how);
    double *weight = random_numbers(s.n, 11), *bar_f = malloc(s.n * sizeof *bar_f);
    double *bar_x = calloc(s.numbers, sizeof *bar_x);
    struct worst worst = {0};

    (void)nb_hkl_reflections(s.list, NULL, bar_f);
    for (size_t i = 0; i < s.n; i++) bar_f[i] *= 2 * weight[i];
    gradient(&s, bar_f, bar_x);
    for (size_t i = 0; i < n; i++) compare_atom(&s, weight, bar_x, atom[i], &worst);
    worst_check(&worst, 3e-8, "error bars of %s, over the slopes", name);
    free(weight);
    free(bar_f);
    free(bar_x);
    subject_free(&s);
}

static int differences_direct(void)
{
    static const size_t atoms[] = {0, 65};
    const nb_fcalc how = {.dmin = 2.5, .wavelength = 1.3, .method = NB_FCALC_DIRECT};

    differences_of("1yjp", how, atoms, COUNT(atoms));
    return TAP_PASS;
}

static int differences_density(void)
{
    static const size_t atoms[] = {0, 65}, anisotropic[] = {500};
    const nb_fcalc how = {.dmin = 2.5, .wavelength = 1.3, .method = NB_FCALC_FFT};
    const nb_fcalc wet = {.dmin = 5, .k_sol = 0.35, .b_sol = 46, .method = NB_FCALC_FFT};

#ifndef NANOBRAG_FFTW
    return tap_skip("this build has no FFTW");
#endif
    differences_of("1yjp", how, atoms, COUNT(atoms));
    differences_of("2erl", wet, anisotropic, COUNT(anisotropic));
    return TAP_PASS;
}

/* ---- pixels -> F -> atoms ---- */

enum { SIDE = 40 };

/* The weighted sum of the pixels of an image whose F are those of the atoms. */
struct chain {
    struct subject s;
    nb_scene scene;
    double weight[SIDE * SIDE];
    size_t number;
};

static long double pixels_along(const void *context, double value)
{
    const struct chain *c = context;
    static double image[SIDE * SIDE];
    nb_array array = nb_array_f64(image, SIDE, SIDE);
    nb_scene scene = c->scene;
    double *x = malloc(c->s.numbers * sizeof *x);
    long double sum = 0;
    nb_simulator *sim = NULL;
    nb_hkl *list;

    memcpy(x, c->s.x, c->s.numbers * sizeof *x);
    x[c->number] = value;
    list = model_list(ctx, c->s.structure, &c->s.how, x);
    scene.crystal.hkl = list;
    if (nb_simulator_create(ctx, &scene, "", NULL, &sim) != NB_OK
        || nb_forward(sim, NULL, &array) != NB_OK)
        abort();
    for (int i = 0; i < SIDE * SIDE; i++) sum += (long double)c->weight[i] * image[i];
    nb_simulator_free(sim);
    nb_hkl_free(list);
    free(x);
    return sum;
}

/* dL/dF by nb_vjp(), and from it dL/d atoms. */
static double *gradient_by_pixels(const struct chain *c)
{
    const nb_array bar = nb_array_f64((double *)c->weight, SIDE, SIDE);
    double *bar_x = calloc(c->s.numbers, sizeof *bar_x);
    double *bar_f = calloc(c->s.n, sizeof *bar_f);
    nb_scene scene = c->scene;
    nb_simulator *sim = NULL;

    scene.crystal.hkl = c->s.list;
    check_ok(nb_simulator_create(ctx, &scene, "F", NULL, &sim), "a simulator, F free");
    tap_check(nb_simulator_nparam(sim) == c->s.n, "%zu free structure factors of %zu",
              nb_simulator_nparam(sim), c->s.n);
    check_ok(nb_vjp(sim, NULL, 1, &bar, bar_f), "nb_vjp");
    check_ok(nb_structure_vjp(ctx, c->s.structure, &c->s.how, NULL, c->s.list, bar_f,
                              bar_x),
             "nb_structure_vjp");
    nb_simulator_free(sim);
    free(bar_f);
    return bar_x;
}

static int pixels_to_atoms(void)
{
    static const size_t atoms[] = {1, 60};
    static const double length[NB_ATOM_NUMBERS] = {0.2, 0.2, 0.2, 20, 1};
    static const double limit[NB_ATOM_NUMBERS] = {0.25, 0.25, 0.25, 1, 0};
    struct chain c = {
        .scene = {.detector = {.nslow = SIDE, .nfast = SIDE, .pixel = 2, .distance = 90},
                  .beam = {.wavelength = 1.3}}};
    nb_crystal_info crystal;
    double *bar_x;
    uint64_t state = 21;

    c.s = make("1yjp", (nb_fcalc){.dmin = 2.2, .wavelength = 1.3, .method = LAST_METHOD});
    nb_structure_crystal(c.s.structure, &crystal);
    memcpy(c.scene.crystal.cell, crystal.cell, sizeof crystal.cell);
    c.scene.crystal.shape = NB_SHAPE_GAUSS;
    for (int k = 0; k < 3; k++) {
        c.scene.crystal.ncells[k] = 3;
        c.scene.crystal.misset[k] = 20 + 30 * k;
    }
    c.scene.oversample = 1;
    for (int i = 0; i < SIDE * SIDE; i++) c.weight[i] = noise(&state);
    bar_x = gradient_by_pixels(&c);
    for (size_t i = 0; i < COUNT(atoms); i++)
        for (size_t k = 0; k < NB_ATOM_NUMBERS; k++) {
            struct ladder ladder = {.f = pixels_along,
                                    .context = &c,
                                    .length = length[k],
                                    .limit = limit[k]};
            struct ladder_slope slope;
            double off = NAN;

            c.number = atoms[i] * NB_ATOM_NUMBERS + k;
            ladder.x = c.s.x[c.number];
            slope = ladder_run(&ladder);
            tap_check(ladder_agrees(&slope, bar_x[c.number], &off)
                          && slope.bar < 1e-4 * fabs(slope.slope),
                      "atom %zu, number %zu: %.10g, by differences %.10g +- %.2g", atoms[i],
                      k, bar_x[c.number], slope.slope, slope.bar);
        }
    free(bar_x);
    subject_free(&c.s);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"transpose", transpose},
        {"density_is_direct", density_is_direct},
        {"differences_direct", differences_direct},
        {"differences_density", differences_density},
        {"pixels_to_atoms", pixels_to_atoms},
    };

    /* thousands of short calls: threads that wait for one another cost more than they gain
     */
    (void)setenv("NANOBRAG_THREADS", "1", 1);
    return files_main(argc, argv, cases, COUNT(cases));
}
