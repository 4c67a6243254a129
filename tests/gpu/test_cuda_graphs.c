/*
 * test_cuda_graphs.c - launches recorded as CUDA graphs, with a libcuda that has no GPU
 * (gpu/fake_cuda.h): the order of its calls, every failure, and that everything
 * is freed. Also kernels built at run time, and streams and memory of the caller's.
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
#include "physics/spec.h"
#include "support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char code[2] = "x";
static const struct gpu_fatbin fatbin = {{&code[0], &code[1], &code[0]},
                                         "sm_90",
                                         13000,
                                         {{{NULL}}}};
static const struct gpu_launch launches[2] =
    {{{GPU_IMAGE, PHYS_GAUSS, PHYS_NEAREST, 1, NULL}, 42, 0, 0},
     {{GPU_FINISH, 0, 0, 1, NULL}, 7, 0, 0}};

static nb_context *ctx;
static struct fake_cuda *fake;
static void *device;

/* a device of this library, which begins anew */
static void begin(const char *library)
{
    const struct cuda_source source = {library, &fatbin, 0};
    fake_cuda_state_function *get;
    struct gpu_properties properties;
    void *handle = dlopen(library, RTLD_NOW | RTLD_NODELETE);
    void *address = handle ? dlsym(handle, "fake_cuda_state") : NULL;

    if (!address || nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) abort();
    memcpy(&get, &address, sizeof get);
    fake = get();
    (void)dlclose(handle);
    memset(fake, 0, sizeof *fake);
    fake->devices = 1;
    fake->version = 13000;
    fake->major = 9;
    fake->result = 719;
    if (cuda_open(ctx, &source, 0, &device, &properties) != NB_OK) abort();
}

static void end(const char *when)
{
    gpu_cuda.close(device);
    tap_check(fake->contexts + fake->streams + fake->modules + fake->graphs
                          + fake->graph_execs + fake->lost
                      == 0
                  && fake->depth == 0 && fake->misuses == 0 && !fake->capturing,
              "%s: %d graphs, %d of them to launch, %d entered, %d misuses, %d lost; "
              "expected none",
              when, fake->graphs, fake->graph_execs, fake->depth, fake->misuses,
              fake->lost);
    nb_context_free(ctx);
}

static nb_status record(void **out)
{
    return gpu_cuda.record(ctx, device, launches, 2, 0x1234, out);
}

static void check_refused(nb_status got, const char *words)
{
    const char *message = nb_context_message(ctx);

    tap_check(got == NB_ERR_DEVICE && strstr(message, words), "status %d, '%s'", (int)got,
              message);
}

static int recorded(void)
{
    void *recording;

    begin(FAKE_CUDA);
    tap_check(record(&recording) == NB_OK && recording, "recorded: '%s'",
              nb_context_message(ctx));
    tap_check(fake->captured == 2 && fake->launches == 0 && fake->functions_loaded == 2,
              "%d launches captured (2), %d done (0), %d functions loaded before (2)",
              fake->captured, fake->launches, fake->functions_loaded);
    tap_check(fake->graphs == 0 && fake->graph_execs == 1,
              "%d graphs are left (0), %d to launch (1)", fake->graphs, fake->graph_execs);
    tap_check(strcmp(fake->kernel, "finish") == 0 && fake->blocks == 7
                  && fake->parameters == 0x1234,
              "the last: %u blocks of %s", fake->blocks, fake->kernel);
    for (int i = 1; i <= 3; i++) {
        const nb_status status = gpu_cuda.replay(ctx, device, recording);

        tap_check(status == NB_OK && fake->graph_launches == i && fake->launches == 0,
                  "replayed: %d graphs launched expected %d, %d launches by themselves (0)",
                  fake->graph_launches, i, fake->launches);
    }
    gpu_cuda.forget(device, recording);
    gpu_cuda.forget(device, NULL);
    end("recorded");
    return TAP_PASS;
}

/* one that was built at run time, in place of that of the build, also recorded */
static int own_kernel(void)
{
    static const char text[] = "text", name[] = "image_SQUARE_NEAREST";
    static const char *const steps[] = {"cuCtxPushCurrent_v2", "cuModuleLoadDataEx",
                                        "cuModuleGetFunction"};
    struct gpu_launch own = {{GPU_IMAGE, PHYS_SQUARE, PHYS_NEAREST, 1, NULL}, 42, 0, 0};
    void *recording, *none;

    begin(FAKE_CUDA);
    tap_check(gpu_cuda.load(ctx, device, text, sizeof text, name, &own.kernel.runtime)
                      == NB_OK
                  && own.kernel.runtime && fake->loads == 1 && fake->fatbin == text,
              "loaded: '%s'", nb_context_message(ctx));
    tap_check(gpu_cuda.launch(ctx, device, &own, 0x1234) == NB_OK
                  && strcmp(fake->kernel, name) == 0 && fake->loads == 1
                  && fake->launches == 1,
              "launched: '%s', the build's is not loaded", fake->kernel);
    tap_check(gpu_cuda.record(ctx, device, &own, 1, 0x1234, &recording) == NB_OK
                  && fake->captured == 1 && fake->loads == 1,
              "recorded: '%s'", nb_context_message(ctx));
    gpu_cuda.forget(device, recording);
    gpu_cuda.unload(device, own.kernel.runtime);
    for (size_t i = 0; i < COUNT(steps); i++) {
        fake->fail_in = steps[i];
        none = &own;
        check_refused(gpu_cuda.load(ctx, device, text, sizeof text, name, &none), "");
        tap_check(!none && fake->modules == 0, "%s fails: nothing is kept", steps[i]);
    }
    fake->fail_in = NULL;
    end("own kernel");
    return TAP_PASS;
}

/* whichever step fails: it is told, nothing is kept, and plain launches go on */
static int steps_fail(void)
{
    static const struct {
        const char *symbol, *words;
    } steps[] = {{"cuModuleLoadDataEx", "loading the kernels in float"},
                 {"cuModuleGetFunction", "finding the kernel image_GAUSS_NEAREST"},
                 {"cuFuncLoad", "loading the kernel image_GAUSS_NEAREST"},
                 {"cuStreamBeginCapture_v2", "beginning a capture"},
                 {"cuLaunchKernelEx", "launching 42 blocks"},
                 {"cuStreamEndCapture", "capturing launches"},
                 {"cuGraphInstantiateWithFlags", "making a graph"}};
    void *recording = &fake;

    for (size_t i = 0; i < COUNT(steps); i++) {
        nb_status status;

        begin(FAKE_CUDA);
        fake->fail_in = steps[i].symbol;
        status = record(&recording);
        check_refused(status, steps[i].words);
        tap_check(!recording, "%s: no recording", steps[i].symbol);
        fake->fail_in = NULL;
        status = gpu_cuda.launch(ctx, device, launches, 0x1234);
        tap_check(status == NB_OK && fake->launches == 1, "%d plain launch goes on",
                  fake->launches);
        end(steps[i].symbol);
    }
    return TAP_PASS;
}

/* and with a recording that was made; of what gives back nobody is told */
static int replay_fails(void)
{
    static const char *const silent[] = {"cuGraphDestroy", "cuGraphExecDestroy"};
    void *recording;
    nb_status status;

    begin(FAKE_CUDA);
    if (record(&recording) != NB_OK) abort();
    fake->fail_in = "cuGraphLaunch";
    status = gpu_cuda.replay(ctx, device, recording);
    check_refused(status, "launching a graph");
    gpu_cuda.forget(device, recording);
    end("cuGraphLaunch");
    for (size_t i = 0; i < COUNT(silent); i++) {
        begin(FAKE_CUDA);
        fake->fail_in = silent[i];
        status = record(&recording);
        tap_check(status == NB_OK, "%s: recorded", silent[i]);
        gpu_cuda.forget(device, recording);
        end(silent[i]);
    }
    return TAP_PASS;
}

static int no_functions(void)
{
    void *recording = &fake;
    nb_status status;

    begin(FAKE_CUDA_PLAIN);
    status = record(&recording);
    tap_check(status == NB_ERR_UNSUPPORTED && !recording, "%s", nb_context_message(ctx));
    status = gpu_cuda.launch(ctx, device, launches, 0x1234);
    tap_check(status == NB_OK && fake->launches == 1, "%d plain launch", fake->launches);
    end("no functions of graphs");
    return TAP_PASS;
}

/* ---- streams ---- */

/* all that goes to a stream; the fake counts a misuse where it is not the expected one */
static void check_stream(const char *what, cuda_stream expected)
{
    const struct gpu_launch finish = {{GPU_FINISH, 0, 0, 0, NULL}, 1, 0, 0};
    char bytes[8] = "";
    gpu_address address = 0;
    void *recording = NULL;

    fake->expected = expected;
    tap_check(gpu_cuda.allocate(ctx, device, sizeof bytes, &address) == NB_OK
                  && gpu_cuda.upload(ctx, device, address, bytes, sizeof bytes) == NB_OK
                  && gpu_cuda.launch(ctx, device, &finish, address) == NB_OK
                  && gpu_cuda.record(ctx, device, &finish, 1, address, &recording) == NB_OK
                  && gpu_cuda.replay(ctx, device, recording) == NB_OK
                  && gpu_cuda.download(ctx, device, bytes, address, sizeof bytes) == NB_OK
                  && gpu_cuda.wait(ctx, device) == NB_OK,
              "%s: copies, launches, replays, waits: '%s'", what, nb_context_message(ctx));
    tap_check(fake->misuses == 0, "%s: %d calls on another stream", what, fake->misuses);
    gpu_cuda.forget(device, recording);
    gpu_cuda.release(device, address);
}

static int streams(void)
{
    static char theirs, foreign;
    const cuda_stream caller = (cuda_stream)(void *)&theirs;
    nb_status status;

    begin(FAKE_CUDA);
    fake->theirs = caller;
    check_stream("at first", NULL);
    tap_check(gpu_cuda.use(ctx, device, caller) == NB_OK, "'%s'", nb_context_message(ctx));
    check_stream("the caller's", caller);
    status = gpu_cuda.use(ctx, device, &foreign);
    tap_check(status == NB_ERR_ARGUMENT
                  && strstr(nb_context_message(ctx),
                            "not of the primary context of CUDA device 0"),
              "another context's: '%s'", nb_context_message(ctx));
    check_stream("still the caller's", caller);
    tap_check(gpu_cuda.use(ctx, device, NULL) == NB_OK, "'%s'", nb_context_message(ctx));
    check_stream("our own again", NULL);
    fake->fail_in = "cuStreamGetCtx";
    status = gpu_cuda.use(ctx, device, caller);
    tap_check(status == NB_ERR_ARGUMENT
                  && strstr(nb_context_message(ctx), "asking about a stream"),
              "not known: '%s'", nb_context_message(ctx));
    fake->fail_in = NULL;
    check_stream("our own still", NULL);
    tap_check(gpu_cuda.use(ctx, device, caller) == NB_OK, "'%s'", nb_context_message(ctx));
    fake->expected = NULL; /* closing waits for our own alone: theirs may be gone */
    end("streams");
    return TAP_PASS;
}

/* ---- memory of the caller's ---- */

/* what the driver says of an address, and whether it is the device's */
static int memory_of_whom(void)
{
    static const struct {
        const char *what;
        int known;
        unsigned type, managed, ordinal;
        int ours;
    } rows[] = {{"ordinary memory", 0, 2, 0, 0, 0},
                {"pinned memory of the host", 1, 1, 0, 0, 0},
                {"of the device", 1, 2, 0, 0, 1},
                {"of another device", 1, 2, 0, 1, 0},
                {"managed memory", 1, 1, 1, 1, 1}};
    static char memory[8];

    begin(FAKE_CUDA);
    for (size_t i = 0; i < COUNT(rows); i++) {
        int ours;

        fake->known = rows[i].known ? memory : NULL;
        fake->type = rows[i].type;
        fake->managed = rows[i].managed;
        fake->ordinal = rows[i].ordinal;
        ours = gpu_cuda.owns(device, (gpu_address)(uintptr_t)memory);
        tap_check(ours == rows[i].ours, "%s: %d expected %d", rows[i].what, ours,
                  rows[i].ours);
    }
    fake->fail_in = "cuCtxPushCurrent_v2";
    tap_check(gpu_cuda.owns(device, (gpu_address)(uintptr_t)memory),
              "not refused where that can not be asked");
    fake->fail_in = NULL;
    end("memory of whom");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"recorded", recorded},
        {"own_kernel", own_kernel},
        {"steps_fail", steps_fail},
        {"replay_fails", replay_fails},
        {"no_functions", no_functions},
        {"streams", streams},
        {"memory_of_whom", memory_of_whom},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
