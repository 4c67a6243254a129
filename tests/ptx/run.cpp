/* run.cpp - see ptx.h. SPDX-License-Identifier: MIT */
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "thread.h"

namespace ptx {

static const uint64_t ENDLESS = 1000000000;

/* a random number */
static uint64_t next(uint64_t &s)
{
    s += 0x9e3779b97f4a7c15ull;
    uint64_t z = s;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Go to where a table of branches says; false: the thread is gone. */
static bool branch(Thread &t, const Instruction &i)
{
    const auto &table = t.b->kernel->tables[(size_t)i.target];
    const uint32_t k = get<uint32_t>(t, i.s[0]);

    if (t.b->machine->options.init && t.v[i.s[0]] != VALID)
        t.b->machine->report("UNINITIALISED index of a branch", place(t, i), who(t));
    if (k < table.size()) {
        t.pc = table[k];
        return true;
    }
    refuse(t, i, "OUTSIDE of a table of branches", k, 4, 700);
    t.state = GONE;
    return false;
}

static void check_loads(Thread &t, const Instruction &i)
{
    for (int k = 0; k < 4; k++)
        if (i.s[k] >= 0 && t.v[i.s[k]] == NEVER)
            t.b->machine->report("READ of a register that nothing wrote", place(t, i),
                                 who(t));
}

/* Do what an instruction that is not PLAIN asks for; false: the thread waits or is gone. */
static bool leaves(Thread &t, const Instruction &i)
{
    switch (i.kind) {
    case BRANCH:
        t.pc = i.target;
        return true;
    case BRANCH_INDEX:
        return branch(t, i);
    case BARRIER:
        t.state = AT_BARRIER;
        return false;
    case WARP_BARRIER:
        t.mask = get<uint32_t>(t, i.s[0]);
        t.state = AT_WARP;
        return false;
    case TRAP:
        refuse(t, i, "TRAP", 0, 0, 719);
        break;
    default:
        break;
    }
    t.state = GONE;
    return false;
}

/* Run until the thread waits, is gone, or has run `budget` instructions; how many it ran.
 */
static uint64_t run(Thread &t, uint64_t budget)
{
    const Instruction *const code = t.b->kernel->code.data(), *at = code + t.pc;
    const bool init = t.b->machine->options.init;
    const bool loads = t.b->machine->options.loads;
    uint64_t n = 0;

    while (n < budget) {
        const Instruction &i = *at;
        n++;
        if (i.guard >= 0) {
            if (init && t.v[i.guard] != VALID)
                t.b->machine->report("UNINITIALISED condition", place(t, i), who(t));
            if ((t.r[i.guard] & 1) == i.negated) {
                at++;
                continue;
            }
        }
        if (i.kind == PLAIN) {
            if (loads) check_loads(t, i);
            i.fn(t, i);
            at++;
            continue;
        }
        t.pc = (int)(at - code);
        if (!leaves(t, i)) return n;
        at = code + t.pc;
    }
    t.pc = (int)(at - code);
    return n;
}

/* Release the warps all of whose threads wait at a barrier of the warp. */
static bool release_warps(std::vector<Thread> &threads)
{
    bool any = false;
    for (size_t w = 0; 32 * w < threads.size(); w++) {
        const size_t n = std::min<size_t>(32, threads.size() - 32 * w);
        uint32_t waiting = 0, wanted = 0;
        int pc = -1;
        bool apart = false;
        for (size_t k = 0; k < n; k++) {
            Thread &t = threads[32 * w + k];
            if (t.state != AT_WARP) continue;
            waiting |= 1u << k;
            wanted |= t.mask;
            apart |= pc >= 0 && pc != t.pc;
            pc = t.pc;
        }
        if (n < 32) wanted &= (1u << n) - 1;
        if (!waiting || wanted != waiting) continue;
        if (apart) {
            Thread &t = threads[32 * w];
            t.b->machine->report("BARRIERS of a warp at different places",
                                 place(t, t.b->kernel->code[(size_t)t.pc]), who(t));
        }
        for (size_t k = 0; k < n; k++) {
            Thread &t = threads[32 * w + k];
            t.state = RUNNING;
            t.passed++;
            t.pc++;
        }
        any = true;
    }
    return any;
}

static bool release_block(std::vector<Thread> &threads, Block &b)
{
    size_t waiting = 0, gone = 0;
    for (auto &t : threads) waiting += t.state == AT_BARRIER, gone += t.state == GONE;
    if (waiting == 0 || waiting + gone != threads.size()) return false;
    for (size_t w = 0; 32 * w < threads.size(); w++) {
        Thread *first = nullptr;
        for (size_t k = 32 * w; k < std::min(32 * w + 32, threads.size()); k++) {
            Thread &t = threads[k];
            if (t.state == GONE) {
                if (first)
                    b.machine->report("BARRIER without threads that are gone",
                                      place(*first, b.kernel->code[(size_t)first->pc]),
                                      who(t));
                continue;
            }
            if (first && first->pc != t.pc)
                b.machine->report("BARRIERS of a block at different places in a warp",
                                  place(t, b.kernel->code[(size_t)t.pc]), who(t));
            if (!first) first = &t;
        }
    }
    for (auto &t : threads)
        if (t.state == AT_BARRIER) t.state = RUNNING, t.pc++;
    b.epoch = ++b.machine->epoch;
    return true;
}

/* ---- launches ---- */

/* The registers, local memory and threads of a block, which serve one after another. */
struct Team {
    std::vector<uint64_t> r, initial;
    std::vector<uint8_t> v, valid, local, local_valid;
    std::vector<Thread> threads;
    std::vector<size_t> order;
};

static Team team_of(const Kernel &kernel, size_t nthreads)
{
    const size_t nregs = (size_t)kernel.nregisters;
    Team t;

    t.r.resize(nthreads * nregs);
    t.v.resize(nthreads * nregs);
    t.initial.resize(nregs, 0);
    t.valid.resize(nregs, NEVER);
    t.local.resize(nthreads * kernel.local_bytes);
    t.local_valid.resize(t.local.size());
    t.threads.resize(nthreads);
    for (auto &c : kernel.constants) {
        t.initial[(size_t)c.first] = c.second;
        t.valid[(size_t)c.first] = VALID;
    }
    for (auto &c : kernel.specials) t.valid[(size_t)c.first] = VALID;
    return t;
}

static unsigned special(const Block &b, const Thread &t, int which)
{
    if (which < NTID_X) return t.tid[which - TID_X];
    if (which < CTAID_X) return b.ntid[which - NTID_X];
    if (which < NCTAID_X) return b.ctaid[which - CTAID_X];
    if (which < LANEID) return b.nctaid[which - NCTAID_X];
    return which == LANEID ? (unsigned)t.id % 32 : (unsigned)t.id / 32;
}

/* Begin a block: nothing of memory that is its own, and no register, is valid. */
static void begin(Team &team, Block &b)
{
    const Kernel &kernel = *b.kernel;
    const size_t nregs = (size_t)kernel.nregisters;

    std::fill(b.shared.begin(), b.shared.end(), 0xcb);
    std::fill(b.shared_valid.begin(), b.shared_valid.end(), 0);
    std::fill(team.local.begin(), team.local.end(), 0xcb);
    std::fill(team.local_valid.begin(), team.local_valid.end(), 0);
    for (size_t n = 0; n < team.threads.size(); n++) {
        Thread &t = team.threads[n] = Thread();

        t.r = team.r.data() + n * nregs;
        t.v = team.v.data() + n * nregs;
        memcpy(t.r, team.initial.data(), nregs * sizeof *t.r);
        memcpy(t.v, team.valid.data(), nregs);
        t.local = team.local.data() + n * kernel.local_bytes;
        t.local_valid = team.local_valid.data() + n * kernel.local_bytes;
        t.b = &b;
        t.id = (int)n;
        t.warp = (int)n / 32;
        t.tid[0] = (unsigned)n % b.ntid[0];
        t.tid[1] = (unsigned)n / b.ntid[0] % b.ntid[1];
        t.tid[2] = (unsigned)n / b.ntid[0] / b.ntid[1];
        for (auto &c : kernel.specials) t.r[c.first] = special(b, t, c.second);
    }
}

/* 0 to n - 1 in an order */
static void arrange(std::vector<size_t> &out, size_t n, int order, uint64_t &random)
{
    out.resize(n);
    for (size_t k = 0; k < n; k++) out[k] = order == REVERSE ? n - 1 - k : k;
    for (size_t k = n; k > 1 && order == RANDOM; k--)
        std::swap(out[k - 1], out[next(random) % k]);
}

/* none of the threads can go on: are some left? */
static void check_end(Team &team, Block &b)
{
    for (Thread &t : team.threads) {
        if (t.state == GONE) continue;
        const Instruction &i = b.kernel->code[(size_t)t.pc];

        b.machine->report("WAITS FOR EVER", place(t, i), who(t));
        b.result = 719;
        return;
    }
}

static void run_block(Team &team, Block &b, uint64_t &random, uint64_t &count)
{
    const Options &o = b.machine->options;

    for (;;) {
        bool ran = false;

        if (b.order == RANDOM || team.order.empty())
            arrange(team.order, team.threads.size(), b.order, random);
        for (size_t n : team.order) {
            Thread &t = team.threads[n];

            if (t.state != RUNNING) continue;
            count += run(t, o.quantum ? 1 + next(random) % (uint64_t)o.quantum : ENDLESS);
            ran = true;
        }
        if (o.most && count > o.most) {
            b.machine->report("TOO LONG", b.kernel->name, "the launch was stopped");
            b.result = 702;
        }
        if (b.result) return;
        const bool warps = release_warps(team.threads);
        if (release_block(team.threads, b) || warps || ran) continue;
        check_end(team, b);
        return;
    }
}

unsigned Machine::launch(Module &module, Kernel &kernel, const unsigned grid[3],
                         const unsigned block[3], const void *parameters, size_t bytes)
{
    const auto start = std::chrono::steady_clock::now();
    Stats &s = stats[kernel.name + " (" + module.target
                     + (kernel.single ? ", float)" : ", double)")];
    Team team = team_of(kernel, (size_t)block[0] * block[1] * block[2]);
    std::vector<size_t> blocks;
    uint64_t random = options.seed, count = 0;
    Block b;

    if (!kernel.unsupported.empty()) {
        report("UNSUPPORTED", kernel.name, kernel.unsupported);
        return 801;
    }
    b.machine = this;
    b.module = &module;
    b.kernel = &kernel;
    b.parameters = (const uint8_t *)parameters;
    b.parameter_bytes = bytes;
    b.shared.resize(kernel.shared_bytes);
    b.shared_valid.resize(kernel.shared_bytes);
    b.shared_cells.resize(options.race ? kernel.shared_bytes : 0);
    b.launch_first = ++epoch;
    memcpy(b.ntid, block, sizeof b.ntid);
    memcpy(b.nctaid, grid, sizeof b.nctaid);
    random += launches++; /* not the same for all launches */
    b.order = options.order == EACH ? (int)(next(random) % EACH) : options.order;
    arrange(blocks, (size_t)grid[0] * grid[1] * grid[2], b.order, random);
    for (size_t which : blocks) {
        b.ctaid[0] = (unsigned)(which % grid[0]);
        b.ctaid[1] = (unsigned)(which / grid[0] % grid[1]);
        b.ctaid[2] = (unsigned)(which / grid[0] / grid[1]);
        b.first = b.epoch = ++epoch;
        begin(team, b);
        run_block(team, b, random, count);
        s.blocks++;
        if (b.result) break;
    }
    s.launches++;
    s.instructions += count;
    s.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ++epoch;
    return b.result;
}

} // namespace ptx
