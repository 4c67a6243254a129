/*
 * test_reflections.c - which column of a file gives F, and what becomes of rows that name
 * one reflection: reflections of mmCIF and MTZ before they are expanded.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_io/gemmi/gemmi.h"
#include "nanobrag_io/mtz.h"
#include "structure/models.h"
#include "support/files.h"

#define HEAD                                                                               \
    "data_r\n_cell.length_a 30\n_cell.length_b 35\n_cell.length_c 45\n"                    \
    "_cell.angle_alpha 90\n_cell.angle_beta 90\n_cell.angle_gamma 90\n"                    \
    "_symmetry.space_group_name_H-M 'P 21 21 21'\n"
#define HKL "loop_\n_refln.index_h\n_refln.index_k\n_refln.index_l\n"

/* F of 1 2 3 and of -1 -2 -3, of a file; NaN where they are not listed. */
struct pair {
    double f[2];
};

static struct pair pair_of(const nb_hkl *list)
{
    struct pair pair = {{NAN, NAN}};

    (void)nb_hkl_get(list, 1, 2, 3, &pair.f[0]);
    (void)nb_hkl_get(list, -1, -2, -3, &pair.f[1]);
    return pair;
}

static nb_status parse(const char *text, const char *label, int merge, nb_hkl **out)
{
    return mtz_parse(ctx, "input", &(struct mtz_bytes){text, strlen(text), label, merge},
                     NULL, out);
}

static void check_pair(struct pair pair, double plus, double minus)
{
    tap_check(isnan(plus) == isnan(pair.f[0]) && isnan(minus) == isnan(pair.f[1]),
              "F %g and %g of the mate", pair.f[0], pair.f[1]);
    if (!isnan(plus)) tap_close("F of 1 2 3", pair.f[0], plus, 1e-12);
    if (!isnan(minus)) tap_close("F of -1 -2 -3", pair.f[1], minus, 1e-12);
}

static int columns_of_mmcif(void)
{
    static const struct {
        const char *text, *label;
        double plus, minus;
        const char *said; /* NULL: nothing */
    } cases[] = {
        {HEAD HKL "_refln.F_meas_au\n1 2 3 4\n", NULL, 4, 4, NULL},
        {"\xEF\xBB\xBF" HEAD HKL "_refln.F_meas_au\n1 2 3 4\n", NULL, 4, 4, NULL},
        {HEAD HKL "_refln.F_squared_meas\n_refln.F_calc\n1 2 3 100 9\n", NULL, 10, 10,
         "root of the intensities in column F_squared_meas, not the calculated F_calc"},
        {HEAD HKL "_refln.F_squared_meas\n_refln.F_calc\n1 2 3 100 9\n", "F_calc", 9, 9,
         NULL},
        {HEAD HKL "_refln.F_squared_meas\n_refln.F_meas\n1 2 3 100 9\n", NULL, 9, 9, NULL},
        {HEAD HKL "_refln.intensity_meas\n1 2 3 100\n2 2 3 -4\n3 2 3 -0.1\n", NULL, 10, 10,
         "negative intensities in column intensity_meas: 2; F is 0"},
        {HEAD HKL "_refln.pdbx_I_plus\n_refln.pdbx_I_minus\n1 2 3 100 81\n", NULL, 10, 9,
         "pdbx_I_plus"},
        {HEAD HKL "_refln.pdbx_I_plus\n_refln.pdbx_I_minus\n1 2 3 -1 81\n", "pdbx_I_minus",
         0, 9, "negative intensities in column pdbx_I_plus: 1;"},
        {HEAD HKL "_refln.pdbx_F_minus\n_refln.pdbx_F_plus\n1 2 3 4 5\n", NULL, 5, 4, NULL},
        {HEAD HKL "_refln.pdbx_F_minus\n_refln.pdbx_F_plus\n1 2 3 4 ?\n", NULL, NAN, 4,
         NULL},
        {HEAD HKL "_refln.pdbx_F_plus\n1 2 3 4\n", NULL, 4, 4, "one Friedel mate"},
        {HEAD HKL "_refln.F_calc\n1 2 3 4\n", NULL, 4, 4, NULL},
        {HEAD HKL "_refln.F_meas_au\n1 2 3 -4\n2 2 3 -5\n3 3 3 6\n", NULL, -4, -4,
         "negative F in column F_meas_au: 2; the image uses F squared"},
        {HEAD HKL "_refln.F_meas_au\n1 2 3 4\ndata_s\n" HKL "_refln.F_meas_au\n1 2 3 5\n",
         NULL, 4, 4, "only the first of 2 blocks"},
        {"data_a\n" HKL "_refln.F_meas_au\n1 2 3 4\n" HEAD, NULL, 4, 4, NULL},
        {HEAD HKL "_refln.F_meas_au\n_refln.F_meas_sigma_au\n1 2 3 4 0\n2 2 3 5 -1\n"
                  "2 2 4 5 0.1\n2 2 5 ? 0\n2 2 6 5 ?\n",
         NULL, 4, 4, "column F_meas_au with a sigma of 0 or less"},
        {HEAD HKL "_refln.pdbx_I_plus\n_refln.pdbx_I_plus_sigma\n_refln.pdbx_I_minus\n"
                  "_refln.pdbx_I_minus_sigma\n1 2 3 100 1 81 0\n",
         NULL, 10, 9, "unmeasured reflections: 1; the run"},
    };
    nb_context *const plain = ctx;

    ctx = model_listener();
    for (size_t i = 0; i < COUNT(cases); i++) {
        nb_hkl *list;
        const char *heard;

        check_ok(parse(cases[i].text, cases[i].label, NB_MERGE_NONE, &list), "an mmCIF");
        heard = model_heard();
        check_pair(pair_of(list), cases[i].plus, cases[i].minus);
        tap_check(cases[i].said ? strstr(heard, cases[i].said) != NULL : !*heard,
                  "case %zu says '%s'", i, heard);
        nb_hkl_free(list);
    }
    nb_context_free(ctx);
    ctx = plain;
    return TAP_PASS;
}

static int refused_columns(void)
{
    static const struct {
        const char *text, *label, *part, *other;
    } bad[] = {
        {HEAD HKL "_refln.F_squared_meas\n_refln.intensity_meas\n1 2 3 4 5\n", NULL,
         "several columns", "F_squared_meas intensity_meas"},
        {HEAD HKL "_refln.F_meas\n_refln.pdbx_F_plus\n1 2 3 4 5\n", NULL, "several columns",
         "F_meas pdbx_F_plus"},
        {HEAD HKL "_refln.F_meas_sigma_au\n1 2 3 4\n", NULL, "no column of amplitudes",
         "F_meas_sigma_au"},
        {HEAD HKL "_refln.F_meas_sigma_au\n1 2 3 4\n", "F_meas_sigma_au", "no amplitude",
         "F_meas_sigma_au"},
        {HEAD "loop_\n_refln.index_h\n_refln.F_meas\n1 2\n", NULL, "index_k", ""},
        {HEAD HKL "_refln.F_meas\n1 2 3 4\n1 2 4 four\n", NULL, "F_meas of row 2",
         "'four', expected a number"},
        {HEAD HKL "_refln.F_meas\n1 2 3 '4'\n", NULL, "F_meas of row 1",
         "expected a number"},
    };
    nb_hkl *list;

    for (size_t i = 0; i < COUNT(bad); i++)
        check_refused(parse(bad[i].text, bad[i].label, NB_MERGE_NONE, &list), NB_ERR_FORMAT,
                      bad[i].part, bad[i].other);
    return TAP_PASS;
}

/* An MTZ of one row, 1 2 3, in P 21 21 21, of two columns. */
static nb_status parse_mtz(const char *const label[2], char type, const float value[2],
                           const char *named, nb_hkl **out)
{
    static const int hkl[] = {1, 2, 3};
    struct gemmi_mtz mtz = {.title = "",
                            .space_group = "P 21 21 21",
                            .cell = {30, 35, 45, 90, 90, 90},
                            .ncolumn = 2,
                            .type = {type, type},
                            .n = 1,
                            .hkl = hkl,
                            .value = value};
    char *bytes, why[GEMMI_WHY];
    nb_status status;
    size_t n;

    for (int i = 0; i < 2; i++)
        (void)strncpy(mtz.label[i], label[i], sizeof mtz.label[i] - 1);
    check_ok(gemmi_mtz_make(&mtz, &bytes, &n, why), "an MTZ");
    status = mtz_parse(ctx, "input", &(struct mtz_bytes){bytes, n, named, NB_MERGE_NONE},
                       NULL, out);
    free(bytes);
    return status;
}

static int columns_of_mtz(void)
{
    static const struct {
        const char *label[2];
        char type;
        const char *named;
        double plus, minus;
    } cases[] = {
        {{"F(+)", "F(-)"}, 'G', NULL, 9, 16},
        {{"F(-)", "F(+)"}, 'G', NULL, 16, 9},
        {{"F(+)", "F(-)"}, 'G', "F(-)", 9, 16},
        {{"Fplus", "Fminus"}, 'G', NULL, 9, 16},
        {{"Fminus", "Fplus"}, 'G', "Fplus", 16, 9},
        {{"FPLUS", "FMINUS"}, 'G', NULL, 9, 16},
        {{"F_pk_plus", "F_pk_minus"}, 'G', NULL, 9, 16},
        {{"I(+)", "I(-)"}, 'K', NULL, 3, 4},
        {{"IMEAN", "FC"}, 'J', "IMEAN", 3, 3},
    };
    static const float value[2] = {9, 16};
    nb_hkl *list;

    for (size_t i = 0; i < COUNT(cases); i++) {
        check_ok(parse_mtz(cases[i].label, cases[i].type, value, cases[i].named, &list),
                 cases[i].label[0]);
        check_pair(pair_of(list), cases[i].plus, cases[i].minus);
        nb_hkl_free(list);
    }
    check_refused(parse_mtz((const char *const[2]){"Fa", "Fb"}, 'G', value, NULL, &list),
                  NB_ERR_FORMAT, "several columns", "Fa Fb");
    check_refused(parse_mtz((const char *const[2]){"A", "B"}, 'P', value, NULL, &list),
                  NB_ERR_FORMAT, "no column of amplitudes", "A B");
    return TAP_PASS;
}

/* ---- rows that disagree ---- */

#define MEAS HEAD HKL "_refln.F_meas_au\n"

static int merged(void)
{
    static const struct {
        const char *text;
        int merge;
        double plus, minus;
    } cases[] = {
        {MEAS "1 2 3 10\n-1 -2 3 11\n1 -2 3 15\n", NB_MERGE_MEAN, 12, 12},
        {MEAS "1 2 3 10\n-1 -2 3 11\n1 -2 3 15\n", NB_MERGE_FIRST, 10, 10},
        {MEAS "1 2 3 10\n-1 -2 3 11\n1 -2 3 15\n", NB_MERGE_LAST, 15, 15},
        {MEAS "1 2 3 10\n-1 -2 3 10\n-1 -2 -3 10\n1 2 3 10.000001\n", NB_MERGE_NONE, 10,
         10},
        {MEAS "1 2 3 10\n-1 -2 -3 14\n", NB_MERGE_MEAN, 12, 12},
        {MEAS "1 2 3 10\n-1 -2 -3 14\n", NB_MERGE_MATES, 10, 14},
        {MEAS "1 2 3 10\n", NB_MERGE_MATES, 10, 10},
        {MEAS "-1 -2 -3 10\n2 2 3 4\n-2 -2 -3 5\n", NB_MERGE_MATES, 10, 10},
    };
    nb_hkl *list;

    for (size_t i = 0; i < COUNT(cases); i++) {
        check_ok(parse(cases[i].text, NULL, cases[i].merge, &list), "rows");
        check_pair(pair_of(list), cases[i].plus, cases[i].minus);
        nb_hkl_free(list);
    }
    return TAP_PASS;
}

static int disagreeing(void)
{
    static const struct {
        const char *text;
        int merge;
        const char *part, *other;
    } bad[] = {
        {MEAS "-1 -2 3 11\n1 2 3 10\n3 1 4 30\n", NB_MERGE_NONE,
         "F of -1 -2 3 in row 1 is 11, but F of 1 2 3 in row 2 is 10", "-merge mean"},
        {MEAS "1 2 3 10\n3 1 4 30\n1 2 3 10.01\n", NB_MERGE_NONE, "in row 1", "in row 3"},
        {MEAS "1 2 3 10\n1 2 3 11\n3 1 4 30\n3 -1 4 31\n5 5 5 1\n5 5 -5 2\n", NB_MERGE_NONE,
         "in row 2 is 11", "2 more reflections"},
        {MEAS "1 2 3 10\n-1 -2 -3 11\n", NB_MERGE_NONE, "Friedel mates", "-merge mates"},
        {MEAS "1 2 3 10\n1 2 3 11\n", NB_MERGE_MATES, "one reflection", "row 2"},
        /* centric: 0 -2 -3 is 0 2 3 by the group */
        {HEAD HKL "_refln.pdbx_F_plus\n_refln.pdbx_F_minus\n0 2 3 10 11\n", NB_MERGE_NONE,
         "F of 0 2 3 in row 1 is 10", "0 -2 -3 in row 1 is 11"},
    };
    nb_hkl *list = NULL;

    for (size_t i = 0; i < COUNT(bad); i++) {
        check_refused(parse(bad[i].text, NULL, bad[i].merge, &list), NB_ERR_FORMAT,
                      bad[i].part, bad[i].other);
        tap_check(!list, "and gives no list");
    }
    check_refused(nb_mtz_read(ctx, "x", NULL, NB_MERGE_MATES + 1, NULL, &list),
                  NB_ERR_ARGUMENT, "merge", "");
    return TAP_PASS;
}

/* A reflection of which the mate alone was measured is written and read again. */
static int mate_alone(void)
{
    static const char text[] = HEAD HKL "_refln.pdbx_F_plus\n_refln.pdbx_F_minus\n"
                                        "1 2 3 ? 52\n3 1 4 30 ?\n2 2 2 7 8\n";
    nb_mtz mtz = {.cell = {30, 35, 45, 90, 90, 90}, .space_group = "P 21 21 21"};
    nb_hkl *list, *again;

    check_ok(parse(text, NULL, NB_MERGE_NONE, &list), "one mate alone");
    for (mtz.friedel = 0; mtz.friedel < 2; mtz.friedel++) {
        double f = NAN;

        check_ok(nb_mtz_write(ctx, in_folder("a.mtz"), &mtz, list), "nb_mtz_write");
        check_ok(nb_mtz_read(ctx, in_folder("a.mtz"), NULL, NB_MERGE_NONE, NULL, &again),
                 "nb_mtz_read");
        check_pair(pair_of(again), mtz.friedel ? NAN : 52, 52);
        (void)nb_hkl_get(again, 3, 1, 4, &f);
        tap_check(nb_hkl_get(again, -3, -1, -4, NULL) == !mtz.friedel,
                  "the mate of 3 1 4 is there unless mates are apart");
        tap_close("F of 3 1 4", f, 30, 1e-12);
        nb_hkl_free(again);
    }
    nb_hkl_free(list);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"columns_of_mmcif", columns_of_mmcif}, {"refused_columns", refused_columns},
        {"columns_of_mtz", columns_of_mtz},     {"merged", merged},
        {"disagreeing", disagreeing},           {"mate_alone", mate_alone},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
