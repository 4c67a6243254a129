/*
 * text.h - pieces of the text of PTX.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PTX_TEXT_H
#define NB_TESTS_PTX_TEXT_H

#include "types.h"

namespace ptx {

/* 1 for the name of a type, as f32; the bytes of one */
bool is_type(const std::string &s);
size_t type_bytes(const std::string &type);

Words split(const std::string &s, char at);
Words words(const std::string &s); /* what blanks separate */
std::string trim(const std::string &s);
/* what commas separate outside brackets */
Words operands(const std::string &s);
/* the bits of a literal; false: it is none */
bool number(const std::string &s, uint64_t &bits);

} // namespace ptx

#endif
