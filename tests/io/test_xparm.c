/*
 * test_xparm.c - what is read from XPARM.XDS, compared with numbers worked out by hand, and
 * what is refused. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "io/experiments.h"
#include "nanobrag_io/experiment/models.h"
#include "support/files.h"

static nb_status parse(const char *text, nb_experiment *out)
{
    return xparm_parse(ctx, "input", text, strlen(text), out);
}

static int plain(void)
{
    const nb_scene *s;
    nb_experiment e;

    check_ok(parse(xparm_text, &e), "the text");
    s = &e.scene;
    tap_check(e.found
                  == (NB_FOUND_BEAM | NB_FOUND_DETECTOR | NB_FOUND_AXIS | NB_FOUND_SCAN
                      | NB_FOUND_CRYSTAL),
              "all is found");
    tap_check(s->detector.convention == NB_CONVENTION_XDS, "the frame is that of xds");
    tap_close("wavelength", s->beam.wavelength, 0.98, 0);
    same_vector("beam", s->beam.direction, VECTOR(0, 0, 1), 0);
    same_vector("fast axis", s->detector.vectors[0], VECTOR(1, 0, 0), 0);
    same_vector("slow axis", s->detector.vectors[1], VECTOR(0, 1, 0), 0);
    same_vector("near point", s->detector.origin, VECTOR(11, 8, 0), EXPERIMENT_LENGTH);
    tap_close("close distance", s->detector.close_distance, 70, EXPERIMENT_LENGTH);
    tap_check(s->detector.nfast == 60 && s->detector.nslow == 50, "60 x 50 pixels");
    tap_close("pixel", s->detector.pixel, 0.5, 0);
    same_vector("spindle", s->scan.axis, VECTOR(1, 0, 0), 0);
    tap_close("phi0", s->scan.phi0, 12.5, 0);
    tap_close("osc", s->scan.osc, 0.25, 0);
    same_crystal(&e, VECTOR(30, 0, 0), VECTOR(0, 40, 0), VECTOR(-10, 0, 50));
    tap_check(!strcmp(e.space_group, has_feature("gemmi") ? "P 1 21 1" : ""), "group '%s'",
              e.space_group);
    return 0;
}

/* A beam along x becomes one along z by a quarter of a turn about y: x to z, z to -x. */
static int turned(void)
{
    char *text = text_with(xparm_text, "0.000000       0.000000       1.020408", "2.0 0 0");
    nb_experiment e;

    check_ok(parse(text, &e), "a beam along x");
    free(text);
    same_vector("beam", e.scene.beam.direction, VECTOR(0, 0, 1), EXPERIMENT_UNIT);
    same_vector("fast axis", e.scene.detector.vectors[0], VECTOR(0, 0, 1), EXPERIMENT_UNIT);
    same_vector("slow axis", e.scene.detector.vectors[1], VECTOR(0, 1, 0), EXPERIMENT_UNIT);
    same_vector("spindle", e.scene.scan.axis, VECTOR(0, 0, 1), EXPERIMENT_UNIT);
    same_crystal(&e, VECTOR(0, 0, 30), VECTOR(0, 40, 0), VECTOR(-50, 0, -10));
    text = text_with(xparm_text, "0.000000       0.000000       1.020408", "0 0 -1");
    check_ok(parse(text, &e), "a beam along -z");
    free(text);
    same_vector("beam", e.scene.beam.direction, VECTOR(0, 0, 1), EXPERIMENT_UNIT);
    same_vector("slow axis", e.scene.detector.vectors[1], VECTOR(0, 1, 0), EXPERIMENT_UNIT);
    same_vector("spindle", e.scene.scan.axis, VECTOR(-1, 0, 0), EXPERIMENT_UNIT);
    return 0;
}

static int wrong(void)
{
    static const struct {
        const char *old, *changed;
        nb_status status;
        const char *part;
    } rows[] = {
        {"XPARM.XDS", "XYCORR", NB_ERR_FORMAT, "not an XPARM.XDS"},
        {"0.2500 ", "0.2.5 ", NB_ERR_FORMAT, "line 2: '0.2.5'"},
        {"0.980000", "nan", NB_ERR_FORMAT, "line 3: 'nan'"},
        {"0.980000", "-0.98", NB_ERR_FORMAT, "the wavelength is -0.98"},
        {"1.020408", "0", NB_ERR_FORMAT, "the beam is"},
        {"         1        60", "         4        60", NB_ERR_UNSUPPORTED, "4 segments"},
        {"        60        50", "        60.5      50", NB_ERR_FORMAT, "60.5 x 50"},
        {"0.500000    0.500000", "0.500000    0.400000", NB_ERR_UNSUPPORTED, "square"},
        {"0.500000    0.500000", "0 0", NB_ERR_FORMAT, "above 0"},
        {"70.000000", "0", NB_ERR_FORMAT, "in the plane"},
        {"22.500000      16.500000      70.000000", "22.5 16.5", NB_ERR_FORMAT,
         "line 9: the line has 2 numbers, expected 3"},
        {"       0.000000       0.000000       1.000000\n         1         1", "",
         NB_ERR_FORMAT, "at right angles"},
        {"       1.000000       0.000000       0.000000\n       0.000000       1.000000",
         "1 0 0\n 0.001 1", NB_ERR_FORMAT, "at right angles"},
        {"      30.000000", "       0.000000", NB_ERR_FORMAT, "axis a of the crystal"},
    };
    nb_experiment e;

    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text = text_with(xparm_text, rows[i].old, rows[i].changed);

        check_refused(parse(text, &e), rows[i].status, rows[i].part, "input");
        free(text);
    }
    check_refused(parse(" XPARM.XDS    VERSION\n", &e), NB_ERR_FORMAT, "the file ends here",
                  "line 1");
    check_refused(parse("", &e), NB_ERR_FORMAT, "XPARM.XDS", "input");
    return 0;
}

static int null_arguments(void)
{
    nb_experiment e;

    check_refused(nb_xparm_read(ctx, NULL, &e), NB_ERR_ARGUMENT, "path", "");
    check_refused(nb_xparm_read(ctx, "a", NULL), NB_ERR_ARGUMENT, "out", "");
    check_refused(nb_xparm_read(ctx, in_folder("none"), &e), NB_ERR_FILE, "none", "");
    tap_check(nb_xparm_read(NULL, "a", &e) == NB_ERR_ARGUMENT, "no context");
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"plain", plain},
        {"turned", turned},
        {"wrong", wrong},
        {"null_arguments", null_arguments},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
