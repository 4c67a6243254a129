/*
 * identity.c - identity of the processor and of the build.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/identity.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "build_digest.h" /* made by cmake/digest.cmake */

/* Read the value of the first line "NAME : value" in /proc/cpuinfo, without its newline.
 * Returns 0 if there is none. */
static int read_processor(const char *name, char *out, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[IDENTITY];
    int found = 0;

    while (file && !found && fgets(line, sizeof line, file)) {
        const char *value = strchr(line, ':');

        if (!value || strncmp(line, name, strlen(name)) != 0) continue;
        value += 1 + strspn(value + 1, " \t");
        found = snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value) > 0;
    }
    if (file) (void)fclose(file);
    return found;
}

void identity_machine(char out[IDENTITY])
{
    struct utsname system = {0};
    char processor[128];
    long count = 1;

    if (!read_processor("model name", processor, sizeof processor)
        && !read_processor("CPU part", processor, sizeof processor))
        processor[0] = '\0';
    (void)uname(&system);
#ifdef _SC_NPROCESSORS_ONLN
    count = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    (void)snprintf(out, IDENTITY, "%.40s %s%sx %ld", system.machine, processor,
                   processor[0] ? " " : "", count);
    for (char *at = out; *at; at++)
        if (*at < ' ' || *at > '~') *at = '?';
}

const char *identity_build(void)
{
    return NANOBRAG_VERSION ", " BUILD_COMPILER ", " NANOBRAG_CONFIG ", " BUILD_DIGEST;
}
