/* access.cpp - see opcodes.h and thread.h: memory, and races there.
 * SPDX-License-Identifier: MIT */
#include <cstdio>
#include <cstring>

#include "opcodes.h"
#include "thread.h"

namespace ptx {

void Machine::report(const std::string &kind, const std::string &place,
                     const std::string &text)
{
    uint64_t &n = reports[kind + " " + place];
    errors++;
    if (n++ == 0 && (int)reports.size() <= options.reports)
        fprintf(stderr, "ptx: %s: %s: %s\n", kind.c_str(), place.c_str(), text.c_str());
}

std::string place(const Thread &t, const Instruction &i)
{
    char out[256];
    snprintf(out, sizeof out, "%s, %s, PTX line %d", t.b->kernel->name.c_str(),
             t.b->module->opcodes[i.name].c_str(), i.line);
    return out;
}

std::string who(const Thread &t)
{
    char out[128];
    snprintf(out, sizeof out, "thread %d of block %u,%u", t.id, t.b->ctaid[0],
             t.b->ctaid[1]);
    return out;
}

/* ---- races ---- */

/* Epochs count the intervals between barriers of a block, over all blocks of all launches:
 * an epoch before launch_first is of an earlier launch, one from there to first of another
 * block, one from first to epoch of this block before its last barrier. */
static int conflicts(const Thread &t, bool shared, uint32_t epoch, int thread, int passed)
{
    const Block &b = *t.b;
    if (epoch < (shared ? b.first : b.launch_first)) return 0;
    if (epoch < b.first) return 2;
    if (epoch < b.epoch || thread == t.id) return 0;
    return !(thread / 32 == t.warp && passed < t.passed);
}

static void race(Thread &t, const Instruction &i, const char *what, int kind, int other,
                 uint64_t address, int line)
{
    char text[256];
    snprintf(text, sizeof text, "%s: %s %s thread %d%s, address %#llx, after line %d",
             who(t).c_str(), what, kind == 2 ? "by another block's" : "by", other,
             kind == 2 ? "" : " of its block", (unsigned long long)address, line);
    t.b->machine->report(kind == 2 ? "RACE OF BLOCKS" : "RACE", place(t, i), text);
}

static void touch(Thread &t, const Instruction &i, Cell &c, bool shared, bool write,
                  bool atomic, uint64_t address)
{
    const Block &b = *t.b;
    int k;
    if (c.wepoch && !(atomic && c.watomic)
        && (k = conflicts(t, shared, c.wepoch, c.wthread, c.wwarp)))
        race(t, i, write ? "writes what is written" : "reads what is written", k, c.wthread,
             address, (int)c.wline);
    if (write) {
        if (c.r1epoch && (k = conflicts(t, shared, c.r1epoch, c.r1thread, c.r1warp)))
            race(t, i, "writes what is read", k, c.r1thread, address, 0);
        if (c.r2epoch && (k = conflicts(t, shared, c.r2epoch, c.r2thread, c.r2warp)))
            race(t, i, "writes what is read", k, c.r2thread, address, 0);
        c.wepoch = b.epoch;
        c.wthread = (uint16_t)t.id;
        c.wwarp = t.passed;
        c.watomic = atomic;
        c.wline = (uint32_t)i.line;
        return;
    }
    if (c.r1epoch == b.epoch && c.r1thread == t.id) {
        c.r1warp = t.passed;
        return;
    }
    /* a reader of before the last barrier makes room; else one of another warp is kept */
    const bool over = c.r1epoch < (shared ? b.first : b.launch_first)
                      || (c.r1epoch >= b.first && c.r1epoch < b.epoch);
    if (over) {
        c.r1epoch = b.epoch, c.r1thread = (uint16_t)t.id, c.r1warp = t.passed;
    } else if (!(c.r2epoch == b.epoch && c.r2thread / 32 != t.warp
                 && c.r1thread / 32 == t.warp)) {
        c.r2epoch = b.epoch, c.r2thread = (uint16_t)t.id, c.r2warp = t.passed;
    }
}

/* ---- access to memory ---- */

struct Place {
    uint8_t *bytes, *valid;
};

bool refuse(Thread &t, const Instruction &i, const char *kind, uint64_t address, size_t n,
            unsigned result)
{
    char text[160];
    snprintf(text, sizeof text, "%s: %zu bytes at %#llx", who(t).c_str(), n,
             (unsigned long long)address);
    t.b->machine->report(kind, place(t, i), text);
    if (t.b->result == 0) t.b->result = result;
    return false;
}

static bool within(uint64_t at, size_t n, size_t size)
{
    return n <= size && at <= size - n;
}

/* Add the address of an instruction up, and find the space that a generic one lies in. */
static uint64_t address_of(Thread &t, const Instruction &i, Space &space)
{
    uint64_t a = (uint64_t)i.offset;

    space = i.space;
    if (i.s[3] >= 0) {
        a += t.r[i.s[3]];
        if (space == SHARED && !(a >> 32)) a = (uint32_t)a;
        if (t.b->machine->options.init && t.v[i.s[3]] != VALID)
            t.b->machine->report("UNINITIALISED address", place(t, i), who(t));
    }
    if (space == GENERIC && (a & SHARED_WINDOW)) {
        space = SHARED;
        a -= SHARED_WINDOW;
    } else if (space == GENERIC && (a & LOCAL_WINDOW)) {
        space = LOCAL;
        a -= LOCAL_WINDOW;
    }
    return a;
}

/* Find what an instruction reads or writes; false, after a report: it may not. */
static bool reach(Thread &t, const Instruction &i, size_t n, bool write, bool atomic,
                  Place &out)
{
    Block &b = *t.b;
    const Options &o = b.machine->options;
    Cell *cells = nullptr;
    Space space;
    const uint64_t a = address_of(t, i, space);

    if (a & (n - 1)) return refuse(t, i, "MISALIGNED", a, n, 716);
    switch (space) {
    case SHARED:
        if (!within(a, n, b.shared.size()))
            return refuse(t, i, "OUTSIDE of shared memory", a, n, 700);
        out.bytes = b.shared.data() + a;
        out.valid = b.shared_valid.data() + a;
        if (o.race) cells = b.shared_cells.data() + a;
        break;
    case LOCAL:
        if (!within(a, n, b.kernel->local_bytes))
            return refuse(t, i, "OUTSIDE of local memory", a, n, 700);
        out.bytes = t.local + a;
        out.valid = t.local_valid + a;
        return true;
    case PARAM:
        if (write || !within(a, n, b.parameter_bytes))
            return refuse(t, i, "OUTSIDE of parameters", a, n, 700);
        out.bytes = (uint8_t *)b.parameters + a;
        out.valid = nullptr;
        return true;
    default:
        if (!b.last || a - b.last->base >= b.last->size) b.last = b.machine->memory.find(a);
        if (!b.last || !within(a - b.last->base, n, b.last->size))
            return refuse(t, i, "OUTSIDE of global memory", a, n, 700);
        out.bytes = (uint8_t *)a;
        out.valid = b.last->valid + (a - b.last->base);
        if (o.race) cells = b.last->cells + (a - b.last->base);
    }
    for (size_t k = 0; cells && k < n; k += 4)
        touch(t, i, cells[k], space == SHARED, write, atomic, a + k);
    return true;
}

/* ---- loads, stores, atomics ---- */

template <class X> static void load(Thread &t, const Instruction &i)
{
    const size_t n = sizeof(X) * i.vector;
    Place p;
    if (!reach(t, i, n, false, false, p)) {
        for (int k = 0; k < i.vector; k++) set<X>(t, i.d[k], X(0)), t.v[i.d[k]] = 0;
        return;
    }
    for (int k = 0; k < i.vector; k++) {
        X x;
        uint8_t valid = VALID;
        memcpy(&x, p.bytes + k * sizeof x, sizeof x);
        if (p.valid)
            for (size_t j = 0; j < sizeof x; j++)
                if (!p.valid[k * sizeof x + j]) valid &= sizeof x < 8 ? 0 : j < 4 ? 2 : 1;
        if (i.d[k] < 0) continue;
        set<X>(t, i.d[k], x);
        t.v[i.d[k]] = valid;
        if (valid != VALID && t.b->machine->options.loads)
            t.b->machine->report("LOAD of what is uninitialised", place(t, i), who(t));
    }
}

template <class X> static void store(Thread &t, const Instruction &i)
{
    const size_t n = sizeof(X) * i.vector;
    uint64_t a[4];
    uint8_t v[4];
    Place p;
    /* the sources of a store are in d */
    for (int k = 0; k < i.vector; k++) a[k] = t.r[i.d[k]], v[k] = t.v[i.d[k]];
    if (!reach(t, i, n, true, false, p)) return;
    for (int k = 0; k < i.vector; k++) {
        memcpy(p.bytes + k * sizeof(X), &a[k], sizeof(X));
        if (p.valid)
            for (size_t j = 0; j < sizeof(X); j++)
                p.valid[k * sizeof(X) + j] = v[k] >> (j >= 4) & 1;
    }
}

template <auto F, class X> static void atomic(Thread &t, const Instruction &i)
{
    Place p;
    X old, b = get<X>(t, i.s[0]), c = i.s[1] >= 0 ? get<X>(t, i.s[1]) : X(0), now;
    if (!reach(t, i, sizeof(X), true, true, p)) return;
    memcpy(&old, p.bytes, sizeof old);
    now = F(old, b, c);
    memcpy(p.bytes, &now, sizeof now);
    uint8_t valid = VALID;
    for (size_t j = 0; j < sizeof(X); j++)
        if (!p.valid[j]) valid = 0;
    if (i.d[0] >= 0) set<X>(t, i.d[0], old), t.v[i.d[0]] = valid;
    if (!valid && t.b->machine->options.init)
        t.b->machine->report("UNINITIALISED memory of an atomic", place(t, i), who(t));
    memset(p.valid, valid && t.v[i.s[0]] == VALID, sizeof(X));
}

Handler atomic_of(const Words &w, const std::string &type)
{
    if (has(w, "add") && type[0] == 'f')
        return by_float(type, []<class X>() -> Handler {
            return atomic<[](X o, X b, X) { return X(o + b); }, X>;
        });
    return by_int(type, [&]<class X>() -> Handler {
        if (has(w, "add")) return atomic<[](X o, X b, X) { return X(o + b); }, X>;
        if (has(w, "max")) return atomic<[](X o, X b, X) { return b < o ? o : b; }, X>;
        if (has(w, "min")) return atomic<[](X o, X b, X) { return o < b ? o : b; }, X>;
        if (has(w, "or")) return atomic<[](X o, X b, X) { return X(o | b); }, X>;
        if (has(w, "and")) return atomic<[](X o, X b, X) { return X(o & b); }, X>;
        if (has(w, "xor")) return atomic<[](X o, X b, X) { return X(o ^ b); }, X>;
        if (has(w, "exch")) return atomic<[](X, X b, X) { return b; }, X>;
        if (has(w, "cas")) return atomic<[](X o, X b, X c) { return o == b ? c : o; }, X>;
        return nullptr;
    });
}

Handler loading(const std::string &type)
{
    return by_any(type, []<class X>() -> Handler { return load<X>; });
}

Handler storing(const std::string &type)
{
    return by_any(type, []<class X>() -> Handler { return store<X>; });
}

} // namespace ptx
