/*
 * context.h - threads, device, log and the message of the last failure.
 *
 *   nb_context_options options = {.threads = 4, .compile = NB_COMPILE_ON};
 *   nb_status status = nb_device_named("auto", &options.device, &options.device_id);
 *
 *   if (status == NB_OK) status = nb_context_create(NB_API_VERSION, &options, &ctx);
 *   if (status != NB_OK) return;
 *   if (nb_simulator_create(ctx, &scene, NULL, NULL, &sim) != NB_OK)
 *       puts(nb_context_message(ctx));
 *   nb_simulator_free(sim);
 *   nb_context_free(ctx);
 *
 * Make a context once, and make all other objects from it. Only one of your threads at a
 * time may use a context and the objects made from it. The library itself starts threads
 * inside a call.
 *
 * The library reads environment variables (docs/cli.md) when it makes a context.
 * NANOBRAGG_DISABLE_COMPILE=1 overrides the options. With NANOBRAG_LOGS the library writes
 * lines about compiled mode to stderr.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_CONTEXT_H
#define NANOBRAG_CONTEXT_H

#include <nanobrag/export.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

#define NB_API_VERSION 2 /* layout of the public structs; passed to nb_context_create() */

typedef struct nb_context nb_context;

/* A third value of nb_context_options.device, besides NB_DEVICE_CPU and NB_DEVICE_CUDA
 * (array.h): use a CUDA device for scenes that the device computes faster than the host. */
enum { NB_DEVICE_AUTO = -1 };

/*
 * Values of nb_context_options.compile (compile.h).
 *
 *   NB_COMPILE_ON       plans come from estimates
 *   NB_COMPILE_OFF      no plans: every call decides anew
 *   NB_COMPILE_TUNE     the same as NB_COMPILE_ON, with a note: plans from measurements
 *                       were no better
 *   NB_COMPILE_REQUIRE  as NB_COMPILE_ON, but a simulator that cannot run compiled fails
 */
enum { NB_COMPILE_ON, NB_COMPILE_OFF, NB_COMPILE_TUNE, NB_COMPILE_REQUIRE };

/* Levels of a log line, the most important first. */
enum { NB_LOG_WARNING, NB_LOG_NOTE, NB_LOG_INFO };

typedef struct nb_context_options {
    /* Number of threads, at most 1024; 0: NANOBRAG_THREADS, else OMP_NUM_THREADS, else
     * every core that the process may use */
    int threads;
    /* NB_DEVICE_CPU, NB_DEVICE_CUDA or NB_DEVICE_AUTO, and the number of the CUDA device;
     * 0: NANOBRAG_DEVICE, else NB_DEVICE_CPU. nb_simulator_describe() reports where the
     * images of a simulator are computed, and why. */
    int device, device_id;
    int compile; /* NB_COMPILE_... */
    /* Receives one line of the log, without a newline; `topic` names the part of the
     * library that wrote it. NULL: no lines. */
    void (*log)(void *user, int level, const char *topic, const char *line);
    /* Called during long calls, by the thread that called the library, with the fraction
     * done (0 to 1). A non-zero result ends the long call with NB_ERR_CANCELLED. NULL: not
     * called. */
    int (*progress)(void *user, double fraction);
    void *user; /* passed to log and progress */
} nb_context_options;

/*
 * Make a context. This call opens no device: a device is opened when a simulator first
 * needs it. If the device cannot be opened, the host computes instead, and the log says
 * why.
 *
 *   api_version  [in]   NB_API_VERSION
 *   options      [in]   copied; NULL: all defaults
 *   out          [out]  free with nb_context_free(), after all objects made from it
 *
 * Errors: NB_ERR_ARGUMENT (out is NULL, the version is not NB_API_VERSION, or the number of
 * threads or the mode of compiling is out of range), NB_ERR_UNSUPPORTED (an unknown kind of
 * device), NB_ERR_MEMORY. There is no message, because there is no context to hold one.
 */
NB_API nb_status nb_context_create(int api_version, const nb_context_options *options,
                                   nb_context **out);

/*
 * Parse the name of a device.
 *
 *   name       [in]   "auto", "cpu", "cuda" (device 0) or "cuda:N"
 *   device     [out]  NB_DEVICE_AUTO, NB_DEVICE_CPU or NB_DEVICE_CUDA
 *   device_id  [out]  N, or 0
 *
 * Errors: NB_ERR_ARGUMENT (a NULL or another name; nothing was written).
 */
NB_API nb_status nb_device_named(const char *name, int *device, int *device_id);

/* Free a context; NULL is allowed. */
NB_API void nb_context_free(nb_context *ctx);

/*
 * The message of the last failure in this context: one line that names the cause, and what
 * to do. "" before the first failure and for ctx = NULL. Valid until the next failure.
 */
NB_API const char *nb_context_message(const nb_context *ctx);

/* The number of threads that calls with this context use; 0 for ctx = NULL. */
NB_API int nb_context_threads(const nb_context *ctx);

NB_END_DECLS

#endif
