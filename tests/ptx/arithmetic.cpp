/* arithmetic.cpp - see opcodes.h: results of up to four operands. SPDX-License-Identifier:
 * MIT */
#include <cmath>
#include <limits>

#include "opcodes.h"
#include "thread.h"

namespace ptx {

template <auto F, class X> static void unary(Thread &t, const Instruction &i)
{
    set<X>(t, i.d[0], F(get<X>(t, i.s[0])));
    t.v[i.d[0]] = t.v[i.s[0]];
}

template <auto F, class X> static void binary(Thread &t, const Instruction &i)
{
    set<X>(t, i.d[0], F(get<X>(t, i.s[0]), get<X>(t, i.s[1])));
    t.v[i.d[0]] = t.v[i.s[0]] & t.v[i.s[1]];
}

template <auto F, class X> static void ternary(Thread &t, const Instruction &i)
{
    set<X>(t, i.d[0], F(get<X>(t, i.s[0]), get<X>(t, i.s[1]), get<X>(t, i.s[2])));
    t.v[i.d[0]] = t.v[i.s[0]] & t.v[i.s[1]] & t.v[i.s[2]];
}

template <class X> static void shift_left(Thread &t, const Instruction &i)
{
    const uint32_t n = get<uint32_t>(t, i.s[1]);
    const uint8_t v = t.v[i.s[0]] & t.v[i.s[1]];
    set<X>(t, i.d[0], n >= 8 * sizeof(X) ? X(0) : X(get<X>(t, i.s[0]) << n));
    t.v[i.d[0]] = v == VALID || sizeof(X) < 8 ? v
                  : n >= 32                   ? (uint8_t)(1 | (v & 1) << 1)
                                              : v & 1;
}

template <class X> static void shift_right(Thread &t, const Instruction &i)
{
    const uint32_t n = get<uint32_t>(t, i.s[1]);
    const uint8_t v = t.v[i.s[0]] & t.v[i.s[1]];
    const X x = get<X>(t, i.s[0]);
    if (n >= 8 * sizeof(X))
        set<X>(t, i.d[0], x < 0 ? X(-1) : X(0));
    else
        set<X>(t, i.d[0], X(x >> n));
    t.v[i.d[0]] = v == VALID || sizeof(X) < 8 ? v
                  : n >= 32                   ? (uint8_t)(v >> 1 | (v & 2))
                                              : v & 2;
}

template <class W, class X> static void multiply_wide(Thread &t, const Instruction &i)
{
    set<W>(t, i.d[0], (W)((W)get<X>(t, i.s[0]) * (W)get<X>(t, i.s[1])));
    t.v[i.d[0]] = t.v[i.s[0]] & t.v[i.s[1]];
}

template <class W, class X> static void add_wide(Thread &t, const Instruction &i)
{
    set<W>(t, i.d[0], (W)((W)get<X>(t, i.s[0]) * (W)get<X>(t, i.s[1]) + get<W>(t, i.s[2])));
    t.v[i.d[0]] = t.v[i.s[0]] & t.v[i.s[1]] & t.v[i.s[2]];
}

template <class X> static void select(Thread &t, const Instruction &i)
{
    const int from = t.r[i.s[2]] & 1 ? i.s[0] : i.s[1];
    set<X>(t, i.d[0], get<X>(t, from));
    t.v[i.d[0]] = t.v[i.s[2]] == VALID ? t.v[from] : 0;
}

static void and_predicate(Thread &t, const Instruction &i)
{
    const uint64_t a = t.r[i.s[0]] & 1, b = t.r[i.s[1]] & 1;
    const bool va = t.v[i.s[0]] == VALID, vb = t.v[i.s[1]] == VALID;
    t.v[i.d[0]] = (va && vb) || (va && !a) || (vb && !b) ? VALID : 0;
    t.r[i.d[0]] = a & b;
}

static void or_predicate(Thread &t, const Instruction &i)
{
    const uint64_t a = t.r[i.s[0]] & 1, b = t.r[i.s[1]] & 1;
    const bool va = t.v[i.s[0]] == VALID, vb = t.v[i.s[1]] == VALID;
    t.v[i.d[0]] = (va && vb) || (va && a) || (vb && b) ? VALID : 0;
    t.r[i.d[0]] = a | b;
}

/* and, or: where one operand decides alone the other need not be valid */
template <bool OR, class X> static void mask(Thread &t, const Instruction &i)
{
    const uint64_t a = (uint64_t)get<std::make_unsigned_t<X>>(t, i.s[0]),
                   b = (uint64_t)get<std::make_unsigned_t<X>>(t, i.s[1]);
    const uint8_t va = t.v[i.s[0]], vb = t.v[i.s[1]];
    uint8_t v = 0;
    for (int half = 0; half < 2; half++) {
        const uint64_t all = sizeof(X) < 8 ? (uint64_t)(std::make_unsigned_t<X>)-1
                                           : 0xffffffffull << 32 * half;
        const bool ya = va >> half & 1, yb = vb >> half & 1;
        if ((ya && yb) || (ya && (a & all) == (OR ? all : 0))
            || (yb && (b & all) == (OR ? all : 0)))
            v = (uint8_t)(v | 1 << half);
    }
    set<X>(t, i.d[0], X(OR ? a | b : a & b));
    t.v[i.d[0]] = v;
}

/* an error of up to `most` units in the last place, of which the operands decide */
static float blur(const Thread &t, float exact, uint64_t a, uint64_t b, int most)
{
    uint64_t h = (a * 0x9e3779b97f4a7c15ull) ^ (b * 0xc2b2ae3d27d4eb4full)
                 ^ t.b->machine->options.seed;
    int32_t bits;
    if (!t.b->machine->options.approximate || !std::isfinite(exact) || exact == 0)
        return exact;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9ull;
    h ^= h >> 32;
    memcpy(&bits, &exact, 4);
    bits += (int)(h % (uint64_t)(2 * most + 1)) - most;
    memcpy(&exact, &bits, 4);
    return exact;
}

static float flush(float x)
{
    return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

template <int MOST, bool FTZ, auto F>
static void approximate1(Thread &t, const Instruction &i)
{
    float a = get<float>(t, i.s[0]);
    if (FTZ) a = flush(a);
    float x = blur(t, F(a), t.r[i.s[0]], 1, MOST);
    set<float>(t, i.d[0], FTZ ? flush(x) : x);
    t.v[i.d[0]] = t.v[i.s[0]];
}

template <int MOST, bool FTZ> static void divide_roughly(Thread &t, const Instruction &i)
{
    float a = get<float>(t, i.s[0]), b = get<float>(t, i.s[1]);
    if (FTZ) a = flush(a), b = flush(b);
    float x = blur(t, a / b, t.r[i.s[0]], t.r[i.s[1]], MOST);
    set<float>(t, i.d[0], FTZ ? flush(x) : x);
    t.v[i.d[0]] = t.v[i.s[0]] & t.v[i.s[1]];
}

template <class X> static X least(X a, X b)
{
    if constexpr (std::is_floating_point_v<X>) {
        if (std::isnan(a)) return b;
        if (std::isnan(b)) return a;
        if (a == b) return std::signbit(a) ? a : b;
    }
    return a < b ? a : b;
}

template <class X> static X most(X a, X b)
{
    if constexpr (std::is_floating_point_v<X>) {
        if (std::isnan(a)) return b;
        if (std::isnan(b)) return a;
        if (a == b) return std::signbit(a) ? b : a;
    }
    return a > b ? a : b;
}

template <class X> struct wider_of {
    typedef X type;
};
template <> struct wider_of<int8_t> {
    typedef int16_t type;
};
template <> struct wider_of<uint8_t> {
    typedef uint16_t type;
};
template <> struct wider_of<int16_t> {
    typedef int32_t type;
};
template <> struct wider_of<uint16_t> {
    typedef uint32_t type;
};
template <> struct wider_of<int32_t> {
    typedef int64_t type;
};
template <> struct wider_of<uint32_t> {
    typedef uint64_t type;
};
template <> struct wider_of<int64_t> {
    typedef __int128 type;
};
template <> struct wider_of<uint64_t> {
    typedef unsigned __int128 type;
};

template <class X> static X reversed(X a)
{
    X out = 0;
    for (size_t k = 0; k < 8 * sizeof a; k++)
        if ((uint64_t)a >> k & 1) out = X(out | X(X(1) << (8 * sizeof a - 1 - k)));
    return out;
}

template <class X> static void extract(Thread &t, const Instruction &i)
{
    typedef std::make_unsigned_t<X> U;
    const int most_ = 8 * (int)sizeof(X) - 1;
    const uint32_t from = get<uint32_t>(t, i.s[1]) & 0xff,
                   n = get<uint32_t>(t, i.s[2]) & 0xff;
    const U a = get<U>(t, i.s[0]);
    const bool sign = std::is_signed_v<X> && n > 0
                      && (a >> std::min<int>((int)(from + n) - 1, most_) & 1);
    U out = 0;
    for (int k = 0; k <= most_; k++) {
        const bool bit = (uint32_t)k < n && (int)from + k <= most_
                             ? a >> (from + (uint32_t)k) & 1
                             : sign;
        if (bit) out = U(out | U(1) << k);
    }
    set<X>(t, i.d[0], (X)out);
    t.v[i.d[0]] = whole(t.v[i.s[0]] & t.v[i.s[1]] & t.v[i.s[2]]);
}

static void logic(Thread &t, const Instruction &i)
{
    const uint32_t a = get<uint32_t>(t, i.s[0]), b = get<uint32_t>(t, i.s[1]),
                   c = get<uint32_t>(t, i.s[2]);
    const uint32_t table = get<uint32_t>(t, i.s[3]);
    uint32_t out = 0;
    for (int k = 0; k < 8; k++)
        if (table >> k & 1) out |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    set<uint32_t>(t, i.d[0], out);
    t.v[i.d[0]] = whole(t.v[i.s[0]] & t.v[i.s[1]] & t.v[i.s[2]]);
}

static void permute(Thread &t, const Instruction &i)
{
    const uint64_t both =
        (uint64_t)get<uint32_t>(t, i.s[1]) << 32 | get<uint32_t>(t, i.s[0]);
    const uint32_t how = get<uint32_t>(t, i.s[2]);
    uint32_t out = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t byte = (uint32_t)(both >> 8 * (how >> 4 * k & 7)) & 0xff;
        if (how >> 4 * k & 8) byte = byte & 0x80 ? 0xff : 0;
        out |= byte << 8 * k;
    }
    set<uint32_t>(t, i.d[0], out);
    t.v[i.d[0]] = whole(t.v[i.s[0]] & t.v[i.s[1]] & t.v[i.s[2]]);
}

template <bool LEFT, bool WRAP> static void funnel(Thread &t, const Instruction &i)
{
    const uint64_t both =
        (uint64_t)get<uint32_t>(t, i.s[1]) << 32 | get<uint32_t>(t, i.s[0]);
    uint32_t n = get<uint32_t>(t, i.s[2]);
    n = WRAP ? n & 31 : std::min(n, 32u);
    set<uint32_t>(t, i.d[0], LEFT ? (uint32_t)(both << n >> 32) : (uint32_t)(both >> n));
    t.v[i.d[0]] = whole(t.v[i.s[0]] & t.v[i.s[1]] & t.v[i.s[2]]);
}

/* ---- of names ---- */

static Handler predicates(const std::string &op)
{
    if (op == "and") return and_predicate;
    if (op == "or") return or_predicate;
    if (op == "xor")
        return binary<[](uint64_t a, uint64_t b) { return (a ^ b) & 1; }, uint64_t>;
    if (op == "not") return unary<[](uint64_t a) { return (a & 1) ^ 1; }, uint64_t>;
    if (op == "mov") return unary<[](uint64_t a) { return a & 1; }, uint64_t>;
    return nullptr;
}

static Handler approximations(const Words &w, const std::string &type)
{
    const std::string &op = w[0];
    const bool z = has(w, "ftz");

    if (op == "div") return z ? divide_roughly<2, true> : divide_roughly<2, false>;
    if (type != "f32") return nullptr;
    if (op == "rcp")
        return z ? approximate1<1, true, [](float a) { return 1.0f / a; }>
                 : approximate1<1, false, [](float a) { return 1.0f / a; }>;
    if (op == "sqrt") return approximate1<1, false, [](float a) { return std::sqrt(a); }>;
    if (op == "rsqrt")
        return approximate1<2, false,
                            [](float a) { return (float)(1.0 / std::sqrt((double)a)); }>;
    if (op == "ex2")
        return approximate1<2, false, [](float a) { return (float)std::exp2((double)a); }>;
    if (op == "lg2")
        return approximate1<2, false, [](float a) { return (float)std::log2((double)a); }>;
    return nullptr;
}

template <class X> static Handler floating(const Words &w)
{
    const std::string &op = w[0];

    if (op == "add") return binary<[](X a, X b) { return a + b; }, X>;
    if (op == "sub") return binary<[](X a, X b) { return a - b; }, X>;
    if (op == "mul") return binary<[](X a, X b) { return a * b; }, X>;
    if (op == "fma" || op == "mad")
        return ternary<[](X a, X b, X c) { return std::fma(a, b, c); }, X>;
    if (op == "div" && has(w, "rn")) return binary<[](X a, X b) { return a / b; }, X>;
    if (op == "rcp" && has(w, "rn")) return unary<[](X a) { return 1 / a; }, X>;
    if (op == "sqrt" && has(w, "rn")) return unary<[](X a) { return std::sqrt(a); }, X>;
    if (op == "abs") return unary<[](X a) { return std::fabs(a); }, X>;
    if (op == "neg") return unary<[](X a) { return -a; }, X>;
    if (op == "min" && !has(w, "NaN"))
        return binary<[](X a, X b) { return least(a, b); }, X>;
    if (op == "max" && !has(w, "NaN"))
        return binary<[](X a, X b) { return most(a, b); }, X>;
    if (op == "copysign") return binary<[](X a, X b) { return std::copysign(b, a); }, X>;
    return nullptr;
}

template <class X> static X quotient(X a, X b)
{
    typedef std::make_unsigned_t<X> U;
    if (b == 0) return X(-1);
    return std::is_signed_v<X> && b == X(-1) ? X(U(0) - U(a)) : X(a / b);
}

template <class X> static X remainder(X a, X b)
{
    if (b == 0) return a;
    return std::is_signed_v<X> && b == X(-1) ? X(0) : X(a % b);
}

template <class X> static X leading_zeros(X a)
{
    typedef std::make_unsigned_t<X> U;
    const size_t bits = 8 * sizeof a;
    return X(a == 0 ? bits
                    : (size_t)__builtin_clzll((unsigned long long)U(a)) - (64 - bits));
}

/* products that are as wide as their operands are twice */
template <class X> static Handler wide(const Words &w)
{
    typedef typename wider_of<X>::type W;

    if constexpr (sizeof(W) > 8)
        return nullptr;
    else
        return w[0] == "mul" ? multiply_wide<W, X> : add_wide<W, X>;
}

template <class X> static Handler integers(const Words &w)
{
    typedef typename wider_of<X>::type W;
    typedef std::make_unsigned_t<X> U;
    const std::string &op = w[0];

    if (has(w, "wide")) return wide<X>(w);
    if (op == "add") return binary<[](X a, X b) { return X(U(a) + U(b)); }, X>;
    if (op == "sub") return binary<[](X a, X b) { return X(U(a) - U(b)); }, X>;
    if (op == "mul" && has(w, "lo"))
        return binary<[](X a, X b) { return X((uint64_t)U(a) * U(b)); }, X>;
    if (op == "mul" && has(w, "hi"))
        return binary<[](X a, X b) { return X(((W)a * (W)b) >> (8 * sizeof(X))); }, X>;
    if (op == "mad" && has(w, "lo"))
        return ternary<[](X a, X b, X c) { return X((uint64_t)U(a) * U(b) + U(c)); }, X>;
    if (op == "div") return binary<quotient<X>, X>;
    if (op == "rem") return binary<remainder<X>, X>;
    if (op == "neg") return unary<[](X a) { return X(U(0) - U(a)); }, X>;
    if (op == "abs") return unary<[](X a) { return a < 0 ? X(U(0) - U(a)) : a; }, X>;
    if (op == "min") return binary<[](X a, X b) { return least(a, b); }, X>;
    if (op == "max") return binary<[](X a, X b) { return most(a, b); }, X>;
    return nullptr;
}

template <class X> static Handler bits(const Words &w)
{
    const std::string &op = w[0];

    if (op == "shl") return shift_left<X>;
    if (op == "shr") return shift_right<X>;
    if (op == "and") return mask<false, X>;
    if (op == "or") return mask<true, X>;
    if (op == "xor") return binary<[](X a, X b) { return X(a ^ b); }, X>;
    if (op == "not") return unary<[](X a) { return X(~a); }, X>;
    if (op == "popc")
        return unary<[](X a) {
            return X(__builtin_popcountll((unsigned long long)std::make_unsigned_t<X>(a)));
        },
                     X>;
    if (op == "clz") return unary<leading_zeros<X>, X>;
    if (op == "brev") return unary<reversed<X>, X>;
    if (op == "bfe" && sizeof(X) >= 4) return extract<X>;
    return nullptr;
}

static Handler words_of_bits(const Words &w, const std::string &type)
{
    const std::string &op = w[0];
    const bool wrap = has(w, "wrap");

    if (op == "lop3" && type == "b32") return logic;
    if (op == "prmt" && w.size() == 2) return permute;
    if (op == "shf" && has(w, "l")) return wrap ? funnel<true, true> : funnel<true, false>;
    if (op == "shf" && has(w, "r"))
        return wrap ? funnel<false, true> : funnel<false, false>;
    return nullptr;
}

Handler arithmetic(const Words &w, const std::string &type)
{
    const std::string &op = w[0];

    if (has(w, "ftz") && !(op == "rcp" || op == "div")) return nullptr;
    if (has(w, "rz") || has(w, "rm") || has(w, "rp")) return nullptr;
    if (type == "pred") return predicates(op);
    if (op == "mov")
        return by_any(type,
                      []<class X>() -> Handler { return unary<[](X a) { return a; }, X>; });
    if (op == "selp") return by_any(type, []<class X>() -> Handler { return select<X>; });
    if (has(w, "approx") || has(w, "full"))
        return type == "f32" ? approximations(w, type) : nullptr;
    if (type == "f32" || type == "f64")
        return by_float(type, [&]<class X>() -> Handler { return floating<X>(w); });
    if (Handler h = words_of_bits(w, type)) return h;
    return by_int(type, [&]<class X>() -> Handler {
        Handler h = integers<X>(w);
        return h ? h : bits<X>(w);
    });
}

static void window_in(Thread &t, const Instruction &i)
{
    t.r[i.d[0]] = t.r[i.s[0]] + (uint64_t)i.offset;
    t.v[i.d[0]] = t.v[i.s[0]];
}

template <int N, class PART> static void unpack(Thread &t, const Instruction &i)
{
    for (int k = 0; k < N; k++) {
        if (i.d[k] < 0) continue;
        t.r[i.d[k]] = (PART)(t.r[i.s[0]] >> (8 * sizeof(PART) * k));
        t.v[i.d[k]] = t.v[i.s[0]] >> (sizeof(PART) * k >= 4) & 1 ? VALID : 0;
    }
}

template <int N, class PART> static void pack(Thread &t, const Instruction &i)
{
    uint64_t x = 0;
    uint8_t v = VALID;
    for (int k = 0; k < N; k++) {
        x |= (uint64_t)(PART)t.r[i.s[k]] << (8 * sizeof(PART) * k);
        if (t.v[i.s[k]] != VALID)
            v &= N * sizeof(PART) < 8 ? 0 : sizeof(PART) * k < 4 ? 2 : 1;
    }
    t.r[i.d[0]] = x;
    t.v[i.d[0]] = v;
}

Handler cvta()
{
    return window_in;
}

Handler packing(bool from, int n, int bits)
{
    if (n == 2 && bits == 32) return from ? unpack<2, uint32_t> : pack<2, uint32_t>;
    if (n == 4 && bits == 16) return from ? unpack<4, uint16_t> : pack<4, uint16_t>;
    if (n == 2 && bits == 16) return from ? unpack<2, uint16_t> : pack<2, uint16_t>;
    return nullptr;
}

} // namespace ptx
