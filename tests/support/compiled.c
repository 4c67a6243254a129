/* compiled.c - see compiled.h. SPDX-License-Identifier: MIT */
#include "support/compiled.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "physics/spec.h"
#include "support/scenes.h"
#include "support/tap.h"

static void clear_environment(void)
{
    static const char *const names[] = {"NANOBRAGG_DISABLE_COMPILE", "NANOBRAG_STRICT",
                                        "NANOBRAG_DISABLE_COMPILE", "NANOBRAG_LOGS"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) (void)unsetenv(names[i]);
}

void compiled_environment(void)
{
    clear_environment();
    (void)setenv("NANOBRAG_CACHE_DIR", "/nonexistent/nanobrag", 1);
}

void compiled_device_environment(void)
{
    char here[1024], folder[sizeof here + 8];

    clear_environment();
    (void)unsetenv("NANOBRAG_DEVICE");
    if (!getcwd(here, sizeof here)) abort();
    (void)snprintf(folder, sizeof folder, "%s/cache", here);
    (void)setenv("NANOBRAG_CACHE_DIR", folder, 0);
}

nb_context *compiled_context(int compile, int threads)
{
    nb_context_options options = {0};
    nb_context *ctx;

    options.compile = compile;
    options.threads = threads;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    return ctx;
}

nb_simulator *compiled_make(nb_context *ctx, const nb_scene *scene, const char *names,
                            int precision, int strategy)
{
    nb_options options = {0};
    nb_simulator *sim;

    options.precision = precision;
    options.strategy = strategy;
    if (nb_simulator_create(ctx, scene, names, &options, &sim) == NB_OK) return sim;
    tap_check(0, "no simulator: %s", nb_context_message(ctx));
    exit(1);
}

nb_compile_stats compiled_stats(const nb_simulator *sim)
{
    nb_compile_stats stats;

    nb_simulator_stats(sim, &stats);
    return stats;
}

size_t compiled_results(nb_simulator *sim, const double *x, double *out)
{
    double weight[COMPILED_PIXELS];
    const size_t n = nb_simulator_nparam(sim);
    nb_array image = nb_array_f64(out, COMPILED_SLOW, COMPILED_FAST);
    const nb_array bar = nb_array_f64(weight, COMPILED_SLOW, COMPILED_FAST);

    for (int i = 0; i < COMPILED_PIXELS; i++) weight[i] = sin(0.37 * i);
    if (nb_forward(sim, x, &image) != NB_OK) exit(1);
    memset(out + COMPILED_PIXELS, 0, n * sizeof *out);
    if (n > 0 && nb_vjp(sim, x, 1, &bar, out + COMPILED_PIXELS) != NB_OK) exit(1);
    return COMPILED_PIXELS + n;
}

double compiled_relative(const double *a, const double *b, size_t n)
{
    double off = 0, mean = 0;

    for (size_t i = 0; i < n; i++) off += fabs(a[i] - b[i]), mean += fabs(b[i]);
    return mean > 0 ? off / mean : off;
}

nb_scene compiled_lone(int shape, int lookup)
{
    nb_scene scene = scenes_base();

    scene.scan.nphi = 1;
    scene.scan.osc = 0;
    scene.crystal.ndomains = 1;
    memset(scene.crystal.mosaic, 0, sizeof scene.crystal.mosaic);
    scene.crystal.shape = shape;
    if (lookup != PHYS_CONSTANT)
        scene.crystal.hkl = scenes_reflections();
    else
        scene.crystal.hkl = NULL, scene.crystal.default_f = 100;
    scene.crystal.interpolate =
        lookup == PHYS_TRICUBIC ? NB_LOOKUP_TRICUBIC : NB_LOOKUP_NEAREST;
    return scene;
}

void compiled_folder(char *path, size_t n)
{
    const char *tmp = getenv("TMPDIR");

    (void)snprintf(path, n, "%s/nanobrag-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(path)) abort();
    (void)setenv("NANOBRAG_CACHE_DIR", path, 1);
}

int compiled_files(const char *path)
{
    const struct dirent *entry;
    DIR *dir = opendir(path);
    int n = 0;

    if (!dir) return 0;
    while ((entry = readdir(dir))) n += entry->d_name[0] != '.';
    (void)closedir(dir);
    return n;
}

/* Remove a folder and the folders in it. */
static void remove_folder(const char *path)
{
    const struct dirent *entry;
    DIR *dir = opendir(path);
    char name[600];

    while (dir && (entry = readdir(dir))) {
        (void)snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && unlink(name) != 0) remove_folder(name);
    }
    if (dir) (void)closedir(dir);
    (void)rmdir(path);
}

void compiled_remove_folder(const char *path)
{
    remove_folder(path);
    (void)setenv("NANOBRAG_CACHE_DIR", "/nonexistent/nanobrag", 1);
}
