/*
 * test_nvrtc.c - NVRTC compiles the embedded sources for every architecture it knows and
 * stops in time, and what it lacks or refuses is reported in one line. It needs no GPU;
 * without NVRTC its cases are skipped.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "compile/jit/nvrtc_cases.h"
#include "support/files.h"
#include "support/tap.h"

struct nvrtc nvrtc;
char why[NVRTC_WHY];

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int no_library(void)
{
    return nvrtc_open(NULL, 0, &nvrtc, why) != NB_OK;
}

static void check_line(nb_status status, nb_status expected, const char *part)
{
    tap_check(status == expected && strstr(why, part) && !strchr(why, '\n'),
              "status %d expected %d, '%s' names '%s'", (int)status, (int)expected, why,
              part);
}

static struct source text_of(const char *text)
{
    const struct source source = {"gpu/test.cu", text, strlen(text)};

    return source;
}

struct nvrtc_request request_for(const struct source *text)
{
    struct nvrtc_request request = {.text = text, .timeout = 100};

    return request;
}

/* a kernel with much of the physics behind it; `n` of them make NVRTC work for long */
static char *many_kernels(int n)
{
    static const char kernel[] =
        "extern \"C\" __global__ void image_%d(struct phys_frame frame, real *image)\n"
        "{\n"
        "    const struct phys_spec spec = {SHAPE, LOOKUP, 0, 0};\n"
        "    const struct phys_view view = phys_view(&frame);\n"
        "    image[threadIdx.x] = phys_finish(&frame, phys_pixel(spec, &frame, &view, %d,\n"
        "                                                        threadIdx.x));\n"
        "}\n";
    char *text = calloc((size_t)n + 1, sizeof kernel + 32);
    int used;

    if (!text) abort();
    used = sprintf(text, "#include \"physics/pixel.h\"\n");
    for (int i = 0; i < n; i++) used += sprintf(text + used, kernel, i, i);
    return text;
}

/* ---- what needs no compiler ---- */

static int targets_chosen(void)
{
    static const int known[] = {75, 80, 86, 90, 100, 120};
    static const struct {
        int device;
        const char *target; /* NULL: none */
    } rows[] = {
        {75, "sm_75"},        {80, "sm_80"},   {86, "sm_86"},
        {90, "sm_90"},        {89, "sm_86"},   {87, "sm_86"},
        {103, "sm_100"},      {121, "sm_120"}, {110, "compute_100"},
        {130, "compute_120"}, {76, "sm_75"},   {72, NULL},
        {70, NULL},           {0, NULL},       {200, "compute_120"},
    };
    static const int unsorted[] = {90, 75, 100};
    struct nvrtc_target target;

    for (size_t i = 0; i < COUNT(rows); i++) {
        const int found = nvrtc_choose(known, COUNT(known), rows[i].device, &target);

        tap_check(found == (rows[i].target != NULL)
                      && (!found || strcmp(target.name, rows[i].target) == 0)
                      && (!found || target.ptx == (target.name[0] == 'c')),
                  "%d: %s expected %s", rows[i].device, found ? target.name : "none",
                  rows[i].target ? rows[i].target : "none");
    }
    tap_check(nvrtc_choose(unsorted, 3, 120, &target)
                  && strcmp(target.name, "compute_100") == 0,
              "in any order: %s", target.name);
    return TAP_PASS;
}

/* the target of the kernels of the build, whose bits are wanted, where NVRTC has it */
static int target_of_build(void)
{
    static const struct {
        struct gpu_code wanted;
        const char *target; /* NULL: NVRTC does not have it */
    } rows[] = {
        {{90, 1}, "compute_90"}, {{90, 0}, "sm_90"}, {{75, 1}, "compute_75"},
        {{70, 0}, NULL},         {{91, 1}, NULL},    {{0, 0}, NULL},
    };

    check_ok(nvrtc_open(FAKE_NVRTC, 0, &nvrtc, why), "open");
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct nvrtc_target target = {0, ""};
        const int found = nvrtc_aim_at(&nvrtc, &rows[i].wanted, &target);

        tap_check(found == (rows[i].target != NULL)
                      && (!found || strcmp(target.name, rows[i].target) == 0)
                      && (!found || target.ptx == rows[i].wanted.ptx),
                  "%d: %s expected %s", rows[i].wanted.compute,
                  found ? target.name : "none", rows[i].target ? rows[i].target : "none");
    }
    return TAP_PASS;
}

static int library_missing(void)
{
    check_line(nvrtc_open("libnvrtc-none.so.1", 0, &nvrtc, why), NB_ERR_UNSUPPORTED,
               "NVRTC cannot be opened: libnvrtc-none.so.1: ");
    check_line(nvrtc_open("libm.so.6", 0, &nvrtc, why), NB_ERR_UNSUPPORTED,
               "the library has no nvrtcVersion; it is too old, or not NVRTC");
    return TAP_PASS;
}

/* Of several, the first is taken whose code the driver loads. */
static int newer_than_driver(void)
{
    static const char *const names[] = {"libnvrtc-none.so.1", FAKE_NVRTC, FAKE_NVRTC_12};

    check_ok(nvrtc_open_first(names, COUNT(names), 99000, &nvrtc, why), "a driver of 99.0");
    tap_check(nvrtc.major == 99, "NVRTC %d expected 99", nvrtc.major);
    check_ok(nvrtc_open_first(names, COUNT(names), 12040, &nvrtc, why), "a driver of 12.4");
    tap_check(nvrtc.major == 12, "NVRTC %d expected 12", nvrtc.major);
    check_ok(nvrtc_open_first(names, COUNT(names), 0, &nvrtc, why), "not known");
    tap_check(nvrtc.major == 99, "NVRTC %d expected 99", nvrtc.major);
    check_line(nvrtc_open_first(names, 2, 12040, &nvrtc, why), NB_ERR_UNSUPPORTED,
               "NVRTC 99.1 is newer than the driver, which runs code of CUDA 12.x and "
               "older");
    check_line(nvrtc_open(FAKE_NVRTC, 13000, &nvrtc, why), NB_ERR_UNSUPPORTED,
               "NVRTC 99.1 is newer than the driver, which runs code of CUDA 13.x");
    return TAP_PASS;
}

/* each thing that a library may refuse */
static int library_refuses(void)
{
    static const struct {
        const char *what, *says;
        nb_status status;
    } rows[] = {
        {"version", "NVRTC does not report its version", NB_ERR_UNSUPPORTED},
        {"targets", "NVRTC 99.1 does not report its targets", NB_ERR_UNSUPPORTED},
        {"create", "NVRTC, gpu/test.cu for sm_90: FAKE_ERROR", NB_ERR_MEMORY},
        {"callback", "FAKE_ERROR_COMPILATION", NB_ERR_UNSUPPORTED},
        {"code", "NVRTC made no cubin", NB_ERR_UNSUPPORTED},
        {"bytes", "NVRTC does not return its cubin", NB_ERR_UNSUPPORTED},
    };
    const struct source text = text_of("");
    const struct nvrtc_request request = request_for(&text);
    struct nvrtc_target target;
    struct cubin cubin = {0};

    for (size_t i = 0; i < COUNT(rows); i++) {
        nb_status status;

        (void)setenv("FAKE_NVRTC", rows[i].what, 1);
        status = nvrtc_open(FAKE_NVRTC, 0, &nvrtc, why);
        if (status == NB_OK) status = nvrtc_aim(&nvrtc, 9, 0, &target, why);
        if (status == NB_OK) status = nvrtc_build(&nvrtc, &request, &target, &cubin, why);
        check_line(status, rows[i].status, rows[i].says);
        tap_check(!cubin.bytes, "no code");
    }
    (void)unsetenv("FAKE_NVRTC");
    check_ok(nvrtc_open(FAKE_NVRTC, 0, &nvrtc, why), "without that");
    check_line(nvrtc_aim(&nvrtc, 7, 0, &target, why), NB_ERR_UNSUPPORTED,
               "NVRTC 99.1 compiles for compute capability 7.5 and newer, not 7.0");
    return TAP_PASS;
}

static int fake_errors(void)
{
    static const atomic_int stop = 1;
    const struct source text = text_of("");
    struct nvrtc_request request = request_for(&text);
    struct nvrtc_target target;
    struct cubin cubin;
    double took;

    check_ok(nvrtc_open(FAKE_NVRTC, 0, &nvrtc, why), "open");
    check_ok(nvrtc_aim(&nvrtc, 9, 0, &target, why), "aim");
    nvrtc_option(&request, "-DFAIL");
    check_line(nvrtc_build(&nvrtc, &request, &target, &cubin, why), NB_ERR_UNSUPPORTED,
               "FAKE_ERROR_COMPILATION: a.cu(1): error: expected a \";\"");
    request = request_for(&text);
    nvrtc_option(&request, "-DSLOW");
    request.timeout = 0.2;
    took = -seconds();
    check_line(nvrtc_build(&nvrtc, &request, &target, &cubin, why), NB_ERR_CANCELLED,
               "stopped after 0.2 s (NANOBRAG_COMPILE_TIMEOUT)");
    took += seconds();
    tap_note("stopped after %.2f s of 20", took);
    request.timeout = 100;
    request.stop = &stop;
    took = -seconds();
    check_line(nvrtc_build(&nvrtc, &request, &target, &cubin, why), NB_ERR_CANCELLED,
               "gpu/test.cu for sm_90: stopped on request");
    took += seconds();
    tap_note("stopped after %.2f s of 20", took);
    return TAP_PASS;
}

static int options_refused(void)
{
    const struct source text = text_of("");
    struct nvrtc_request request = request_for(&text);
    struct nvrtc_target target;
    struct cubin cubin;

    check_ok(nvrtc_open(FAKE_NVRTC, 0, &nvrtc, why), "open");
    check_ok(nvrtc_aim(&nvrtc, 9, 0, &target, why), "aim");
    for (int i = 0; i < NVRTC_OPTIONS; i++) nvrtc_option(&request, "-DNUMBER_%d=%d", i, i);
    check_ok(nvrtc_build(&nvrtc, &request, &target, &cubin, why),
             "as many as there may be");
    cubin_free(&cubin);
    nvrtc_option(&request, "-DMORE");
    check_line(nvrtc_build(&nvrtc, &request, &target, &cubin, why), NB_ERR_ARGUMENT,
               "or one is too long");
    request = request_for(&text);
    nvrtc_option(&request, "-DLONG=%*d", NVRTC_OPTION, 1);
    check_line(nvrtc_build(&nvrtc, &request, &target, &cubin, why), NB_ERR_ARGUMENT,
               "or one is too long");
    return TAP_PASS;
}

/* a library from before it could be stopped */
static int without_callback(void)
{
    const struct source text = text_of("");
    struct nvrtc_request request = request_for(&text);
    struct nvrtc_target target;
    struct cubin cubin;

    check_ok(nvrtc_open(FAKE_NVRTC_OLD, 0, &nvrtc, why), "open");
    tap_check(!nvrtc.set_callback, "it cannot be stopped");
    check_ok(nvrtc_aim(&nvrtc, 9, 0, &target, why), "aim");
    nvrtc_option(&request, "-DSIZE=1000");
    request.timeout = 1e-9;
    check_ok(nvrtc_build(&nvrtc, &request, &target, &cubin, why), "compiles all the same");
    tap_check(cubin.size == 1000 && !cubin.ptx, "%zu bytes", cubin.size);
    cubin_free(&cubin);
    tap_check(!cubin.bytes && cubin.size == 0, "nothing is left of it");
    return TAP_PASS;
}

/* what is embedded is what the tree has, under names of which no two are alike */
static int sources_embedded(void)
{
    static const char *const some[] = {"physics/phys.h", "physics/pixel_vjp.h",
                                       "gpu/text/block.h"};
    const char *tree = getenv("NANOBRAG_SOURCE");

    for (size_t i = 0; i < COUNT(some); i++)
        tap_check(sources_find(some[i]) != NULL, "%s is there", some[i]);
    tap_check(!sources_find("vec3.h") && !sources_find(""), "nothing else is found");
    for (size_t i = 0; i < sources_count; i++) {
        const struct source *source = &sources[i];
        char path[1024];

        for (size_t k = 0; k < i; k++)
            if (strcmp(sources_short_name(source), sources_short_name(&sources[k])) == 0)
                tap_check(0, "%s and %s", source->name, sources[k].name);
        (void)snprintf(path, sizeof path, "%s/src/nanobrag/%s", tree ? tree : "",
                       source->name);
        tap_check(source->text[source->size] == '\0' && strlen(source->text) == source->size
                      && (!tree || holds(path, source->text, source->size)),
                  "%s, %zu bytes", source->name, source->size);
    }
    return TAP_PASS;
}

/* ---- the real one ---- */

int build(const struct nvrtc_request *request, const struct nvrtc_target *target,
          struct cubin *cubin, double *took)
{
    nb_status status;

    why[0] = '\0';
    *took = -seconds();
    status = nvrtc_build(&nvrtc, request, target, cubin, why);
    *took += seconds();
    if (status != NB_OK) tap_check(0, "%s: %s", target->name, why);
    return status == NB_OK;
}

int known_targets(int numbers[64])
{
    int n = 0;

    if (nvrtc.target_count(&n) != 0 || n < 1 || n > 64 || nvrtc.targets(numbers) != 0)
        return 0;
    return n;
}

static int every_architecture(void)
{
    char *text = many_kernels(1);
    const struct source source = text_of(text);
    struct nvrtc_request request = request_for(&source);
    int numbers[64], n;
    double took, total = 0;

    if (no_library()) {
        free(text);
        return tap_skip("%s", why);
    }
    tap_note("NVRTC %d.%d", nvrtc.major, nvrtc.minor);
    nvrtc_option(&request, "-DPHYS_SINGLE");
    nvrtc_option(&request, "-DSHAPE=PHYS_GAUSS");
    nvrtc_option(&request, "-DLOOKUP=PHYS_CONSTANT");
    n = known_targets(numbers);
    tap_check(n > 0, "%d architectures", n);
    for (int i = 0; i < n; i++) {
        struct nvrtc_target target;
        struct cubin cubin = {0};
        char expected[NVRTC_TARGET];

        (void)snprintf(expected, sizeof expected, "sm_%d", numbers[i]);
        check_ok(nvrtc_aim(&nvrtc, numbers[i] / 10, numbers[i] % 10, &target, why), "aim");
        if (!build(&request, &target, &cubin, &took)) continue;
        total += took;
        tap_check(strcmp(target.name, expected) == 0 && !cubin.ptx && cubin.size > 1000
                      && memcmp(cubin.bytes, "\177ELF", 4) == 0,
                  "%s expected %s: a cubin of %zu bytes in %.2f s", target.name, expected,
                  cubin.size, took);
        cubin_free(&cubin);
    }
    tap_note("%.1f s in all", total);
    free(text);
    return TAP_PASS;
}

/* devices newer than the library */
static int newest_as_ptx(void)
{
    const struct source source = text_of("extern \"C\" __global__ void f(int *a) "
                                         "{ a[0] = 1; }");
    const struct nvrtc_request request = request_for(&source);
    struct nvrtc_target target;
    struct cubin cubin;
    double took;

    if (no_library()) return tap_skip("%s", why);
    check_ok(nvrtc_aim(&nvrtc, 99, 0, &target, why), "aim");
    if (!build(&request, &target, &cubin, &took)) return TAP_PASS;
    tap_check(cubin.ptx && cubin.bytes[cubin.size - 1] == '\0'
                  && strlen((char *)cubin.bytes) == cubin.size - 1
                  && strstr((char *)cubin.bytes, ".visible .entry f("),
              "%s: PTX of %zu bytes", target.name, cubin.size);
    cubin_free(&cubin);
    check_line(nvrtc_aim(&nvrtc, 1, 0, &target, why), NB_ERR_UNSUPPORTED, "and newer");
    return TAP_PASS;
}

static int definitions(void)
{
    const struct source source = text_of("extern \"C\" __global__ void f(int *a) "
                                         "{ a[0] = NUMBER; }");
    struct nvrtc_target target;
    struct cubin cubins[2];
    double took;

    if (no_library()) return tap_skip("%s", why);
    check_ok(nvrtc_aim(&nvrtc, 99, 0, &target, why), "aim");
    for (int i = 0; i < 2; i++) {
        struct nvrtc_request request = request_for(&source);

        nvrtc_option(&request, "-DNUMBER=%d", 12345 + i);
        if (!build(&request, &target, &cubins[i], &took)) return TAP_PASS;
        tap_check(strstr((char *)cubins[i].bytes, i ? "12346" : "12345") != NULL,
                  "the number is in the code");
    }
    for (int i = 0; i < 2; i++) cubin_free(&cubins[i]);
    return TAP_PASS;
}

static int errors_in_the_text(void)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"extern \"C\" __global__ void f(int *a)\n{\n    a[0] = 1\n}\n",
         "gpu/test.cu(4): error: expected a \";\""},
        {"#include \"physics/none.h\"\n", "cannot open source file \"physics/none.h\""},
        {"#include <stdio.h>\n", "stdio.h"},
        {"#error of the text\n", "of the text"},
    };
    struct nvrtc_target target;
    struct cubin cubin;

    if (no_library()) return tap_skip("%s", why);
    check_ok(nvrtc_aim(&nvrtc, 9, 0, &target, why), "aim");
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct source source = text_of(rows[i].text);
        struct nvrtc_request request = request_for(&source);

        check_line(nvrtc_build(&nvrtc, &request, &target, &cubin, why), NB_ERR_UNSUPPORTED,
                   rows[i].says);
        tap_check(strstr(why, "NVRTC_ERROR_COMPILATION") && !cubin.bytes, "and no code");
    }
    {
        const struct source source = text_of("");
        struct nvrtc_request request = request_for(&source);

        nvrtc_option(&request, "--no-such-option");
        check_line(nvrtc_build(&nvrtc, &request, &target, &cubin, why), NB_ERR_UNSUPPORTED,
                   "NVRTC_ERROR_INVALID_OPTION");
    }
    return TAP_PASS;
}

/* files in the folder where a program happens to be run are not taken for the headers */
static int headers_of_the_folder(void)
{
    static const char *const names[] = {"phys.h", "vec3.h", "physics/phys.h",
                                        "physics/vec3.h", "gpu/vec3.h"};
    const struct source source = text_of("#include \"physics/vec3.h\"\n"
                                         "extern \"C\" __global__ void f(real *a) "
                                         "{ a[0] = PHYS_PI; }");
    const struct nvrtc_request request = request_for(&source);
    struct nvrtc_target target;
    struct cubin cubin;
    double took;

    if (no_library()) return tap_skip("%s", why);
    (void)mkdir(in_folder("physics"), 0700);
    (void)mkdir(in_folder("gpu"), 0700);
    for (size_t i = 0; i < COUNT(names); i++)
        put(in_folder(names[i]), "#error taken\n", 13);
    tap_check(chdir(in_folder("")) == 0, "there");
    check_ok(nvrtc_aim(&nvrtc, 9, 0, &target, why), "aim");
    if (build(&request, &target, &cubin, &took))
        tap_check(cubin.size > 0, "the embedded ones are taken, %zu bytes", cubin.size);
    cubin_free(&cubin);
    tap_check(chdir("/") == 0, "and back");
    for (size_t i = 0; i < COUNT(names); i++) (void)remove(in_folder(names[i]));
    return TAP_PASS;
}

/* wherever it is at work when its time is over */
static int stopped_in_time(void)
{
    static const double parts[] = {0, 0.05, 0.25, 0.5};
    char *text = many_kernels(2);
    const struct source source = text_of(text);
    struct nvrtc_request request = request_for(&source);
    struct nvrtc_target target;
    struct cubin cubin = {0};
    double whole = 0;

    if (no_library() || !nvrtc.set_callback) {
        free(text);
        return tap_skip("%s", nvrtc.create ? "this NVRTC cannot be stopped" : why);
    }
    nvrtc_option(&request, "-DSHAPE=PHYS_SQUARE");
    nvrtc_option(&request, "-DLOOKUP=PHYS_TRICUBIC");
    check_ok(nvrtc_aim(&nvrtc, 9, 0, &target, why), "aim");
    if (build(&request, &target, &cubin, &whole)) tap_note("%.2f s with time", whole);
    cubin_free(&cubin);
    for (size_t i = 0; i < COUNT(parts); i++) {
        double took = -seconds();
        nb_status status;

        request.timeout = parts[i] * whole + 1e-9;
        status = nvrtc_build(&nvrtc, &request, &target, &cubin, why);
        took += seconds();
        if (status == NB_OK && i > 0 && took < whole) {
            tap_note("the whole in %.3f s: the machine was busy before", took);
            cubin_free(&cubin);
            continue;
        }
        check_line(status, NB_ERR_CANCELLED, "stopped after");
        tap_check(!cubin.bytes, "nothing is left of it");
        tap_note("limit %.3f s: %.3f s", request.timeout, took);
    }
    free(text);
    return TAP_PASS;
}

static int threads_at_once(void)
{
    enum { THREADS = 4 };
    char *text = many_kernels(1);
    const struct source source = text_of(text);
    struct cubin cubins[THREADS] = {{0}};
    int failed = 0, differ = 0;

    if (no_library()) {
        free(text);
        return tap_skip("%s", why);
    }
#pragma omp parallel for num_threads(THREADS) schedule(static, 1) reduction(+ : failed)
    for (int t = 0; t < THREADS; t++) {
        struct nvrtc_request request = request_for(&source);
        struct nvrtc_target target;
        struct nvrtc own;
        char line[NVRTC_WHY];

        nvrtc_option(&request, "-DSHAPE=PHYS_TOPHAT");
        nvrtc_option(&request, "-DLOOKUP=PHYS_CONSTANT");
        failed += nvrtc_open(NULL, 0, &own, line) != NB_OK
                  || nvrtc_aim(&own, 9, 0, &target, line) != NB_OK
                  || nvrtc_build(&own, &request, &target, &cubins[t], line) != NB_OK;
    }
    for (int t = 0; t < THREADS && failed == 0; t++) {
        differ += cubins[t].size != cubins[0].size
                  || memcmp(cubins[t].bytes, cubins[0].bytes, cubins[0].size) != 0;
    }
    tap_check(failed == 0 && differ == 0, "%d failed, %d differ, allowed 0", failed,
              differ);
    for (int t = 0; t < THREADS; t++) cubin_free(&cubins[t]);
    free(text);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"targets_chosen", targets_chosen},
        {"target_of_build", target_of_build},
        {"library_missing", library_missing},
        {"newer_than_driver", newer_than_driver},
        {"library_refuses", library_refuses},
        {"fake_errors", fake_errors},
        {"options_refused", options_refused},
        {"without_callback", without_callback},
        {"sources_embedded", sources_embedded},
        {"every_architecture", every_architecture},
        {"newest_as_ptx", newest_as_ptx},
        {"definitions", definitions},
        {"errors_in_the_text", errors_in_the_text},
        {"headers_of_the_folder", headers_of_the_folder},
        {"stopped_in_time", stopped_in_time},
        {"threads_at_once", threads_at_once},
        {"one_variant", one_variant},
        {"every_variant", every_variant},
        {"all_variants", all_variants},
    };

    (void)unsetenv("FAKE_NVRTC");
    return files_main(argc, argv, cases, COUNT(cases));
}
