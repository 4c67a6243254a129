/*
 * status.h - how functions of libnanobrag report failure.
 *
 *   nb_status status = nb_simulator_create(ctx, &scene, "cell", NULL, &sim);
 *
 *   if (status == NB_ERR_UNIT_CELL)
 *       puts("give the scene a cell");
 *   else if (status != NB_OK)
 *       fprintf(stderr, "%s: %s\n", nb_status_text(status), nb_context_message(ctx));
 *
 * Every call that can fail returns an nb_status. The context holds the details ("p1.hkl,
 * line 17: expected h k l F"). Read them with nb_context_message().
 *
 * The comment of a call lists its errors. Errors that all calls of a header have in common
 * stand in the first comment of the header.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_STATUS_H
#define NANOBRAG_STATUS_H

#include <nanobrag/export.h>

NB_BEGIN_DECLS

/* One line for each status: its name without NB_, and the text of nb_status_text(). */
#define NB_STATUS_LIST(X)                                                                  \
    X(OK, "no error")                                                                      \
    X(ERR_ARGUMENT, "an argument is missing or out of range")                              \
    X(ERR_SHAPE, "an array has the wrong size, type or device")                            \
    X(ERR_SCENE, "the scene contradicts itself")                                           \
    X(ERR_UNIT_CELL, "the cell is flat")                                                   \
    X(ERR_FILE, "a file could not be read or written")                                     \
    X(ERR_FORMAT, "a file does not follow its format")                                     \
    X(ERR_MEMORY, "out of memory")                                                         \
    X(ERR_DEVICE, "the device refused a request")                                          \
    X(ERR_CANCELLED, "stopped on request")                                                 \
    X(ERR_UNSUPPORTED, "this build or device cannot do that")                              \
    X(ERR_DONATED, "an array was given away and may not be read again")                    \
    X(ERR_DOMAIN, "the loss has no finite value at these parameters")

#define NB_STATUS_ENUM(name, text) NB_##name,
typedef enum nb_status { NB_STATUS_LIST(NB_STATUS_ENUM) NB_STATUS_COUNT } nb_status;
#undef NB_STATUS_ENUM

/* One sentence that describes a status; "unknown status" for a number that is not a status.
 * A static string, never NULL. */
NB_API const char *nb_status_text(nb_status status);

NB_END_DECLS

#endif
