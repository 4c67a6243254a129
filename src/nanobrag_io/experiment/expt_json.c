/* expt_json.c - reads the JSON of an .expt. SPDX-License-Identifier: MIT */
#include "nanobrag_io/experiment/expt_json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "scene/linear.h"

/* ---- text ---- */

/* Returns the length of NaN, Infinity or -Infinity if the text begins with one of them;
 * else 0. Python writes these words, which JSON does not have. */
static size_t unknown_number(const char *at, size_t n)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (n >= strlen(words[i]) && memcmp(at, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
}

/* Returns a copy of JSON text in which null replaces NaN and Infinity, except inside
 * strings. *length becomes the length of the copy. The caller frees it; NULL: no memory. */
static char *without_unknown(const char *bytes, size_t n, size_t *length)
{
    char *copy = calloc(n + n / 3 + 8, 1), *to = copy;
    int in_string = 0;

    for (size_t i = 0; copy && i < n; i++) {
        const size_t word = in_string ? 0 : unknown_number(bytes + i, n - i);

        if (word > 0) {
            memcpy(to, "null", 4);
            to += 4;
            i += word - 1;
            continue;
        }
        if (in_string && bytes[i] == '\\' && i + 1 < n)
            *to++ = bytes[i++];
        else if (bytes[i] == '"')
            in_string = !in_string;
        *to++ = bytes[i];
    }
    *length = copy ? (size_t)(to - copy) : 0;
    return copy;
}

static long line_of(const char *text, const char *at)
{
    long line = 1;

    for (; text < at; text++) line += *text == '\n';
    return line;
}

nb_status expt_document(nb_context *ctx, const char *name, const void *bytes, size_t n,
                        cJSON **root)
{
    const char *end = NULL;
    size_t length;
    char *text = without_unknown(bytes, n, &length);
    nb_status status = NB_OK;

    *root = NULL;
    if (!text) return fail_memory(ctx, name);
    errno = 0;
    *root = cJSON_ParseWithLengthOpts(text, length, &end, 0);
    if (!*root && errno == ENOMEM)
        status = fail_memory(ctx, name);
    else if (!*root)
        status =
            fail(ctx, NB_ERR_FORMAT,
                 "%s, line %ld: the text is not JSON; give a complete .expt of DIALS", name,
                 end && end >= text && end <= text + length ? line_of(text, end) : 1);
    free(text);
    return status;
}

/* ---- models and numbers ---- */

nb_status expt_model(const struct expt *e, const cJSON *experiment, const char *kind,
                     const cJSON **model)
{
    const cJSON *which = cJSON_GetObjectItemCaseSensitive(experiment, kind);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(e->root, kind);
    const int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;

    *model = NULL;
    if (!which || cJSON_IsNull(which)) return NB_OK;
    if (cJSON_IsString(which))
        return fail(e->ctx, NB_ERR_UNSUPPORTED,
                    "%s: experiment %d has the %s in another file; write all models into "
                    "the .expt, as DIALS does",
                    e->name, e->i, kind);
    if (!cJSON_IsNumber(which) || !(which->valuedouble >= 0 && which->valuedouble < n)
        || which->valuedouble != floor(which->valuedouble))
        return fail(e->ctx, NB_ERR_FORMAT,
                    "%s: experiment %d names a %s that the file does not have", e->name,
                    e->i, kind);
    *model = cJSON_GetArrayItem(list, (int)which->valuedouble);
    if (cJSON_IsObject(*model)) return NB_OK;
    return fail(e->ctx, NB_ERR_FORMAT, "%s: the %s of experiment %d is not a JSON object",
                e->name, kind, e->i);
}

nb_status expt_wrong(const struct expt *e, const char *what, const char *key,
                     const char *expected)
{
    return fail(e->ctx, NB_ERR_FORMAT,
                "%s: \"%s\" of the %s of experiment %d is missing or wrong; expected %s",
                e->name, key, what, e->i, expected);
}

static int is_real(const cJSON *item)
{
    return cJSON_IsNumber(item) && isfinite(item->valuedouble);
}

nb_status expt_numbers(const struct expt *e, const cJSON *array, const char *what,
                       const char *key, double *out, int n, int length)
{
    static const char *const expected[] = {"a finite number", "two finite numbers",
                                           "three finite numbers"};
    const char *wanted =
        length >= 1 && length <= 3 ? expected[length - 1] : "a list of finite numbers";
    const cJSON *item;
    int i = 0;

    if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) != length)
        return expt_wrong(e, what, key, wanted);
    cJSON_ArrayForEach(item, array)
    {
        if (i == n) break;
        if (!is_real(item)) return expt_wrong(e, what, key, wanted);
        out[i++] = item->valuedouble;
    }
    return NB_OK;
}

nb_status expt_reals(const struct expt *e, const cJSON *model, const char *what,
                     const char *key, double *out, int n)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(model, key);

    if (n > 1) return expt_numbers(e, item, what, key, out, n, n);
    if (!is_real(item)) return expt_wrong(e, what, key, "a finite number");
    *out = item->valuedouble;
    return NB_OK;
}

nb_status expt_optional(const struct expt *e, const cJSON *model, const char *what,
                        const char *key, double *out, int n)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(model, key);

    if (!item || cJSON_IsNull(item)) return NB_OK;
    return expt_reals(e, model, what, key, out, n);
}
