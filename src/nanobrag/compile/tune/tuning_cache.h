/*
 * tuning_cache.h - the results of tuning, in the process and on disk.
 *
 * Each cache folder has results of its own, of this process and of its file. The first
 * entry found under a key holds until the process ends, so that no decision changes because
 * of a clock. On disk the entries are lines of NANOBRAG_CACHE_DIR/tuning/tuning.txt, each
 * for one machine and one build. Whatever is wrong with that file, the call goes on without
 * it (context_fall_back()). Any number of processes, and of threads with a context each,
 * may call at once. None of this is called where compiled mode is off.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_TUNE_TUNING_CACHE_H
#define NB_COMPILE_TUNE_TUNING_CACHE_H

#include "base/context.h"

enum {
    TUNING_KEY = 1024, /* bytes of a key with its NUL; printable ASCII */
    TUNING_BLOCK = 65536
};

struct tuning_entry {
    int strategy; /* enum nb_strategy; 0: not part of the entry */
    int threads, block; /* the most threads, and tiles at a time; 0: not in the entry */
    int microseconds; /* measured time of one call, for readers of the file; 0: unknown */
};

/* Returns 1, with the entry under a key, if this process or the file, which is read once in
 * a process, has one. Writes nothing. */
int tuning_cache_find(nb_context *ctx, const char *key, struct tuning_entry *out);

/* Make an entry hold under its key, and with `file` save it too. If this process or the
 * file has an entry under the key already, `entry` becomes that one. What cannot be written
 * now is written with the next entry that is saved in the folder. Errors: those of
 * context_fall_back(). */
nb_status tuning_cache_save(nb_context *ctx, const char *key, struct tuning_entry *entry,
                            int file);

/* The same for the tuning results of FFTW (its "wisdom"), one text in a file of its own.
 * The text grows, so the one saved last replaces it. tuning_cache_fftw() returns NULL if
 * there is none; free() the text. */
char *tuning_cache_fftw(nb_context *ctx);
nb_status tuning_cache_save_fftw(nb_context *ctx, const char *text);

/* For tests: forget everything, as if the process had just begun, but for FFTW's own
 * memory. No other function may be called meanwhile. */
void tuning_cache_forget(void);

#endif
