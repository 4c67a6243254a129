/*
 * thread.h - what the handlers of instructions work on: the threads of a block, with their
 * registers, and what of these and of memory is valid.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PTX_THREAD_H
#define NB_TESTS_PTX_THREAD_H

#include <cstring>
#include <type_traits>

#include "ptx.h"

namespace ptx {

/* where generic addresses of shared and of local memory begin */
constexpr uint64_t SHARED_WINDOW = 1ull << 60, LOCAL_WINDOW = 1ull << 61;

enum State : uint8_t { RUNNING, AT_BARRIER, AT_WARP, GONE };

struct Block {
    Machine *machine;
    Module *module;
    Kernel *kernel;
    const uint8_t *parameters;
    size_t parameter_bytes;
    std::vector<uint8_t> shared, shared_valid;
    std::vector<Cell> shared_cells;
    uint32_t epoch, first, launch_first; /* see touch() */
    int order = FORWARD;
    unsigned result = 0;
    unsigned ctaid[3], ntid[3], nctaid[3];
    Allocation *last = nullptr;
};

struct Thread {
    uint64_t *r;
    uint8_t *v;
    Block *b;
    uint8_t *local, *local_valid;
    int pc = 0, id = 0, warp = 0;
    uint16_t passed = 0; /* barriers of the warp */
    State state = RUNNING;
    unsigned mask = 0; /* of the barrier of the warp */
    unsigned tid[3];
};

enum Special {
    TID_X,
    TID_Y,
    TID_Z,
    NTID_X,
    NTID_Y,
    NTID_Z,
    CTAID_X,
    CTAID_Y,
    CTAID_Z,
    NCTAID_X,
    NCTAID_Y,
    NCTAID_Z,
    LANEID,
    WARPID,
    SPECIALS
};

/* Name an instruction of a kernel, and a thread, in reports. */
std::string place(const Thread &t, const Instruction &i);
std::string who(const Thread &t);

/* Report, and end the launch with a result of CUDA; returns false. */
bool refuse(Thread &t, const Instruction &i, const char *kind, uint64_t address, size_t n,
            unsigned result);

/* Of a register: bit 0 where its low 32 bits are valid, bit 1 where its high ones are,
 * which are valid together in registers of 32 bits and less; NEVER: nothing has written it.
 */
enum : uint8_t { VALID = 3, NEVER = 4 };

inline uint8_t whole(uint8_t v)
{
    return v == VALID ? VALID : 0;
}

/* ---- registers ---- */

template <class X> inline X get(const Thread &t, int k)
{
    X x;
    memcpy(&x, &t.r[k], sizeof x);
    return x;
}

template <class X> inline void set(Thread &t, int k, X x)
{
    if constexpr (std::is_floating_point_v<X>) {
        uint64_t bits = 0;
        memcpy(&bits, &x, sizeof x);
        t.r[k] = bits;
    } else {
        t.r[k] = (uint64_t)(int64_t)x; /* extends by the sign */
    }
}

} // namespace ptx

#endif
