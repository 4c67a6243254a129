/*
 * fake_nvrtc.c - a library with NVRTC's functions that compiles nothing: its "code"
 * consists of the options, and is ready at once. With it the use of code, and every failure
 * of the library, can be tested without NVRTC.
 *
 * -DSIZE=n: bytes of code; without it, the code is the options, a line each. -DSLOW:
 * compiles until it is stopped, 20 s at most. -DFAIL: an error with a log. FAKE_NVRTC in
 * the environment names a failure; "slow" and "fail" are those two, and "nap" takes 0.3 s.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef FAKE_MAJOR
#define FAKE_MAJOR 99
#endif

enum { FAILED = 6, OUT_OF_MEMORY = 1, CANCELLED = 16 };

struct program {
    int (*callback)(void *, void *);
    void *payload;
    size_t size; /* of code made of `seed`; 0: the code is `options` */
    char options[1000];
    unsigned seed;
    const char *log;
};

// NOLINTBEGIN(readability-identifier-naming): they are NVIDIA's names

int nvrtcVersion(int *major, int *minor);
int nvrtcGetNumSupportedArchs(int *n);
int nvrtcGetSupportedArchs(int *numbers);
const char *nvrtcGetErrorString(int result);
int nvrtcCreateProgram(struct program **program, const char *text, const char *name, int n,
                       const char *const *headers, const char *const *names);
int nvrtcDestroyProgram(struct program **program);
int nvrtcCompileProgram(struct program *program, int n, const char *const *options);
int nvrtcGetProgramLogSize(struct program *program, size_t *n);
int nvrtcGetProgramLog(struct program *program, char *text);
int nvrtcGetCUBINSize(struct program *program, size_t *n);
int nvrtcGetCUBIN(struct program *program, char *bytes);
int nvrtcGetPTXSize(struct program *program, size_t *n);
int nvrtcGetPTX(struct program *program, char *bytes);
int nvrtcSetFlowCallback(struct program *program, int (*callback)(void *, void *),
                         void *payload);

static int goes_wrong(const char *what)
{
    const char *name = getenv("FAKE_NVRTC");

    return name && strcmp(name, what) == 0;
}

int nvrtcVersion(int *major, int *minor)
{
    *major = FAKE_MAJOR;
    *minor = goes_wrong("newer") ? 2 : 1;
    return goes_wrong("version") ? FAILED : 0;
}

int nvrtcGetNumSupportedArchs(int *n)
{
    *n = goes_wrong("targets") ? 1000 : 3;
    return 0;
}

int nvrtcGetSupportedArchs(int *numbers)
{
    static const int known[] = {90, 75, 86};

    memcpy(numbers, known, sizeof known);
    return 0;
}

const char *nvrtcGetErrorString(int result)
{
    return result == FAILED ? "FAKE_ERROR_COMPILATION" : "FAKE_ERROR";
}

int nvrtcCreateProgram(struct program **program, const char *text, const char *name, int n,
                       const char *const *headers, const char *const *names)
{
    (void)text, (void)name, (void)n, (void)headers, (void)names;
    *program = NULL;
    if (goes_wrong("create")) return OUT_OF_MEMORY;
    *program = calloc(1, sizeof **program);
    if (!*program) return OUT_OF_MEMORY;
    (*program)->log = "";
    return 0;
}

int nvrtcDestroyProgram(struct program **program)
{
    free(*program);
    *program = NULL;
    return 0;
}

#ifndef FAKE_WITHOUT_CALLBACK
int nvrtcSetFlowCallback(struct program *program, int (*callback)(void *, void *),
                         void *payload)
{
    program->callback = callback;
    program->payload = payload;
    return goes_wrong("callback") ? FAILED : 0;
}
#endif

/* for so many milliseconds */
static int compile_slowly(const struct program *program, int most)
{
    static const struct timespec nap = {0, 1000000L};

    for (int i = 0; i < most; i++) {
        if (program->callback && program->callback(program->payload, NULL))
            return CANCELLED;
        (void)nanosleep(&nap, NULL);
    }
    return 0;
}

int nvrtcCompileProgram(struct program *program, int n, const char *const *options)
{
    int result = goes_wrong("fail") ? FAILED : 0;
    size_t length = 0;

    if (goes_wrong("slow")) result = compile_slowly(program, 20000);
    if (goes_wrong("nap")) result = compile_slowly(program, 300);
    for (int i = 0; i < n; i++) {
        const size_t size = strlen(options[i]);

        if (length + size + 2 < sizeof program->options) {
            memcpy(program->options + length, options[i], size);
            program->options[length + size] = '\n';
            length += size + 1;
        }
        for (const char *at = options[i]; *at; at++)
            program->seed = program->seed * 31 + (unsigned char)*at;
        if (strncmp(options[i], "-DSIZE=", 7) == 0)
            program->size = strtoul(options[i] + 7, NULL, 10);
        if (strcmp(options[i], "-DSLOW") == 0) result = compile_slowly(program, 20000);
        if (strcmp(options[i], "-DFAIL") == 0) result = FAILED;
    }
    if (result == FAILED)
        program->log = "note: all is well\na.cu(1): error: expected a \";\"\n  }\n  ^\n";
    return result;
}

int nvrtcGetProgramLogSize(struct program *program, size_t *n)
{
    *n = strlen(program->log) + 1;
    return 0;
}

int nvrtcGetProgramLog(struct program *program, char *text)
{
    memcpy(text, program->log, strlen(program->log) + 1);
    return 0;
}

int nvrtcGetCUBINSize(struct program *program, size_t *n)
{
    *n = program->size ? program->size : strlen(program->options);
    if (goes_wrong("code")) *n = 0;
    return 0;
}

int nvrtcGetCUBIN(struct program *program, char *bytes)
{
    unsigned state = program->seed;

    if (program->size == 0) memcpy(bytes, program->options, strlen(program->options));
    for (size_t i = 0; i < program->size; i++) {
        state = state * 1664525U + 1013904223U;
        bytes[i] = (char)(state >> 24);
    }
    return goes_wrong("bytes") ? FAILED : 0;
}

int nvrtcGetPTXSize(struct program *program, size_t *n)
{
    return nvrtcGetCUBINSize(program, n);
}

int nvrtcGetPTX(struct program *program, char *bytes)
{
    return nvrtcGetCUBIN(program, bytes);
}

// NOLINTEND(readability-identifier-naming)
