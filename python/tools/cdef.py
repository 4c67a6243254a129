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
extern "Python" nb_status nbpy_fit_load(void *user, int64_t shot, nb_shot *out);
extern "Python" void nbpy_fit_unload(void *user, int64_t shot, nb_shot *loaded);

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
"""

SOURCE = """
#include "glue.h"
#include <stdint.h>

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
    ffi.cdef(declarations(compiler, include) + MORE)
    ffi.set_source("nanobrag._lib", SOURCE)
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main()
