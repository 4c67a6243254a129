/*
 * context.h - threads, device, log and the message of the last failure.
 *
 * A context is made once and passed to what is made from it. One thread at a time may
 * use a context and the objects made from it; threads inside a call are the library's.
 * The environment (docs/cli.md) is read when the context is made; its
 * NANOBRAGG_DISABLE_COMPILE=1 wins over the options. With NANOBRAG_LOGS lines about
 * compiled mode go to stderr.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_CONTEXT_H
#define NANOBRAG_CONTEXT_H

#include <nanobrag/export.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

#define NB_API_VERSION 1 /* layout of the public structs; passed to nb_context_create() */

typedef struct nb_context nb_context;

/* nb_context_options.device besides NB_CPU and NB_CUDA (array.h): a CUDA device where the
 * work is worth it */
enum { NB_DEVICE_AUTO = -1 };

enum { NB_COMPILE_ON, NB_COMPILE_OFF, NB_COMPILE_TUNE, NB_COMPILE_REQUIRE };

/* levels of a log line */
enum { NB_LOG_WARNING, NB_LOG_NOTE, NB_LOG_INFO };

typedef struct nb_context_options {
    int threads; /* 0: NANOBRAG_THREADS, else OMP_NUM_THREADS, else every core the process
                    may use; at most 1024 */
    int device, device_id; /* 0: NANOBRAG_DEVICE, else NB_CPU. Which images it computes,
                              and why not others, is in nb_description */
    int compile; /* NB_COMPILE_... (compile.h). TUNE measures when plans are made, also in
                    nb_simulator_create(), with `progress` called meanwhile; REQUIRE makes
                    simulators fail that can not run compiled */
    /* One line without its newline. NULL: silence. `topic` names the part that speaks. */
    void (*log)(void *user, int level, const char *topic, const char *line);
    /* Called from the thread that called the library, with what is done (0 to 1).
     * Non-zero stops the call with NB_ERR_CANCELLED. NULL: never called. */
    int (*progress)(void *user, double fraction);
    void *user; /* handed to both */
} nb_context_options;

/*
 * Make a context.
 *
 *   api_version  [in]   NB_API_VERSION
 *   options      [in]   NULL: all defaults
 *   out          [out]  free with nb_context_free(), after what was made from it
 *
 * Errors: NB_ERR_ARGUMENT (another version, a thread count or a mode of compiling out of
 * range; there is no context then to ask for a message), NB_ERR_UNSUPPORTED
 * (a kind of device that no build has), NB_ERR_MEMORY. A device is opened when a simulator
 * first asks for it; where it can not be had the host computes, and the log says why.
 */
NB_API nb_status nb_context_create(int api_version, const nb_context_options *options,
                                   nb_context **out);

/* "auto", "cpu", "cuda" or "cuda:N" to a kind of device and its number. Errors:
 * NB_ERR_ARGUMENT, with nothing written. */
NB_API nb_status nb_device_named(const char *name, int *device, int *device_id);

/* Accepts NULL. */
NB_API void nb_context_free(nb_context *ctx);

/* What the last failure in this context was about; "" before the first. Valid until the
 * next call that fails. */
NB_API const char *nb_context_message(const nb_context *ctx);

/* Threads a call of this context will use. */
NB_API int nb_context_threads(const nb_context *ctx);

NB_END_DECLS

#endif
