/*
 * test_tables.c - the readers of tables, with a title and without: nanoBragg's own files,
 * separators, and files that are none.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "nanobrag_io/parse.h"
#include "support/files.h"
#include "support/tap.h"

#define GOLDEN(file) TEST_DATA_DIR "/golden/" file

static void check_table(const char *text, int columns, size_t rows, const double *expected)
{
    nb_table *table = NULL;
    size_t wrong = 0;

    check_ok(table_parse(ctx, "table", text, strlen(text), columns, &table), "table");
    tap_check(nb_table_rows(table) == rows, "%zu rows expected %zu", nb_table_rows(table),
              rows);
    for (size_t i = 0; i < nb_table_rows(table) * (size_t)columns; i++) {
        const double found = nb_table_data(table)[i];

        wrong += !(found == expected[i] || (isnan(found) && isnan(expected[i])));
    }
    tap_check(wrong == 0, "%zu of the numbers differ, allowed 0", wrong);
    nb_table_free(table);
}

static int table_text(void)
{
    static const double two[] = {1, 2, -3, NAN, NAN, 4, 5, 6};
    static const double five[] = {1, 2, 3, 4, 5};

    check_table("1 2\n-3\nnan 4\n5 6 7 8\n", 2, 4, two);
    check_table("# c\r\n1\t2\r\n\r\n -3 NaN\r\nNAN,4\r\n5:6!seven", 2, 4, two);
    check_table("1 ,; 2,\n-3\n \t,\nnan 4\n5 6", 2, 4, two);
    check_table("1,2;3:4!5", 5, 1, five);
    return 0;
}

static int table_golden(void)
{
    nb_table *table = NULL;

    check_ok(nb_table_read(ctx, GOLDEN("src3.txt"), 5, &table), "src3.txt");
    tap_check(nb_table_rows(table) == 4, "%zu rows expected 4", nb_table_rows(table));
    tap_check(nb_table_rows(table) == 4 && isnan(nb_table_data(table)[15])
                  && nb_table_data(table)[13] == 2.5,
              "third row has weight 2.5, fourth no X");
    nb_table_free(table);
    check_ok(nb_table_read(ctx, GOLDEN("src5.txt"), 5, &table), "src5.txt");
    tap_close("wavelength of the first source", nb_table_data(table)[4], 1.102712e-10, 0);
    nb_table_free(table);
    return 0;
}

static int table_refused(void)
{
    static const struct refused_file cases[] = {
        {"", 0, "no rows"},
        {"# c\n\n ,;\n", 0, "no rows"},
        {"1 2\n1 two\n", 0, "line 2: 'two' is no finite number, expected column 2"},
        {"1 inf\n", 0, "line 1: 'inf'"},
        {"1 2 # weights\n", 0, "line 1: '#'"},
        {"1 2\n\0\n", 6, "binary"},
    };
    nb_table *table;

    for (size_t i = 0; i < COUNT(cases); i++) {
        put_refused(in_folder("t.txt"), cases + i);
        check_refused(nb_table_read(ctx, in_folder("t.txt"), 3, &table), NB_ERR_FORMAT,
                      "/t.txt", cases[i].part);
        tap_check(!table, "no object");
    }
    check_refused(nb_table_read(ctx, in_folder("t.txt"), 0, &table), NB_ERR_ARGUMENT,
                  "0 columns", "");
    return 0;
}

static int titled_table(void)
{
    static const char text[] =
        "# c\r\n\r\n  misset_x  source_weight[*] \r\n1 2 3\n\n#\n-4,5e1\t6";
    static const double numbers[] = {1, 2, 3, -4, 50, 6};
    nb_table *table = NULL;

    put(in_folder("t.txt"), text, sizeof text - 1);
    check_ok(nb_table_read_titled(ctx, in_folder("t.txt"), &table), "a titled table");
    tap_check(nb_table_title(table)
                  && strcmp(nb_table_title(table), "misset_x  source_weight[*]") == 0,
              "the title is '%s'", nb_table_title(table));
    tap_check(nb_table_rows(table) == 2 && nb_table_columns(table) == 3,
              "%zu rows of %d columns expected 2 of 3", nb_table_rows(table),
              nb_table_columns(table));
    tap_check(memcmp((const char *)nb_table_data(table), (const char *)numbers,
                     sizeof numbers)
                  == 0,
              "its numbers");
    tap_check(nb_table_line(table, 0) == 4 && nb_table_line(table, 1) == 7
                  && nb_table_line(table, 2) == 0,
              "lines %ld and %ld expected 4 and 7", nb_table_line(table, 0),
              nb_table_line(table, 1));
    nb_table_free(table);
    check_ok(nb_table_read(ctx, in_folder("t.txt"), 1, &table) == NB_ERR_FORMAT
                 ? NB_OK
                 : NB_ERR_FORMAT,
             "its title is no row");
    tap_check(!nb_table_title(NULL) && nb_table_columns(NULL) == 0
                  && nb_table_line(NULL, 0) == 0,
              "none of NULL");
    return 0;
}

static int titled_table_refused(void)
{
    static const struct refused_file cases[] = {
        {"", 0, "no line, expected a title and rows"},
        {"# c\n\n", 0, "no line, expected a title and rows"},
        {"a b\n", 0, "no row of numbers follows the first line"},
        {"a b\n1 2\n3\n", 0,
         "line 3: the row has 1 number, expected 2 as in the first row"},
        {"a b\n1 2\n3 4 5\n", 0, "line 3: the row has 3 numbers, expected 2"},
        {"a b\n1 2\n3 nan\n", 0,
         "line 3: 'nan' is no finite number, expected column 2 of 2"},
        {"a b\n1 2\n1e999 4\n", 0, "line 3: '1e999'"},
        {"a b\n1 2 # c\n", 0, "line 2: '#' is no finite number, expected column 3 of 4"},
        {"a b\n1\0 2\n", 9, "binary"},
    };
    nb_table *table;

    for (size_t i = 0; i < COUNT(cases); i++) {
        put_refused(in_folder("t.txt"), cases + i);
        check_refused(nb_table_read_titled(ctx, in_folder("t.txt"), &table), NB_ERR_FORMAT,
                      "/t.txt", cases[i].part);
        tap_check(!table, "no object");
    }
    check_refused(nb_table_read_titled(ctx, in_folder("none"), &table), NB_ERR_FILE,
                  "/none", "");
    tap_check(nb_table_read_titled(NULL, "a", &table) == NB_ERR_ARGUMENT
                  && nb_table_read_titled(ctx, NULL, &table) == NB_ERR_ARGUMENT
                  && nb_table_read_titled(ctx, "a", NULL) == NB_ERR_ARGUMENT,
              "NULLs");
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"table_text", table_text},
        {"table_golden", table_golden},
        {"table_refused", table_refused},
        {"titled_table", titled_table},
        {"titled_table_refused", titled_table_refused},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
