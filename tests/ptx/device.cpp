/* device.cpp - see driver.h: the device, its context, and the summary at exit.
 * SPDX-License-Identifier: MIT */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "driver.h"

namespace ptx {

static std::recursive_mutex one_call;
static char context;
static thread_local int depth; /* contexts pushed and not popped */
static int contexts;
static Result sticky; /* the error that ended the context */

thread_local unsigned capture_mode; /* GLOBAL */
void *const the_context = &context;

Lock::Lock() : held(one_call)
{
}

/* ---- what the environment asks for ---- */

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *s = getenv(name);
    return s ? strtoull(s, nullptr, 0) : otherwise;
}

static Machine *made()
{
    auto *out = new Machine();
    const char *check = getenv("PTX_CHECK"), *order = getenv("PTX_ORDER");
    static const char *const orders[] = {"forward", "reverse", "random", "each"};
    Options &o = out->options;

    if (check) {
        o.init = strstr(check, "init") != nullptr;
        o.race = strstr(check, "race") != nullptr;
        o.loads = strstr(check, "loads") != nullptr;
    }
    for (int k = 0; order && k <= EACH; k++)
        if (!strcmp(order, orders[k])) o.order = k;
    o.seed = setting("PTX_SEED", o.seed);
    o.quantum = (int)setting("PTX_QUANTUM", 0);
    o.approximate = (int)setting("PTX_APPROXIMATE", 0);
    o.most = setting("PTX_MOST", 0);
    o.reports = (int)setting("PTX_REPORTS", (uint64_t)o.reports);
    return out;
}

Machine &machine()
{
    static Machine *const m = made();
    return *m;
}

uint32_t capability()
{
    return (uint32_t)setting("PTX_CAPABILITY", 90);
}

size_t device_bytes()
{
    return setting("PTX_MEMORY", (uint64_t)3 << 30);
}

/* ---- at exit ---- */

static void summary(FILE *out)
{
    const Machine &m = machine();
    uint64_t n = 0;
    double s = 0;

    for (auto &x : m.stats) {
        const Stats &k = x.second;

        fprintf(out, "ptx: %-48s %6llu launches %8llu blocks %12llu instructions %8.2f s\n",
                x.first.c_str(), (unsigned long long)k.launches,
                (unsigned long long)k.blocks, (unsigned long long)k.instructions,
                k.seconds);
        n += k.instructions;
        s += k.seconds;
    }
    fprintf(out,
            "ptx: pid %d: %llu instructions in %.2f s, %.1f million a second; %zu kinds "
            "of reports, %llu in all\n",
            (int)getpid(), (unsigned long long)n, s, s > 0 ? (double)n / s * 1e-6 : 0.0,
            m.reports.size(), (unsigned long long)m.errors);
    if (getenv("PTX_PLANT"))
        fprintf(out, "ptx: what was spoilt ran %llu times\n",
                (unsigned long long)spoilt_runs());
    for (auto &x : m.reports)
        fprintf(out, "ptx: %8llu of %s\n", (unsigned long long)x.second, x.first.c_str());
}

/* A program that succeeds in spite of reports fails; PTX_STATUS=0 leaves it alone. */
static void at_end(int status, void *)
{
    const char *to = getenv("PTX_STATS");
    FILE *out = to ? fopen(to, "a") : stderr;
    const int failed = (int)setting("PTX_STATUS", 3);

    if (out) summary(out);
    if (out && to) fclose(out);
    if ((status && status != 77) || machine().errors == 0 || !failed) return;
    fflush(nullptr);
    _exit(failed);
}

void misuse(const char *what, const char *text)
{
    machine().report("MISUSE of the driver", what, text);
}

/* PTX_FAIL=CALL:N=RESULT,...: call N of a function, from 1, fails; N+: that and all later.
 * Results from 700 on end the context, as on a device. */
static Result failing(const char *what)
{
    static std::map<std::string, uint64_t> calls;
    const char *s = getenv("PTX_FAIL");
    const uint64_t call = s ? ++calls[what] : 0;

    for (; s && *s; s = strchr(s, ',') ? strchr(s, ',') + 1 : "") {
        char name[80], more[2];
        unsigned long long n;
        Result result;

        if ((sscanf(s, "%79[^:]:%llu=%u", name, &n, &result) == 3 && call == n)
            || (sscanf(s, "%79[^:]:%llu%1[+]=%u", name, &n, more, &result) == 4
                && call >= n)) {
            if (strcmp(name, what) != 0) continue;
            if (result >= 700 && result < 800) sticky = result;
            return result;
        }
    }
    return 0;
}

Result inside(const char *what)
{
    if (depth == 0 || contexts == 0) {
        misuse(what, "no context is current");
        return INVALID_CONTEXT;
    }
    const Result r = failing(what);
    return r ? r : sticky;
}

/* what work on a stream returned is that of all calls from then on */
Result after(Result of_work)
{
    if (of_work && !sticky) sticky = of_work;
    return sticky;
}

} // namespace ptx

using namespace ptx;

extern "C" {

Result cuGetErrorName(Result r, const char **out)
{
    static const std::map<Result, const char *> names =
        {{0, "CUDA_SUCCESS"},
         {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
         {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
         {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
         {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
         {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
         {NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
         {INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
         {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
         {NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
         {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
         {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
         {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
         {719, "CUDA_ERROR_LAUNCH_FAILED"},
         {801, "CUDA_ERROR_NOT_SUPPORTED"},
         {CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"}};
    const auto at = names.find(r);

    *out = at == names.end() ? nullptr : at->second;
    return *out ? 0u : INVALID_VALUE;
}

Result cuGetErrorString(Result r, const char **out)
{
    return cuGetErrorName(r, out);
}

/* NVRTC asks for it, and does without */
Result cuGetExportTable(const void **out, const void *)
{
    *out = nullptr;
    return NOT_FOUND;
}

Result cuInit(unsigned flags)
{
    return flags ? INVALID_VALUE : 0u;
}

Result cuDriverGetVersion(int *out)
{
    *out = (int)setting("PTX_DRIVER", 13000);
    return 0;
}

Result cuDeviceGetCount(int *out)
{
    *out = 1;
    return 0;
}

Result cuDeviceGet(int *out, int ordinal)
{
    *out = 100;
    return ordinal ? INVALID_DEVICE : 0u;
}

Result cuDeviceGetName(char *name, int n, int)
{
    snprintf(name, (size_t)n, "PTX interpreter");
    return 0;
}

Result cuDeviceTotalMem_v2(size_t *out, int)
{
    *out = device_bytes();
    return 0;
}

Result cuDeviceGetAttribute(int *out, unsigned which, int)
{
    const int c = (int)capability();

    switch (which) {
    case 16:
        *out = 4;
        return 0; /* multiprocessors, and threads of one */
    case 39:
        *out = 2048;
        return 0;
    case 75:
        *out = c / 10;
        return 0;
    case 76:
        *out = c % 10;
        return 0;
    }
    return INVALID_VALUE;
}

Result cuDevicePrimaryCtxRetain(void **out, int)
{
    const Lock lock;
    static bool registered;

    if (!registered) registered = on_exit(at_end, nullptr) == 0;
    *out = the_context;
    contexts++;
    return 0;
}

Result cuDevicePrimaryCtxRelease_v2(int)
{
    const Lock lock;

    if (--contexts == 0 && (machine().memory.all.size() || streams_alive()))
        misuse("cuDevicePrimaryCtxRelease_v2", "something is left in the context");
    return 0;
}

Result cuCtxPushCurrent_v2(void *c)
{
    if (c != the_context) {
        misuse("cuCtxPushCurrent_v2", "not our context");
        return INVALID_CONTEXT;
    }
    depth++;
    return 0;
}

Result cuCtxPopCurrent_v2(void **out)
{
    if (depth == 0) {
        misuse("cuCtxPopCurrent_v2", "nothing was pushed");
        return INVALID_CONTEXT;
    }
    depth--;
    *out = the_context;
    return 0;
}

Result cuThreadExchangeStreamCaptureMode(unsigned *mode)
{
    std::swap(capture_mode, *mode);
    return 0;
}

} // extern "C"
