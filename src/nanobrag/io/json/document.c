/* document.c - writes JSON. SPDX-License-Identifier: MIT */
#include "io/json/document.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "io/file.h"
#include "io/text.h"

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

void document_string(struct document *d, cJSON *to, const char *key, const char *text)
{
    put(d, to, key, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

void document_text(struct document *d, cJSON *to, const char *key, const char *text)
{
    cJSON *item = text ? cJSON_CreateString(text) : cJSON_CreateNull();

    for (char *c = item ? item->valuestring : NULL; c && *c; c++)
        if ((unsigned char)*c > 126) *c = '?';
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
