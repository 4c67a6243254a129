/*
 * huge_pages.h - memory for large arrays.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_HUGE_PAGES_H
#define NB_BASE_HUGE_PAGES_H

#include <stddef.h>

/* n bytes as from malloc(), on large pages where there are many and the system has them:
 * 4 KiB at a time, touching them takes longer than filling them. free() them. */
void *huge_pages_alloc(size_t n);

/* Ask for large pages under memory that was allocated and not touched yet. */
void huge_pages_advise(void *memory, size_t n);

#endif
