/*
 * reflections.h - tables of reflections as DIALS writes them (.refl): columns of one
 * number, vector or index for each row.
 *
 *   nb_reflections *found = NULL;
 *   const double *xyz;
 *
 *   if (nb_reflections_read(ctx, "indexed.refl", &found) != NB_OK)
 *       puts(nb_context_message(ctx));
 *   xyz = nb_reflections_find(found, "xyzobs.px.value", NB_COLUMN_VEC3);
 *   for (size_t i = 0; xyz && i < nb_reflections_rows(found); i++)
 *       printf("fast %g, slow %g, frame %g\n", xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]);
 *   nb_reflections_free(found);
 *
 * A file is MessagePack, plain or compressed by gzip, or HDF5. In MessagePack, columns of
 * other types, such as shoeboxes, are kept as they are in the file, and are written again.
 * In HDF5 they are left out, and so are identifiers; several tables of a file become one,
 * with the columns that all of them have. Columns have the
 * units and meanings of DIALS: pixels from the corner of a panel, fast axis first; mm;
 * radians. The numbers of a file are little-endian. The host has to be little-endian too.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_REFLECTIONS_H
#define NANOBRAG_REFLECTIONS_H

#include <stddef.h>

#include <nanobrag/context.h>
#include <nanobrag/export.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

typedef struct nb_reflections nb_reflections;

/* Types of columns, with the C type of a row. */
enum nb_column_type {
    NB_COLUMN_OTHER, /* kept, not interpreted */
    NB_COLUMN_BOOL, /* unsigned char, 0 or 1 */
    NB_COLUMN_INT, /* int32_t */
    NB_COLUMN_SIZE, /* uint64_t */
    NB_COLUMN_DOUBLE, /* double */
    NB_COLUMN_VEC2, /* double[2] */
    NB_COLUMN_VEC3, /* double[3] */
    NB_COLUMN_MAT3, /* double[9], row after row */
    NB_COLUMN_INT6, /* int32_t[6]; a bbox: fast0 fast1 slow0 slow1 frame0 frame1 */
    NB_COLUMN_MILLER /* int32_t[3], h k l */
};

typedef struct nb_column {
    const char *name; /* such as "miller_index" */
    int type; /* enum nb_column_type */
    const void *data; /* (rows), as the type says; NULL for NB_COLUMN_OTHER */
} nb_column;

/*
 * Read a table.
 *
 *   out  [out]  free with nb_reflections_free()
 *
 * Errors: a reader's (io.h); NB_ERR_UNSUPPORTED (the file is compressed, and the build has
 * no zlib; or the file is HDF5, and the build lacks HDF5).
 */
NB_API nb_status nb_reflections_read(nb_context *ctx, const char *path,
                                     nb_reflections **out);

/*
 * Make a table without columns.
 *
 *   rows  [in]   at most 2^31 - 1
 *   out   [out]  free with nb_reflections_free()
 *
 * Errors: NB_ERR_ARGUMENT, NB_ERR_MEMORY.
 */
NB_API nb_status nb_reflections_create(nb_context *ctx, size_t rows, nb_reflections **out);

/* Free a table; NULL is allowed. */
NB_API void nb_reflections_free(nb_reflections *table);

/* The number of rows, and of columns; 0 for table = NULL. */
NB_API size_t nb_reflections_rows(const nb_reflections *table);
NB_API size_t nb_reflections_columns(const nb_reflections *table);

/* Column i in the order of names; all members are 0 if there is no column i. The result is
 * valid until the table changes. */
NB_API nb_column nb_reflections_column(const nb_reflections *table, size_t i);

/* The data of the column with this name; NULL if there is no such column of this type. */
NB_API const void *nb_reflections_find(const nb_reflections *table, const char *name,
                                       int type);

/*
 * Add a column, or replace one of the same name.
 *
 *   name  [in]  1 to 255 bytes
 *   type  [in]  enum nb_column_type, but not NB_COLUMN_OTHER
 *   data  [in]  copied                                                       (rows)
 *
 * Errors: NB_ERR_ARGUMENT, NB_ERR_MEMORY.
 */
NB_API nb_status nb_reflections_set(nb_context *ctx, nb_reflections *table,
                                    const char *name, int type, const void *data);

/* The identifier of the experiment with the number `id` in the column "id"; NULL: no
 * identifier. */
NB_API const char *nb_reflections_identifier(const nb_reflections *table, int id);

/* Set the identifier of an experiment. Errors: NB_ERR_ARGUMENT (a NULL, id below 0),
 * NB_ERR_MEMORY. */
NB_API nb_status nb_reflections_set_identifier(nb_context *ctx, nb_reflections *table,
                                               int id, const char *identifier);

/*
 * Write a table, not compressed.
 *
 * Errors: a writer's (io.h).
 */
NB_API nb_status nb_reflections_write(nb_context *ctx, const char *path,
                                      const nb_reflections *table);

NB_END_DECLS

#endif
