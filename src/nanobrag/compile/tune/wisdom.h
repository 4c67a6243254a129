/*
 * wisdom.h - what tuning found, for the process and on disk.
 *
 * A finding is fixed for the process: the first one kept under a key rules until its end,
 * so that nothing which depends on a clock changes within it. On disk it is
 * NANOBRAG_CACHE_DIR/wisdom.json, for one machine and one build; whatever is wrong with
 * that file, the call goes on without it (context_fall_back()). Any number of threads, each
 * with its own context, and of processes may call at once.
 *
 * None of this is called where compiled mode is off. A folder that is "" is no file at all;
 * without cJSON there is none either, and wisdom_keep() says so once in a process.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_TUNE_WISDOM_H
#define NB_COMPILE_TUNE_WISDOM_H

#include "base/context.h"

/* what the file holds at most; what passes it is kept for the process alone */
enum {
    WISDOM_KEY = 1024, /* bytes of a key or name, printable ASCII */
    WISDOM_TEXT = 1 << 18, /* of a text, with line ends and tabs */
    WISDOM_BLOCK = 65536
};

/* how a finding was made, the more the better; those estimated are not kept */
enum rigour { RIGOUR_ESTIMATED, RIGOUR_MEASURED, RIGOUR_MOST = 1000 };

struct finding {
    int rigour;
    int strategy; /* enum nb_strategy; 0: the finding is not about it */
    int threads, block; /* at most, and tiles a thread takes at a time; 0: not about them */
};

/*
 * The finding for a key, when there is one of this rigour or greater: returns 1. `file`:
 * not only of this process, but of the file too, which is read once in a process. Writes
 * nothing, and allocates only to take something from the file.
 */
int wisdom_recall(nb_context *ctx, const char *key, int rigour, int file,
                  struct finding *out);

/*
 * Keep a finding, with `file` in the file too. Where another was kept since, in this
 * process or, no less rigorous, in the file by another one, that one comes back in its
 * place. What could not be written is tried again with the next finding that is kept.
 * Errors: those of context_fall_back().
 */
nb_status wisdom_keep(nb_context *ctx, const char *key, struct finding *finding, int file);

/*
 * The same for a text, the wisdom of another library; wisdom_text() is NULL without one, to
 * be freed otherwise. Such wisdom grows, so that here the last one kept rules.
 */
char *wisdom_text(nb_context *ctx, const char *name);
nb_status wisdom_keep_text(nb_context *ctx, const char *name, const char *text);

/* For tests: as if the process had just begun, but for FFTW. Nothing else may be called
 * meanwhile. */
void wisdom_forget(void);

#endif
