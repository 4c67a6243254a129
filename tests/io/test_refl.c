/*
 * test_refl.c - tables of reflections of DIALS: a file that PyPI's msgpack wrote, a round
 * trip, MessagePack in each of its forms, and damage.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "nanobrag_io/parse.h"
#include "nanobrag_io/reflections/msgpack.h"
#include "support/files.h"
#include "support/tap.h"

#define COLUMNS TEST_DATA_DIR "/refl/columns.refl"

/* Checks the numbers that tests/data/README.md lists; returns how many differ. */
static int differences(const nb_reflections *t)
{
    static const int32_t hkl[] = {1, 2, 3, -4, 5, -6, 0, 0, 7}, id[] = {0, -1, 1};
    static const uint64_t flags[] = {4, 32, ((uint64_t)1 << 40) + 1};
    const double *const d = nb_reflections_find(t, "d", NB_COLUMN_DOUBLE);
    const double *const s1 = nb_reflections_find(t, "s1", NB_COLUMN_VEC3);
    const double *const m = nb_reflections_find(t, "setting", NB_COLUMN_MAT3);
    const double *const xy = nb_reflections_find(t, "xy", NB_COLUMN_VEC2);
    const int32_t *const bbox = nb_reflections_find(t, "bbox", NB_COLUMN_INT6);
    const void *const h = nb_reflections_find(t, "miller_index", NB_COLUMN_MILLER);
    const void *const f = nb_reflections_find(t, "flags", NB_COLUMN_SIZE);
    const void *const i = nb_reflections_find(t, "id", NB_COLUMN_INT);
    const void *const e = nb_reflections_find(t, "entering", NB_COLUMN_BOOL);
    int n = 0;

    if (!d || !s1 || !m || !xy || !bbox || !h || !f || !i || !e) return 99;
    n += !(d[0] == 1.5 && d[1] == 2.5 && isinf(d[2])) + !(xy[5] == 5);
    for (int k = 0; k < 9; k++) n += !(s1[k] == 0.1 * k);
    for (int k = 0; k < 27; k++) n += !(m[k] == k);
    for (int k = 0; k < 18; k++) n += bbox[k] != 10 + k;
    n += memcmp(h, hkl, sizeof hkl) != 0;
    n += memcmp(f, flags, sizeof flags) != 0;
    n += memcmp(i, id, sizeof id) != 0;
    n += memcmp(e, "\1\0\1", 3) != 0;
    return n;
}

static void check_columns(const char *what, const nb_reflections *t)
{
    const char *const first = nb_reflections_identifier(t, 0);
    const char *const second = nb_reflections_identifier(t, 1);

    tap_check(nb_reflections_rows(t) == 3 && nb_reflections_columns(t) == 11,
              "%s: %zu rows expected 3, %zu columns expected 11", what,
              nb_reflections_rows(t), nb_reflections_columns(t));
    tap_check(differences(t) == 0, "%s: %d numbers differ, allowed 0", what,
              differences(t));
    tap_check(first && second && strcmp(first, "first-0000") == 0
                  && strcmp(second, "second-0001") == 0 && !nb_reflections_identifier(t, 2),
              "%s: identifiers of 0 and 1", what);
    tap_check(!nb_reflections_find(t, "d", NB_COLUMN_VEC3)
                  && !nb_reflections_find(t, "shoebox", NB_COLUMN_OTHER)
                  && !nb_reflections_find(t, "dd", NB_COLUMN_DOUBLE),
              "%s: no column of another type or name", what);
}

static int table_of_another_writer(void)
{
    nb_reflections *t = NULL;

    check_ok(nb_reflections_read(ctx, COLUMNS, &t), "columns.refl");
    check_columns("read", t);
    nb_reflections_free(t);
    return TAP_PASS;
}

/* ---- HDF5 ---- */

#define GROUPS TEST_DATA_DIR "/refl/groups.h5"
#define SINGLE TEST_DATA_DIR "/refl/single.h5"

static int has_hdf5(void)
{
    const char *const features = nb_features();

    return strstr(features, "hdf5") != NULL;
}

/* Tables of several groups become one, with the columns that all of them have. */
static int tables_of_hdf5(void)
{
    static const char *const paths[] = {GROUPS, SINGLE};

    for (int k = 0; k < 2; k++) {
        nb_reflections *t = NULL;
        const nb_status status = nb_reflections_read(ctx, paths[k], &t);

        if (!has_hdf5()) {
            check_refused(status, NB_ERR_UNSUPPORTED, "no HDF5", ".h5");
            continue;
        }
        check_ok(status, paths[k]);
        tap_check(nb_reflections_rows(t) == 3 && nb_reflections_columns(t) == 9
                      && differences(t) == 0,
                  "%zu rows, %zu columns, %d differences", nb_reflections_rows(t),
                  nb_reflections_columns(t), differences(t));
        nb_reflections_free(t);
    }
    return TAP_PASS;
}

/* Changes the number of rows in the last `most` descriptions of lists in a file. */
static int change_rows(char *bytes, size_t n, int most, unsigned char rows)
{
    static const char three[] = {1, 1, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3};
    int changed = 0;

    for (size_t i = n - sizeof three; i > 0 && changed < most; i--)
        if (memcmp(bytes + i, three, sizeof three) == 0) {
            bytes[i + 8] = bytes[i + 16] = (char)rows;
            changed++;
        }
    return changed;
}

static void refuse_damaged(const char *bytes, size_t n, const char *said)
{
    const char *const path = in_folder("damaged.refl");
    nb_reflections *t = NULL;

    put(path, bytes, n);
    check_refused(nb_reflections_read(ctx, path, &t), NB_ERR_FORMAT, said, "damaged.refl");
    tap_check(!t, "no table");
}

static int damaged_hdf5(void)
{
    static const char name[] = "data_processing";
    size_t n, at = 0;
    char *bytes;

    if (!has_hdf5()) return tap_skip("this build has no HDF5");
    bytes = slurp(SINGLE, &n);
    for (size_t i = 9; i < n; i += n / 5) refuse_damaged(bytes, i, "");
    tap_check(change_rows(bytes, n, 1, 2) == 1, "a column of two rows");
    refuse_damaged(bytes, n, "another number of rows");
    tap_check(change_rows(bytes, n, 99, 99) == 3, "columns beyond the end of the file");
    refuse_damaged(bytes, n, "data_processing/d has another number of rows");
    while (at + sizeof name < n && memcmp(bytes + at, name, sizeof name) != 0) at++;
    bytes[at] = 'D';
    refuse_damaged(bytes, n, "no table");
    free(bytes);
    return TAP_PASS;
}

static int table_written_back(void)
{
    nb_reflections *t = NULL, *again = NULL;
    size_t n = 0, m = 0;
    char *one, *two;

    check_ok(nb_reflections_read(ctx, COLUMNS, &t), "columns.refl");
    check_ok(nb_reflections_write(ctx, in_folder("again.refl"), t), "write");
    check_ok(nb_reflections_read(ctx, in_folder("again.refl"), &again), "read again");
    check_columns("written and read", again);
    check_ok(nb_reflections_write(ctx, in_folder("third.refl"), again), "write again");
    one = slurp(in_folder("again.refl"), &n);
    two = slurp(in_folder("third.refl"), &m);
    tap_check(n > 0 && n == m && memcmp(one, two, n) == 0, "%zu and %zu bytes, the same", n,
              m);
    free(one);
    free(two);
    for (size_t i = 0; i < nb_reflections_columns(t); i++) {
        const nb_column a = nb_reflections_column(t, i),
                        b = nb_reflections_column(again, i);

        tap_check(strcmp(a.name, b.name) == 0 && a.type == b.type, "column %s", a.name);
    }
    nb_reflections_free(again);
    nb_reflections_free(t);
    return TAP_PASS;
}

static int table_made(void)
{
    static const double z[2] = {1, NAN}, before[2] = {7, 8};
    static const int32_t id[2] = {3, 4};
    nb_reflections *t = NULL, *again = NULL;
    const double *found;

    check_ok(nb_reflections_create(ctx, 2, &t), "create");
    check_ok(nb_reflections_set(ctx, t, "z", NB_COLUMN_DOUBLE, before), "set");
    check_ok(nb_reflections_set(ctx, t, "id", NB_COLUMN_INT, id), "set");
    check_ok(nb_reflections_set(ctx, t, "z", NB_COLUMN_DOUBLE, z), "replace");
    for (int i = 9; i >= 0; i--)
        check_ok(nb_reflections_set_identifier(ctx, t, i, i == 3 ? "three" : "x"), "id");
    check_ok(nb_reflections_set_identifier(ctx, t, 4, "four"), "replace");
    check_ok(nb_reflections_write(ctx, in_folder("made.refl"), t), "write");
    check_ok(nb_reflections_read(ctx, in_folder("made.refl"), &again), "read");
    found = nb_reflections_find(again, "z", NB_COLUMN_DOUBLE);
    tap_check(nb_reflections_columns(again) == 2 && found && found[0] == 1
                  && isnan(found[1]),
              "two columns, the second z");
    tap_check(strcmp(nb_reflections_identifier(again, 3), "three") == 0
                  && strcmp(nb_reflections_identifier(again, 4), "four") == 0
                  && nb_reflections_identifier(again, 9)
                  && !nb_reflections_identifier(again, 10),
              "ten identifiers");
    check_refused(nb_reflections_set(ctx, t, "", NB_COLUMN_INT, id), NB_ERR_ARGUMENT,
                  "name of 1", "");
    check_refused(nb_reflections_set(ctx, t, "a", NB_COLUMN_OTHER, id), NB_ERR_ARGUMENT,
                  "a type", "");
    check_refused(nb_reflections_set(ctx, t, "a", NB_COLUMN_INT, NULL), NB_ERR_ARGUMENT,
                  "data is NULL", "");
    nb_reflections_free(again);
    check_refused(nb_reflections_create(ctx, (size_t)1 << 31, &again), NB_ERR_ARGUMENT,
                  "at most 2147483647", "");
    nb_reflections_free(t);
    return TAP_PASS;
}

/* ---- MessagePack ---- */

/* bytes of an item, its kind, its number or length */
static const struct {
    const char *bytes;
    size_t n;
    enum msgpack_kind kind;
    int64_t number;
} items[] = {
    {"\x00", 1, MSGPACK_INT, 0},
    {"\x7f", 1, MSGPACK_INT, 127},
    {"\xff", 1, MSGPACK_INT, -1},
    {"\xe0", 1, MSGPACK_INT, -32},
    {"\xcc\xff", 2, MSGPACK_INT, 255},
    {"\xcd\x01\x00", 3, MSGPACK_INT, 256},
    {"\xce\xff\xff\xff\xff", 5, MSGPACK_INT, 4294967295},
    {"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", 9, MSGPACK_INT, INT64_MAX},
    {"\xd0\x80", 2, MSGPACK_INT, -128},
    {"\xd1\xff\x7f", 3, MSGPACK_INT, -129},
    {"\xd2\x80\x00\x00\x00", 5, MSGPACK_INT, INT32_MIN},
    {"\xd3\x80\x00\x00\x00\x00\x00\x00\x00", 9, MSGPACK_INT, INT64_MIN},
    {"\xc0", 1, MSGPACK_NIL, 0},
    {"\xc3", 1, MSGPACK_BOOL, 0},
    {"\xca\x00\x00\x00\x00", 5, MSGPACK_FLOAT, 4},
    {"\xcb\x00\x00\x00\x00\x00\x00\x00\x00", 9, MSGPACK_FLOAT, 8},
    {"\xa2hi", 3, MSGPACK_TEXT, 2},
    {"\xd9\x02hi", 4, MSGPACK_TEXT, 2},
    {"\xda\x00\x02hi", 5, MSGPACK_TEXT, 2},
    {"\xdb\x00\x00\x00\x02hi", 7, MSGPACK_TEXT, 2},
    {"\xc4\x01x", 3, MSGPACK_BYTES, 1},
    {"\xc5\x00\x01x", 4, MSGPACK_BYTES, 1},
    {"\xc6\x00\x00\x00\x01x", 6, MSGPACK_BYTES, 1},
    {"\xd4\x05x", 3, MSGPACK_EXTENSION, 1},
    {"\xd5\x05xy", 4, MSGPACK_EXTENSION, 2},
    {"\xc7\x01\x05x", 4, MSGPACK_EXTENSION, 1},
    {"\x92\x01\xc0", 3, MSGPACK_ARRAY, 2},
    {"\xdc\x00\x02\x01\xc0", 5, MSGPACK_ARRAY, 2},
    {"\xdd\x00\x00\x00\x01\x90", 6, MSGPACK_ARRAY, 1},
    {"\x81\xa1k\x93\x01\x02\x80", 7, MSGPACK_MAP, 1},
    {"\xde\x00\x01\xa1k\x01", 6, MSGPACK_MAP, 1},
    {"\xdf\x00\x00\x00\x01\xa1k\x01", 8, MSGPACK_MAP, 1},
};

static int items_of_every_form(void)
{
    int wrong = 0, cut = 0;

    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        const unsigned char *const bytes = (const unsigned char *)items[i].bytes;
        struct msgpack m = {bytes, bytes + items[i].n};
        struct msgpack_item item;

        wrong += !msgpack_next(&m, &item) || item.kind != items[i].kind
                 || (item.kind == MSGPACK_INT ? item.number : (int64_t)item.n)
                        != items[i].number;
        m = (struct msgpack){bytes, bytes + items[i].n};
        wrong += !msgpack_skip(&m) || m.at != m.end;
        for (size_t n = 0; n < items[i].n; n++) {
            m = (struct msgpack){bytes, bytes + n};
            cut += msgpack_skip(&m);
        }
    }
    tap_check(wrong == 0, "%d of 32 items are read otherwise, allowed 0", wrong);
    tap_check(cut == 0, "%d cut items are read, allowed 0", cut);
    return TAP_PASS;
}

/* ---- damage ---- */

static nb_status parse_copy(const char *bytes, size_t n)
{
    nb_reflections *t = NULL;
    char *const copy = malloc(n + 1); /* so that a sanitizer sees the end */
    nb_status status;

    if (!copy) abort();
    memcpy(copy, bytes, n);
    status = refl_parse(ctx, "damaged.refl", copy, n, &t);
    if ((status == NB_OK) != (t != NULL)) abort();
    nb_reflections_free(t);
    free(copy);
    return status;
}

/* every cut is refused; a changed byte is refused or read, in bounds */
static int damaged_files(void)
{
    size_t n = 0;
    char *const bytes = slurp(COLUMNS, &n);
    int read = 0, named = 0, refused = 0;

    for (size_t end = 0; end < n; end++) {
        read += parse_copy(bytes, end) == NB_OK;
        named += strncmp(nb_context_message(ctx), "damaged.refl", 12) == 0;
    }
    tap_check(read == 0 && named == (int)n,
              "%d of %zu cut files are read, allowed 0; %d "
              "messages name the file",
              read, n, named);
    for (size_t at = 0; at < n; at++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[at] ^= (char)(1 << bit);
            refused += parse_copy(bytes, n) != NB_OK;
            bytes[at] ^= (char)(1 << bit);
        }
    tap_check(refused > 800, "%d changed bits are refused, at least 800", refused);
    free(bytes);
    return TAP_PASS;
}

static void check_format(const char *bytes, size_t n, const char *says)
{
    const nb_status status = parse_copy(bytes, n);

    tap_check(status == NB_ERR_FORMAT && strstr(nb_context_message(ctx), says),
              "\"%s\": %s", says, nb_context_message(ctx));
}

#define REFUSED(bytes, says) check_format(bytes, sizeof(bytes) - 1, says)
#define TOP                                                                                \
    "\x93\xbb"                                                                             \
    "dials::af::reflection_table"

static int refused_files(void)
{
    REFUSED("", "is not MessagePack");
    REFUSED("\x89HDF\r\n", "is not MessagePack");
    REFUSED(TOP "\x02\x80", "version 1");
    REFUSED(TOP "\x01\x80", "nrows");
    REFUSED(TOP "\x01\x81\xa5nrows\xff", "nrows");
    REFUSED(TOP "\x01\x81\xa5nrows\x01", "the columns");
    REFUSED(TOP "\x01\x82\xa5nrows\x01\xa4"
                "data\x81\xa1x\x92\xa3int\x92\x02\xc4\x08"
                "12345678",
            "are 2 and 8, expected 1 and 4");
    REFUSED(TOP "\x01\x82\xa5nrows\x01\xa4"
                "data\x82\xa1x\x92\xa3int\x92\x01\xc4\x04"
                "1234"
                "\xa1x\x92\xa3int\x92\x01\xc4\x04"
                "1234",
            "of another name");
    REFUSED(TOP "\x01\x83\xabidentifiers\x82\x00\xa1"
                "a\x00\xa1"
                "b\xa5nrows\x00\xa4"
                "data\x80",
            "one identifier");
    /* arrays that claim more than there is */
    REFUSED(TOP "\x01\x82\xa5nrows\x00\xa4"
                "data\xdf\xff\xff\xff\xff",
            "a value");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"table_of_another_writer", table_of_another_writer},
        {"table_written_back", table_written_back},
        {"tables_of_hdf5", tables_of_hdf5},
        {"damaged_hdf5", damaged_hdf5},
        {"table_made", table_made},
        {"items_of_every_form", items_of_every_form},
        {"damaged_files", damaged_files},
        {"refused_files", refused_files},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
