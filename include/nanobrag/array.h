/*
 * array.h - a view of an image in memory that the caller owns.
 *
 *   static float photons[512 * 1024];
 *   nb_array image = nb_array_f32(photons, 512, 1024);
 *   nb_array panels = image, left = image;
 *
 *   panels.ndim = 3;
 *   panels.shape[0] = 2, panels.shape[1] = 256, panels.shape[2] = 1024;
 *   panels.stride[0] = panels.stride[1] = panels.stride[2] = 0;
 *   left.shape[1] = 512;
 *   left.stride[0] = 1024, left.stride[1] = 1;
 *   if (nb_forward(sim, NULL, &image) != NB_OK) puts(nb_context_message(ctx));
 *
 * All three arrays of the example show the same memory: `panels` as two panels of 256 rows,
 * `left` as the left half of each row.
 *
 * An array has the members of DLPack's DLTensor, held by value. So you can pass arrays of
 * PyTorch, JAX, CuPy and numpy without a copy. Add DLTensor's byte_offset to `data`. The
 * library keeps no pointer to the memory after the call returns.
 *
 * All calls take arrays in host memory (NB_DEVICE_CPU). These calls also take arrays on a
 * CUDA device (NB_DEVICE_CUDA):
 *
 *   with any strides   the images of nb_forward() and nb_forward_batch(), both arrays of
 *                      nb_digitize()
 *   dense only         bar_image of nb_vjp(), weight and residual of nb_jtj(), observed and
 *                      weight of nb_loss(), the image of nb_forward_add()
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_ARRAY_H
#define NANOBRAG_ARRAY_H

#include <stdint.h>

#include <nanobrag/export.h>

NB_BEGIN_DECLS

enum {
    NB_DEVICE_CPU = 1,
    NB_DEVICE_CUDA = 2
}; /* nb_array.device: values of DLDeviceType */
enum {
    NB_TYPE_INT = 0,
    NB_TYPE_UINT = 1,
    NB_TYPE_FLOAT = 2
}; /* nb_array.type: DLDataTypeCode */
/*
 * Bits of nb_array.flags.
 *
 *   NB_DONATE   you set this bit on an input: the call may then overwrite the memory of the
 *               input with an output. If no output can use the memory, the call logs a
 *               warning, and the array stays valid. You cannot donate a view with strides.
 *   NB_DONATED  the library sets this bit when it has overwritten the memory. Every later
 *               call refuses the array with NB_ERR_DONATED.
 */
enum { NB_DONATE = 1, NB_DONATED = 2 };

typedef struct nb_array {
    void *data; /* address of element (0, 0) */
    const char *name; /* used in messages; may be NULL */
    int device, device_id; /* host memory: NB_DEVICE_CPU, 0; memory of a device:
                              NB_DEVICE_CUDA and the number of the device, only for the
                              calls named above */
    int type, bits; /* images: NB_TYPE_FLOAT, 32 or 64 bits; counts: NB_TYPE_UINT, 16 bits,
                       or NB_TYPE_INT, 32 bits */
    /* 2 for an image (slow, fast). 3 for (panel, slow, fast): equal panels that are stacked
     * along slow, or any division into equal groups of rows. In memory, the rows of all
     * panels follow each other at equal distances */
    int ndim;
    int64_t shape[4]; /* number of elements along each axis, slowest axis first */
    int64_t stride[4]; /* distance between neighbours along each axis, in elements; all 0:
                          dense, without gaps */
    unsigned flags; /* NB_DONATE, NB_DONATED or 0 */
} nb_array;

/*
 * Describe your own host memory as a dense image; never fails. For memory of a CUDA device,
 * set device and device_id of the result.
 *
 *   data   [in]  first pixel; not read by this call                 (nslow x nfast)
 *   nslow  [in]  pixels along the slow axis
 *   nfast  [in]  pixels along the fast axis
 */
NB_API nb_array nb_array_f32(float *data, int64_t nslow, int64_t nfast);
NB_API nb_array nb_array_f64(double *data, int64_t nslow, int64_t nfast);
NB_API nb_array nb_array_u16(uint16_t *data, int64_t nslow, int64_t nfast);
NB_API nb_array nb_array_i32(int32_t *data, int64_t nslow, int64_t nfast);

NB_END_DECLS

#endif
