/*
 * experiment_texts.h - small files of experiments for tests, and copies of them in which
 * one part is another. SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_EXPERIMENT_TEXTS_H
#define NB_TESTS_EXPERIMENT_TEXTS_H

/* An .expt of one experiment whose panel is in no group, and an XPARM.XDS. */
extern const char expt_text[], xparm_text[];

/* Returns a copy of a text with the first `old` replaced, to be released with free(). Ends
 * the program if there is none. */
char *text_with(const char *text, const char *old, const char *changed);

#endif
