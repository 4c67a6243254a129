/*
 * status.h - how functions of libnanobrag fail.
 *
 * Every call that can fail returns an nb_status. The particulars ("p1.hkl, line 17:
 * expected h k l F") are kept by the context: nb_context_message().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_STATUS_H
#define NANOBRAG_STATUS_H

#include <nanobrag/export.h>

NB_BEGIN_DECLS

/* one line per way of failing: name, the sentence nb_status_text() returns */
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
    X(ERR_DONATED, "an array was given away and may not be read again")

#define NB_STATUS_ENUM(name, text) NB_##name,
typedef enum nb_status { NB_STATUS_LIST(NB_STATUS_ENUM) NB_STATUS_COUNT } nb_status;
#undef NB_STATUS_ENUM

/* One sentence for a status; "unknown status" for a number that is none. Never NULL. */
NB_API const char *nb_status_text(nb_status status);

NB_END_DECLS

#endif
