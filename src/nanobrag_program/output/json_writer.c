/*
 * json_writer.c - adds values to a JSON document. SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/output/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cJSON *json_object(cJSON *to, const char *key)
{
    return cJSON_AddObjectToObject(to, key);
}

cJSON *json_array(cJSON *to, const char *key)
{
    return cJSON_AddArrayToObject(to, key);
}

cJSON *json_entry(cJSON *array)
{
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddItemToArray(array, entry);
    return entry;
}

void json_real(cJSON *to, const char *key, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    cJSON_AddRawToObject(to, key, isfinite(value) ? text : "null");
}

void json_whole(cJSON *to, const char *key, long long value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    cJSON_AddRawToObject(to, key, text);
}

void json_reals(cJSON *to, const char *key, const double *values, int n)
{
    enum { MOST = 9, EACH = 32 };
    char text[MOST * EACH + 3] = "[";
    size_t used = 1;
    for (int i = 0; i < n && i < MOST; i++)
        used +=
            (size_t)(isfinite(values[i])
                         ? snprintf(text + used, EACH, "%s%.17g", i ? "," : "", values[i])
                         : snprintf(text + used, EACH, "%snull", i ? "," : ""));
    text[used] = ']';
    text[used + 1] = 0;
    cJSON_AddRawToObject(to, key, text);
}

void json_pair(cJSON *to, const char *key, double a, double b)
{
    const double values[2] = {a, b};
    json_reals(to, key, values, 2);
}

void json_flag(cJSON *to, const char *key, int value)
{
    cJSON_AddBoolToObject(to, key, value != 0);
}

/* Returns the length of the UTF-8 character at p; 0 if the bytes are not UTF-8. Overlong
 * forms, surrogates of UTF-16, and characters beyond U+10FFFF are not UTF-8. */
static size_t sequence(const unsigned char *p)
{
    const size_t n = p[0] < 0x80   ? 1
                     : p[0] < 0xc2 ? 0
                     : p[0] < 0xe0 ? 2
                     : p[0] < 0xf0 ? 3
                     : p[0] < 0xf5 ? 4
                                   : 0;
    const int least = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    const int most = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    if (n > 1 && (p[1] < least || p[1] > most)) return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    return n;
}

/* Make a string. Bytes that are not UTF-8, which the name of a file may have, become
 * '?'. */
static cJSON *make_text(const char *text)
{
    char *copy = strdup(text);
    if (!copy) return NULL;
    for (unsigned char *p = (unsigned char *)copy; *p;) {
        const size_t n = sequence(p);
        if (n == 0) *p = '?';
        p += n ? n : 1;
    }
    cJSON *item = cJSON_CreateString(copy);
    free(copy);
    return item;
}

void json_text(cJSON *to, const char *key, const char *text)
{
    cJSON_AddItemToObject(to, key, text ? make_text(text) : cJSON_CreateNull());
}

void json_texts(cJSON *to, const char *key, char *const *texts, size_t n)
{
    cJSON *array = json_array(to, key);
    for (size_t i = 0; i < n; i++)
        if (texts[i]) cJSON_AddItemToArray(array, make_text(texts[i]));
}

void json_lines(cJSON *to, const char *key, const char *text)
{
    cJSON *array = json_array(to, key);
    char *copy = strdup(text);
    for (char *line = copy; line && *line;) {
        const size_t n = strcspn(line, "\n");
        char *const next = line + n + (line[n] == '\n');
        line[n] = 0;
        cJSON_AddItemToArray(array, make_text(line));
        line = next;
    }
    free(copy);
}

void json_stats(cJSON *to, const nb_compile_stats *stats)
{
    const struct {
        const char *name;
        uint64_t count;
    } counters[] = {
        {"compiles", stats->compiles},
        {"recompiles", stats->recompiles},
        {"hits", stats->hits},
        {"misses", stats->misses},
        {"captures", stats->captures},
        {"replays", stats->replays},
        {"skips", stats->skips},
        {"fallbacks", stats->fallbacks},
        {"compiled_launches", stats->compiled_launches},
        {"donated", stats->donated},
        {"bytes", stats->bytes},
        {"builds", stats->builds},
        {"promotions", stats->promotions},
        {"cubin_hits", stats->cubin_hits},
        {"cubin_misses", stats->cubin_misses},
    };
    char hash[32];
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        json_whole(to, counters[i].name, (long long)counters[i].count);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)stats->plan_hash);
    json_text(to, "plan_hash", hash);
}
