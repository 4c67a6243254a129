/*
 * test_headers.c - the public headers as a C11 program uses them: one generated unit per
 * header, linked to the shared library.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

int main(void)
{
    const int same = strcmp(nb_version(), NANOBRAG_VERSION) == 0;

    (void)printf("nb_version() %s, built as %s\n", nb_version(), NANOBRAG_VERSION);
    return same ? 0 : 1;
}
