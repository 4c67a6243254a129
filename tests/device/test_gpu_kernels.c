/*
 * test_gpu_kernels.c - derivatives of every scene, and by every kernel that NVRTC makes, on
 * a CUDA device: each shape, look-up, class and precision, in a tile or two, against the
 * host. Skipped without a device or NVRTC; minutes, of which NVRTC takes most, unless it
 * finds them on disk.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "compile/jit/nvrtc.h"
#include "device/both.h"
#include "device/on_device.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"

static const char *const variants[] = {
    "base",           "square_nearest",  "square_tricubic", "round_constant",
    "round_nearest",  "round_tricubic",  "gauss_constant",  "gauss_nearest",
    "gauss_tricubic", "tophat_constant", "tophat_nearest",  "tophat_tricubic",
};

/* Compare gradients and changes in one variant. */
static void check_variant(const char *name, const char *parameters, int precision)
{
    static const int roi[4] = {17, 31, 17, 23};
    const double allowed = precision == NB_PRECISION_SINGLE ? both_float : both_double;
    nb_scene scene = scenes_named(SCENES_FEATURES, name);
    nb_description about;
    char label[96];

    memcpy(scene.detector.roi, roi, sizeof roi);
    (void)snprintf(label, sizeof label, "%s, %s", name,
                   precision == NB_PRECISION_SINGLE ? "float" : "double");
    both_open(on_device_context(NB_DEVICE_CPU), on_device_context(NB_DEVICE_CUDA), &scene,
              parameters, precision);
    tap_close(label, both_vjp(64), 0, allowed);
    if (nb_simulator_describe(both.sim[1], NULL, &about) != NB_OK) abort();
    tap_check(strcmp(about.derivatives, "cpu") != 0, "%s: derivatives on %s: %s", label,
              about.derivatives, about.derivatives_why);
    both_close();
}

static int each_variant(const char *parameters)
{
    struct nvrtc nvrtc;
    char why[NVRTC_WHY];

    if (!on_device_found()) return TAP_SKIP;
    if (nvrtc_open(NULL, 0, &nvrtc, why) != NB_OK) return tap_skip("%s", why);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
             precision++)
            check_variant(variants[i], parameters, precision);
    return TAP_PASS;
}

/* of the beam and the detector alone: class FRAME */
static int frame(void)
{
    return each_variant("distance fluence");
}

/* orientations of domains turn, and the crystal stays: class TURNED */
static int turned(void)
{
    return each_variant("mosaic distance");
}

/* the crystal changes: class FEW */
static int few(void)
{
    return each_variant("cell ncells misset");
}

/* all, in float by class MANY, and structure factors where there are some */
static int all(void)
{
    return each_variant("*");
}

/* ---- every scene ---- */

/* scenes whose derivatives no device has */
static int is_of_host(const char *name)
{
    return strcmp(name, "point_spread") == 0 || strcmp(name, "quirks") == 0;
}

/* Compare gradients, changes and a loss of a scene in a tile or two. */
static void check_scene(const struct named_scene *named, int precision)
{
    static const int roi[4] = {17, 31, 17, 23}, none[4] = {0, 0, 0, 0};
    const double allowed = precision == NB_PRECISION_SINGLE ? both_float : both_double;
    nb_scene scene = named->scene;
    nb_description about;
    double value, off;
    char label[96];

    if (memcmp(scene.detector.roi, none, sizeof none) == 0)
        memcpy(scene.detector.roi, roi, sizeof roi);
    (void)snprintf(label, sizeof label, "%s, %s", named->name,
                   precision == NB_PRECISION_SINGLE ? "float" : "double");
    both_open(on_device_context(NB_DEVICE_CPU), on_device_context(NB_DEVICE_CUDA), &scene,
              "*", precision);
    tap_close(label, both_vjp(64), 0, allowed);
    tap_close("of float32", both_vjp(32), 0, allowed);
    tap_close("a loss", both_loss(NB_LOSS_POISSON, &value), 0, allowed);
    if (nb_simulator_describe(both.sim[1], NULL, &about) != NB_OK) abort();
    tap_check((strcmp(about.derivatives, "cpu") == 0) == is_of_host(named->name),
              "%s: derivatives on %s: %s", label, about.derivatives, about.derivatives_why);
    off = both_jvp(64);
    if (nb_simulator_describe(both.sim[1], NULL, &about) != NB_OK) abort();
    /* changes along structure factors are the host's */
    if (strcmp(about.derivatives, "cpu") != 0) tap_close("changes", off, 0, allowed);
    both_close();
}

static int scenes_in(int precision)
{
    struct named_scene named;

    if (!on_device_found()) return TAP_SKIP;
    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        if (strcmp(named.name, "quirk_curved") != 0) /* which has no derivatives */
            check_scene(&named, precision);
    return TAP_PASS;
}

/* what named scenes leave out: many pairs, so that a tile takes several chunks; dmin,
 * behind which polarization and layers wait; water under sensors, sources and curved
 * detectors; a mask */
static nb_scene mixed(int number)
{
    static uint8_t mask[BOTH_PIXELS];
    static const char *const names[] = {"list_of_sources", "list_of_sources", "layers",
                                        "each_factor",     "curved",          "layers",
                                        "grid_of_sources", "amorphous_table"};
    nb_scene s = scenes_named(SCENES_FEATURES, names[number]);

    for (int i = 0; i < BOTH_PIXELS; i++) mask[i] = i % 7 != 3;
    if (number < 4) {
        s.dmin = 5.5;
        s.oversample = 2;
        s.detector.thickness = 450;
        s.detector.attenuation = 300;
        s.detector.nlayers = 2;
    }
    if (number == 0) s.crystal.ndomains = 16, s.scan.nphi = 3;
    if (number == 1) s.oversample_polar = 1, s.background.water = 40;
    if (number == 4) s.oversample_omega = s.oversample_polar = 1;
    if (number == 5) s.detector.point_pixel = s.oversample_omega = 1;
    if (number == 7) {
        s.detector.thickness = 450;
        s.detector.attenuation = 300;
        s.detector.nlayers = 3;
        s.beam.dispersion = 0.02;
        s.beam.ndispersion = 3;
    }
    if (number > 2 && number < 7) s.background.water = 40;
    s.detector.mask = mask;
    return s;
}

static int mixtures(void)
{
    if (!on_device_found()) return TAP_SKIP;
    for (int i = 0; i < 8; i++)
        for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
             precision++) {
            struct named_scene named = {.scene = mixed(i)};
            char name[24];

            (void)snprintf(name, sizeof name, "mixture %d", i);
            named.name = name;
            check_scene(&named, precision);
        }
    return TAP_PASS;
}

static int scenes_double(void)
{
    return scenes_in(NB_PRECISION_DOUBLE);
}

static int scenes_float(void)
{
    return scenes_in(NB_PRECISION_SINGLE);
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"frame", frame},
        {"turned", turned},
        {"few", few},
        {"all", all},
        {"mixtures", mixtures},
        {"scenes_double", scenes_double},
        {"scenes_float", scenes_float},
    };

    compiled_device_environment();
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
