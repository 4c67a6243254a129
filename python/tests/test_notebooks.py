# SPDX-License-Identifier: MIT
"""The notebooks run, and are what jupytext reads; the examples of README.md run too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = Path(__file__).parents[1]
NOTEBOOKS = sorted((PYTHON / "notebooks").glob("*.py"))
NEEDS = {"gradient_in_torch": "torch", "refine_a_still": "scipy"}


def run(path, folder):
    environment = {**os.environ, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "2"}
    return subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(path)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path):
    pytest.importorskip("matplotlib")
    try:
        __import__(NEEDS.get(path.stem, "numpy"))
    except (ImportError, OSError) as error:
        pytest.skip(f"{path.stem} needs what is not here: {error}")
    assert len(path.read_text().splitlines()) < 80
    done = run(path, path.parent)
    assert done.returncode == 0, done.stderr
    print(done.stdout)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_jupytext_reads_a_notebook(path):
    jupytext = pytest.importorskip("jupytext", reason="jupytext is not here")
    cells = jupytext.read(path).cells
    assert cells[0].cell_type == "markdown"
    assert sum(cell.cell_type == "code" for cell in cells) >= 3


def test_examples_of_the_readme_run(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", (PYTHON / "README.md").read_text(), re.S | re.M)
    assert len(blocks) >= 4
    usable = []
    for block in blocks:
        modules = set(re.findall(r"\b(torch|jax|scipy)\b", block))
        try:
            for module in modules:
                __import__(module)
        except (ImportError, OSError) as error:
            print(f"left out: {error}")
        else:
            usable.append(block)
    script = tmp_path / "readme.py"
    script.write_text("".join(usable))
    done = run(script, tmp_path)
    assert done.returncode == 0, done.stderr
    # the first stands by itself, and is that of the project
    page = (PYTHON.parent / "README.md").read_text()
    assert re.findall(r"^```python\n(.*?)^```", page, re.S | re.M) == [blocks[0]]
    script.write_text(blocks[0])
    assert run(script, tmp_path).returncode == 0
