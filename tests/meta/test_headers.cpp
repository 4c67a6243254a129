/*
 * test_headers.cpp - the headers as a C++11 program sees them: with one generated unit
 * per header, linked to the shared library, so names must have C linkage.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdio>
#include <cstring>

#include <nanobrag/nanobrag.h>

int main()
{
    const bool same = std::strcmp(nb_version(), NANOBRAG_VERSION) == 0;

    std::printf("nb_version() %s, built as %s\n", nb_version(), NANOBRAG_VERSION);
    return same ? 0 : 1;
}
