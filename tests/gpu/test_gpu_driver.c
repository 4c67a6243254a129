/*
 * test_gpu_driver.c - the host side of CUDA, with a libcuda that has no GPU
 * (gpu/fake_cuda.h): the choices for a device, every failure, and that
 * everything is freed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "gpu/driver/architecture.h"
#include "gpu/driver/cuda.h"
#include "gpu/fake_cuda.h"
#include "gpu/text/block.h"
#include "physics/spec.h"
#include "support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { LAUNCH_FAILED = 719 };

#define EVERY "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 compute_75 compute_120"

/* ---- a device that is none ---- */

static const char code[FATBIN_MODULES] = "xy";
static const struct gpu_fatbin fatbin = {{&code[0], &code[1], &code[2]},
                                         EVERY,
                                         13000,
                                         {{{NULL}}}};
static const struct cuda_source source = {FAKE_CUDA, &fatbin, 0};

static nb_context *ctx;
static struct fake_cuda *fake;
static void *device;
static struct gpu_properties properties;

/* the fake as a machine with an H100 in it */
static void begin(void)
{
    fake_cuda_state_function *get;
    void *handle = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_NODELETE);
    void *address = handle ? dlsym(handle, "fake_cuda_state") : NULL;

    if (!address || (!ctx && nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK))
        abort();
    memcpy(&get, &address, sizeof get);
    fake = get();
    (void)dlclose(handle);
    memset(fake, 0, sizeof *fake);
    fake->devices = 2;
    fake->version = 13000;
    fake->major = 9;
    fake->result = LAUNCH_FAILED;
}

static void check_balance(const char *when)
{
    tap_check(fake->contexts == 0 && fake->streams == 0 && fake->modules == 0
                  && fake->memories == 0 && fake->depth == 0 && fake->misuses == 0
                  && fake->lost == 0 && fake->pinned == 0 && fake->events == 0,
              "%s: %d contexts, %d streams, %d modules, %d memories, %d entered, %d "
              "misuses, %d lost, %d pinned, %d events; expected none",
              when, fake->contexts, fake->streams, fake->modules, fake->memories,
              fake->depth, fake->misuses, fake->lost, fake->pinned, fake->events);
    tap_check(fake->capture_mode == 0, "%s: the thread captures in mode %u, as before",
              when, fake->capture_mode);
}

static void end(const char *when)
{
    gpu_cuda.close(device);
    device = NULL;
    check_balance(when);
    nb_context_free(ctx);
    ctx = NULL;
}

static void opened(void)
{
    begin();
    if (cuda_open(ctx, &source, 1, &device, &properties) == NB_OK) return;
    tap_check(0, "not opened: %s", nb_context_message(ctx));
    exit(1);
}

/* the status, and what the message holds; it is one line */
static void check_refused(nb_status got, nb_status expected, const char *words)
{
    const char *message = nb_context_message(ctx);

    tap_check(got == expected && strstr(message, words) && !strchr(message, '\n'),
              "status %d expected %d, '%s' expected '%s'", (int)got, (int)expected, message,
              words);
}

static void check_not_opened(const struct cuda_source *from, int id, nb_status expected,
                             const char *words)
{
    device = &properties;
    check_refused(cuda_open(ctx, from, id, &device, &properties), expected, words);
    tap_check(device == NULL, "device %p expected NULL", device);
    end(words);
}

static int what_a_device_is(void)
{
    opened();
    tap_check(strcmp(properties.name, "fake device 1") == 0, "name '%s'", properties.name);
    tap_check(strcmp(properties.driver, "CUDA 13.0") == 0, "driver '%s'",
              properties.driver);
    tap_check(properties.major == 9 && properties.minor == 0,
              "capability %d.%d expected 9.0", properties.major, properties.minor);
    tap_check(properties.processors == 7, "%d processors expected 7",
              properties.processors);
    tap_close("GiB", (double)(properties.memory >> 30), 3, 0);
    tap_check(fake->loads == 0, "%d modules loaded before one is used", fake->loads);
    end("opened and closed");
    gpu_cuda.close(NULL);
    return TAP_PASS;
}

static int memory_and_back(void)
{
    enum { N = 1000 };
    static unsigned char from[N], to[N];
    gpu_address address = 0;

    opened();
    for (int i = 0; i < N; i++) from[i] = (unsigned char)(i * 7);
    tap_check(gpu_cuda.allocate(ctx, device, N, &address) == NB_OK && address != 0,
              "%d bytes: %s", N, nb_context_message(ctx));
    tap_check(gpu_cuda.upload(ctx, device, address, from, N) == NB_OK
                  && gpu_cuda.download(ctx, device, to, address, N) == NB_OK
                  && gpu_cuda.wait(ctx, device) == NB_OK,
              "copied: '%s'", nb_context_message(ctx));
    tap_check(memcmp(from, to, N) == 0, "the same bytes come back");
    tap_check(fake->waits == 2, "%d waits expected 2, an upload has its own", fake->waits);
    gpu_cuda.release(device, address);
    gpu_cuda.release(device, 0);
    end("memory");
    return TAP_PASS;
}

static nb_status launch(int shape, int lookup, int single)
{
    const struct gpu_launch image = {{GPU_IMAGE, shape, lookup, single, NULL}, 42, 0x10, 0};

    return gpu_cuda.launch(ctx, device, &image, 0x1234);
}

static int kernels(void)
{
    const struct gpu_launch finish = {{GPU_FINISH, 0, 0, 0, NULL}, 1, 0, 5};
    const struct gpu_launch noise = {{GPU_COUNT, 0, 0, 0, NULL}, 1, 0, 0};

    opened();
    tap_check(launch(PHYS_GAUSS, PHYS_NEAREST, 1) == NB_OK, "launched: '%s'",
              nb_context_message(ctx));
    tap_check(strcmp(fake->kernel, "image_GAUSS_NEAREST") == 0, "kernel '%s'",
              fake->kernel);
    tap_check(fake->blocks == 42 && fake->images == 1 && fake->threads == BLOCK_THREADS
                  && fake->parameters == 0x1244,
              "%u x %u blocks of %u threads, parameters at %llx; expected 42 x 1, %d, 1244",
              fake->blocks, fake->images, fake->threads, fake->parameters, BLOCK_THREADS);
    tap_check(fake->fatbin == fatbin.modules[1] && fake->loads == 1,
              "the module in float, %d loaded expected 1", fake->loads);
    (void)launch(PHYS_GAUSS, PHYS_NEAREST, 1);
    (void)launch(PHYS_SQUARE, PHYS_CONSTANT, 1);
    tap_check(fake->loads == 1 && fake->looked_up == 2 && fake->launches == 3,
              "%d modules, %d functions, %d launches; expected 1, 2, 3", fake->loads,
              fake->looked_up, fake->launches);
    (void)launch(PHYS_TOPHAT, PHYS_TRICUBIC, 0);
    tap_check(fake->loads == 2 && fake->fatbin == fatbin.modules[0]
                  && strcmp(fake->kernel, "image_TOPHAT_TRICUBIC") == 0,
              "in double: %d modules expected 2, kernel '%s'", fake->loads, fake->kernel);
    tap_check(gpu_cuda.launch(ctx, device, &finish, 0x1234) == NB_OK
                  && strcmp(fake->kernel, "finish") == 0 && fake->images == 5,
              "kernel '%s' expected 'finish', for %u images", fake->kernel, fake->images);
    tap_check(gpu_cuda.launch(ctx, device, &noise, 0x1234) == NB_OK
                  && strcmp(fake->kernel, "count") == 0 && fake->loads == 3
                  && fake->fatbin == fatbin.modules[2],
              "kernel '%s' expected 'count', %d modules expected 3", fake->kernel,
              fake->loads);
    end("kernels");
    return TAP_PASS;
}

/* ---- failures ---- */

static int no_library(void)
{
    const struct cuda_source none = {"libnosuchcuda.so.1", &fatbin, 0};

    begin();
    check_not_opened(&none, 0, NB_ERR_UNSUPPORTED, "no CUDA driver here: libnosuchcuda");
    return TAP_PASS;
}

static int old_library(void)
{
    const struct cuda_source old = {FAKE_CUDA_OLD, &fatbin, 0};

    begin();
    check_not_opened(&old, 0, NB_ERR_UNSUPPORTED,
                     "has no cuMemcpyDtoHAsync_v2: the CUDA driver is too old");
    return TAP_PASS;
}

static int no_kernels(void)
{
    static const struct gpu_fatbin nothing = {{NULL, NULL, NULL}, "", 0, {{{NULL}}}};
    const struct cuda_source empty = {FAKE_CUDA, &nothing, 0};

    begin();
    check_not_opened(&empty, 0, NB_ERR_UNSUPPORTED, "this build has no kernels for GPUs");
    return TAP_PASS;
}

static int no_device(void)
{
    begin();
    fake->fail_in = "cuInit";
    fake->result = CUDA_NO_DEVICE;
    check_not_opened(&source, 0, NB_ERR_UNSUPPORTED, "there is no device");
    begin();
    fake->devices = 0;
    check_not_opened(&source, 0, NB_ERR_UNSUPPORTED, "there is no device");
    begin();
    check_not_opened(&source, 2, NB_ERR_UNSUPPORTED,
                     "device 2 does not exist: there are 2, numbered from 0");
    begin();
    check_not_opened(&source, -1, NB_ERR_UNSUPPORTED,
                     "device -1 does not exist: there are 2");
    begin();
    fake->fail_in = "cuInit";
    fake->result = 803; /* which the fake has no words for */
    check_not_opened(&source, 0, NB_ERR_UNSUPPORTED,
                     "starting the driver: unknown error (no name, 803)");
    return TAP_PASS;
}

static int too_old(void)
{
    static const struct {
        int major, minor, version;
        const char *words; /* NULL: it opens */
    } cases[] = {
        {7, 0, 13000,
         "fake device 0 is of compute capability 7.0; this build's kernels "
         "are for sm_75"},
        {9, 0, 12090,
         "the driver supports CUDA 12.9; the kernels for fake device 0 need "
         "CUDA 13.0"},
        {9, 0, 13000, NULL}, /* machine code: any of the major version */
        {9, 0, 14000, NULL},
        {11, 0, 13000, "need CUDA 13.1"}, /* PTX: not before its toolkit */
        {11, 0, 13010, NULL},
    };
    static const struct gpu_fatbin newer = {{&code[0], &code[1], &code[2]},
                                            EVERY,
                                            13010,
                                            {{{NULL}}}};
    const struct cuda_source from = {FAKE_CUDA, &newer, 0};

    for (size_t i = 0; i < COUNT(cases); i++) {
        begin();
        fake->major = cases[i].major;
        fake->minor = cases[i].minor;
        fake->version = cases[i].version;
        if (cases[i].words) {
            check_not_opened(&from, 0, NB_ERR_UNSUPPORTED, cases[i].words);
            continue;
        }
        tap_check(cuda_open(ctx, &from, 0, &device, &properties) == NB_OK,
                  "%d.%d with driver %d: '%s'", cases[i].major, cases[i].minor,
                  cases[i].version, nb_context_message(ctx));
        end("not too old");
    }
    return TAP_PASS;
}

static int words(void)
{
    gpu_address address = 1;

    opened();
    fake->fail_in = "cuMemAlloc_v2";
    fake->result = CUDA_OUT_OF_MEMORY;
    check_refused(gpu_cuda.allocate(ctx, device, 99, &address), NB_ERR_MEMORY,
                  "CUDA, allocating 99 bytes: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)");
    tap_check(address == 0, "address %llu expected 0", (unsigned long long)address);
    fake->result = LAUNCH_FAILED;
    check_refused(gpu_cuda.allocate(ctx, device, 99, &address), NB_ERR_DEVICE,
                  "unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED, 719)");
    fake->fail_in = "cuStreamSynchronize";
    check_refused(gpu_cuda.wait(ctx, device), NB_ERR_DEVICE,
                  "CUDA, computing: unspecified");
    fake->fail_in = "cuModuleLoadDataEx";
    fake->jit_log = "ptxas fatal: Unsupported .version\nsecond line";
    check_refused(launch(0, 0, 1), NB_ERR_DEVICE,
                  "loading the kernels in float, ptxas fatal: Unsupported .version: "
                  "unspec");
    fake->jit_log = NULL;
    check_refused(launch(0, 0, 0), NB_ERR_DEVICE, "the kernels in double: unspecified");
    fake->fail_in = "cuModuleGetFunction";
    check_refused(launch(0, 0, 1), NB_ERR_DEVICE,
                  "finding the kernel image_SQUARE_CONSTANT");
    fake->fail_in = "cuLaunchKernelEx";
    check_refused(launch(0, 0, 1), NB_ERR_DEVICE, "launching 42 blocks of image_SQUARE");
    fake->fail_in = NULL;
    tap_check(launch(0, 0, 1) == NB_OK && launch(0, 0, 0) == NB_OK,
              "and when nothing fails any more, it goes on: %d launches expected 2",
              fake->launches);
    end("words");
    return TAP_PASS;
}

/* everything once; what fails first, or NB_OK */
static nb_status session(void)
{
    char bytes[16] = "";
    void *pinned = NULL;
    gpu_address address[2] = {0, 0};
    nb_status status = cuda_open(ctx, &source, 0, &device, &properties);

    if (status != NB_OK) return status;
    for (int i = 0; i < 2 && status == NB_OK; i++)
        status = gpu_cuda.allocate(ctx, device, sizeof bytes, &address[i]);
    if (status == NB_OK)
        status = gpu_cuda.upload(ctx, device, address[0], bytes, sizeof bytes);
    for (int single = 0; single < 2 && status == NB_OK; single++)
        status = launch(PHYS_SQUARE, PHYS_NEAREST, single);
    if (status == NB_OK)
        status = gpu_cuda.download(ctx, device, bytes, address[0], sizeof bytes);
    if (status == NB_OK) status = gpu_cuda.pin(ctx, device, sizeof bytes, &pinned);
    if (status == NB_OK) status = gpu_cuda.zero(ctx, device, address[0], sizeof bytes);
    if (status == NB_OK)
        status = gpu_cuda.send(ctx, device, address[1], pinned, sizeof bytes);
    if (status == NB_OK)
        status = gpu_cuda.fetch(ctx, device, 0, pinned, address[0], sizeof bytes);
    if (status == NB_OK) status = gpu_cuda.fetched(ctx, device, 0);
    if (status == NB_OK) status = gpu_cuda.wait(ctx, device);
    gpu_cuda.unpin(device, pinned);
    for (int i = 0; i < 2; i++) gpu_cuda.release(device, address[i]);
    gpu_cuda.close(device);
    device = NULL;
    return status;
}

/* Whichever call of the driver fails: it is told, and all is given back. The exceptions are
 * what gives back, which nobody is told of. */
static int any_call_fails(void)
{
    static const char *const silent[] = {"cuCtxPopCurrent_v2",
                                         "cuMemFree_v2",
                                         "cuModuleUnload",
                                         "cuStreamDestroy_v2",
                                         "cuDevicePrimaryCtxRelease_v2",
                                         "cuStreamSynchronize",
                                         "cuEventDestroy_v2",
                                         "cuMemFreeHost",
                                         "cuThreadExchangeStreamCaptureMode",
                                         "cuCtxPushCurrent_v2"};
    int told = 0, calls;

    begin();
    tap_check(session() == NB_OK, "nothing fails: '%s'", nb_context_message(ctx));
    calls = fake->calls;
    end("nothing fails");
    for (int at = 1; at <= calls; at++) {
        nb_status status;
        int quiet = 0, entering;

        begin();
        fake->fail_at = at;
        status = session();
        entering = strcmp(fake->last_failed, "cuCtxPushCurrent_v2") == 0
                   || strcmp(fake->last_failed, "cuThreadExchangeStreamCaptureMode") == 0;
        for (size_t i = 0; i < COUNT(silent); i++)
            if (strcmp(fake->last_failed, silent[i]) == 0) quiet = 1;
        told += status != NB_OK;
        tap_check(status == NB_OK
                      ? quiet
                      : strstr(nb_context_message(ctx), "LAUNCH_FAILED") != NULL,
                  "call %d of %d, %s: status %d, '%s'", at, calls, fake->last_failed,
                  (int)status, nb_context_message(ctx));
        /* a context that cannot be entered takes what is in it along */
        if (entering) fake->lost = 0;
        /* which that call alone could have restored */
        if (strcmp(fake->last_failed, "cuThreadExchangeStreamCaptureMode") == 0)
            fake->capture_mode = 0;
        end(fake->last_failed);
    }
    tap_check(told >= 20 && told < calls, "%d of %d failures were told", told, calls);
    return TAP_PASS;
}

/* ---- what is built ---- */

static int built_kernels(void)
{
    static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};
    const int built = strstr(nb_features(), "cuda") != NULL;
    static const int variants[][2] = {
#define VARIANT(shape, lookup) {PHYS_##shape, PHYS_##lookup},
#include "kernels/variants.def"
#undef VARIANT
    };
    const int kernels = 2 * (int)COUNT(variants);
    int few = 0;
    struct gpu_code targets[64];
    const int n = architecture_read(gpu_fatbin.targets, targets, (int)COUNT(targets));

    tap_note("%s, of toolkit %d", gpu_fatbin.targets, gpu_fatbin.toolkit);
    tap_check((n > 0) == built && (gpu_fatbin.toolkit > 0) == built,
              "%d targets, toolkit %d, feature %d", n, gpu_fatbin.toolkit, built);
    for (int i = 0; i < FATBIN_MODULES; i++) {
        const void *module = gpu_fatbin.modules[i];

        tap_check((module != NULL) == built, "module %d: %d expected %d", i, module != NULL,
                  built);
        if (!module) continue;
        tap_check((uintptr_t)module % 16 == 0, "module %d is aligned to 16 bytes", i);
        tap_check(memcmp(module, magic, sizeof magic) == 0, "module %d is a fatbin", i);
    }
    for (int i = 0; i < 2 * PHYS_SHAPES * PHYS_LOOKUPS; i++) {
        const void *module = (&gpu_fatbin.few[0][0][0])[i];

        few += module && memcmp(module, magic, sizeof magic) == 0;
    }
    tap_check(few == (built ? kernels : 0), "%d derivative kernels of %d", few, kernels);
    return TAP_PASS;
}

/* how often the file holds the words, or -1 */
static int count_in(const char *path, const char *words)
{
    FILE *file = fopen(path, "r");
    char line[1024];
    int count = 0;

    if (!file) return -1;
    while (fgets(line, sizeof line, file)) count += strstr(line, words) != NULL;
    (void)fclose(file);
    return count;
}

/* what launch() asks for is in the kernels that were built, for every architecture */
static int built_names(void)
{
    static const char *const reports[2] = {CUDA_REPORTS "/kernels_double.ptxas",
                                           CUDA_REPORTS "/kernels_single.ptxas"};
    static const enum gpu_work others[] = {GPU_FINISH, GPU_LOSS, GPU_SUM};
    enum { IMAGES = PHYS_SHAPES * PHYS_LOOKUPS };
    struct gpu_code targets[64];
    const int n = architecture_read(gpu_fatbin.targets, targets, (int)COUNT(targets));
    int codes = 0;

    if (n == 0) return tap_skip("nvcc compiled no kernels here");
    for (int i = 0; i < n; i++) codes += !targets[i].ptx;
    opened();
    for (int i = 0; i < 2 * (IMAGES + (int)COUNT(others)); i++) {
        const int at = i / 2, image = at < IMAGES;
        const struct gpu_launch launch = {{image ? GPU_IMAGE : others[at - IMAGES],
                                           image ? at / PHYS_LOOKUPS : 0,
                                           image ? at % PHYS_LOOKUPS : 0, i % 2, NULL},
                                          1,
                                          0,
                                          0};
        char words[128];
        int count;

        (void)gpu_cuda.launch(ctx, device, &launch, 0x1234);
        (void)snprintf(words, sizeof words, "Compiling entry function '%s' for",
                       fake->kernel);
        count = count_in(reports[i % 2], words);
        tap_check(count == codes, "%s in %s: for %d architectures expected %d",
                  fake->kernel, i % 2 ? "float" : "double", count, codes);
    }
    for (int i = 0; i < 2; i++) {
        const char *words = i ? "Compiling entry function 'count' for"
                              : "Compiling entry function 'brightest' for";
        const int count = count_in(CUDA_REPORTS "/kernels_noise.ptxas", words);

        tap_check(count == codes, "%s: %d expected %d", words, count, codes);
    }
    end("built names");
    return TAP_PASS;
}

/* the driver of this machine, if it has one: it opens and copies, or says why not */
static int this_machine(void)
{
    static const char from[] = "there and back";
    char to[sizeof from] = "";
    gpu_address address = 0;
    nb_status status;

    begin();
    status = gpu_cuda.open(ctx, 0, &device, &properties);
    if (status != NB_OK) {
        check_refused(status, NB_ERR_UNSUPPORTED, "");
        end("this machine");
        return TAP_PASS;
    }
    tap_note("%s, %d.%d, %d processors, %.1f GiB, %s", properties.name, properties.major,
             properties.minor, properties.processors, (double)properties.memory / (1 << 30),
             properties.driver);
    tap_check(gpu_cuda.allocate(ctx, device, sizeof from, &address) == NB_OK
                  && gpu_cuda.upload(ctx, device, address, from, sizeof from) == NB_OK
                  && gpu_cuda.download(ctx, device, to, address, sizeof to) == NB_OK
                  && gpu_cuda.wait(ctx, device) == NB_OK
                  && memcmp(from, to, sizeof to) == 0,
              "'%s' expected '%s': '%s'", to, from, nb_context_message(ctx));
    gpu_cuda.release(device, address);
    end("this machine");
    return TAP_PASS;
}

/* The toolkit's own stand-in has the functions of the real library, and refuses. */
static int stand_in(void)
{
    const struct cuda_source toolkits = {CUDA_STAND_IN, &fatbin, 0};

    if (!CUDA_STAND_IN[0]) return tap_skip("no CUDA toolkit here");
    begin();
    check_not_opened(&toolkits, 0, NB_ERR_UNSUPPORTED, "starting the driver");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"what_a_device_is", what_a_device_is},
        {"memory_and_back", memory_and_back},
        {"kernels", kernels},
        {"no_library", no_library},
        {"old_library", old_library},
        {"no_kernels", no_kernels},
        {"no_device", no_device},
        {"too_old", too_old},
        {"words", words},
        {"any_call_fails", any_call_fails},
        {"built_kernels", built_kernels},
        {"built_names", built_names},
        {"this_machine", this_machine},
        {"stand_in", stand_in},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
