/* plant.cpp - see driver.h: faults that are put into kernels, which tests should notice.
 * SPDX-License-Identifier: MIT */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver.h"
#include "thread.h"

namespace ptx {

static void nothing(Thread &, const Instruction &)
{
}

/* Is a kernel the one that is asked for, or, after NAME*, one whose name begins so? */
static bool matches(const std::string &kernel, const std::string &wanted)
{
    return wanted.ends_with('*') ? kernel.starts_with(wanted.substr(0, wanted.size() - 1))
                                 : kernel == wanted;
}

/* ---- barriers ---- */

static bool is_barrier(const Instruction &i)
{
    return i.kind == BARRIER || i.kind == WARP_BARRIER;
}

static void drop(Instruction &i)
{
    i.kind = PLAIN;
    i.fn = nothing;
}

/* ---- arithmetic and addresses ---- */

static uint64_t runs; /* of spoilt instructions */

uint64_t spoilt_runs()
{
    return runs;
}

static void as_before(Thread &t, const Instruction &i)
{
    runs++;
    i.sound(t, i);
}

template <class X> static void factor(Thread &t, const Instruction &i)
{
    as_before(t, i);
    set<X>(t, i.d[0], get<X>(t, i.d[0]) * X(1.01));
}

/* a * b + c without a * b */
static void term(Thread &t, const Instruction &i)
{
    runs++;
    t.r[i.d[0]] = t.r[i.s[2]];
    t.v[i.d[0]] = t.v[i.s[2]];
}

/* Spoil an instruction; null: it is not of a kind that is. */
static const char *spoil(Instruction &i, const std::string &name, bool last_term)
{
    const bool real = name.ends_with(".f32") || name.ends_with(".f64");

    i.sound = i.fn;
    if (is_barrier(i)) {
        drop(i);
        i.sound = nothing;
        i.fn = as_before;
        return "no barrier";
    }
    if (i.kind != PLAIN) return nullptr;
    if ((name.starts_with("ld.") || name.starts_with("st.")) && i.space != PARAM) {
        i.offset += name.ends_with("64") ? 8 : 4;
        i.fn = as_before;
        return "another index";
    }
    if (name.starts_with("fma.") && real && last_term) {
        i.fn = term;
        return "a term less";
    }
    if (real && (name.starts_with("fma.") || name.starts_with("mul."))) {
        i.fn = name.ends_with(".f32") ? factor<float> : factor<double>;
        return "a factor of 1.01";
    }
    return nullptr;
}

/* ---- what the environment asks for ---- */

struct Wanted {
    std::string kernel;
    unsigned long long number = 0;
};

static Wanted wanted(const char *variable)
{
    const char *s = getenv(variable), *colon = s ? strrchr(s, ':') : nullptr;
    Wanted out;

    if (!colon) return out;
    out.kernel = std::string(s, (size_t)(colon - s));
    out.number = strtoull(colon + 1, nullptr, 0);
    return out;
}

static void say(const char *what, const Module &m, const Kernel &k, const Instruction &i)
{
    fprintf(stderr, "ptx: %s: %s of %s, PTX line %d\n", what,
            m.opcodes[(size_t)i.name].c_str(), k.name.c_str(), i.line);
}

/* Leave out barrier N, from 0, of a kernel. */
static void drop_barrier(const Module &m, Kernel &k, unsigned long long number)
{
    unsigned long long n = 0;

    for (auto &i : k.code) {
        if (!is_barrier(i) || n++ != number) continue;
        say("drops", m, k, i);
        drop(i);
    }
}

/* Spoil one of the instructions of a kernel, which a number chooses. */
static void spoil_one(const Module &m, Kernel &k, unsigned long long number)
{
    auto &code = k.code;
    const size_t from = (size_t)(number * 0x9e3779b97f4a7c15ull % code.size());

    for (size_t n = 0; n < code.size(); n++) {
        Instruction &i = code[(from + n) % code.size()];
        const char *what = spoil(i, m.opcodes[(size_t)i.name], number % 2 == 0);

        if (!what) continue;
        say(what, m, k, i);
        break;
    }
}

void plant(const Module &m, Kernel &k)
{
    const Wanted dropped = wanted("PTX_DROP"), spoilt = wanted("PTX_PLANT");

    if (matches(k.name, dropped.kernel)) drop_barrier(m, k, dropped.number);
    if (matches(k.name, spoilt.kernel)) spoil_one(m, k, spoilt.number);
}

} // namespace ptx
