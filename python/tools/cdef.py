# SPDX-License-Identifier: MIT
"""Writes the C source of the extension module: `cdef.py COMPILER INCLUDE OUTPUT`.

The declarations are those of the headers themselves, as the preprocessor sees them without the
system's headers; cffi compiles them against the headers, so that every layout is checked.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import cffi

HERE = Path(__file__).parent
GLUE = HERE.parent / "glue"

# what the preprocessor takes away, or what no header declares
MORE = """
#define NB_API_VERSION ...

extern "Python+C" int nbpy_ask(void *handle, double fraction);
extern "Python" void nbpy_log(void *user, int level, const char *topic, const char *line);
extern "Python" int nbpy_fit_progress(void *user, const nb_fit_state *state);
extern "Python" int nbpy_fit_exchange(void *user, double *numbers, size_t n);
extern "Python" nb_status nbpy_fit_load(void *user, int64_t shot, nb_shot *out);
extern "Python" void nbpy_fit_unload(void *user, int64_t shot, nb_shot *loaded);
extern "Python" void *nbpy_xla(nbpy_xla_frame *frame);

"""

# other projects' layouts, which the package reads: for cffi and for the compiler alike
FOREIGN = """
/* DLPack, https://dmlc.github.io/dlpack: the members that are read */
typedef struct { int32_t device_type, device_id; } nbpy_dl_device;
typedef struct {
    void *data;
    nbpy_dl_device device;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} nbpy_dl_tensor;
typedef struct {
    uint32_t major, minor;
    void *manager_ctx;
    void *deleter;
    uint64_t flags;
    nbpy_dl_tensor tensor;
} nbpy_dl_versioned;

/* XLA's foreign function interface, version 0: the members that are read or written */
typedef struct nbpy_xla_extension { size_t struct_size; int type; void *next; } nbpy_xla_extension;
typedef struct {
    size_t struct_size;
    void *extension_start;
    int major_version, minor_version;
} nbpy_xla_version;
typedef struct {
    size_t struct_size;
    nbpy_xla_version api_version;
    uint32_t traits;
} nbpy_xla_metadata;
typedef struct { nbpy_xla_extension base; nbpy_xla_metadata *metadata; } nbpy_xla_metadata_extension;
typedef struct {
    size_t struct_size;
    void *extension_start;
    const char *message;
    int errc;
} nbpy_xla_error_args;
typedef struct {
    size_t struct_size;
    void *extension_start;
    nbpy_xla_version version;
    void *internal_api;
    void *(*error_create)(nbpy_xla_error_args *args);
} nbpy_xla_api;
typedef struct {
    size_t struct_size;
    void *extension_start;
    int dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
} nbpy_xla_buffer;
typedef struct { const char *ptr; size_t len; } nbpy_xla_span;
typedef struct { int dtype; void *value; } nbpy_xla_scalar;
typedef struct {
    size_t struct_size;
    void *extension_start;
    int64_t size;
    void *types;
    void **args;
} nbpy_xla_args;
typedef struct {
    size_t struct_size;
    void *extension_start;
    int64_t size;
    void *types;
    void **rets;
} nbpy_xla_rets;
typedef struct {
    size_t struct_size;
    void *extension_start;
    int64_t size;
    void *types;
    nbpy_xla_span **names;
    void **attrs;
} nbpy_xla_attrs;
typedef struct {
    size_t struct_size;
    void *extension_start;
    nbpy_xla_api *api;
    void *ctx;
    int stage;
    nbpy_xla_args args;
    nbpy_xla_rets rets;
    nbpy_xla_attrs attrs;
} nbpy_xla_frame;
enum { NBPY_XLA_F32 = 11, NBPY_XLA_F64 = 12 };
"""

SOURCE = """
#include "glue.h"
#include <stdint.h>
"""


def declarations(compiler: str, include: str) -> str:
    """glue.h and what it includes, as cffi reads it."""
    # __GNUC__ is undefined so that NB_API is empty
    command = [compiler, "-E", "-P", "-U__GNUC__", "-nostdinc", f"-I{HERE / 'stub'}", f"-I{include}"]
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write(f'#include "{GLUE / "glue.h"}"\n')
        source.flush()
        return subprocess.run([*command, source.name], check=True, capture_output=True, text=True).stdout


def main() -> None:
    compiler, include, output = sys.argv[1:]
    ffi = cffi.FFI()
    ffi.cdef(FOREIGN + declarations(compiler, include) + MORE)
    ffi.set_source("nanobrag._lib", SOURCE + FOREIGN)
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main()
