/* experiments.c - files of experiments. SPDX-License-Identifier: MIT */
#include "io/experiments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "scene/probe.h"
#include "support/worst.h"

const char expt_text[] =
    "{\"__id__\": \"ExperimentList\",\n"
    "\"experiment\": [{\"__id__\": \"Experiment\", \"identifier\": \"\", \"beam\": 0,\n"
    "  \"detector\": 0, \"goniometer\": 0, \"scan\": 0, \"crystal\": 0}],\n"
    "\"beam\": [{\"direction\": [0, 0, 2], \"wavelength\": 0.98,\n"
    "  \"polarization_normal\": [0, 1, 0], \"polarization_fraction\": 0.95,\n"
    "  \"flux\": NaN, \"transmission\": 1}],\n"
    "\"detector\": [{\"panels\": [{\"name\": \"a NaN\\\" Infinity\",\n"
    "  \"fast_axis\": [1, 0, 0], \"slow_axis\": [0, -1, 0], \"origin\": [-11, 8, -70],\n"
    "  \"image_size\": [60, 50], \"pixel_size\": [0.5, 0.5],\n"
    "  \"thickness\": 0.32, \"mu\": 4.0, \"trusted_range\": [-Infinity, Infinity],\n"
    "  \"px_mm_strategy\": {\"type\": \"ParallaxCorrectionPxMmStrategy\"}}]}],\n"
    "\"goniometer\": [{\"rotation_axis\": [1, 0, 0],\n"
    "  \"fixed_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, 1],\n"
    "  \"setting_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, 1]}],\n"
    "\"scan\": [{\"image_range\": [11, 40], \"oscillation\": [12.5, 0.25],\n"
    "  \"exposure_time\": [1], \"epochs\": [0], \"batch_offset\": 0}],\n"
    "\"crystal\": [{\"__id__\": \"crystal\", \"real_space_a\": [30, 0, 0],\n"
    "  \"real_space_b\": [0, 40, 0], \"real_space_c\": [-10, 0, 50],\n"
    "  \"space_group_hall_symbol\": \" P 2yb\", \"mosaicity\": 0.05}],\n"
    "\"profile\": [], \"scaling_model\": []}\n";

const char expt_panels_text[] =
    "{\"__id__\": \"ExperimentList\", \"experiment\": [{\"detector\": 0}],\n"
    "\"detector\": [{\"panels\": [\n"
    "  {\"name\": \"p0\", \"fast_axis\": [1, 0, 0], \"slow_axis\": [0, -1, 0],\n"
    "  \"origin\": [-11, 8, 0], \"image_size\": [60, 50], \"pixel_size\": [0.2, 0.2]},\n"
    "  {\"name\": \"p1\", \"fast_axis\": [1, 0, 0], \"slow_axis\": [0, -1, 0],\n"
    "  \"origin\": [2, 8, -70], \"image_size\": [60, 50], \"pixel_size\": [0.2, 0.2]}],\n"
    "\"hierarchy\": {\"name\": \"all\", \"children\": [{\"name\": \"half\",\n"
    "  \"origin\": [0, 0, -70], \"children\": [{\"panel\": 0}]}, {\"panel\": 1}]}}]}\n";

const char expt_split_text[] =
    "{\"__id__\": \"ExperimentList\", \"experiment\": [\n"
    "  {\"beam\": 0, \"goniometer\": 0, \"scan\": 0, \"crystal\": 0},\n"
    "  {\"beam\": 0, \"goniometer\": 0, \"scan\": 0, \"crystal\": 1},\n"
    "  {\"beam\": 1, \"goniometer\": 0, \"scan\": 0, \"crystal\": 2}],\n"
    "\"beam\": [{\"direction\": [0, 0, 1], \"wavelength\": 1},\n"
    "  {\"direction\": [0, 0, 1], \"wavelength\": 2}],\n"
    "\"goniometer\": [{\"rotation_axis\": [1, 0, 0]}],\n"
    "\"scan\": [{\"image_range\": [1, 2], \"oscillation\": [0, 0.5]}],\n"
    "\"crystal\": [{\"real_space_a\": [50, 0, 0], \"real_space_b\": [0, 80, 0],\n"
    "  \"real_space_c\": [0, 0, 100], \"mosaicity\": 0.1, \"A_at_scan_points\":\n"
    "  [[0.02, 0, 0, 0, 0.0125, 0, 0, 0, 0.01], [0.02, 0.001, 0, 0, 0.0125, 0, 0, 0, "
    "0.01],\n"
    "  [0.02, 0.002, 0, 0, 0.0125, 0, 0, 0, 0.01]]},\n"
    "  {\"real_space_a\": [50, 0, 0], \"real_space_b\": [0, 0, 80],\n"
    "  \"real_space_c\": [0, -100, 0], \"mosaicity\": 0.2, \"A_at_scan_points\":\n"
    "  [[0.02, 0, 0, 0, 0, -0.01, 0, 0.0125, 0], [0.02, 0.001, 0, 0, 0, -0.01, 0, 0.0125, "
    "0],\n"
    "  [0.02, 0.002, 0, 0, 0, -0.01, 0, 0.0125, 0]]}]}\n";

const char xparm_text[] =
    " XPARM.XDS    VERSION Jan 31, 2020  BUILT=20200131\n"
    "     1        12.5000    0.2500  1.000000  0.000000  0.000000\n"
    "       0.980000       0.000000       0.000000       1.020408\n"
    "     4     30.0000     40.0000     50.9902  90.000 101.310  90.000\n"
    "      30.000000       0.000000       0.000000\n"
    "       0.000000      40.000000       0.000000\n"
    "     -10.000000       0.000000      50.000000\n"
    "         1        60        50    0.500000    0.500000\n"
    "      22.500000      16.500000      70.000000\n"
    "       1.000000       0.000000       0.000000\n"
    "       0.000000       1.000000       0.000000\n"
    "       0.000000       0.000000       1.000000\n"
    "         1         1        60         1        50\n"
    "    0.00    0.00    0.00  1.00000  0.00000  0.00000  0.00000  1.00000  0.00000\n";

char *text_with(const char *text, const char *old, const char *changed)
{
    const char *at = strstr(text, old);
    const size_t n = strlen(text) + strlen(changed) + 1;
    char *copy = malloc(n);

    if (!copy || !at) {
        printf("not ok the text has no '%s'\n", old);
        exit(1);
    }
    (void)snprintf(copy, n, "%.*s%s%s", (int)(at - text), text, changed, at + strlen(old));
    return copy;
}

nb_status read_uncounted(nb_context *ctx, const char *path, int i, nb_experiment *out)
{
    const nb_status status = nb_expt_read(ctx, path, i, out);

    free(out->counts);
    out->counts = NULL;
    return status;
}

int has_feature(const char *feature)
{
    return strstr(nb_features(), feature) != NULL;
}

void same_vector(const char *what, const double *found, const double *expected,
                 double allowed)
{
    struct worst w = {0};

    worst_add_all(&w, found, expected, 3, 1);
    worst_check(&w, allowed, "%s is %.9g %.9g %.9g, expected %.9g %.9g %.9g", what,
                found[0], found[1], found[2], expected[0], expected[1], expected[2]);
}

void same_crystal(const nb_experiment *e, const double *a, const double *b, const double *c)
{
    static const char *const names[] = {"a", "b", "c"};
    const double *const expected[] = {a, b, c};
    double star[3][3], real[3][3];

    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) star[j][k] = e->scene.crystal.matrix[3 * k + j];
    probe_dual(star, real);
    for (int i = 0; i < 3; i++)
        same_vector(names[i], real[i], expected[i], EXPERIMENT_LENGTH);
}
