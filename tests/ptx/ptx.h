/*
 * ptx.h - an interpreter of PTX, CUDA's intermediate code, on the CPU.
 *
 * A kernel's threads run one at a time, each until it waits at a barrier, exits, or its
 * quantum is over; the blocks of a launch run one after the other. Checked meanwhile:
 * bounds, life and alignment of every access to memory; values that nothing has written,
 * followed through registers and memory until they decide something (a branch, an address);
 * accesses by two threads, to shared or global memory, that no barrier puts in an order,
 * those of different blocks of a launch included; barriers at which threads of a warp stand
 * at different places, or for which threads wait for ever.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PTX_H
#define NB_TESTS_PTX_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace ptx {

/* ---- global memory ---- */

struct Cell { /* who touched a place last */
    uint32_t wepoch, r1epoch, r2epoch;
    uint16_t wthread, wwarp, r1thread, r1warp, r2thread, r2warp;
    uint32_t wline; /* of the PTX text */
    uint8_t watomic, r1atomic, r2atomic, unused;
};

struct Allocation {
    uint64_t base = 0;
    size_t size = 0;
    uint8_t *valid = nullptr; /* a byte for each byte */
    Cell *cells = nullptr; /* a cell for each byte */
};

struct Memory {
    std::map<uint64_t, Allocation> all;
    size_t used = 0;

    uint64_t allocate(size_t bytes, size_t most); /* 0: there is no room */
    bool release(uint64_t base);
    Allocation *find(uint64_t address);
};

/* ---- code ---- */

struct Thread;
struct Instruction;
typedef void (*Handler)(Thread &, const Instruction &);

enum Kind : uint8_t { PLAIN, BRANCH, BRANCH_INDEX, RETURN, BARRIER, WARP_BARRIER, TRAP };
enum Space : uint8_t { GENERIC, GLOBAL, SHARED, LOCAL, PARAM, CONSTANT };

struct Instruction {
    Handler fn = nullptr;
    Handler sound = nullptr; /* what fn was before it was spoilt */
    Kind kind = PLAIN;
    Space space = GENERIC;
    uint8_t vector = 1, negated = 0;
    int guard = -1; /* a register */
    int d[4] = {-1, -1, -1, -1}; /* results */
    int s[4] = {-1, -1, -1, -1}; /* sources; of memory: s[3] is the address */
    int64_t offset = 0; /* of an address */
    int target = -1; /* of a branch */
    int line = 0; /* in the text */
    int name = -1; /* of the opcode */
};

struct Kernel {
    std::string name;
    size_t body = 0; /* where it begins in the text, in which line */
    int line = 0;
    std::vector<Instruction> code; /* empty: see complete() */
    std::vector<std::vector<int>> tables; /* of brx.idx */
    std::unordered_map<std::string, int> registers;
    std::vector<std::pair<int, uint64_t>> constants; /* register, bits */
    std::vector<std::pair<int, int>> specials; /* register, which */
    int nregisters = 0;
    bool single = false; /* computes in float */
    size_t shared_bytes = 0, local_bytes = 0, param_bytes = 0;
    std::vector<size_t> param_offsets, param_sizes;
    std::string unsupported; /* what it has that we do not know */
};

struct Parser;

struct Module {
    std::shared_ptr<Parser> parser;
    std::map<std::string, std::unique_ptr<Kernel>> kernels;
    std::map<std::string, uint64_t> globals;
    std::vector<std::string> opcodes;
    std::string target;
};

/* Parse a module, whose variables it allocates; throws std::string. Of a kernel it reads
 * the parameters alone: a module has many, of which a program launches few. */
std::unique_ptr<Module> parse(const std::string &text, Memory &memory);
void complete(Module &module, Kernel &kernel); /* Read its body. */

/* ---- running ---- */

/* of the blocks of a launch, and of the threads of a block; EACH: that of one launch after
 * another, drawn from the seed */
enum Order { FORWARD, REVERSE, RANDOM, EACH };

struct Options {
    bool init = true, race = true;
    bool loads = false; /* reports loads of uninitialised memory, used or not */
    int approximate = 0; /* 1: approximations err by what is allowed, at random */
    int order = 0; /* enum Order */
    uint64_t seed = 1;
    int quantum = 0; /* instructions before another thread may run; 0: no limit */
    uint64_t most = 0; /* instructions of a launch; 0: no limit */
    int reports = 40; /* most that are printed */
};

struct Stats {
    uint64_t launches = 0, blocks = 0, instructions = 0;
    double seconds = 0;
};

struct Machine {
    Memory memory;
    Options options;
    std::map<std::string, Stats> stats;
    std::map<std::string, uint64_t> reports; /* kind and place -> how often */
    uint64_t errors = 0;
    uint32_t epoch = 1;
    uint64_t launches = 0;

    /* 0 or a result of CUDA */
    unsigned launch(Module &module, Kernel &kernel, const unsigned grid[3],
                    const unsigned block[3], const void *parameters, size_t bytes);
    void report(const std::string &kind, const std::string &place, const std::string &text);
};

} // namespace ptx

#endif
