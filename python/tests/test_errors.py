# SPDX-License-Identifier: MIT
"""Bad input is one exception of the fitting type with one clear sentence, never a crash."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from conftest import BASE, ROOT

import nanobrag
from nanobrag import Crystal, Detector, Scene, Simulator, Target

IMAGE = (64, 64)


def read_only():
    array = np.zeros(IMAGE)
    array.flags.writeable = False
    return array


def odd_strides():
    return np.zeros(64 * 64, dtype=[("a", "f8"), ("b", "i4")])["a"].reshape(IMAGE)


# what is done with a simulator of five parameters, the exception, and words of its text
CASES = {
    "out_type": (lambda s: s(out=np.zeros(IMAGE, int)), TypeError, "int64"),
    "out_half": (lambda s: s(out=np.zeros(IMAGE, np.float16)), TypeError, "float16"),
    "out_complex": (lambda s: s(out=np.zeros(IMAGE, complex)), TypeError, "complex"),
    "out_byte_order": (lambda s: s(out=np.zeros(IMAGE, ">f8")), TypeError, "byte order"),
    "out_shape": (lambda s: s(out=np.zeros((3, 3))), ValueError, "3 x 3"),
    "out_axes": (lambda s: s(out=np.zeros(64 * 64)), ValueError, "two axes"),
    "out_strides": (lambda s: s(out=odd_strides()), ValueError, "strides"),
    "out_repeats": (lambda s: s(out=np.lib.stride_tricks.as_strided(np.zeros(64), IMAGE, (0, 8))), ValueError,
                    "stride 0"),
    "out_read_only": (lambda s: s(out=read_only()), ValueError, "read-only"),
    "out_list": (lambda s: s(out=[[0.0] * 64] * 64), TypeError, "list"),
    "out_none_of_these": (lambda s: s(out="image"), TypeError, "str"),
    "dtype": (lambda s: s(dtype=int), TypeError, "int64"),
    "x_short": (lambda s: s([1.0, 2.0]), ValueError, r"\(5,\)"),
    "x_axes": (lambda s: s(np.zeros((1, 1, 5))), ValueError, r"\(5,\)"),
    "x_empty": (lambda s: s(np.zeros((0, 5))), ValueError, r"\(5,\)"),
    "x_complex": (lambda s: s(np.zeros(5, complex)), TypeError, "real"),
    "x_text": (lambda s: s(["a"] * 5), TypeError, "real"),
    "x_nan": (lambda s: s([np.nan, 0, 0, 50, 100]), ValueError, "misset_x"),
    "x_infinite": (lambda s: s([0, 0, 0, np.inf, 100]), ValueError, "cell_a"),
    "x_bounds": (lambda s: s([0, 0, 0, 50, -1.0]), ValueError, "distance"),
    "dx_nan": (lambda s: s.jvp(None, [np.nan] * 5), ValueError, "not a number"),
    "dx_short": (lambda s: s.jvp(None, [1.0]), ValueError, r"\(5,\)"),
    "jvp_out": (lambda s: s.jvp(None, np.ones(5), out=np.zeros((2, 2))), ValueError, "2 x 2"),
    "jvp_count": (lambda s: s.jvp(None, np.ones((2, 5)), out=np.zeros((3, 64, 64))), ValueError, "expected 2"),
    "bar_integer": (lambda s: s.vjp(None, np.zeros(IMAGE, int)), TypeError, "int64"),
    "bar_shape": (lambda s: s.vjp(None, np.zeros((64, 63))), ValueError, "64 x 63"),
    "bar_axes": (lambda s: s.vjp(None, np.zeros((1, 1, 1, 64, 64))), ValueError, "axes"),
    "observed_none": (lambda s: s.loss(None, Target()), TypeError, "observed"),
    "observed_type": (lambda s: s.loss(None, np.zeros(IMAGE, bool)), TypeError, "bool"),
    "observed_nan": (lambda s: s.loss(None, np.full(IMAGE, np.nan)), ValueError, "number"),
    "loss_kind": (lambda s: s.loss(None, Target(kind="gaus", observed=np.zeros(IMAGE))), ValueError, "poisson"),
    "loss_readout": (lambda s: s.loss(None, Target(observed=np.zeros(IMAGE), sigma_readout=-1)), ValueError,
                     "sigma_readout"),
    "planes_without_boxes": (lambda s: s.planes(None, Target(observed=np.zeros(IMAGE), background="planes")),
                             ValueError, "box"),
    "weight_shape": (lambda s: s.jtj(weight=np.zeros((1, 1))), ValueError, "1 x 1"),
    "counts_type": (lambda s: s.digitize(s(), out=np.zeros(IMAGE)), TypeError, "uint16"),
    "photons_type": (lambda s: s.digitize(np.zeros(IMAGE, np.uint16)), TypeError, "float32"),
    "seed": (lambda s: s.digitize(s(), seed=2**70), ValueError, "seed"),
    "boxes": (lambda s: s.boxes(0, 3), ValueError, "edge"),
    "boxes_most": (lambda s: s.boxes(8, -1), ValueError, "most=-1"),
    "source": (lambda s: s.source(7), ValueError, "source"),
    "source_range": (lambda s: s.source(2**40), ValueError, "i=1099511627776"),
    "panel": (lambda s: s.panel(1), ValueError, "panel 1 of 1"),
    "panel_fraction": (lambda s: s.panel(0.5), TypeError, "i: expected a whole number"),
    "pixel": (lambda s: s.trace(100, 0), ValueError, "pixel"),
    "pixel_range": (lambda s: s.trace(0, 2**40), ValueError, "fast=1099511627776"),
    "orientation_text": (lambda s: s.orientation("a"), TypeError, "phi_step: expected a whole number"),
    "coverage": (lambda s: s.gradcheck(coverage=-1), ValueError, "error bars"),
    "coverage_text": (lambda s: s.gradcheck(coverage="a"), TypeError, "coverage: expected a number"),
    "gradcheck_seed": (lambda s: s.gradcheck(seed=0.5), TypeError, "seed: expected a whole number"),
    "scale_text": (lambda s: s.digitize(s(), scale="a"), TypeError, "scale: expected a number"),
    "seed_fraction": (lambda s: s.digitize(s(), seed=0.5), TypeError, "seed: expected a whole number"),
    "add_factor": (lambda s: s.add(s(), factor="a"), TypeError, "factor: expected a number"),
    "x_setter": (lambda s: setattr(s, "x", np.zeros((2, 5))), ValueError, r"\(5,\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bad_input_of_a_call(name, sim):
    call, kind, words = CASES[name]
    with pytest.raises(kind, match=words) as caught:
        call(sim)
    assert "\n" not in str(caught.value)
    # the simulator is as it was
    assert sim().max() > 0


SMALL = {
    "crystal": Crystal(cell=(50, 60, 70, 90, 90, 90), default_f=100),
    "detector": Detector(nslow=8, nfast=8),
}
SCENES = {
    "no_cell": (lambda: Simulator(Scene()), nanobrag.UnitCellError, "cell"),
    "flat_cell": (lambda: Simulator(Scene(crystal=Crystal(cell=(50, 60, 70, 90, 90, 180), default_f=1))),
                  nanobrag.UnitCellError, "cell"),
    "cell_length": (lambda: Simulator(Scene(crystal=Crystal(cell=(50, 60)))), ValueError, "crystal.cell has 2"),
    "cell_text": (lambda: Simulator(Scene(crystal=Crystal(cell=("a",) * 6))), TypeError, r"crystal.cell\[0\]"),
    "cell_number": (lambda: Simulator(Scene(crystal=Crystal(cell=50))), TypeError, "crystal.cell"),
    "shape": (lambda: Simulator(Scene(crystal=Crystal(shape="cube"))), ValueError, "square, round, gauss"),
    "shape_number": (lambda: Simulator(Scene(crystal=Crystal(shape=17))), ValueError, "square, round, gauss"),
    "pixels": (lambda: Simulator(Scene(detector=Detector(nfast=2.5))), TypeError, "whole number"),
    "pixels_too_many": (lambda: Simulator(Scene(detector=Detector(nfast=2**40))), ValueError, "fit"),
    "negative": (lambda: Simulator(Scene(**SMALL).replace(detector__pixel=-1.0)), ValueError, "pixel"),
    "part": (lambda: Simulator(Scene(crystal=Detector())), TypeError, "expected a Crystal"),
    "hkl": (lambda: Simulator(Scene(crystal=Crystal(hkl=[[1, 2, 3]]))), TypeError, "Hkl"),
    "mask_shape": (lambda: Simulator(Scene(**SMALL).replace(detector__mask=np.ones((3, 3), bool))), ValueError,
                   "mask"),
    "mask_type": (lambda: Simulator(Scene(**SMALL).replace(detector__mask=np.ones((8, 8)))), TypeError, "mask"),
    "box": (lambda: Simulator(Scene(**SMALL).replace(detector__box=[[1, 2, 3]])), ValueError, "box"),
    "box_outside": (lambda: Simulator(Scene(**SMALL).replace(detector__box=[[0, 9, 0, 8]])), ValueError, "box"),
    "weights": (lambda: Simulator(Scene(**SMALL).replace(crystal__domain_weight=[1.0])), ValueError, "ndomains"),
    "point_group": (lambda: Simulator(Scene(**SMALL).replace(crystal__point_group="17")), ValueError, "point"),
    "scene_type": (lambda: Simulator({}), TypeError, "Scene"),
    "free": (lambda: Simulator(Scene(**SMALL), "cell_d"), ValueError, "cell_d"),
    "free_twice": (lambda: Simulator(Scene(**SMALL), "cell_a cell"), ValueError, "twice"),
    "precision": (lambda: Simulator(Scene(**SMALL), precision="half"), ValueError, "double, single"),
    "strategy": (lambda: Simulator(Scene(**SMALL), strategy="fast"), ValueError, "lanes"),
    "threads": (lambda: Simulator(Scene(**SMALL), threads=100000), ValueError, "threads"),
    "threads_text": (lambda: Simulator(Scene(**SMALL), threads="2"), TypeError, "threads: expected a whole number"),
    "threads_range": (lambda: Simulator(Scene(**SMALL), threads=2**40), ValueError, "threads=1099511627776"),
    "device": (lambda: Simulator(Scene(**SMALL), device="tpu"), ValueError, "cuda"),
    "device_number": (lambda: Simulator(Scene(**SMALL), device=0), TypeError, "device: expected auto, cpu"),
    "free_number": (lambda: Simulator(Scene(**SMALL), 3), TypeError, "names of parameters"),
    "free_nul": (lambda: Simulator(Scene(**SMALL), "misset\0"), ValueError, "free: a text may hold no NUL"),
    "compile": (lambda: Simulator(Scene(**SMALL), compile="maybe"), ValueError, "require"),
    "no_member": (lambda: Crystal(celll=1), TypeError, "celll"),
    "hkl_rows": (lambda: nanobrag.Hkl([[1, 2, 3]], [1.0, 2.0]), ValueError, "rows"),
    "hkl_fraction": (lambda: nanobrag.Hkl([[1.5, 2, 3]], [1.0]), TypeError, "hkl"),
    "hkl_empty": (lambda: nanobrag.Hkl(np.zeros((0, 3), int), []), ValueError, "reflection"),
    "hkl_range": (lambda: nanobrag.Hkl([[200000, 0, 0]], [1.0]), ValueError, "200000"),
    "hkl_file": (lambda: nanobrag.Hkl.read("no/such.hkl"), OSError, "no/such.hkl"),
    "mtz_file": (lambda: nanobrag.Hkl.read_mtz("no/such.mtz"), OSError, "no/such.mtz"),
    "smv_file": (lambda: nanobrag.read_smv("no/such.img"), OSError, "no/such.img"),
    "structure_file": (lambda: nanobrag.Structure("no/such.pdb"), OSError, "no/such.pdb"),
    "hkl_index": (lambda: nanobrag.Hkl([[1, 2, 3]], [1.0])[1, 2], TypeError, "three indices"),
    "hkl_index_text": (lambda: nanobrag.Hkl([[1, 2, 3]], [1.0])["a", 0, 0], TypeError, "h: expected a whole number"),
    "hkl_index_range": (lambda: (0, 2**40, 0) in nanobrag.Hkl([[1, 2, 3]], [1.0]), ValueError, "k=1099511627776"),
    "path_nul": (lambda: nanobrag.Hkl.read("a\0b"), ValueError, "a path may hold no NUL"),
    "header_nul": (lambda: nanobrag.write_smv("no/such.img", np.zeros((3, 3), np.uint16), {"a": "\0"}), ValueError,
                   "header: a text may hold no NUL"),
    "no_simulator": (lambda: nanobrag.write_cbf(None, "no/such.cbf", np.zeros((3, 3), np.uint16)), TypeError,
                     "sim: expected a Simulator"),
    "no_simulator_expt": (lambda: nanobrag.write_expt(None, "no/such.expt"), TypeError, "sim: expected a Simulator"),
    "no_simulator_geom": (lambda: nanobrag.write_geom(None, "no/such.geom"), TypeError, "sim: expected a Simulator"),
    "no_simulator_check": (lambda: nanobrag.check_cbf(None), TypeError, "sim: expected a Simulator"),
    "no_simulator_nxmx": (lambda: nanobrag.Nxmx(None, "no/such.nxs"), TypeError, "sim: expected a Simulator"),
    "command_none": (lambda: Scene.from_cli(None), TypeError, "expected a command line"),
    "command_nul": (lambda: Scene.from_cli(["-cell", "5\0"]), ValueError, "command: a text may hold no NUL"),
    "command": (lambda: Scene.from_cli("nanobrag -cel 1"), nanobrag.CommandError, "-cel"),
    "command_empty": (lambda: Scene.from_cli(""), nanobrag.CommandError, "cell"),
    "command_number": (lambda: Scene.from_cli("-cell a b c d e f"), nanobrag.CommandError, "cell"),
    "command_file": (lambda: Scene.from_cli("-cell 5 5 5 90 90 90 -hkl no/such.hkl"), nanobrag.CommandError,
                     "no/such.hkl"),
    "command_quote": (lambda: Scene.from_cli("-cell '5"), ValueError, "quotation"),
    "shot": (lambda: nanobrag.Fit([1], "misset"), TypeError, "Shot"),
    "shots": (lambda: nanobrag.Fit(Scene(**SMALL), "misset"), TypeError, "expected a Shot or a sequence"),
    "passes": (lambda: nanobrag.Fit(nanobrag.Shot(scene=Scene(**SMALL), target=np.zeros((8, 8))), "misset", passes=1.5),
               TypeError, "passes: expected a whole number"),
    "seconds": (lambda: nanobrag.Fit(nanobrag.Shot(scene=Scene(**SMALL), target=np.zeros((8, 8))), "misset",
                                     seconds="a"), TypeError, "seconds: expected a number"),
    "restraint_type": (lambda: nanobrag.Fit(nanobrag.Shot(scene=Scene(**SMALL), target=np.zeros((8, 8))), "misset",
                                            restraints=[3]), TypeError, "a list of Restraint"),
    "no_shots": (lambda: nanobrag.Fit([], "misset"), ValueError, "shot"),
    "fit_nothing": (lambda: nanobrag.Fit(nanobrag.Shot(scene=Scene(**SMALL), target=np.zeros((8, 8)))), ValueError,
                    "parameter"),
    "restraint": (lambda: nanobrag.Fit(nanobrag.Shot(scene=Scene(**SMALL), target=np.zeros((8, 8))), "misset",
                                       restraints=[nanobrag.Restraint(name="cell_a", sigma=1)]), ValueError, "cell_a"),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_bad_input_of_what_is_made(name, recwarn):
    call, kind, words = SCENES[name]
    with pytest.raises(kind, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_every_exception_has_its_status_and_a_python_type():
    kinds = [getattr(nanobrag, name) for name in nanobrag.__all__ if name.endswith("Error")]
    assert len(kinds) == 14
    for kind in kinds:
        assert issubclass(kind, nanobrag.NanobragError)
    with pytest.raises(nanobrag.ArgumentError) as caught:
        nanobrag.Simulator(Scene(**SMALL), "cell_d")
    assert caught.value.status == nanobrag.Status.ERR_ARGUMENT


def test_a_closed_simulator_refuses_every_call(sim):
    sim.close()
    sim.close()
    for call in (sim, lambda: sim.jvp(None, np.ones(5)), lambda: sim.vjp(None, np.zeros(IMAGE)), sim.describe,
                 lambda: sim.loss(None, np.zeros(IMAGE)), sim.jtj, lambda: sim.parameters, sim.resolved,
                 sim.explain, lambda: sim.digitize(np.zeros(IMAGE))):  # fmt: skip
        with pytest.raises(ValueError, match="closed"):
            call()
    assert "closed" in repr(sim)


def test_outside_the_domain_a_loss_is_infinite(sim):
    observed = sim()
    found = sim.loss([0, 0, 0, 50, -1.0], observed, normal=True)
    assert found.value == np.inf
    assert np.isnan(found.gradient).all()
    assert np.isnan(found.matrix).all()
    assert "distance" in found.message
    dark = sim.loss(None, Target(kind="poisson", observed=np.ones(IMAGE)))
    assert dark.message or np.isfinite(dark.value)


def test_a_fit_refuses_what_it_lacks(scene):
    fit = nanobrag.Fit(nanobrag.Shot(scene=scene, target=np.zeros(IMAGE)), "misset")
    for call, kind, words in (
        (lambda: fit.image(1), ValueError, "there is no shot 1"),
        (lambda: fit.image("a"), TypeError, "shot: expected a whole number"),
        (lambda: fit.misfit(0.5), TypeError, "shot: expected a whole number"),
        (lambda: fit.misfit(-1), ValueError, "there is no shot -1"),
        (lambda: fit.run_among(1, 1, abs), ValueError, "process 1 of 1"),
        (lambda: fit.run_among(0, 1, None), TypeError, "exchange: expected a function"),
        (lambda: fit.run_among("a", 1, abs), TypeError, "rank: expected a whole number"),
        (lambda: fit.run_among(0, 1, lambda numbers: 1 / 0), ZeroDivisionError, "division"),
        (lambda: pickle.dumps(fit), TypeError, "a Fit does not pickle"),
        (lambda: fit.write("a\0b"), ValueError, "a path may hold no NUL"),
    ):
        with pytest.raises(kind, match=words):
            call()


def test_a_warning_names_the_callers_line_and_may_be_an_error(tmp_path):
    path = tmp_path / "odd.geom"
    text = (ROOT / "examples" / "data" / "jungfrau.geom").read_text()
    path.write_text(text + "\nno_such_key = 3\n")
    with pytest.warns(nanobrag.NanobragWarning, match="no_such_key") as caught:
        nanobrag.Geometry(path)
    assert {warning.filename for warning in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(nanobrag.NanobragWarning, match="no_such_key"):
            nanobrag.Geometry(path)
        # that call alone ended by it
        assert nanobrag.Geometry(ROOT / "examples" / "data" / "jungfrau.geom").info.npanel == 8


def test_warnings_of_the_library_are_warnings(scene):
    with pytest.warns(nanobrag.NanobragWarning, match="."):
        Scene.from_cli(BASE + " -oversample 1 -distance 100 -close_distance 100 -nopolar -polar 0.5")
