/*
 * list FILE.ptx ... - parses PTX, and names what of each kernel is not supported.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdio>
#include <fstream>
#include <sstream>

#include "ptx.h"

static int listed(const char *file)
{
    static ptx::Memory memory;
    std::ifstream in(file);
    std::stringstream text;
    int bad = 0;

    text << in.rdbuf();
    try {
        const auto m = ptx::parse(text.str(), memory);

        for (auto &x : m->kernels) {
            ptx::Kernel &k = *x.second;

            ptx::complete(*m, k);
            bad += !k.unsupported.empty();
            printf("%s %s: %zu instructions, %d registers, %zu shared, %zu local%s%s\n",
                   file, x.first.c_str(), k.code.size(), k.nregisters, k.shared_bytes,
                   k.local_bytes,
                   k.unsupported.empty() ? "" : ", UNSUPPORTED: ", k.unsupported.c_str());
        }
    } catch (std::string &why) {
        printf("%s: %s\n", file, why.c_str());
        bad++;
    }
    return bad;
}

int main(int argc, char **argv)
{
    int bad = argc < 2;

    for (int k = 1; k < argc; k++) bad += listed(argv[k]);
    return bad != 0;
}
