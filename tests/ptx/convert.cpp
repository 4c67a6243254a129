/* convert.cpp - see opcodes.h: comparisons and conversions. SPDX-License-Identifier: MIT */
#include <cmath>
#include <limits>

#include "opcodes.h"
#include "thread.h"

namespace ptx {

template <auto F, class X> static void compare(Thread &t, const Instruction &i)
{
    const bool yes = F(get<X>(t, i.s[0]), get<X>(t, i.s[1]));
    uint8_t valid = t.v[i.s[0]] & t.v[i.s[1]];
    bool out = yes;
    if (i.vector != ALONE) {
        const bool c = (t.r[i.s[2]] & 1) ^ i.negated;
        out = i.vector == AND ? yes && c : i.vector == OR ? yes || c : yes != c;
        valid &= t.v[i.s[2]];
    }
    t.r[i.d[0]] = out;
    t.v[i.d[0]] = whole(valid);
}

enum Rounding { NEAREST, TO_ZERO, DOWN, UP };

template <class F> static F round_to(F x, Rounding r)
{
    return r == NEAREST   ? std::nearbyint(x)
           : r == TO_ZERO ? std::trunc(x)
           : r == DOWN    ? std::floor(x)
                          : std::ceil(x);
}

template <class D, class S, Rounding R, bool SAT>
static void convert(Thread &t, const Instruction &i)
{
    const S x = get<S>(t, i.s[0]);
    t.v[i.d[0]] = std::is_integral_v<S> && std::is_integral_v<D> && sizeof(D) <= 4
                      ? (t.v[i.s[0]] & 1 ? VALID : 0)
                      : whole(t.v[i.s[0]]);
    if constexpr (std::is_floating_point_v<S> && std::is_integral_v<D>) {
        typedef std::numeric_limits<D> L;
        const S y = round_to(x, R);
        D out;
        if (std::isnan(x))
            out = (sizeof(S) == 8 || sizeof(D) == 8)
                      ? (D)((uint64_t)1 << (8 * sizeof(D) - 1))
                      : D(0);
        else if (y >= std::ldexp((S)1, L::digits))
            out = L::max();
        else if (y < (S)L::min())
            out = L::min();
        else
            out = (D)y;
        set<D>(t, i.d[0], out);
    } else if constexpr (std::is_integral_v<S> && std::is_integral_v<D>) {
        set<D>(t, i.d[0], (D)x);
    } else if constexpr (std::is_floating_point_v<S> && std::is_same_v<S, D>) {
        D y = round_to(x, R);
        if (SAT) y = !(y > 0) ? 0 : y > 1 ? 1 : y;
        set<D>(t, i.d[0], y);
    } else {
        set<D>(t, i.d[0], (D)x);
    }
}

template <class D, class S> static Handler cvt_round(const Words &w)
{
    const bool sat = has(w, "sat");
    if constexpr (std::is_floating_point_v<
                      S> && (std::is_integral_v<D> || std::is_same_v<S, D>)) {
        if (has(w, "rni")) return convert<D, S, NEAREST, false>;
        if (has(w, "rmi")) return convert<D, S, DOWN, false>;
        if (has(w, "rpi")) return convert<D, S, UP, false>;
        if (has(w, "rzi"))
            return sat ? convert<D, S, TO_ZERO, true> : convert<D, S, TO_ZERO, false>;
        return nullptr;
    } else {
        if (sat || has(w, "rz") || has(w, "rm") || has(w, "rp")) return nullptr;
        return convert<D, S, NEAREST, false>;
    }
}

Handler conversion(const Words &w, const std::string &d, const std::string &s)
{
    return by_any(d, [&]<class D>() -> Handler {
        return by_any(s, [&]<class S>() -> Handler { return cvt_round<D, S>(w); });
    });
}

Handler comparison(const std::string &c, const std::string &type)
{
    if (type == "f32" || type == "f64")
        return by_float(type, [&]<class X>() -> Handler {
            if (c == "eq") return compare<[](X a, X b) { return a == b; }, X>;
            if (c == "ne") return compare<[](X a, X b) { return a < b || b < a; }, X>;
            if (c == "lt") return compare<[](X a, X b) { return a < b; }, X>;
            if (c == "le") return compare<[](X a, X b) { return a <= b; }, X>;
            if (c == "gt") return compare<[](X a, X b) { return b < a; }, X>;
            if (c == "ge") return compare<[](X a, X b) { return b <= a; }, X>;
            if (c == "equ") return compare<[](X a, X b) { return !(a < b || b < a); }, X>;
            if (c == "neu") return compare<[](X a, X b) { return !(a == b); }, X>;
            if (c == "ltu") return compare<[](X a, X b) { return !(b <= a); }, X>;
            if (c == "leu") return compare<[](X a, X b) { return !(b < a); }, X>;
            if (c == "gtu") return compare<[](X a, X b) { return !(a <= b); }, X>;
            if (c == "geu") return compare<[](X a, X b) { return !(a < b); }, X>;
            if (c == "num") return compare<[](X a, X b) { return a == a && b == b; }, X>;
            if (c == "nan") return compare<[](X a, X b) { return a != a || b != b; }, X>;
            return nullptr;
        });
    return by_int(type, [&]<class X>() -> Handler {
        if (c == "eq") return compare<[](X a, X b) { return a == b; }, X>;
        if (c == "ne") return compare<[](X a, X b) { return a != b; }, X>;
        if (c == "lt" || c == "lo") return compare<[](X a, X b) { return a < b; }, X>;
        if (c == "le" || c == "ls") return compare<[](X a, X b) { return a <= b; }, X>;
        if (c == "gt" || c == "hi") return compare<[](X a, X b) { return b < a; }, X>;
        if (c == "ge" || c == "hs") return compare<[](X a, X b) { return b <= a; }, X>;
        return nullptr;
    });
}

} // namespace ptx
