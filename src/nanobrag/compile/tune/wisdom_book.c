/* wisdom_book.c - the list, and its JSON. An item is one block of memory and one line of
 * the file. SPDX-License-Identifier: MIT */
#include "compile/tune/wisdom_book.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/simulator.h>

#include "compile/identity.h"

/* ---- in memory ---- */

static int is_text(const struct wisdom_item *item)
{
    return item->text != NULL;
}

static char *append(char **at, const char *text)
{
    const size_t n = strlen(text) + 1;
    char *copy = memcpy(*at, text, n);

    *at += n;
    return copy;
}

int wisdom_add(struct wisdom_book *book, const struct wisdom_item *item)
{
    const size_t n = strlen(item->machine) + strlen(item->build) + strlen(item->name)
                     + (item->text ? strlen(item->text) : 0) + 4;
    struct wisdom_item *copy = malloc(sizeof *copy + n);
    char *at;

    if (!copy) return 0;
    at = (char *)(copy + 1);
    *copy = *item;
    copy->machine = append(&at, item->machine);
    copy->build = append(&at, item->build);
    copy->name = append(&at, item->name);
    if (item->text) copy->text = append(&at, item->text);
    copy->next = NULL;
    copy->line = NULL;
    if (book->last)
        book->last->next = copy;
    else
        book->first = copy;
    book->last = copy;
    return 1;
}

int wisdom_alike(const struct wisdom_item *a, const struct wisdom_item *b)
{
    return is_text(a) == is_text(b) && strcmp(a->name, b->name) == 0
           && strcmp(a->machine, b->machine) == 0 && strcmp(a->build, b->build) == 0;
}

struct wisdom_item *wisdom_find(const struct wisdom_book *book,
                                const struct wisdom_item *like)
{
    struct wisdom_item *best = NULL;

    for (struct wisdom_item *item = book->first; item; item = item->next)
        if (wisdom_alike(item, like)
            && (!best || item->finding.rigour > best->finding.rigour))
            best = item;
    return best;
}

/* take the item out that this link leads to, `before` being the one before it */
static void drop(struct wisdom_book *book, struct wisdom_item **link,
                 struct wisdom_item *before)
{
    struct wisdom_item *item = *link;

    *link = item->next;
    if (book->last == item) book->last = before;
    free(item->line);
    free(item);
}

int wisdom_merge(struct wisdom_book *book, const struct wisdom_item *item)
{
    const struct wisdom_item *there = wisdom_find(book, item);
    struct wisdom_item **link = &book->first, *before = NULL;

    if (there
        && (item->text ? strcmp(there->text, item->text) == 0
                       : there->finding.rigour >= item->finding.rigour))
        return 0;
    if (!wisdom_add(book, item)) return -1;
    while (*link && *link != book->last) {
        if (wisdom_alike(*link, item)) {
            drop(book, link, before);
        } else {
            before = *link;
            link = &before->next;
        }
    }
    return 1;
}

void wisdom_clear(struct wisdom_book *book)
{
    while (book->first) drop(book, &book->first, NULL);
}

/* 1 to most - 1 bytes of printable ASCII, or of line ends and tabs too */
static int plain(const char *text, size_t most, int lines)
{
    const size_t n = strlen(text);

    for (size_t i = 0; i < n; i++)
        if ((text[i] < ' ' || text[i] > '~') && !(lines && strchr("\n\r\t", text[i])))
            return 0;
    return n > 0 && n < most;
}

static int within(int value, int most)
{
    return value >= 0 && value <= most;
}

_Static_assert(RIGOUR_MOST == 1000 && CONTEXT_THREADS_MOST == 1024 && WISDOM_BLOCK == 65536,
               "the texts of wisdom_flaw() say the same");

const char *wisdom_flaw(const struct wisdom_item *item)
{
    if (!plain(item->machine, IDENTITY, 0)) return "machine is no name";
    if (!plain(item->build, IDENTITY, 0)) return "build is no name";
    if (!plain(item->name, WISDOM_KEY, 0))
        return item->text ? "name is no name" : "key is no name";
    if (item->text)
        return plain(item->text, WISDOM_TEXT, 1) ? NULL : "text is no text, or too long";
    if (!within(item->finding.rigour, RIGOUR_MOST))
        return "rigour is no whole number from 0 to 1000";
    if (!within(item->finding.strategy, NB_SPOTS))
        return "strategy is none of enum nb_strategy";
    if (!within(item->finding.threads, CONTEXT_THREADS_MOST))
        return "threads is no whole number from 0 to 1024";
    if (!within(item->finding.block, WISDOM_BLOCK))
        return "block is no whole number from 0 to 65536";
    return NULL;
}

#ifdef NANOBRAG_CJSON

#include <cjson/cJSON.h>

/* ---- as JSON ---- */

#define FORMAT "nanobrag wisdom"
enum { VERSION = 1 };

static const char heads[2][64] = {"{\"format\": \"" FORMAT
                                  "\", \"version\": 1,\n\"entries\": [\n",
                                  "],\n\"texts\": [\n"};
static const char foot[] = "]}\n";

/* NULL for what is no object either */
static const cJSON *member_of(const cJSON *object, const char *member)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, member) : NULL;
}

/* "" for what is no string, which is no name either */
static const char *string_of(const cJSON *object, const char *member)
{
    const cJSON *string = member_of(object, member);

    return cJSON_IsString(string) && string->valuestring ? string->valuestring : "";
}

/* -1, which is out of every range, for what is no whole number that an int can be */
static int whole_of(const cJSON *object, const char *member)
{
    const cJSON *number = member_of(object, member);
    const double value = cJSON_IsNumber(number) ? number->valuedouble : -1;

    return value >= 0 && value < 1e9 && value == (double)(int)value ? (int)value : -1;
}

/* one of the two lists; 0: no memory */
static int parse_list(const cJSON *list, int texts, struct wisdom_book *book, char *why)
{
    const cJSON *object;
    int place = 0;

    cJSON_ArrayForEach(object, list)
    {
        struct wisdom_item item = {.machine = string_of(object, "machine"),
                                   .build = string_of(object, "build"),
                                   .name = string_of(object, texts ? "name" : "key"),
                                   .text = texts ? string_of(object, "text") : NULL};
        const char *flaw;

        if (!texts)
            item.finding =
                (struct finding){whole_of(object, "rigour"), whole_of(object, "strategy"),
                                 whole_of(object, "threads"), whole_of(object, "block")};
        flaw = wisdom_flaw(&item);
        if (flaw && !why[0])
            (void)snprintf(why, WISDOM_WHY, "%s[%d]: %s", texts ? "texts" : "entries",
                           place, flaw);
        if (!flaw && !wisdom_add(book, &item)) return 0;
        place++;
    }
    return 1;
}

enum wisdom_state wisdom_parse(const char *text, size_t n, struct wisdom_book *book,
                               char why[WISDOM_WHY])
{
    /* cJSON ends at the first NUL */
    cJSON *root = strlen(text) == n ? cJSON_ParseWithOpts(text, NULL, 1) : NULL;
    const cJSON *entries = member_of(root, "entries");
    const cJSON *texts = member_of(root, "texts");
    int memory = 1;

    why[0] = '\0';
    if (!root) {
        (void)snprintf(why, WISDOM_WHY, "this is not JSON");
    } else if (strcmp(string_of(root, "format"), FORMAT) != 0
               || whole_of(root, "version") != VERSION) {
        (void)snprintf(why, WISDOM_WHY, "this is not \"" FORMAT "\", version %d", VERSION);
    } else if (!cJSON_IsArray(entries) || !cJSON_IsArray(texts)) {
        (void)snprintf(why, WISDOM_WHY, "entries and texts are not both lists");
    } else {
        memory = parse_list(entries, 0, book, why) && parse_list(texts, 1, book, why);
    }
    cJSON_Delete(root);
    if (!memory) (void)snprintf(why, WISDOM_WHY, "out of memory");
    if (!memory) return WISDOM_FAILED;
    return why[0] ? WISDOM_DAMAGED : WISDOM_GOOD;
}

/* the JSON of an item into its line; 0: no memory */
static int print_item(struct wisdom_item *item)
{
    cJSON *object = cJSON_CreateObject();
    int good = cJSON_AddStringToObject(object, "machine", item->machine)
               && cJSON_AddStringToObject(object, "build", item->build)
               && cJSON_AddStringToObject(object, item->text ? "name" : "key", item->name);

    if (good && item->text)
        good = cJSON_AddStringToObject(object, "text", item->text) != NULL;
    else if (good)
        good = cJSON_AddNumberToObject(object, "rigour", item->finding.rigour)
               && cJSON_AddNumberToObject(object, "strategy", item->finding.strategy)
               && cJSON_AddNumberToObject(object, "threads", item->finding.threads)
               && cJSON_AddNumberToObject(object, "block", item->finding.block);
    free(item->line);
    item->line = good ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
    return item->line != NULL;
}

/* with a comma and a line end */
static size_t size_of(const struct wisdom_item *item)
{
    return strlen(item->line) + 2;
}

/* drop the oldest text or finding, but not the newest item of all; 0: there is none */
static size_t drop_oldest(struct wisdom_book *book, int texts)
{
    struct wisdom_item **link = &book->first, *before = NULL;
    size_t freed;

    while (*link && *link != book->last && is_text(*link) != texts) {
        before = *link;
        link = &before->next;
    }
    if (!*link || *link == book->last) return 0;
    freed = size_of(*link);
    drop(book, link, before);
    return freed;
}

/* Drop what is too much, of what takes more room; returns the bytes of the whole text. One
 * item alone is never too much: half the room, when every byte needs another to be quoted.
 */
static size_t fit(struct wisdom_book *book)
{
    const size_t frame = strlen(heads[0]) + strlen(heads[1]) + strlen(foot);
    size_t size[2] = {0, 0};

    for (const struct wisdom_item *item = book->first; item; item = item->next)
        size[is_text(item)] += size_of(item);
    while (frame + size[0] + size[1] > WISDOM_FILE) {
        int kind = size[1] > size[0];
        size_t freed = drop_oldest(book, kind);

        if (freed == 0) {
            kind = !kind;
            freed = drop_oldest(book, kind);
        }
        if (freed == 0) break;
        size[kind] -= freed;
    }
    return frame + size[0] + size[1];
}

/* the lines of one of the two lists; returns where they end */
static char *put_list(char *at, const struct wisdom_book *book, int texts)
{
    const char *between = "";

    for (const struct wisdom_item *item = book->first; item; item = item->next) {
        if (is_text(item) != texts) continue;
        at += sprintf(at, "%s%s", between, item->line);
        between = ",\n";
    }
    return at + sprintf(at, "%s", between[0] ? "\n" : "");
}

char *wisdom_print(struct wisdom_book *book)
{
    char *text, *at;

    for (struct wisdom_item *item = book->first; item; item = item->next)
        if (!print_item(item)) return NULL;
    text = malloc(fit(book) + 1);
    if (!text) return NULL;
    at = text + sprintf(text, "%s", heads[0]);
    at = put_list(at, book, 0);
    at += sprintf(at, "%s", heads[1]);
    at = put_list(at, book, 1);
    (void)sprintf(at, "%s", foot);
    return text;
}

#endif
