/*
 * device.h - calls of the libcuda that is under test, which is opened as a program would.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PTX_DEVICE_H
#define NB_TESTS_PTX_DEVICE_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

extern void *libcuda;

template <class... A> unsigned call(const char *name, A... arguments)
{
    auto *f = (unsigned (*)(A...))dlsym(libcuda, name);

    if (f) return f(arguments...);
    printf("libcuda has no %s\n", name);
    exit(1);
}

/* The module of a file of PTX in a new context; ends the program if that fails. */
void open_device(const char *file);

uint64_t allocate(size_t bytes);
void upload(uint64_t to, const void *from, size_t bytes);
void download(void *to, uint64_t from, size_t bytes);
/* Launch a kernel of the module with blocks of 128 threads. */
void launch(const char *kernel, unsigned blocks, void **arguments);
/* Wait for all of it; returns a result of CUDA. */
unsigned wait_for();

std::string contents(const char *file);

#endif
