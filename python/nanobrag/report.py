# SPDX-License-Identifier: MIT
"""Pages of fits and of checks of derivatives: one HTML file that opens anywhere.

    python -m nanobrag.report fit.json -o fit.html
    python -m nanobrag.report check.json -o check.html

The first is of `save` here, which has everything, or of -fitfile or -json of the program, which has
no images: they are named by --observed and --model. The second is of `Gradcheck.save`. The plots are
plotly's, whose code is part of the page, so that nothing is fetched.
"""

from __future__ import annotations

import argparse
import base64
import html
import json
import os
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._convert import choice
from ._files import _called, path_of, read_smv
from ._gradcheck import plain
from ._lib import lib
from ._structs import FitEnd, Verdict

if TYPE_CHECKING:
    from ._fit import Fit
    from ._structs import FitMisfit

__all__ = ["collect", "main", "page", "save", "write"]

IMAGES = ("observed", "model", "z")
MOST_PIXELS = 1000  # along an edge of a picture; a larger image is shown in blocks
MOST_BOXES = 8

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1180px; color: #222; }
table { border-collapse: collapse; margin: 1em 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
.out { color: #b00020; font-weight: 600; }
h2 { margin-top: 1.6em; }
"""


class ReportError(ValueError):
    """A file is none that a page can be made of."""


# ---- what a page is made of, as JSON ----


def _packed(image: NDArray[Any]) -> dict[str, Any]:
    data = zlib.compress(np.ascontiguousarray(image, np.float32).tobytes())
    return {"shape": list(image.shape), "float32": base64.b64encode(data).decode()}


def _unpacked(content: dict[str, Any]) -> NDArray[np.float32]:
    data = zlib.decompress(base64.b64decode(content["float32"]))
    return np.frombuffer(data, np.float32).reshape(content["shape"])


def _totals(misfit: FitMisfit) -> dict[str, Any] | None:
    """What a misfit says of all its shots, with the keys of -json; None where there are none."""
    every = misfit.all
    if not every.pixels:
        return None
    return {
        "images": sum(shot.pixels > 0 for shot in misfit.shot),
        "z_rms": plain(every.rms),
        "over_expected": every.deviance / every.expected if every.expected > 0 else None,
        "bright": every.bright,
        "bright_over_expected": every.bright_deviance / every.bright_expected if every.bright_expected > 0 else None,
        "r_boxes": plain(misfit.r),
        "r_boxes_expected": plain(misfit.r_expected),
    }


def collect(fit: Fit, shot: int = 0) -> dict[str, Any]:
    """What a page says of a fit that has run, with the images of one shot, as JSON has it.

    Args:
        fit: a fit after its run, of which every shot is compared once more.
        shot: whose images are shown.
    """
    result, misfit = fit.result, fit.misfit(shot)
    box = fit.shots[shot].scene.detector.box
    from ._simulator import as_target

    content: dict[str, Any] = {
        "nanobrag_report": 1,
        "why": result.why,
        "end": result.end.name,
        "passes": result.passes,
        "loss": result.loss,
        "condition": plain(result.condition),
        "errors": result.errors_why,
        "rms": plain(result.rms),
        "warnings": list(result.warning),
        "history": plain(result.history),
        "free": list(result.free),
        "values": [
            {"name": v.param.name, "shot": "" if v.shot < 0 else result.shot[v.shot].name,
             "unit": v.param.unit, "start": v.param.value, "value": v.value,
             "error": plain(v.error), "bound": v.bound, "held": bool(v.is_held)}
            for v in result.value
        ],
        "covariance": plain(result.covariance) if result.covariance is not None else None,
        "shots": [plain(s) for s in result.shot],
        "shells": plain(misfit.shell),
        "all": plain(misfit.all),
        "fitted": _totals(fit.misfit("fitted") if len(fit.shots) > 1 else misfit),
        "held_out": _totals(fit.misfit("held_out")),
        "boxes": plain(misfit.box),
        "box": [] if box is None else np.asarray(box).tolist(),
        "shot": shot,
        "images": {"model": _packed(fit.image(shot, "model")), "z": _packed(fit.image(shot, "z"))},
    }  # fmt: skip
    observed = as_target(fit.shots[shot].target).observed
    if observed is not None:
        content["images"]["observed"] = _packed(np.asarray(observed).reshape(fit.shape(shot)))
    return content


def save(fit: Fit, path: str | os.PathLike[str], shot: int = 0) -> None:
    """Write what `collect` returns; a page can be made of it anywhere and later."""
    text = json.dumps(collect(fit, shot)).encode()
    _called(lib.nb_file_write, path_of(path), text, len(text))


def _from_program(content: dict[str, Any]) -> dict[str, Any]:
    """The same of a file of -fitfile or -json."""
    fit = content if "nanobrag_fit" in content else content["fit"]
    end = fit.get("end")
    shots = fit["images"]
    shells = shots[0].get("shells", []) if shots else []
    return {
        "why": fit["ended"],
        "end": FitEnd(end).name if isinstance(end, int) else "",
        "passes": fit["passes"],
        "loss": fit["loss"],
        "condition": fit.get("condition"),
        "errors": fit.get("errors", ""),
        "rms": fit.get("rms"),
        "fitted": fit.get("fitted"),
        "held_out": fit.get("held_out"),
        "warnings": fit.get("warnings", []),
        "covariance": fit.get("covariance"),
        "history": fit.get("state", {}).get("history", fit.get("history", [])),
        "values": [{"shot": value.get("image", ""), **value} for value in fit["values"]],
        "shots": shots,
        "shells": [{**shell, "mean": shell["z_mean"], "rms": shell["z_rms"]} for shell in shells],
        "free": fit.get("free", []),
    }


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a JSON file, of a kind that `page` takes.

    Raises:
        ReportError: it is no JSON, or of none of these kinds.
    """
    try:
        content = json.loads(Path(path).read_text())
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ReportError(f"{os.fspath(path)}: {error}; expected JSON of a fit or of a gradcheck") from None
    if isinstance(content, dict):
        if "nanobrag_report" in content or "nanobrag_gradcheck" in content:
            return content
        if "nanobrag_fit" in content or "fit" in content:
            return _from_program(content)
    found = ", not a table of -fisher_scan" if isinstance(content, dict) and "fisher_scan" in content else ""
    raise ReportError(
        f"{os.fspath(path)}: expected a file of -fitfile, of -json of -fit or -fisher, of report.save() or"
        f" of Gradcheck.save(){found}"
    )


# ---- pieces of a page ----


def _real(value: Any) -> float:
    """A number of JSON, which writes those that are not finite as null or as text."""
    return np.nan if value is None else float(value)


def _number(value: Any) -> str:
    if value is None:
        return "not known"
    return f"{value:.6g}" if isinstance(value, (int, float)) else html.escape(str(value))


def _table(head: list[str], rows: list[list[str]]) -> str:
    cells = "".join(f"<th>{html.escape(text)}</th>" for text in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _values(content: dict[str, Any], truth: dict[str, float]) -> str:
    rows = []
    for value in content["values"]:
        error = _real(value["error"])
        expected = truth.get(value["name"])
        pull = (value["value"] - (value["start"] if expected is None else expected)) / error if error else np.nan
        state = "held" if value.get("held") else {-1: "at its lower bound", 1: "at its upper bound"}.get(
            value.get("bound", 0), ""
        )  # fmt: skip
        loud = expected is not None and abs(pull) > 3
        rows.append([
            html.escape(value["name"]), html.escape(value["shot"]), f"{value['value']:.8g}", f"{error:.2g}",
            html.escape(value["unit"]),
            _number(value["start"]), f'<span class="out">{pull:.2f}</span>' if loud else f"{pull:.2f}", state,
        ])  # fmt: skip
    against = "pull to truth" if truth else "moved, in errors"
    return _table(["parameter", "shot", "value", "error", "unit", "start", against, ""], rows)


class _Page:
    """Puts pieces together; the first plot brings plotly's code."""

    def __init__(self, title: str) -> None:
        self.parts = [f"<h1>{html.escape(title)}</h1>"]
        self.title = title
        self.has_code = False

    def add(self, text: str) -> None:
        self.parts.append(text)

    def plot(self, figure: Any, name: str) -> None:
        figure.update_layout(template="plotly_white", margin={"l": 60, "r": 20, "t": 40, "b": 50})
        self.parts.append(
            figure.to_html(
                full_html=False, include_plotlyjs=not self.has_code, div_id=name,
                config={"displaylogo": False, "responsive": True, "scrollZoom": True},
            )
        )  # fmt: skip
        self.has_code = True

    def text(self) -> str:
        # an empty icon, so that no browser asks for one
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,">'
            f"<title>{html.escape(self.title)}</title><style>{_STYLE}</style></head>\n<body>\n"
            + "\n".join(self.parts)
            + "\n</body></html>\n"
        )


def _blocks(image: NDArray[Any], factor: int, signed: bool) -> NDArray[np.float32]:
    """Blocks of pixels by their mean, or by the number of the largest size."""
    nslow, nfast = (n - n % factor for n in image.shape)
    blocks = image[:nslow, :nfast].reshape(nslow // factor, factor, nfast // factor, factor)
    if not signed:
        return np.asarray(blocks.mean(axis=(1, 3)), np.float32)
    flat = blocks.swapaxes(1, 2).reshape(nslow // factor, nfast // factor, -1)
    at = abs(flat).argmax(axis=-1)[..., None]
    return np.asarray(np.take_along_axis(flat, at, -1)[..., 0], np.float32)


def _pictures(images: dict[str, NDArray[Any]], corner: tuple[int, int] = (0, 0), height: int = 460) -> Any:
    """Images side by side with one zoom and pan, and the values of all under the pointer."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    names = [name for name in IMAGES if name in images]
    shape = images[names[0]].shape
    factor = max(1, -(-max(shape) // MOST_PIXELS))
    shown = {name: _blocks(images[name], factor, name == "z") for name in names}
    fast = corner[0] + factor * np.arange(shown[names[0]].shape[1]) + (factor - 1) / 2
    slow = corner[1] + factor * np.arange(shown[names[0]].shape[0]) + (factor - 1) / 2
    lit = np.concatenate([shown[n][shown[n] > 0] for n in names if n != "z"] or [np.zeros(0, np.float32)])
    top = float(np.percentile(lit, 99.5)) if lit.size else 1.0
    unit = f" (blocks of {factor} x {factor})" if factor > 1 else ""
    titles = {
        "observed": "observed, photons",
        "model": "model, photons",
        "z": "z = residual/standard deviation",
    }
    figure = make_subplots(1, len(names), subplot_titles=[titles[n] + unit for n in names], horizontal_spacing=0.06)
    others = np.stack([shown[name] for name in names], axis=-1)
    hover = "fast %{x}, slow %{y}<br>" + "<br>".join(f"{name} %{{customdata[{i}]:.4g}}" for i, name in enumerate(names))
    for i, name in enumerate(names):
        scale: dict[str, Any] = {"zmin": 0, "zmax": top, "colorscale": "Greys"}
        if name == "z":
            scale = {"zmin": -5, "zmax": 5, "colorscale": "RdBu"}
        figure.add_trace(
            go.Heatmap(
                z=shown[name], x=fast, y=slow, customdata=others, hovertemplate=hover + "<extra></extra>",
                showscale=False, **scale,
            ),
            1, i + 1,
        )  # fmt: skip
    figure.update_xaxes(matches="x", constrain="domain", title="fast, pixel")
    figure.update_yaxes(matches="y", autorange="reversed", constrain="domain")
    for i in range(len(names)):
        figure.update_yaxes(scaleanchor=f"x{i + 1 if i else ''}", row=1, col=i + 1)
    figure.update_layout(height=height, dragmode="zoom")
    return figure


def _history(content: dict[str, Any]) -> Any:
    import plotly.graph_objects as go

    history = content["history"]
    figure = go.Figure(go.Scatter(x=list(range(1, len(history) + 1)), y=history, mode="lines+markers"))
    return figure.update_layout(height=320, xaxis_title="pass", yaxis_title="loss", title="Loss by pass")


def _correlations(content: dict[str, Any]) -> Any:
    import plotly.graph_objects as go

    covariance = np.array(content["covariance"], dtype=float)
    error = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(error, error)
    names = [v["name"] + (f" of {v['shot']}" if v["shot"] else "") for v in content["values"]]
    figure = go.Figure(
        go.Heatmap(z=correlation, x=names, y=names, zmin=-1, zmax=1, colorscale="RdBu",
                   hovertemplate="%{x}, %{y}: %{z:.3f}<extra></extra>")
    )  # fmt: skip
    return figure.update_layout(height=480, width=620, title="Correlations", yaxis_autorange="reversed")


def _shells(content: dict[str, Any]) -> Any:
    import plotly.graph_objects as go

    shells = [shell for shell in content["shells"] if shell["pixels"]]
    names = [f"{shell['dmax']:.2f}-{shell['dmin']:.2f} A" for shell in shells]
    figure = go.Figure()
    for what in ("rms", "mean"):
        figure.add_trace(go.Bar(x=names, y=[shell[what] for shell in shells], name=f"{what} of z"))
    figure.add_hline(y=1, line_dash="dot")
    return figure.update_layout(height=340, title="z by resolution; 1 and 0 are expected")


def _boxes(page: _Page, content: dict[str, Any], images: dict[str, NDArray[Any]]) -> None:
    boxes = [(misfit, box) for misfit, box in zip(content["boxes"], content["box"], strict=True) if misfit["pixels"]]
    boxes.sort(key=lambda pair: -abs(pair[0]["rms"]))
    if not boxes:
        return
    page.add("<h2>Boxes, those that stand out first</h2>")
    page.add(
        _table(
            ["box (fast, slow)", "resolution, A", "pixels", "rms of z", "mean of z", "loss"],
            [[f"{b[0]}-{b[1] - 1}, {b[2]}-{b[3] - 1}", f"{m['dmin']:.2f}", str(m["pixels"]), f"{m['rms']:.2f}",
              f"{m['mean']:.2f}", _number(m["loss"])] for m, b in boxes[:20]],
        )
    )  # fmt: skip
    if images:
        for i, (_, b) in enumerate(boxes[:MOST_BOXES]):
            cut = {name: image[b[2] : b[3], b[0] : b[1]] for name, image in images.items()}
            page.plot(_pictures(cut, (b[0], b[2]), 300), f"box{i}")


def _fit_page(content: dict[str, Any], images: dict[str, NDArray[Any]], truth: dict[str, float]) -> str:
    page = _Page("Fit of " + ", ".join(dict.fromkeys(v["name"] for v in content["values"])))
    page.add(
        f"<p>{html.escape(content['why'])}; {content['passes']} passes, loss {_number(content['loss'])}, "
        f"condition {_number(content.get('condition'))}.</p>"
    )
    if content.get("errors"):
        page.add(f"<p>{html.escape(content['errors'][0].upper() + content['errors'][1:])}.</p>")
    if content.get("rms") is not None:
        page.add(f"<p>Residuals over their standard deviation: {_number(content['rms'])} rms.</p>")
    for which, name in (("fitted", "Fitted"), ("held_out", "Held out")):
        totals = content.get(which)
        if totals:
            page.add(
                f"<p>{name}: rms of z {_number(totals['z_rms'])}; deviance {_number(totals['over_expected'])} times "
                f"what a right model has, {_number(totals['bright_over_expected'])} times in the {totals['bright']} "
                f"pixels of more than {lib.NB_FIT_BRIGHT} photons; R of boxes {_number(totals['r_boxes'])}, "
                f"by noise alone {_number(totals.get('r_boxes_expected'))}.</p>"
            )
    for warning in content.get("warnings", []):
        page.add(f'<p class="out">{html.escape(warning[0].upper() + warning[1:])}.</p>')
    for direction in content["free"]:
        page.add(f'<p class="out">The data leave free: {html.escape(direction)}</p>')
    page.add("<h2>Values</h2>" + _values(content, truth))
    if images:
        page.add("<h2>Images</h2><p>Zoom and pan move all of them; a double click goes back.</p>")
        page.plot(_pictures(images), "images")
    if content["history"]:
        page.plot(_history(content), "history")
    if content.get("covariance"):
        page.plot(_correlations(content), "correlations")
    if content.get("shells"):
        page.plot(_shells(content), "shells")
    if content.get("boxes"):
        _boxes(page, content, images)
    if len(content["shots"]) > 1:
        rows = [[html.escape(str(s["name"])), _number(s["loss"]), str(s["pixels"]),
                 html.escape(s["left_out"] or "")] for s in content["shots"]]  # fmt: skip
        page.add("<h2>Shots</h2>" + _table(["shot", "loss", "pixels", "left out"], rows))
    return page.text()


def _gradcheck_page(content: dict[str, Any]) -> str:
    import plotly.graph_objects as go

    summary, rows = content["summary"], content["rows"]
    page = _Page("Check of derivatives")
    passed = sum(row["verdict"] == "PASS" for row in rows)
    message = summary["message"] or "every derivative is right"
    page.add(f"<p>{passed} of {len(rows)} derivatives are right: {html.escape(message)}.</p>")
    page.add(
        _table(
            ["what", "measured", "allowed"],
            [["tangent and adjoint, over their scale", f"{summary['dot']:.2g}", "1e-12"],
             ["linearity of the adjoint", f"{summary['linearity']:.2g}", "1e-13"]],
        )
    )  # fmt: skip
    figure = go.Figure()
    for kind in dict.fromkeys(row["loss"] for row in rows):
        own = [row for row in rows if row["loss"] == kind]
        deviation = [max(abs(r["vjp"] - r["fd"]) / r["scale"], 1e-18) if r["scale"] else None for r in own]
        figure.add_trace(
            go.Scatter(
                x=[r["step"] for r in own], y=deviation, mode="markers", name=f"loss {kind.lower()}",
                marker_symbol=["circle" if r["verdict"] == "PASS" else "x" for r in own],
                text=[f"{r['param']['name']}: {r['verdict']}<br>adjoint {r['vjp']:.8g}, difference {r['fd']:.8g}"
                      f" +- {r['bar']:.2g}" for r in own],
                hovertemplate="%{text}<br>step %{x:.3g}, deviation/S %{y:.3g}<extra></extra>",
            )
        )  # fmt: skip
    figure.update_xaxes(type="log", title="smallest step of the difference, in the unit of the parameter")
    figure.update_yaxes(type="log", title="|adjoint - difference|/S")
    page.plot(figure.update_layout(height=460, title="Step against error"), "steps")
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_name.setdefault(row["param"]["name"], []).append(row)
    body = []
    for name, own in by_name.items():
        verdicts = sorted({row["verdict"] for row in own}, key=lambda v: v == "PASS")
        worst = max((abs(r["vjp"] - r["fd"]) / r["tolerance"] if r["tolerance"] else 0.0) for r in own)
        label = ", ".join(verdicts) if verdicts == ["PASS"] else f'<span class="out">{", ".join(verdicts)}</span>'
        text = "" if verdicts == ["PASS"] else choice(Verdict, verdicts[0], "verdict").name
        body.append([html.escape(name), html.escape(own[0]["param"]["unit"]), label, f"{worst:.2g}",
                     f"{min(r['kept'] for r in own):.3f}", html.escape(text)])  # fmt: skip
    page.add("<h2>Verdicts by parameter</h2>")
    page.add(_table(["parameter", "unit", "verdict", "worst deviation/tolerance", "kept", ""], body))
    return page.text()


# ---- the page ----


def page(
    content: dict[str, Any] | Fit,
    *,
    observed: NDArray[Any] | None = None,
    model: NDArray[Any] | None = None,
    truth: dict[str, float] | None = None,
) -> str:
    """The text of a page.

    Args:
        content: a `Fit` after its run, or what `collect` and `read` return.
        observed: photons (nslow, nfast), where `content` has no images.
        model: photons (nslow, nfast); with both, z is (observed - model)/sqrt(model).
        truth: known values by name; pulls are to them.

    Raises:
        ImportError: plotly is not installed.
    """
    if not isinstance(content, dict):
        content = collect(content)
    if "nanobrag_gradcheck" in content:
        return _gradcheck_page(content)
    images: dict[str, NDArray[Any]] = {name: _unpacked(packed) for name, packed in content.get("images", {}).items()}
    for name, image in (("observed", observed), ("model", model)):
        if image is not None:
            images[name] = np.asarray(image, np.float32)
    if "z" not in images and "observed" in images and "model" in images:
        images["z"] = (images["observed"] - images["model"]) / np.sqrt(np.maximum(images["model"], 1))
    shapes = {image.shape for image in images.values()}
    if len(shapes) > 1:
        raise ReportError(f"the images have the shapes {sorted(shapes)}; expected one")
    return _fit_page(content, images, truth or {})


def write(content: dict[str, Any] | Fit, path: str | os.PathLike[str], **more: Any) -> None:
    """Write a page; the arguments are those of `page`."""
    text = page(content, **more).encode()
    _called(lib.nb_file_write, path_of(path), text, len(text))


def _image(path: str, shape: tuple[int, int] | None) -> NDArray[Any]:
    """An SMV image without its pedestal, or raw float32 of a known shape."""
    if path.endswith(".img"):
        counts, header = read_smv(path)
        return counts.astype(np.float32) - np.float32(header.get("ADC_OFFSET", 0.0) or 0.0)
    data = np.fromfile(path, np.float32)
    if shape is None:
        edge = int(np.sqrt(data.size))
        shape = (edge, data.size // max(edge, 1))
    if data.size != shape[0] * shape[1]:
        raise ReportError(f"{path}: {data.size} float32 pixels; expected {shape[0]} x {shape[1]}")
    return data.reshape(shape)


def main(argv: list[str] | None = None) -> int:
    """The command ``python -m nanobrag.report``; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m nanobrag.report", description="Make a page of a fit or a check.")
    parser.add_argument("json", help="of report.save(), Gradcheck.save(), or -fitfile or -json of the program")
    parser.add_argument("-o", "--output", required=True, help="the HTML file")
    parser.add_argument("--observed", help="SMV image, or raw float32 photons")
    parser.add_argument("--model", help="raw float32 photons, as of -fitimage")
    options = parser.parse_args(argv)
    try:
        content = read(options.json)
        observed = _image(options.observed, None) if options.observed else None
        shape = observed.shape if observed is not None else None
        model = _image(options.model, shape) if options.model else None
        write(content, options.output, observed=observed, model=model)
    except ImportError as error:
        print(f"nanobrag.report: {error}: pip install plotly", file=sys.stderr)
        return 2
    except (OSError, ValueError, KeyError) as error:
        print(f"nanobrag.report: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
