/*
 * huge_pages.h - memory for large arrays, on huge pages where the system has them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_HUGE_PAGES_H
#define NB_BASE_HUGE_PAGES_H

#include <stddef.h>

/* Allocates n bytes, to be released with free(). A large block is on huge pages if the
 * system has them, because touching pages of 4 KiB takes longer than filling them. */
void *huge_pages_alloc(size_t n);

/* Asks for huge pages under memory that was allocated and not yet touched. */
void huge_pages_advise(void *memory, size_t n);

#endif
