/*
 * cuda_graph.c - records launches as CUDA graphs and replays them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/driver/cuda_device.h"

/* Load a function before launches are captured, because nothing may be loaded during a
 * capture. A driver that loads modules lazily may have found a function without loading
 * it. */
static nb_status load_function(nb_context *ctx, struct device *d,
                               const struct gpu_kernel *kernel)
{
    cuda_function function;

    NB_TRY(cuda_function_of(ctx, d, kernel, &function));
    if (!d->library.function_load) return NB_OK;
    return cuda_check(ctx, &d->library, NB_ERR_DEVICE, d->library.function_load(function),
                      "loading the kernel %s", gpu_kernel_name(kernel));
}

/* Capture launches in our own stream, because not every stream of a caller can be captured:
 * the default one cannot, and others may be busy. The caller of this function destroys
 * *graph, also after a failure; NULL: there is none. */
static nb_status capture(nb_context *ctx, struct device *d,
                         const struct gpu_launch *launches, int n, gpu_address parameters,
                         cuda_graph *graph)
{
    cuda_result result = d->library.capture_begin(d->own_stream, CUDA_CAPTURE_THREAD_LOCAL);
    nb_status status = NB_OK;

    NB_TRY(cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "beginning a capture"));
    for (int i = 0; i < n && status == NB_OK; i++)
        status = cuda_launch_in(ctx, d, d->own_stream, launches + i, parameters);
    /* a capture has to be ended even if a launch failed */
    result = d->library.capture_end(d->own_stream, graph);
    if (result != 0) *graph = NULL;
    if (status != NB_OK) return status;
    return cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "capturing launches");
}

static nb_status record_inside(nb_context *ctx, struct device *d,
                               const struct gpu_launch *launches, int n,
                               gpu_address parameters, cuda_graph_exec *out)
{
    cuda_graph graph = NULL;
    cuda_result result;
    nb_status status = NB_OK;

    for (int i = 0; i < n; i++) NB_TRY(load_function(ctx, d, &launches[i].kernel));
    status = capture(ctx, d, launches, n, parameters, &graph);
    if (status == NB_OK) {
        result = d->library.graph_instantiate(out, graph, 0);
        if (result != 0) *out = NULL;
        status = cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "making a graph");
    }
    if (graph) (void)d->library.graph_destroy(graph);
    return status;
}

static int has_graphs(const struct cuda_library *cuda)
{
    return cuda->capture_begin && cuda->capture_end && cuda->graph_instantiate
           && cuda->graph_launch && cuda->graph_exec_destroy && cuda->graph_destroy;
}

nb_status cuda_record(nb_context *ctx, void *device, const struct gpu_launch *launches,
                      int n, gpu_address parameters, void **recording)
{
    struct device *d = device;
    cuda_graph_exec made = NULL;
    nb_status status;

    *recording = NULL;
    if (!has_graphs(&d->library))
        return fail(ctx, NB_ERR_UNSUPPORTED, "the driver has no functions of graphs");
    NB_TRY(cuda_push(ctx, d));
    status = cuda_pop(d, record_inside(ctx, d, launches, n, parameters, &made));
    *recording = made;
    return status;
}

nb_status cuda_replay(nb_context *ctx, void *device, void *recording)
{
    struct device *d = device;
    cuda_result result;

    NB_TRY(cuda_push(ctx, d));
    result = d->library.graph_launch(recording, d->stream);
    return cuda_pop(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                                  "launching a graph"));
}

void cuda_forget(void *device, void *recording)
{
    struct device *d = device;

    if (!recording || cuda_enter(d) != 0) return;
    (void)d->library.graph_exec_destroy(recording);
    (void)cuda_pop(d, NB_OK);
}
