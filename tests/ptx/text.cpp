/* text.cpp - see text.h. SPDX-License-Identifier: MIT */
#include "text.h"

#include <cctype>
#include <cstdlib>
#include <set>

namespace ptx {

bool is_type(const std::string &s)
{
    static const std::set<std::string> types = {"pred", "b8",  "b16", "b32", "b64",
                                                "u8",   "u16", "u32", "u64", "s8",
                                                "s16",  "s32", "s64", "f32", "f64"};
    return types.count(s) > 0;
}

Words split(const std::string &s, char at)
{
    Words out;
    size_t from = 0;
    for (size_t k = 0; k <= s.size(); k++)
        if (k == s.size() || s[k] == at)
            out.push_back(s.substr(from, k - from)), from = k + 1;
    return out;
}

Words words(const std::string &s)
{
    Words out;
    std::string word;

    for (char c : s + " ")
        if (!isspace((unsigned char)c))
            word += c;
        else if (!word.empty())
            out.push_back(word), word.clear();
    return out;
}

std::string trim(const std::string &s)
{
    const size_t a = s.find_first_not_of(" \t\r\n"), b = s.find_last_not_of(" \t\r\n");
    return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

Words operands(const std::string &s)
{
    Words out;
    int depth = 0;
    std::string word;
    for (char c : s) {
        if (c == '{' || c == '[' || c == '(') depth++;
        if (c == '}' || c == ']' || c == ')') depth--;
        if (c == ',' && depth == 0)
            out.push_back(trim(word)), word.clear();
        else
            word += c;
    }
    if (!trim(word).empty()) out.push_back(trim(word));
    return out;
}

size_t type_bytes(const std::string &t)
{
    return (size_t)atoi(t.c_str() + 1) / 8;
}

bool number(const std::string &s, uint64_t &bits)
{
    if (s.size() > 2 && s[0] == '0'
        && (s[1] == 'f' || s[1] == 'F' || s[1] == 'd' || s[1] == 'D')) {
        bits = strtoull(s.c_str() + 2, nullptr, 16);
        return true;
    }
    if (s.empty() || !(isdigit(s[0]) || (s[0] == '-' && s.size() > 1 && isdigit(s[1]))))
        return false;
    bits = s[0] == '-' ? (uint64_t)strtoll(s.c_str(), nullptr, 0)
                       : strtoull(s.c_str(), nullptr, 0);
    return true;
}

} // namespace ptx
