/*
 * refl_hdf5.c - see refl_hdf5.h. DIALS writes a table as a group with a dataset for each
 * column. There are three forms:
 *
 *   /dials/NAME/group_0, group_1, ...        tables; the last NAME counts
 *   /entry/data_processing/IDENTIFIER        a table of one experiment, without column id
 *   /entry/data_processing                   one table, with whole numbers of 64 bits
 *
 * Texts of variable length are not read, among them the attribute "identifiers" of a group:
 * if such a text is damaged, HDF5 1.10 reads beyond its memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/reflections/refl_hdf5.h"

#include "base/context.h"

#ifdef NANOBRAG_HDF5

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_io/images/hdf5/hdf5_tree.h"
#include "nanobrag_io/measured/hdf5_fields.h"

#define OLD "/entry/data_processing"

enum { TABLES_MOST = 100000, COLUMNS_MOST = 1024, NAME_MOST = 255 };

/* one of the tables of a file, which become one */
struct table {
    char path[FIELDS_PATH];
    hsize_t rows;
};

struct reading {
    nb_context *ctx;
    const char *name;
    struct fields in;
    int no_memory;
    struct hdf5_tree tree; /* for HDF5's reason of a failure */
    struct table *table; /* (ntable) */
    size_t ntable;
    hsize_t rows; /* of all tables */
    size_t bytes, bytes_most; /* of all columns */
    nb_reflections *out;
};

/* what a dataset holds */
struct column {
    int type; /* enum nb_column_type; NB_COLUMN_OTHER: it is no column */
    size_t size; /* bytes of a row */
    hsize_t rows;
};

/* ---- columns ---- */

/* Returns the type of a column by its numbers. */
static int type_of(H5T_class_t class, int is_signed, int rank, const hsize_t *size)
{
    const int is_real = class == H5T_FLOAT, is_whole = class == H5T_INTEGER;

    if (rank == 1)
        return class == H5T_ENUM       ? NB_COLUMN_BOOL
               : is_real               ? NB_COLUMN_DOUBLE
               : is_whole && is_signed ? NB_COLUMN_INT
               : is_whole              ? NB_COLUMN_SIZE
                                       : NB_COLUMN_OTHER;
    if (rank == 2 && size[1] == 3)
        return is_real ? NB_COLUMN_VEC3 : is_whole ? NB_COLUMN_MILLER : NB_COLUMN_OTHER;
    if (rank == 2 && size[1] == 2 && is_real) return NB_COLUMN_VEC2;
    if (rank == 2 && size[1] == 6 && is_whole) return NB_COLUMN_INT6;
    if (rank == 3 && size[1] == 3 && size[2] == 3 && is_real) return NB_COLUMN_MAT3;
    return NB_COLUMN_OTHER;
}

static size_t size_of(int type)
{
    static const size_t sizes[] =
        {[NB_COLUMN_BOOL] = 1,   [NB_COLUMN_INT] = 4,   [NB_COLUMN_SIZE] = 8,
         [NB_COLUMN_DOUBLE] = 8, [NB_COLUMN_VEC2] = 16, [NB_COLUMN_VEC3] = 24,
         [NB_COLUMN_MAT3] = 72,  [NB_COLUMN_INT6] = 24, [NB_COLUMN_MILLER] = 12};

    return sizes[type];
}

/* Returns 1 if the file holds as many bytes as the rows of a dataset need. HDF5 1.10 does
 * not check this, except for chunks. */
static int has_bytes(hid_t data, hid_t type, hid_t space)
{
    const hid_t properties = hdf5.H5Dget_create_plist(data);
    const int is_chunked = properties >= 0 && hdf5.H5Pget_layout(properties) == H5D_CHUNKED;
    const hssize_t n = hdf5.H5Sget_simple_extent_npoints(space);
    const size_t size = hdf5.H5Tget_size(type);

    if (properties >= 0) (void)hdf5.H5Pclose(properties);
    return is_chunked
           || (n >= 0 && size > 0 && (uint64_t)n <= hdf5.H5Dget_storage_size(data) / size);
}

/* Finds what a dataset of a group holds. */
static struct column describe(const struct reading *r, const char *path)
{
    const hid_t data = hdf5.H5Dopen2(r->in.file, path, H5P_DEFAULT);
    const hid_t type = data >= 0 ? hdf5.H5Dget_type(data) : -1;
    const hid_t space = data >= 0 ? hdf5.H5Dget_space(data) : -1;
    const int rank = space >= 0 ? hdf5.H5Sget_simple_extent_ndims(space) : -1;
    /* columns without a sign, which the oldest form has with one */
    static const char *const sizes[] = {"flags", "panel", "partial_id"};
    hsize_t size[3] = {0};
    struct column c = {.type = NB_COLUMN_OTHER};

    if (type >= 0 && rank >= 1 && rank <= 3
        && hdf5.H5Sget_simple_extent_dims(space, size, NULL) == rank)
        c.type = type_of(hdf5.H5Tget_class(type), hdf5.H5Tget_sign(type) == H5T_SGN_2, rank,
                         size);
    for (size_t i = 0; c.type == NB_COLUMN_INT && i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(strrchr(path, '/') + 1, sizes[i]) == 0) c.type = NB_COLUMN_SIZE;
    if (c.type == NB_COLUMN_BOOL && hdf5.H5Tget_size(type) != 1) c.type = NB_COLUMN_OTHER;
    c.rows =
        c.type == NB_COLUMN_OTHER || has_bytes(data, type, space) ? size[0] : UINT64_MAX;
    c.size = size_of(c.type);
    if (space >= 0) (void)hdf5.H5Sclose(space);
    if (type >= 0) (void)hdf5.H5Tclose(type);
    if (data >= 0) (void)hdf5.H5Dclose(data);
    return c;
}

static nb_status wrong(const struct reading *r, const char *path, const char *what)
{
    return fail(r->ctx, NB_ERR_FORMAT,
                "%s: %s %s; the file is damaged, or no .refl of DIALS", r->name, path,
                what);
}

/* Reads the rows of a column from one table. */
static nb_status read_rows(struct reading *r, const char *path, const struct column *c,
                           unsigned char *to)
{
    const hid_t data = hdf5.H5Dopen2(r->in.file, path, H5P_DEFAULT);
    const hid_t own = data >= 0 ? hdf5.H5Dget_type(data) : -1;
    const int is_int = c->type == NB_COLUMN_INT || c->type == NB_COLUMN_INT6
                       || c->type == NB_COLUMN_MILLER;
    const hid_t type = c->type == NB_COLUMN_BOOL   ? own
                       : c->type == NB_COLUMN_SIZE ? *hdf5.H5T_NATIVE_UINT64_g
                       : is_int                    ? *hdf5.H5T_NATIVE_INT32_g
                                                   : *hdf5.H5T_NATIVE_DOUBLE_g;
    const hid_t done = data < 0 || own < 0
                           ? -1
                           : hdf5_checked(&r->tree, hdf5.H5Dread(data, type, H5S_ALL,
                                                                 H5S_ALL, H5P_DEFAULT, to));

    for (hsize_t i = 0; c->type == NB_COLUMN_BOOL && i < c->rows; i++) to[i] = to[i] != 0;
    if (own >= 0) (void)hdf5.H5Tclose(own);
    if (data >= 0) (void)hdf5.H5Dclose(data);
    if (done >= 0) return NB_OK;
    return fail(r->ctx, NB_ERR_FORMAT,
                "%s: %s cannot be read (HDF5 says: %s); the file is damaged or cut off, "
                "copy "
                "it again",
                r->name, path, r->tree.why);
}

/* Reads column `name` of all tables, which the first table has as `c`. A column that others
 * lack, or have otherwise, is left out. */
static nb_status read_column(struct reading *r, const char *name, const struct column *c)
{
    unsigned char *bytes, *to;
    char path[2 * FIELDS_PATH];
    nb_status status = NB_OK;

    for (size_t k = 0; k < r->ntable; k++) {
        struct column other;

        (void)snprintf(path, sizeof path, "%s/%s", r->table[k].path, name);
        other = describe(r, path);
        if (other.type != c->type) return NB_OK;
        if (other.rows != r->table[k].rows)
            return wrong(r, path, "has another number of rows than the columns before it");
    }
    if (c->size * r->rows > r->bytes_most - r->bytes)
        return wrong(r, path, "has far more rows than the file has bytes");
    r->bytes += c->size * r->rows;
    bytes = to = malloc(c->size * r->rows + 1);
    if (!bytes) return fail_memory(r->ctx, r->name);
    for (size_t k = 0; status == NB_OK && k < r->ntable; k++) {
        const struct column part = {c->type, c->size, r->table[k].rows};

        (void)snprintf(path, sizeof path, "%s/%s", r->table[k].path, name);
        status = read_rows(r, path, &part, to);
        to += c->size * part.rows;
    }
    if (status == NB_OK) status = nb_reflections_set(r->ctx, r->out, name, c->type, bytes);
    free(bytes);
    return status;
}

/* Makes the column id of tables without it, which are named after their experiments. */
static nb_status number_tables(struct reading *r)
{
    int32_t *const id = calloc((size_t)r->rows + 1, sizeof *id);
    hsize_t row = 0;
    nb_status status = NB_OK;

    if (!id) return fail_memory(r->ctx, r->name);
    for (size_t k = 0; k < r->ntable && status == NB_OK; k++) {
        for (hsize_t i = 0; i < r->table[k].rows; i++) id[row++] = (int32_t)k;
        status = nb_reflections_set_identifier(r->ctx, r->out, (int)k,
                                               strrchr(r->table[k].path, '/') + 1);
    }
    if (status == NB_OK)
        status = nb_reflections_set(r->ctx, r->out, "id", NB_COLUMN_INT, id);
    free(id);
    return status;
}

/* ---- tables ---- */

/* Adds the table of a group. Its first column says how many rows it has. */
static nb_status add_table(struct reading *r, const char *path)
{
    struct table *const more = realloc(r->table, (r->ntable + 1) * sizeof *more);
    struct column c = {.type = NB_COLUMN_OTHER};
    char member[FIELDS_PATH];

    if (!more) return fail_memory(r->ctx, r->name);
    r->table = more;
    for (uint64_t i = 0;
         c.type == NB_COLUMN_OTHER && fields_member(&r->in, path, i, member); i++)
        c = describe(r, member);
    if (c.type == NB_COLUMN_OTHER)
        return wrong(r, path, "has no column of numbers, where a table is expected");
    if (r->ntable == TABLES_MOST || c.rows > (hsize_t)INT32_MAX - r->rows)
        return wrong(r, path,
                     "has more than 2147483647 rows, or is one of too many tables");
    (void)snprintf(more[r->ntable].path, sizeof more->path, "%s", path);
    more[r->ntable++].rows = c.rows;
    r->rows += c.rows;
    return NB_OK;
}

/* Finds the last member of /dials, by the time of its creation if the file has it. */
static int last_member(const struct reading *r, char out[FIELDS_PATH])
{
    const int n = snprintf(out, FIELDS_PATH, "/dials/");
    char next[FIELDS_PATH];
    int found = 0;

    if (hdf5.H5Lget_name_by_idx(r->in.file, "/dials", H5_INDEX_CRT_ORDER, H5_ITER_DEC, 0,
                                out + n, (size_t)(FIELDS_PATH - n), H5P_DEFAULT)
        > 0)
        return 1;
    while (fields_member(&r->in, "/dials", (uint64_t)found, next)) {
        memcpy(out, next, sizeof next);
        found++;
    }
    return found > 0;
}

/* Finds the tables of a file. *is_named becomes 1 if they are named after experiments. */
static nb_status find_tables(struct reading *r, int *is_named)
{
    char path[FIELDS_PATH], member[FIELDS_PATH];
    const int is_new = last_member(r, path);

    *is_named = 0;
    if (!is_new) (void)snprintf(path, sizeof path, OLD);
    if (!fields_member(&r->in, path, 0, member))
        return fail(r->ctx, NB_ERR_FORMAT,
                    "%s: there is no table in /dials or " OLD ", where DIALS has the "
                    "reflections; write it again by as_file()",
                    r->name);
    if (!is_new && describe(r, member).type != NB_COLUMN_OTHER) return add_table(r, path);
    *is_named = !is_new;
    for (uint64_t i = 0; fields_member(&r->in, path, i, member); i++)
        NB_TRY(add_table(r, member));
    return NB_OK;
}

static nb_status read_table(struct reading *r)
{
    char path[FIELDS_PATH];
    int is_named;

    NB_TRY(find_tables(r, &is_named));
    NB_TRY(nb_reflections_create(r->ctx, (size_t)r->rows, &r->out));
    for (uint64_t i = 0; fields_member(&r->in, r->table->path, i, path); i++) {
        const struct column c = describe(r, path);
        const char *const name = path + strlen(r->table->path) + 1;

        if (i == COLUMNS_MOST)
            return wrong(r, r->table->path, "has more than 1024 columns");
        if (c.type != NB_COLUMN_OTHER && *name && strlen(name) <= NAME_MOST)
            NB_TRY(read_column(r, name, &c));
    }
    return is_named && !nb_reflections_find(r->out, "id", NB_COLUMN_INT) ? number_tables(r)
                                                                         : NB_OK;
}

nb_status refl_hdf5_read(nb_context *ctx, const char *path, size_t n, nb_reflections **out)
{
    static const size_t always = (size_t)1 << 28; /* bytes that a small file may have */
    struct reading r = {.ctx = ctx,
                        .name = path,
                        .bytes_most = always / 50 > n ? always : 50 * n};
    struct hdf5_turn turn;
    char why[HDF5_WHY];
    nb_status status;

    if (!hdf5_library_open(why))
        return fail(ctx, NB_ERR_UNSUPPORTED, "%s: HDF5 cannot be read: %s", path, why);
    r.in.no_memory = &r.no_memory;
    hdf5_turn_begin(&turn);
    r.in.file = hdf5_checked(&r.tree, hdf5.H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    status = r.in.file >= 0
                 ? read_table(&r)
                 : fail(ctx, NB_ERR_FORMAT,
                        "%s: HDF5 cannot open it and says: %s; the file is damaged "
                        "or cut off, copy it again",
                        path, r.tree.why);
    if (r.in.file >= 0) (void)hdf5.H5Fclose(r.in.file);
    hdf5_turn_end(&turn);
    free(r.table);
    if (status == NB_OK)
        *out = r.out;
    else
        nb_reflections_free(r.out);
    return status;
}

#else

nb_status refl_hdf5_read(nb_context *ctx, const char *path, size_t n, nb_reflections **out)
{
    (void)n, (void)out;
    return fail(ctx, NB_ERR_UNSUPPORTED,
                "%s: this build has no HDF5, which reads it; install it (Debian: "
                "libhdf5-dev) and build again, or write the file as MessagePack",
                path);
}

#endif
