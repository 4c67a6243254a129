/*
 * hdf5_library.c - opens libhdf5 at run time. SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/images/hdf5/hdf5_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Set by the build: the library's name, which the system searches for, and its path, if it
 * is in a folder that the system does not search. */
static const char *const names[] = {NANOBRAG_HDF5_NAME, NANOBRAG_HDF5_PATH};

struct hdf5_library hdf5;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char failure[HDF5_WHY]; /* why the library did not open; empty: it is open */

static int fail_lacking(const char *name)
{
    (void)snprintf(failure, sizeof failure, "%s lacks %s; build again with it",
                   NANOBRAG_HDF5_NAME, name);
    return 0;
}

/* Finds a function of the library. Returns 0 if the library lacks it. */
static int find_function(void *handle, const char *name, void *to)
{
    void *const at = dlsym(handle, name);

    memcpy(to, &at, sizeof at);
    return at ? 1 : fail_lacking(name);
}

/* Finds a variable with an identifier, after H5open() has set it. In a program that links
 * HDF5 itself the variable may be a copy in the program, which HDF5 uses instead of its
 * own. */
static int find_number(void *handle, const char *name, hid_t **to)
{
    void *const program = dlopen(NULL, RTLD_LAZY);

    *to = dlsym(handle, name);
    if (program && (!*to || hdf5.H5Iget_type(**to) <= 0)) *to = dlsym(program, name);
    if (program) (void)dlclose(program);
    return *to && hdf5.H5Iget_type(**to) > 0 ? 1 : fail_lacking(name);
}

static int find_functions(void *handle)
{
#define HDF5_FIND(name)                                                                    \
    if (!find_function(handle, #name, (void *)&hdf5.name)) return 0;
    HDF5_FUNCTIONS(HDF5_FIND)
#undef HDF5_FIND
    return 1;
}

static void find_numbers(void *handle)
{
#define HDF5_FIND(name)                                                                    \
    if (!find_number(handle, #name, &hdf5.name)) return;
    HDF5_NUMBERS(HDF5_FIND)
#undef HDF5_FIND
}

static void open_library(void)
{
    unsigned major = 0, minor = 0, release = 0;
    void *handle = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        (void)snprintf(failure, sizeof failure,
                       "HDF5 (%s) is not installed here; install it (Debian: libhdf5-dev)",
                       NANOBRAG_HDF5_NAME);
    if (!handle || !find_functions(handle)) return;
    if (hdf5.H5open() >= 0 && hdf5.H5get_libversion(&major, &minor, &release) >= 0
        && major == H5_VERS_MAJOR && minor == H5_VERS_MINOR)
        find_numbers(handle);
    else
        (void)snprintf(failure, sizeof failure,
                       "HDF5 is version %u.%u here, but this program was built for %d.%d; "
                       "build it again",
                       major, minor, H5_VERS_MAJOR, H5_VERS_MINOR);
}

int hdf5_library_open(char why[HDF5_WHY])
{
    (void)pthread_once(&once, open_library);
    memcpy(why, failure, sizeof failure);
    return failure[0] == '\0';
}
