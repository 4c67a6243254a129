/*
 * types.h - the words of an opcode, and which template a type of PTX stands for.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PTX_TYPES_H
#define NB_TESTS_PTX_TYPES_H

#include <algorithm>
#include <string>
#include <vector>

#include "ptx.h"

namespace ptx {

typedef std::vector<std::string> Words;

inline bool has(const Words &w, const char *what)
{
    return std::find(w.begin(), w.end(), what) != w.end();
}

/* Instantiate f for the type that a name stands for; null where it has none. */

template <class F> Handler by_int(const std::string &t, F f)
{
    if (t == "u8" || t == "b8") return f.template operator()<uint8_t>();
    if (t == "s8") return f.template operator()<int8_t>();
    if (t == "u16" || t == "b16") return f.template operator()<uint16_t>();
    if (t == "s16") return f.template operator()<int16_t>();
    if (t == "u32" || t == "b32") return f.template operator()<uint32_t>();
    if (t == "s32") return f.template operator()<int32_t>();
    if (t == "u64" || t == "b64") return f.template operator()<uint64_t>();
    if (t == "s64") return f.template operator()<int64_t>();
    return nullptr;
}

template <class F> Handler by_float(const std::string &t, F f)
{
    if (t == "f32") return f.template operator()<float>();
    if (t == "f64") return f.template operator()<double>();
    return nullptr;
}

template <class F> Handler by_any(const std::string &t, F f)
{
    Handler h = by_float(t, f);
    return h ? h : by_int(t, f);
}

} // namespace ptx

#endif
