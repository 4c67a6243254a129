/*
 * test_readers.c - the readers of io.h: round trips, nanoBragg's own files, and damaged
 * files. Tables are in test_tables.c, writers are tested by test_writers.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "nanobrag_io/parse.h"
#include "support/files.h"
#include "support/tap.h"

#define GOLDEN(file) TEST_DATA_DIR "/golden/" file

/* ---- reflections ---- */

static int hkl_from_memory(void)
{
    static const int hkl[] = {1, -2, 3, 0, 0, 0, 1, -2, 3};
    static const double f[] = {1.5, -7, 2.5};
    static const int far[] = {100001, 0, 0}, wide[] = {-99999, 0, 0, 99999, 9999, 1};
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    nb_hkl *made = NULL;
    nb_hkl_info info;
    double value = 99;

    check_ok(nb_hkl_create(ctx, 3, hkl, f, &made), "create");
    nb_hkl_info_get(made, &info);
    tap_check(info.count == 3, "count %zu expected 3", info.count);
    tap_check(info.min[0] == 0 && info.max[0] == 1 && info.min[1] == -2 && info.max[1] == 0
                  && info.min[2] == 0 && info.max[2] == 3,
              "bounds 0..1, -2..0, 0..3");
    tap_check(nb_hkl_get(made, 0, 0, 0, &value) && value == -7, "F(0 0 0) is -7");
    tap_check(nb_hkl_get(made, 1, -2, 3, &value) && value == 2.5, "the last of two F wins");
    value = 99;
    tap_check(!nb_hkl_get(made, 1, 0, 0, &value) && value == 99, "not listed: untouched");
    tap_check(!nb_hkl_get(made, 2, 0, 0, &value) && !nb_hkl_get(made, 0, -3, 0, &value)
                  && !nb_hkl_get(made, 0, 0, -2147483647, &value) && value == 99,
              "outside the box: untouched");
    nb_hkl_free(made);
    for (size_t i = 0; i < COUNT(bad); i++)
        check_refused(nb_hkl_create(ctx, 1, hkl, bad + i, &made), NB_ERR_ARGUMENT,
                      "reflection 0 (1 -2 3)", "finite");
    check_refused(nb_hkl_create(ctx, 1, far, f, &made), NB_ERR_ARGUMENT, "100001",
                  "beyond");
    check_refused(nb_hkl_create(ctx, 2, wide, f, &made), NB_ERR_FORMAT, "box", "cells");
    check_refused(nb_hkl_create(ctx, 0, hkl, f, &made), NB_ERR_ARGUMENT, "n is 0", "");
    check_refused(nb_hkl_create(ctx, 1, NULL, f, &made), NB_ERR_ARGUMENT, "NULL", "");
    tap_check(nb_hkl_create(NULL, 1, hkl, f, &made) == NB_ERR_ARGUMENT && !made,
              "no context");
    return 0;
}

static int hkl_text(void)
{
    static const char *const texts[] = {
        "1 2 3 4.5\n-1 0 0 9\n",
        "1 2 3 4.5\r\n-1 0 0 9\r\n",
        "1 2 3 4.5\n-1 0 0 9",
        "# h k l F\n\n 1 2\t3 4.5 \n  # end\n-1 0 0 9\n\n",
        "1.0 2. 3e0 4.5\n-1 -0 +0 9",
        "\357\273\2771 2 3 4.5\n-1 0 0 9\n",
        "1 2 3 4.5\n-1 0 0 9\nEND of list\n",
        "H K L FOBS SIG\n1 2 3 4.5 0.1\n-1 0 0 9 0.2\n",
        "1 2 3 4.5 7 7 7 7\n-1 0 0 9 7 7 7 7",
        "1 2 3 4.5 free\n-1 0 0 9 # strong\n",
        "1 2 3 4.5 -1 0 0 9\n",
        "1 2 3\n4.5\n-1\n0\n0\n9\n",
    };
    /* the last two are groups on one line and over several, as only nanoBragg has them */
    const size_t lists = COUNT(texts) - 2;

    for (size_t i = 0; i < COUNT(texts); i++) {
        nb_hkl *hkl = NULL;
        nb_hkl_info info = {0, {0}, {0}};
        double a = 0, b = 0;

        put(in_folder("list.hkl"), texts[i], strlen(texts[i]));
        check_ok((i < lists ? nb_hkl_read
                            : nb_hkl_read_nanobragg)(ctx, in_folder("list.hkl"), &hkl),
                 "read");
        nb_hkl_info_get(hkl, &info);
        tap_check(info.count == 2 && nb_hkl_get(hkl, 1, 2, 3, &a)
                      && nb_hkl_get(hkl, -1, 0, 0, &b) && a == 4.5 && b == 9,
                  "text %zu: 2 reflections, F %g and %g expected 4.5 and 9", i, a, b);
        nb_hkl_free(hkl);
    }
    return 0;
}

static void refuses_list(nb_status (*read)(nb_context *, const char *, nb_hkl **),
                         const struct refused_file *refusal)
{
    nb_hkl *hkl;

    put_refused(in_folder("bad.hkl"), refusal);
    check_refused(read(ctx, in_folder("bad.hkl"), &hkl), NB_ERR_FORMAT, "/bad.hkl",
                  refusal->part);
    tap_check(!hkl, "no object");
}

/* What the reader of nanoBragg's groups refuses, and the other one reads. */
static int hkl_groups_refused(void)
{
    static const struct refused_file cases[] = {
        {"1 2 3 4\n1 2 3 4 5\n", 0,
         "line 2: the line has 5 columns, expected h k l F; keep the first four"},
        {"1 2 3 4 5 6 7\n", 0, "line 1: the line has 7 columns"},
        {"H K L F\n1 2 3 4\n", 0, "line 1: 'H' is no number"},
    };
    nb_hkl *hkl;

    for (size_t i = 0; i < COUNT(cases); i++) {
        refuses_list(nb_hkl_read_nanobragg, cases + i);
        check_ok(nb_hkl_read(ctx, in_folder("bad.hkl"), &hkl), "a reflection a line");
        nb_hkl_free(hkl);
    }
    return 0;
}

static int hkl_refused(void)
{
    static const struct refused_file cases[] = {
        {"1 2 3 4\n1 2 3\n4\n", 0,
         "line 2: the line has 3 columns, expected h k l F; complete"},
        {"1 2 3\n", 0, "line 1: the line has 3 columns"},
        {"h k l F\nindex index index electron\n1 2 3 4\n", 0, "line 2: words ('index')"},
        {"h k l F\n", 0, "no reflections"},
        {"l 2 3 4\n1 2 3 4\n", 0, "line 1: 'l' is no number"},
        {"# c\n\n1 2 3 4\n1", 0, "line 4: the line has 1 column,"},
        {"0.4 1 2 3\n", 0, "line 1: index 0.4"},
        {"1 2 3 4\r\n1 2 3.5 4\r\n", 0, "line 2: index 3.5"},
        {"1 2 3 nan\n", 0, "line 1: F is 'nan'"},
        {"1 2 3 -inf\n", 0, "line 1: F is '-inf'"},
        {"1 2 3 1e999\n", 0, "line 1: F is '1e999'"},
        {"1 2 3 4\n\033[2J 2 3 4\n5 6 7 8\n", 0, "line 2: '?[2J' is no number"},
        {"100001 2 3 4\n", 0, "line 1: index 100001 is beyond"},
        {"99999999999999999999 2 3 4\n", 0, "line 1: index 99999999999999999999 is beyond"},
        {"", 0, "no reflections"},
        {"# nothing\n\n", 0, "no reflections"},
        {"1 2 3 4\n\0\1\2\3", 12, "binary data (a NUL at byte 8)"},
        {"-99999 0 0 1\n99999 9999 1 1\n", 0, "box of more than 268435456 cells"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) refuses_list(nb_hkl_read, cases + i);
    return 0;
}

static int hkl_golden(void)
{
    nb_hkl *hkl = NULL;
    nb_hkl_info info = {0, {0}, {0}};
    double f = 0;

    check_ok(nb_hkl_read(ctx, GOLDEN("gap.hkl"), &hkl), "gap.hkl");
    nb_hkl_info_get(hkl, &info);
    tap_check(nb_hkl_get(hkl, 1, 1, 1, &f), "1 1 1 is listed");
    tap_close("F(1 1 1), listed twice", f, 333.25, 0);
    tap_check(info.count > 1000, "%zu reflections, expected more than 1000", info.count);
    nb_hkl_free(hkl);
    return 0;
}

/* ---- dumps ---- */

static int fdump_golden(void)
{
    nb_hkl *hkl = NULL;
    nb_hkl_info info = {0, {0}, {0}};
    double f = 0;
    size_t n;
    char *bytes = slurp(GOLDEN("Fpre.bin"), &n);

    check_ok(nb_fdump_read(ctx, GOLDEN("Fpre.bin"), &hkl), "Fpre.bin");
    nb_hkl_info_get(hkl, &info);
    tap_check(info.count == 3315, "%zu listed, expected 3315", info.count);
    tap_check(info.min[0] == -6 && info.max[1] == 7 && info.max[2] == 8, "box -6..6 .. 8");
    tap_check(nb_hkl_get(hkl, -6, -7, -8, &f) && f == 16, "first F %g expected 16", f);
    tap_check(nb_hkl_get(hkl, -6, -7, -7, &f) && fabs(f - 106.3) < 1e-12, "second F %g", f);
    check_ok(nb_fdump_write(ctx, in_folder("F.bin"), hkl, 0, NB_PROFILE_NANOBRAGG),
             "write");
    tap_check(n == 32272 && holds(in_folder("F.bin"), bytes, n), "the same %zu bytes", n);
    nb_hkl_free(hkl);
    free(bytes);
    return 0;
}

/* two reflections at the ends of a 1 x 1 x 4 box, 7 between them */
static nb_status write_small(int profile)
{
    static const int hkl[] = {0, 0, -1, 0, 0, 2};
    static const double f[] = {7, 0.045};
    nb_hkl *made;
    nb_status status = nb_hkl_create(ctx, 2, hkl, f, &made);

    if (status != NB_OK) return status;
    status = nb_fdump_write(ctx, in_folder("F.bin"), made, 2.5, profile);
    nb_hkl_free(made);
    return status;
}

static int fdump_round_trip(void)
{
    static const char head[] = "0 0 0 0 -1 2\n\f";
    static const double expected[] = {7, 2.5, 2.5, 0.045};
    static const size_t sizes[] = {14 + 4 * 8 + 10, 14 + 2 * 2 * 5 * 8};

    for (int profile = 0; profile < 2; profile++) {
        nb_hkl *hkl = NULL;
        nb_hkl_info info = {0, {0}, {0}};
        size_t n;
        char *bytes;

        check_ok(write_small(profile), "write");
        bytes = slurp(in_folder("F.bin"), &n);
        tap_check(n == sizes[profile], "%zu bytes expected %zu", n, sizes[profile]);
        tap_check(memcmp(bytes, head, 14) == 0, "header");
        /* the sum was made with Python's zlib */
        if (profile == NB_PROFILE_NANOBRAG)
            tap_check(memcmp(bytes + 46, "NBSUM1\xf4\x3f\x57\x37", 10) == 0,
                      "tag and checksum");
        free(bytes);
        check_ok(nb_fdump_read(ctx, in_folder("F.bin"), &hkl), "read");
        nb_hkl_info_get(hkl, &info);
        tap_check(info.count == 4, "%zu listed, expected 4", info.count);
        for (int l = 0; l < 4; l++) {
            double f = 0;

            tap_check(nb_hkl_get(hkl, 0, 0, l - 1, &f) && f == expected[l],
                      "F(0 0 %d) %g expected %g", l - 1, f, expected[l]);
        }
        nb_hkl_free(hkl);
    }
    return 0;
}

/* fill the file with `n` bytes of a good dump, one byte changed */
static nb_status read_changed(const char *good, size_t n, size_t at, char by)
{
    nb_hkl *hkl;
    char *bytes = malloc(n + 1);
    nb_status status;

    if (!bytes) abort();
    memcpy(bytes, good, n);
    if (by) bytes[at] = (char)(bytes[at] ^ by);
    put(in_folder("F.bin"), bytes, n);
    free(bytes);
    status = nb_fdump_read(ctx, in_folder("F.bin"), &hkl);
    nb_hkl_free(hkl);
    return status;
}

static int fdump_damaged(void)
{
    size_t n;
    int caught = 0;
    char *good;

    check_ok(write_small(NB_PROFILE_NANOBRAG), "write");
    good = slurp(in_folder("F.bin"), &n);
    for (size_t at = 14; at < n; at++)
        for (int bit = 0; bit < 8; bit++)
            caught += read_changed(good, n, at, (char)(1 << bit)) == NB_ERR_FORMAT;
    tap_check(caught == 8 * 42, "%d of %d flipped bits are caught", caught, 8 * 42);
    check_refused(read_changed(good, n, 20, 1), NB_ERR_FORMAT, "/F.bin", "damaged");
    caught = 0;
    for (size_t length = 0; length < n; length++)
        caught += read_changed(good, length, 0, 0) == NB_ERR_FORMAT;
    tap_check(caught == (int)n, "%d of %zu cut files are caught", caught, n);
    check_refused(read_changed(good, n - 1, 0, 0), NB_ERR_FORMAT, "41 bytes",
                  "expected 42, or 160");
    good = realloc(good, n + 400);
    if (!good) abort();
    memset(good + n, 0, 400);
    check_refused(read_changed(good, n + 400, 0, 0), NB_ERR_FORMAT, "more than 160 bytes",
                  "expected 42, or 160");
    free(good);
    return 0;
}

static int fdump_refused(void)
{
    static const struct refused_file cases[] = {
        {"", 0, "not a binary dump"},
        {"1 2 3 4\n", 0, "not a binary dump"},
        {"0 0 0 0 0 0\n", 0, "not a binary dump"},
        {"0 0 0 0 0 0 \n\f12345678NBSUM1abcd", 0, "not a binary dump"},
        {"0  0 0 0 0 0\n\f12345678NBSUM1abcd", 0, "not a binary dump"},
        {"1 0 0 0 0 0\n\f12345678NBSUM1abcd", 0, "not a binary dump"},
        {"0 100001 0 0 0 0\n\f12345678", 0, "not a binary dump"},
        {"0 0 0 0 0 0\n\f12345678NBSUM1abcd", 0, "checksum"},
        {"0 0 0 0 0 0\n\f12345678", 0, "8 bytes after the header, expected 18, or 64"},
        {"-99999 99999 -99999 99999 -99999 99999\n\f", 0, "0 bytes after the header"},
    };
    nb_hkl *hkl;
    char nan[14 + 64] = "0 0 0 0 0 0\n\f";

    for (size_t i = 0; i < COUNT(cases); i++) {
        put_refused(in_folder("F.bin"), cases + i);
        check_refused(nb_fdump_read(ctx, in_folder("F.bin"), &hkl), NB_ERR_FORMAT, "/F.bin",
                      cases[i].part);
    }
    memset(nan + 13, 0xff, 8);
    check_refused(fdump_parse(ctx, "N.bin", nan, 13 + 64, &hkl), NB_ERR_FORMAT,
                  "N.bin: F of", "finite");
    return 0;
}

/* nanoBragg skips bytes of the first F that look like white space */
static int fdump_first_byte_white(void)
{
    char bytes[13 + 64] = "0 0 0 0 0 0\n\f";
    const unsigned char f[8] = {0x0a, 0x0c, 0x0a, 0x20, 0x09, 0x0a, 0xa7, 0x3f};
    double expected, found = 0;
    nb_hkl *hkl = NULL;

    memcpy(bytes + 13, f, 8);
    memcpy(&expected, f, 8);
    check_ok(fdump_parse(ctx, "W.bin", bytes, sizeof bytes, &hkl), "read");
    tap_check(nb_hkl_get(hkl, 0, 0, 0, &found), "listed");
    tap_close("F", found, expected, 0);
    nb_hkl_free(hkl);
    return 0;
}

/* ---- matrices ---- */

static int matrix_golden(void)
{
    static const double expected[] = {0.03432, 0.00451, -0.00187, -0.00693, 0.03025,
                                      0.00594, 0.00231, -0.00528, 0.02739};
    double m[9] = {0};

    check_ok(nb_matrix_read(ctx, GOLDEN("A.mat"), m), "A.mat");
    for (int i = 0; i < 9; i++) tap_close("element", m[i], expected[i], 0);
    put(in_folder("A.mat"), "# c\r\n1 2 3 4\r\n5 6 7 8 9 rest", 28);
    check_ok(nb_matrix_read(ctx, in_folder("A.mat"), m), "nine numbers on two lines");
    tap_check(m[0] == 1 && m[8] == 9, "1 .. 9");
    return 0;
}

static int matrix_refused(void)
{
    static const struct refused_file cases[] = {
        {"", 0, "ends after 0 numbers"},
        {"1 2 3\n4 5 6\n7 8", 0, "line 3: the file ends after 8 numbers"},
        {"1 2 3\n4 five 6\n7 8 9", 0,
         "line 2: 'five' is no finite number, expected number 5"},
        {"1 2 3\n4 nan 6\n7 8 9", 0, "line 2: 'nan'"},
        {"0.1-0.2 3 4 5 6 7 8 9 10", 0, "line 1: '0.1-0.2'"},
        {"1 2 3\0 4 5 6 7 8 9", 19, "binary"},
    };
    double m[9] = {42};

    for (size_t i = 0; i < COUNT(cases); i++) {
        put_refused(in_folder("A.mat"), cases + i);
        check_refused(nb_matrix_read(ctx, in_folder("A.mat"), m), NB_ERR_FORMAT, "/A.mat",
                      cases[i].part);
    }
    tap_close("matrix untouched", m[0], 42, 0);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"hkl_from_memory", hkl_from_memory},
        {"hkl_text", hkl_text},
        {"hkl_refused", hkl_refused},
        {"hkl_groups_refused", hkl_groups_refused},
        {"hkl_golden", hkl_golden},
        {"fdump_golden", fdump_golden},
        {"fdump_round_trip", fdump_round_trip},
        {"fdump_damaged", fdump_damaged},
        {"fdump_refused", fdump_refused},
        {"fdump_first_byte_white", fdump_first_byte_white},
        {"matrix_golden", matrix_golden},
        {"matrix_refused", matrix_refused},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
