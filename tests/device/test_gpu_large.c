/*
 * test_gpu_large.c - images on a CUDA device of the size that devices are for. Skipped
 * without a device; test_gpu.c has a small sister of each case.
 *
 * SPDX-License-Identifier: MIT
 */
#include <nanobrag/nanobrag.h>

#include "device/on_device.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"

/* as many orientations and sources as an experiment has, F of a list */
static int many_domains(void)
{
    if (!on_device_found()) return TAP_SKIP;
    on_device_domains(150, 200, 64);
    return TAP_PASS;
}

static nb_scene of_bands(void)
{
    nb_scene scene = scenes_base();

    scene.detector.nslow = scene.detector.nfast = 6000;
    scene.detector.pixel = 0.02;
    scene.crystal.ndomains = 3;
    return scene;
}

static int bands(void)
{
    const nb_scene scene = of_bands();

    if (!on_device_found()) return TAP_SKIP;
    on_device_bands(&scene);
    return TAP_PASS;
}

static int cancelled(void)
{
    const nb_scene scene = of_bands();

    if (!on_device_found()) return TAP_SKIP;
    on_device_cancelled(&scene);
    return TAP_PASS;
}

/* each holds some 60 MB of the device while it lives */
static int memory(void)
{
    nb_scene scene = scenes_base();

    scene.detector.nslow = scene.detector.nfast = 2000;
    scene.detector.pixel = 0.05;
    if (!on_device_found()) return TAP_SKIP;
    on_device_memory(&scene, 60, 5);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"many_domains", many_domains},
        {"bands", bands},
        {"cancelled", cancelled},
        {"memory", memory},
    };

    compiled_device_environment();
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
