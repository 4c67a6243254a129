/* cases.c - see cases.h. SPDX-License-Identifier: MIT */
#include "cases.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CELL                                                                               \
    {                                                                                      \
        70, 80, 90, 85, 95, 105                                                            \
    }
#define MISSET                                                                             \
    {                                                                                      \
        10, 20, 30                                                                         \
    }

const struct bench_case cases_list[] = {
    {.letter = 'A',
     .what = "still, one domain, 3 x 3 sub-pixels",
     .shape = NB_SQUARE,
     .cell = {100, 100, 100, 90, 90, 90},
     .ncells = 10,
     .ndomains = 1,
     .nsource = 1,
     .nphi = 1,
     .nfast = 1024,
     .nslow = 1024,
     .nanobragg = 0.068,
     .target = {25, 45}},
    {.letter = 'B',
     .what = "50 mosaic domains",
     .shape = NB_SQUARE,
     .cell = CELL,
     .misset = MISSET,
     .ncells = 20,
     .mosaic = 0.5,
     .ndomains = 50,
     .nsource = 1,
     .nphi = 1,
     .nfast = 512,
     .nslow = 512,
     .oversample = 1,
     .nanobragg = 0.092,
     .target = {30, 75}},
    {.letter = 'C',
     .what = "B with gaussian spots",
     .shape = NB_GAUSS,
     .cell = CELL,
     .misset = MISSET,
     .ncells = 20,
     .mosaic = 0.5,
     .ndomains = 50,
     .nsource = 1,
     .nphi = 1,
     .nfast = 512,
     .nslow = 512,
     .oversample = 1,
     .nanobragg = 0.26,
     .target = {25, 0},
     .spots_target = 300},
    {.letter = 'D',
     .what = "B with 20 wavelengths",
     .shape = NB_SQUARE,
     .cell = CELL,
     .misset = MISSET,
     .ncells = 20,
     .mosaic = 0.5,
     .ndomains = 50,
     .dispersion = 1,
     .nsource = 20,
     .nphi = 1,
     .nfast = 512,
     .nslow = 512,
     .oversample = 1,
     .nanobragg = 0.085,
     .target = {30, 75}},
    {.letter = 'E',
     .what = "10 phi steps, 20 domains, F of the nearest hkl",
     .shape = NB_SQUARE,
     .cell = CELL,
     .misset = MISSET,
     .ncells = 20,
     .mosaic = 0.5,
     .ndomains = 20,
     .nsource = 1,
     .phi = 5,
     .osc = 1,
     .nphi = 10,
     .nfast = 512,
     .nslow = 512,
     .oversample = 1,
     .interpolate = NB_NEAREST,
     .nanobragg = 0.095,
     .target = {25, 45}},
    {.letter = 'F',
     .what = "E with tricubic F",
     .shape = NB_SQUARE,
     .cell = CELL,
     .misset = MISSET,
     .ncells = 20,
     .mosaic = 0.5,
     .ndomains = 20,
     .nsource = 1,
     .phi = 5,
     .osc = 1,
     .nphi = 10,
     .nfast = 512,
     .nslow = 512,
     .oversample = 1,
     .interpolate = NB_TRICUBIC},
    {.letter = 'G',
     .what = "4 megapixels, gaussian spots, 200 domains, 10 wavelengths",
     .shape = NB_GAUSS,
     .cell = CELL,
     .misset = MISSET,
     .ncells = 27,
     .mosaic = 0.1,
     .ndomains = 200,
     .dispersion = 0.5,
     .nsource = 10,
     .nphi = 1,
     .nfast = 2048,
     .nslow = 2048,
     .oversample = 1,
     .nanobragg = 0.15,
     .spots_seconds = 0.060},
    {.letter = 'H',
     .what = "G at 200 mm, its spots a pixel wide",
     .shape = NB_GAUSS,
     .cell = CELL,
     .misset = MISSET,
     .ncells = 27,
     .mosaic = 0.1,
     .ndomains = 200,
     .dispersion = 0.5,
     .nsource = 10,
     .nphi = 1,
     .distance = 200,
     .nfast = 2048,
     .nslow = 2048,
     .oversample = 1,
     .own_seconds = {0.4, 0.28}},
    {.letter = 'I',
     .what = "an XFEL still of 9 megapixels, 50 domains, 100 wavelengths",
     .shape = NB_GAUSS,
     .cell = {67.2, 59.8, 47.2, 90, 110.3, 90},
     .misset = MISSET,
     .ncells = 36,
     .mosaic = 0.05,
     .ndomains = 50,
     .dispersion = 0.8,
     .nsource = 100,
     .nphi = 1,
     .wavelength = 1.74,
     .distance = 141.7,
     .pixel = 0.11,
     .nfast = 3000,
     .nslow = 3000,
     .oversample = 1,
     .own_seconds = {0.8, 0.55}},
};

const size_t cases_count = sizeof cases_list / sizeof *cases_list;

/* ---- the list of structure factors ---- */

/* metric of the reciprocal cell: |h a* + k b* + l c*|^2 = h' M h */
static void reciprocal_metric(const double cell[6], double metric[3][3])
{
    const double degree = acos(-1) / 180;
    double direct[3][3], determinant = 0;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            direct[i][j] = cell[i] * cell[j] * (i == j ? 1 : cos(cell[6 - i - j] * degree));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;

            metric[i][j] = direct[a][c] * direct[b][d] - direct[a][d] * direct[b][c];
        }
    for (int i = 0; i < 3; i++) determinant += direct[0][i] * metric[0][i];
    for (int i = 0; i < 9; i++) metric[i / 3][i % 3] /= determinant;
}

int cases_write_hkl(const char *path)
{
    static const double cell[6] = CELL;
    const double resolution = 2;
    const int most[3] = {(int)(cell[0] / resolution), (int)(cell[1] / resolution),
                         (int)(cell[2] / resolution)};
    double m[3][3];
    FILE *file = fopen(path, "w");

    if (!file) return 0;
    reciprocal_metric(cell, m);
    for (int h = -most[0]; h <= most[0]; h++)
        for (int k = -most[1]; k <= most[1]; k++)
            for (int l = -most[2]; l <= most[2]; l++) {
                const double q2 =
                    m[0][0] * h * h + m[1][1] * k * k + m[2][2] * l * l
                    + 2 * (m[0][1] * h * k + m[0][2] * h * l + m[1][2] * k * l);

                if (q2 * resolution * resolution <= 1)
                    (void)fprintf(file, "%d %d %d %.4f\n", h, k, l,
                                  100 * (1 + cos(1.3 * h + 2.1 * k + 0.7 * l)));
            }
    return fclose(file) == 0;
}

/* ---- as a scene ---- */

/* a length of a case, or what it is where the case has none */
static double or_else(double given, double otherwise)
{
    return given > 0 ? given : otherwise;
}

nb_scene cases_scene(const struct bench_case *c, int profile, const nb_hkl *hkl)
{
    nb_scene scene = {0};

    memcpy(scene.crystal.cell, c->cell, sizeof c->cell);
    memcpy(scene.crystal.misset, c->misset, sizeof c->misset);
    for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = c->ncells;
    scene.crystal.shape = c->shape;
    scene.crystal.mosaic[0] = c->mosaic;
    scene.crystal.ndomains = c->ndomains;
    scene.crystal.interpolate = c->interpolate;
    if (c->interpolate)
        scene.crystal.hkl = hkl;
    else
        scene.crystal.default_f = 100;
    scene.beam.wavelength = or_else(c->wavelength, 1);
    scene.beam.dispersion = c->dispersion / 100;
    scene.beam.ndispersion = c->nsource;
    scene.scan.phi0 = c->phi;
    scene.scan.osc = c->osc;
    scene.scan.nphi = c->nphi;
    scene.detector.distance = or_else(c->distance, 100);
    scene.detector.pixel = or_else(c->pixel, 0.1);
    scene.detector.nfast = c->nfast;
    scene.detector.nslow = c->nslow;
    memcpy(scene.detector.roi, c->roi, sizeof c->roi);
    scene.oversample = c->oversample;
    nb_scene_set_profile(&scene, profile);
    return scene;
}

/* ---- as a command line ---- */

void command_add(struct command *command, const char *format, ...)
{
    const size_t room = sizeof command->text - command->used;
    char *const to = command->text + command->used;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(to, room, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= room
        || command->nwords + 2 > sizeof command->word / sizeof *command->word)
        return; /* no case comes near */
    command->word[command->nwords++] = to;
    command->word[command->nwords] = NULL;
    command->used += (size_t)length + 1;
}

static void add_number(struct command *command, const char *option, double value)
{
    command_add(command, "%s", option);
    command_add(command, "%.10g", value);
}

void cases_command(const struct bench_case *c, const char *hkl, struct command *command)
{
    command_add(command, "-cell");
    for (int i = 0; i < 6; i++) command_add(command, "%.10g", c->cell[i]);
    if (c->misset[0] != 0) {
        command_add(command, "-misset");
        for (int i = 0; i < 3; i++) command_add(command, "%.10g", c->misset[i]);
    }
    add_number(command, "-N", c->ncells);
    if (c->shape == NB_GAUSS) command_add(command, "-gauss_xtal");
    if (c->mosaic > 0) {
        add_number(command, "-mosaic", c->mosaic);
        add_number(command, "-mosaic_dom", c->ndomains);
    }
    if (c->dispersion > 0) {
        add_number(command, "-dispersion", c->dispersion);
        add_number(command, "-dispsteps", c->nsource);
    }
    if (c->nphi > 1) {
        add_number(command, "-phi", c->phi);
        add_number(command, "-osc", c->osc);
        add_number(command, "-phisteps", c->nphi);
    }
    if (c->oversample > 0) add_number(command, "-oversample", c->oversample);
    if (c->interpolate) {
        command_add(command, "-hkl");
        command_add(command, "%s", hkl);
        command_add(command,
                    c->interpolate == NB_TRICUBIC ? "-interpolate" : "-nointerpolate");
    } else
        add_number(command, "-default_F", 100);
    add_number(command, "-lambda", or_else(c->wavelength, 1));
    add_number(command, "-distance", or_else(c->distance, 100));
    add_number(command, "-pixel", or_else(c->pixel, 0.1));
    if (c->nfast == c->nslow)
        add_number(command, "-detpixels", c->nfast);
    else {
        add_number(command, "-detpixels_f", c->nfast);
        add_number(command, "-detpixels_s", c->nslow);
    }
    if (c->roi[1] > 0) {
        command_add(command, "-roi");
        for (int i = 0; i < 4; i++) command_add(command, "%d", c->roi[i] - i % 2);
    }
}

void command_image(struct command *command)
{
    command_add(command, "-floatfile");
    command_add(command, "o.bin");
    command_add(command, "-nopgm");
    command_add(command, "-nonoise");
    command_add(command, "-noprogress");
}

const char *precision_word(int precision)
{
    return precision == NB_SINGLE ? "float" : "double";
}

const char *strategy_word(int strategy)
{
    static const char *const words[] = {[NB_STRATEGY_AUTO] = "auto",
                                        [NB_REFERENCE] = "reference",
                                        [NB_LANES] = "lanes",
                                        [NB_SPOTS] = "spots"};

    return words[strategy];
}

/* what is the default is left out: the line is then nanoBragg's */
void command_manner(struct command *command, int precision, int strategy)
{
    if (precision != NB_DOUBLE) {
        command_add(command, "-precision");
        command_add(command, "%s", precision_word(precision));
    }
    if (strategy != NB_STRATEGY_AUTO) {
        command_add(command, "-strategy");
        command_add(command, "%s", strategy_word(strategy));
    }
}
