/*
 * test_mtz.c - reflections with a space group: MTZ written and read again, mmCIF, and what
 * is refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nanobrag_io/mtz.h"
#include "structure/models.h"
#include "support/files.h"
#include "support/worst.h"

/* A list, and the MTZ that it was written to. */
struct written {
    nb_hkl *list;
    nb_crystal_info crystal;
    char *bytes;
    size_t n;
};

static struct written write_1yjp(double wavelength)
{
    const nb_fcalc how = {.dmin = 2.5, .wavelength = wavelength};
    nb_structure *structure = model_read(ctx, model_named("1yjp"));
    nb_mtz mtz = {.wavelength = wavelength, .title = "a test", .friedel = wavelength > 0};
    const char *path = in_folder("a.mtz");
    struct written w = {.list = model_list(ctx, structure, &how, NULL)};

    nb_structure_crystal(structure, &w.crystal);
    memcpy(mtz.cell, w.crystal.cell, sizeof mtz.cell);
    mtz.space_group = w.crystal.space_group;
    check_ok(nb_mtz_write(ctx, path, &mtz, w.list), "nb_mtz_write");
    w.bytes = slurp(path, &w.n);
    nb_structure_free(structure);
    return w;
}

static void written_free(struct written *w)
{
    nb_hkl_free(w->list);
    free(w->bytes);
}

static nb_status parse(const struct written *w, const char *label, nb_crystal_info *crystal,
                       nb_hkl **out)
{
    return mtz_parse(ctx, "input",
                     &(struct mtz_bytes){w->bytes, w->n, label, NB_MERGE_NONE}, crystal,
                     out);
}

/* What is read is what was written, but for absences and the rounding to float. */
static void compare(const struct written *w, const nb_hkl *read)
{
    const size_t n = nb_hkl_reflections(w->list, NULL, NULL);
    int *hkl = malloc(n * 3 * sizeof *hkl), missing = 0, absent = 0;
    double *f = malloc(n * sizeof *f);
    struct worst worst = {0};

    (void)nb_hkl_reflections(w->list, hkl, f);
    for (size_t i = 0; i < n; i++) {
        double found = NAN;
        const int there =
            nb_hkl_get(read, hkl[3 * i], hkl[3 * i + 1], hkl[3 * i + 2], &found);

        absent += f[i] == 0;
        missing += !there;
        if (there) worst_add(&worst, found, f[i], f[i]);
    }
    tap_check(missing == absent
                  && nb_hkl_reflections(read, NULL, NULL) == n - (size_t)absent,
              "of %zu reflections %d are absent and %d missing", n, absent, missing);
    worst_check(&worst, 6e-8, "F as float32");
    free(hkl);
    free(f);
}

static int round_trip(void)
{
    for (int wave = 0; wave < 2; wave++) {
        struct written w = write_1yjp(wave ? 1.5 : 0);
        nb_crystal_info crystal = {.noperator = 0};
        nb_hkl *read;

        check_ok(parse(&w, NULL, &crystal, &read), "an MTZ");
        for (int i = 0; i < 6; i++)
            tap_close("number of the cell", crystal.cell[i], w.crystal.cell[i], 1e-4);
        tap_check(strcmp(crystal.space_group, w.crystal.space_group) == 0
                      && crystal.noperator == w.crystal.noperator,
                  "space group '%s'", crystal.space_group);
        compare(&w, read);
        nb_hkl_free(read);
        check_ok(parse(&w, wave ? "FC(+)" : "FC", NULL, &read), "by its label");
        compare(&w, read);
        nb_hkl_free(read);
        written_free(&w);
    }
    return TAP_PASS;
}

/* One of a list without phases, and in P1. */
static int plain_list(void)
{
    static const int hkl[] = {0, 0, 0, 1, 2, 3, -1, -2, -3, 2, -1, 4};
    static const double f[] = {99, 10, 10, 20};
    const nb_mtz mtz = {.cell = {20, 30, 40, 80, 90, 100}, .label = "Fmodel"};
    nb_hkl *list, *read;
    double found[3] = {NAN, NAN, NAN};

    check_ok(nb_hkl_create(ctx, 4, hkl, f, &list), "a list");
    check_ok(nb_mtz_write(ctx, in_folder("p1.mtz"), &mtz, list), "nb_mtz_write");
    check_ok(nb_mtz_read(ctx, in_folder("p1.mtz"), "Fmodel", 0, NULL, &read),
             "nb_mtz_read");
    (void)nb_hkl_get(read, -1, -2, -3, &found[0]);
    (void)nb_hkl_get(read, 1, 2, 3, &found[1]);
    (void)nb_hkl_get(read, -2, 1, -4, &found[2]);
    tap_check(found[0] == 10 && found[1] == 10 && found[2] == 20
                  && !nb_hkl_get(read, 0, 0, 0, NULL),
              "%g and %g, and the mate %g of the third; no 0 0 0", found[0], found[1],
              found[2]);
    nb_hkl_free(list);
    nb_hkl_free(read);
    return TAP_PASS;
}

/* ---- what is refused ---- */

/* Overwrites every `from` in the header by `to`, of the same length. */
static int patch(struct written *w, const char *from, const char *to)
{
    const size_t length = strlen(from);
    int count = 0;

    if (strlen(to) != length) abort();
    for (size_t i = 0; i + length <= w->n; i++) {
        if (memcmp(w->bytes + i, from, length) != 0) continue;
        memcpy(w->bytes + i, to, length);
        count++;
    }
    return count;
}

static int damaged(void)
{
    static const struct {
        const char *from, *to, *label, *part, *other;
    } damage[] = {
        {"COLUMN PHIFC                          P",
         "COLUMN PHIFC                          F", NULL, "several columns", "FC PHIFC"},
        {"COLUMN FC                             F",
         "COLUMN FC                             Q", NULL, "no column of amplitudes",
         "intensities"},
        {"COLUMN FC                             F",
         "COLUMN FC                             Q", "FC", "type Q", "FC"},
        {"COLUMN FC ", "COLUMN XX ", "FC", "no column FC", "XX"},
        {"COLUMN PHIFC ", "COLUMN M/ISYM", NULL, "unmerged", "M/ISYM"},
        {"COLUMN H                              H",
         "COLUMN H                              F", NULL, "h, k, l", "input"},
        {"'P 1 21 1'", "'P 1 77 1'", NULL, "P 1 77 1", "unknown"},
        {"90.0000", "95.0000", NULL, "symmetry", "P 1 21 1"},
        {"CELL ", "CALL ", NULL, "", "input"},
        {"NCOL ", "NCXL ", NULL, "NCOL", "input"},
        {"MTZ ", "MTX ", NULL, "neither MTZ nor mmCIF", ""},
    };

    for (size_t i = 0; i < COUNT(damage); i++) {
        struct written w = write_1yjp(0);
        nb_hkl *read = NULL;

        tap_check(patch(&w, damage[i].from, damage[i].to) > 0, "'%s' is in the file",
                  damage[i].from);
        /* the cell of the data set stands for the one that is missing */
        if (strcmp(damage[i].from, "CELL ") == 0) (void)patch(&w, "DCELL", "DCXLL");
        check_refused(parse(&w, damage[i].label, NULL, &read), NB_ERR_FORMAT,
                      damage[i].part, damage[i].other);
        tap_check(!read, "and gives no list");
        written_free(&w);
    }
    return TAP_PASS;
}

static int missing_values(void)
{
    enum { COLUMNS = 5, FIRST = 80, OF_F = 3 };
    struct written w = write_1yjp(0);
    const float nan_value = NAN;
    nb_hkl *read;
    size_t rows = 0;

    for (size_t at = FIRST; rows == 0 && at + 8 < w.n; at++)
        if (memcmp(w.bytes + at, "VERS MTZ", 8) == 0)
            rows = (at - FIRST) / (COLUMNS * sizeof(float));
    tap_check(rows > 50, "%zu rows", rows);
    for (size_t i = 1; i < rows; i++)
        memcpy(w.bytes + FIRST + (COLUMNS * i + OF_F) * sizeof(float), &nan_value,
               sizeof nan_value);
    check_ok(parse(&w, NULL, NULL, &read), "one value of all");
    tap_check(nb_hkl_reflections(read, NULL, NULL) <= 4, "and its equivalents");
    nb_hkl_free(read);
    memcpy(w.bytes + FIRST + OF_F * sizeof(float), &nan_value, sizeof nan_value);
    check_refused(parse(&w, NULL, NULL, &read), NB_ERR_FORMAT, "no value", "missing");
    written_free(&w);
    return TAP_PASS;
}

/* Batches, impossible sizes, and a file that was cut anywhere. */
static int sizes(void)
{
    struct written w = write_1yjp(0);
    size_t whole = w.n, cuts = 0;
    nb_hkl *read;

    for (size_t i = 0; i + 80 <= w.n; i++) {
        char line[80];

        if (memcmp(w.bytes + i, "NCOL ", 5) != 0) continue;
        memcpy(line, w.bytes + i, sizeof line);
        memcpy(w.bytes + i, "NCOL        5           99        2", 35);
        check_refused(parse(&w, NULL, NULL, &read), NB_ERR_FORMAT, "batches", "merge");
        memcpy(w.bytes + i, "NCOL        5   2000000000        0", 35);
        check_refused(parse(&w, NULL, NULL, &read), NB_ERR_FORMAT, "no reflections", "");
        memcpy(w.bytes + i, "NCOL       -5          -99        0", 35);
        check_refused(parse(&w, NULL, NULL, &read), NB_ERR_FORMAT, "no reflections", "");
        memcpy(w.bytes + i, line, sizeof line);
    }
    for (w.n = 0; w.n + 160 < whole; w.n += 37)
        cuts += parse(&w, NULL, NULL, &read) == NB_ERR_FORMAT;
    tap_check(cuts == (whole - 160 + 36) / 37, "%zu cut files are refused", cuts);
    w.n = whole;
    for (int byte = 4; byte < 8; byte++) { /* the place of the header */
        const char before = w.bytes[byte];

        w.bytes[byte] = (char)0xff;
        tap_check(parse(&w, NULL, NULL, &read) == NB_ERR_FORMAT, "byte %d", byte);
        w.bytes[byte] = before;
    }
    written_free(&w);
    return TAP_PASS;
}

/* ---- mmCIF ---- */

#define CIF_CELL                                                                           \
    "data_r\n_cell.length_a 40\n_cell.length_b 50\n_cell.length_c 60\n"                    \
    "_cell.angle_alpha 90\n_cell.angle_beta 90\n_cell.angle_gamma 90\n"
#define CIF_GROUP "_symmetry.space_group_name_H-M 'P 21 21 21'\n"
#define CIF_HKL   "loop_\n_refln.index_h\n_refln.index_k\n_refln.index_l\n"

static nb_status parse_cif(const char *text, const char *label, nb_hkl **out)
{
    return mtz_parse(ctx, "input",
                     &(struct mtz_bytes){text, strlen(text), label, NB_MERGE_NONE}, NULL,
                     out);
}

static int mmcif(void)
{
    static const struct {
        const char *text, *label, *part, *other;
    } bad[] = {
        {CIF_CELL CIF_GROUP "_x.y 1\n", NULL, "no reflections", "-pdb"},
        {CIF_CELL CIF_GROUP CIF_HKL "_refln.status\n1 2 3 o\n", NULL, "amplitudes", ""},
        {CIF_CELL CIF_GROUP CIF_HKL "_refln.F_meas_au\n_refln.F_calc\n1 2 3 4 5\n", NULL,
         "several columns", "F_meas_au F_calc"},
        {CIF_CELL CIF_GROUP CIF_HKL "_refln.F_meas_au\n1 2 3 ?\n", NULL, "no value", ""},
        {CIF_CELL CIF_GROUP CIF_HKL "_refln.F_meas_au\n1 2.5 3 4\n", NULL, "whole number",
         ""},
        {CIF_CELL CIF_GROUP CIF_HKL "_refln.F_meas_au\n1 2 ? 4\n", NULL, "whole number",
         ""},
        {CIF_CELL CIF_HKL "_refln.F_meas_au\n1 2 3 4\n", NULL, "space group", ""},
        {CIF_GROUP "data_r\n" CIF_HKL "_refln.F_meas_au\n1 2 3 4\n", NULL, "", "input"},
    };
    nb_hkl *read;
    double f[3] = {NAN, NAN, NAN};

    check_ok(parse_cif(CIF_CELL CIF_GROUP CIF_HKL "_refln.F_meas_au\n1 2 3 4.5\n2 0 0 ?\n",
                       NULL, &read),
             "an mmCIF of reflections");
    (void)nb_hkl_get(read, -1, 2, -3, &f[0]);
    tap_check(f[0] == 4.5 && nb_hkl_reflections(read, NULL, NULL) == 8,
              "%zu equivalents, F %g", nb_hkl_reflections(read, NULL, NULL), f[0]);
    nb_hkl_free(read);
    check_ok(parse_cif(CIF_CELL CIF_GROUP CIF_HKL
                       "_refln.pdbx_F_plus\n_refln.pdbx_F_minus\n1 2 3 4.5 6\n",
                       "pdbx_F_plus", &read),
             "mates apart");
    (void)nb_hkl_get(read, -1, -2, 3, &f[1]);
    (void)nb_hkl_get(read, -1, -2, -3, &f[2]);
    tap_check(f[1] == 4.5 && f[2] == 6, "F %g and F of the mate %g", f[1], f[2]);
    nb_hkl_free(read);
    for (size_t i = 0; i < COUNT(bad); i++)
        check_refused(parse_cif(bad[i].text, bad[i].label, &read), NB_ERR_FORMAT,
                      bad[i].part, bad[i].other);
    return TAP_PASS;
}

/* ---- arguments ---- */

static int arguments(void)
{
    static const struct {
        nb_mtz mtz;
        const char *part;
    } bad[] = {
        {{.cell = {0}}, "cell"},
        {{.cell = {20, 30, 40, 80, 90, NAN}}, "cell"},
        {{.cell = {20, 30, 40, 80, 90, 100}, .label = "F C"}, "label"},
        {{.cell = {20, 30, 40, 80, 90, 100}, .label = ""}, "label"},
        {{.cell = {20, 30, 40, 80, 90, 100}, .label = "ABCDEFGHIJKLMNOPQRSTUVWXY"},
         "label"},
        {{.cell = {20, 30, 40, 80, 90, 100}, .title = "two\nlines"}, "title"},
        {{.cell = {20, 30, 40, 80, 90, 100}, .wavelength = -1}, "wavelength"},
        {{.cell = {20, 30, 40, 80, 90, 100}, .space_group = "Q 7"}, "Q 7"},
        {{.cell = {20, 30, 40, 80, 90, 100}, .space_group = "P 2 2 2"}, "symmetry"},
    };
    static const int hkl[3] = {1, -2, 3};
    static const double f = 4;
    const nb_mtz good = {.cell = {20, 30, 40, 90, 90, 90}, .space_group = "P 2 2 2"};
    const char *path = in_folder("bad.mtz");
    nb_hkl *list;

    check_ok(nb_hkl_create(ctx, 1, hkl, &f, &list), "a list");
    for (size_t i = 0; i < COUNT(bad); i++)
        check_refused(nb_mtz_write(ctx, path, &bad[i].mtz, list), NB_ERR_ARGUMENT,
                      bad[i].part, "bad.mtz");
    check_refused(nb_mtz_write(ctx, path, &good, list), NB_ERR_FORMAT, "asymmetric unit",
                  "P 2 2 2");
    check_refused(nb_mtz_write(ctx, in_folder("none/x.mtz"),
                               &(nb_mtz){.cell = {20, 30, 40, 80, 90, 100}}, list),
                  NB_ERR_FILE, "x.mtz", "");
    check_refused(nb_mtz_write(ctx, NULL, &good, list), NB_ERR_ARGUMENT, "path", "");
    check_refused(nb_mtz_write(ctx, path, NULL, list), NB_ERR_ARGUMENT, "mtz", "");
    check_refused(nb_mtz_write(ctx, path, &good, NULL), NB_ERR_ARGUMENT, "hkl", "");
    tap_check(nb_mtz_write(NULL, path, &good, list) == NB_ERR_ARGUMENT, "no context");
    nb_hkl_free(list);
    check_refused(nb_mtz_read(ctx, in_folder("missing.mtz"), NULL, 0, NULL, &list),
                  NB_ERR_FILE, "missing.mtz", "");
    check_refused(nb_mtz_read(ctx, NULL, NULL, 0, NULL, &list), NB_ERR_ARGUMENT, "path",
                  "");
    check_refused(nb_mtz_read(ctx, path, NULL, 0, NULL, NULL), NB_ERR_ARGUMENT, "out", "");
    tap_check(access(path, F_OK) != 0, "no file was written");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"round_trip", round_trip}, {"plain_list", plain_list},
        {"damaged", damaged},       {"missing_values", missing_values},
        {"sizes", sizes},           {"mmcif", mmcif},
        {"arguments", arguments},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
