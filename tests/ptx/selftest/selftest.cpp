/*
 * selftest KERNELS.ptx - the interpreter against arithmetic of the host, and against a
 * kernel for each kind of fault; links nothing of it, but opens libcuda.so.1.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cmath>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "body.h"
#include "device.h"

static int failures;

static void check(bool ok, const char *what, const std::string &why)
{
    printf("%s: %s%s%s\n", ok ? "ok" : "not ok", what, ok ? "" : ": ",
           ok ? "" : why.c_str());
    failures += !ok;
}

/* ---- arithmetic ---- */

static uint64_t random_bits()
{
    static uint64_t s = 88172645463325252ull;

    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s;
}

static double random_real()
{
    const double unit = (double)(random_bits() >> 11) / 9007199254740992.0 - 0.5;
    const double x = unit * ldexp(1, (int)(random_bits() % 40) - 10);

    switch (random_bits() % 12) {
    case 0:
        return 0.0;
    case 1:
        return -0.0;
    case 2:
        return rint(x) + 0.5;
    case 3:
        return INFINITY;
    case 4:
        return -INFINITY;
    default:
        return x;
    }
}

static struct in random_in()
{
    struct in x;

    memset(&x, 0, sizeof x);
    x.a = (float)random_real();
    x.b = random_bits() % 9 ? (float)random_real() : NAN;
    x.c = random_real();
    x.d = random_real();
    x.i = (int)random_bits();
    x.j = (int)random_bits() >> (random_bits() % 31);
    x.u = (unsigned)random_bits();
    x.s = (short)random_bits();
    x.k = (unsigned char)random_bits();
    x.l = (long long)random_bits() >> (random_bits() % 60);
    return x;
}

/* equal bits, any two NaN, or zeros of both signs, of which fmin and fmax return either */
template <class X> static bool same(X a, X b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b) || (a == 0 && b == 0);
}

template <class X>
static long differ(const char *name, const X *found, const X *wanted, int n)
{
    long out = 0;

    for (int k = 0; k < n; k++) {
        if (same(found[k], wanted[k])) continue;
        if (out++ == 0)
            printf("%s[%d]: %.17g, of the host %.17g\n", name, k, (double)found[k],
                   (double)wanted[k]);
    }
    return out;
}

static void arithmetic()
{
    int n = 5000;
    std::vector<in> x((size_t)n);
    std::vector<out> found((size_t)n), wanted((size_t)n);
    const size_t in_bytes = x.size() * sizeof(in), out_bytes = x.size() * sizeof(out);
    uint64_t from = allocate(in_bytes), to = allocate(out_bytes);
    void *arguments[] = {&from, &to, &n};
    long wrong = 0;

    for (auto &e : x) e = random_in();
    upload(from, x.data(), in_bytes);
    launch("arithmetic", (unsigned)(n + 127) / 128, arguments);
    download(found.data(), to, out_bytes);
    const unsigned result = wait_for();
    memset((void *)wanted.data(), 0, out_bytes);
    for (size_t k = 0; k < x.size(); k++) {
        const out &a = found[k];
        out &b = wanted[k];

        body(&x[k], &b);
        wrong += differ("f", a.f, b.f, 16) + differ("g", a.g, b.g, 16);
        wrong += differ("i", a.i, b.i, 20) + differ("l", a.l, b.l, 8);
        wrong += differ("u", a.u, b.u, 8);
    }
    const std::string of = std::to_string(wrong) + " of " + std::to_string(n * 68);
    printf("arithmetic: %s values differ\n", of.c_str());
    check(result == 0 && wrong == 0, "arithmetic", of);
}

/* ---- faults, each in a process of its own, as one ends a context ---- */

enum { NUMBERS = 4 * 128, FAILED = 41 };

/* Run a kernel that takes (const double *, double *, unsigned long long *). */
static void run_kernel(const char *name, unsigned blocks, bool sound)
{
    std::vector<double> x(NUMBERS), sums(128);
    unsigned long long all[2] = {0, 0};
    const size_t bytes = x.size() * sizeof x[0], sum_bytes = sums.size() * sizeof sums[0];
    uint64_t from = allocate(bytes), to = allocate(sum_bytes), whole = allocate(sizeof all);
    void *arguments[] = {&from, &to, &whole};
    double total = 0;

    for (size_t k = 0; k < x.size(); k++) total += x[k] = (double)(k % 11);
    upload(from, x.data(), bytes);
    upload(to, sums.data(), sum_bytes);
    upload(whole, all, sizeof all);
    launch(name, blocks, arguments);
    download(sums.data(), to, sum_bytes);
    download(all, whole, sizeof all);
    const unsigned result = wait_for();
    if (sound
        && (result || sums[0] + sums[1] + sums[2] + sums[3] != total
            || (double)all[0] != total || all[1] != 3))
        exit(1);
    exit(0);
}

/* The report that is `wanted`, or none (null), and an exit status that says so. */
static void fault(const char *file, const char *name, unsigned blocks, const char *wanted)
{
    const std::string log = std::string("selftest_") + name + ".txt";
    const std::string status_wanted = std::to_string(FAILED);
    int status;

    unlink(log.c_str());
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        setenv("PTX_STATS", log.c_str(), 1);
        setenv("PTX_STATUS", status_wanted.c_str(), 1);
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        open_device(file);
        run_kernel(name, blocks, !wanted);
    }
    waitpid(child, &status, 0);
    const std::string said = contents(log.c_str());
    const size_t at = said.find("kinds of reports"), line = said.find('\n', at);
    const std::string reports = line == std::string::npos ? said : said.substr(line + 1);
    const bool named = wanted ? reports.find(std::string("of ") + wanted) < reports.size()
                              : at != std::string::npos && reports.empty();
    check(named && WIFEXITED(status) && WEXITSTATUS(status) == (wanted ? FAILED : 0), name,
          "exit status " + std::to_string(WEXITSTATUS(status)) + ", " + reports);
    unlink(log.c_str());
}

/* ---- calls that are made to fail ---- */

static void failing_calls(const char *file)
{
    uint64_t at = 0;
    const void *table = &at;
    int status;

    check(call("cuGetExportTable", &table, (const void *)"") == 500 && !table,
          "no table for NVRTC, which asks for one", "");
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        setenv("PTX_STATS", "/dev/null", 1);
        setenv("PTX_FAIL", "cuMemAlloc_v2:2=2,cuStreamSynchronize:1+=700", 1);
        open_device(file);
        const unsigned first = call("cuMemAlloc_v2", &at, (size_t)8);
        const unsigned second = call("cuMemAlloc_v2", &at, (size_t)8);
        const unsigned third = call("cuMemAlloc_v2", &at, (size_t)8);
        const unsigned lost = wait_for(), later = call("cuMemAlloc_v2", &at, (size_t)8);
        _exit(!(first == 0 && second == 2 && third == 0 && lost == 700 && later == 700));
    }
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "calls that are made to fail", "");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *kernel;
        unsigned blocks;
        const char *report; /* or NULL */
    } cases[] = {{"reduce", 4, nullptr},
                 {"race_block", 1, "RACE"},
                 {"race_warp", 1, "RACE"},
                 {"race_read", 1, "RACE"},
                 {"race_blocks", 4, "RACE OF BLOCKS"},
                 {"outside", 1, "OUTSIDE of global"},
                 {"before", 1, "OUTSIDE of shared"},
                 {"misaligned", 1, "MISALIGNED"},
                 {"uninitialised", 1, "UNINITIALISED condition"},
                 {"copied", 1, "UNINITIALISED copy"},
                 {"waits", 1, "WAITS FOR EVER"},
                 {"apart", 1, "BARRIERS of a block"}};

    if (argc != 2) return 2;
    for (auto &c : cases) fault(argv[1], c.kernel, c.blocks, c.report);
    open_device(argv[1]);
    arithmetic();
    failing_calls(argv[1]);
    return failures > 0;
}
