/*
 * nvrtc.c - opens NVRTC by dlopen(), and runs one compilation.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/jit/nvrtc.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* The values of nvrtcResult that are told apart here. */
enum { RESULT_SUCCESS = 0, RESULT_OUT_OF_MEMORY = 1, RESULT_CANCELLED = 16 };

static nb_status refuse(char why[NVRTC_WHY], nb_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static nb_status refuse(char why[NVRTC_WHY], nb_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, NVRTC_WHY, format, args);
    va_end(args);
    return status;
}

/* ---- the library ---- */

static nb_status cannot_open(char why[NVRTC_WHY])
{
    const char *reason = dlerror();

    return refuse(why, NB_ERR_UNSUPPORTED, "NVRTC cannot be opened: %.300s",
                  reason ? reason : "no reason is given");
}

/* Store the address of a function in the pointer at `to`. Returns 0 if the library has no
 * such function. */
static int find_function(void *library, const char *name, void *to)
{
    void *function = dlsym(library, name);

    memcpy(to, &function, sizeof function);
    return function != NULL;
}

static nb_status find_functions(void *library, struct nvrtc *out, char why[NVRTC_WHY])
{
    const struct {
        const char *name;
        void *to;
    } functions[] = {
        {"nvrtcVersion", &out->version},
        {"nvrtcGetNumSupportedArchs", &out->target_count},
        {"nvrtcGetSupportedArchs", &out->targets},
        {"nvrtcGetErrorString", &out->error_text},
        {"nvrtcCreateProgram", &out->create},
        {"nvrtcDestroyProgram", &out->destroy},
        {"nvrtcCompileProgram", &out->compile},
        {"nvrtcGetProgramLogSize", &out->log_size},
        {"nvrtcGetProgramLog", &out->log},
        {"nvrtcGetCUBINSize", &out->cubin_size},
        {"nvrtcGetCUBIN", &out->cubin},
        {"nvrtcGetPTXSize", &out->ptx_size},
        {"nvrtcGetPTX", &out->ptx},
    };

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!find_function(library, functions[i].name, functions[i].to))
            return refuse(why, NB_ERR_UNSUPPORTED,
                          "NVRTC: the library has no %s; it is too old, or not NVRTC",
                          functions[i].name);
    (void)find_function(library, "nvrtcSetFlowCallback", &out->set_callback);
    if (out->version(&out->major, &out->minor) != RESULT_SUCCESS)
        return refuse(why, NB_ERR_UNSUPPORTED, "NVRTC does not report its version");
    return NB_OK;
}

/* Open one library. A driver loads code of its own major version of CUDA and of older ones,
 * so a newer library is refused. */
static nb_status open_one(const char *name, int driver, struct nvrtc *out,
                          char why[NVRTC_WHY])
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    nb_status status;

    memset(out, 0, sizeof *out);
    if (!library) return cannot_open(why);
    status = find_functions(library, out, why);
    if (status == NB_OK && driver > 0 && out->major > driver / 1000)
        status = refuse(why, NB_ERR_UNSUPPORTED,
                        "NVRTC %d.%d is newer than the driver, which runs code of CUDA "
                        "%d.x and older",
                        out->major, out->minor, driver / 1000);
    if (status != NB_OK) (void)dlclose(library);
    return status;
}

nb_status nvrtc_open_first(const char *const *names, size_t n, int driver,
                           struct nvrtc *out, char why[NVRTC_WHY])
{
    char reason[NVRTC_WHY];

    for (size_t i = 0; i < n; i++) {
        if (open_one(names[i], driver, out, reason) == NB_OK) return NB_OK;
        /* a library that exists but cannot be used explains more than a missing one */
        if (i == 0 || out->version) (void)snprintf(why, NVRTC_WHY, "%s", reason);
    }
    return NB_ERR_UNSUPPORTED;
}

nb_status nvrtc_open(const char *name, int driver, struct nvrtc *out, char why[NVRTC_WHY])
{
    static const char *const usual[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                        "libnvrtc.so.11.2", "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so"};

    if (name) return nvrtc_open_first(&name, 1, driver, out, why);
    return nvrtc_open_first(usual, sizeof usual / sizeof *usual, driver, out, why);
}

/* ---- targets ---- */

static void name_target(const struct gpu_code *target, struct nvrtc_target *out)
{
    out->ptx = target->ptx;
    (void)snprintf(out->name, sizeof out->name, out->ptx ? "compute_%d" : "sm_%d",
                   target->compute);
}

int nvrtc_choose(const int *numbers, int n, int compute, struct nvrtc_target *out)
{
    struct gpu_code targets[2 * NVRTC_TARGETS];
    int best;

    /* each number stands for machine code and for PTX */
    for (int i = 0; i < 2 * n; i++) {
        targets[i].compute = numbers[i / 2];
        targets[i].ptx = i % 2;
    }
    best = architecture_choose(targets, 2 * n, compute);
    if (best < 0) return 0;
    name_target(&targets[best], out);
    return 1;
}

static int list_targets(const struct nvrtc *nvrtc, int numbers[NVRTC_TARGETS])
{
    int n = 0;

    if (nvrtc->target_count(&n) != RESULT_SUCCESS || n < 1 || n > NVRTC_TARGETS
        || nvrtc->targets(numbers) != RESULT_SUCCESS)
        return 0;
    return n;
}

int nvrtc_aim_at(const struct nvrtc *nvrtc, const struct gpu_code *wanted,
                 struct nvrtc_target *out)
{
    int numbers[NVRTC_TARGETS];
    const int n = list_targets(nvrtc, numbers);

    for (int i = 0; i < n; i++) {
        if (numbers[i] != wanted->compute) continue;
        name_target(wanted, out);
        return 1;
    }
    return 0;
}

nb_status nvrtc_aim(const struct nvrtc *nvrtc, int major, int minor,
                    struct nvrtc_target *out, char why[NVRTC_WHY])
{
    int numbers[NVRTC_TARGETS], oldest;
    const int n = list_targets(nvrtc, numbers);

    if (n == 0)
        return refuse(why, NB_ERR_UNSUPPORTED, "NVRTC %d.%d does not report its targets",
                      nvrtc->major, nvrtc->minor);
    if (nvrtc_choose(numbers, n, 10 * major + minor, out)) return NB_OK;
    oldest = numbers[0];
    for (int i = 1; i < n; i++)
        if (numbers[i] < oldest) oldest = numbers[i];
    return refuse(why, NB_ERR_UNSUPPORTED,
                  "NVRTC %d.%d compiles for compute capability %d.%d and newer, not %d.%d",
                  nvrtc->major, nvrtc->minor, oldest / 10, oldest % 10, major, minor);
}

/* ---- compiling ---- */

void nvrtc_option(struct nvrtc_request *request, const char *format, ...)
{
    va_list args;
    int n;

    if (request->option_count == NVRTC_OPTIONS) {
        request->truncated = 1;
        return;
    }
    va_start(args, format);
    n = vsnprintf(request->options[request->option_count++], NVRTC_OPTION, format, args);
    va_end(args);
    if (n < 0 || n >= NVRTC_OPTION) request->truncated = 1;
}

double nvrtc_seconds(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

struct time_limit {
    double until;
    const atomic_int *stop;
};

/* The compiler calls this from time to time, on any thread. Returns 1 to stop it. */
static int should_stop(void *payload, void *reserved)
{
    const struct time_limit *time_limit = payload;

    (void)reserved;
    return (time_limit->stop && atomic_load(time_limit->stop) != 0)
           || nvrtc_seconds() > time_limit->until;
}

/* Append to `why` the line of the log that reports the first error. */
static void add_log(const struct nvrtc *nvrtc, void *program, char why[NVRTC_WHY])
{
    const size_t used = strlen(why);
    const char *at;
    char *text;
    size_t n = 0;

    if (nvrtc->log_size(program, &n) != RESULT_SUCCESS || n < 2) return;
    text = calloc(1, n + 1);
    if (text && nvrtc->log(program, text) == RESULT_SUCCESS) {
        at = strstr(text, "error");
        while (at && at > text && at[-1] != '\n') at--;
        if (!at) at = text;
        (void)snprintf(why + used, NVRTC_WHY - used, ": %.*s", (int)strcspn(at, "\n"), at);
    }
    free(text);
}

/* Create a program that can include every embedded text by both of its names. Returns NULL
 * if that failed, with the error in *result. */
static void *create_program(const struct nvrtc *nvrtc, const struct source *text,
                            int *result)
{
    const char **headers = calloc(4 * sources_count, sizeof *headers);
    const char **names = headers + 2 * sources_count;
    void *program = NULL;

    *result = RESULT_OUT_OF_MEMORY;
    if (!headers) return NULL;
    for (size_t i = 0; i < sources_count; i++) {
        headers[2 * i] = headers[2 * i + 1] = sources[i].text;
        names[2 * i] = sources[i].name;
        names[2 * i + 1] = sources_short_name(&sources[i]);
    }
    *result = nvrtc->create(&program, text->text, text->name, 2 * (int)sources_count,
                            headers, names);
    free(headers);
    return *result == RESULT_SUCCESS ? program : NULL;
}

static int compile_program(const struct nvrtc *nvrtc, void *program,
                           const struct nvrtc_request *request,
                           const struct nvrtc_target *target)
{
    char architecture[NVRTC_TARGET + 32];
    const char *options[NVRTC_OPTIONS + 1] = {architecture};

    (void)snprintf(architecture, sizeof architecture, "--gpu-architecture=%s",
                   target->name);
    for (int i = 0; i < request->option_count; i++) options[i + 1] = request->options[i];
    return nvrtc->compile(program, 1 + request->option_count, options);
}

static nb_status fetch_code(const struct nvrtc *nvrtc, void *program, int ptx,
                            struct cubin *out, char why[NVRTC_WHY])
{
    const char *kind = ptx ? "PTX" : "cubin";
    size_t n = 0;

    if ((ptx ? nvrtc->ptx_size : nvrtc->cubin_size)(program, &n) != RESULT_SUCCESS
        || n == 0)
        return refuse(why, NB_ERR_UNSUPPORTED, "NVRTC made no %s", kind);
    out->bytes = malloc(n);
    if (!out->bytes) return refuse(why, NB_ERR_MEMORY, "out of memory for a %s", kind);
    out->size = n;
    out->ptx = ptx;
    if ((ptx ? nvrtc->ptx : nvrtc->cubin)(program, (char *)out->bytes) == RESULT_SUCCESS)
        return NB_OK;
    cubin_free(out);
    return refuse(why, NB_ERR_UNSUPPORTED, "NVRTC does not return its %s", kind);
}

nb_status nvrtc_build(const struct nvrtc *nvrtc, const struct nvrtc_request *request,
                      const struct nvrtc_target *target, struct cubin *out,
                      char why[NVRTC_WHY])
{
    struct time_limit time_limit = {nvrtc_seconds() + request->timeout, request->stop};
    nb_status status = NB_ERR_UNSUPPORTED;
    void *program;
    int result;

    memset(out, 0, sizeof *out);
    if (request->truncated)
        return refuse(why, NB_ERR_ARGUMENT,
                      "there are too many options for NVRTC, or one is too long");
    program = create_program(nvrtc, request->text, &result);
    if (program && nvrtc->set_callback)
        result = nvrtc->set_callback(program, should_stop, &time_limit);
    if (result == RESULT_SUCCESS) result = compile_program(nvrtc, program, request, target);
    if (result == RESULT_SUCCESS) {
        status = fetch_code(nvrtc, program, target->ptx, out, why);
    } else if (result == RESULT_CANCELLED && request->stop
               && atomic_load(request->stop) != 0) {
        status = refuse(why, NB_ERR_CANCELLED, "NVRTC, %s for %s: stopped on request",
                        request->text->name, target->name);
    } else if (result == RESULT_CANCELLED) {
        status = refuse(why, NB_ERR_CANCELLED,
                        "NVRTC, %s for %s: stopped after %g s (NANOBRAG_COMPILE_TIMEOUT)",
                        request->text->name, target->name, request->timeout);
    } else {
        if (result == RESULT_OUT_OF_MEMORY) status = NB_ERR_MEMORY;
        (void)refuse(why, NB_OK, "NVRTC, %s for %s: %s", request->text->name, target->name,
                     nvrtc->error_text(result));
        if (program) add_log(nvrtc, program, why);
    }
    if (program) (void)nvrtc->destroy(&program);
    return status;
}

void cubin_free(struct cubin *cubin)
{
    free(cubin->bytes);
    memset(cubin, 0, sizeof *cubin);
}
