/*
 * hdf5_library.h - functions and types of HDF5, a library that is opened at run time.
 * libhdf5 loads thirty other libraries; linking it would make every run start 15 ms later,
 * although most runs write no NXmx.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_HDF5_LIBRARY_H
#define NB_IO_IMAGES_HDF5_LIBRARY_H

#include <hdf5.h>

/* HDF5 begins its macros for constants with these two, which would call H5open(). Both are
 * made empty here, because hdf5_library_open() has called it already. */
#undef H5CHECK
#undef H5OPEN
#define H5CHECK
#define H5OPEN

#define HDF5_FUNCTIONS(X)                                                                  \
    X(H5open)                                                                              \
    X(H5get_libversion)                                                                    \
    X(H5Aclose)                                                                            \
    X(H5Acreate2)                                                                          \
    X(H5Aget_space)                                                                        \
    X(H5Aget_type)                                                                         \
    X(H5Aopen)                                                                             \
    X(H5Aread)                                                                             \
    X(H5Awrite)                                                                            \
    X(H5Dclose)                                                                            \
    X(H5Dcreate2)                                                                          \
    X(H5Dget_create_plist)                                                                 \
    X(H5Dget_space)                                                                        \
    X(H5Dget_storage_size)                                                                 \
    X(H5Dget_type)                                                                         \
    X(H5Dopen2)                                                                            \
    X(H5Dread)                                                                             \
    X(H5Dset_extent)                                                                       \
    X(H5Dwrite)                                                                            \
    X(H5Eget_auto2)                                                                        \
    X(H5Eset_auto2)                                                                        \
    X(H5Ewalk2)                                                                            \
    X(H5FDregister)                                                                        \
    X(H5FDunregister)                                                                      \
    X(H5Fclose)                                                                            \
    X(H5Fcreate)                                                                           \
    X(H5Fopen)                                                                             \
    X(H5Gclose)                                                                            \
    X(H5Gcreate2)                                                                          \
    X(H5Iget_type)                                                                         \
    X(H5Lcreate_hard)                                                                      \
    X(H5Lget_name_by_idx)                                                                  \
    X(H5Oclose)                                                                            \
    X(H5Oopen)                                                                             \
    X(H5Pclose)                                                                            \
    X(H5Pcreate)                                                                           \
    X(H5Pget_driver_info)                                                                  \
    X(H5Pget_filter2)                                                                      \
    X(H5Pget_layout)                                                                       \
    X(H5Pget_nfilters)                                                                     \
    X(H5Pset_cache)                                                                        \
    X(H5Pset_chunk)                                                                        \
    X(H5Pset_deflate)                                                                      \
    X(H5Pset_driver)                                                                       \
    X(H5Pset_fill_time)                                                                    \
    X(H5Pset_fill_value)                                                                   \
    X(H5Pset_filter)                                                                       \
    X(H5Pset_obj_track_times)                                                              \
    X(H5Pset_shuffle)                                                                      \
    X(H5Pset_virtual)                                                                      \
    X(H5Sclose)                                                                            \
    X(H5Screate)                                                                           \
    X(H5Screate_simple)                                                                    \
    X(H5Sget_simple_extent_dims)                                                           \
    X(H5Sget_simple_extent_ndims)                                                          \
    X(H5Sget_simple_extent_npoints)                                                        \
    X(H5Sselect_hyperslab)                                                                 \
    X(H5Tclose)                                                                            \
    X(H5Tcopy)                                                                             \
    X(H5Tequal)                                                                            \
    X(H5Tget_class)                                                                        \
    X(H5Tget_sign)                                                                         \
    X(H5Tget_size)                                                                         \
    X(H5Tis_variable_str)                                                                  \
    X(H5Tset_cset)                                                                         \
    X(H5Tset_size)                                                                         \
    X(H5Zfilter_avail)                                                                     \
    X(H5Zget_filter_info)                                                                  \
    X(H5free_memory)

/* variables of HDF5 with the identifiers of types and of classes of properties */
#define HDF5_NUMBERS(X)                                                                    \
    X(H5P_CLS_DATASET_CREATE_ID_g)                                                         \
    X(H5P_CLS_FILE_ACCESS_ID_g)                                                            \
    X(H5P_CLS_GROUP_CREATE_ID_g)                                                           \
    X(H5T_C_S1_g)                                                                          \
    X(H5T_IEEE_F32LE_g)                                                                    \
    X(H5T_NATIVE_DOUBLE_g)                                                                 \
    X(H5T_NATIVE_FLOAT_g)                                                                  \
    X(H5T_NATIVE_INT32_g)                                                                  \
    X(H5T_NATIVE_INT64_g)                                                                  \
    X(H5T_NATIVE_UINT16_g)                                                                 \
    X(H5T_NATIVE_UINT64_g)                                                                 \
    X(H5T_STD_I32LE_g)                                                                     \
    X(H5T_STD_U16LE_g)

/* Members are named as in HDF5: hdf5.H5Fclose(file), *hdf5.H5T_C_S1_g. */
struct hdf5_library {
#define HDF5_MEMBER(name) __typeof__(name) *(name);
    HDF5_FUNCTIONS(HDF5_MEMBER)
    HDF5_NUMBERS(HDF5_MEMBER)
#undef HDF5_MEMBER
};
extern struct hdf5_library hdf5;

enum { HDF5_WHY = 256 };

/* Opens the version of HDF5 that this library was built with. Returns 1, or 0 with a reason
 * in `why`. Call it before any other function of HDF5. */
int hdf5_library_open(char why[HDF5_WHY]);

#endif
