/*
 * compiling.c - finds the compiled mode by options and environment.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "nanobrag_program/run.h"

const char *compiling_word(int mode)
{
    if (mode == NB_COMPILE_OFF || compiling_off_by()) return "off";
    return "on";
}

/* Returns 1 if a variable of the environment is on. As in the library, only the value 1 is
 * on. */
static int is_on(const char *name)
{
    const char *const value = getenv(name);
    return value && strcmp(value, "1") == 0;
}

const char *compiling_off_by(void)
{
    if (is_on("NANOBRAGG_DISABLE_COMPILE")) return "NANOBRAGG_DISABLE_COMPILE=1";
    if (is_on("NANOBRAG_DISABLE_COMPILE")) return "NANOBRAG_DISABLE_COMPILE=1";
    return NULL;
}

void compiling_note(struct run *run)
{
    if (!compiling_off_by() || !run->command.s->given[OPT_COMPILE]) return;
    if (run->command.s->compile == NB_COMPILE_OFF) return;
    message_note(run->command.messages,
                 "compiled mode is off: %s in the environment overrides -compile %s",
                 compiling_off_by(),
                 run->command.s->compile == NB_COMPILE_TUNE ? "tune" : "on");
}
