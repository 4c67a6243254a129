# SPDX-License-Identifier: MIT
"""Images have the bits of the C library, and nothing is copied."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import BASE, CELL, SCENES, two_panels

import nanobrag
from nanobrag._lib import ffi, lib

COMMANDS = {
    "gauss": BASE,
    "square": f"{CELL} -N 4 -detpixels 48 -pixel 0.5",
    "mosaic": f"{CELL} -N 6 -gauss_xtal -mosaic 0.5 -mosaic_domains 8 -detpixels 64 -pixel 0.4 -water 1",
    "phi": f"{CELL} -N 4 -round_xtal -osc 2 -phisteps 5 -detpixels 48 -pixel 0.5",
    "roi": f"{BASE} -roi 5 40 7 60",
    "single": f"{BASE} -precision float -strategy lanes",
    "reference": f"{CELL} -N 4 -detpixels 24 -pixel 1 -strategy reference",
    "sources": f"{CELL} -N 4 -detpixels 32 -pixel 0.8 -dispersion 1 -dispsteps 3 -hdivrange 2 -hdivsteps 3",
    "param": f"{BASE} -param cell_a=51 -param distance=90",
    "compat": f"{CELL} -N 4 -detpixels 32 -pixel 0.8 -compat nanobragg",
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_bits_are_those_of_the_program(name, run_program):
    sim = nanobrag.Simulator.from_cli(COMMANDS[name])
    image = sim(dtype=np.float32)
    expected = run_program(COMMANDS[name], sim.shape)
    assert image.max() > 0
    assert np.array_equal(image, expected)


def test_bits_are_those_of_nb_forward(sim):
    """Called through cffi alone, at a given x."""
    x = sim.x + [0.01, 0, -0.02, 0.1, 1]
    expected = np.zeros(sim.shape)
    array = ffi.new("nb_array *")
    array[0] = lib.nb_array_f64(ffi.from_buffer("double[]", expected), *sim.shape)
    assert lib.nb_forward(sim._c, ffi.from_buffer("double[]", x), array) == lib.NB_OK
    assert expected.max() > 0
    assert np.array_equal(sim(x), expected)
    batch = sim(np.stack([sim.x, x, x]))
    assert np.array_equal(batch[1], expected)
    assert np.array_equal(batch[2], expected)
    assert np.array_equal(batch[0], sim())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_images_are_added(sim, dtype):
    """To memory of the caller, which becomes the image where it was 0."""
    x = sim.x + [0.01, 0, -0.02, 0.1, 1]
    image = np.zeros(sim.shape, dtype)
    assert sim.add(image) is image
    assert np.array_equal(image, sim(dtype=dtype))
    view = np.full((sim.shape[0], 2 * sim.shape[1]), 3, dtype)
    sim.add(view[:, ::2], x, -0.5)
    assert np.array_equal(view[:, ::2], (3 - 0.5 * sim(x)).astype(dtype))
    assert (view[:, 1::2] == 3).all()
    with pytest.raises(nanobrag.ArgumentError, match="factor"):
        sim.add(image, x, np.nan)
    with pytest.raises(nanobrag.ShapeError):
        sim.add(np.zeros((3, 3)))
    assert np.array_equal(image, sim(dtype=dtype))


def test_threads_do_not_change_bits(scene):
    images = [nanobrag.Simulator(scene, threads=n)() for n in (1, 2, 3)]
    assert np.array_equal(images[0], images[1])
    assert np.array_equal(images[0], images[2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["dense", "columns", "reversed", "transposed", "part"])
def test_out_is_written_in_place(sim, dtype, kind):
    """The library gets the address of the caller's memory, whatever its strides."""
    n = sim.shape[0]
    base = {
        "dense": lambda: np.full((n, n), -1, dtype), "columns": lambda: np.full((n, 2 * n), -1, dtype)[:, ::2],
        "reversed": lambda: np.full((n, n), -1, dtype)[::-1, ::-1],
        "transposed": lambda: np.full((n, n), -1, dtype).T,
        "part": lambda: np.full((n + 3, n + 5), -1, dtype)[1:-2, 2:-3],
    }[kind]()  # fmt: skip
    seen = []
    original = sim._context.run

    def spy(function, *args):
        if function is lib.nb_forward:
            seen.append(int(ffi.cast("intptr_t", args[2].data)))
        original(function, *args)

    sim._context.run = spy
    result = sim(out=base)
    assert result is base
    assert seen == [base.__array_interface__["data"][0]]
    assert np.array_equal(base, sim().astype(dtype))


class Exported:
    """Something that has __dlpack__ and nothing else."""

    def __init__(self, array, version=None):
        self.array, self.version = array, version

    def __dlpack__(self, **more):
        if self.version is None:
            more.pop("max_version", None)
        return self.array.__dlpack__(**more)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("version", [None, 1])
def test_dlpack_is_written_in_place(sim, version):
    memory = np.zeros(sim.shape)
    assert sim(out=Exported(memory, version)) is not None
    assert np.array_equal(memory, sim())
    # a cotangent of the same kind gives the same gradient
    assert np.array_equal(sim.vjp(None, Exported(memory, version)), sim.vjp(None, memory))


def test_inputs_are_not_copied(sim):
    bar = np.random.default_rng(1).normal(size=sim.shape)
    seen = []
    original = sim._context.run

    def spy(function, *args):
        if function is lib.nb_vjp:
            seen.append(int(ffi.cast("intptr_t", args[3][0].data)))
        original(function, *args)

    sim._context.run = spy
    sim.vjp(None, bar)
    assert seen == [bar.__array_interface__["data"][0]]


def test_digitize_and_statistics(sim):
    image = sim()
    counts, photons, overloads = sim.digitize(image, noise=True, seed=3)
    assert counts.dtype == np.uint16
    assert photons == counts.sum()
    assert overloads == 0
    assert np.array_equal(counts, sim.digitize(image.astype(np.float64), noise=True, seed=3).counts)
    assert not np.array_equal(counts, sim.digitize(image, noise=True, seed=4).counts)
    assert not np.array_equal(counts, sim.digitize(image, noise=True, seed=3, image=1).counts)
    plain = sim.digitize(image, scale=2.0, offset=10.0).counts
    assert np.array_equal(plain, np.floor(image.astype(np.float32) * 2.0 + 10.5).astype(np.uint16))
    statistics = sim.statistics(image)
    assert statistics.count == image.size
    assert statistics.sum == pytest.approx(image.astype(np.float32).sum(dtype=np.float64), rel=1e-12)


def test_queries(sim):
    description = sim.describe()
    assert (description.nslow, description.nfast) == sim.shape
    assert np.allclose(description.cell, [50, 60, 70, 80, 95, 103], rtol=1e-12)
    assert description.real_axes.shape == (3, 3)
    resolved = sim.resolved()
    assert np.array_equal(nanobrag.Simulator(resolved)(), sim())
    assert sim.source(0).wavelength == 1.0
    assert np.linalg.norm(sim.orientation()[1]) == pytest.approx(60, rel=1e-12)
    trace = sim.trace(30, 31)
    assert trace.intensity == pytest.approx(sim()[30, 31], rel=1e-9)
    assert sim.boxes(8, 5).shape[1] == 4
    assert isinstance(sim.explain(), str)
    assert sim.stats().compiles >= 0


def test_parameters_table(sim):
    parameters = sim.parameters
    assert parameters.names == ["misset_x", "misset_y", "misset_z", "cell_a", "distance"]
    assert parameters["cell_a"].unit == "A"
    assert list(parameters.values) == [10, 20, 30, 50, 100]
    assert "cell_a" in repr(parameters)
    assert "<td>cell_a</td>" in parameters._repr_html_()
    assert len(parameters[1:3]) == 2
    with pytest.raises(KeyError, match="none of the free parameters"):
        parameters["cell_b"]
    assert nanobrag.registry()["F[h,k,l]"].unit == "electron"


def test_panels(scene):
    panels = [
        nanobrag.Panel(name=f"p{i}", nslow=20, nfast=30, origin=(-4, 5.0 * i - 5, 60), fast=(1, 0, 0), slow=(0, 1, 0),
                       group=1 if i == 2 else 0)
        for i in range(3)
    ]  # fmt: skip
    group = nanobrag.PanelGroup(name="q0", fast=(1, 0, 0), slow=(0, 1, 0), shift=(0.1, 0, 0))
    detector = nanobrag.Detector(panel=panels, group=[group], pixel=0.2, convention="dials")
    sim = scene.replace(detector=detector).simulator("panel_shift group_rot")
    assert sim.shape == (60, 30)
    assert sim.parameters.names[0] == "panel_shift_fast[0]"
    assert "group_rot_normal[0]" in sim.parameters.names
    stack = np.zeros((3, 20, 30))
    assert sim(out=stack) is stack
    assert np.array_equal(stack.reshape(60, 30), sim())
    moved = sim.panel(2)
    assert (moved.name, moved.slow0) == ("p2", 40)
    assert moved.origin == pytest.approx((-3.9, 5, 60))
    x = sim.x.copy()
    x[0] = 0.5
    assert sim.panel(0, x).origin == pytest.approx((-3.5, -5, 60))
    again = sim.resolved()
    assert len(again.detector.panel) == 3
    assert again.detector.group[0].name == "q0"
    assert np.array_equal(again.simulator()(), sim())
    alone = scene.replace(
        detector=nanobrag.Detector(panel=[sim.panel(1).replace(slow0=0)], pixel=0.2, convention="dials")
    ).simulator()  # fmt: skip
    assert np.array_equal(alone(), stack[1])
    mask = np.ones((60, 30), bool)
    mask[:20] = False
    masked = scene.replace(detector=detector.replace(mask=mask)).simulator()()
    assert not masked[:20].any()
    assert np.array_equal(masked[20:], sim()[20:])
    with pytest.raises(ValueError, match=r"expected \(nslow, nfast\) = \(60, 30\)"):
        scene.replace(detector=detector.replace(mask=mask[:40])).simulator()
    with pytest.raises(TypeError, match="expected a Panel"):
        scene.replace(detector=nanobrag.Detector(panel=[group])).simulator()


def test_stacked_panels_take_three_axes():
    """What takes an image takes that of stacked panels on three axes, with the same numbers."""
    sim = two_panels(nanobrag.Scene.from_cli(SCENES["panels"][0])).simulator("misset panel_shift")
    flat = sim()
    assert sim.shape == (8, 7)
    stack = flat.reshape(2, 4, 7)
    assert np.array_equal(sim.vjp(None, stack), sim.vjp(None, flat))
    several = np.stack([flat, flat + 1])
    expected = sim.vjp(None, several)
    assert np.array_equal(sim.vjp(None, several.reshape(2, 2, 4, 7)), expected)
    assert np.array_equal(sim.vjp(None, list(several.reshape(2, 2, 4, 7))), expected)
    rows = np.stack([sim.x, sim.x])
    made = np.zeros((2, 2, 4, 7))
    assert sim(rows, made) is made
    assert np.array_equal(made[1].reshape(8, 7), flat)
    tangent = np.zeros((2, 4, 7))
    sim.jvp(None, np.ones(sim.nparam), out=tangent)
    assert np.array_equal(tangent.reshape(8, 7), sim.jvp(None, np.ones(sim.nparam)))
    target = nanobrag.Target(observed=stack + 1, weight=stack)
    assert sim.loss(None, target).value == sim.loss(None, target.replace(observed=flat + 1, weight=flat)).value
    problem = sim.least_squares(target)
    assert np.array_equal(problem.fun(sim.x), (np.sqrt(flat) * (flat - (flat + 1))).ravel())
    for image in (np.zeros((2, 3, 7)), np.zeros((1, 1, 4, 7)), np.zeros((1, 1, 2, 4, 7))):
        with pytest.raises(ValueError, match="bar_image"):
            sim.vjp(None, image)
    with pytest.raises(ValueError, match=r"observed has the shape \(2, 3, 7\); expected \(8, 7\)"):
        sim.least_squares(np.zeros((2, 3, 7))).fun(sim.x)


def test_the_brightest_spot_is_where_the_image_is_brightest(scene):
    sim = nanobrag.Simulator(scene.replace(crystal__hkl=nanobrag.Hkl([[0, 0, 0]], [0.0])))
    slow, fast = np.unravel_index(np.argmax(sim()), (64, 64))
    near = min(np.hypot(spot.fast - fast - 0.5, spot.slow - slow - 0.5) for spot in sim.spots()[:3])
    assert near < 1.5
    brightness = [spot.brightness for spot in sim.spots()]
    assert brightness == sorted(brightness, reverse=True)


def test_reflections_are_predicted_and_integrated():
    scene = nanobrag.Scene.from_cli(
        "-cell 50 60 70 -default_F 100 -N 20 -gauss_xtal -mosaic 0.3 -misset 10 20 30 -detpixels 200 -pixel 0.2 "
        "-distance 80 -fluence 1e26"
    )
    sim = nanobrag.Simulator(scene)
    table = sim.predict(least=20, id=3)
    assert set(table["id"]) == {3}
    noise = np.random.default_rng(1)
    photons = noise.poisson(sim() + 1.0).astype(float)
    target = nanobrag.Target(
        observed=photons, kind=nanobrag.LossKind.POISSON, background=nanobrag.BackgroundKind.PLANES
    )
    sim.integrate(table, target, id=3)
    pull = (table["intensity.prf.value"] - 1e4) / np.sqrt(table["intensity.prf.variance"])
    assert len(pull) > 50
    assert abs(np.sqrt(np.mean(pull**2)) - 1) < 0.25
    twice = nanobrag.Reflections.join([table, table])
    assert len(twice) == 2 * len(table)
    assert np.array_equal(twice["bbox"][len(table) :], table["bbox"])
    with pytest.raises(nanobrag.ArgumentError, match="poisson or readout"):
        sim.integrate(table, nanobrag.Target(observed=photons))


def test_boxes_mask_and_lists_reach_the_library(scene):
    mask = np.ones((64, 64), bool)
    mask[10:20] = False
    sources = [nanobrag.Source(direction=(1, 0, 0), wavelength=1 + 0.01 * i, weight=1) for i in range(3)]
    stol = [[0, 2.0], [0.1, 3.0], [0.3, 2.5], [0.6, 1.0], [1.0, 0.5]]
    changed = scene.replace(
        detector__mask=mask, detector__box=[[0, 30, 0, 40], [20, 64, 30, 50]], beam__source=sources,
        background__water=1.0, background__stol=stol, crystal__ndomains=2,
        crystal__mosaic=(0.3, 0, 0), crystal__domain_weight=[1.0, 3.0],
        crystal__hkl=nanobrag.Hkl([[0, 0, 2], [1, 2, 3]], [50.0, 500.0]),
    )  # fmt: skip
    sim = nanobrag.Simulator(changed, "source_weight")
    image = sim()
    assert sim.parameters.names == ["source_weight[0]", "source_weight[1]", "source_weight[2]"]
    assert image[:10, :30].max() > 0
    assert not image[10:20].any()
    assert not image[:30, 30:].any()
    again = nanobrag.Simulator(sim.resolved())
    assert np.array_equal(again(), image)
    assert again.scene.crystal.hkl[1, 2, 3] == 500.0
