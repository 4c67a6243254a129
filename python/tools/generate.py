# SPDX-License-Identifier: MIT
"""Writes nanobrag/_structs.py from the C headers: `python python/tools/generate.py [--check]`.

Every struct of the headers has a row in one of the tables below, and every enum too; a struct
without one is an error, so that the package cannot fall behind the library unnoticed.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import headers

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "python" / "nanobrag" / "_structs.py"

# what a user makes: C name -> Python name
INPUT = {
    "nb_source": "Source", "nb_crystal": "Crystal", "nb_detector": "Detector", "nb_beam": "Beam",
    "nb_scan": "Scan", "nb_background": "Background", "nb_psf": "PointSpread",
    "nb_scene": "SceneMembers", "nb_options": "Options", "nb_target": "Target",
    "nb_panel": "Panel", "nb_panel_group": "PanelGroup", "nb_lattice": "Lattice",
    "nb_restraint": "Restraint", "nb_anomalous": "Anomalous", "nb_fcalc": "Fcalc", "nb_mtz": "Mtz",
}  # fmt: skip
# what the library answers with
OUTPUT = {
    "nb_param": "Parameter", "nb_description": "Description", "nb_statistics": "Statistics",
    "nb_pixel_trace": "PixelTrace", "nb_spot": "Spot", "nb_compile_stats": "CompileStats",
    "nb_gradcheck_row": "GradcheckRow", "nb_gradcheck_summary": "GradcheckSummary",
    "nb_hkl_info": "HklInfo", "nb_crystal_info": "CrystalInfo", "nb_atom": "Atom",
    "nb_fit_state": "FitState", "nb_fit_value": "FitValue", "nb_fit_correlation": "FitCorrelation",
    "nb_fit_outlier": "FitOutlier", "nb_fit_shot": "FitShot", "nb_fit_result": "FitResultMembers",
    "nb_misfit": "Misfit",
    "nb_fit_misfit": "FitMisfit", "nb_geometry_info": "GeometryInfo", "nb_expt_image": "ExptImage",
    "nb_panel_counts": "PanelCounts",
    "nb_spot_size": "SpotSize", "nb_start": "StartValues",
}  # fmt: skip
# what stands in the signature of a function of the package, and where (tests/test_headers.py)
ARGUMENTS = {
    "nb_array", "nb_context_options", "nb_normal", "nb_digitizer", "nb_gradcheck_options",
    "nb_shot", "nb_fit_options", "nb_fit_request", "nb_experiment", "nb_expt_options",
    "nb_nxmx_options", "nb_column", "nb_measured", "nb_ray", "nb_prediction", "nb_integration",
}  # fmt: skip
# prefix of the constants; "Flag" for bits
ENUMS = {
    "nb_mosaic_model": ("MosaicModel", "NB_MOSAIC_"),
    "nb_status": ("Status", "NB_"), "nb_interpolation": ("Interpolation", "NB_LOOKUP_"),
    "nb_shape": ("Shape", "NB_SHAPE_"), "nb_system": ("System", "NB_SYSTEM_"),
    "nb_convention": ("Convention", "NB_CONVENTION_"), "nb_origin": ("Origin", "NB_ORIGIN_"),
    "nb_pivot": ("Pivot", "NB_PIVOT_"), "nb_psf_kind": ("PointSpreadKind", "NB_PSF_"),
    "nb_merge": ("Merge", "NB_MERGE_"), "nb_material": ("Material", "NB_MATERIAL_"),
    "nb_profile": ("Profile", "NB_PROFILE_"), "nb_precision": ("Precision", "NB_PRECISION_"),
    "nb_strategy": ("Strategy", "NB_STRATEGY_"), "nb_loss_kind": ("LossKind", "NB_LOSS_"),
    "nb_background_kind": ("BackgroundKind", "NB_BACKGROUND_"), "nb_verdict": ("Verdict", "NB_VERDICT_"),
    "nb_gradcheck_loss": ("GradcheckLoss", "NB_GRADCHECK_"), "nb_fit_method": ("FitMethod", "NB_FIT_"),
    "nb_coarse": ("Coarse", "NB_COARSE_"), "nb_fit_stage": ("FitStage", "NB_FIT_"),
    "nb_fit_end": ("FitEnd", "NB_FIT_"), "nb_fit_image_kind": ("FitImage", "NB_FIT_"),
    "nb_fit_scaling": ("FitScaling", "NB_FIT_SCALING_"),
    "nb_fit_errors": ("FitErrors", "NB_FIT_ERRORS_"), "nb_compression": ("Compression", "NB_COMPRESSION_"),
    # those without a tag, by their first constant
    "NB_COMPILE_ON": ("Compile", "NB_COMPILE_"), "NB_LOG_WARNING": ("LogLevel", "NB_LOG_"),
    "NB_GIVEN_MOSAIC_SEED": ("Given", "NB_GIVEN_"), "NB_QUIRK_NORMAL_SIGN": ("Quirk", "NB_QUIRK_"),
    "NB_SMOOTH_EVERYWHERE": ("Smooth", "NB_SMOOTH_"), "NB_FCALC_AUTO": ("FcalcMethod", "NB_FCALC_"),
    "NB_FOUND_BEAM": ("Found", "NB_FOUND_"), "NB_INTEGRATED_MOSAIC": ("Integrated", "NB_INTEGRATED_"),
}  # fmt: skip
FLAGS = {"Given", "Quirk", "Smooth", "Found", "Integrated"}
# constants that name no choice of a user
NO_ENUM = {"NB_DEVICE_CPU", "NB_TYPE_INT", "NB_DONATE", "NB_DEVICE_AUTO", "NB_GRADCHECK_LOSSES", "NB_ATOM_NUMBERS",
           "NB_FIT_SHELLS", "NB_FIT_FITTED", "nb_column_type"}  # fmt: skip
# enums of members whose comment does not say "enum nb_..."
MEMBER_ENUMS = {
    ("nb_scene", "given"): "Given", ("nb_scene", "quirks"): "Quirk", ("nb_param", "smooth"): "Smooth",
    ("nb_fcalc", "method"): "FcalcMethod", ("nb_description", "convention"): "Convention",
    ("nb_description", "pivot"): "Pivot", ("nb_description", "interpolate"): "Interpolation",
    ("nb_description", "mosaic_model"): "MosaicModel", ("nb_description", "integrated"): "Integrated",
    ("nb_description", "precision"): "Precision", ("nb_fit_result", "method"): "FitMethod",
    ("nb_target", "background"): "BackgroundKind",
}  # fmt: skip
# counts that follow from the array of the same row
COUNTS = {"nbox": "box", "nsource": "source", "nstol": "stol", "nanomalous": "anomalous",
          "npanel": "panel", "ngroup": "group", "nlattice": "lattice"}  # fmt: skip
RESULT_COUNTS = {"nvalue": "value", "ncorrelated": "correlated", "nfree": "free", "nshot": "shot",
                 "nwarning": "warning", "noutlier": "outlier", "nbox": "box"}  # fmt: skip
POINTERS = {
    "const nb_hkl *": "Hkl | None", "const char *": "str | None", "const uint8_t *": "ArrayLike | None",
    "const double *": "ArrayLike | None", "const int *": "ArrayLike | None",
    "const nb_array *": "Any", "const nb_source *": "Sequence[Source]",
    "const nb_anomalous *": "Sequence[Anomalous]", "const nb_panel *": "Sequence[Panel]",
    "const nb_panel_group *": "Sequence[PanelGroup]", "const nb_lattice *": "Sequence[Lattice]",
}  # fmt: skip
LISTS = {"nb_fit_value": "FitValue", "nb_fit_correlation": "FitCorrelation", "nb_fit_shot": "FitShot",
         "nb_fit_outlier": "FitOutlier", "nb_misfit": "Misfit"}  # fmt: skip
INTEGERS = {"int", "int64_t", "uint64_t", "size_t", "unsigned", "uint32_t"}

HEAD = '''\
# SPDX-License-Identifier: MIT
# Made by python/tools/generate.py from include/nanobrag; do not edit.
"""The structs and enums of the library as dataclasses; the text is that of the C headers."""

# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import Record, Struct

if TYPE_CHECKING:
    from ._files import Hkl
'''


def paragraphs(text: str, indent: str, width: int = 96) -> str:
    text = text.replace("\\", "\\\\")
    return "\n".join(textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent))


def entry(name: str, text: str) -> str:
    return f"        {name}:\n{paragraphs(text or 'see the type', ' ' * 12)}\n"


def enum_key(block: headers.Block) -> str:
    return block.tag or block.members[0].name


def write_enum(block: headers.Block) -> str:
    name, prefix = ENUMS[enum_key(block)]
    base = "IntFlag" if name in FLAGS else "IntEnum"
    doc = block.comment or {
        "nb_status": "What a call of the library returns.",
        "nb_verdict": "What a check of derivatives finds.",
    }.get(block.tag, f"enum {block.tag}")
    out = f'\n\nclass {name}({base}):\n    """{paragraphs(doc, "    ").strip()}"""\n\n'
    for at, member in enumerate(block.members):
        if member.name == "NB_ERR_MEMORY":
            pass
        label = member.name.removeprefix(prefix) if member.name.startswith(prefix) else member.name.removeprefix("NB_")
        for also in ("INTERPOLATE_", "STRATEGY_", "SYSTEM_"):
            label = label.removeprefix(also)
        out += f"    {label} = {member.value or at}\n"
        if member.comment:
            out += f'    """{member.comment}"""\n'
    return out


def enum_of(block: headers.Block, member: headers.Member) -> str | None:
    found = MEMBER_ENUMS.get((block.tag, member.name))
    if not found and "enum nb_" in member.comment and member.type == "int" and not member.dims:
        tag = member.comment.split("enum ")[1].split()[0].strip(";:,.")
        found = ENUMS[tag][0]
    return found


def input_field(block: headers.Block, member: headers.Member) -> tuple[str, str]:
    """Annotation and default of a member that a user sets."""
    enum = enum_of(block, member)
    if enum in FLAGS:
        return f"{enum} | int", f"{enum}(0)"
    if enum:
        if enum == "BackgroundKind":
            return f"{enum} | str | int", "0"
        return f"{enum} | str | int", f"{enum}(0)"
    if member.type in INPUT:
        kind = INPUT[member.type]
        return kind, f"field(default_factory={kind})"
    if member.type == "char":
        return "str", '""'
    if member.dims:
        kind = "float" if member.type == "double" else "int"
        zero = "0.0" if kind == "float" else "0"
        default = f"({', '.join([zero] * int(member.dims[-1]))})"
        annotation = f"Sequence[{kind}]"
        if len(member.dims) == 2:
            return f"Sequence[{annotation}]", f"({', '.join([default] * int(member.dims[0]))})"
        return annotation, default
    if member.type in POINTERS:
        kind = POINTERS[member.type]
        return kind, "()" if kind.startswith("Sequence") else "None"
    if member.type == "double":
        return "float", "0.0"
    assert member.type in INTEGERS, (block.tag, member)
    return "int", "0"


def output_field(block: headers.Block, member: headers.Member) -> str:
    enum = enum_of(block, member)
    if enum:
        return enum
    if member.type in OUTPUT and member.dims:
        return f"tuple[{OUTPUT[member.type]}, ...]"
    if member.type in OUTPUT:
        return OUTPUT[member.type]
    base = member.type.removeprefix("const ").rstrip(" *")
    if base in LISTS:
        return f"tuple[{LISTS[base]}, ...]"
    if member.type == "const char *const *":
        return "tuple[str, ...]"
    if member.type == "char":
        return "str"
    if member.type == "const char *":
        return "str | None" if "NULL" in member.comment else "str"
    if member.type == "const double *":
        return "NDArray[np.float64] | None"
    if member.dims:
        return "NDArray[np.float64]" if member.type == "double" else "NDArray[np.int64]"
    if member.type == "double":
        return "float"
    assert member.type in INTEGERS, (block.tag, member)
    return "int"


def write_struct(block: headers.Block) -> str:
    is_input = block.tag in INPUT
    name = (INPUT if is_input else OUTPUT)[block.tag]
    counts = COUNTS if is_input else RESULT_COUNTS
    names = {m.name for m in block.members}
    members = [m for m in block.members if counts.get(m.name) not in names]
    doc = block.comment or f"{block.tag} of the C library."
    options = "eq=False, kw_only=True, repr=False" if is_input else "frozen=True, eq=False, kw_only=True"
    base = "Struct" if is_input else "Record"
    out = f"\n\n@dataclass({options})\nclass {name}({base}):\n"
    out += f'    """{paragraphs(doc, "    ").strip()}\n\n    Attributes:\n'
    for member in members:
        out += entry(member.name, member.comment)
    out += f'    """\n\n    _c = "{block.tag}"\n'
    for member in members:
        if is_input:
            annotation, default = input_field(block, member)
            out += f"    {member.name}: {annotation} = {default}\n"
        else:
            out += f"    {member.name}: {output_field(block, member)}\n"
    return out


def generate() -> str:
    blocks = headers.read(ROOT / "include" / "nanobrag")
    out = HEAD
    for block in blocks:
        if block.kind == "enum" and enum_key(block) in ENUMS:
            out += write_enum(block)
        elif block.kind == "enum":
            assert enum_key(block) in NO_ENUM, f"enum {enum_key(block)} is in no table of generate.py"
    for table in (INPUT, OUTPUT):
        out += "".join(write_struct(b) for b in blocks if b.kind == "struct" and b.tag in table)
    for block in blocks:
        known = block.kind == "enum" or block.tag in INPUT or block.tag in OUTPUT or block.tag in ARGUMENTS
        assert known, f"struct {block.tag} is in no table of generate.py"
    names = {n for n, _ in ENUMS.values()} | set(INPUT.values()) | set(OUTPUT.values())
    listed = textwrap.fill(
        ", ".join(f'"{n}"' for n in sorted(names - {"SceneMembers", "FitResultMembers"})),
        96,
        initial_indent="    ",
        subsequent_indent="    ",
    )
    return out + f"\n\n__all__ = [\n{listed}\n]\n"


def main() -> int:
    text = generate()
    if "--check" in sys.argv[1:]:
        if TARGET.read_text() == text:
            return 0
        print(f"{TARGET} does not follow the headers: run python python/tools/generate.py", file=sys.stderr)
        return 1
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
