/*
 * cuda_library.c - opens libcuda while the program runs, and makes messages of its
 * failures.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/driver/cuda_library.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The functions: symbol, offset of the member that takes the address, 1 if it is
 * required. */
static const struct {
    const char *symbol;
    size_t offset;
    int needed;
} functions[] = {
#define CUDA_ROW(name, symbol, parameters)                                                 \
    {#symbol, offsetof(struct cuda_library, name), 1},
    CUDA_FUNCTIONS(CUDA_ROW)
#undef CUDA_ROW
#define CUDA_ROW(name, symbol, parameters)                                                 \
    {#symbol, offsetof(struct cuda_library, name), 0},
        CUDA_GRAPH_FUNCTIONS(CUDA_ROW)
#undef CUDA_ROW
};

nb_status cuda_library_open(nb_context *ctx, const char *name, struct cuda_library *out)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (!handle) {
        const char *why = dlerror();

        return fail(ctx, NB_ERR_UNSUPPORTED, "no CUDA driver here: %s",
                    why ? why : "its library could not be opened");
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *address = dlsym(handle, functions[i].symbol);

        if (!address && functions[i].needed) {
            (void)dlclose(handle);
            return fail(ctx, NB_ERR_UNSUPPORTED,
                        "%s has no %s: the CUDA driver is too old for this build", name,
                        functions[i].symbol);
        }
        /* C has no cast from an object's address to a function's */
        memcpy((char *)out + functions[i].offset, &address, sizeof address);
    }
    out->handle = handle;
    return NB_OK;
}

void cuda_library_close(struct cuda_library *library)
{
    if (library->handle) (void)dlclose(library->handle);
    library->handle = NULL;
}

nb_status cuda_check(nb_context *ctx, const struct cuda_library *library, nb_status status,
                     cuda_result result, const char *doing, ...)
{
    const char *name = NULL, *text = NULL;
    char what[CONTEXT_MESSAGE / 2];
    va_list args;

    if (result == 0) return NB_OK;
    va_start(args, doing);
    (void)vsnprintf(what, sizeof what, doing, args);
    va_end(args);
    /* `name` and `text` stay NULL for a result that the driver does not know */
    (void)library->error_name(result, &name);
    (void)library->error_text(result, &text);
    return fail(ctx, result == CUDA_OUT_OF_MEMORY ? NB_ERR_MEMORY : status,
                "CUDA, %s: %s (%s, %u)", what, text ? text : "unknown error",
                name ? name : "no name", result);
}
