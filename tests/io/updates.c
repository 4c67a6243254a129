/* updates.c - files of experiments that tests update. SPDX-License-Identifier: MIT */
#include "io/updates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/experiments.h"
#include "scene/probe.h"
#include "support/files.h"

#define TWO_AXES                                                                           \
    "\"goniometer\": [{\"axes\": [[0.5774, -0.8165, 0], [1, 0, 0], [0, 0.6, 0.8]],"        \
    "\"angles\": [20, -145, 7], \"names\": [\"GON_PHI\", \"GON_OMEGA\", \"ARM\"],"         \
    " \"scan_axis\": 1, \"unused\": [{\"rotation_axis\": [1, 0, 0]}]}]"
#define SETTINGS                                                                           \
    "\"setting_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, 1],"                                   \
    "\"setting_rotation_at_scan_points\": [[1, 0, 0, 0, 1, 0, 0, 0, 1],"                   \
    "[1, 0, 0, 0, 0.8, -0.6, 0, 0.6, 0.8], [1, 0, 0, 0, 0.6, -0.8, 0, 0.8, 0.6]]"
#define TURNED_POINTS                                                                      \
    "\"real_space_a\": [30, 0, 0], \"A_at_scan_points\":"                                  \
    "[[0.033, 0, 0.007, 0, 0.025, 0, 0, 0, 0.02], [0.033, 0.001, 0.007, 0, 0.025, 0, "     \
    "0.0002, 0, 0.02], [0.0331, 0.002, 0.007, 0, 0.025, 0.0001, 0.0004, 0, 0.0201]]"

const struct update_sample update_samples[UPDATE_SAMPLES] = {
    {"one panel", expt_text, NULL, NULL},
    {"panels in groups", expt_panels_text, NULL, NULL},
    {"root that is no laboratory", expt_panels_text, "\"name\": \"all\",",
     "\"name\": \"all\", \"fast_axis\": [0.8, 0.6, 0], \"slow_axis\": [-0.6, 0.8, 0],"
     " \"origin\": [1, 2, -3],"},
    {"lattices that change", expt_split_text, NULL, NULL},
    {"axes", expt_text, "\"goniometer\": [", TWO_AXES ", \"spare\": ["},
    {"settings", expt_text, "\"setting_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, 1]", SETTINGS},
    {"scan points", expt_text, "\"real_space_a\": [30, 0, 0]", TURNED_POINTS},
    {"beams", expt_text, "\"wavelength\": 0.98",
     "\"wavelength\": 0.98, \"s0_at_scan_points\": [[0, 0, -1], [0.03, 0, -1.1], [0.06, 0, "
     "-1]]"},
    {"one panel in a group", expt_text, "ParallaxCorrectionPxMmStrategy\"}}]",
     "ParallaxCorrectionPxMmStrategy\"}}], \"hierarchy\": {\"name\": \"\", \"origin\": [1, "
     "2, -30], \"fast_axis\": [0.8, 0.6, 0], \"slow_axis\": [-0.6, 0.8, 0], \"children\": "
     "[{\"panel\": 0}]}"},
    {"still", expt_text, "\"goniometer\": 0, \"scan\": 0, ", ""},
    {"half the width", expt_text, "\"mosaicity\": 0.05", "\"ML_half_mosaicity_deg\": 0.05"},
    {"mark of the order of bytes", expt_text, "{\"__id__\"", "\xef\xbb\xbf{\"__id__\""},
};

const char *put_sample(const struct update_sample *sample)
{
    const char *path = in_folder("in.expt");
    char *scan, *text = text_with(sample->text, sample->old ? sample->old : "{",
                                  sample->old ? sample->changed : "{");

    if (strstr(text, "[11, 40]")) { /* two images */
        scan = text_with(text, "[11, 40]", "[11, 12]");
        free(text);
        text = scan;
    }
    put(path, text, strlen(text));
    free(text);
    return path;
}

/* Completes a scene that a file states in part. */
static nb_scene complete(const nb_experiment *e)
{
    nb_scene s = e->scene;

    s.crystal.default_f = 100;
    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 5;
    for (int i = 0; i < 6 && !(e->found & NB_FOUND_CRYSTAL); i++)
        s.crystal.cell[i] = (const double[]){50, 60, 70, 90, 100, 90}[i];
    s.crystal.shape = NB_SHAPE_GAUSS;
    s.crystal.mosaic_model = NB_MOSAIC_GAUSS;
    s.beam.fluence = 1e28;
    s.oversample = 1;
    if (e->found & NB_FOUND_DETECTOR) return s;
    s.detector.nfast = s.detector.nslow = 40;
    s.detector.pixel = 1;
    return s;
}

nb_scene read_scene(const char *path, int i, double phi, nb_experiment *e)
{
    nb_scene s;

    if (nb_expt_read_lattices(ctx, path, i, e) != NB_OK) {
        printf("not ok %s: %s\n", path, nb_context_message(ctx));
        exit(1);
    }
    s = complete(e);
    if (isnan(phi)) return s;
    s.scan.phi0 = phi;
    (void)nb_scan_points_set(e->points, phi + s.scan.osc / 2, ~0U, &s, NULL);
    nb_scan_points_set_lattices(e->points, phi + s.scan.osc / 2, s.crystal.nlattice,
                                e->lattice);
    return s;
}

nb_status update_file(const char *from, int i, nb_simulator *sim, const double *x,
                      const char *to)
{
    nb_expt_update *u;
    nb_status status = nb_expt_update_begin(ctx, from, &u);

    if (status == NB_OK) status = nb_expt_update_add(u, i, sim, x);
    if (status == NB_OK) status = nb_expt_update_write(u, to);
    nb_expt_update_free(u);
    return status;
}

void move_values(nb_simulator *sim, double *x)
{
    nb_param p;

    for (size_t i = 0; nb_simulator_param(sim, i, &p) == NB_OK; i++) {
        const double step = 0.01 + 0.003 * (double)(i % 5);

        x[i] = p.value + (fabs(p.value) > 1 ? step * p.value / 10 : step);
        x[i] = fmin(fmax(x[i], p.lower), p.upper);
    }
}
