/*
 * test_api.c - misuse of every public call: it is refused with the right status and a
 * message that names the fault.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "api/allocations.h"
#include "scene/scene.h"
#include "support/files.h"
#include "support/scenes.h"
#include "support/worst.h"

enum { NFAST = 40, NSLOW = 37, PIXELS = NFAST * NSLOW };

static double photons[PIXELS];

static nb_simulator *make(const nb_scene *scene, const char *names)
{
    nb_simulator *sim;

    check_ok(nb_simulator_create(ctx, scene, names, NULL, &sim), "a simulator");
    return sim;
}

static void refuse_scene(const nb_scene *scene, nb_status expected, const char *part,
                         const char *other)
{
    nb_simulator *sim = (nb_simulator *)(void *)photons; /* anything but NULL */

    check_refused(nb_simulator_create(ctx, scene, NULL, NULL, &sim), expected, part, other);
    if (sim) tap_check(0, "a simulator was handed out");
}

/* ---- status ---- */
static int status_texts(void)
{
    for (int i = 0; i < NB_STATUS_COUNT; i++) {
        const char *text = nb_status_text((nb_status)i);

        tap_check(*text && strcmp(text, "unknown status") != 0, "status %d: %s", i, text);
        for (int k = 0; k < i; k++)
            if (strcmp(text, nb_status_text((nb_status)k)) == 0)
                tap_check(0, "statuses %d and %d have the same text", i, k);
    }
    tap_check(!strcmp(nb_status_text(NB_STATUS_COUNT), "unknown status")
                  && !strcmp(nb_status_text((nb_status)-1), "unknown status")
                  && !strcmp(nb_status_text((nb_status)2147483647), "unknown status"),
              "numbers that are none are said to be unknown");
    return TAP_PASS;
}

static int stop_at_once(void *user, double fraction)
{
    (void)user;
    (void)fraction;
    return 1;
}

static nb_status cancelled(void)
{
    const nb_scene scene = scenes_base();
    nb_array image = nb_array_f64(photons, NSLOW, NFAST);
    nb_context_options options = {0};
    nb_context *own;
    nb_simulator *sim;
    nb_status status;

    options.progress = stop_at_once;
    check_ok(nb_context_create(NB_API_VERSION, &options, &own), "a context");
    check_ok(nb_simulator_create(own, &scene, NULL, NULL, &sim), "a simulator");
    status = nb_forward(sim, NULL, &image);
    nb_simulator_free(sim);
    nb_context_free(own);
    return status;
}

static nb_status without_memory(void)
{
    nb_context *own;
    nb_status status;

    allocations_refuse(1);
    status = nb_context_create(NB_API_VERSION, NULL, &own);
    allocations_refuse(0);
    return status;
}

/* NB_ERR_DEVICE takes an array on a device that fails: see
 * tests/backend/test_device_arrays.c */
static int every_status(void)
{
    nb_scene scene = scenes_base(), flat = scene, torn = scene, curved = scene;
    nb_array donated = nb_array_f64(photons, NSLOW, NFAST);
    nb_array image = nb_array_f64(photons, NFAST, NSLOW);
    const nb_target target = {.observed = &image};
    const double outside[1] = {-1};
    nb_simulator *sim = make(&scene, "scale"), *none, *quirk;
    double value;
    nb_hkl *hkl;
    size_t n;
    int box[4];
    int reached[NB_STATUS_COUNT] = {0}, count = 0;

    flat.crystal.cell[5] = 177;
    torn.detector.thickness = 100;
    curved.detector.curved = 1;
    curved.quirks = NB_QUIRK_CURVED;
    donated.flags = NB_DONATED;
    put(in_folder("words"), "not numbers\n", 12);
    reached[nb_forward(sim, NULL, &image)]++;
    reached[nb_forward(sim, NULL, &donated)]++;
    reached[nb_forward(sim, NULL, NULL)]++;
    image = nb_array_f64(photons, NSLOW, NFAST);
    reached[nb_forward(sim, NULL, &image)]++;
    reached[nb_loss(sim, outside, &target, &value, NULL)]++;
    reached[nb_simulator_create(ctx, &flat, NULL, NULL, &none)]++;
    reached[nb_simulator_create(ctx, &torn, NULL, NULL, &none)]++;
    quirk = make(&curved, NULL);
    reached[nb_simulator_boxes(quirk, NULL, 3, 1, box, &n)]++;
    nb_simulator_free(quirk);
    reached[nb_hkl_read(ctx, in_folder("absent"), &hkl)]++;
    reached[nb_hkl_read(ctx, in_folder("words"), &hkl)]++;
    reached[cancelled()]++;
    if (allocations_counted()) reached[without_memory()]++;
    nb_simulator_free(sim);
    for (int i = 0; i < NB_STATUS_COUNT; i++) {
        count += reached[i];
        if (i != NB_ERR_DEVICE && (i != NB_ERR_MEMORY || allocations_counted()))
            tap_check(reached[i] == 1, "'%s' was returned %d times",
                      nb_status_text((nb_status)i), reached[i]);
    }
    tap_check(count == NB_STATUS_COUNT - (allocations_counted() ? 1 : 2),
              "%d calls, each with a status of its own", count);
    return TAP_PASS;
}

/* ---- context ---- */
static int context_misuse(void)
{
    nb_context_options options = {0};
    nb_context *own = ctx;

    tap_check(nb_context_create(NB_API_VERSION + 1, NULL, &own) == NB_ERR_ARGUMENT && !own,
              "a later version of the interface is refused");
    tap_check(nb_context_create(0, NULL, &own) == NB_ERR_ARGUMENT, "version 0 is refused");
    tap_check(nb_context_create(NB_API_VERSION, NULL, NULL) == NB_ERR_ARGUMENT,
              "no place for the context");
    options.threads = -1;
    tap_check(nb_context_create(NB_API_VERSION, &options, &own) == NB_ERR_ARGUMENT,
              "-1 threads are refused");
    options.threads = 0;
    for (int bad = -1; bad <= NB_COMPILE_REQUIRE + 1; bad += NB_COMPILE_REQUIRE + 2) {
        options.compile = bad;
        tap_check(nb_context_create(NB_API_VERSION, &options, &own) == NB_ERR_ARGUMENT,
                  "compile %d is refused", bad);
    }
    options.compile = 0;
    options.device = 10; /* DLPack's ROCm */
    tap_check(nb_context_create(NB_API_VERSION, &options, &own) == NB_ERR_UNSUPPORTED,
              "a kind of device that no build has is refused");
    options.device = NB_DEVICE_CPU;
    options.threads = 3;
    tap_check(nb_context_create(NB_API_VERSION, &options, &own) == NB_OK
                  && strcmp(nb_context_message(own), "") == 0
                  && (nb_context_threads(own) == 3 || nb_context_threads(own) == 1),
              "a context: no message yet, %d threads", nb_context_threads(own));
    nb_context_free(own);
    tap_check(strcmp(nb_context_message(NULL), "") == 0 && nb_context_threads(NULL) == 0,
              "questions to no context");
    return TAP_PASS;
}

static int free_nothing(void)
{
    nb_context *after;

    nb_simulator_free(NULL);
    nb_context_free(NULL);
    nb_hkl_free(NULL);
    nb_table_free(NULL);
    nb_smv_free(NULL);
    check_ok(nb_context_create(NB_API_VERSION, NULL, &after), "every free takes NULL");
    nb_context_free(after);
    return TAP_PASS;
}

/* ---- simulator ---- */
static int create_misuse(void)
{
    nb_scene scene = scenes_base();
    nb_simulator *sim = (nb_simulator *)(void *)photons;

    tap_check(nb_simulator_create(NULL, &scene, NULL, NULL, &sim) == NB_ERR_ARGUMENT,
              "no context");
    tap_check(nb_simulator_create(ctx, &scene, NULL, NULL, NULL) == NB_ERR_ARGUMENT,
              "no place for the simulator");
    refuse_scene(NULL, NB_ERR_ARGUMENT, "scene", "");
    check_refused(nb_simulator_create(ctx, &scene, "misset cell_q", NULL, &sim),
                  NB_ERR_ARGUMENT, "\"cell_q\"", "the nearest is cell_");
    check_refused(nb_simulator_create(ctx, &scene, "nothing", NULL, &sim), NB_ERR_ARGUMENT,
                  "\"nothing\"", "nb_param_registry");
    check_refused(nb_simulator_create(ctx, &scene, "cell_a cell", NULL, &sim),
                  NB_ERR_ARGUMENT, "cell_a", "twice");
    check_refused(nb_simulator_create(ctx, &scene, "misset_x misset_x", NULL, &sim),
                  NB_ERR_ARGUMENT, "misset_x", "twice");
    check_refused(nb_simulator_create(ctx, &scene, "cel", NULL, &sim), NB_ERR_ARGUMENT,
                  "\"cel\"", "the nearest is cell");
    tap_check(sim == NULL, "no simulator was handed out");
    sim = make(&scene, " \t cell_b,misset\n");
    tap_check(nb_simulator_nparam(sim) == 4, "blanks and commas separate: %zu parameters",
              nb_simulator_nparam(sim));
    nb_simulator_free(sim);
    sim = make(&scene, "");
    tap_check(nb_simulator_nparam(sim) == 0 && nb_simulator_nparam(NULL) == 0,
              "no names, no parameters");
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* parameters that mean nothing in the base scene */
static int names_that_do_not_apply(void)
{
    static const struct {
        const char *name, *lacks;
    } cases[] = {
        {"a_star_x", "matrix"},       {"matrix", "matrix"},
        {"origin_z", "pix0"},         {"close_distance", "close distance"},
        {"thickness", "thickness"},   {"attenuation", "thickness"},
        {"dispersion", "dispersion"}, {"hdivrange", "horizontal"},
        {"vdivrange", "vertical"},    {"psf_fwhm", "point spread"},
    };
    nb_scene scene = scenes_base();
    nb_source source = {{1, 0, 0}, 1, 1};
    nb_simulator *sim;

    for (size_t i = 0; i < COUNT(cases); i++)
        check_refused(nb_simulator_create(ctx, &scene, cases[i].name, NULL, &sim),
                      NB_ERR_ARGUMENT, i == 1 ? "a_star_x" : cases[i].name, cases[i].lacks);
    scene.detector.close_distance = 80;
    check_refused(nb_simulator_create(ctx, &scene, "distance", NULL, &sim), NB_ERR_ARGUMENT,
                  "distance", "along the beam");
    scene.beam.source = &source;
    scene.beam.nsource = 1;
    check_refused(nb_simulator_create(ctx, &scene, "wavelength", NULL, &sim),
                  NB_ERR_ARGUMENT, "wavelength", "sources");
    scene.scan.osc = 0;
    scene.scan.nphi = 1;
    check_refused(nb_simulator_create(ctx, &scene, "osc", NULL, &sim), NB_ERR_ARGUMENT,
                  "osc", "oscillation");
    memset(scene.crystal.cell, 0, sizeof scene.crystal.cell);
    for (size_t i = 0; i < 9; i += 4) scene.crystal.matrix[i] = 0.02;
    check_refused(nb_simulator_create(ctx, &scene, "cell", NULL, &sim), NB_ERR_ARGUMENT,
                  "cell_a", "a cell");
    return TAP_PASS;
}

static int options_misuse(void)
{
    static const struct {
        nb_options options;
        nb_status expected;
        const char *part, *other;
    } cases[] = {
        {{NB_PRECISION_SINGLE, NB_STRATEGY_REFERENCE, 0},
         NB_ERR_UNSUPPORTED,
         "NB_STRATEGY_REFERENCE",
         "NB_PRECISION_SINGLE"},
        {{7, 0, 0}, NB_ERR_ARGUMENT, "precision", "7"},
        {{0, 99, 0}, NB_ERR_ARGUMENT, "strategy", "99"},
        {{0, -1, 0}, NB_ERR_ARGUMENT, "strategy", "-1"},
        {{0, 0, -1e-3}, NB_ERR_ARGUMENT, "tolerance", "-0.001"},
        {{0, 0, 1}, NB_ERR_ARGUMENT, "tolerance", "1"},
        {{0, 0, NAN}, NB_ERR_ARGUMENT, "tolerance", "nan"},
    };
    const nb_scene scene = scenes_base();
    nb_simulator *sim;

    for (size_t i = 0; i < COUNT(cases); i++)
        check_refused(nb_simulator_create(ctx, &scene, NULL, &cases[i].options, &sim),
                      cases[i].expected, cases[i].part, cases[i].other);
    return TAP_PASS;
}

/* ---- arrays ---- */
/* every call that takes a float image of the simulator */
static void refuse_image(nb_simulator *sim, const nb_array *image, nb_status expected,
                         const char *part, const char *other)
{
    const nb_digitizer how = {0};
    static uint16_t counts[PIXELS];
    nb_array in = *image, out = nb_array_u16(counts, NSLOW, NFAST);
    nb_statistics statistics;

    check_refused(nb_forward(sim, NULL, &in), expected, part, other);
    check_refused(nb_statistics_get(sim, NULL, &in, &statistics), expected, part, other);
    check_refused(nb_digitize(sim, &how, &in, &out), expected, part, other);
}

static int array_misuse(void)
{
    const nb_scene scene = scenes_base();
    nb_simulator *sim = make(&scene, NULL);
    nb_array image = nb_array_f64(photons, NFAST, NSLOW);

    refuse_image(sim, &image, NB_ERR_SHAPE, "40 x 37", "37 x 40");
    image = nb_array_f64(photons, NSLOW, NFAST);
    image.name = "my_picture";
    image.flags = NB_DONATED;
    refuse_image(sim, &image, NB_ERR_DONATED, "my_picture", "donated");
    image.flags = 0;
    image.device = NB_DEVICE_CUDA;
    refuse_image(sim, &image, NB_ERR_SHAPE, "my_picture", "device");
    image.device = NB_DEVICE_CPU;
    image.type = NB_TYPE_INT;
    refuse_image(sim, &image, NB_ERR_SHAPE, "my_picture", "float");
    image.type = NB_TYPE_FLOAT;
    image.bits = 16;
    refuse_image(sim, &image, NB_ERR_SHAPE, "my_picture", "16 bits");
    image.bits = 64;
    image.ndim = 3;
    refuse_image(sim, &image, NB_ERR_SHAPE, "my_picture", "3 axes");
    image.ndim = 2;
    image.name = NULL;
    image.data = NULL;
    refuse_image(sim, &image, NB_ERR_ARGUMENT, "image", "");
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int counts_misuse(void)
{
    static uint16_t pixels[PIXELS];
    const nb_scene scene = scenes_base();
    const nb_digitizer how = {0};
    nb_simulator *sim = make(&scene, NULL);
    nb_array image = nb_array_f64(photons, NSLOW, NFAST);
    nb_array counts = nb_array_u16(pixels, NSLOW, NFAST);

    tap_check(nb_digitize(NULL, &how, &image, &counts) == NB_ERR_ARGUMENT
                  && nb_digitize(sim, NULL, &image, &counts) == NB_ERR_ARGUMENT,
              "no simulator, no digitizer");
    check_refused(nb_digitize(sim, &how, NULL, &counts), NB_ERR_ARGUMENT, "image", "");
    check_refused(nb_digitize(sim, &how, &image, NULL), NB_ERR_ARGUMENT, "counts", "");
    check_refused(nb_digitize(sim, &how, &image, &image), NB_ERR_SHAPE, "counts", "uint");
    counts.flags = NB_DONATED;
    check_refused(nb_digitize(sim, &how, &image, &counts), NB_ERR_DONATED, "counts", "");
    counts = nb_array_u16(pixels, NSLOW, NFAST - 1);
    check_refused(nb_digitize(sim, &how, &image, &counts), NB_ERR_SHAPE, "counts", "39");
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* ---- questions ---- */
/* two directions at once are each what it is alone, and nothing changes along nothing */
static void check_directions(void)
{
    static double one[2][NSLOW * NFAST], both[2][NSLOW * NFAST], none[NSLOW * NFAST];
    static const double dx[6] = {1, 0, 0, 0.3, -2, 0.5}, still[3] = {0, 0, 0};
    const nb_scene scene = scenes_base();
    nb_simulator *sim = make(&scene, "misset");
    nb_array apart[2] = {nb_array_f64(one[0], NSLOW, NFAST),
                         nb_array_f64(one[1], NSLOW, NFAST)};
    nb_array together[2] = {nb_array_f64(both[0], NSLOW, NFAST),
                            nb_array_f64(both[1], NSLOW, NFAST)};
    nb_array nothing = nb_array_f64(none, NSLOW, NFAST);
    double sum = 0;

    check_ok(nb_jvp(sim, NULL, 2, dx, together), "two directions");
    check_ok(nb_jvp(sim, NULL, 1, dx, apart), "the first");
    check_ok(nb_jvp(sim, NULL, 1, dx + 3, apart + 1), "the second");
    check_ok(nb_jvp(sim, NULL, 1, still, &nothing), "no direction");
    for (int i = 0; i < NSLOW * NFAST; i++) sum += fabs(none[i]);
    tap_check(bits_same(one[0], both[0], sizeof one / sizeof one[0][0]),
              "two directions at once give the bits of each alone");
    tap_check(sum == 0, "along 0 the image changes by %g", sum);
    nb_simulator_free(sim);
}

static int jvp_misuse(void)
{
    static const double dx[3] = {1, 0, 0}, bad[3] = {0, NAN, 0};
    nb_scene scene = scenes_base();
    nb_simulator *sim = make(&scene, "misset"), *fixed = make(&scene, NULL);
    nb_array image = nb_array_f64(photons, NSLOW, NFAST);
    nb_array turned = nb_array_f64(photons, NFAST, NSLOW);

    tap_check(nb_jvp(NULL, NULL, 1, dx, &image) == NB_ERR_ARGUMENT, "no simulator");
    check_refused(nb_jvp(fixed, NULL, 1, dx, &image), NB_ERR_ARGUMENT, "free", "");
    check_refused(nb_jvp(sim, NULL, 0, dx, &image), NB_ERR_ARGUMENT, "directions", "");
    check_refused(nb_jvp(sim, NULL, 1, NULL, &image), NB_ERR_ARGUMENT, "directions", "");
    check_refused(nb_jvp(sim, NULL, 1, dx, NULL), NB_ERR_ARGUMENT, "images", "");
    check_refused(nb_jvp(sim, NULL, 1, bad, &image), NB_ERR_ARGUMENT, "dx[1]", "");
    check_refused(nb_jvp(sim, NULL, 1, dx, &turned), NB_ERR_SHAPE, "dimage", "");
    check_refused(nb_jvp(sim, bad, 1, dx, &image), NB_ERR_ARGUMENT, "misset_y", "");
    nb_simulator_free(sim);
    nb_simulator_free(fixed);
    scene.detector.curved = 1;
    scene.quirks = NB_QUIRK_CURVED;
    sim = make(&scene, "misset");
    check_refused(nb_jvp(sim, NULL, 1, dx, &image), NB_ERR_UNSUPPORTED, "curved", "");
    nb_simulator_free(sim);
    check_directions();
    return TAP_PASS;
}

static int query_misuse(void)
{
    const nb_scene scene = scenes_base();
    nb_simulator *sim = make(&scene, "misset");
    nb_scene resolved;
    nb_description about;
    nb_pixel_trace trace;
    nb_source source;
    nb_statistics statistics;
    nb_param param;
    nb_array image = nb_array_f64(photons, NSLOW, NFAST);
    double axes[9];

    tap_check(nb_forward(NULL, NULL, &image) == NB_ERR_ARGUMENT
                  && nb_simulator_param(NULL, 0, &param) == NB_ERR_ARGUMENT
                  && nb_simulator_param(sim, 0, NULL) == NB_ERR_ARGUMENT
                  && nb_simulator_resolved(NULL, NULL, &resolved) == NB_ERR_ARGUMENT
                  && nb_simulator_resolved(sim, NULL, NULL) == NB_ERR_ARGUMENT
                  && nb_simulator_describe(NULL, NULL, &about) == NB_ERR_ARGUMENT
                  && nb_simulator_describe(sim, NULL, NULL) == NB_ERR_ARGUMENT
                  && nb_simulator_source(NULL, NULL, 0, &source, NULL) == NB_ERR_ARGUMENT
                  && nb_simulator_source(sim, NULL, 0, NULL, NULL) == NB_ERR_ARGUMENT
                  && nb_simulator_orientation(NULL, NULL, 0, 0, axes) == NB_ERR_ARGUMENT
                  && nb_simulator_orientation(sim, NULL, 0, 0, NULL) == NB_ERR_ARGUMENT
                  && nb_simulator_trace(NULL, NULL, 0, 0, 0, &trace) == NB_ERR_ARGUMENT
                  && nb_simulator_trace(sim, NULL, 0, 0, 0, NULL) == NB_ERR_ARGUMENT
                  && nb_statistics_get(NULL, NULL, &image, &statistics) == NB_ERR_ARGUMENT
                  && nb_statistics_get(sim, NULL, &image, NULL) == NB_ERR_ARGUMENT,
              "no simulator, no place for the answer");
    check_refused(nb_simulator_param(sim, 3, &param), NB_ERR_ARGUMENT, "parameter 3",
                  "of 3");
    check_refused(nb_simulator_source(sim, NULL, 1, &source, NULL), NB_ERR_ARGUMENT,
                  "source 1", "of 1");
    check_refused(nb_simulator_source(sim, NULL, -1, &source, NULL), NB_ERR_ARGUMENT,
                  "source -1", "");
    check_refused(nb_simulator_orientation(sim, NULL, 2, 0, axes), NB_ERR_ARGUMENT,
                  "phi step 2", "");
    check_refused(nb_simulator_orientation(sim, NULL, 0, 6, axes), NB_ERR_ARGUMENT,
                  "domain 6", "of 6");
    check_refused(nb_simulator_orientation(sim, NULL, -1, 0, axes), NB_ERR_ARGUMENT, "-1",
                  "");
    check_refused(nb_simulator_trace(sim, NULL, 0, NSLOW, 0, &trace), NB_ERR_ARGUMENT,
                  "0 37", "40 x 37");
    check_refused(nb_simulator_trace(sim, NULL, 0, 0, -1, &trace), NB_ERR_ARGUMENT, "-1 0",
                  "");
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int registry(void)
{
    nb_param param, kept;
    int n = 0;

    while (nb_param_registry(n, &param)) {
        tap_check(*param.name && param.unit && *param.doc && param.scale > 0
                      && param.lower < param.upper && param.smooth,
                  "%d %s: %s, %s", n, param.name, param.unit, param.doc);
        n++;
    }
    kept = param;
    tap_check(n > 30 && !nb_param_registry(n, &param) && !nb_param_registry(-1, &param)
                  && !strcmp(kept.name, param.name),
              "%d rows, nothing beyond them", n);
    tap_check(!nb_param_registry(0, NULL), "no place for the row");
    return TAP_PASS;
}

/* x that is no number, and x that makes a flat cell */
static int bad_x(void)
{
    const nb_scene scene = scenes_base();
    nb_simulator *sim = make(&scene, "misset_y cell wavelength");
    nb_array image = nb_array_f64(photons, NSLOW, NFAST);
    nb_statistics statistics;
    nb_description about;
    nb_pixel_trace trace;
    nb_source source;
    double axes[9];

    for (size_t i = 0; i < nb_simulator_nparam(sim); i++)
        for (int kind = 0; kind < 3; kind++) {
            double x[8] = {-33, 31.4, 37.2, 43.9, 81, 96, 103, 1.1};
            char name[8] = "x[0]";

            name[2] = (char)('0' + i);
            x[i] = kind == 0 ? NAN : kind == 1 ? HUGE_VAL : -HUGE_VAL;
            check_refused(nb_forward(sim, x, &image), NB_ERR_ARGUMENT, name, "");
            check_refused(nb_simulator_describe(sim, x, &about), NB_ERR_ARGUMENT, name, "");
            check_refused(nb_statistics_get(sim, x, &image, &statistics), NB_ERR_ARGUMENT,
                          name, "");
            check_refused(nb_simulator_trace(sim, x, 0, 0, 0, &trace), NB_ERR_ARGUMENT,
                          name, "");
            check_refused(nb_simulator_orientation(sim, x, 0, 0, axes), NB_ERR_ARGUMENT,
                          name, "");
            check_refused(nb_simulator_source(sim, x, 0, &source, NULL), NB_ERR_ARGUMENT,
                          name, "");
        }
    {
        const double x[8] = {-33, 31.4, 37.2, 43.9, 81, 96, 178, 1.1};

        check_refused(nb_forward(sim, x, &image), NB_ERR_UNIT_CELL, "178", "no volume");
    }
    check_ok(nb_forward(sim, NULL, &image), "the next call");
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* ---- readers and writers without a context, a path or a place ---- */
static int io_misuse(void)
{
    static const int indices[3] = {1, 2, 3};
    static const double f[1] = {NAN};
    static uint16_t pixels[4];
    static uint8_t bytes[12];
    nb_array counts = nb_array_u16(pixels, 2, 2), image = nb_array_f64(photons, 2, 2);
    nb_hkl *hkl;
    nb_table *table;
    nb_smv *smv;
    nb_hkl_info info;
    int nfast, nslow, bits = 7;
    double matrix[9], value = 7;
    const char *path = in_folder("unused");

    tap_check(nb_hkl_create(NULL, 1, indices, f, &hkl) == NB_ERR_ARGUMENT
                  && nb_hkl_read(NULL, path, &hkl) == NB_ERR_ARGUMENT
                  && nb_fdump_read(NULL, path, &hkl) == NB_ERR_ARGUMENT
                  && nb_fdump_write(NULL, path, NULL, 0, 0) == NB_ERR_ARGUMENT
                  && nb_matrix_read(NULL, path, matrix) == NB_ERR_ARGUMENT
                  && nb_table_read(NULL, path, 2, &table) == NB_ERR_ARGUMENT
                  && nb_smv_read(NULL, path, &smv) == NB_ERR_ARGUMENT
                  && nb_smv_write(NULL, path, "", &counts) == NB_ERR_ARGUMENT
                  && nb_raw_write(NULL, path, &image, 64) == NB_ERR_ARGUMENT
                  && nb_raw_read(NULL, path, &image) == NB_ERR_ARGUMENT
                  && nb_pgm_write(NULL, path, 2, 2, bytes, NULL) == NB_ERR_ARGUMENT
                  && nb_png_write(NULL, path, 2, 2, bytes) == NB_ERR_ARGUMENT
                  && nb_file_write(NULL, path, bytes, 4) == NB_ERR_ARGUMENT,
              "no context");
    tap_check(nb_hkl_create(ctx, 1, indices, f, NULL) == NB_ERR_ARGUMENT
                  && nb_hkl_read(ctx, path, NULL) == NB_ERR_ARGUMENT
                  && nb_fdump_read(ctx, path, NULL) == NB_ERR_ARGUMENT
                  && nb_table_read(ctx, path, 2, NULL) == NB_ERR_ARGUMENT
                  && nb_smv_read(ctx, path, NULL) == NB_ERR_ARGUMENT,
              "no place for what is read");
    check_refused(nb_fdump_write(ctx, path, NULL, 0, 0), NB_ERR_ARGUMENT, "", "NULL");
    check_refused(nb_raw_write(ctx, path, NULL, 64), NB_ERR_ARGUMENT, "", "");
    check_refused(nb_hkl_create(ctx, 0, indices, f, &hkl), NB_ERR_ARGUMENT, "n is 0", "");
    check_refused(nb_hkl_create(ctx, 1, indices, f, &hkl), NB_ERR_ARGUMENT, "1 2 3", "nan");
    nb_hkl_info_get(NULL, &info);
    nb_smv_image(NULL, &nfast, &nslow, NULL, &bits);
    tap_check(!nb_hkl_get(NULL, 1, 2, 3, &value) && value == 7 && bits == 0
                  && !nb_smv_number(NULL, "SIZE1", &value) && value == 7
                  && !nb_smv_search(NULL, "SIZE1", &value) && !nb_smv_pixels(NULL, &value)
                  && nb_smv_experiment(NULL, NULL, NULL, NULL) == NB_ERR_ARGUMENT
                  && nb_table_rows(NULL) == 0 && !nb_table_data(NULL),
              "questions to what was never read");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"status_texts", status_texts},
        {"every_status", every_status},
        {"context_misuse", context_misuse},
        {"free_nothing", free_nothing},
        {"create_misuse", create_misuse},
        {"names_that_do_not_apply", names_that_do_not_apply},
        {"options_misuse", options_misuse},
        {"array_misuse", array_misuse},
        {"counts_misuse", counts_misuse},
        {"jvp_misuse", jvp_misuse},
        {"query_misuse", query_misuse},
        {"registry", registry},
        {"bad_x", bad_x},
        {"io_misuse", io_misuse},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
