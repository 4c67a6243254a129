/*
 * array.h - a view of an image in memory that the caller owns.
 *
 * The members are those of DLPack's DLTensor, held by value, so PyTorch, JAX, CuPy and
 * numpy hand theirs over without a copy; add its byte_offset to data. The library forgets
 * the memory when the call returns.
 *
 * Memory of a device (NB_CUDA): nb_forward(), nb_forward_batch() and nb_digitize() (both
 * arrays) take it with any strides; dense only bar_image of nb_vjp(), weight and residual
 * of nb_jtj(), observed and weight of nb_loss(). All others take memory of the host.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_ARRAY_H
#define NANOBRAG_ARRAY_H

#include <stdint.h>

#include <nanobrag/export.h>

NB_BEGIN_DECLS

enum { NB_CPU = 1, NB_CUDA = 2 }; /* DLDeviceType */
enum { NB_INT = 0, NB_UINT = 1, NB_FLOAT = 2 }; /* DLDataTypeCode */
/* nb_array.flags. NB_DONATE gives the memory of an input away for one call, which may then
 * hold an output; where no output can use it the call warns and the array stays valid.
 * NB_DONATED: it was used, its numbers are gone, and every call refuses it
 * (NB_ERR_DONATED). A view with strides is borrowed memory and can't be given away. */
enum { NB_DONATE = 1, NB_DONATED = 2 };

typedef struct nb_array {
    void *data;
    const char *name; /* used in messages; may be NULL */
    int device, device_id; /* NB_CPU, 0: memory of the host; NB_CUDA: of that device, only
                              for the calls named above */
    int type, bits; /* NB_FLOAT 32 or 64; NB_UINT 16 for counts */
    int ndim;
    int64_t shape[4]; /* slowest axis first */
    int64_t stride[4]; /* in elements; all 0: dense */
    unsigned flags; /* NB_DONATE on entry; NB_DONATED once a call has used it up */
} nb_array;

/* A dense host image of nslow x nfast pixels over `data`; for an image on a device set
 * device and device_id. */
NB_API nb_array nb_array_f32(float *data, int64_t nslow, int64_t nfast);
NB_API nb_array nb_array_f64(double *data, int64_t nslow, int64_t nfast);
NB_API nb_array nb_array_u16(uint16_t *data, int64_t nslow, int64_t nfast);

NB_END_DECLS

#endif
