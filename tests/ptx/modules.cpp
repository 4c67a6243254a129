/* modules.cpp - see driver.h: modules, fatbins and launches. SPDX-License-Identifier: MIT
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

#include "driver.h"

using namespace ptx;

/* ---- fatbins ---- */

struct FatbinHead {
    uint32_t magic;
    uint16_t version, header;
    uint64_t size;
};

struct FatbinMember {
    uint16_t kind, unknown;
    uint32_t header;
    uint64_t size;
    uint32_t packed, unknown2;
    uint16_t minor, major;
    uint32_t arch, name, name_length;
    uint64_t flags, zero, unpacked;
};

static std::string unreadable(const char *why)
{
    fprintf(stderr, "ptx: %s\n", why);
    return "";
}

/* the text of a member of a fatbin; "": it cannot be read */
static std::string unpacked(const unsigned char *from, const FatbinMember &m)
{
    typedef size_t Decompress(void *, size_t, const void *, size_t);
    static void *const library = dlopen("libzstd.so.1", RTLD_NOW);
    const size_t n = m.packed ? m.packed : m.size;

    if (m.flags & 0x2000) return unreadable("LZ4 in a fatbin is not supported");
    if (!(m.flags & 0x8000))
        return std::string((const char *)from, strnlen((const char *)from, n));
    auto *decompress = library ? (Decompress *)dlsym(library, "ZSTD_decompress") : nullptr;
    if (!decompress) return unreadable("no libzstd.so.1, for fatbins");
    std::string out(m.unpacked, '\0');
    const size_t got = decompress(out.data(), out.size(), from, n);
    if (got > out.size()) return unreadable("a fatbin cannot be decompressed");
    out.resize(strnlen(out.c_str(), got));
    return out;
}

/* the PTX of an image: itself, or of a fatbin that for the highest architecture that the
 * device runs, or for that of PTX_TARGET (as 75); "": there is none */
static std::string ptx_of(const void *image)
{
    const unsigned char *p = (const unsigned char *)image;
    const char *wanted = getenv("PTX_TARGET");
    FatbinHead head;
    FatbinMember m;
    std::string out;
    uint32_t best = 0;

    if (memcmp(p, "\177ELF", 4) == 0) return "";
    memcpy(&head, p, 4);
    if (head.magic != 0xba55ed50) return (const char *)image;
    memcpy(&head, p, sizeof head);
    for (size_t at = head.header; at < head.header + head.size; at += m.header + m.size) {
        memcpy(&m, p + at, sizeof m);
        if (m.kind != 1 || m.arch < best || m.arch > capability()
            || (wanted && m.arch != (uint32_t)atoi(wanted)))
            continue;
        best = m.arch;
        out = unpacked(p + at + m.header, m);
    }
    return out;
}

/* PTX_KEEP=FOLDER keeps the PTX of every module. */
static void keep(const std::string &text)
{
    static int count;
    const char *folder = getenv("PTX_KEEP");
    char name[300];

    if (!folder) return;
    snprintf(name, sizeof name, "%s/module%d_%d.ptx", folder, (int)getpid(), count++);
    FILE *f = fopen(name, "w");
    if (!f) return;
    fwrite(text.data(), 1, text.size(), f);
    fclose(f);
}

/* ---- of CUDA ---- */

struct Config {
    unsigned grid[3], block[3];
    unsigned shared;
    Stream *stream;
    void *attributes;
    unsigned nattributes;
};

static bool allowed(const Config &c)
{
    const uint64_t threads = (uint64_t)c.block[0] * c.block[1] * c.block[2];

    return c.grid[0] && c.grid[1] && c.grid[2] && threads && threads <= 1024
           && c.grid[0] <= 2147483647u && c.grid[1] <= 65535 && c.grid[2] <= 65535;
}

/* the kernel of a function, which is read when it is first asked for */
static Kernel &kernel_of(const Function &f)
{
    if (!f.kernel->code.empty()) return *f.kernel;
    complete(*f.module, *f.kernel);
    plant(*f.module, *f.kernel);
    return *f.kernel;
}

extern "C" {

Result cuModuleLoadDataEx(Loaded **out, const void *image, unsigned n,
                          const unsigned *options, void **values)
{
    enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6 };
    const Lock lock;
    const Result r = inside("cuModuleLoadDataEx");

    if (r) return r;
    if (any_capturing() && capture_mode != 2) return CAPTURE_UNSUPPORTED;
    auto m = std::make_unique<Loaded>();
    const std::string text = ptx_of(image);
    if (text.empty()) return NO_BINARY;
    try {
        m->code = parse(text, machine().memory);
    } catch (std::string &why) {
        for (unsigned k = 0; k + 1 < n; k++)
            if (options[k] == ERROR_LOG && options[k + 1] == ERROR_LOG_BYTES)
                snprintf((char *)values[k], (size_t)(uintptr_t)values[k + 1], "%s",
                         why.c_str());
        fprintf(stderr, "ptx: %s\n", why.c_str());
        return INVALID_PTX;
    }
    keep(text);
    *out = m.release();
    return 0;
}

Result cuModuleGetFunction(Function **out, Loaded *m, const char *name)
{
    const Lock lock;
    const Result r = inside("cuModuleGetFunction");

    if (r) return r;
    const auto at = m->code->kernels.find(name);
    if (at == m->code->kernels.end()) return NOT_FOUND;
    Function &f = m->functions[name];
    f.module = m->code.get();
    f.kernel = at->second.get();
    *out = &f;
    return 0;
}

Result cuModuleUnload(Loaded *m)
{
    const Lock lock;

    finish_all();
    for (auto &g : m->code->globals) machine().memory.release(g.second);
    delete m;
    return inside("cuModuleUnload");
}

Result cuFuncGetAttribute(int *out, unsigned which, Function *f)
{
    enum { LOCAL_BYTES = 3 };

    if (which != LOCAL_BYTES) return INVALID_VALUE;
    const Lock lock;
    *out = (int)kernel_of(*f).local_bytes;
    return inside("cuFuncGetAttribute");
}

Result cuFuncLoad(Function *f)
{
    return f ? inside("cuFuncLoad") : INVALID_HANDLE;
}

Result cuLaunchKernelEx(const Config *c, Function *f, void **arguments, void **extra)
{
    const Lock lock;
    const Result r = inside("cuLaunchKernelEx");

    if (r) return r;
    if (extra || c->shared || c->nattributes) {
        misuse("cuLaunchKernelEx", "more than is known");
        return INVALID_VALUE;
    }
    if (!allowed(*c)) return INVALID_VALUE;
    const Kernel &k = kernel_of(*f);
    std::vector<uint8_t> bytes(k.param_bytes);
    for (size_t n = 0; n < k.param_sizes.size(); n++)
        memcpy(bytes.data() + k.param_offsets[n], arguments[n], k.param_sizes[n]);
    const Config config = *c;
    const Function function = *f;
    return ask(c->stream, [=] {
        return machine().launch(*function.module, *function.kernel, config.grid,
                                config.block, bytes.data(), bytes.size());
    });
}

} // extern "C"
