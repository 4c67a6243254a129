/* fuzz_wisdom.c - findings of tuning: what is read can be, and is written as it was read.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "compile/tune/wisdom_book.h"
#include "fuzz.h"

static void check_same(const struct wisdom_book *read, const struct wisdom_book *again)
{
    const struct wisdom_item *a = read->first, *b = again->first;

    for (; a && b; a = a->next, b = b->next)
        fuzz_require(wisdom_alike(a, b) && (!a->text || strcmp(a->text, b->text) == 0)
                     && memcmp(&a->finding, &b->finding, sizeof a->finding) == 0);
    fuzz_require(!a && !b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wisdom_book book = {0}, again = {0};
    char why[WISDOM_WHY], *text = malloc(size + 1);
    enum wisdom_state state;

    if (!text || size > WISDOM_FILE) abort();
    memcpy(text, data, size);
    text[size] = '\0';
    state = wisdom_parse(text, size, &book, why);
    fuzz_require(state == WISDOM_GOOD || state == WISDOM_DAMAGED);
    fuzz_require((state == WISDOM_GOOD) == (why[0] == '\0') && !strchr(why, '\n'));
    for (const struct wisdom_item *item = book.first; item; item = item->next)
        fuzz_require(!wisdom_flaw(item));
    free(text);

    text = wisdom_print(&book);
    fuzz_require(text && strlen(text) <= WISDOM_FILE);
    fuzz_require(wisdom_parse(text, strlen(text), &again, why) == WISDOM_GOOD);
    check_same(&book, &again);
    free(text);
    wisdom_clear(&again);
    wisdom_clear(&book);
    return 0;
}
