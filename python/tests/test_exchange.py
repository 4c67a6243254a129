# SPDX-License-Identifier: MIT
"""Files of other programs: experiments of DIALS and XDS, NXmx, miniCBF."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
from conftest import BASE

import nanobrag

SWEEP = BASE.replace("-detpixels 64", "-detpixels_f 40 -detpixels_s 37") + " -pixel 1 -distance 90 -phi 12 -osc 0.5"
HAS_JSON = "cjson" in nanobrag.features().split()
HAS_HDF5 = nanobrag.Nxmx.can_compress("deflate")
needs_json = pytest.mark.skipif(not HAS_JSON, reason="a build without cJSON")
needs_hdf5 = pytest.mark.skipif(not HAS_HDF5, reason="a build or machine without HDF5")
XPARM = (Path(__file__).parents[2] / "tests/data/XPARM.XDS").read_text()


@pytest.fixture
def sweep() -> nanobrag.Simulator:
    return nanobrag.Simulator.from_cli(SWEEP, "misset phi0", threads=1)


@needs_json
def test_a_written_experiment_reads_back_as_the_same_image(sweep, tmp_path):
    path = tmp_path / "sweep.expt"
    nanobrag.write_expt(sweep, path, images=5, files="image_####.cbf")
    found = nanobrag.read_expt(path)
    wanted = nanobrag.Found.BEAM | nanobrag.Found.DETECTOR | nanobrag.Found.SCAN | nanobrag.Found.CRYSTAL
    assert found.found & wanted == wanted
    assert (found.count, found.images) == (1, 5)
    members = {"crystal__default_f": 100, "crystal__ncells": (5, 5, 5), "crystal__shape": "gauss"}
    scene = nanobrag.Scene.from_expt(path, beam__fluence=1e28, **members)
    given = nanobrag.Simulator(scene)()
    expected = sweep()
    error = abs(given - expected).max() / expected.max()
    print(f"difference {error:.2e} of the brightest pixel, allowed 2e-6")
    assert expected.max() > 0
    assert error < 2e-6
    # another x is another crystal
    nanobrag.write_expt(sweep, path, sweep.x + [1, 0, 0, 0])
    other = nanobrag.Scene.from_expt(path, **members)
    assert other.crystal != scene.crystal
    # and the program reads the same
    by_program = nanobrag.Scene.from_cli(["-expt", str(path), "-default_F", "100", "-N", "5", "-gauss_xtal"])
    assert np.allclose(by_program.crystal.matrix, other.crystal.matrix, rtol=1e-12, atol=1e-15)


@needs_json
def test_shots_have_crystals_of_their_own(tmp_path):
    sim = nanobrag.Simulator.from_cli("-cell 50 60 70 -default_F 9 -N 4 -detpixels 16", "misset_x wavelength")
    path = tmp_path / "shots.expt"
    rows = np.array([[0, 1], [30, 1.1], [-20, 1]])
    nanobrag.write_expt(sim, path, shots=rows)
    found = [nanobrag.read_expt(path, i) for i in range(3)]
    assert [one.count for one in found] == [3, 3, 3]
    assert [one.scene.beam.wavelength for one in found] == [1, 1.1, 1]
    assert not np.allclose(found[0].scene.crystal.matrix, found[1].scene.crystal.matrix, atol=1e-4)
    with pytest.raises(ValueError, match="shots has the shape"):
        nanobrag.write_expt(sim, path, shots=[0, 1])
    with pytest.raises(ValueError, match="shots has 3 rows, but images=2"):
        nanobrag.write_expt(sim, path, images=2, shots=rows)


@needs_json
def test_a_crystal_that_changes_during_the_scan(tmp_path):
    sim = nanobrag.Simulator.from_cli(
        "-cell 50 60 70 -default_F 9 -N 4 -detpixels 16 -osc 0.5 -phi 3 -phisteps 2", "misset_x"
    )
    path = tmp_path / "turning.expt"
    nanobrag.write_expt(sim, path, images=2, scan_points=[[0], [0.2], [0.6]])
    with pytest.warns(nanobrag.NanobragWarning, match="the crystal changes during the scan"):
        found = nanobrag.read_expt(path)
    for i, misset in enumerate((0.1, 0.4)):
        nanobrag.write_expt(sim, tmp_path / "middle.expt", [misset])
        middle = nanobrag.read_expt(tmp_path / "middle.expt").scene
        scene = found.at(i)
        # the mean of two axes 0.4 degree apart is shorter by the square of that over 8
        assert np.allclose(scene.crystal.matrix, middle.crystal.matrix, rtol=1e-5, atol=2e-7)
        assert scene.scan.phi0 == 3 + 0.5 * i
    assert found.at(0).crystal == found.scene.crystal
    assert found.at(1).crystal != found.scene.crystal
    with pytest.raises(ValueError, match="scan_points has the shape"):
        nanobrag.write_expt(sim, path, images=2, scan_points=[[0], [0.2]])
    with pytest.raises(nanobrag.ArgumentError, match="not both"):
        nanobrag.write_expt(sim, path, images=1, scan_points=[[0], [0.2]], shots=[[0]])


@needs_json
def test_the_crystals_of_one_image_are_lattices(tmp_path):
    command = "-cell 50 60 70 -default_F 9 -N 4 -detpixels 32 -osc 0.5 -phisteps 2 -lattice 1 0 0 -lattice 0 2 0"
    sim = nanobrag.Simulator.from_cli(command, "misset_x lattice_misset_x")
    path = tmp_path / "split.expt"
    nanobrag.write_expt(sim, path)
    assert not nanobrag.read_expt(path).scene.crystal.lattice
    found = nanobrag.read_expt(path, lattices=True)
    assert (found.count, len(found.scene.crystal.lattice)) == (3, 2)
    assert [one.scale for one in found.scene.crystal.lattice] == [1, 1]
    members = {"crystal__default_f": 9, "crystal__ncells": (4, 4, 4), "scan__nphi": 2}
    given = nanobrag.Simulator(nanobrag.Scene.from_expt(path, 2, lattices=True, **members))()
    expected = sim()
    error = abs(given - expected).max() / expected.max()
    print(f"difference {error:.2e} of the brightest pixel, allowed 2e-6")
    assert expected.max() > 0
    assert error < 2e-6
    # lattices change during the scan, too
    rows = [[0, 1, 0], [0.2, 1.1, 0], [0.6, 1.4, 0]]
    nanobrag.write_expt(sim, path, images=2, scan_points=rows)
    with pytest.warns(nanobrag.NanobragWarning, match="the crystal changes during the scan"):
        found = nanobrag.read_expt(path, lattices=True)
    nanobrag.write_expt(sim, tmp_path / "middle.expt", [0.4, 1.25, 0])
    middle = nanobrag.read_expt(tmp_path / "middle.expt", lattices=True).scene
    for one, other in zip(found.at(1).crystal.lattice, middle.crystal.lattice, strict=True):
        assert np.allclose(one.matrix, other.matrix, rtol=1e-5, atol=2e-7)
    assert found.at(0).crystal == found.scene.crystal


@needs_json
def test_images_of_an_experiment(sweep, tmp_path):
    path = tmp_path / "a.expt"
    (tmp_path / "n_003.cbf.gz").touch()
    nanobrag.write_expt(sweep, path, images=2, first=3, files="/nowhere/n_###.cbf")
    images = nanobrag.expt_images(path)
    assert [image.file for image in images] == [str(tmp_path / f"n_00{i}.cbf.gz") for i in (3, 4)]
    assert [(image.frame, image.image, image.array, image.first) for image in images] == [(-1, 0, 2, 0), (-1, 1, 3, 0)]
    path.write_text("{}")
    with pytest.raises(nanobrag.FormatError, match="ExperimentList"):
        nanobrag.expt_images(path)


def test_xparm(tmp_path):
    path = tmp_path / "XPARM.XDS"
    path.write_text(XPARM)
    found = nanobrag.read_xparm(path)
    assert found.scene.detector.nfast == 30
    assert found.scene.scan.phi0 == 12.5
    assert found.found & nanobrag.Found.CRYSTAL
    path.write_text(XPARM.replace("30.0000     40.0000", "30.0000     4O.0000"))
    with pytest.raises(nanobrag.FormatError, match=r"XPARM.XDS, line 4"):
        nanobrag.read_xparm(path)


@needs_json
def test_wrong_experiments(sweep, tmp_path):
    path = tmp_path / "wrong.expt"
    with pytest.raises(nanobrag.FileError, match=r"wrong\.expt"):
        nanobrag.read_expt(path)
    path.write_text('{"__id__": "ExperimentList", "experiment": [')
    with pytest.raises(nanobrag.FormatError, match=r"wrong\.expt"):
        nanobrag.read_expt(path)
    nanobrag.write_expt(sweep, path)
    for i, kind in ((1, nanobrag.ArgumentError), (-1, nanobrag.ArgumentError), (1 << 40, ValueError)):
        with pytest.raises(kind):
            nanobrag.read_expt(path, i)
    for i in (1.5, "0", None):
        with pytest.raises(TypeError, match="i: expected a whole number"):
            nanobrag.read_expt(path, i)
    before = path.read_text()
    wrong = [
        ({"space_group": "P 9"}, nanobrag.ArgumentError if "gemmi" in nanobrag.features() else Exception),
        ({"images": -1}, nanobrag.ArgumentError),
        ({"images": 1.5}, TypeError),
        ({"trusted": (1,)}, ValueError),
        ({"files": 5}, TypeError),
        ({"pedestal": "much"}, TypeError),
        ({"x": [np.nan, 0, 0, 0]}, nanobrag.ArgumentError),
        ({"x": [0.0]}, ValueError),
    ]
    for arguments, kind in wrong:
        with pytest.raises(kind):
            nanobrag.write_expt(sweep, path, **arguments)
    with pytest.raises(nanobrag.FileError):
        nanobrag.write_expt(sweep, tmp_path / "nowhere" / "a.expt")
    assert path.read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["wrong.expt"]


@needs_json
def test_an_experiment_is_updated(sweep, tmp_path):
    path, to = tmp_path / "sweep.expt", tmp_path / "moved.expt"
    nanobrag.write_expt(sweep, path, images=5, files="image_####.cbf")
    scene = nanobrag.Scene.from_expt(path, crystal__default_f=100, crystal__ncells=(5, 5, 5))
    sim = nanobrag.Simulator(scene, "misset distance")
    nanobrag.update_expt(path, to, {0: sim})
    assert to.read_bytes() == path.read_bytes()
    nanobrag.update_expt(path, to, {0: (sim, sim.x + [0.1, 0, 0, 2])})
    before, after = nanobrag.read_expt(path), nanobrag.read_expt(to)
    moved = after.scene.detector.close_distance - before.scene.detector.close_distance
    assert moved == pytest.approx(2 * before.scene.detector.close_distance / sim.x[3], abs=1e-9)
    assert after.images == 5
    assert "image_####.cbf" in to.read_text()
    with pytest.raises(nanobrag.ArgumentError, match="there is no experiment 1"):
        nanobrag.update_expt(path, to, {1: sim})
    with pytest.raises(nanobrag.FileError):
        nanobrag.update_expt(tmp_path / "none.expt", to, {0: sim})
    with pytest.raises(TypeError):
        nanobrag.update_expt(path, to, {0: None})


@needs_json
@pytest.mark.skipif("lapack" not in nanobrag.features(), reason="this build has no LAPACK")
def test_a_fit_goes_back_into_its_experiment(tmp_path):
    path, to = tmp_path / "still.expt", tmp_path / "fitted.expt"
    options = "-cell 50 60 70 -default_F 100 -N 5 -gauss_xtal -fluence 1e28 -detpixels 64 -pixel 0.8 -misset 10 20 "
    truth = nanobrag.Simulator.from_cli(options + "30")
    nanobrag.write_expt(nanobrag.Simulator.from_cli(options + "30.02"), path)
    members = {"crystal__default_f": 100, "crystal__ncells": (5, 5, 5), "crystal__shape": "gauss"}
    start = nanobrag.Scene.from_expt(path, beam__fluence=1e28, **members)
    fit = nanobrag.Fit(nanobrag.Shot(scene=start, target=truth()), "misset")
    fit.run()
    fit.update_expt(path, to)
    wanted, found = nanobrag.read_expt(path).scene.crystal.matrix, nanobrag.read_expt(to).scene.crystal.matrix
    assert found != wanted
    again = nanobrag.Scene.from_expt(to, beam__fluence=1e28, **members)
    loss = nanobrag.Simulator(again, "misset").loss(None, nanobrag.Target(observed=truth())).value
    print(f"loss {loss:.3g}, of the fit {fit.result.loss:.3g}")
    assert loss == pytest.approx(fit.result.loss, rel=1e-6, abs=1e-9)


def test_minicbf(sim, tmp_path):
    path = tmp_path / "image.cbf"
    counts = sim.digitize(sim(), noise=True, dtype=np.int32).counts
    nanobrag.check_cbf(sim)
    nanobrag.write_cbf(sim, path, counts)
    text = path.read_bytes()
    assert b"X-Binary-Size-Fastest-Dimension: 64" in text
    assert b"x-CBF_BYTE_OFFSET" in text
    for wrong, kind in (
        (counts.astype(np.int64), TypeError),
        (counts.astype(float), TypeError),
        (counts[:, :60], nanobrag.ShapeError),
        (counts[0], ValueError),
        (None, TypeError),
    ):
        with pytest.raises(kind):
            nanobrag.write_cbf(sim, path, wrong)
    assert path.read_bytes() == text
    turned = nanobrag.Simulator.from_cli(BASE + " -twotheta 20")
    with pytest.raises(nanobrag.UnsupportedError):
        nanobrag.check_cbf(turned)
    with pytest.raises(nanobrag.UnsupportedError):
        nanobrag.write_cbf(turned, path, counts)
    assert path.read_bytes() == text


def test_counts_of_32_bits(sim):
    image = sim() * (1e5 / sim().max())
    wide = sim.digitize(image, scale=1.0, dtype=np.int32).counts
    narrow = sim.digitize(image, scale=1.0)
    assert wide.dtype == np.int32
    assert wide.max() == 100000
    assert narrow.counts.max() == 65535
    assert narrow.overloads == np.count_nonzero(wide > 65535) > 0
    out = np.zeros(sim.shape, np.int32)
    assert sim.digitize(image, out, scale=1.0).counts is out
    assert np.array_equal(out, wide)
    with pytest.raises(TypeError, match="uint16 or int32"):
        sim.digitize(image, dtype=np.int64)


@needs_hdf5
def test_nxmx(sweep, tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "sweep.nxs"
    names = list(sweep.parameters.names)
    phi = names.index("phi0")
    frames = []
    with nanobrag.Nxmx(sweep, path, frames=3) as file:
        for i in range(3):
            x = sweep.x
            x[phi] += 0.5 * i
            frames.append(sweep.digitize(sweep(x), noise=True, image=i, dtype=np.int32).counts)
            file.append(frames[-1], x)
        assert not path.exists()
    with h5py.File(path) as written:
        data = written["/entry/data/data"][()]
    assert np.array_equal(data, frames)


@needs_hdf5
def test_a_master_shows_its_files(sweep, tmp_path):
    h5py = pytest.importorskip("h5py")
    phi = list(sweep.parameters.names).index("phi0")
    x = np.array([sweep.x] * 3)
    x[:, phi] += 0.5 * np.arange(3)
    frames = [sweep.digitize(sweep(row), dtype=np.int32).counts for row in x]
    for name, part in (("m_1.nxs", slice(0, 1)), ("m_2.nxs", slice(1, 3))):
        with nanobrag.Nxmx(sweep, tmp_path / name) as file:
            for row, frame in zip(x[part], frames[part], strict=True):
                file.append(frame, row)
    with nanobrag.Nxmx(sweep, tmp_path / "m.nxs", master=True) as file:
        with pytest.raises(ValueError, match="expected \\(nframe"):
            file.append_file("m_1.nxs", x[0])
        file.append_file("m_1.nxs", x[:1])
        file.append_file("m_2.nxs", x[1:])
    with h5py.File(tmp_path / "m.nxs") as written:
        data = written["/entry/data/data"]
        assert data.is_virtual
        assert np.array_equal(data[()], frames)
    assert [nanobrag.Nxmx.count(tmp_path / name) for name in ("m_1.nxs", "m_2.nxs", "m.nxs")] == [1, 2, 3]
    with pytest.raises(nanobrag.FileError):
        nanobrag.Nxmx.count(tmp_path / "none.nxs")
    with pytest.raises(nanobrag.ShapeError), nanobrag.Nxmx(sweep, tmp_path / "n.nxs", master=True) as file:
        file.append_file("m_2.nxs", x)
    assert not (tmp_path / "n.nxs").exists()


@needs_hdf5
def test_an_nxmx_file_is_whole_or_not_there(sweep, tmp_path):
    path = tmp_path / "sweep.nxs"
    counts = np.zeros(sweep.shape, np.int32)

    def fail():
        with nanobrag.Nxmx(sweep, path) as file:
            file.append(counts)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    file = nanobrag.Nxmx(sweep, path)
    with pytest.raises(nanobrag.ArgumentError):
        file.close()
    with pytest.raises(ValueError, match="was closed"):
        file.append(counts)
    # dropped with its simulator, or before it
    closed = nanobrag.Simulator.from_cli(SWEEP)
    file = nanobrag.Nxmx(closed, path)
    file.append(counts)
    closed.close()
    with pytest.raises(ValueError, match="was closed"):
        file.append(counts)
    file.drop()
    file = nanobrag.Nxmx(nanobrag.Simulator.from_cli(SWEEP), path)
    gc.collect()
    file.append(counts)
    del file
    gc.collect()
    assert not list(tmp_path.iterdir())


@needs_hdf5
def test_wrong_nxmx(sweep, tmp_path):
    path = tmp_path / "wrong.nxs"
    for arguments, kind in (
        ({"dtype": np.int64}, TypeError),
        ({"dtype": ">i4"}, TypeError),
        ({"compression": "zip"}, ValueError),
        ({"level": 10}, nanobrag.ArgumentError),
        ({"level": "high"}, TypeError),
        ({"frames": -1}, nanobrag.ArgumentError),
        ({"step": np.nan}, nanobrag.ArgumentError),
    ):
        with pytest.raises(kind):
            nanobrag.Nxmx(sweep, path, **arguments)
    with pytest.raises(nanobrag.FileError):
        nanobrag.Nxmx(sweep, tmp_path / "nowhere" / "a.nxs")
    with nanobrag.Nxmx(sweep, path, frames=1) as file:
        for image, kind in (
            (np.zeros(sweep.shape, np.uint16), TypeError),
            (np.zeros((3, 4), np.int32), nanobrag.ShapeError),
            (np.zeros(sweep.shape), TypeError),
        ):
            with pytest.raises(kind):
                file.append(image)
        file.append(np.zeros(sweep.shape, np.int32))
        with pytest.raises(nanobrag.ArgumentError):
            file.append(np.zeros(sweep.shape, np.int32))
    assert [p.name for p in tmp_path.iterdir()] == ["wrong.nxs"]


def test_a_shot_that_cannot_be_made_is_named(sim):
    """The exception of a sequence of shots is what the fit says of the shot that it leaves out."""

    class Shots:
        def __len__(self):
            return 3

        def __getitem__(self, i):
            if i == 1:
                raise OSError("run17.h5 is gone")
            return nanobrag.Shot(scene=sim.scene, target=image)

    image = sim()
    with pytest.warns(nanobrag.NanobragWarning, match=r"shot 1 is left out: OSError: run17\.h5 is gone"):
        result = nanobrag.Fit(Shots(), "misset").run()
    assert [shot.left_out for shot in result.shot] == [None, "OSError: run17.h5 is gone", None]


def test_a_header_of_dtrek(tmp_path):
    lines = (
        "{\nHEADER_BYTES=512;\nDETECTOR_NAMES=D_;\nSIZE1=60;\nSIZE2=40;\nData_type=unsigned short int;\n"
        "BYTE_ORDER=little_endian;\nD_GONIO_VALUES=0 20 0 0 0 45;\nD_SPATIAL_DISTORTION_INFO=32 24 0.1 0.1;\n"
        "SOURCE_WAVELENGTH=1 1.5418;\nROTATION=10 10.5 0.5 30;\n}\n"
    )
    (tmp_path / "d.img").write_bytes(lines.encode().ljust(512) + bytes(2 * 60 * 40))
    experiment = nanobrag.read_dtrek(tmp_path / "d.img")
    assert experiment.scene.beam.wavelength == 1.5418
    assert experiment.scene.scan.phi0 == 10
    assert experiment.scene.detector.twotheta == pytest.approx(20)
    assert nanobrag.read_smv(tmp_path / "d.img")[0].shape == (40, 60)
    nanobrag.write_smv(tmp_path / "e.img", np.zeros((4, 3), np.uint16), {"SIZE1": 3, "SIZE2": 4})
    with pytest.warns(nanobrag.NanobragWarning, match="no TYPE"):
        assert nanobrag.read_dtrek(tmp_path / "e.img").found == 0
