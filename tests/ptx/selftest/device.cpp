/* device.cpp - see device.h. SPDX-License-Identifier: MIT */
#include "device.h"

void *libcuda;

static void *module, *stream;

std::string contents(const char *file)
{
    FILE *f = fopen(file, "rb");
    char buffer[4096];
    std::string out;
    size_t n;

    while (f && (n = fread(buffer, 1, sizeof buffer, f)) > 0) out.append(buffer, n);
    if (f) fclose(f);
    return out;
}

static void need(const char *what, unsigned result)
{
    if (result == 0) return;
    printf("%s: %u\n", what, result);
    exit(1);
}

void open_device(const char *file)
{
    const std::string text = contents(file);
    void *context;

    libcuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!libcuda) {
        printf("%s\n", dlerror());
        exit(1);
    }
    need("cuInit", call("cuInit", 0u));
    need("a context", call("cuDevicePrimaryCtxRetain", &context, 100));
    need("a context", call("cuCtxPushCurrent_v2", context));
    need("a stream", call("cuStreamCreate", &stream, 1u));
    need("a module", call("cuModuleLoadDataEx", &module, (const void *)text.c_str(), 0u,
                          (unsigned *)nullptr, (void **)nullptr));
}

uint64_t allocate(size_t bytes)
{
    uint64_t out = 0;

    need("memory", call("cuMemAlloc_v2", &out, bytes));
    return out;
}

void upload(uint64_t to, const void *from, size_t bytes)
{
    need("a copy", call("cuMemcpyHtoDAsync_v2", to, from, bytes, stream));
}

void download(void *to, uint64_t from, size_t bytes)
{
    need("a copy", call("cuMemcpyDtoHAsync_v2", to, from, bytes, stream));
}

void launch(const char *kernel, unsigned blocks, void **arguments)
{
    struct {
        unsigned grid[3], block[3], shared;
        void *stream, *attributes;
        unsigned n;
    } const how = {{blocks, 1, 1}, {128, 1, 1}, 0, stream, nullptr, 0};
    void *function;

    need(kernel, call("cuModuleGetFunction", &function, module, kernel));
    need(kernel, call("cuLaunchKernelEx", (const void *)&how, function, arguments,
                      (void **)nullptr));
}

unsigned wait_for()
{
    return call("cuStreamSynchronize", stream);
}
