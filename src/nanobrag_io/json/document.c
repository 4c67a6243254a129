/* document.c - writes JSON. SPDX-License-Identifier: MIT */
#include "nanobrag_io/json/document.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "nanobrag_io/file.h"
#include "nanobrag_io/text.h"

static cJSON *put(struct document *d, cJSON *to, const char *key, cJSON *item)
{
    const int added =
        item && to
        && (key ? cJSON_AddItemToObject(to, key, item) : cJSON_AddItemToArray(to, item));

    if (added) return item;
    cJSON_Delete(item);
    d->lost++;
    return NULL;
}

struct document document_begin(void)
{
    return (struct document){.root = cJSON_CreateObject()};
}

cJSON *document_object(struct document *d, cJSON *to, const char *key)
{
    return put(d, to, key, cJSON_CreateObject());
}

cJSON *document_array(struct document *d, cJSON *to, const char *key)
{
    return put(d, to, key, cJSON_CreateArray());
}

void document_digits(struct document *d, cJSON *to, const char *key, double value,
                     int digits)
{
    char text[TEXT_REAL];

    if (!isfinite(value))
        document_null(d, to, key);
    else
        put(d, to, key, text_real(text, digits, value) ? cJSON_CreateRaw(text) : NULL);
}

void document_real(struct document *d, cJSON *to, const char *key, double value)
{
    document_digits(d, to, key, value, 17);
}

void document_null(struct document *d, cJSON *to, const char *key)
{
    put(d, to, key, cJSON_CreateNull());
}

void document_flag(struct document *d, cJSON *to, const char *key, int value)
{
    put(d, to, key, cJSON_CreateBool(value));
}

void document_reals(struct document *d, cJSON *to, const char *key, const double *values,
                    size_t n)
{
    cJSON *array = document_array(d, to, key);

    for (size_t i = 0; i < n; i++) document_real(d, array, NULL, values[i]);
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

/* The name of a file may have bytes that are not UTF-8, which JSON needs. Such bytes become
 * '?'. */
void document_text(struct document *d, cJSON *to, const char *key, const char *text)
{
    cJSON *item = text ? cJSON_CreateString(text) : cJSON_CreateNull();

    for (char *c = item ? item->valuestring : NULL; c && *c;) {
        const size_t n = sequence((const unsigned char *)c);

        if (n == 0) *c = '?', d->replaced++;
        c += n ? n : 1;
    }
    put(d, to, key, item);
}

nb_status document_write(nb_context *ctx, struct document *d, const char *path,
                         const char *what)
{
    struct file_out file;
    char *text = d->lost ? NULL : cJSON_Print(d->root);
    nb_status status;

    cJSON_Delete(d->root);
    d->root = NULL;
    if (!text) return fail_memory(ctx, what);
    status = file_begin(ctx, path, &file);
    if (status == NB_OK) {
        file_put(&file, text, strlen(text));
        file_put(&file, "\n", 1);
        status = file_end(&file);
    }
    cJSON_free(text);
    return status;
}
