/* decode.cpp - see parser.h: an instruction of its words and operands.
 * SPDX-License-Identifier: MIT */
#include "opcodes.h"
#include "parser.h"

namespace ptx {

static Words types_of(const Words &w)
{
    Words out;

    for (auto &x : w)
        if (is_type(x)) out.push_back(x);
    return out;
}

static std::string type_of(const Words &w)
{
    const Words types = types_of(w);
    return types.empty() ? "" : types.back();
}

static void nothing(Thread &, const Instruction &)
{
}

bool Parser::branch(Instruction &i, const Words &w, const Words &o)
{
    const int here = (int)k->code.size();

    if (w[0] == "bra") {
        i.kind = BRANCH;
        jumps.push_back({here, o[0]});
    } else {
        i.kind = BRANCH_INDEX;
        i.s[0] = source(o[0]);
        table_uses.push_back({here, o[1]});
    }
    return true;
}

bool Parser::barrier(Instruction &i, const Words &w, const Words &o)
{
    if (w.size() > 1 && w[1] == "warp") {
        i.kind = WARP_BARRIER;
        i.s[0] = source(o[0]);
        return true;
    }
    i.kind = BARRIER;
    return has(w, "sync") && o.size() == 1 && o[0] == "0";
}

static Space space_of(const Words &w)
{
    static const std::map<std::string, Space> spaces = {{"global", GLOBAL},
                                                        {"shared", SHARED},
                                                        {"local", LOCAL},
                                                        {"param", PARAM},
                                                        {"const", CONSTANT}};
    for (auto &x : w) {
        const auto at = spaces.find(x);
        if (at != spaces.end()) return at->second;
    }
    return GENERIC;
}

bool Parser::access(Instruction &i, const Words &w, const Words &o)
{
    const std::string &op = w[0], type = type_of(w);

    i.space = space_of(w);
    for (auto &x : w)
        if (x.starts_with("shared::")) return false;
    if (op == "ld" || op == "ldu") {
        i.vector = (uint8_t)several(o[0], i.d, true);
        address(i, o[1]);
        i.fn = loading(type);
    } else if (op == "st") {
        address(i, o[0]);
        i.vector = (uint8_t)several(o[1], i.d, false);
        i.fn = storing(type);
    } else {
        size_t n = 0;

        if (op == "atom") {
            i.d[0] = o[0] == "_" ? -1 : reg(o[0]);
            n = 1;
        }
        address(i, o[n++]);
        i.s[0] = source(o[n++]);
        if (n < o.size()) i.s[1] = source(o[n]);
        i.fn = atomic_of(w, type);
    }
    return i.fn != nullptr;
}

bool Parser::compare(Instruction &i, const Words &w, const Words &o)
{
    const bool combined = w.size() > 3 && (w[2] == "and" || w[2] == "or" || w[2] == "xor");

    if (o[0].find('|') != std::string::npos || has(w, "ftz")) return false;
    i.d[0] = reg(o[0]);
    i.s[0] = source(o[1]);
    i.s[1] = source(o[2]);
    i.vector = ALONE;
    if (combined) {
        const bool negated = o[3][0] == '!';

        if (i.guard >= 0) return false;
        i.negated = negated;
        i.s[2] = source(o[3].substr(negated));
        i.vector = w[2] == "and" ? AND : w[2] == "or" ? OR : XOR;
    }
    i.fn = comparison(w[1], type_of(w));
    return i.fn != nullptr;
}

/* between a register and parts of it in braces */
bool Parser::move(Instruction &i, const Words &w, const Words &o)
{
    const bool from = o[0][0] == '{';
    const int n = from ? several(o[0], i.d, true) : several(o[1], i.s, false);

    if (from)
        i.s[0] = source(o[1]);
    else
        i.d[0] = reg(o[0]);
    i.fn = packing(from, n, (int)type_bytes(type_of(w)) * 8 / n);
    return i.fn != nullptr;
}

bool Parser::decode(Instruction &i, const Words &w, const Words &o)
{
    static const Words fences = {"membar", "fence", "pragma", "prefetch"};
    static const Words accesses = {"ld", "ldu", "st", "atom", "red"};
    const std::string &op = w[0];

    if (op == "bra" || op == "brx") return branch(i, w, o);
    if (op == "ret" || op == "exit") return i.kind = RETURN, true;
    if (op == "trap") return i.kind = TRAP, true;
    if (op == "bar" || op == "barrier") return barrier(i, w, o);
    if (has(fences, op.c_str())) return i.fn = nothing, true;
    if (has(accesses, op.c_str())) return access(i, w, o);
    if (op == "setp") return compare(i, w, o);
    if (o.size() < 2 || o.size() > 5) return false;
    if (op == "mov" && (o[0][0] == '{' || o[1][0] == '{')) return move(i, w, o);
    i.d[0] = reg(o[0]);
    for (size_t n = 1; n < o.size(); n++) {
        if (o[n][0] == '!') return false;
        i.s[n - 1] = source(o[n]);
    }
    if (op == "cvta") {
        const Space space = space_of(w);
        const uint64_t window = space == SHARED  ? SHARED_WINDOW
                                : space == LOCAL ? LOCAL_WINDOW
                                                 : 0;

        i.offset = (int64_t)(has(w, "to") ? 0 - window : window);
        return i.fn = cvta(), true;
    }
    if (op == "cvt") {
        const Words types = types_of(w);

        if (types.size() != 2) return false;
        i.fn = conversion(w, types[0], types[1]);
    } else {
        i.fn = arithmetic(w, type_of(w));
    }
    return i.fn != nullptr;
}

} // namespace ptx
