/*
 * compile.h - compiled mode: what was decided once so that calls are arithmetic only.
 *
 * A simulator's first call of a kind (image, adjoint, ...) makes a plan: which of the
 * kernels that were built ahead of time, how many threads, how many tiles a thread takes
 * at a time. Plans are kept in the context under what they depend on, and never under what
 * a fit changes, so a fitting loop makes each once. On a GPU NVRTC builds kernels while the
 * program runs: of images, in the background, for what is used often, and of derivatives,
 * whose first call waits. Compiled is the default and gives the bits of uncompiled.
 * NB_COMPILE_TUNE measures, on memory of its own, when it makes a plan, and only there two
 * things may move digits: another strategy, where nb_options.strategy was left open, and
 * the transforms of a point spread.
 *
 * Off: NANOBRAGG_DISABLE_COMPILE=1 (or NANOBRAG_DISABLE_COMPILE=1) in the environment,
 * which wins over nb_context_options.compile. nb_gradcheck() is always uncompiled.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_COMPILE_H
#define NANOBRAG_COMPILE_H

#include <stdint.h>

#include <nanobrag/simulator.h>

NB_BEGIN_DECLS

/* What a simulator's calls came to, since it was made. Captures, replays and skips count
 * CUDA graphs, for each band of an image, loss or derivative, and stay 0 on a CPU. */
typedef struct nb_compile_stats {
    uint64_t compiles; /* plans made */
    uint64_t recompiles; /* of them: for a kind of call that the context had a plan for */
    uint64_t hits, misses; /* calls that found their plan, and that did not */
    uint64_t captures, replays; /* sequences of launches recorded, and done so */
    uint64_t skips; /* and launched one by one, as they could not be recorded */
    uint64_t fallbacks; /* of the context meanwhile: what was done without */
    uint64_t compiled_launches; /* launches of kernels by a plan */
    uint64_t donated; /* arrays given away and used */
    uint64_t plan_hash; /* of the last plans, one for each kind of call; 0: none */
    uint64_t bytes; /* memory that the simulator holds, short lists apart */
    /* kernels built at run time on a GPU: made by NVRTC, of images and of derivatives; of
     * images, taken into use; and whether they were found on disk */
    uint64_t builds, promotions, cubin_hits, cubin_misses;
} nb_compile_stats;

/* Accepts NULL for the simulator: all zero; and for `out`. */
NB_API void nb_simulator_stats(const nb_simulator *sim, nb_compile_stats *out);

/* What was decided, and why, as lines of text, each ended by a newline. Valid until the
 * next call with this simulator; never NULL. */
NB_API const char *nb_simulator_explain(nb_simulator *sim);

NB_END_DECLS

#endif
