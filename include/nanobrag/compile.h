/*
 * compile.h - compiled mode: decisions that are made once and reused by later calls.
 *
 *   nb_compile_stats stats;
 *
 *   nb_simulator_stats(sim, &stats);
 *   printf("%d plans made, %d calls used one\n", (int)stats.compiles, (int)stats.hits);
 *   fputs(nb_simulator_explain(sim), stdout);
 *
 * A plan holds the decisions for one kind of call, such as images or gradients: which of
 * the kernels in the library runs, on how many threads, and how many tiles a thread takes
 * at a time. (A kernel is a loop over pixels, and a tile is 32 x 8 pixels.) The first call
 * of a kind makes the plan. A plan depends on some properties of the scene, and the context
 * finds it again by these properties. A fit changes none of them, so a fit makes each plan
 * once.
 *
 * On a GPU, NVRTC builds further kernels at run time. It builds kernels of images in the
 * background, when they have been used often. It builds kernels of derivatives when a call
 * first needs them, and this call waits.
 *
 * Compiled mode is the default. Images have the same bits in compiled and uncompiled mode.
 *
 * NANOBRAGG_DISABLE_COMPILE=1 (or NANOBRAG_DISABLE_COMPILE=1) in the environment turns
 * compiled mode off, for any value of nb_context_options.compile. nb_gradcheck() always
 * runs uncompiled.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_COMPILE_H
#define NANOBRAG_COMPILE_H

#include <stdint.h>

#include <nanobrag/simulator.h>

NB_BEGIN_DECLS

/* Counts of a simulator since it was made. captures, replays and skips count CUDA graphs,
 * one for each part of an image, loss or derivative. They are 0 on a CPU. */
typedef struct nb_compile_stats {
    uint64_t compiles; /* plans made */
    uint64_t recompiles; /* plans made for a kind of call that already had another plan */
    uint64_t hits, misses; /* calls that found their plan, and calls that did not */
    uint64_t captures, replays; /* launch sequences recorded as a graph, and run as one */
    uint64_t skips; /* launch sequences that could not be recorded */
    uint64_t fallbacks; /* how often the context took another way, because a feature of
                           compiled mode was not available */
    uint64_t compiled_launches; /* kernel launches that followed a plan */
    uint64_t donated; /* donated arrays whose memory was used */
    uint64_t plan_hash; /* hash of the last plan of each kind of call; 0: no plan yet */
    uint64_t bytes; /* memory held by the simulator, without its short lists  byte */
    /* kernels that NVRTC built; kernels of images among them that are in use; kernels that
     * were found on disk; kernels that were not found on disk */
    uint64_t builds, promotions, cubin_hits, cubin_misses;
} nb_compile_stats;

/*
 * Report what compiled mode did for a simulator; never fails.
 *
 *   sim  [in]   NULL: all counts are 0
 *   out  [out]  the counts; NULL: nothing is done
 */
NB_API void nb_simulator_stats(const nb_simulator *sim, nb_compile_stats *out);

/*
 * Explain what compiled mode decided, and why: lines of text, each with a newline at its
 * end. Never NULL; "" for sim = NULL. The simulator owns the text, which is valid until the
 * next call with the simulator.
 */
NB_API const char *nb_simulator_explain(nb_simulator *sim);

NB_END_DECLS

#endif
