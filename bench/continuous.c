/*
 * continuous.c - crystals whose mosaic spread, rotation and spectrum are continuous: image
 * and parts of a pass by the closed form, in turn with the same scene by a sum over
 * domains, phi steps and energies, which is less accurate.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "pass.h"

enum { MOST = 32, BOX = 12, BOXES = 200 };

enum of_scene { DEMO, XFEL, STILL, BOXED };

/* In what a figure is wanted: seconds, images of the same scene, images of the still
 * without water by lanes. */
enum unit { SECONDS, IMAGES, LANES };

#define FITTED "cell misset ncells mosaic scale origin water"
/* all that move spots or scale them, and no tail: a free one has spots of its own */
#define MOST_FREE "cell misset ncells mosaic wavelength distance origin scale fluence"

static const struct figure {
    const char *what, *free_names;
    int scene, precision, part, unit;
    double wanted;
    int ndomains, nphi; /* of the sum */
} figures[] = {
    {"demo, 2 x 2 samples", "", DEMO, NB_DOUBLE, PASS_IMAGE, SECONDS, 5e-3, 25, 20},
    {"demo, 2 x 2 samples", "", DEMO, NB_SINGLE, PASS_IMAGE, SECONDS, 4e-3, 25, 20},
    {"XFEL still, 100 energies", "", XFEL, NB_DOUBLE, PASS_IMAGE, SECONDS, 12e-3, 50, 1},
    {"XFEL still, 100 energies", "", XFEL, NB_SINGLE, PASS_IMAGE, SECONDS, 8e-3, 50, 1},
    {"demo, of a fit", MOST_FREE, DEMO, NB_DOUBLE, PASS_ADJOINT, IMAGES, 3.2, 25, 20},
    {"XFEL, of a fit", MOST_FREE, XFEL, NB_DOUBLE, PASS_ADJOINT, IMAGES, 3.2, 50, 1},
    {"demo, all parameters", "*", DEMO, NB_DOUBLE, PASS_ADJOINT, IMAGES, 3.2, 25, 20},
    {"XFEL, all parameters", "*", XFEL, NB_DOUBLE, PASS_ADJOINT, IMAGES, 3.2, 50, 1},
    {"still with water", FITTED, STILL, NB_DOUBLE, PASS_VALUE, LANES, 0.07, 40, 1},
    {"still with water", FITTED, STILL, NB_DOUBLE, PASS_GRADIENT, LANES, 0.12, 40, 1},
    {"still with water", FITTED, STILL, NB_DOUBLE, PASS_MATRIX, LANES, 0.25, 40, 1},
    {"200 boxes of 12 x 12", FITTED, BOXED, NB_DOUBLE, PASS_MATRIX, SECONDS, 1e-3, 400, 1},
};

static const char *const parts[] = {"image", "value", "gradient", "matrix", "vjp"};

/* Returns the scene of a figure without its model of mosaicity. A quick one has an eighth
 * of the pixels along each edge. */
static nb_scene scene_of(int which, const nb_hkl *hkl, int quick)
{
    static const double cells[2][6] = {{53.91, 23.1, 23.1, 90, 110.4, 90},
                                       {67.2, 59.8, 47.2, 90, 110.3, 90}};
    static const double ncells[2][3] = {{8, 18, 18}, {36, 36, 36}};
    static const double misset[2][3] = {{25, 40, 10}, {10, 20, 30}};
    static const int side[] = {1024, 3000, 1024, 4096};
    static const double pixel[] = {0.1, 0.11, 176. / 1024, 176. / 4096}; /* mm */
    static const double distance[] = {80, 141.7, 100, 100};
    static const double mosaic[] = {0.3, 0.05, 0.1, 0.1};
    const int xfel = which == XFEL, coarser = quick ? 8 : 1;
    nb_scene scene = {0};

    memcpy(scene.crystal.cell, cells[xfel], sizeof cells[0]);
    memcpy(scene.crystal.ncells, ncells[xfel], sizeof ncells[0]);
    if (which < STILL) memcpy(scene.crystal.misset, misset[xfel], sizeof misset[0]);
    scene.crystal.shape = NB_GAUSS;
    scene.crystal.mosaic[0] = mosaic[which];
    if (xfel)
        scene.crystal.default_f = 100;
    else
        scene.crystal.hkl = hkl;
    scene.beam.wavelength = xfel ? 1.74 : 1;
    scene.beam.fluence = which == DEMO ? 1e28 : 1e27;
    scene.beam.dispersion = xfel ? 0.008 : 0;
    scene.beam.ndispersion = xfel ? 100 : 0;
    scene.scan.osc = which == DEMO ? 2 : 0;
    scene.background.water = which >= STILL ? 0.12 : 0;
    scene.detector.distance = distance[which];
    scene.detector.nfast = scene.detector.nslow = side[which] / coarser;
    scene.detector.pixel = pixel[which] * coarser;
    scene.oversample = which == DEMO ? 2 : 1;
    return scene;
}

/* Opens a figure's pass by the closed form, or by `ndomains` domains where that is not 0.
 */
static int open_pass(nb_context *ctx, const struct figure *f, nb_scene scene, int ndomains,
                     struct pass *pass)
{
    struct pass_scene with = {.scene = scene,
                              .free_names = f->free_names,
                              .options = {f->precision, NB_STRATEGY_AUTO, 0}};

    with.scene.crystal.mosaic_model = ndomains > 0 ? NB_MOSAIC_DOMAINS : NB_MOSAIC_GAUSS;
    with.scene.crystal.ndomains = ndomains;
    with.scene.scan.nphi = ndomains > 0 ? f->nphi : 0;
    return pass_open(ctx, &with, pass);
}

/* What is timed in turn: the figure by the closed form and by domains, and its unit. */
struct turns {
    struct pass *form, *domains, *unit;
    enum pass_part part;
};

/* Fills in the medians; returns 0 on failure. */
static int time_turns(const struct turns *t, const struct options *options,
                      struct continuous *out)
{
    double (*const clock)(void) =
        options->threads == 1 ? timing_process_seconds : timing_seconds;
    const double budget = options->quick ? 0.05 : 3;
    double times[3][MOST], spent[2] = {0};
    int n = 0, nsums = 0;

    /* the first does not count */
    if (pass_time(t->form, t->part, clock) == 0) return 0;
    if (t->unit && pass_time(t->unit, PASS_IMAGE, clock) == 0) return 0;
    while (n < MOST && (n < options->repeat || spent[0] < budget / 4)
           && (n == 0 || spent[0] < budget)) {
        times[0][n] = pass_time(t->form, t->part, clock);
        times[2][n] = t->unit ? pass_time(t->unit, PASS_IMAGE, clock) : 1;
        if (times[0][n] == 0 || times[2][n] == 0) return 0;
        spent[0] += times[0][n] + (t->unit ? times[2][n] : 0);
        n++;
        if (nsums > 0 && spent[1] > budget) continue;
        times[1][nsums] = pass_time(t->domains, t->part, clock);
        if (times[1][nsums] == 0) return 0;
        spent[1] += times[1][nsums++];
    }
    out->seconds = timing_median(times[0], n);
    out->domains = timing_median(times[1], nsums);
    out->unit = timing_median(times[2], n);
    return 1;
}

static void print_figure(const struct figure *f, const struct continuous *c)
{
    static const char *const units[] = {"", "images", "L"};
    const double in_unit = c->seconds / c->unit;
    char text[2][16], value[2][16], sum[24];

    (void)seconds_text(c->seconds, text[0], sizeof text[0]);
    (void)seconds_text(c->domains, text[1], sizeof text[1]);
    if (f->unit == SECONDS) {
        value[0][0] = 0;
        (void)seconds_text(f->wanted, value[1], sizeof value[1]);
    } else {
        (void)snprintf(value[0], sizeof value[0], "%.3f", in_unit);
        (void)snprintf(value[1], sizeof value[1], "%.3g %s", f->wanted, units[f->unit]);
    }
    (void)snprintf(sum, sizeof sum, "%d x %d", f->ndomains, f->nphi);
    (void)printf("%-24s %-6s %-8s %8s %8s %10s %7s %8s %5.0f %s\n", f->what,
                 precision_word(f->precision), parts[f->part], text[0], value[0], value[1],
                 sum, text[1], c->domains / c->seconds,
                 in_unit <= f->wanted ? ""
                 : machine_is_busy()  ? "busy"
                                      : "SLOW");
}

static void run_one(struct report *report, nb_context *ctx, const nb_hkl *hkl,
                    const struct figure *f, struct pass *lanes)
{
    struct continuous *c = &report->continuous[report->ncontinuous];
    nb_scene scene = scene_of(f->scene, hkl, report->options->quick);
    struct pass form = {0}, domains = {0};
    const struct turns turns = {&form, &domains,
                                f->unit == LANES    ? lanes
                                : f->unit == IMAGES ? &form
                                                    : NULL,
                                (enum pass_part)f->part};
    int box[BOXES][4];

    *c = (struct continuous){.what = f->what,
                             .part = parts[f->part],
                             .precision = f->precision,
                             .wanted = f->wanted};
    if ((f->scene != BOXED || pass_boxes(ctx, BOX, BOXES, &scene, box))
        && open_pass(ctx, f, scene, 0, &form)
        && open_pass(ctx, f, scene, f->ndomains, &domains)
        && time_turns(&turns, report->options, c)) {
        print_figure(f, c);
        report->ncontinuous++;
    } else {
        (void)printf("%-24s not run: %.60s\n", f->what, nb_context_message(ctx));
        report_failure(report, "continuous", nb_context_message(ctx));
    }
    pass_close(&form);
    pass_close(&domains);
}

void continuous_run(struct report *report)
{
    const struct options *options = report->options;
    const nb_context_options threads = {.threads = options->threads};
    struct pass_scene still = {.options = {NB_DOUBLE, NB_LANES, 0}};
    nb_context *ctx = NULL;
    nb_hkl *hkl = NULL;
    struct pass lanes = {0};

    (void)printf("\ncrystals in closed form, and by domains x phi steps\n"
                 "(L: an image of the still by lanes, without water, of 40 domains)\n"
                 "%-24s %-6s %-8s %8s %8s %10s %7s %8s %5s\n",
                 "", "", "", "time", "", "want", "domains", "time", "times");
    if (nb_context_create(NB_API_VERSION, &threads, &ctx) == NB_OK
        && nb_hkl_read(ctx, BENCH_LIST, &hkl) == NB_OK) {
        still.scene = scene_of(STILL, hkl, options->quick);
        still.scene.background.water = 0;
        still.scene.crystal.mosaic_model = NB_MOSAIC_DOMAINS;
        still.scene.crystal.ndomains = 40;
        if (pass_open(ctx, &still, &lanes))
            for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
                run_one(report, ctx, hkl, figures + i, &lanes);
    }
    if (report->ncontinuous == 0)
        report_failure(report, "continuous", ctx ? nb_context_message(ctx) : "no context");
    pass_close(&lanes);
    nb_hkl_free(hkl);
    nb_context_free(ctx);
}
