# SPDX-License-Identifier: MIT
"""Scenes, and how they are read from command lines of the program."""

from __future__ import annotations

import dataclasses
import shlex
import threading
import warnings
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _structs
from ._base import same
from ._convert import fill, record, words
from ._errors import CommandError, NanobragWarning
from ._files import Hkl, Path
from ._lib import ffi, lib
from ._structs import Options, Profile, Quirk, SceneMembers, Source

if TYPE_CHECKING:
    from ._simulator import Simulator


def _copied(c: Any, ctype: str, count: int, dtype: Any, shape: tuple[int, ...]) -> Any:
    """A copy of an array of C; None for NULL."""
    if c == ffi.NULL or count == 0:
        return None
    return np.frombuffer(ffi.buffer(ffi.cast(f"{ctype} *", c), count * ffi.sizeof(ctype)), dtype).reshape(shape).copy()


def scene_of(c: Any) -> Scene:
    """A scene from its struct of C, with copies of all that this points to."""
    crystal, detector, beam, background = c.crystal, c.detector, c.beam, c.background
    ndomains = crystal.ndomains or (10 if any(crystal.mosaic) else 1)
    weights = _copied(crystal.domain_weight, "double", ndomains, np.float64, (ndomains,))
    hkl = None if crystal.hkl == ffi.NULL else Hkl._copied(crystal.hkl)
    point_group = None if crystal.point_group == ffi.NULL else ffi.string(crystal.point_group).decode()
    shape = (detector.nslow, detector.nfast)
    mask = _copied(detector.mask, "uint8_t", shape[0] * shape[1], np.uint8, shape)
    box = _copied(detector.box, "int", 4 * detector.nbox, np.intc, (detector.nbox, 4))
    panels = [record(_structs.Panel, detector.panel[i]) for i in range(detector.npanel)]
    lattices = [record(_structs.Lattice, crystal.lattice[i]) for i in range(crystal.nlattice)]
    groups = [record(_structs.PanelGroup, detector.group[i]) for i in range(detector.ngroup)]
    sources = [record(Source, beam.source[i]) for i in range(beam.nsource)] if beam.source != ffi.NULL else []
    stol = _copied(background.stol, "double", 2 * background.nstol, np.float64, (background.nstol, 2))
    return record(
        Scene,
        c,
        crystal=record(
            _structs.Crystal, crystal, domain_weight=weights, hkl=hkl, point_group=point_group, lattice=lattices,
            ndomains=ndomains if weights is not None else crystal.ndomains,
            # the program seeds by the clock what it does not draw
            misset_seed=crystal.misset_seed if crystal.random_misset else 0,
        ),
        detector=record(_structs.Detector, detector, mask=mask, box=box, panel=panels, group=groups),
        beam=record(_structs.Beam, beam, source=sources),
        background=record(_structs.Background, background, stol=stol),
    )  # fmt: skip


class _Atoms:
    """The atoms of a command line with -pdb, and the scene that they have made a list for."""

    def __init__(self, command: Any, lock: Any, scene: Scene) -> None:
        self.command, self.lock, self.made_for = command, lock, self._needs(scene)

    @staticmethod
    def _needs(scene: Scene) -> tuple[Any, ...]:
        """What the resolution of a list and f' and f'' depend on."""
        crystal = scene.crystal
        cell = crystal.cell, crystal.matrix, crystal.ncells, crystal.size, crystal.interpolate
        return scene.detector, scene.beam, scene.dmin, *cell

    def scene(self, scene: Scene) -> Scene:
        """The scene with the list that it needs."""
        if same(self._needs(scene), self.made_for):
            return scene
        keep: list[Any] = []
        c = scene.replace(crystal__hkl=None)._to_c(keep)
        with self.lock:
            pointer = lib.nbpy_command_factors(self.command.c, c)
            lines = ffi.string(lib.nbpy_command_lines(self.command.c)).decode().splitlines()
        if pointer == ffi.NULL:
            raise CommandError(lines[-1] if lines else "the structure factors could not be calculated")
        hkl = Hkl._of(pointer)
        hkl._atoms = _Atoms(self.command, self.lock, scene)
        return scene.replace(crystal__hkl=hkl)


class _Command:
    """A command line that was read, until nothing needs it."""

    def __init__(self, c: Any) -> None:
        self.c = c
        weakref.finalize(self, lib.nbpy_command_free, c)


def words_of(command: str | Sequence[str]) -> list[str]:
    """The words of a command line, the program's name first."""
    found = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    if not found or found[0].startswith("-"):
        found.insert(0, "nanobrag")
    return found


def read_command(command: str | Sequence[str]) -> tuple[Scene, Options]:
    """The scene of a command line of the program, and how it is to be computed."""
    if not isinstance(command, (str, Sequence)):
        raise TypeError(f"command: expected a command line, not {command!r}")
    line = [ffi.new("char[]", words(word, "command")) for word in words_of(command)]
    argv = ffi.new("char *[]", [*line, ffi.NULL])
    read = lib.nbpy_command_read(len(line), argv)
    if read == ffi.NULL:
        raise MemoryError("no memory to read a command line")
    owner = _Command(read)
    lines = ffi.string(lib.nbpy_command_lines(read)).decode().splitlines()
    if lib.nbpy_command_code(read):
        raise CommandError(lines[-1] if lines else "the command line could not be read")
    for line in lines:
        kind, _, text = line.partition(": ")
        if kind == "warning":
            warnings.warn(text, NanobragWarning, stacklevel=3)
    options = record(Options, lib.nbpy_command_options(read))
    scene = scene_of(lib.nbpy_command_scene(read))
    if lib.nbpy_command_keep_atoms(read) and scene.crystal.hkl is not None:
        scene.crystal.hkl._atoms = _Atoms(owner, threading.Lock(), scene)
    return scene, options


@dataclasses.dataclass(eq=False, kw_only=True, repr=False)
class Scene(SceneMembers):
    """Everything an image depends on, as plain data.

    A member that is 0 has the default named beside it, so a scene is complete once it has a cell
    and ``default_f`` or ``hkl``. Lengths are in mm, A or um and angles in degree, as each member
    says; see the parts `Crystal`, `Detector`, `Beam`, `Scan`, `Background` and `PointSpread`.

    >>> from nanobrag import Crystal, Detector, Scene
    >>> scene = Scene(crystal=Crystal(cell=(50, 60, 70, 90, 90, 90), ncells=(5, 5, 5), shape="gauss",
    ...                               default_f=100),
    ...               detector=Detector(nslow=64, nfast=64, pixel=0.4))
    >>> scene.replace(detector__distance=90.0).detector
    Detector(nslow=64, nfast=64, distance=90.0, pixel=0.4)
    """

    @classmethod
    def from_cli(cls, command: str | Sequence[str]) -> Scene:
        """Read the scene that a command line of the program `nanobrag` describes.

        The line is read by the program's own parser, with the files that it names. Options that
        say what to do with an image, such as ``-floatfile``, have no effect. Of a sweep the scene
        is that of the first image. With ``-pdb`` a scene that `replace` has changed gets the
        structure factors up to its own corner in a `Simulator` and in `fisher`.

        Args:
            command: one text, split as a shell does, or a list of words.

        Raises:
            CommandError: with the line that the program would have printed.

        >>> Scene.from_cli("nanobrag -cell 50 60 70 90 90 90 -default_F 100").crystal.default_f
        100.0
        """
        return read_command(command)[0]

    @classmethod
    def from_expt(cls, path: Path, i: int = 0, *, lattices: bool = False, **members: Any) -> Scene:
        """Read the scene of an experiment of DIALS (.expt); `read_expt` tells more of the file.

        Args:
            path: the file.
            i: which of its experiments, from 0 on.
            lattices: the other crystals of its image become lattices.
            members: further members as for ``replace``, which a file of DIALS does not hold:
                ``crystal__default_f=100``, or ``crystal__hkl`` and ``crystal__ncells``.

        Raises:
            FileError, FormatError, UnsupportedError: see `read_expt`.
        """
        from ._exchange import read_expt

        return read_expt(path, i, lattices=lattices).scene.replace(**members)

    def with_profile(self, profile: Profile | str) -> Scene:
        """Return a copy with all quirks of nanoBragg ("nanobragg"), or with none ("nanobrag")."""
        from ._convert import choice

        c = ffi.new("nb_scene *")
        lib.nb_scene_set_profile(c, choice(Profile, profile, "profile"))
        return self.replace(quirks=Quirk(c.quirks))

    def simulator(self, free: str | Sequence[str] = "", **options: Any) -> Simulator:
        """Make a `Simulator` of this scene."""
        from ._simulator import Simulator

        return Simulator(self, free, **options)

    def _with_factors(self) -> Scene:
        """This scene, with the structure factors of -pdb up to its own corner."""
        atoms = getattr(getattr(self.crystal, "hkl", None), "_atoms", None)
        return self if atoms is None else atoms.scene(self)

    def _to_c(self, keep: list[Any]) -> Any:
        c = ffi.new("nb_scene *")
        fill(self, c, keep)
        keep.append(c)
        return c
