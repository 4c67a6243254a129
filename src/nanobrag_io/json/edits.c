/* edits.c - finds and replaces values in a text of JSON. SPDX-License-Identifier: MIT */
#include "nanobrag_io/json/edits.h"

#include <stdlib.h>
#include <string.h>

/* ---- values of a text ---- */

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (unsigned char)*at <= ' ') at++;
    return at;
}

/* Returns the end of the string that starts at a quote. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end) at++;
    return at < end ? at + 1 : end;
}

/* Returns the end of the value that starts at `at`. */
static const char *skip_value(const char *at, const char *end)
{
    int depth = 0;

    do {
        if (at >= end) return end;
        if (*at == '"') {
            at = skip_string(at, end);
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (*at == '}' || *at == ']') {
            depth--;
            at++;
        } else if (depth > 0) {
            at++;
        } else {
            while (at < end && (unsigned char)*at > ' ' && *at != ',' && *at != ']'
                   && *at != '}')
                at++;
        }
    } while (depth > 0);
    return at;
}

static struct span span_between(const char *at, const char *end)
{
    return (struct span){at, (size_t)(end - at)};
}

struct span edits_value(struct span text)
{
    const char *const end = text.at + text.n;
    const char *const at = skip_blanks(text.at, end);

    return span_between(at, skip_value(at, end));
}

struct span edits_inside(struct span value)
{
    const int has_brackets = value.n >= 2 && (*value.at == '{' || *value.at == '[');

    return (struct span){value.at + (value.n > 0), has_brackets ? value.n - 2 : 0};
}

/* Takes the next value, and its key, off a list or object; the key is empty in a list.
 * Returns 0 at the end. */
static int next_pair(struct span *inside, struct span *key, struct span *value)
{
    const char *const end = inside->at + inside->n;
    const char *at = skip_blanks(inside->at, end), *after;

    if (at < end && *at == ',') at = skip_blanks(at + 1, end);
    if (at == end) return 0;
    *value = span_between(at, skip_value(at, end));
    *key = span_between(at, at);
    after = skip_blanks(value->at + value->n, end);
    if (after < end && *after == ':') {
        *key = *value;
        *value = edits_value(span_between(after + 1, end));
    }
    if (value->n == 0) return 0;
    *inside = span_between(value->at + value->n, end);
    return 1;
}

int edits_next(struct span *inside, struct span *value)
{
    struct span key;

    return next_pair(inside, &key, value);
}

int edits_member(struct span object, const char *key, struct span *value)
{
    const size_t n = strlen(key);
    struct span inside = edits_inside(object), found, at;

    while (next_pair(&inside, &found, &at))
        if (found.n == n + 2 && memcmp(found.at + 1, key, n) == 0) {
            *value = at;
            return 1;
        }
    return 0;
}

/* ---- edits ---- */

/* a text that replaces a span */
struct edit {
    struct span old;
    char *text;
    size_t n;
};

void edits_replace(struct edits *edits, struct span old, const char *text, size_t n)
{
    char *const copy = malloc(n + 1);

    if (edits->n == edits->room) {
        const size_t room = 2 * edits->room + 16;
        struct edit *const longer = realloc(edits->at, room * sizeof *longer);

        if (longer) edits->at = longer;
        if (longer) edits->room = room;
    }
    if (!copy || edits->n == edits->room) {
        free(copy);
        edits->lost = 1;
        return;
    }
    memcpy(copy, text, n);
    edits->at[edits->n++] = (struct edit){old, copy, n};
}

/* Writes n numbers, at most NUMBERS_MOST, separated by commas. Returns the number of
 * bytes. */
enum { NUMBERS_MOST = 9, NUMBERS_TEXT = NUMBERS_MOST * (TEXT_REAL + 2) };
static size_t write_reals(struct edits *edits, const double *values, int n,
                          char out[NUMBERS_TEXT])
{
    size_t length = 0;

    for (int i = 0; i < n; i++) {
        if (i > 0) {
            out[length++] = ',';
            out[length++] = ' ';
        }
        if (!text_real(out + length, 17, values[i])) {
            edits->lost = 1;
            return 0;
        }
        length += strlen(out + length);
    }
    return length;
}

void edits_real(struct edits *edits, struct span old, double value)
{
    char text[NUMBERS_TEXT];

    edits_replace(edits, old, text, write_reals(edits, &value, 1, text));
}

void edits_reals(struct edits *edits, struct span old, const double *values, int n)
{
    char text[NUMBERS_TEXT + 2] = "[";
    const size_t length = 1 + write_reals(edits, values, n, text + 1);

    text[length] = ']';
    edits_replace(edits, old, text, length + 1);
}

/* Returns the place of a member's value. If the object lacks the member, writes its key at
 * the start of the object, and returns the empty span behind the key. */
static struct span place_of(struct edits *edits, struct span object, const char *key)
{
    struct span value;

    if (edits_member(object, key, &value)) return value;
    value = (struct span){object.at + 1, 0};
    edits_replace(edits, value, "\"", 1);
    edits_replace(edits, value, key, strlen(key));
    edits_replace(edits, value, "\": ", 3);
    return value;
}

/* Writes the comma behind a member that place_of() has added. */
static void end_member(struct edits *edits, struct span object, struct span value)
{
    struct span inside = edits_inside(object), first;

    if (value.n == 0 && edits_next(&inside, &first)) edits_replace(edits, value, ", ", 2);
}

void edits_set_vector(struct edits *edits, struct span object, const char *key,
                      const double v[3])
{
    const struct span value = place_of(edits, object, key);

    edits_reals(edits, value, v, 3);
    end_member(edits, object, value);
}

void edits_set_real(struct edits *edits, struct span object, const char *key, double value)
{
    const struct span place = place_of(edits, object, key);

    edits_real(edits, place, value);
    end_member(edits, object, place);
}

/* Sorts edits by their place in the text (merge sort); edits of one place keep their
 * order. */
static void sort(struct edit *edit, struct edit *other, size_t n)
{
    const size_t half = n / 2;
    size_t i = 0, k = half, to = 0;

    if (n < 2) return;
    sort(edit, other, half);
    sort(edit + half, other, n - half);
    memcpy(other, edit, n * sizeof *other);
    while (to < n)
        edit[to++] = k == n || (i < half && other[i].old.at <= other[k].old.at)
                         ? other[i++]
                         : other[k++];
}

static void free_edits(struct edits *edits)
{
    for (size_t i = 0; i < edits->n; i++) free(edits->at[i].text);
    free(edits->at);
    *edits = (struct edits){NULL, 0, 0, 0};
}

char *edits_apply(struct edits *edits, struct span text, size_t *length)
{
    struct edit *const other = malloc((edits->n + 1) * sizeof *other);
    size_t size = text.n + 1;
    const char *from = text.at;
    char *out, *to;

    for (size_t i = 0; i < edits->n; i++) size += edits->at[i].n;
    out = other && !edits->lost ? malloc(size) : NULL;
    to = out;
    if (out && edits->n > 0) sort(edits->at, other, edits->n);
    for (size_t i = 0; out && i < edits->n; i++) {
        const struct edit *const edit = edits->at + i;

        if (edit->old.at < from) continue; /* inside a span that the edit before replaced */
        memcpy(to, from, (size_t)(edit->old.at - from));
        to += edit->old.at - from;
        memcpy(to, edit->text, edit->n);
        to += edit->n;
        from = edit->old.at + edit->old.n;
    }
    if (out) {
        const size_t rest = (size_t)(text.at + text.n - from);

        memcpy(to, from, rest);
        to[rest] = '\0';
        *length = (size_t)(to - out) + rest;
    }
    free(other);
    free_edits(edits);
    return out;
}
