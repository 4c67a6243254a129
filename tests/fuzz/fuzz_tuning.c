/*
 * fuzz_tuning.c - fuzzes the parser of tuning entries: every entry it accepts is in range,
 * and is printed as it was read.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include <nanobrag/simulator.h>

#include "compile/tune/tuning_text.h"
#include "fuzz.h"

static void check_same(const struct tuning_list *read, const struct tuning_list *again)
{
    const struct tuning_record *a = read->first, *b = again->first;

    for (; a && b; a = a->next, b = b->next)
        fuzz_require(strcmp(a->name, b->name) == 0
                     && memcmp(&a->entry, &b->entry, sizeof a->entry) == 0);
    fuzz_require(!a && !b);
}

static int within(int value, int most)
{
    return value >= 0 && value <= most;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tuning_list list = {0}, again = {0};
    char why[STORE_WHY], *text = malloc(size + 1);

    if (!text || size > TUNING_TEXT / 3) abort();
    memcpy(text, data, size);
    text[size] = '\0';
    fuzz_require(tuning_parse(text, size, &list, why) && !strchr(why, '\n'));
    for (const struct tuning_record *at = list.first; at; at = at->next)
        fuzz_require(strlen(at->name) < TUNING_NAME && !strchr(at->name, '\n')
                     && within(at->entry.strategy, NB_SPOTS)
                     && within(at->entry.threads, CONTEXT_THREADS_MOST)
                     && within(at->entry.block, TUNING_BLOCK)
                     && within(at->entry.microseconds, 999999999));
    free(text);

    text = tuning_print(&list);
    fuzz_require(text && strlen(text) <= TUNING_TEXT);
    fuzz_require(tuning_parse(text, strlen(text), &again, why) && !why[0]);
    check_same(&list, &again);
    free(text);
    tuning_clear(&again);
    tuning_clear(&list);
    return 0;
}
