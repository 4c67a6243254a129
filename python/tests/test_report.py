# SPDX-License-Identifier: MIT
"""Pages of fits and checks in a browser, and pictures."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import BASE, program

import nanobrag
from nanobrag import Fit, Shot, Target

pytest.importorskip("plotly", reason="plotly is not here")
from nanobrag import report

OPTIONS = (
    "-cell 50 60 70 90 90 90 -default_F 100 -N 5 -gauss_xtal -fluence 1e28 -mosaic 0.3 -mosaic_domains 10 "
    "-detpixels 128 -pixel 0.8 -water 0.02 -misset"
)


@pytest.fixture(scope="module")
def fitted():
    """A fit in boxes, in which one pixel is wrong."""
    sim = nanobrag.Simulator.from_cli(f"{OPTIONS} 10 20 30")
    observed = sim.digitize(sim(), noise=True, seed=1).counts.astype(np.float64)
    boxes = sim.boxes(12, 120)
    fast0, fast1, slow0, slow1 = boxes[5]
    wrong = (fast0 + fast1) // 2, (slow0 + slow1) // 2
    observed[wrong[1], wrong[0]] += 400
    start = nanobrag.Scene.from_cli(f"{OPTIONS} 10.05 19.95 30.05").replace(detector__box=boxes)
    fit = Fit(Shot(scene=start, target=Target(kind="poisson", observed=observed)), "misset cell_a scale")
    fit.run()
    return fit, wrong


@pytest.fixture(scope="module")
def browser():
    """Chromium without a window, and with no way out of this machine."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not here")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium (Debian package: chromium)")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


def opened(browser, path):
    """The page, and what it asked for and complained of."""
    tab = browser.new_page(viewport={"width": 1280, "height": 1000})
    requests, complaints = [], []
    tab.on("request", lambda request: requests.append(request.url))
    tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.goto(path.as_uri())
    tab.wait_for_function("document.querySelectorAll('.js-plotly-plot .main-svg').length > 0")
    tab.wait_for_timeout(500)
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert len([url for url in requests if url.startswith("file:")]) == 1
    assert complaints == []
    return tab


RANGES = """() => ['xaxis', 'xaxis2', 'xaxis3', 'yaxis', 'yaxis2', 'yaxis3'].map(
    a => document.getElementById('images')._fullLayout[a].range.map(Number))"""


def test_a_page_of_a_fit(fitted, browser, tmp_path):
    fit, wrong = fitted
    report.save(fit, tmp_path / "fit.json")
    done = subprocess.run(
        [sys.executable, "-m", "nanobrag.report", str(tmp_path / "fit.json"), "-o", str(tmp_path / "fit.html")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tab = opened(browser, tmp_path / "fit.html")
    text = tab.inner_text("body")
    assert all(name in text for name in ("misset_x", "cell_a", "scale", "converged"))
    # a box with the wrong pixel is the first
    first = tab.locator("h2:has-text('Boxes') + table tbody tr").first.inner_text()
    fast0, fast1, slow0, slow1 = map(int, re.match(r"(\d+)-(\d+), (\d+)-(\d+)", first).groups())
    assert fast0 <= wrong[0] <= fast1, first
    assert slow0 <= wrong[1] <= slow1, first
    for plot in ("images", "history", "correlations", "shells", "box0"):
        assert tab.locator(f"#{plot} .main-svg").count() > 0, plot
    before = tab.evaluate(RANGES)
    # a box is drawn with the mouse over the middle picture
    tab.locator("#images").scroll_into_view_if_needed()
    area = tab.locator("#images .nsewdrag[data-subplot='x2y2']").bounding_box()
    x, y, width, height = area["x"], area["y"], area["width"], area["height"]
    tab.mouse.move(x + 0.3 * width, y + 0.3 * height)
    tab.mouse.down()
    tab.mouse.move(x + 0.5 * width, y + 0.55 * height, steps=8)
    tab.mouse.up()
    tab.wait_for_function(f"before => JSON.stringify(({RANGES})()) !== JSON.stringify(before)", arg=before)
    # the other two follow in the same event
    tab.wait_for_timeout(500)
    after = tab.evaluate(RANGES)
    assert after != before
    assert after[0] == after[1] == after[2]
    assert after[3] == after[4] == after[5]
    assert abs(after[0][1] - after[0][0]) < 0.5 * abs(before[0][1] - before[0][0])
    # the values of all three are under the pointer
    tab.mouse.move(x + 0.5 * width, y + 0.5 * height)
    tab.wait_for_selector("#images .hoverlayer .hovertext")
    hover = tab.text_content("#images .hoverlayer")
    assert all(word in hover for word in ("fast", "observed", "model", "z"))
    picture = os.environ.get("NANOBRAG_SCREENSHOT")
    if picture:
        tab.reload()
        tab.wait_for_timeout(1500)
        tab.screenshot(path=picture)
    tab.close()


def test_a_page_of_the_programs_fit(browser, tmp_path):
    run = [program(), *f"{OPTIONS} 10 20 30".split(), "-seed", "1", "-noisefile", "a_001.img", "-quiet"]
    subprocess.run(run, check=True, cwd=tmp_path)
    fit = [program(), *f"{OPTIONS} 10.05 20 30".split(), "-data", "a_001.img", "-fit", "misset,scale", "-fitfile",
           "fit.json", "-fitimage", "model.bin", "-json", "run.json", "-quiet"]  # fmt: skip
    subprocess.run(fit, check=True, cwd=tmp_path, capture_output=True)
    for name in ("fit", "run"):
        arguments = [f"{name}.json", "-o", f"{name}.html", "--observed", "a_001.img", "--model", "model.bin"]
        subprocess.run([sys.executable, "-m", "nanobrag.report", *arguments], check=True, cwd=tmp_path)
        tab = opened(browser, tmp_path / f"{name}.html")
        assert "misset_x" in tab.inner_text("body")
        plots = ("images", "history", "correlations", "shells") if name == "fit" else ("images",)
        for plot in plots:
            assert tab.locator(f"#{plot} .main-svg").count() > 0, plot
        tab.close()
    # what is not finite is null in the program's file
    content = json.loads((tmp_path / "fit.json").read_text())
    content["values"][0]["error"] = content["condition"] = None
    content["covariance"][0] = [None] * len(content["values"])
    (tmp_path / "free.json").write_text(json.dumps(content))
    text = report.page(report.read(tmp_path / "free.json"))
    assert "<td>nan</td>" in text
    assert "condition not known" in text


def test_a_page_of_the_programs_joint_fit(tmp_path):
    shots = [{"data": f"{name}_001.img", "misset": [10, 20, 30 * i]} for i, name in enumerate("ab", 1)]
    for i, name in enumerate("ab", 1):
        run = [program(), *f"{OPTIONS} 10 20 {30 * i}".split(), "-seed", str(i), "-noisefile", f"{name}_001.img"]
        subprocess.run([*run, "-quiet"], check=True, cwd=tmp_path)
    (tmp_path / "shots.json").write_text(json.dumps([*shots, {"data": "gone.img"}]))
    fit = [program(), *f"{OPTIONS} 10 20 30".split(), "-shots", "shots.json", "-fit", "cell_a", "-fit_each", "scale",
           "-fitfile", "fit.json", "-json", "run.json", "-quiet"]  # fmt: skip
    subprocess.run(fit, check=True, cwd=tmp_path, capture_output=True)
    for name in ("fit", "run"):
        arguments = [str(tmp_path / f"{name}.json"), "-o", str(tmp_path / f"{name}.html")]
        assert report.main(arguments) == 0
        text = (tmp_path / f"{name}.html").read_text()
        assert "<td>scale</td><td>b_001.img</td>" in text
        assert "gone.img: cannot read" in text


def test_a_page_of_a_gradcheck(browser, sim, tmp_path):
    check = sim.gradcheck(ndirection=2)
    check.save(tmp_path / "check.json")
    assert report.main([str(tmp_path / "check.json"), "-o", str(tmp_path / "check.html")]) == 0
    tab = opened(browser, tmp_path / "check.html")
    text = tab.inner_text("body")
    assert "8 of 8 derivatives are right" in text
    assert "direction[0]" in text
    assert tab.locator("#steps .point").count() == 8
    tab.close()
    # a wrong one is loud
    content = json.loads((tmp_path / "check.json").read_text())
    content["rows"][3]["verdict"] = "FAIL_VALUE"
    content["summary"]["message"] = "it differs"
    text = report.page(content)
    assert "7 of 8 derivatives are right: it differs" in text
    assert '<span class="out">FAIL_VALUE' in text


def test_pulls_to_the_truth(fitted):
    fit, _ = fitted
    text = report.page(fit, truth={"cell_a": 50.0, "scale": 99.0})
    assert "pull to truth" in text
    assert text.count('<span class="out">') >= 1


def test_bad_files_are_one_line(tmp_path, capsys):
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.json").write_text("[1]")
    (tmp_path / "c.json").write_text('{"nanobrag_fit": 1}')
    (tmp_path / "d.bin").write_bytes(b"1234567890")
    (tmp_path / "e.json").write_text('{"fisher_scan": {}}')
    for name in ("a.json", "b.json", "c.json", "none.json", "d.bin", "e.json"):
        assert report.main([str(tmp_path / name), "-o", str(tmp_path / "out.html")]) == 2
        error = capsys.readouterr().err
        assert error.startswith("nanobrag.report: ")
        assert error.count("\n") == 1
    assert "not a table of -fisher_scan" in error
    assert not (tmp_path / "out.html").exists()


def test_large_images_are_shown_in_blocks():
    image = np.arange(24.0).reshape(4, 6)
    assert report._blocks(image, 2, False).tolist() == [[3.5, 5.5, 7.5], [15.5, 17.5, 19.5]]
    signed = image * np.where(image % 5 == 0, -1, 1)
    assert abs(report._blocks(signed, 2, True)).tolist() == [[7, 9, 11], [19, 21, 23]]
    assert report._blocks(-image, 2, True)[0, 0] == -7


def test_pictures(sim):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not here")
    matplotlib.use("agg")
    image = sim()
    axes = nanobrag.show(image, sim, title="an image")
    peak = np.unravel_index(image.argmax(), image.shape)
    text = axes.format_coord(float(peak[1]), float(peak[0]))
    assert f"{image.max():g}" in text
    assert text.endswith(" A")
    assert axes.format_coord(-5, 0) == ""
    axes.figure.canvas.draw()
    assert nanobrag.show(image).format_coord(0, 0).startswith("fast 0 slow 0")
    with pytest.raises(ValueError, match="shape"):
        nanobrag.show(image[0])
    with pytest.raises(ValueError, match="geometry"):
        nanobrag.show(image[:10], sim)
    # the resolution is that of the library
    d = nanobrag.resolution(sim)
    trace = sim.trace(5, 9)
    assert 1 / (2 * trace.stol) == pytest.approx(d[5, 9], rel=0.02)
    assert d[0, 0] == pytest.approx(1 / sim.describe().qmax, rel=0.02)


def test_a_fit_of_stacked_panels(scene, tmp_path):
    """Pictures and images of a fit whose observed image has three axes."""
    panels = [nanobrag.Panel(nslow=20, nfast=30, origin=(-3, 7.0 * i - 6, 60)) for i in range(2)]
    detector = nanobrag.Detector(panel=panels, pixel=0.2, convention="dials")
    start = scene.replace(detector=detector)
    truth = start.replace(crystal__misset=(10.01, 20, 30)).simulator()
    observed = truth(out=np.zeros((2, 20, 30)))
    fit = Fit(Shot(scene=start, target=observed), "misset_x")
    assert abs(fit.run()["misset_x"].value - 10.01) < 1e-4
    assert fit.shape() == (40, 30)
    assert fit.image().shape == (40, 30)
    assert fit.image(out=np.zeros((2, 20, 30))).max() > 0
    content = report.collect(fit)
    assert {tuple(image["shape"]) for image in content["images"].values()} == {(40, 30)}
    report.write(fit, tmp_path / "fit.html")
    assert (tmp_path / "fit.html").stat().st_size > 10000
    pytest.importorskip("matplotlib").use("agg")
    assert nanobrag.show(observed, truth).get_xlim() == (-0.5, 29.5)
    with pytest.raises(ValueError, match=r"the shape \(60, 10\)"):
        nanobrag.show(observed.reshape(2, 30, 20)[:, :, :10], truth)


def test_resolution_of_panels(scene):
    panels = [nanobrag.Panel(nslow=20, nfast=30, origin=(-3, 7.0 * i - 6, 60), slow0=25 * i) for i in range(2)]
    detector = nanobrag.Detector(panel=[p.replace(fast0=1) for p in panels], pixel=0.2, convention="dials")
    sim = scene.replace(detector=detector).simulator()
    d = nanobrag.resolution(sim)
    assert d.shape == sim.shape == (45, 31)
    assert np.isnan(d[20:25]).all()
    assert np.isnan(d[:, 0]).all()
    trace = sim.trace(5, 9, panel=1)
    assert 1 / (2 * trace.stol) == pytest.approx(d[30, 10], rel=0.02)
    assert nanobrag.show(sim(), sim).format_coord(10, 30).endswith(f"{d[30, 10]:.2f} A")
    with pytest.raises(ValueError, match="one of 2 panels"):
        nanobrag.resolution(sim.describe())


def test_representations_in_notebooks(scene):
    sim = nanobrag.Simulator(scene, "misset")
    assert "misset_x" in sim._repr_html_()
    sim.close()
    assert "closed" in sim._repr_html_()
    assert "misset" not in nanobrag.Simulator.from_cli(BASE)._repr_html_()
