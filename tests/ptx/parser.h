/*
 * parser.h - makes kernels of the text of a module.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PTX_PARSER_H
#define NB_TESTS_PTX_PARSER_H

#include "text.h"
#include "thread.h"

namespace ptx {

/* a variable, or a parameter of a kernel; no bytes: it is not understood */
struct Variable {
    Space space = GENERIC;
    std::string name;
    size_t align = 0, element = 0, bytes = 0;
};

struct Parser {
    Module &m;
    Memory &memory;
    std::string text; /* without comments */
    Kernel *k = nullptr; /* whose body is read */
    std::map<std::string, std::pair<Space, int64_t>> symbols;
    std::map<std::string, int> labels, opcode_index;
    std::vector<std::pair<int, std::string>> jumps;
    std::map<uint64_t, int> constants;
    std::map<std::string, Words> label_lists;
    std::vector<std::pair<int, std::string>> table_uses;

    Parser(Module &module, Memory &mem, std::string all)
        : m(module), memory(mem), text(std::move(all))
    {
    }

    int reg(const std::string &name);
    int constant(uint64_t bits);
    bool unknown(const std::string &what);
    int source(const std::string &s);
    void address(Instruction &i, const std::string &s);
    int several(const std::string &s, int out[4], bool result);
    void instruction(std::string text, int line);
    /* decode.cpp: false for what is not supported */
    bool decode(Instruction &i, const Words &w, const Words &o);
    bool branch(Instruction &i, const Words &w, const Words &o);
    bool barrier(Instruction &i, const Words &w, const Words &o);
    bool access(Instruction &i, const Words &w, const Words &o);
    bool compare(Instruction &i, const Words &w, const Words &o);
    bool move(Instruction &i, const Words &w, const Words &o);
    bool variable(const std::string &text);
    bool label(size_t &at, int &line);
    void finish_kernel();
    void body(Kernel &kernel);
    void entry(size_t &at, int &line);
    void module();
};

} // namespace ptx

#endif
