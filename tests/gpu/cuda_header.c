/*
 * cuda_header.c - the library's declarations of libcuda compared with those of cuda.h: if
 * one differs in its parameters, the version of its symbol or a value, this does not
 * compile.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cuda.h>
#include <stddef.h>

/* our struct of the same name gets another, so that the two can be compared */
#define CUlaunchConfig_st launch_config
#include "gpu/driver/cuda_library.h"
#undef CUlaunchConfig_st

/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define SAME_TYPE(name, symbol, parameters)                                                \
    _Static_assert(_Generic(&symbol, cuda_result(*) parameters : 1, default : 0),          \
                   #symbol " has other parameters in cuda.h");
/* NOLINTEND(bugprone-macro-parentheses) */
#if CUDA_VERSION < 12040
CUresult cuFuncLoad(CUfunction function); /* which it does not know yet */
#endif
CUDA_FUNCTIONS(SAME_TYPE)
CUDA_GRAPH_FUNCTIONS(SAME_TYPE)
#undef SAME_TYPE

#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs);
SAME_VALUE(CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY)
SAME_VALUE(CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE)
SAME_VALUE(CUDA_PROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
SAME_VALUE(CUDA_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
SAME_VALUE(CUDA_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
SAME_VALUE(CUDA_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
SAME_VALUE(CUDA_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED)
SAME_VALUE(CUDA_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
SAME_VALUE(CUDA_DEVICE_MEMORY, CU_MEMORYTYPE_DEVICE)
SAME_VALUE(CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING)
SAME_VALUE(CUDA_THREADS_OF_PROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)
SAME_VALUE(CUDA_LOCAL_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
SAME_VALUE(CUDA_EVENT_WITHOUT_TIME, CU_EVENT_DISABLE_TIMING)
SAME_VALUE(CUDA_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED)
SAME_VALUE(CUDA_CAPTURING_NOTHING, CU_STREAM_CAPTURE_STATUS_NONE)
SAME_VALUE(CUDA_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
SAME_VALUE(CUDA_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER)
SAME_VALUE(CUDA_LOG_BUFFER_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)

#define SAME_PLACE(ours, theirs)                                                           \
    _Static_assert(offsetof(struct launch_config, ours)                                    \
                       == offsetof(struct CUlaunchConfig_st, theirs),                      \
                   #theirs " lies elsewhere in cuda.h");
SAME_PLACE(grid[0], gridDimX)
SAME_PLACE(grid[2], gridDimZ)
SAME_PLACE(block[0], blockDimX)
SAME_PLACE(block[2], blockDimZ)
SAME_PLACE(shared, sharedMemBytes)
SAME_PLACE(stream, hStream)
SAME_PLACE(attributes, attrs)
SAME_PLACE(nattributes, numAttrs)
SAME_VALUE(sizeof(struct launch_config), sizeof(struct CUlaunchConfig_st))
