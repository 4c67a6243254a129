/*
 * test_fcalc.c - structure factors of models: closed forms, density against direct
 * summation, symmetry, the same bits for any number of threads, and refusals.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/reflections/hkl_table.h"
#include "structure/models.h"
#include "support/files.h"
#include "support/renders.h"
#include "support/worst.h"

#ifdef NANOBRAG_FFTW
enum { HAVE_FFTW = 1 };
#else
enum { HAVE_FFTW = 0 };
#endif

static int no_fftw(void)
{
    return tap_skip("this build has no FFTW");
}

static const double pi = 3.14159265358979323846;

/* ---- closed forms ---- */

#define ATOM(number, xyz, occupancy_b, element)                                            \
    "ATOM  " number "  X   ALA A   1    " xyz occupancy_b "          " element "\n"
#define CELL_P1 "CRYST1   11.000   12.000   13.000  80.00  95.00 100.00 P 1\n"

/* f of carbon, as International Tables C (1992) give it */
static double carbon(double s2)
{
    static const double a[] = {2.31, 1.02, 1.5886, 0.865},
                        b[] = {20.8439, 10.2075, 0.5687, 51.6512};
    double f = 0.2156;

    for (int i = 0; i < 4; i++) f += a[i] * exp(-b[i] * s2 / 4);
    return f;
}

/* 1/d^2 by the formula for a triclinic cell */
static double triclinic(const double cell[6], const int hkl[3])
{
    const double ca = cos(cell[3] * pi / 180), cb = cos(cell[4] * pi / 180),
                 cg = cos(cell[5] * pi / 180);
    const double sa2 = 1 - ca * ca, sb2 = 1 - cb * cb, sg2 = 1 - cg * cg;
    const double h = hkl[0] / cell[0], k = hkl[1] / cell[1], l = hkl[2] / cell[2];

    return (h * h * sa2 + k * k * sb2 + l * l * sg2 + 2 * h * k * (ca * cb - cg)
            + 2 * k * l * (cb * cg - ca) + 2 * h * l * (ca * cg - cb))
           / (1 - ca * ca - cb * cb - cg * cg + 2 * ca * cb * cg);
}

/* One carbon, half of it there, at x = 2.2 A along a = x: F = occ f T exp(2 pi i h x/a). */
static int one_atom(void)
{
    static const char text[] =
        CELL_P1 ATOM("    1", "   2.200   0.000   0.000", "  0.50 20.00", " C");
    static const double cell[6] = {11, 12, 13, 80, 95, 100};
    const int methods = HAVE_FFTW ? 2 : 1;
    nb_status status;
    nb_structure *structure = model_of_text(ctx, text, &status);

    check_ok(status, "one atom");
    if (!structure) return TAP_PASS;
    for (int m = 0; m < methods; m++) {
        const nb_fcalc how = {.dmin = 1.5, .method = m ? NB_FCALC_FFT : NB_FCALC_DIRECT};
        nb_hkl *list = model_list(ctx, structure, &how, NULL);
        const size_t n = nb_hkl_reflections(list, NULL, NULL);
        int *hkl = malloc(n * 3 * sizeof *hkl);
        struct worst worst = {0};

        (void)nb_hkl_reflections(list, hkl, NULL);
        for (size_t i = 0; i < n; i++) {
            const double s2 = triclinic(cell, hkl + 3 * i);
            const double f = 0.5 * carbon(s2) * exp(-20 * s2 / 4);
            const double phase = 2 * pi * hkl[3 * i] * 2.2 / 11;

            worst_add(&worst, model_factors(list)[i][0], f * cos(phase), f);
            worst_add(&worst, model_factors(list)[i][1], f * sin(phase), f);
        }
        /* B is a float in gemmi, exact for 20; the density at the edge of the sphere */
        worst_check(&worst, m ? 1e-4 : 3e-14, "F of one carbon, %zu reflections, %s", n,
                    m ? "density" : "direct");
        free(hkl);
        nb_hkl_free(list);
    }
    nb_structure_free(structure);
    return TAP_PASS;
}

/* The list holds every reflection up to dmin, and no other. */
static int whole_sphere(void)
{
    static const char text[] =
        CELL_P1 ATOM("    1", "   2.200   0.000   0.000", "  1.00 20.00", " C");
    static const double cell[6] = {11, 12, 13, 80, 95, 100};
    const nb_fcalc how = {.dmin = 1.37};
    int missing = 0, beyond = 0, inside = 0;
    nb_status status;
    nb_structure *structure = model_of_text(ctx, text, &status);
    nb_hkl *list = model_list(ctx, structure, &how, NULL);

    for (int h = -14; h <= 14; h++)
        for (int k = -14; k <= 14; k++)
            for (int l = -14; l <= 14; l++) {
                const int hkl[3] = {h, k, l};
                const double s2 = triclinic(cell, hkl) * how.dmin * how.dmin;
                const int listed = nb_hkl_get(list, h, k, l, NULL);

                if (fabs(s2 - 1) < 1e-6) continue; /* the cell of a file is rounded */
                inside += s2 < 1;
                missing += s2 < 1 && s2 > 0 && !listed;
                beyond += listed && (s2 > 1 || s2 == 0);
            }
    tap_check(missing == 0 && beyond == 0 && inside > 1000,
              "%d reflections to %g A: %d are missing, %d are beyond or 0 0 0", inside,
              how.dmin, missing, beyond);
    nb_hkl_free(list);
    nb_structure_free(structure);
    return TAP_PASS;
}

/* ---- density against direct summation ---- */

static struct model_gap gap_to(const nb_structure *structure, nb_fcalc how, const double *x,
                               const nb_hkl *direct)
{
    struct model_gap gap;
    nb_hkl *list;

    how.method = NB_FCALC_FFT;
    list = model_list(ctx, structure, &how, x);
    gap = model_compare(model_factors(list), model_factors(direct), list->nfactor);
    nb_hkl_free(list);
    return gap;
}

static nb_hkl *direct_list(const nb_structure *structure, nb_fcalc how, const double *x)
{
    how.method = NB_FCALC_DIRECT;
    return model_list(ctx, structure, &how, x);
}

static struct model_gap gap_at(const nb_structure *structure, nb_fcalc how, const double *x)
{
    nb_hkl *direct = direct_list(structure, how, x);
    const struct model_gap gap = gap_to(structure, how, x, direct);

    nb_hkl_free(direct);
    return gap;
}

/* Several tolerances at one resolution. */
static void keep_tolerances(const char *name, const nb_structure *structure, double dmin,
                            double wavelength)
{
    static const double tolerances[] = {1e-3, 1e-5, 1e-7, 1e-9};
    nb_fcalc how = {.dmin = dmin, .wavelength = wavelength};
    nb_hkl *direct = direct_list(structure, how, NULL);

    for (size_t i = 0; i < COUNT(tolerances); i++) {
        struct model_gap gap;

        how.tolerance = tolerances[i];
        gap = gap_to(structure, how, NULL, direct);
        tap_note("%s to %g A, wavelength %g, tolerance %g", name, dmin, wavelength,
                 how.tolerance);
        tap_promised("R", gap.r, 0, how.tolerance);
        tap_promised("rms", gap.rms, 0, how.tolerance);
    }
    nb_hkl_free(direct);
}

static int tolerance_kept(void)
{
    if (!HAVE_FFTW) return no_fftw();
    for (size_t m = 0; model_at(m) && !model_at(m)->package; m++) {
        nb_structure *structure = model_read(ctx, model_at(m));

        keep_tolerances(model_at(m)->name, structure, model_at(m)->dmin, 0);
        keep_tolerances(model_at(m)->name, structure, 2.5, 1.3);
        keep_tolerances(model_at(m)->name, structure, 5, 0);
        nb_structure_free(structure);
    }
    return TAP_PASS;
}

static double noise(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)(*state >> 11) / 4503599627370496.0 - 1;
}

/* Atoms far from the file, sharper and broader ones: the choice of grid and radii follows.
 */
static int moved_atoms(void)
{
    nb_structure *structure;
    double *x;
    size_t n;
    uint64_t state = 5;

    if (!HAVE_FFTW) return no_fftw();
    structure = model_read(ctx, model_named("2erl"));
    n = nb_structure_natom(structure);
    x = malloc(n * NB_ATOM_NUMBERS * sizeof *x);
    nb_structure_numbers(structure, x);
    for (size_t i = 0; i < n; i++) {
        double *at = x + NB_ATOM_NUMBERS * i;

        for (int k = 0; k < 3; k++) at[k] += 4 * noise(&state);
        at[3] += 20 * (noise(&state) + 0.8);
        at[4] *= 1 + 0.5 * noise(&state);
    }
    for (int wave = 0; wave < 2; wave++) {
        const nb_fcalc how = {.dmin = 1.8, .wavelength = wave ? 1.3 : 0};
        const struct model_gap gap = gap_at(structure, how, x);

        tap_promised("R of moved atoms", gap.r, 0, 1e-5);
        tap_promised("rms of moved atoms", gap.rms, 0, 1e-5);
    }
    free(x);
    nb_structure_free(structure);
    return TAP_PASS;
}

/* An atom whose density is wider than the cell: it overlaps with its own images. */
static int wider_than_the_cell(void)
{
    static const char text[] =
        "CRYST1    4.000    5.000    6.000  90.00 100.00  90.00 P 1 21 1\n" ATOM(
            "    1", "   1.000   1.300   0.700", "  1.00300.00", " C")
            ATOM("    2", "  -9.000  31.300   2.700", "  1.00  5.00", " S");
    const nb_fcalc how = {.dmin = 1.1, .wavelength = 1.5};
    struct model_gap gap;
    nb_status status;
    nb_structure *structure;

    if (!HAVE_FFTW) return no_fftw();
    structure = model_of_text(ctx, text, &status);
    check_ok(status, "two atoms");
    gap = gap_at(structure, how, NULL);
    tap_promised("R", gap.r, 0, 1e-5);
    tap_promised("rms", gap.rms, 0, 1e-5);
    nb_structure_free(structure);
    return TAP_PASS;
}

/* ---- symmetry ---- */

static int absences_and_mates(void)
{
    nb_structure *structure = model_read(ctx, model_named("1cbs"));
    struct worst mates = {0}, equivalents = {0};

    for (int wave = 0; wave < 2; wave++) {
        const nb_fcalc how = {.dmin = 2.5, .wavelength = wave ? 1.3 : 0};
        nb_hkl *list = model_list(ctx, structure, &how, NULL);
        const size_t n = nb_hkl_reflections(list, NULL, NULL);
        int *hkl = malloc(n * 3 * sizeof *hkl), absent = 0, wrong = 0;
        double *f = malloc(n * sizeof *f), largest = 0;

        (void)nb_hkl_reflections(list, hkl, f);
        for (size_t i = 0; i < n; i++) {
            const int *at = hkl + 3 * i;
            const int zeros = (at[0] == 0) + (at[1] == 0) + (at[2] == 0);
            const int is_absent = zeros == 2 && (at[0] + at[1] + at[2]) % 2 != 0;
            double mate = NAN, other = NAN;

            absent += is_absent;
            wrong += is_absent ? f[i] != 0 : f[i] == 0;
            (void)nb_hkl_get(list, -at[0], -at[1], -at[2], &mate);
            (void)nb_hkl_get(list, -at[0], -at[1], at[2], &other);
            worst_add(&equivalents, other, f[i], 1);
            if (!wave) worst_add(&mates, mate, f[i], 1);
            largest = fmax(largest, fabs(mate - f[i]));
        }
        tap_check(absent > 30 && wrong == 0,
                  "%d systematic absences are exactly 0, %d are wrong", absent, wrong);
        tap_check(wave == 0 || largest > 0.1,
                  "F of Friedel mates differs by up to %.3g electron", largest);
        free(hkl);
        free(f);
        nb_hkl_free(list);
    }
    /* electron, of F up to 3000; rounding of sums of 4 terms */
    worst_check(&mates, 2e-12, "Friedel mates without f''");
    worst_check(&equivalents, 1e-11, "equivalent reflections");
    nb_structure_free(structure);
    return TAP_PASS;
}

/* f' and f'' that are given replace those of the wavelength. */
static int given_dispersion(void)
{
    static const char text[] =
        CELL_P1 ATOM("    1", "   0.000   0.000   0.000", "  1.00 20.00", " C");
    static const double cell[6] = {11, 12, 13, 80, 95, 100};
    static const int hkl[3] = {1, -2, 3};
    const nb_anomalous given = {"c", -1.5, 2.25};
    const nb_fcalc how = {.dmin = 2, .wavelength = 1, .anomalous = &given, .nanomalous = 1};
    nb_status status;
    nb_structure *structure = model_of_text(ctx, text, &status);
    nb_hkl *list = model_list(ctx, structure, &how, NULL);
    const double s2 = triclinic(cell, hkl), t = exp(-20 * s2 / 4);
    double f = NAN;

    (void)nb_hkl_get(list, hkl[0], hkl[1], hkl[2], &f);
    tap_close("|f + f' + i f''| T", f, hypot(carbon(s2) - 1.5, 2.25) * t, 1e-14);
    nb_hkl_free(list);
    nb_structure_free(structure);
    return TAP_PASS;
}

/* ---- threads ---- */

struct results {
    size_t n, natom;
    double *f, *dot_f, *bar_x;
};

static struct results results_of(int threads, int method)
{
    nb_context *own = renders_context(threads);
    nb_structure *structure = model_read(own, model_named("2erl"));
    const nb_fcalc how = {.dmin = 2, .wavelength = 1.3, .method = method};
    nb_hkl *list = model_list(own, structure, &how, NULL);
    struct results r = {nb_hkl_reflections(list, NULL, NULL), nb_structure_natom(structure),
                        NULL, NULL, NULL};
    const size_t numbers = r.natom * NB_ATOM_NUMBERS;
    double *dot_x = malloc(numbers * sizeof *dot_x);

    r.f = calloc(r.n, sizeof *r.f);
    r.dot_f = calloc(r.n, sizeof *r.dot_f);
    r.bar_x = calloc(numbers, sizeof *r.bar_x);
    for (size_t i = 0; i < numbers; i++) dot_x[i] = sin((double)i);
    (void)nb_hkl_reflections(list, NULL, r.f);
    if (nb_structure_jvp(own, structure, &how, NULL, list, dot_x, r.dot_f) != NB_OK
        || nb_structure_vjp(own, structure, &how, NULL, list, r.f, r.bar_x) != NB_OK)
        abort();
    free(dot_x);
    nb_hkl_free(list);
    nb_structure_free(structure);
    nb_context_free(own);
    return r;
}

static void results_free(struct results *r)
{
    free(r->f);
    free(r->dot_f);
    free(r->bar_x);
}

static int threads_same_bits(void)
{
    for (int method = NB_FCALC_DIRECT; method <= (HAVE_FFTW ? NB_FCALC_FFT : 1); method++) {
        struct results one = results_of(1, method);

        for (int threads = 2; threads <= 7; threads += 5) {
            struct results many = results_of(threads, method);

            tap_check(bits_same(one.f, many.f, one.n)
                          && bits_same(one.dot_f, many.dot_f, one.n)
                          && bits_same(one.bar_x, many.bar_x, one.natom * NB_ATOM_NUMBERS),
                      "method %d: F, tangent and gradient by %d threads", method, threads);
            results_free(&many);
        }
        results_free(&one);
    }
    return TAP_PASS;
}

/* ---- refusals ---- */

static int refusals(void)
{
    static const struct {
        nb_fcalc how;
        const char *part;
    } wrong[] = {
        {{.dmin = 0}, "dmin"},
        {{.dmin = -1}, "dmin"},
        {{.dmin = NAN}, "dmin"},
        {{.dmin = 100}, "no reflection"},
        {{.dmin = 2, .wavelength = -1}, "wavelength"},
        {{.dmin = 2, .tolerance = 1}, "tolerance"},
        {{.dmin = 2, .tolerance = NAN}, "tolerance"},
        {{.dmin = 2, .k_sol = NAN}, "solvent"},
        {{.dmin = 2, .k_sol = 0.35, .b_sol = -1}, "solvent"},
        {{.dmin = 2, .method = 9}, "method"},
        {{.dmin = 2, .nanomalous = 1, .wavelength = 1}, "wavelength"},
    };
    static const nb_anomalous unknown = {"Xx", 0, 0}, absent = {"SE", 0, 0},
                              huge = {"C", 1e9, 0};
    nb_fcalc how = {.dmin = 2, .wavelength = 1, .nanomalous = 1};
    nb_structure *structure = model_read(ctx, model_named("1yjp"));
    const size_t numbers = nb_structure_natom(structure) * NB_ATOM_NUMBERS;
    double *x = malloc(numbers * sizeof *x);
    nb_hkl *list;

    for (size_t i = 0; i < COUNT(wrong); i++)
        check_refused(nb_structure_fcalc(ctx, structure, &wrong[i].how, NULL, &list),
                      NB_ERR_ARGUMENT, wrong[i].part, "");
    check_refused(nb_structure_fcalc(ctx, structure, &(nb_fcalc){.dmin = 1e-3}, NULL,
                                     &list),
                  NB_ERR_ARGUMENT, "raise dmin", "");
    how.anomalous = &unknown;
    check_refused(nb_structure_fcalc(ctx, structure, &how, NULL, &list), NB_ERR_ARGUMENT,
                  "Xx", "no element");
    how.anomalous = &absent;
    check_refused(nb_structure_fcalc(ctx, structure, &how, NULL, &list), NB_ERR_ARGUMENT,
                  "SE", "no such atom");
    how.anomalous = &huge;
    check_refused(nb_structure_fcalc(ctx, structure, &how, NULL, &list), NB_ERR_ARGUMENT,
                  "1e+09", "1000");
    how = (nb_fcalc){.dmin = 2};
    for (int k = 0; k < NB_ATOM_NUMBERS; k++) {
        static const double bad[NB_ATOM_NUMBERS] = {NAN, 1e9, INFINITY, -50, 1e9};

        nb_structure_numbers(structure, x);
        x[3 * NB_ATOM_NUMBERS + k] = bad[k];
        check_refused(nb_structure_fcalc(ctx, structure, &how, x, &list), NB_ERR_ARGUMENT,
                      "atom 3", "expected");
    }
    check_refused(nb_structure_fcalc(ctx, NULL, &how, NULL, &list), NB_ERR_ARGUMENT,
                  "structure", "NULL");
    check_refused(nb_structure_fcalc(ctx, structure, NULL, NULL, &list), NB_ERR_ARGUMENT,
                  "how", "NULL");
    check_refused(nb_structure_fcalc(ctx, structure, &how, NULL, NULL), NB_ERR_ARGUMENT,
                  "out", "NULL");
    tap_check(nb_structure_fcalc(NULL, structure, &how, NULL, &list) == NB_ERR_ARGUMENT,
              "no context");
    free(x);
    nb_structure_free(structure);
    return TAP_PASS;
}

/* A derivative needs the list of the same call. */
static int other_lists(void)
{
    static const int one[3] = {1, 2, 3};
    static const double f = 5;
    const nb_fcalc how = {.dmin = 3}, finer = {.dmin = 2};
    nb_structure *structure = model_read(ctx, model_named("1yjp"));
    nb_hkl *list = model_list(ctx, structure, &how, NULL), *made;
    const size_t n = nb_hkl_reflections(list, NULL, NULL);
    double *bar_f = calloc(n, sizeof *bar_f);
    double *x = calloc(nb_structure_natom(structure), NB_ATOM_NUMBERS * sizeof *x);

    check_ok(nb_hkl_create(ctx, 1, one, &f, &made), "a list of one");
    check_refused(nb_structure_vjp(ctx, structure, &how, NULL, made, &f, x),
                  NB_ERR_ARGUMENT, "nb_structure_fcalc", "");
    check_refused(nb_structure_jvp(ctx, structure, &finer, NULL, list, x, bar_f),
                  NB_ERR_ARGUMENT, "nb_structure_fcalc", "2 A");
    bar_f[7] = NAN;
    check_refused(nb_structure_vjp(ctx, structure, &how, NULL, list, bar_f, x),
                  NB_ERR_ARGUMENT, "bar_f[7]", "nan");
    x[2] = INFINITY;
    check_refused(nb_structure_jvp(ctx, structure, &how, NULL, list, x, bar_f),
                  NB_ERR_ARGUMENT, "dot_x[2]", "inf");
    check_refused(nb_structure_vjp(ctx, structure, &how, NULL, list, NULL, x),
                  NB_ERR_ARGUMENT, "bar_f", "NULL");
    check_refused(nb_structure_jvp(ctx, structure, &how, NULL, NULL, x, bar_f),
                  NB_ERR_ARGUMENT, "hkl", "NULL");
    free(bar_f);
    free(x);
    nb_hkl_free(made);
    nb_hkl_free(list);
    nb_structure_free(structure);
    return TAP_PASS;
}

/* One crystal in two cells, of which the second has the axes a + c, b, c: the reflections
 * h, k, l of the first are h + l, k, l of the second. */
static const char oblique[] =
    "CRYST1   20.000   10.000   20.000  90.00 150.00  90.00 P 1           1\n"
    "ATOM      1  C   ALA A   1       1.000   2.000   3.000  1.00 10.00           C\n"
    "ATOM      2  C   ALA A   1       2.000   4.000   5.000  1.00 10.00           C\n"
    "ATOM      3  C   ALA A   1      -1.000   7.000   4.000  1.00 10.00           C\n"
    "END\n";
static const char reduced[] =
    "CRYST1   10.353   10.000   20.000  90.00  75.00  90.00 P 1           1\n"
    "ATOM      1  C   ALA A   1       3.157   2.000  -0.189  1.00 10.00           C\n"
    "ATOM      2  C   ALA A   1       5.347   4.000  -0.638  1.00 10.00           C\n"
    "ATOM      3  C   ALA A   1       3.605   7.000   2.001  1.00 10.00           C\n"
    "END\n";

/* The solvent of an oblique cell, whose mask in steps of dmin/3 would have 30 planes along
 * an axis that has reflections to 20: it is that of the other cell, but for the steps of
 * the masks. */
static int oblique_solvent(void)
{
    const nb_fcalc how = {.dmin = 1, .k_sol = 5, .b_sol = 5};
    nb_status status[2];
    nb_structure *structure[2] = {model_of_text(ctx, oblique, status),
                                  model_of_text(ctx, reduced, status + 1)};
    nb_hkl *list[2] = {NULL, NULL};
    double sum = 0, difference = 0;
    int n = 0;

    if (status[0] != NB_OK || status[1] != NB_OK) abort();
    for (int i = 0; i < 2; i++) list[i] = model_list(ctx, structure[i], &how, NULL);
    for (int h = -20; h <= 20; h++)
        for (int k = -10; k <= 10; k++)
            for (int l = -20; l <= 20; l++) {
                double f[2];

                if ((abs(h) <= 15 && abs(l) <= 15) || !nb_hkl_get(list[0], h, k, l, f)
                    || !nb_hkl_get(list[1], h + l, k, l, f + 1))
                    continue;
                n++;
                sum += f[1];
                difference += fabs(f[0] - f[1]);
            }
    tap_check(n > 300, "%d reflections are in both lists", n);
    /* masks of other steps, at their finest; numbers of other reflections make 0.6 */
    tap_close("R of the two", difference / sum, 0, 0.4);
    for (int i = 0; i < 2; i++) {
        nb_hkl_free(list[i]);
        nb_structure_free(structure[i]);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"one_atom", one_atom},
        {"whole_sphere", whole_sphere},
        {"tolerance_kept", tolerance_kept},
        {"moved_atoms", moved_atoms},
        {"wider_than_the_cell", wider_than_the_cell},
        {"absences_and_mates", absences_and_mates},
        {"given_dispersion", given_dispersion},
        {"threads_same_bits", threads_same_bits},
        {"refusals", refusals},
        {"other_lists", other_lists},
        {"oblique_solvent", oblique_solvent},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
