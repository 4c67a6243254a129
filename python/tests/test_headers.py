# SPDX-License-Identifier: MIT
"""The package and the C headers cannot drift apart."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import nanobrag
from nanobrag import _structs
from nanobrag._lib import ffi

PYTHON = Path(__file__).parents[1]
sys.path.insert(0, str(PYTHON / "tools"))
import headers  # noqa: E402

INCLUDE = PYTHON.parent / "include" / "nanobrag"

# functions that need no face of their own, with the reason
NOT_IN_PYTHON = {
    "nb_array_f32": "arrays are described from numpy and DLPack",
    "nb_array_i32": "arrays are described from numpy and DLPack",
    "nb_array_u16": "arrays are described from numpy and DLPack",
    "nb_context_threads": "a simulator has its threads",
    "nb_table_read_titled": "numpy.loadtxt", "nb_table_title": "numpy.loadtxt",
    "nb_table_columns": "numpy.loadtxt", "nb_table_line": "numpy.loadtxt",
    "nb_table_read": "numpy.loadtxt", "nb_table_rows": "numpy.loadtxt",
    "nb_table_data": "numpy.loadtxt", "nb_table_free": "numpy.loadtxt",
    "nb_raw_read": "numpy.fromfile", "nb_raw_write": "numpy.ndarray.tofile",
    "nb_pgm_write": "matplotlib", "nb_png_write": "matplotlib",
    "nb_smv_search": "-compat nanobragg of the program",
    "nb_verdict_name": "the enum Verdict", "nb_verdict_text": "the enum Verdict",
    "nb_gradcheck_loss_name": "the enum GradcheckLoss",
    "nb_fit_context": "a fit of Python has its context",
    "nb_nxmx_check": "-resume of the program",
    "nb_expt_get": "read_expt()", "nb_expt_add": "expt_images()", "nb_expt_count": "expt_images()",
    "nb_rays": "columns of predict()", "nb_nearest_name": "difflib", "nb_simulator_select": "Parameters find names",
}  # fmt: skip


def test_generated_file_follows_the_headers():
    tool = [sys.executable, str(PYTHON / "tools" / "generate.py"), "--check"]
    done = subprocess.run(tool, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_missing_member_is_noticed(tmp_path, monkeypatch):
    """The check fails when a header has one more member, or a struct that no table has."""
    import generate

    scene = (INCLUDE / "scene.h").read_text()
    for text in (
        scene.replace("double fwhm;", "double fwhm, skew;"),
        scene.replace("typedef struct nb_psf {", "typedef struct nb_new { int a; } nb_new;\ntypedef struct nb_psf {"),
    ):
        assert text != scene
        folder = tmp_path / "include" / "nanobrag"
        folder.mkdir(parents=True, exist_ok=True)
        for header in INCLUDE.glob("*.h"):
            (folder / header.name).write_text(header.read_text())
        (folder / "scene.h").write_text(text)
        monkeypatch.setattr(generate, "ROOT", tmp_path)
        try:
            made = generate.generate()
        except AssertionError as error:
            assert "nb_new" in str(error)
        else:
            assert made != generate.TARGET.read_text()
            assert "skew" in made


def test_every_member_of_every_struct_is_in_the_compiled_module():
    blocks = [b for b in headers.read(INCLUDE) if b.kind == "struct"]
    assert len(blocks) > 30
    for block in blocks:
        compiled = [name for name, _ in ffi.typeof(block.tag).fields]
        assert compiled == [m.name for m in block.members], block.tag


def test_every_header_is_read():
    assert sorted(headers.HEADERS + headers.NOT_READ) == sorted(path.stem for path in INCLUDE.glob("*.h"))


def test_every_function_has_a_face_or_a_reason():
    sources = "".join(path.read_text() for path in (PYTHON / "nanobrag").glob("**/*.py"))
    missing = [f for f in headers.functions(INCLUDE) if f"lib.{f}" not in sources and f not in NOT_IN_PYTHON]
    assert not missing
    needless = [f for f in NOT_IN_PYTHON if f"lib.{f}" in sources]
    assert not needless


@pytest.mark.parametrize(
    ("struct", "function", "other"),
    [
        ("nb_digitizer", nanobrag.Simulator.digitize, {"photons", "overloads"}),
        ("nb_gradcheck_options", nanobrag.Simulator.gradcheck, set()),
        ("nb_context_options", nanobrag.Simulator.__init__, {"device_id", "log", "user"}),
        ("nb_options", nanobrag.Simulator.__init__, set()),
        ("nb_normal", nanobrag.Loss.__init__, set()),
        ("nb_fit_options", nanobrag.Fit.__init__,
         {"restraint", "nrestraint", "load", "unload", "user"}),
        ("nb_shot", nanobrag.Shot.__init__, {"failure"}),
        ("nb_expt_options", nanobrag.write_expt, set()),
        ("nb_nxmx_options", nanobrag.Nxmx.__init__, {"type", "bits"}),
        ("nb_experiment", nanobrag.Experiment.__init__, {"geometry", "points", "mask", "lattice"}),
    ],
)  # fmt: skip
def test_options_are_arguments(struct, function, other):
    """Structs of options are keyword arguments; `other` are callbacks and results."""
    members = {name for name, _ in ffi.typeof(struct).fields}
    arguments = set(inspect.signature(function).parameters)
    assert members - other <= arguments
    assert other <= members


def test_docstrings_have_units_and_public_names_have_docstrings():
    assert "[A, degree]" in inspect.getdoc(nanobrag.Crystal)
    assert "[mm]" in inspect.getdoc(nanobrag.Detector)
    for name in nanobrag.__all__:
        thing = getattr(nanobrag, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for method, value in vars(thing).items():
                if not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    assert inspect.getdoc(value), f"{name}.{method}"
        if dataclasses.is_dataclass(thing) and thing.__module__ == _structs.__name__:
            for field in dataclasses.fields(thing):
                assert f"{field.name}:" in inspect.getdoc(thing)
