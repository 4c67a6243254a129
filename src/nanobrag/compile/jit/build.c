/*
 * build.c - starts a thread that builds a kernel, and waits for its end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/jit/build.h"

#include <signal.h>

#include "physics/spec.h"

static const struct {
    const char *shape, *lookup;
} variants[PHYS_SHAPES][PHYS_LOOKUPS] = {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = {#shape, #lookup},
#include "kernels/variants.def"
#undef VARIANT
};

const char *build_shape_name(int shape, int lookup)
{
    return variants[shape][lookup].shape;
}

const char *build_lookup_name(int shape, int lookup)
{
    return variants[shape][lookup].lookup;
}

const char *build_precision_name(int single)
{
    return single ? "float" : "double";
}

void build_begin(const nb_context *ctx, const struct gpu_properties *properties,
                 const char *text, const struct gpu_kernel *kernel, struct build *build)
{
    struct nvrtc_request *request = &build->job.request;
    const int shape = kernel->shape, lookup = kernel->lookup;

    cubin_job_begin(ctx, &build->job);
    build->job.major = properties->major;
    build->job.minor = properties->minor;
    build->job.driver = properties->version;
    build->job.nvrtc = ctx->nvrtc;
    request->text = sources_find(text);
    request->stop = &build->stop;
    nvrtc_option(request, "-DPHYS_%s", kernel->single ? "SINGLE" : "DOUBLE");
    nvrtc_option(request, "-DGPU_ONLY_SHAPE=%s", build_shape_name(shape, lookup));
    nvrtc_option(request, "-DGPU_ONLY_LOOKUP=%s", build_lookup_name(shape, lookup));
    nvrtc_option(request, "--fmad=true"); /* as nvcc does (cmake/cuda.cmake) */
    if (kernel->single) nvrtc_option(request, "--prec-div=false");
}

static void *run_job(void *user)
{
    struct build *build = user;

    cubin_job_run(&build->job);
    atomic_store(&build->done, 1);
    return NULL;
}

/* The new thread blocks all signals, so that they go to the threads of the program. */
int build_start(struct build *build)
{
    sigset_t all, before;
    int result;

    atomic_store(&build->done, 0);
    atomic_store(&build->stop, 0);
    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return -1;
    result = pthread_create(&build->thread, NULL, run_job, build);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

void build_join(struct build *build, int stop)
{
    if (stop) atomic_store(&build->stop, 1);
    (void)pthread_join(build->thread, NULL);
}
