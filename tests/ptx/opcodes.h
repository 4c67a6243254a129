/*
 * opcodes.h - the handlers of opcodes, which are chosen once, when a kernel is parsed; null
 * for what is not supported.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PTX_OPCODES_H
#define NB_TESTS_PTX_OPCODES_H

#include "types.h"

namespace ptx {

/* what a comparison is combined with; in Instruction::vector */
enum Combine { ALONE, AND, OR, XOR };

/* d = f(a, b, c): arithmetic.cpp */
Handler arithmetic(const Words &words, const std::string &type);
/* "mov" from or to n parts in braces, of which `bits` each */
Handler packing(bool from, int n, int bits);
/* addresses of one space from those of another */
Handler cvta();
/* convert.cpp */
Handler conversion(const Words &words, const std::string &to, const std::string &from);
Handler comparison(const std::string &how, const std::string &type);
/* access.cpp */
Handler loading(const std::string &type);
Handler storing(const std::string &type);
Handler atomic_of(const Words &words, const std::string &type);

} // namespace ptx

#endif
