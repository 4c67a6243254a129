/*
 * fit/file/document.c - a JSON document in the making.
 *
 * SPDX-License-Identifier: MIT
 */
#ifdef NANOBRAG_CJSON

#include "fit/file/document.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static cJSON *add(struct document *d, cJSON *to, const char *key, cJSON *item)
{
    const int added =
        item && to
        && (key ? cJSON_AddItemToObject(to, key, item) : cJSON_AddItemToArray(to, item));

    if (added) return item;
    cJSON_Delete(item);
    d->lost++;
    return NULL;
}

cJSON *document_object(struct document *d, cJSON *to, const char *key)
{
    return add(d, to, key, cJSON_CreateObject());
}

cJSON *document_array(struct document *d, cJSON *to, const char *key)
{
    return add(d, to, key, cJSON_CreateArray());
}

void document_digits(struct document *d, cJSON *to, const char *key, double value,
                     int digits)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%.*g", digits, value);
    /* the point of a locale may be a comma */
    for (char *c = text; *c; c++)
        if (!strchr("0123456789+-e", *c)) *c = '.';
    add(d, to, key, isfinite(value) ? cJSON_CreateRaw(text) : cJSON_CreateNull());
}

void document_real(struct document *d, cJSON *to, const char *key, double value)
{
    document_digits(d, to, key, value, 17);
}

void document_null(struct document *d, cJSON *to, const char *key)
{
    add(d, to, key, cJSON_CreateNull());
}

void document_flag(struct document *d, cJSON *to, const char *key, int value)
{
    add(d, to, key, cJSON_CreateBool(value));
}

void document_reals(struct document *d, cJSON *to, const char *key, const double *values,
                    size_t n)
{
    cJSON *array = document_array(d, to, key);

    for (size_t i = 0; i < n; i++) document_real(d, array, NULL, values[i]);
}

void document_text(struct document *d, cJSON *to, const char *key, const char *text)
{
    cJSON *item = text ? cJSON_CreateString(text) : cJSON_CreateNull();

    for (char *c = item ? item->valuestring : NULL; c && *c; c++)
        if ((unsigned char)*c > 126) *c = '?';
    add(d, to, key, item);
}

#endif
