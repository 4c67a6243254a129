# SPDX-License-Identifier: MIT
"""Fits, structures and files."""

from __future__ import annotations

import concurrent.futures
import functools
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import nanobrag
from nanobrag import Fcalc, Fit, Hkl, Restraint, Scene, Shot, Simulator, Structure, Target, fisher

DATA = Path(__file__).parents[2] / "examples" / "data"
SCENE = (
    "-cell 50 60 70 90 90 90 -default_F 100 -N 5 -gauss_xtal -fluence 1e28 -mosaic 0.3 -mosaic_domains 10 "
    "-detpixels 96 -pixel 0.8 -water 0.05 -misset {} {} {}"
)
TRUTH = (10, 20, 30)


def observed(misset, scale=1.0, seed=1):
    sim = nanobrag.Simulator.from_cli(SCENE.format(*misset) + f" -param scale={scale}")
    return sim.digitize(sim(), noise=True, seed=seed).counts.astype(np.float64)


def shot(misset, start, scale=1.0, seed=1):
    return Shot(
        scene=nanobrag.Scene.from_cli(SCENE.format(*start)),
        target=Target(kind="poisson", observed=observed(misset, scale, seed)),
    )


def test_a_fit_finds_what_went_in(tmp_path):
    states = []
    start = shot(TRUTH, (10.05, 19.95, 30.05))
    # the mosaic domains are those of the image: errors need not contain that of sampling
    fit = Fit(start, "misset cell_a scale", scaling="misfit", progress=states.append)
    result = fit.run()
    assert result.end == nanobrag.FitEnd.CONVERGED, result
    truth = [*TRUTH, 50, 1]
    pulls = (result.x - truth) / result.error
    print(f"pulls {pulls}, allowed 5")
    assert (abs(pulls) < 5).all()
    assert result.covariance.shape == (5, 5)
    assert np.allclose(np.sqrt(np.diag(result.covariance)), result.error)
    assert len(states) == result.passes
    assert result["cell_a"].param.unit == "A"
    assert "cell_a" in repr(result)
    model, residual, z = (fit.image(0, what) for what in ("model", "residual", "z"))
    assert np.allclose(model + residual, fit.shots[0].target.observed)
    assert 0.8 < z.std() < 1.2
    misfit = fit.misfit()
    assert misfit.all.pixels == model.size
    assert len(misfit.shell) == 10
    loss = fit.evaluate(normal=True)
    assert loss.value == pytest.approx(result.loss, rel=1e-12)
    assert fit.evaluate([1e9] * 5).value == np.inf
    fit.write(tmp_path / "fit.json")
    other = Fit(shot(TRUTH, (10.05, 19.95, 30.05)), "misset cell_a scale")
    other.read(tmp_path / "fit.json")
    assert np.array_equal(other.result.x, result.x)


class Lazy:
    """Shots that are made when they are needed."""

    def __init__(self):
        self.made = 0

    def __len__(self):
        return 3

    def __getitem__(self, i):
        if i == 2:
            raise FileNotFoundError("shot 2 is gone")
        self.made += 1
        return shot(TRUTH, (10.03, 20, 30), scale=1 + 0.2 * i, seed=i + 1)


@pytest.mark.filterwarnings("ignore:shot 2 is left out")
def test_several_shots_lazily_and_by_parts():
    lazy = Lazy()
    fit = Fit(lazy, "cell_a", "misset scale")
    result = fit.run()
    assert lazy.made > 4
    assert [bool(s.left_out) for s in result.shot] == [False, False, True]
    assert fit._ask.loaded == {}
    assert isinstance(fit._ask.errors[2], FileNotFoundError)
    # which is not why a later call fails
    with pytest.raises(ValueError, match="no shot 3") as caught:
        fit.misfit(3)
    assert caught.value.__cause__ is None
    scales = [v.value for v in result.value if v.param.name == "scale" and v.shot < 2]
    assert np.allclose(scales, [1, 1.2], rtol=0.05)


def test_processes_share_out_the_shots():
    class Together:
        """Adds the numbers of two threads."""

        def __init__(self):
            self.barrier, self.handed = threading.Barrier(2), [None, None]

        def __call__(self, rank, numbers):
            self.handed[rank] = numbers.copy()
            self.barrier.wait(60)
            numbers[:] = self.handed[0] + self.handed[1]
            self.barrier.wait(60)

    shots = [Lazy()[i] for i in range(2)]
    whole = Fit(shots, "cell_a", "misset scale").run()
    halves = [Fit(shots, "cell_a", "misset scale") for _ in range(2)]
    together = Together()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(halves[i].run_among, i, 2, functools.partial(together, i)) for i in range(2)]
        for run in runs:
            assert np.array_equal(run.result().x, whole.x)
    alone = Fit(shots, "cell_a", "misset scale").run_among(0, 1, lambda numbers: numbers.copy())
    assert np.array_equal(alone.x, whole.x)


def test_a_single_shot_that_cannot_be_loaded_raises_with_its_cause():
    class Gone(Lazy):
        def __len__(self):
            return 1

        def __getitem__(self, i):
            raise FileNotFoundError("it is gone")

    with pytest.raises(nanobrag.NanobragError) as caught:
        Fit(Gone(), "misset")
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_restraints_and_forecast():
    start = shot(TRUTH, (10.02, 20, 30))
    free = fisher(Shot(scene=start.scene, target=Target(kind="poisson")), "cell_a misset")
    tight = Fit(start, "cell_a misset", restraints=[Restraint(name="cell_a", centre=50, sigma=1e-4)]).run()
    assert tight["cell_a"].error < 1.01e-4 < free["cell_a"].error
    assert free["cell_a"].error == pytest.approx(
        Fit(start, "cell_a misset", scaling="misfit").run()["cell_a"].error, rel=0.2
    )


@pytest.mark.skipif("gemmi" not in nanobrag.features(), reason="this build has no gemmi")
@pytest.mark.parametrize(
    ("option", "changes"),
    [
        ("-lambda 1.2 -distance 50", {"detector__distance": 50.0}),
        ("-lambda 0.9", {"beam__wavelength": 0.9}),
        ("-lambda 1.2 -pixel 5", {"detector__pixel": 5.0}),
    ],
)
def test_a_scene_that_was_replaced_is_resolved_by_itself(option, changes):
    command = (
        f"-pdb {DATA / '2erl.pdb'} -N 6 -gauss_xtal -mosaic 0.3 -mosaic_domains 3 -misset 10 20 30 "
        "-detpixels 32 -pixel 3 -distance 100 -fluence 1e26 -water 0.05 "
    )
    base, own = Scene.from_cli(command + "-lambda 1.2"), Scene.from_cli(command + option)
    moved, target = base.replace(**changes), Target(kind="poisson")
    found, expected = (fisher(Shot(scene=s, target=target), "cell_a misset scale") for s in (moved, own))
    assert found.error == pytest.approx(expected.error, rel=1e-9)
    image = Simulator(own)()
    assert abs(Simulator(moved)() - image).max() <= 1e-12 * image.max()
    assert Simulator(base).scene is base  # its list is the right one


def test_a_fit_is_stopped_and_goes_on():
    fit = Fit(shot(TRUTH, (10.05, 19.95, 30.05)), "misset cell_a scale")
    fit.stop()
    with pytest.raises(nanobrag.CancelledError):
        fit.run()
    timer = threading.Timer(0.02, fit.stop)
    timer.start()
    try:
        fit.run()
    except nanobrag.CancelledError:
        time.sleep(0.02)
    timer.join()
    result = Fit(shot(TRUTH, (10.05, 19.95, 30.05)), "misset cell_a scale").run()
    try:
        again = fit.run()
    except nanobrag.CancelledError:  # the timer came after the run
        again = fit.run()
    assert np.allclose(again.x, result.x, rtol=1e-6)

    def fail(_state):
        raise ZeroDivisionError("of the handler")

    fit = Fit(shot(TRUTH, (10.05, 19.95, 30.05)), "misset", progress=fail)
    with pytest.raises(ZeroDivisionError):
        fit.run()


@pytest.mark.skipif("gemmi" not in nanobrag.features(), reason="this build has no gemmi")
def test_structure_factors_of_a_model(tmp_path):
    model = Structure(DATA / "2erl.pdb")
    assert len(model) == len(model.atoms) == len(model.numbers) > 300
    assert model.crystal.space_group.startswith("C")
    how = Fcalc(dmin=4.0, method="direct")
    hkl = model.fcalc(how)
    indices, f = hkl.arrays()
    assert len(hkl) == len(f) > 100
    random = np.random.default_rng(5)
    bar, dot = random.normal(size=len(f)), random.normal(size=(len(model), 5)) * 1e-3
    forward, back = model.jvp(how, hkl, dot) @ bar, (model.vjp(how, hkl, bar) * dot).sum()
    assert forward == pytest.approx(back, rel=1e-10)
    step = 1e-3
    plus = model.fcalc(how, model.numbers + step * dot).arrays()[1]
    minus = model.fcalc(how, model.numbers - step * dot).arrays()[1]
    change = (plus - minus) / (2 * step)
    assert abs(change - model.jvp(how, hkl, dot)).max() < 1e-5 * abs(change).max()
    mtz = nanobrag.Mtz(cell=model.crystal.cell, space_group=model.crystal.space_group, label="FC")
    hkl.write_mtz(tmp_path / "f.mtz", mtz)
    again, info = Hkl.read_mtz(tmp_path / "f.mtz", "FC")
    assert info.space_group == model.crystal.space_group
    h = tuple(indices[np.argmax(f)])
    assert again[h] == pytest.approx(hkl[h], rel=1e-6)
    with pytest.raises(ValueError, match="dmin"):
        model.fcalc(Fcalc())
    with pytest.raises(ValueError, match="rows"):
        model.fcalc(how, np.zeros((3, 5)))
    with pytest.raises(ValueError, match="one for each"):
        model.vjp(how, hkl, [1.0])


@pytest.mark.skipif("gemmi" not in nanobrag.features(), reason="this build has no gemmi")
def test_rows_that_disagree(tmp_path):
    path = tmp_path / "sf.cif"
    cell = zip(("length_a", "length_b", "length_c"), (30, 35, 45), strict=True)
    path.write_text(
        "data_r\n"
        + "".join(f"_cell.{name} {edge}\n" for name, edge in cell)
        + "".join(f"_cell.angle_{name} 90\n" for name in ("alpha", "beta", "gamma"))
        + "_symmetry.space_group_name_H-M 'P 21 21 21'\nloop_\n_refln.index_h\n_refln.index_k\n"
        "_refln.index_l\n_refln.F_meas_au\n1 2 3 10\n-1 -2 3 14\n"
    )
    with pytest.raises(nanobrag.FormatError, match=r"row 1 is 10.* row 2 is 14"):
        Hkl.read_mtz(path)
    for merge, f in (("mean", 12), ("first", 10), (nanobrag.Merge.LAST, 14)):
        assert Hkl.read_mtz(path, merge=merge)[0][1, 2, 3] == f


def test_files_of_reflections(tmp_path):
    hkl = Hkl.read(DATA / "2erl_p1.hkl")
    hkl.write_dump(tmp_path / "f.bin", default_f=1.5)
    again = Hkl.read_dump(tmp_path / "f.bin")
    h = tuple(int(i) for i in hkl.arrays()[0][7])
    assert again[h] == hkl[h]
    assert h in hkl
    assert (999, 0, 0) not in hkl
    with pytest.raises(KeyError):
        hkl[999, 0, 0]
    assert hkl.info.count >= len(hkl)
    text = tmp_path / "p.hkl"
    text.write_text("1 2 3 4.5\n0 0 1 2\n")
    assert Hkl.read(text) == Hkl([[0, 0, 1], [1, 2, 3]], [2, 4.5])
    assert Hkl.read_nanobragg(text) == Hkl.read(text)
    text.write_text("1 2 x 4.5\n")
    with pytest.raises(nanobrag.FormatError, match="line 1"):
        Hkl.read(text)


def test_smv_images(tmp_path):
    counts = np.arange(12, dtype=np.uint16).reshape(3, 4)
    header = {
        "DIM": 2,
        "BYTE_ORDER": "little_endian",
        "TYPE": "unsigned_short",
        "SIZE1": 4,
        "SIZE2": 3,
        "DISTANCE": 99.5,
    }
    nanobrag.write_smv(tmp_path / "a.img", counts, header)
    again, read = nanobrag.read_smv(tmp_path / "a.img")
    assert np.array_equal(again, counts)
    assert read["DISTANCE"] == 99.5
    assert read.get("NOTHING", 7) == 7
    (tmp_path / "b.img").write_bytes((tmp_path / "a.img").read_bytes()[:-4])
    with pytest.raises(nanobrag.FormatError, match="fewer pixels"):
        nanobrag.read_smv(tmp_path / "b.img")
    (tmp_path / "m.mat").write_text("1 2 3\n4 5 6\n7 8 9\n")
    assert nanobrag.read_matrix(tmp_path / "m.mat")[1, 2] == 6


def test_a_result_says_what_is_wrong_with_it():
    good = Fit(shot(TRUTH, (10.05, 20, 30)), "misset scale", scaling="misfit").run()
    print(f"rms of a right model {good.rms:.3f}, allowed 0.95 to 1.05")
    assert 0.95 < good.rms < 1.05
    assert good.warnings == ()
    assert good.reasons[0] == good.why
    assert good.errors_why not in repr(good)
    assert good.draws == 0
    assert np.isnan(good["scale"].sampling)
    sampled = Fit(shot(TRUTH, (10.05, 20, 30)), "misset scale").run()
    assert sampled.draws == 8
    assert sampled.errors_why in repr(sampled)
    for name in ("misset_x", "scale"):
        assert sampled[name].error == pytest.approx(np.hypot(good[name].error, sampled[name].sampling))
    wrong = shot(TRUTH, TRUTH)
    wrong.target = wrong.target.replace(observed=wrong.target.observed * 4)
    with pytest.warns(nanobrag.NanobragWarning, match="the model does not describe the data"):
        result = Fit(wrong, "misset").run()
    assert result.rms > 2
    assert "does not describe the data" in repr(result)
    assert result.error_factor > 1
    assert f"times {result.error_factor:.3g}, since the misfit" in repr(result)
    with pytest.warns(nanobrag.NanobragWarning, match="has not converged"):
        short = Fit(shot(TRUTH, (10.3, 20, 30)), "misset scale", coarse="off", passes=1).run()
    assert "has not converged" in short.warnings[-1]
    off = Restraint(name="mosaic", lower=0.35, upper=1)
    start = shot(TRUTH, TRUTH)
    start.scene = start.scene.replace(crystal__mosaic=(0.4, 0, 0))
    at_bound = Fit(start, "misset mosaic", restraints=[off]).run()
    assert "mosaic: at its lower bound" in at_bound.reasons


def test_counts_carry_their_ceiling():
    """A fit to uint16 counts, of which the strongest spots are cut off, finds the scale of the truth."""
    strong = SCENE.format(*TRUTH).replace("1e28", "3e30")
    sim = nanobrag.Simulator.from_cli(strong)
    counted = sim.digitize(sim(), noise=True, seed=3)
    assert counted.saturation == 65535
    assert counted.overloads > 20
    start = nanobrag.Scene.from_cli(strong + " -param scale=0.9")
    for observed in (counted.counts, counted, Target(kind="poisson", observed=counted.counts)):
        target = observed if isinstance(observed, Target) else Target(kind="poisson", observed=observed)
        scale = Fit(Shot(scene=start, target=target), "scale").run()["scale"]
        pull = (scale.value - 1) / scale.error
        print(f"scale {scale.value:.6f}({scale.error:.6f}), {pull:.2f} errors off, 5 allowed")
        assert abs(pull) < 5
    cut = Target(kind="poisson", observed=counted.counts.astype(float))
    with pytest.warns(nanobrag.NanobragWarning, match="65535, the largest 16-bit number"):
        fit = Fit(Shot(scene=start, target=cut), "scale")
    with pytest.warns(nanobrag.NanobragWarning, match="does not describe the data"):
        biased = fit.run()["scale"]
    assert abs(biased.value - 1) > 5 * biased.error
    assert sim.digitize(sim(), noise=True, dtype=np.int32).saturation == 2**31 - 1


def test_least_squares_know_saturation():
    sim = nanobrag.Simulator.from_cli(SCENE.format(*TRUTH), "scale")
    image = sim()
    top = image.max() / 2
    problem = sim.least_squares(Target(observed=np.minimum(image, top), saturation=top))
    assert not problem.fun(sim.x).any()
    lower = sim.x * 0.3
    step = 1e-6
    difference = (problem.fun(lower + step) - problem.fun(lower - step)) / (2 * step)
    worst = abs(problem.jac(lower)[:, 0] - difference).max() / abs(difference).max()
    print(f"jac against differences {worst:.1e}, allowed 1e-7")
    assert worst < 1e-7
    higher = sim.x * 1.5
    full = (image >= top).ravel()
    assert not problem.fun(higher)[full].any()
    assert not problem.jac(higher)[full].any()
    assert sim.loss(higher, problem.target).value == pytest.approx((problem.fun(higher) ** 2).sum() / 2, rel=1e-12)


@pytest.mark.skipif("gemmi" not in nanobrag.features(), reason="this build has no gemmi")
def test_the_space_group_ties_the_cell(tmp_path):
    options = f"-pdb {DATA / '2erl.pdb'} -N 5 -gauss_xtal -detpixels 32 -pixel 3 -fluence 1e28"
    scene = nanobrag.Scene.from_cli(options)
    assert scene.crystal.system == nanobrag.System.MONOCLINIC
    free = ["cell_a", "cell_b", "cell_c", "cell_beta"]
    sim = scene.simulator("cell")
    assert [p.name for p in sim.parameters] == free
    assert len(nanobrag.Scene.from_cli(options + " -crystal_system triclinic").simulator("cell").parameters) == 6
    nanobrag.write_expt(sim, tmp_path / "a.expt", space_group="C 1 2 1")
    read = nanobrag.Scene.from_expt(tmp_path / "a.expt", crystal__default_f=100, crystal__ncells=(5, 5, 5))
    assert [p.name for p in read.simulator("cell").parameters] == free
    by_line = nanobrag.Scene.from_cli(f"-expt {tmp_path / 'a.expt'} -default_F 100 -N 5")
    assert [p.name for p in by_line.simulator("cell").parameters] == free
    assert nanobrag.crystal_system("P 1 1 2", (20, 30, 40, 90, 90, 90)) == nanobrag.System.NONE
    assert nanobrag.crystal_system("I 4", (20, 30, 40, 90, 90, 90)) == nanobrag.System.NONE
    with pytest.raises(ValueError, match="cell has 3 numbers"):
        nanobrag.crystal_system("P 1", (20, 30, 40))


def test_shots_that_are_held_out_are_compared():
    shots = [shot(TRUTH, TRUTH, seed=seed) for seed in (3, 4, 5)]
    fit = Fit(shots, "scale mosaic", holdout=3, scaling="misfit")
    result = fit.run()
    assert [s.is_held_out for s in result.shot] == [0, 0, 1]
    for which, counted in (("fitted", [0, 1]), ("held_out", [2])):
        misfit = fit.misfit(which)
        ratio = misfit.all.deviance / misfit.all.expected
        print(f"{which}: deviance {ratio:.4f} times its expectation, allowed 0.9 to 1.1")
        assert 0.9 < ratio < 1.1
        assert [i for i, s in enumerate(misfit.shot) if s.pixels] == counted
        assert misfit.all.deviance == pytest.approx(sum(fit.misfit(i).all.deviance for i in counted), rel=1e-12)
        assert 0 < misfit.all.bright <= misfit.all.pixels
        assert np.isnan(misfit.r)
    with pytest.raises(ValueError, match='expected a number, "fitted" or "held_out", not "all"'):
        fit.misfit("all")
    with pytest.raises(nanobrag.ArgumentError, match="no values of its own"):
        Fit(shots, "mosaic", "scale", holdout=3)
