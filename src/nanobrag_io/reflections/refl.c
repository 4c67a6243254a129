/*
 * refl.c - reads and writes tables of reflections of DIALS (.refl), version 1. In
 * MessagePack they are ["dials::af::reflection_table", 1, {"identifiers": {id: text},
 * "nrows": n, "data": {name: [type, [n, bytes]]}}]; `bytes` are little-endian numbers.
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/reflections.h>

#include "base/context.h"
#include "nanobrag_io/expand.h"
#include "nanobrag_io/file.h"
#include "nanobrag_io/parse.h"
#include "nanobrag_io/reflections/msgpack.h"
#include "nanobrag_io/reflections/refl_hdf5.h"

enum { COLUMNS_MOST = 1024, NAME_MOST = 255 };

static const char magic[] = "dials::af::reflection_table";

/* the types in the order of enum nb_column_type: DIALS' word, and the bytes of a row */
static const struct {
    const char *word;
    size_t size;
} types[] = {
    {"", 0},
    {"bool", 1},
    {"int", 4},
    {"std::size_t", 8},
    {"double", 8},
    {"vec2<double>", 16},
    {"vec3<double>", 24},
    {"mat3<double>", 72},
    {"int6", 24},
    {"cctbx::miller::index<>", 12},
};
enum { TYPES = sizeof types / sizeof *types };

struct column {
    char *name, *word; /* name; word of the type */
    int type;
    unsigned char *bytes; /* the rows; of NB_COLUMN_OTHER as MessagePack */
    size_t n; /* number of bytes */
};

struct identifier {
    int id;
    char *text;
};

struct nb_reflections {
    size_t rows, ncolumn, nidentifier;
    struct column *column; /* sorted by name */
    struct identifier *identifier;
};

/* ---- the table ---- */

static void free_column(struct column *c)
{
    free(c->name);
    free(c->word);
    free(c->bytes);
}

void nb_reflections_free(nb_reflections *table)
{
    if (!table) return;
    for (size_t i = 0; i < table->ncolumn; i++) free_column(table->column + i);
    for (size_t i = 0; i < table->nidentifier; i++) free(table->identifier[i].text);
    free(table->column);
    free(table->identifier);
    free(table);
}

size_t nb_reflections_rows(const nb_reflections *table)
{
    return table ? table->rows : 0;
}

size_t nb_reflections_columns(const nb_reflections *table)
{
    return table ? table->ncolumn : 0;
}

nb_column nb_reflections_column(const nb_reflections *table, size_t i)
{
    if (i >= nb_reflections_columns(table)) return (nb_column){0};
    const struct column *c = table->column + i;

    return (nb_column){c->name, c->type, c->type == NB_COLUMN_OTHER ? NULL : c->bytes};
}

/* Returns the place of a name among the sorted columns. *found becomes 1 if it is there. */
static size_t place_of(const nb_reflections *table, const char *name, int *found)
{
    size_t low = 0, high = table->ncolumn;

    *found = 0;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        const int order = strcmp(table->column[mid].name, name);

        if (order == 0) {
            *found = 1;
            return mid;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const void *nb_reflections_find(const nb_reflections *table, const char *name, int type)
{
    int found = 0;
    const size_t at = table && name ? place_of(table, name, &found) : 0;

    if (!found || table->column[at].type != type || type == NB_COLUMN_OTHER) return NULL;
    return table->column[at].bytes;
}

/* Copies n bytes and adds a NUL. The caller frees the copy; NULL: no memory. */
static void *copy_of(const void *bytes, size_t n)
{
    char *const out = malloc(n + 1);

    if (!out) return NULL;
    if (n > 0) memcpy(out, bytes, n);
    out[n] = 0;
    return out;
}

/* Puts a column at its place, where it replaces a column of the same name. Takes over the
 * memory of *c. */
static nb_status put_column(nb_context *ctx, nb_reflections *table, struct column *c)
{
    int found = 0;
    size_t at = 0;
    struct column *list = table->column;

    if (c->name && c->word && c->bytes) {
        at = place_of(table, c->name, &found);
        if (!found) list = realloc(list, (table->ncolumn + 1) * sizeof *list);
    } else
        list = NULL;
    if (!list) {
        free_column(c);
        return fail_memory(ctx, "a column of reflections");
    }
    table->column = list;
    if (found)
        free_column(list + at);
    else
        memmove(list + at + 1, list + at, (table->ncolumn++ - at) * sizeof *list);
    list[at] = *c;
    return NB_OK;
}

nb_status nb_reflections_create(nb_context *ctx, size_t rows, nb_reflections **out)
{
    if (!ctx) return NB_ERR_ARGUMENT;
    if (!out) return fail(ctx, NB_ERR_ARGUMENT, "reflections: out is NULL");
    *out = NULL;
    if (rows > INT32_MAX)
        return fail(ctx, NB_ERR_ARGUMENT, "reflections: %zu rows, at most %d", rows,
                    INT32_MAX);
    *out = calloc(1, sizeof **out);
    if (!*out) return fail_memory(ctx, "reflections");
    (*out)->rows = rows;
    return NB_OK;
}

nb_status nb_reflections_set(nb_context *ctx, nb_reflections *table, const char *name,
                             int type, const void *data)
{
    struct column c;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!table || !name || (!data && table->rows > 0))
        return fail(ctx, NB_ERR_ARGUMENT, "reflections: %s is NULL",
                    !table  ? "table"
                    : !name ? "name"
                            : "data");
    if (!*name || strlen(name) > NAME_MOST || type <= NB_COLUMN_OTHER || type >= TYPES)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "reflections: column \"%.40s\" of type %d, expected a name of 1 to %d "
                    "bytes and a type from %d to %d",
                    name, type, NAME_MOST, NB_COLUMN_OTHER + 1, TYPES - 1);
    c = (struct column){.type = type, .n = table->rows * types[type].size};
    c.name = copy_of(name, strlen(name));
    c.word = copy_of(types[type].word, strlen(types[type].word));
    c.bytes = copy_of(data, c.n);
    return put_column(ctx, table, &c);
}

static int compare_ids(const void *a, const void *b)
{
    const struct identifier *one = a, *two = b;

    return one->id < two->id ? -1 : one->id > two->id;
}

static struct identifier *find_identifier(const nb_reflections *table, int id)
{
    const struct identifier key = {id, NULL};

    if (!table || table->nidentifier == 0) return NULL;
    return bsearch(&key, table->identifier, table->nidentifier, sizeof key, compare_ids);
}

const char *nb_reflections_identifier(const nb_reflections *table, int id)
{
    const struct identifier *const found = find_identifier(table, id);

    return found ? found->text : NULL;
}

nb_status nb_reflections_set_identifier(nb_context *ctx, nb_reflections *table, int id,
                                        const char *identifier)
{
    struct identifier *list, *found;
    char *text;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!table || !identifier || id < 0)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "reflections: expected a table, an id of 0 or more and an identifier");
    text = copy_of(identifier, strlen(identifier));
    found = find_identifier(table, id);
    list = !text   ? NULL
           : found ? table->identifier
                   : realloc(table->identifier, (table->nidentifier + 1) * sizeof *list);
    if (!list) {
        free(text);
        return fail_memory(ctx, "an identifier");
    }
    table->identifier = list;
    if (found) {
        free(found->text);
        found->text = text;
        return NB_OK;
    }
    list[table->nidentifier++] = (struct identifier){id, text};
    qsort(list, table->nidentifier, sizeof *list, compare_ids);
    return NB_OK;
}

/* ---- reading ---- */

/* a file that is being read */
struct reading {
    nb_context *ctx;
    const char *name;
    const unsigned char *bytes;
    nb_reflections *table;
};

static nb_status wrong(const struct reading *r, const unsigned char *at,
                       const char *expected)
{
    return fail(r->ctx, NB_ERR_FORMAT,
                "%s, byte %zu: expected %s; the file is damaged, or no .refl of DIALS",
                r->name, (size_t)(at - r->bytes), expected);
}

/* Finds the values of the keys "identifiers", "nrows" and "data". If a key is missing,
 * parts[k].at stays NULL. */
static nb_status find_parts(const struct reading *r, struct msgpack *m,
                            struct msgpack parts[3])
{
    static const char *const keys[3] = {"identifiers", "nrows", "data"};
    struct msgpack_item map, key;

    if (!msgpack_take(m, MSGPACK_MAP, &map)) return wrong(r, m->at, "a map");
    for (size_t i = 0; i < map.n; i++) {
        struct msgpack value;

        if (!msgpack_next(m, &key)) return wrong(r, m->at, "a key");
        value = *m;
        if (!msgpack_skip(m)) return wrong(r, m->at, "a value");
        for (int k = 0; k < 3; k++)
            if (msgpack_is(&key, keys[k])) parts[k] = value;
    }
    return NB_OK;
}

static nb_status read_identifiers(const struct reading *r, struct msgpack m)
{
    nb_reflections *const table = r->table;
    struct msgpack_item map, id, text;

    if (!m.at) return NB_OK;
    if (!msgpack_take(&m, MSGPACK_MAP, &map)) return wrong(r, m.at, "a map of identifiers");
    if (map.n == 0) return NB_OK;
    table->identifier = calloc(map.n, sizeof *table->identifier);
    if (!table->identifier) return fail_memory(r->ctx, "identifiers");
    for (size_t i = 0; i < map.n; i++) {
        struct identifier *const to = table->identifier + i;

        if (!msgpack_take(&m, MSGPACK_INT, &id) || id.number < 0 || id.number > INT_MAX)
            return wrong(r, m.at, "the number of an experiment");
        if (!msgpack_take(&m, MSGPACK_TEXT, &text) || memchr(text.bytes, 0, text.n))
            return wrong(r, m.at, "an identifier");
        *to = (struct identifier){(int)id.number, copy_of(text.bytes, text.n)};
        if (!to->text) return fail_memory(r->ctx, "identifiers");
        table->nidentifier = i + 1;
    }
    qsort(table->identifier, map.n, sizeof *table->identifier, compare_ids);
    for (size_t i = 1; i < map.n; i++)
        if (table->identifier[i].id == table->identifier[i - 1].id)
            return wrong(r, m.at, "one identifier for each experiment");
    return NB_OK;
}

/* Reads the rows of a column whose type is known. */
static nb_status read_rows(const struct reading *r, struct msgpack *m, struct column *c)
{
    struct msgpack_item pair, n, bytes;
    const unsigned char *const at = m->at;

    if (!msgpack_take(m, MSGPACK_ARRAY, &pair) || pair.n != 2
        || !msgpack_take(m, MSGPACK_INT, &n) || !msgpack_next(m, &bytes)
        || (bytes.kind != MSGPACK_BYTES && bytes.kind != MSGPACK_TEXT))
        return wrong(r, at, "a number of rows and their bytes");
    c->n = r->table->rows * types[c->type].size;
    if ((uint64_t)n.number != r->table->rows || bytes.n != c->n)
        return fail(r->ctx, NB_ERR_FORMAT,
                    "%s, byte %zu: the numbers of rows and bytes in column \"%s\" are %lld "
                    "and %zu, expected %zu and %zu",
                    r->name, (size_t)(at - r->bytes), c->name, (long long)n.number, bytes.n,
                    r->table->rows, c->n);
    c->bytes = copy_of(bytes.bytes, c->n);
    return NB_OK;
}

/* Reads [type, rows] of a column. */
static nb_status read_column(const struct reading *r, struct msgpack *m, struct column *c)
{
    struct msgpack_item pair, word;
    const unsigned char *at;

    if (!msgpack_take(m, MSGPACK_ARRAY, &pair) || pair.n != 2
        || !msgpack_take(m, MSGPACK_TEXT, &word) || word.n > NAME_MOST
        || memchr(word.bytes, 0, word.n))
        return wrong(r, m->at, "the type of a column and its rows");
    c->word = copy_of(word.bytes, word.n);
    c->type = NB_COLUMN_OTHER;
    for (int k = 1; k < TYPES; k++)
        if (msgpack_is(&word, types[k].word)) c->type = k;
    if (c->type != NB_COLUMN_OTHER) return read_rows(r, m, c);
    at = m->at;
    if (!msgpack_skip(m)) return wrong(r, at, "the rows of a column");
    c->n = (size_t)(m->at - at);
    c->bytes = copy_of(at, c->n);
    return NB_OK;
}

static nb_status read_columns(const struct reading *r, struct msgpack m)
{
    struct msgpack_item map, name;

    if (!msgpack_take(&m, MSGPACK_MAP, &map) || map.n > COLUMNS_MOST)
        return wrong(r, m.at, "a map of at most 1024 columns");
    for (size_t i = 0; i < map.n; i++) {
        struct column c = {0};
        nb_status status;
        int found;

        if (!msgpack_take(&m, MSGPACK_TEXT, &name) || name.n < 1 || name.n > NAME_MOST
            || memchr(name.bytes, 0, name.n))
            return wrong(r, m.at, "the name of a column");
        c.name = copy_of(name.bytes, name.n);
        if (!c.name) return fail_memory(r->ctx, "a column of reflections");
        (void)place_of(r->table, c.name, &found);
        status = found ? wrong(r, m.at, "a column of another name than those before")
                       : read_column(r, &m, &c);
        if (status != NB_OK) {
            free_column(&c);
            return status;
        }
        NB_TRY(put_column(r->ctx, r->table, &c));
    }
    return NB_OK;
}

static nb_status read_table(const struct reading *r, size_t n)
{
    struct msgpack m = {r->bytes, r->bytes + n}, parts[3] = {{0}};
    struct msgpack_item top, word, version, rows;

    if (!msgpack_take(&m, MSGPACK_ARRAY, &top) || top.n < 3 || !msgpack_next(&m, &word)
        || !msgpack_is(&word, magic))
        return fail(r->ctx, NB_ERR_FORMAT,
                    "%s is not MessagePack of \"%s\"; write it with DIALS 2 or later "
                    "(as_file)",
                    r->name, magic);
    if (!msgpack_take(&m, MSGPACK_INT, &version) || version.number != 1)
        return wrong(r, m.at, "version 1 of the table");
    NB_TRY(find_parts(r, &m, parts));
    if (!parts[1].at || !msgpack_take(&parts[1], MSGPACK_INT, &rows) || rows.number < 0
        || rows.number > INT32_MAX)
        return wrong(r, parts[1].at ? parts[1].at : m.at,
                     "\"nrows\", a number from 0 to 2147483647");
    if (!parts[2].at) return wrong(r, m.at, "\"data\", the columns");
    r->table->rows = (size_t)rows.number;
    NB_TRY(read_identifiers(r, parts[0]));
    return read_columns(r, parts[2]);
}

nb_status refl_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                     void *to)
{
    nb_reflections **const out = to;
    struct reading r = {.ctx = ctx, .name = name, .bytes = bytes};
    nb_status status;

    *out = NULL;
    NB_TRY(nb_reflections_create(ctx, 0, &r.table));
    status = read_table(&r, n);
    if (status == NB_OK)
        *out = r.table;
    else
        nb_reflections_free(r.table);
    return status;
}

nb_status nb_reflections_read(nb_context *ctx, const char *path, nb_reflections **out)
{
    static const size_t most = (size_t)1 << 32;
    static const char hdf5_begins[] = "\211HDF\r\n";
    unsigned char *bytes;
    nb_status status;
    int is_hdf5;
    size_t n;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || !out)
        return fail(ctx, NB_ERR_ARGUMENT, "reflections: %s is NULL", path ? "out" : "path");
    *out = NULL;
    NB_TRY(expand_read(ctx, path, most, &bytes, &n));
    is_hdf5 = n >= 6 && memcmp(bytes, hdf5_begins, 6) == 0;
    status = is_hdf5 ? NB_OK : refl_parse(ctx, path, bytes, n, out);
    free(bytes);
    return is_hdf5 ? refl_hdf5_read(ctx, path, n, out) : status;
}

/* ---- writing ---- */

static void put_head(struct file_out *out, enum msgpack_kind kind, uint64_t n)
{
    unsigned char head[MSGPACK_HEAD];

    file_put(out, head, msgpack_head(kind, n, head));
}

static void put_text(struct file_out *out, const char *text)
{
    put_head(out, MSGPACK_TEXT, strlen(text));
    file_put(out, text, strlen(text));
}

static void put_rows(struct file_out *out, const nb_reflections *table,
                     const struct column *c)
{
    put_text(out, c->name);
    put_head(out, MSGPACK_ARRAY, 2);
    put_text(out, c->word);
    if (c->type != NB_COLUMN_OTHER) {
        put_head(out, MSGPACK_ARRAY, 2);
        put_head(out, MSGPACK_INT, table->rows);
        put_head(out, MSGPACK_BYTES, c->n);
    }
    file_put(out, c->bytes, c->n);
}

nb_status nb_reflections_write(nb_context *ctx, const char *path,
                               const nb_reflections *table)
{
    struct file_out out;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || !table)
        return fail(ctx, NB_ERR_ARGUMENT, "reflections: %s is NULL",
                    path ? "table" : "path");
    NB_TRY(file_begin(ctx, path, &out));
    put_head(&out, MSGPACK_ARRAY, 3);
    put_text(&out, magic);
    put_head(&out, MSGPACK_INT, 1);
    put_head(&out, MSGPACK_MAP, 3);
    put_text(&out, "identifiers");
    put_head(&out, MSGPACK_MAP, table->nidentifier);
    for (size_t i = 0; i < table->nidentifier; i++) {
        put_head(&out, MSGPACK_INT, (uint64_t)table->identifier[i].id);
        put_text(&out, table->identifier[i].text);
    }
    put_text(&out, "nrows");
    put_head(&out, MSGPACK_INT, table->rows);
    put_text(&out, "data");
    put_head(&out, MSGPACK_MAP, table->ncolumn);
    for (size_t i = 0; i < table->ncolumn; i++) put_rows(&out, table, table->column + i);
    return file_end(&out);
}
