/*
 * driver.h - what the parts of a libcuda whose device is the interpreter share. What is
 * asked of a stream is done as late as it may be: when the stream, an event after it, or
 * memory that is freed is waited for.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PTX_DRIVER_H
#define NB_TESTS_PTX_DRIVER_H

#include <deque>
#include <functional>
#include <mutex>

#include "ptx.h"

namespace ptx {

typedef unsigned Result; /* of CUDA */
enum : Result {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY = 209,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    CAPTURE_UNSUPPORTED = 900
};

typedef std::function<Result()> Operation;

struct Stream {
    std::deque<Operation> waiting;
    uint64_t done = 0, asked = 0;
    bool capturing = false;
    std::vector<Operation> captured;
};

struct Event {
    Stream *stream = nullptr;
    uint64_t upto = 0;
};

struct Function {
    Module *module;
    Kernel *kernel;
};

struct Loaded { /* a module */
    std::unique_ptr<Module> code;
    std::map<std::string, Function> functions;
};

struct Graph {
    std::vector<Operation> work;
};

/* one call at a time */
struct Lock {
    std::lock_guard<std::recursive_mutex> held;
    Lock();
};

/* The device, with the options of the environment. */
Machine &machine();
uint32_t capability(); /* as 90 */
size_t device_bytes();

/* what the calling thread lets others do while it captures; 2: RELAXED */
extern thread_local unsigned capture_mode;
extern void *const the_context;

/* Begin a call that needs a context; not 0: the call fails with it. */
Result inside(const char *what);
/* Note what work returned; returns what the context is in. */
Result after(Result of_work);
void misuse(const char *what, const char *text);

/* plant.cpp: put the faults into a kernel that the environment asks for. */
void plant(const Module &m, Kernel &k);
uint64_t spoilt_runs(); /* how often spoilt instructions ran */

/* streams.cpp */
Result ask(Stream *s, Operation work);
Result finish_all();
bool any_capturing();
size_t streams_alive();

} // namespace ptx

#endif
