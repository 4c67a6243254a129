/*
 * nvrtc.c - compiles physics.cu by NVRTC, as a program that builds kernels at run time
 * does: without a host compiler and system headers. It needs no GPU.
 *
 *   nvrtc FOLDER-OF-physics FILE.cu
 *
 * SPDX-License-Identifier: MIT
 */
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

/* the file as a string, NULL when it cannot be read */
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long n = -1;

    if (!file) return NULL;
    if (fseek(file, 0, SEEK_END) == 0) n = ftell(file);
    if (n >= 0 && fseek(file, 0, SEEK_SET) == 0) text = calloc(1, (size_t)n + 1);
    if (text && fread(text, 1, (size_t)n, file) != (size_t)n) {
        free(text);
        text = NULL;
    }
    (void)fclose(file);
    return text;
}

static void print_log(nvrtcProgram program)
{
    size_t n = 0;
    char *log;

    if (nvrtcGetProgramLogSize(program, &n) != NVRTC_SUCCESS || n < 2) return;
    log = malloc(n);
    if (log && nvrtcGetProgramLog(program, log) == NVRTC_SUCCESS) (void)puts(log);
    free(log);
}

/* 1 when it compiled to a cubin that is not empty */
static int compiles(const char *text, const char *include, const char *precision)
{
    const char *options[] = {include, precision, "--gpu-architecture=sm_90"};
    nvrtcProgram program;
    nvrtcResult result;
    size_t bytes = 0;

    result = nvrtcCreateProgram(&program, text, "physics.cu", 0, NULL, NULL);
    if (result == NVRTC_SUCCESS) {
        result = nvrtcCompileProgram(program, 3, options);
        print_log(program);
        if (result == NVRTC_SUCCESS) result = nvrtcGetCUBINSize(program, &bytes);
        (void)nvrtcDestroyProgram(&program);
    }
    (void)printf("nvrtc %s: %s, cubin of %zu bytes\n", precision,
                 nvrtcGetErrorString(result), bytes);
    return result == NVRTC_SUCCESS && bytes > 0;
}

int main(int argc, char **argv)
{
    char include[4096];
    char *text;
    int ok;

    if (argc != 3) {
        (void)fputs("usage: nvrtc FOLDER FILE.cu\n", stderr);
        return 2;
    }
    text = read_text(argv[2]);
    if (!text) {
        (void)fprintf(stderr, "nvrtc: cannot read %s\n", argv[2]);
        return 2;
    }
    (void)snprintf(include, sizeof include, "--include-path=%s", argv[1]);
    ok = compiles(text, include, "-DPHYS_DOUBLE");
    ok = compiles(text, include, "-DPHYS_SINGLE") && ok;
    free(text);
    return ok ? 0 : 1;
}
