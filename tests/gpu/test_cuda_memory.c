/*
 * test_cuda_memory.c - memory, copies and contexts of CUDA's driver, with a libcuda that
 * has no GPU (gpu/fake_cuda.h) and does copies as late as it may.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "gpu/driver/cuda.h"
#include "gpu/fake_cuda.h"
#include "support/tap.h"

static const char code[2] = "x";
static const struct gpu_fatbin fatbin = {{&code[0], &code[1], &code[0]},
                                         "sm_90",
                                         13000,
                                         {{{NULL}}}};
static const struct cuda_source source = {FAKE_CUDA, &fatbin, 0};

static nb_context *ctx;
static struct fake_cuda *fake;
static void *device;

static void begin(void)
{
    fake_cuda_state_function *get;
    void *handle = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_NODELETE);
    void *address = handle ? dlsym(handle, "fake_cuda_state") : NULL;

    if (!address || nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) abort();
    memcpy(&get, &address, sizeof get);
    fake = get();
    (void)dlclose(handle);
    memset(fake, 0, sizeof *fake);
    fake->devices = 1;
    fake->version = 13000;
    fake->major = 9;
}

static void open_device(const struct cuda_source *from)
{
    struct gpu_properties properties;

    if (cuda_open(ctx, from, 0, &device, &properties) == NB_OK) return;
    tap_check(0, "not opened: %s", nb_context_message(ctx));
    exit(1);
}

static void end(const char *when)
{
    gpu_cuda.close(device);
    device = NULL;
    tap_check(fake->contexts + fake->streams + fake->memories + fake->pinned + fake->events
                          + fake->lost + fake->depth + fake->misuses
                      == 0
                  && fake->capture_mode == 0,
              "%s: %d contexts, %d memories, %d pinned, %d events, %d lost, %d misuses; "
              "expected none",
              when, fake->contexts, fake->memories, fake->pinned, fake->events, fake->lost,
              fake->misuses);
    nb_context_free(ctx);
}

/* Copies from the device are done when they are waited for, and not before. */
static int beside_kernels(void)
{
    enum { N = 64 };
    char *pinned = NULL, *other;
    gpu_address address = 0;

    begin();
    open_device(&source);
    if (gpu_cuda.pin(ctx, device, 2 * N, (void **)&pinned) != NB_OK
        || gpu_cuda.allocate(ctx, device, N, &address) != NB_OK)
        abort();
    other = pinned + N;
    for (int i = 0; i < N; i++) pinned[i] = (char)i;
    memset(other, -1, N);
    tap_check(gpu_cuda.send(ctx, device, address, pinned, N) == NB_OK
                  && gpu_cuda.fetch(ctx, device, 1, other, address, N) == NB_OK,
              "sent and fetched: '%s'", nb_context_message(ctx));
    tap_check(fake->waits == 0 && fake->pending == 1 && other[N - 1] == -1,
              "%d waits, %d copies pending, %d expected -1", fake->waits, fake->pending,
              other[N - 1]);
    tap_check(gpu_cuda.fetched(ctx, device, 1) == NB_OK && memcmp(pinned, other, N) == 0,
              "the same bytes after waiting for that copy alone");
    memset(other, -1, N);
    tap_check(gpu_cuda.fetch(ctx, device, 0, other, address, N) == NB_OK
                  && gpu_cuda.wait(ctx, device) == NB_OK && memcmp(pinned, other, N) == 0,
              "and after waiting for all");
    gpu_cuda.unpin(device, pinned);
    gpu_cuda.unpin(device, NULL);
    gpu_cuda.release(device, address);
    end("beside kernels");
    return TAP_PASS;
}

static int nothing_to_copy(void)
{
    gpu_address address = 0;
    char byte = 0;
    int calls;

    begin();
    open_device(&source);
    if (gpu_cuda.allocate(ctx, device, 1, &address) != NB_OK) abort();
    calls = fake->calls;
    tap_check(gpu_cuda.upload(ctx, device, address, &byte, 0) == NB_OK
                  && gpu_cuda.download(ctx, device, &byte, address, 0) == NB_OK
                  && gpu_cuda.send(ctx, device, address, &byte, 0) == NB_OK
                  && gpu_cuda.zero(ctx, device, address, 0) == NB_OK
                  && fake->calls == calls,
              "0 bytes: %d calls of the driver", fake->calls - calls);
    gpu_cuda.release(device, address);
    end("nothing to copy");
    return TAP_PASS;
}

static int zeros(void)
{
    char bytes[8] = "1234567";
    gpu_address address = 0;

    begin();
    open_device(&source);
    if (gpu_cuda.allocate(ctx, device, sizeof bytes, &address) != NB_OK
        || gpu_cuda.upload(ctx, device, address, bytes, sizeof bytes) != NB_OK)
        abort();
    tap_check(gpu_cuda.zero(ctx, device, address + 2, 3) == NB_OK
                  && gpu_cuda.download(ctx, device, bytes, address, sizeof bytes) == NB_OK
                  && gpu_cuda.wait(ctx, device) == NB_OK
                  && memcmp(bytes,
                            "12\0\0\0"
                            "67",
                            sizeof bytes)
                         == 0,
              "3 bytes of 8 are 0");
    gpu_cuda.release(device, address);
    end("zeros");
    return TAP_PASS;
}

/* The primary context stays when the last of our devices is closed. */
static int context_stays(void)
{
    const struct cuda_source stays = {FAKE_CUDA, &fatbin, 1};

    begin();
    for (int i = 0; i < 3; i++) {
        open_device(&stays);
        tap_check(fake->contexts == 2, "open: retained %d times expected 2",
                  fake->contexts);
        gpu_cuda.close(device);
        tap_check(fake->contexts == 1 && fake->lost == 0,
                  "closed: retained %d times expected 1", fake->contexts);
    }
    device = NULL;
    fake->contexts = 0;
    end("context stays");
    return TAP_PASS;
}

/* Local memory of all threads that can be on 7 multiprocessors at a time. */
static int local_memory(void)
{
    const struct gpu_launch finish = {{GPU_FINISH, 0, 0, 0, NULL}, 1, 0, 0};
    const struct gpu_launch sum = {{GPU_SUM, 0, 0, 0, NULL}, 1, 0, 0};

    begin();
    open_device(&source);
    tap_check(gpu_cuda.reserved(device) == 0, "nothing before a kernel is used");
    fake->local = 1120;
    if (gpu_cuda.launch(ctx, device, &finish, 0x1234) != NB_OK) abort();
    fake->local = 8;
    if (gpu_cuda.launch(ctx, device, &sum, 0x1234) != NB_OK) abort();
    tap_check(gpu_cuda.reserved(device) == (size_t)1120 * 2048 * 7, "%zu bytes expected %d",
              gpu_cuda.reserved(device), 1120 * 2048 * 7);
    end("local memory");
    return TAP_PASS;
}

/* ---- captures of the caller's ---- */

static int captured_by_others(void)
{
    static char theirs;
    nb_status status;

    begin();
    open_device(&source);
    fake->theirs = (cuda_stream)(void *)&theirs;
    tap_check(gpu_cuda.use(ctx, device, &theirs) == NB_OK, "before: '%s'",
              nb_context_message(ctx));
    fake->capture_status = 1;
    status = gpu_cuda.use(ctx, device, &theirs);
    tap_check(status == NB_ERR_ARGUMENT
                  && strstr(nb_context_message(ctx), "being captured into a graph"),
              "meanwhile: status %d, '%s'", (int)status, nb_context_message(ctx));
    fake->capture_status = 0;
    tap_check(gpu_cuda.use(ctx, device, &theirs) == NB_OK, "afterwards: '%s'",
              nb_context_message(ctx));
    (void)gpu_cuda.use(ctx, device, NULL);
    end("captured by others");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"beside_kernels", beside_kernels},
        {"nothing_to_copy", nothing_to_copy},
        {"zeros", zeros},
        {"context_stays", context_stays},
        {"local_memory", local_memory},
        {"captured_by_others", captured_by_others},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
