/*
 * test_refused_geom.c - geometry files of CrystFEL that are refused, with the line, and
 * lines that are not understood. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/experiments.h"
#include "io/geometries.h"
#include "nanobrag_io/geometry/geom.h"
#include "support/files.h"

static const struct {
    const char *old, *by;
    nb_status status;
    const char *line, *part;
} refusals[] = {
    {"6199.21", "x", NB_ERR_FORMAT, "line 2", "photon_energy is 'x', expected a photon"},
    {"6199.21", "9 kV", NB_ERR_FORMAT, "line 2", "photon_energy is '9 kV'"},
    {"6199.21", "0", NB_ERR_FORMAT, "line 2", "photon_energy is '0'"},
    {"photon_energy = 6199.21", "wavelength = 1", NB_ERR_FORMAT, "line 2", "unit m or A"},
    {"photon_energy = 6199.21", "wavelength = -1 A", NB_ERR_FORMAT, "line 2",
     "unit m or A"},
    {"photon_energy = 6199.21", "electron_voltage = 200 kV", NB_ERR_UNSUPPORTED, "line 2",
     "electrons"},
    {"photon_energy = 6199.21", "detector_shift_x = /a/b mm", NB_ERR_UNSUPPORTED, "line 2",
     "detector_shift_x is in a data file (/a/b)"},
    {"0.08", "8 cm", NB_ERR_FORMAT, "line 3", "clen is '8 cm'"},
    {"0.08", "", NB_ERR_FORMAT, "line 3", "clen is ''"},
    {"0.08", "1e999", NB_ERR_FORMAT, "line 3", "clen is '1e999'"},
    {"10000", "0", NB_ERR_FORMAT, "line 4", "res is '0', expected pixels"},
    {"10000", "many", NB_ERR_FORMAT, "line 4", "res is 'many'"},
    {"res = 10000", "pixel_pitch = 0", NB_ERR_FORMAT, "line 4", "pixel_pitch is '0'"},
    {"p0/max_fs = 4", "p0/max_fs = 4.5", NB_ERR_FORMAT, "line 6", "max_fs is '4.5'"},
    {"p0/max_fs = 4", "p0/max_fs = -4", NB_ERR_FORMAT, "line 6", "a whole number"},
    {"p0/max_fs = 4", "p0/max_fs = 1e7", NB_ERR_FORMAT, "line 6", "a whole number"},
    {"p0/max_fs = 4", "p0/max_fs = 5", NB_ERR_FORMAT, "line 14",
     "panel p1 overlaps panel p0 (line 5)"},
    {"p1/min_ss = 0", "p1/min_ss = 4", NB_ERR_FORMAT, "line 14", "max_ss below its min_ss"},
    {"p1/min_fs = 5", "p1/min_fs = 10", NB_ERR_FORMAT, "line 14",
     "max_fs below its min_fs"},
    {"p0/min_fs = 0\n", "", NB_ERR_FORMAT, "line 5", "panel p0 has no min_fs"},
    {"p0/max_fs = 4\n", "", NB_ERR_FORMAT, "line 5", "panel p0 has no max_fs"},
    {"p0/min_ss = 0\n", "", NB_ERR_FORMAT, "line 5", "panel p0 has no min_ss"},
    {"p1/max_ss = 3\n", "", NB_ERR_FORMAT, "line 14", "panel p1 has no max_ss"},
    {"p0/fs = +1.0x +0.0y\n", "", NB_ERR_FORMAT, "line 5", "panel p0 has no fs"},
    {"p1/ss = x\n", "", NB_ERR_FORMAT, "line 14", "panel p1 has no ss"},
    {"p0/corner_x = -5\n", "", NB_ERR_FORMAT, "line 5", "panel p0 has no corner_x"},
    {"p1/corner_y = 8\n", "", NB_ERR_FORMAT, "line 14", "panel p1 has no corner_y"},
    {"res = 10000\n", "", NB_ERR_FORMAT, "line 4", "panel p0 has no res"},
    {"corner_x = -5", "corner_x = left", NB_ERR_FORMAT, "line 11", "a finite number"},
    {"+1.0x +0.0y", "+1.0x +0.0w", NB_ERR_FORMAT, "line 9", "a sum such as"},
    {"+1.0x +0.0y", "+1.0x +0.0x", NB_ERR_FORMAT, "line 9", "each axis once"},
    {"+1.0x +0.0y", "+1.0", NB_ERR_FORMAT, "line 9", "a sum such as"},
    {"+1.0x +0.0y", "", NB_ERR_FORMAT, "line 9", "a sum such as"},
    {"+1.0x +0.0y", "--1.0x", NB_ERR_FORMAT, "line 9", "a sum such as"},
    {"+1.0x +0.0y", "1e999x", NB_ERR_FORMAT, "line 9", "a sum such as"},
    {"+1.0x +0.0y", "+1.0x +0.02y", NB_ERR_FORMAT, "line 10",
     "fs and ss of panel p0 have lengths 1.0002 and 1 and the inner product 0.02"},
    {"+1.0x +0.0y", "+1.02x +0.0y", NB_ERR_FORMAT, "line 10", "unit vectors"},
    {"+1.0x +0.0y", "0x", NB_ERR_FORMAT, "line 10", "unit vectors"},
    {"0.08", "/a\nres = 5000\np1/clen = /c", NB_ERR_FORMAT, "p0", "clen at another place"},
    {"p1/corner_x", "p1/clen = /a/b\np1/corner_x", NB_ERR_FORMAT, "line 14",
     "states clen in another way than the first panel"},
    {"p1/corner_x", "p1/no_index = maybe\np1/corner_x", NB_ERR_FORMAT, "line 20",
     "expected true, false or a number"},
    {"p1/corner_x", "p1/mask_edge_pixels = -1\np1/corner_x", NB_ERR_FORMAT, "line 20",
     "a whole number"},
    {"p1/corner_x", "p1/dim = ss\np1/corner_x", NB_ERR_FORMAT, "line 20", "dim0 to dim9"},
    {"p1/corner_x", "p1/dim10 = ss\np1/corner_x", NB_ERR_FORMAT, "line 20", "dim0 to dim9"},
    {"p1/corner_x", "p1/dim0 = sf\np1/corner_x", NB_ERR_FORMAT, "line 20",
     "a whole number"},
    {"p1/corner_x", "p1/dim1 = 3\np1/corner_x", NB_ERR_FORMAT, "line 14",
     "a dimN with no lower one"},
    {"p1/corner_x", "p1/dim0 = ss\np1/dim1 = ss\np1/corner_x", NB_ERR_FORMAT, "line 14",
     "two dimN that are fs, or ss"},
    {"p1/corner_x", "p1/dim0 = fs\np1/dim1 = ss\np1/corner_x", NB_ERR_FORMAT, "line 14",
     "one dimN that is ss and a later dimN that is fs"},
    {"p1/corner_x", "p1/dim0 = %\np1/dim1 = %\np1/dim2 = ss\np1/dim3 = fs\np1/corner_x",
     NB_ERR_FORMAT, "line 14", "two dimN that are %"},
    {"p1/corner_x", "p1/dim0 = 999999\np1/dim1 = ss\np1/dim2 = fs\np1/corner_x",
     NB_ERR_FORMAT, "an image of", "at most 1000000 along an edge"},
    {"p1/corner_x = 2", "group_q = p1,p2", NB_ERR_FORMAT, "", "no corner_x"},
    {"p1/corner_y = 8", "p1/corner_y = 8\ngroup_q = p1,p2", NB_ERR_FORMAT, "line 22",
     "group q names 'p2', which is no panel and no group before it"},
    {"p1/corner_y = 8", "p1/corner_y = 8\nrigid_group_q = p2", NB_ERR_FORMAT, "line 22",
     "group q names 'p2', which is no panel"},
    {"p1/corner_y = 8", "p1/corner_y = 8\ngroup_q = p1,q", NB_ERR_FORMAT, "line 22",
     "group q names 'q', which is no panel"},
    {"p1/corner_y = 8", "p1/corner_y = 8\ngroup_q = p1,p0,p1", NB_ERR_FORMAT, "line 22",
     "group q has panel p1 twice"},
    {"p1/corner_y = 8", "p1/corner_y = 8\nrigid_group_collection_q = p1", NB_ERR_FORMAT,
     "line 22", "collection q names 'p1', which is no rigid group"},
    {"p1/corner_y = 8", "p1/corner_y = 8\ngroup_ = p1", NB_ERR_FORMAT, "line 22",
     "the name of the group '' has 0 characters"},
    {"p1/corner_y = 8", "p1/corner_y = 8\n/fs = x", NB_ERR_FORMAT, "line 22",
     "the name of the panel '' has 0 characters"},
    {"p1/corner_y = 8", "p1/corner_y = 8\nabcdefghijklmnopqrstuvwxyz012345/fs = x",
     NB_ERR_FORMAT, "line 22", "has 32 characters, expected 1 to 31"},
    {"p1/corner_y = 8", "p1/corner_y = 8\nbad/min_x = 8", NB_ERR_FORMAT, "line 22",
     "the bad region bad lacks a limit"},
    {"p1/corner_y = 8", "p1/corner_y = 8\nbad/min_x = 8\nbad/min_fs = 8", NB_ERR_FORMAT,
     "line 23", "limits of x, y and of fs, ss"},
    {"p1/corner_y = 8", "p1/corner_y = 8\nbad/min_x = far", NB_ERR_FORMAT, "line 22",
     "min_x is 'far'"},
    {"p1/corner_y = 8", "p1/corner_y = 8\nbad/panel = p2", NB_ERR_FORMAT, "line 22",
     "the bad region bad names panel 'p2', which does not exist"},
};

static int wrong(void)
{
    nb_geometry *g;

    for (size_t i = 0; i < COUNT(refusals); i++) {
        char *const other = text_with(geom_text, refusals[i].old, refusals[i].by);
        const nb_status status = geom_parse_text(other, &g);
        const char *const message = nb_context_message(geom_context());

        tap_check(status == refusals[i].status && !g && !strncmp(message, "input", 5)
                      && strstr(message, refusals[i].line)
                      && strstr(message, refusals[i].part) && !strchr(message, '\n'),
                  "%s: status %d, %s", refusals[i].by, status,
                  status == NB_OK ? "read" : message);
        free(other);
    }
    tap_check(geom_parse_text("", &g) == NB_ERR_FORMAT
                  && strstr(nb_context_message(geom_context()), "no panel"),
              "an empty geom_text");
    tap_check(geom_parse(geom_context(), "input", "a\0b", 3, &g) == NB_ERR_FORMAT, "a NUL");
    return 0;
}

/* A line that is understood by nobody is a warning, and many are few. */
static int strange_lines(void)
{
    static const char odd[] =
        "res = 10000\nwhatever = 3\njust words\np0/colour = blue\n"
        "bad1/min_q = 3\ngroup1/fs = x\nmax_adu = 7\nmask0_data = /m\n"
        "p0/mask7_goodbits = 0xff\nmask8_data = /m\n= 3\n";
    static const char *const expected[] = {"line 5: 'whatever'", "line 6: 'just words'",
                                           "line 7: 'colour'",   "line 8: 'min_q'",
                                           "line 9: 'group1'",   "line 13: 'mask8_data'",
                                           "line 14: '= 3'"};
    char *other = text_with(geom_text, "res = 10000\n", odd), *many, *end;
    nb_geometry *g;

    tap_check(geom_parse_text(other, &g) == NB_ERR_FORMAT, "bad1 has no limit");
    free(other);
    for (size_t i = 0; i < COUNT(expected); i++)
        tap_check(geom_count(expected[i]) == 1, "%s is told", expected[i]);
    tap_check(geom_count("warning: input, line ") == (int)COUNT(expected),
              "and nothing else: %s", geom_lines);
    many = malloc(strlen(geom_text) + 2000);
    if (!many) abort();
    end = many + sprintf(many, "%s", geom_text);
    for (int i = 0; i < 100; i++) end += sprintf(end, "x=1\n");
    g = geom_parsed(many);
    tap_check(geom_count("warning: ") == 21
                  && geom_count("further lines that are not understood is 80") == 1,
              "100 of them are 21 warnings");
    nb_geometry_free(g);
    free(many);
    return 0;
}

/* 4096 panels are read at once, one more is not. */
static int many_panels(void)
{
    enum { MOST = 4096, LINE = 160 };
    char *many = malloc((size_t)(MOST + 1) * LINE + 100), *end = many;
    nb_geometry *g;
    nb_geometry_info info;

    if (!many) abort();
    end += sprintf(end, "clen = 1\nres = 1e4\nfs = x\nss = y\nmin_fs = 0\nmax_fs = 1\n");
    for (int i = 0; i < MOST; i++)
        end += sprintf(end,
                       "n%d/min_ss = %d\nn%d/max_ss = %d\nn%d/corner_x = 0\n"
                       "n%d/corner_y = %d\n",
                       i, 2 * i, i, 2 * i + 1, i, i, 3 * i);
    g = geom_parsed(many);
    nb_geometry_info_get(g, &info);
    tap_check(info.npanel == MOST && info.nslow == 2 * MOST, "%d panels", info.npanel);
    nb_geometry_free(g);
    (void)sprintf(end, "one_more/min_ss = 3\n");
    tap_check(geom_parse_text(many, &g) == NB_ERR_FORMAT
                  && strstr(nb_context_message(geom_context()),
                            "panel one_more is one more"),
              "and one more: %s", nb_context_message(geom_context()));
    free(many);
    return 0;
}

/* The 4097th bad region is refused. */
static int many_regions(void)
{
    enum { MOST = 4096, LINE = 40 };
    char *many = malloc(strlen(geom_text) + (size_t)(MOST + 1) * LINE), *end = many;
    nb_geometry *g;

    if (!many) abort();
    end += sprintf(end, "%s", geom_text);
    for (int i = 0; i < MOST; i++) end += sprintf(end, "bad%d/panel = p0\n", i);
    (void)sprintf(end, "bad_more/panel = p0\n");
    tap_check(geom_parse_text(many, &g) == NB_ERR_FORMAT
                  && strstr(nb_context_message(geom_context()), "bad_more is one more"),
              "one more: %s", nb_context_message(geom_context()));
    free(many);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"wrong", wrong},
        {"strange_lines", strange_lines},
        {"many_panels", many_panels},
        {"many_regions", many_regions},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
