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


class Status(IntEnum):
    """What a call of the library returns."""

    OK = 0
    """no error"""
    ERR_ARGUMENT = 1
    """an argument is missing or out of range"""
    ERR_SHAPE = 2
    """an array has the wrong size, type or device"""
    ERR_SCENE = 3
    """the scene contradicts itself"""
    ERR_UNIT_CELL = 4
    """the cell is flat"""
    ERR_FILE = 5
    """a file could not be read or written"""
    ERR_FORMAT = 6
    """a file does not follow its format"""
    ERR_MEMORY = 7
    """out of memory"""
    ERR_DEVICE = 8
    """the device refused a request"""
    ERR_CANCELLED = 9
    """stopped on request"""
    ERR_UNSUPPORTED = 10
    """this build or device cannot do that"""
    ERR_DONATED = 11
    """an array was given away and may not be read again"""
    ERR_DOMAIN = 12
    """the loss has no finite value at these parameters"""


class Compile(IntEnum):
    """Values of nb_context_options.compile (compile.h). NB_COMPILE_ON plans come from estimates
    NB_COMPILE_OFF no plans: every call decides anew NB_COMPILE_TUNE the same as NB_COMPILE_ON,
    with a note: plans from measurements were no better NB_COMPILE_REQUIRE as NB_COMPILE_ON, but
    a simulator that cannot run compiled fails"""

    ON = 0
    OFF = 1
    TUNE = 2
    REQUIRE = 3


class LogLevel(IntEnum):
    """Levels of a log line, the most important first."""

    WARNING = 0
    NOTE = 1
    INFO = 2


class Interpolation(IntEnum):
    """How F is computed between the listed reflections (docs/theory.md, 6). NB_LOOKUP_AUTO chooses
    by rule."""

    AUTO = 0
    NEAREST = 1
    TRICUBIC = 2


class Shape(IntEnum):
    """Lattice factor of the crystal (docs/theory.md, 5)."""

    SQUARE = 0
    ROUND = 1
    GAUSS = 2
    TOPHAT = 3
    GAUSS_STAR = 4


class MosaicModel(IntEnum):
    """How a simulator sums over orientations, rotation, energies and directions (docs/theory.md,
    16). NB_MOSAIC_AUTO is NB_MOSAIC_GAUSS if the shape allows it and a width is above 0. If
    number, seed or weights of domains are given, NB_MOSAIC_AUTO is NB_MOSAIC_DOMAINS."""

    AUTO = 0
    DOMAINS = 1
    """random domains; steps of phi, wavelengths and directions"""
    GAUSS = 2
    """normal distributions, integrated in closed form; for NB_SHAPE_GAUSS and NB_SHAPE_GAUSS_STAR"""


class Integrated(IntFlag):
    """Bits of nb_description.integrated: quantities over which NB_MOSAIC_GAUSS integrates, instead
    of a sum over steps."""

    MOSAIC = 1
    ROTATION = 2
    ENERGIES = 4
    DIRECTIONS = 8


class System(IntEnum):
    """Crystal system. A system ties numbers of the cell; only the other numbers are parameters
    (params.h). NB_SYSTEM_MONOCLINIC has the unique axis b. NB_SYSTEM_HEXAGONAL also stands for
    trigonal crystals on hexagonal axes."""

    NONE = 0
    """no number is tied"""
    TRICLINIC = 1
    MONOCLINIC = 2
    """alpha = gamma = 90"""
    ORTHORHOMBIC = 3
    """all angles 90"""
    TETRAGONAL = 4
    """b = a, all angles 90"""
    HEXAGONAL = 5
    """b = a, alpha = beta = 90, gamma = 120"""
    RHOMBOHEDRAL = 6
    """c = b = a, gamma = beta = alpha"""
    CUBIC = 7
    """c = b = a, all angles 90"""


class Convention(IntEnum):
    """Convention of the beam centre and of the default vectors (docs/conventions.md)."""

    MOSFLM = 0
    DENZO = 1
    ADXV = 2
    XDS = 3
    DIALS = 4
    CUSTOM = 5


class Origin(IntEnum):
    """Meaning of nb_detector.origin."""

    DEFAULT = 0
    """the default of the convention"""
    BEAM = 1
    """Xbeam, Ybeam of the convention [mm]"""
    NEAR = 2
    """ORGX, ORGY of XDS: point nearest to the crystal [pixel]"""
    PIX0 = 3
    """outer corner of the first pixel, after rotation [mm]"""
    CLOSE = 4
    """point nearest to the crystal: fast, slow [mm]"""


class Pivot(IntEnum):
    """Point that stays in place when the detector is rotated."""

    DEFAULT = 0
    BEAM = 1
    SAMPLE = 2


class PointSpreadKind(IntEnum):
    """Point spread of the detector (docs/theory.md, 12): a Gaussian, or the profile of a fibre-
    coupled sensor, g/(2 pi (g^2 + r^2)^(3/2)). Here r is the distance from the centre, and g
    follows from the fwhm."""

    NONE = 0
    GAUSS = 1
    FIBER = 2


class Material(IntEnum):
    """Materials of sensors, named Si, CdTe and GaAs in files."""

    UNKNOWN = 0
    SI = 1
    CDTE = 2
    GAAS = 3


class Profile(IntEnum):
    """Which behaviours of nanoBragg a scene reproduces: none, or all (nb_scene_set_profile())."""

    NANOBRAG = 0
    NANOBRAGG = 1


class Given(IntFlag):
    """Bits of nb_scene.given. If a bit is set, a 0 in its member is the number 0, and not the
    default."""

    MOSAIC_SEED = 1
    FUDGE = 2
    SCALE = 4
    """also the scales of lattices"""
    OSC = 8
    PHI_STEP = 16
    DIVERGENCE_H = 32
    DIVERGENCE_V = 64
    FLUENCE = 128
    MOSAIC = 256
    DISPERSION = 512
    MOSAIC_AXES = 1024
    """mosaic[1] and [2]"""
    DRIFT_PHI = 2048
    WIDTH = 4096
    """NB_MOSAIC_AUTO treats mosaic, strain or crystal_size as above 0, for example because one of them is a free parameter"""


class Quirk(IntFlag):
    """Bits of nb_scene.quirks. Each bit reproduces one behaviour of nanoBragg that this library
    corrects. Set them to compare with nanoBragg exactly. docs/from_nanobragg.md has a row for
    each bit. Derivatives are defined without quirks."""

    NORMAL_SIGN = 1
    """a normal of length not 1 becomes fast x slow"""
    STEP_RULES = 2
    """phi at the start of a step; its rules of counts"""
    LAYER_STEP = 4
    """n layers spaced by T/(n-1), from the front"""
    LAST_CAPTURE = 8
    """every layer weighted like the last one"""
    TWOTHETA_DISTANCE = 16
    """distance ignores two theta"""
    INTERPOLATE = 32
    """automatic interpolation looks at N before size"""
    RANDOM_MISSET = 64
    """random misset within a cap of 90 radian"""
    UNIT_WEIGHTS = 128
    """source weights are ignored"""
    CURVED = 256
    """curved detector made by two rotations"""
    WATER = 512
    """water divided by the steps, fluence squared"""
    DMIN_POLAR = 1024
    """pixel 0 if dmin excludes all its samples"""
    GAUSS_METRIC = 2048
    """G = |dh a* + dk b* + dl c*| Na Nb Nc"""
    MOSAIC_F32 = 4096
    """mosaic domains at random, angles in float"""
    STATISTICS = 8192
    """rmsd includes masked pixels; solid angle by step"""
    NOISE = 16384
    """its random generator and Poisson draws in float"""
    CELL_VECTORS = 32768
    """c*_z from the direct volume; cell rescales matrix"""
    ALL = 65535


class Smooth(IntFlag):
    """Values of nb_param.smooth: how the image depends on a parameter."""

    EVERYWHERE = 1
    ALMOST = 2
    """jumps where a sample changes its nearest hkl or passes dmin"""
    ZERO = 4
    """the image of this scene does not depend on the parameter"""


class Precision(IntEnum):
    """The precision of the loops over pixels. All other arithmetic is in double. In single
    precision each tile stores the Miller indices at its middle in double. Single precision
    rounds only the change of the indices across the tile (docs/theory.md, 13)."""

    DOUBLE = 0
    SINGLE = 1


class Strategy(IntEnum):
    """How a simulator adds up the samples of a pixel (docs/theory.md, 13). A sample is one sub-
    pixel with one sensor layer, one source, one phi step and one mosaic domain."""

    AUTO = 0
    """chooses NB_STRATEGY_SPOTS under three conditions: the shape of the mosaic blocks is gauss, gauss_star or tophat; the spots fill less than a third of reciprocal space; and the estimated cost is lower than with NB_STRATEGY_LANES. Otherwise it chooses NB_STRATEGY_LANES. A call also uses NB_STRATEGY_LANES if the list of reflections at its x would be too long"""
    REFERENCE = 1
    """adds up all samples, one pixel after the other, in double. Tests compare the other strategies with this strategy"""
    LANES = 2
    """adds up all samples. SIMD instructions compute several pixels at once"""
    SPOTS = 3
    """adds up only samples near a reflection. All omitted samples together change a pixel by less than the tolerance"""


class LossKind(IntEnum):
    """The loss L of one pixel, and the curvature of L (in the approximation of Gauss and Newton).
    I is the number of computed photons, y the number of observed photons, and w the weight of
    the pixel. NB_LOSS_READOUT has the variance v = I/gain + sigma_readout^2. v_y is v at I = y.
    If y is negative, v_y is v at I = 0 instead. If v_y would be 0, v_y is 1 instead.
    NB_LOSS_POISSON is the negative log-likelihood of a Poisson distribution, minus its value at
    I = y. NB_LOSS_READOUT is the same for a normal distribution of variance v. Both are half a
    deviance (McCullagh & Nelder, Generalized Linear Models, 2.3), and 0 at I = y.
    NB_LOSS_POISSON is never negative for y >= 0; at y = 0 its term y log(I/y) is 0. The minimum
    of NB_LOSS_READOUT is slightly below 0: about -1/(8 v gain^2), near I = y - 1/(2 gain).
    NB_LOSS_HUBER is by Huber (Ann. Math. Statist. 35, 1964, 73), NB_LOSS_CAUCHY by Holland &
    Welsch (Commun. Statist. A6, 1977, 813). With NB_LOSS_CAUCHY a pixel has hardly any slope if
    |I - y| is much larger than delta, so a hot pixel has no effect. The curvature of both
    losses is the weight of reweighted least squares, |slope/(I - y)|. This curvature is
    positive, even where the second derivative is negative. A pixel with y >= saturation was
    full: it received at least `saturation` photons. If I is larger than saturation, the loss of
    a full pixel is 0. Otherwise its loss is the loss for y = saturation."""

    GAUSS = 0
    """L = w (I - y)^2/2; curvature w"""
    POISSON = 1
    """L = w (I - y - y log(I/y)); curvature w/I, 0 for I < 1e-270"""
    READOUT = 2
    """L = w ((I - y)^2/v + log(v/v_y))/2; curvature w/v"""
    HUBER = 3
    """L = w (I - y)^2/2 if |I - y| < delta, with curvature w; otherwise L = w (delta |I - y| - delta^2/2), with curvature w delta/|I - y|"""
    CAUCHY = 4
    """L = w delta^2/2 log(1 + t^2), t = (I - y)/delta; curvature w/(1 + t^2)"""


class BackgroundKind(IntEnum):
    """The kind of background that nb_loss() fits at every x. nb_loss() adds the background with
    the smallest loss to the image. The background has no parameters in x, so the loss is a
    function of x alone (variable projection: Golub & Pereyra, SIAM J. Numer. Anal. 10, 1973,
    413; docs/theory.md, 15). NB_BACKGROUND_PLANES a plane in each box of nb_detector.box. The
    plane adds a + b (f - f0) + c (s - s0) photons to pixel (s, f). (s0, f0) is the middle of
    the box: (slow0 + slow1 - 1)/2 and (fast0 + fast1 - 1)/2. If boxes overlap, a pixel belongs
    to the first box that holds it Sign. With NB_LOSS_POISSON and NB_LOSS_READOUT a plane is
    nowhere negative in its box, because a number of photons is not negative. If a plane without
    this limit would be negative in a part of the box, the fitted plane is 0 in a corner, along
    an edge or everywhere. With all other losses a plane may have any sign. Minima. For
    NB_LOSS_READOUT the search begins at the plane of least squares, goes downhill and takes the
    first minimum. If no pixel is full, and 2 (y + gain sigma_readout^2)^2 > v in all pixels,
    the loss is convex and has no other minimum. NB_LOSS_CAUCHY may have several minima. So
    nb_loss() searches twice, and takes the lower of the two minima that it finds. The first
    search begins with delta at the rms residual of the plane of least squares, and halves delta
    until it reaches nb_target.delta. The second search begins at the plane of NB_LOSS_HUBER.
    Pixels. The fit of a plane uses only rendered pixels of weight above 0. Some sets of used
    pixels do not determine all of a, b and c. nb_loss() then sets the undetermined terms to 0:
    used pixels terms that are 0 none a, b and c one b and c all in one column b all in one row
    c all on a slanted line c Full pixels have no effect on b and c. If all pixels are full, a
    is so large that the loss of the box is 0."""

    PLANES = 1


class Verdict(IntEnum):
    """What a check of derivatives finds."""

    PASS = 0
    """the derivative is right"""
    FAIL_VALUE = 1
    """the derivative differs from the finite difference"""
    FAIL_VACUOUS = 2
    """the image is dark or does not depend on the parameter"""
    FAIL_STRUCTURAL_ZERO = 3
    """a parameter declared without influence has some"""
    FAIL_NONDETERMINISTIC = 4
    """the same call gave other bits"""
    FAIL_DOT = 5
    """tangent and adjoint are not each other's transpose"""
    FAIL_RATE = 6
    """the remainder of the first order does not shrink as the square"""
    FAIL_MASK = 7
    """too few pixels are smooth about this value"""
    FAIL_STAIRCASE = 8
    """the image changes in steps: something is rounded to float"""
    INCONCLUSIVE = 9
    """the error bar of the finite difference is too wide"""
    FAIL_COVERAGE = 10
    """a parameter of the registry is not checked"""
    FAIL_GUARD = 11
    """something compiled ran"""
    FAIL_NAN = 12
    """a number is not finite"""


class GradcheckLoss(IntEnum):
    """The losses that nb_gradcheck() differentiates. Each loss is the sum over pixels of weight x
    image. The losses differ in the weights:"""

    GIVEN = 0
    """given by the caller, or all 1"""
    RANDOM = 1
    """drawn at random from -1 to 1"""
    RANDOM_2 = 2
    """another random set from -1 to 1"""
    BRIGHT = 3
    """the image at x divided by its largest pixel"""


class FcalcMethod(IntEnum):
    """How A is computed. NB_FCALC_AUTO: by direct summation for fewer than 100 atoms and in a
    build without FFTW, otherwise by a Fourier transform."""

    AUTO = 0
    DIRECT = 1
    FFT = 2


class Merge(IntEnum):
    """What to do with rows of a file that disagree about the F of one reflection. Such rows name
    the same reflection, or an equivalent by the space group. If Friedel mates have no columns
    of their own, the rows may also name the Friedel mate. Rows that agree to 1e-6 count as one
    row."""

    NONE = 0
    """refuse the file; the message names two of the rows"""
    MEAN = 1
    """take the mean of F"""
    FIRST = 2
    """take the first row"""
    LAST = 3
    """take the last row"""
    MATES = 4
    """if Friedel mates are in different rows, keep both; refuse every other disagreement"""


class FitMethod(IntEnum):
    """enum nb_fit_method"""

    AUTO = 0
    LM = 1
    LBFGS = 2


class Coarse(IntEnum):
    """Coarse passes have a mosaic spread of 1, 1/3 and 1/9 degree in place of a narrower spread.
    Computed and observed spots then overlap from farther away. A scene without mosaic domains
    has 60 domains in these passes. NB_COARSE_AUTO after a fit without coarse passes has failed:
    for a shot that would be left out because its loss is too large; or for all shots, if none
    was fitted alone and the fit ends with a loss of more than 3/4 for each pixel (chi^2 more
    than 3/2), with NB_LOSS_POISSON and NB_LOSS_READOUT. The fit begins again from the start,
    and keeps the lower loss of the two fits. NB_COARSE_OFF never. NB_COARSE_ON always, before
    the first stage in which shots have free parameters."""

    AUTO = 0
    OFF = 1
    ON = 2


class FitStage(IntEnum):
    """enum nb_fit_stage"""

    COARSE = 0
    """with broadened spots"""
    WIDTHS_HELD = 1
    """also while the fit finds the scale alone"""
    ALL_FREE = 2


class FitScaling(IntEnum):
    """How the misfit and the sample of mosaic domains change errors."""

    AUTO = 0
    """If the misfit is above 1.1, and above 1 by more than 5 standard deviations, errors are multiplied by its square root, and the covariance by the misfit. For a right model this happens in about one fit in a million. A likelihood takes the misfit of bright pixels if it is the larger one. An error that comes from a restraint is not multiplied. The error of sampling is added"""
    COUNTING = 1
    """never: errors come from counting noise alone"""
    MISFIT = 2
    """as NB_FIT_SCALING_AUTO, but without the error of sampling: for images that were simulated with the same mosaic domains"""
    BOXES = 3
    """errors of the jackknife by boxes of the detector, C = (G - 1)/G sum over b of d d^T + H^-1 R H^-1, d = (H - H_b)^-1 g_b. g_b and H_b are gradient and matrix of the pixels of one of G boxes, H is the matrix of the fit, R the matrix of its restraints. The same rectangle in several shots is one box. Right if the model is wrong for a box as a whole, for example if a spot lies a tenth of a pixel off. A pixel belongs to the first box that holds it. The error of sampling is not added. Conditions: a likelihood, observed images, NB_FIT_LM, more boxes than fitted values, at most 200 values, no structure factor. If a condition fails, or if nb_fit_cancel() or the limit of seconds ends the jackknife, errors are as by NB_FIT_SCALING_MISFIT, and errors_why says so"""


class FitEnd(IntEnum):
    """Why a run ended."""

    NOT_RUN = 0
    """no pass was completed, or the run goes on"""
    CONVERGED = 1
    """the undamped step, with values at a bound held, would lower the loss by less than nb_fit_options.enough"""
    STUCK = 2
    """the step would lower the loss by more, but even the shortest steps were refused"""
    PASSES = 3
    """a limit of nb_fit_options"""
    SECONDS = 4
    """a limit of nb_fit_options"""
    CANCELLED = 5
    """by nb_fit_cancel() or a progress handler"""
    FAILED = 6
    """nb_fit_run() returned an error"""


class FitErrors(IntEnum):
    """Where errors come from."""

    CURVATURE = 0
    """(J^T W J)^-1: the loss is a negative log-likelihood"""
    VARIANCE = 1
    """B^-1 M B^-1, B = J^T diag(<L''>) J, M = J^T diag(<L'^2>) J: the loss is no likelihood (Huber, Proc. 5th Berkeley Symp. 1, 1967, 221). Such losses are NB_LOSS_HUBER, NB_LOSS_CAUCHY, and NB_LOSS_GAUSS with no other weights than 0 and 1. <> is the mean over a normal distribution of variance 1/weight. If all weights are 0 or 1, the variance is the variance of counting, I + sigma_readout^2, where I includes planes. The part of J that planes of background can replace is removed, as for likelihoods"""
    NONE = 2
    """the loss is no likelihood, and one of these holds: the run goes on, structure factors are free, there are more than 200 values, weights lie on a device. Errors are NAN, or INFINITY for values that the data do not determine"""
    BOXES = 3
    """by the jackknife of NB_FIT_SCALING_BOXES"""


class FitImage(IntEnum):
    """Compute an image of one shot at the values found so far. NB_FIT_MODEL I, photons, with
    planes of background (nb_target) NB_FIT_RESIDUAL y - I, photons NB_FIT_Z (y - I)
    sqrt(curvature of the loss at I). Its variance is 1 for a likelihood of the right variance.
    For NB_LOSS_GAUSS, NB_LOSS_HUBER and NB_LOSS_CAUCHY it is (y - I)/sqrt(v) with v = 1/weight.
    If all weights are 0 or 1, v is the variance of counting, I + sigma_readout^2 what [in] enum
    nb_fit_image_kind out [out] float32 or float64; 0 where nothing is rendered. Residual and z
    are also 0 where the weight is 0 or the observed pixel is full (nslow x nfast) Errors:
    NB_ERR_ARGUMENT (a NULL, no such shot or kind); errors of nb_forward() and load."""

    MODEL = 0
    RESIDUAL = 1
    Z = 2


class Found(IntFlag):
    """Bits of nb_experiment.found. A set bit means that the file states this, and that these
    members of the scene have the values of the file."""

    BEAM = 1
    """beam: wavelength, direction"""
    POLARIZATION = 2
    """beam: polarization, polarization_axis"""
    DETECTOR = 4
    """detector: nfast, nslow, pixel, vectors, pivot, origin, origin_kind (NB_ORIGIN_CLOSE), close_distance; for several panels, the members that nb_geometry_apply() sets"""
    SENSOR = 8
    """detector: thickness, attenuation, its wavelength, material"""
    AXIS = 16
    """scan: axis"""
    SCAN = 32
    """scan: phi0, osc, of the first image; given: NB_GIVEN_OSC"""
    CRYSTAL = 64
    """crystal: cell and matrix, at phi = 0"""
    MOSAIC = 128
    """crystal: mosaic[0]"""


class Compression(IntEnum):
    """How the pixels are compressed. All methods are lossless. LZ4 and BSLZ4 (bitshuffle, then
    LZ4) are filters that HDF5 loads when they are needed. The writer and every reader need
    them."""

    DEFLATE = 0
    """shuffle, then zlib, which every HDF5 has"""
    NONE = 1
    LZ4 = 2
    """filter 32004"""
    BSLZ4 = 3
    """filter 32008"""


@dataclass(eq=False, kw_only=True, repr=False)
class Source(Struct):
    """One source of a beam with a list of sources.

    Attributes:
        direction:
            along which the light travels, any length
        wavelength:
            [A]
        weight:
            0 or more; weights are divided by their sum
    """

    _c = "nb_source"
    direction: Sequence[float] = (0.0, 0.0, 0.0)
    wavelength: float = 0.0
    weight: float = 0.0


@dataclass(eq=False, kw_only=True, repr=False)
class Lattice(Struct):
    """A further lattice of a split or twinned crystal. A lattice has its own orientation. It may
    also have its own axes and its own brightness. It shares mosaic spread, N, shape and
    structure factors with the crystal.

    Attributes:
        cell:
            as nb_crystal.cell; all 0: the crystal's [A, degree]
        matrix:
            as nb_crystal.matrix; all 0: the crystal's [1/A]
        misset:
            rotation about lab x, then y, then z [degree]
        rotation:
            rotation vector applied after misset [degree]
        scale:
            brightness, relative to the first lattice of the crystal; 0: 1
    """

    _c = "nb_lattice"
    cell: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    matrix: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    misset: Sequence[float] = (0.0, 0.0, 0.0)
    rotation: Sequence[float] = (0.0, 0.0, 0.0)
    scale: float = 0.0


@dataclass(eq=False, kw_only=True, repr=False)
class Crystal(Struct):
    """nb_crystal of the C library.

    Attributes:
        cell:
            a b c alpha beta gamma; b, c 0: a; angles 0: 90 [A, degree]
        matrix:
            Reciprocal axes in 1/A: the columns are a*, b*, c*, the rows x, y, z; all 0: from
            cell. With a matrix and a cell, the cell gives lengths and angles, and the matrix
            gives the orientation.
        misset:
            rotation about lab x, then y, then z [degree]
        rotation:
            rotation vector applied after misset; its length is the angle [degree]
        ncells:
            N, unit cells along a b c, real numbers; 0: 1
        ncells_off:
            elements ab, ac, bc of the symmetric matrix N, which must be positive definite; 0
            for NB_SHAPE_SQUARE [cells]
        mosaic:
            mosaic spread. If [1] and [2] are 0: [0] in all directions. Else about a, c* x a and
            c*, which turn with phi [degree]
        mosaic_off:
            elements ab, ac, bc of the symmetric matrix of spreads, which has mosaic as its
            diagonal [degree]
        mosaic_model:
            enum nb_mosaic_model
        mosaic_tail:
            share of the crystal that has a second, wider spread, 0 to 1. Only NB_MOSAIC_GAUSS
            has mosaic_tail, mosaic_tail_width, strain and crystal_size.
        mosaic_tail_width:
            second spread, divided by the first spread; 0: 5
        strain:
            relative standard deviation of the spacings d
        crystal_size:
            standard deviation of the illuminated crystal across a diffracted ray [mm]
        ndomains:
            mosaic domains; 0: 10 with a spread, else 1; 1 in NB_MOSAIC_GAUSS
        domain_weight:
            weights, 0 or more, divided by their mean; NULL: all 1 [ndomains]
        shape:
            enum nb_shape
        mosaic_seed:
            seed of the mosaic domains; 0: 12345678
        fudge:
            factor on the squared radius of a spot; 0: 1
        b_factor:
            B of isotropic displacement, exp(-B |q|^2/2) in F^2 [A^2]
        scale:
            factor on the Bragg intensity; 0: 1
        default_f:
            structure factor of unlisted reflections [electron]
        hkl:
            listed reflections; NULL: none
        interpolate:
            enum nb_interpolation; AUTO: tricubic if any N <= 2
        normalise:
            1: F_latt is multiplied so that a spot has the same photons as a spot of square
            blocks, for any shape and any fudge except 0 (docs/theory.md, 5)
        size:
            along a b c; if above 0, N = ceil(size/edge) [mm]
        random_misset:
            1: misset is a random rotation, drawn with misset_seed
        misset_seed:
            seed of the random misset
        system:
            enum nb_system; a tied number of the cell is 0 or agrees with the system
        point_group:
            Point group that decides which structure factors are one parameter (params.h). The
            image does not depend on it. Rotations only: 1 2 222 4 422 3 32 6 622 23 432. With
            Friedel pairs: -1 2/m mmm 4/m 4/mmm -3 -3m 6/m 6/mmm m-3 m-3m. The axis of 2 is b.
            Trigonal groups are on hexagonal axes, 32 as 321. NULL: each structure factor is its
            own parameter.
        lattice:
            The further lattices. cell, matrix, misset, rotation and scale above describe the
            first lattice. The image is the sum over all lattices. [nlattice]
    """

    _c = "nb_crystal"
    cell: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    matrix: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    misset: Sequence[float] = (0.0, 0.0, 0.0)
    rotation: Sequence[float] = (0.0, 0.0, 0.0)
    ncells: Sequence[float] = (0.0, 0.0, 0.0)
    ncells_off: Sequence[float] = (0.0, 0.0, 0.0)
    mosaic: Sequence[float] = (0.0, 0.0, 0.0)
    mosaic_off: Sequence[float] = (0.0, 0.0, 0.0)
    mosaic_model: MosaicModel | str | int = MosaicModel(0)
    mosaic_tail: float = 0.0
    mosaic_tail_width: float = 0.0
    strain: float = 0.0
    crystal_size: float = 0.0
    ndomains: int = 0
    domain_weight: ArrayLike | None = None
    shape: Shape | str | int = Shape(0)
    mosaic_seed: int = 0
    fudge: float = 0.0
    b_factor: float = 0.0
    scale: float = 0.0
    default_f: float = 0.0
    hkl: Hkl | None = None
    interpolate: Interpolation | str | int = Interpolation(0)
    normalise: int = 0
    size: Sequence[float] = (0.0, 0.0, 0.0)
    random_misset: int = 0
    misset_seed: int = 0
    system: System | str | int = System(0)
    point_group: str | None = None
    lattice: Sequence[Lattice] = ()


@dataclass(eq=False, kw_only=True, repr=False)
class Panel(Struct):
    """A panel: a flat rectangle of pixels in a detector of several panels. The image stays one
    array, and each panel is a rectangle in this array. Frame. Origin and axes of a panel are in
    the frame of its group. A point (x, y, z) in the frame of a group lies at origin + x fast +
    y slow + z (fast x slow) in the frame of the parent group. Without a group the frame is the
    laboratory frame. nb_detector.rotation and then nb_detector.origin move this frame, with all
    panels, about the crystal. The front of a panel faces the crystal. Moves. First `rotation`
    turns a panel about its middle: about its own fast axis, then slow axis, then normal (fast x
    slow), as the axes are before the move. Then `shift` moves the panel along these axes. A
    group moves in the same way, along its own axes. The middle of a group is the mean of the
    middles of its panels, before the panels and groups in it move.

    Attributes:
        name:
            for messages and files; may be empty
        nslow:
            number of pixels
        nfast:
            number of pixels
        slow0:
            Place of the panel's first pixel in the image. If all panels have 0 0, they are
            stacked along slow.
        fast0:
            Place of the panel's first pixel in the image. If all panels have 0 0, they are
            stacked along slow.
        pixel:
            edge of a square pixel; 0: nb_detector.pixel [mm]
        origin:
            outer corner of the first pixel [mm]
        fast:
            unit vectors at 90 degrees, both within 1e-6; 0 0 0: 1 0 0 for fast, 0 1 0 for slow
        slow:
            unit vectors at 90 degrees, both within 1e-6; 0 0 0: 1 0 0 for fast, 0 1 0 for slow
        shift:
            along its fast axis, slow axis, normal [mm]
        rotation:
            about its fast axis, slow axis, normal [degree]
        group:
            0: none; else 1 + index of its group
    """

    _c = "nb_panel"
    name: str = ""
    nslow: int = 0
    nfast: int = 0
    slow0: int = 0
    fast0: int = 0
    pixel: float = 0.0
    origin: Sequence[float] = (0.0, 0.0, 0.0)
    fast: Sequence[float] = (0.0, 0.0, 0.0)
    slow: Sequence[float] = (0.0, 0.0, 0.0)
    shift: Sequence[float] = (0.0, 0.0, 0.0)
    rotation: Sequence[float] = (0.0, 0.0, 0.0)
    group: int = 0


@dataclass(eq=False, kw_only=True, repr=False)
class PanelGroup(Struct):
    """A group: a set of panels and of other groups that moves as one.

    Attributes:
        name:
            for messages and files; may be empty
        parent:
            0: none; else 1 + index of the parent group, an earlier group
        origin:
            origin of the group's frame [mm]
        fast:
            the x and the y axis of its frame; as in nb_panel
        slow:
            the x and the y axis of its frame; as in nb_panel
        shift:
            along its fast axis, slow axis, normal [mm]
        rotation:
            about its fast axis, slow axis, normal [degree]
    """

    _c = "nb_panel_group"
    name: str = ""
    parent: int = 0
    origin: Sequence[float] = (0.0, 0.0, 0.0)
    fast: Sequence[float] = (0.0, 0.0, 0.0)
    slow: Sequence[float] = (0.0, 0.0, 0.0)
    shift: Sequence[float] = (0.0, 0.0, 0.0)
    rotation: Sequence[float] = (0.0, 0.0, 0.0)


@dataclass(eq=False, kw_only=True, repr=False)
class Detector(Struct):
    """A detector is one rectangle, or a list of panels. One rectangle. Distance or origin,
    vectors, rotation and two theta give its position (docs/conventions.md). Panels. Each panel
    has its own position. Rotation and origin move the whole detector; origin_kind is
    NB_ORIGIN_PIX0 or, for an origin 0 0 0, NB_ORIGIN_DEFAULT. A detector of panels has no
    distance, close_distance, twotheta, first three vectors, size, curved or also_kind. pivot
    and the two-theta axis are not used. Pixels of the image that belong to no panel are 0, like
    masked pixels. Panels must not overlap in the image, and must lie inside the image. No panel
    may be edge-on to the crystal, or lie wholly upstream of the crystal. An image has at most
    1000000 rows.

    Attributes:
        nslow:
            number of pixels; 0: from size, or the smallest number that holds all panels
        nfast:
            number of pixels; 0: from size, or the smallest number that holds all panels
        convention:
            enum nb_convention
        origin_kind:
            enum nb_origin: meaning of origin
        origin:
            position of the detector [mm or pixel]
        distance:
            crystal to detector along the beam; 0: 100 [mm]
        close_distance:
            crystal to detector along the normal; 0: from distance [mm]
        pixel:
            edge of a square pixel; 0: 0.1 [mm]
        rotation:
            rotation about lab x, then y, then z [degree]
        twotheta:
            rotation about the two-theta axis, after `rotation` [degree]
        vectors:
            fast, slow, normal, two-theta axis; any length; 0 0 0: by the convention
        thickness:
            of the sensor; 0: no sensor model [um]
        attenuation:
            depth at which 1/e is left; infinite: no sensor model [um]
        attenuation_wavelength:
            The wavelength of the attenuation; 0: the wavelength of the image, or the mean of
            the listed sources. At another wavelength the attenuation follows the table of the
            material (docs/theory.md, 3). For an unknown material it does not change [A]
        material:
            of the sensor, enum nb_material
        nlayers:
            number of layers of the sensor; 0: as many as the depth of the sensor needs
            (docs/theory.md, 11)
        layer_cosine:
            cosine of the angle between a ray and the normal. For such a ray, each layer lies at
            the mean depth of its captured photons. 0: each layer is sampled in its middle; if
            nlayers is 0 too, by rule
        curved:
            1: every pixel has the same distance from the crystal
        point_pixel:
            1: solid angle 1/R^2, without obliquity
        mask:
            0: the pixel is skipped; NULL: no mask [nslow x nfast]
        roi:
            region of interest in pixels: fast0 fast1 slow0 slow1, ends excluded; all 0: the
            whole image
        size:
            fast, slow; 0: pixel x count, else 102.4 [mm]
        pivot:
            enum nb_pivot
        also_kind:
            enum nb_origin: meaning of also; DEFAULT: not used
        also:
            the origin, stated a second time; must agree with the first origin within 1e-6 pixel
            [mm or pixel]
        box:
            Boxes, each with four numbers like roi, inside the image. Only pixels of the roi
            that lie in a box are rendered. Time and memory then depend on the boxes, not on the
            size of the detector, except for whole images and with a point spread. Boxes may
            overlap. A pixel counts once [nbox x 4]
        panel:
            the panels [npanel]
        group:
            the groups [ngroup]
    """

    _c = "nb_detector"
    nslow: int = 0
    nfast: int = 0
    convention: Convention | str | int = Convention(0)
    origin_kind: Origin | str | int = Origin(0)
    origin: Sequence[float] = (0.0, 0.0, 0.0)
    distance: float = 0.0
    close_distance: float = 0.0
    pixel: float = 0.0
    rotation: Sequence[float] = (0.0, 0.0, 0.0)
    twotheta: float = 0.0
    vectors: Sequence[Sequence[float]] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    thickness: float = 0.0
    attenuation: float = 0.0
    attenuation_wavelength: float = 0.0
    material: Material | str | int = Material(0)
    nlayers: int = 0
    layer_cosine: float = 0.0
    curved: int = 0
    point_pixel: int = 0
    mask: ArrayLike | None = None
    roi: Sequence[int] = (0, 0, 0, 0)
    size: Sequence[float] = (0.0, 0.0)
    pivot: Pivot | str | int = Pivot(0)
    also_kind: Origin | str | int = Origin(0)
    also: Sequence[float] = (0.0, 0.0, 0.0)
    box: ArrayLike | None = None
    panel: Sequence[Panel] = ()
    group: Sequence[PanelGroup] = ()


@dataclass(eq=False, kw_only=True, repr=False)
class Beam(Struct):
    """nb_beam of the C library.

    Attributes:
        wavelength:
            0: 1 [A]
        direction:
            along which the light travels, any length; 0 0 0: by the convention
        fluence:
            0: 1/r_e^2; one electron then scatters one photon/steradian [photons/m^2]
        polarization:
            Kahn factor, -1 to 1 (docs/theory.md, 10)
        polarization_axis:
            axis of the electric field, any length; 0 0 0: by the convention
        dispersion:
            full spectral width, as a fraction of the wavelength
        divergence:
            horizontal, vertical full width [mrad]
        ndispersion:
            number of steps; 0: by rule. With NB_MOSAIC_GAUSS, 0 and 1 mean: integrate over the
            width
        ndivergence:
            number of steps; 0: by rule. With NB_MOSAIC_GAUSS, 0 and 1 mean: integrate over the
            width
        unpolarised:
            1: polarization factor 1 (nanoBragg's -nopolar)
        source:
            the listed sources [nsource]
        divergence_step:
            horizontal, vertical; 0: by rule [mrad]
        square_divergence:
            1: the grid of directions is not cut to an ellipse
        flux:
            above 0: fluence = flux exposure/size^2 [photons/s]
        exposure:
            0: 1 [s]
        size:
            edge of the square beam; it clips crystal size along b and c. 0: 0.1; below 0: no
            clipping [mm]
    """

    _c = "nb_beam"
    wavelength: float = 0.0
    direction: Sequence[float] = (0.0, 0.0, 0.0)
    fluence: float = 0.0
    polarization: float = 0.0
    polarization_axis: Sequence[float] = (0.0, 0.0, 0.0)
    dispersion: float = 0.0
    divergence: Sequence[float] = (0.0, 0.0)
    ndispersion: int = 0
    ndivergence: Sequence[int] = (0, 0)
    unpolarised: int = 0
    source: Sequence[Source] = ()
    divergence_step: Sequence[float] = (0.0, 0.0)
    square_divergence: int = 0
    flux: float = 0.0
    exposure: float = 0.0
    size: float = 0.0


@dataclass(eq=False, kw_only=True, repr=False)
class Scan(Struct):
    """nb_scan of the C library.

    Attributes:
        phi0:
            start of the rotation [degree]
        osc:
            range of the rotation; negative rotates backwards [degree]
        axis:
            spindle, any length; 0 0 0: by the convention
        nphi:
            number of phi steps; 0: by rule
        step:
            phi step; 0: by rule. NB_MOSAIC_GAUSS integrates over phi in two cases: step and
            nphi are 0, or step is the number 0 (NB_GIVEN_PHI_STEP). It then integrates in nphi
            parts [degree]
        drift:
            While phi changes, the crystal also turns by the rotation vector drift (phi -
            drift_phi), before the rotation of the spindle. The vector is in the frame of the
            goniometer at phi = 0 degree per degree
        drift_phi:
            0: the middle of the rotation [degree]
    """

    _c = "nb_scan"
    phi0: float = 0.0
    osc: float = 0.0
    axis: Sequence[float] = (0.0, 0.0, 0.0)
    nphi: int = 0
    step: float = 0.0
    drift: Sequence[float] = (0.0, 0.0, 0.0)
    drift_phi: float = 0.0


@dataclass(eq=False, kw_only=True, repr=False)
class Background(Struct):
    """nb_background of the C library.

    Attributes:
        water:
            thickness of amorphous material in the beam [um]
        stol:
            table of pairs sin(theta)/lambda (1/A), F (electron), rising; NULL: F = 2.57
            electrons [nstol x 2]
        density:
            of the material; 0: 1 [g/cm^3]
        molecular_weight:
            of the material; 0: 18 [g/mol]
    """

    _c = "nb_background"
    water: float = 0.0
    stol: ArrayLike | None = None
    density: float = 0.0
    molecular_weight: float = 0.0


@dataclass(eq=False, kw_only=True, repr=False)
class PointSpread(Struct):
    """nb_psf of the C library.

    Attributes:
        kind:
            enum nb_psf_kind
        fwhm:
            full width at half maximum [mm]
        radius:
            half edge of the square to which the point spread is cut; 0: ceil(6 sigma) for
            NB_PSF_GAUSS, 600 fwhm for NB_PSF_FIBER [pixel]
    """

    _c = "nb_psf"
    kind: PointSpreadKind | str | int = PointSpreadKind(0)
    fwhm: float = 0.0
    radius: int = 0


@dataclass(eq=False, kw_only=True, repr=False)
class SceneMembers(Struct):
    """nb_scene of the C library.

    Attributes:
        crystal:
            see the type
        detector:
            see the type
        beam:
            see the type
        scan:
            see the type
        background:
            see the type
        oversample:
            sub-pixels along the edge of a pixel; 0: by rule
        dmin:
            samples of a smaller spacing do not scatter; 0: no limit A
        quirks:
            NB_QUIRK_...
        psf:
            see the type
        oversample_thick:
            1: capture, polarization or solid angle is computed for every sample, and not once
            for a pixel (docs/theory.md, 1)
        oversample_polar:
            1: capture, polarization or solid angle is computed for every sample, and not once
            for a pixel (docs/theory.md, 1)
        oversample_omega:
            1: capture, polarization or solid angle is computed for every sample, and not once
            for a pixel (docs/theory.md, 1)
        given:
            NB_GIVEN_...
    """

    _c = "nb_scene"
    crystal: Crystal = field(default_factory=Crystal)
    detector: Detector = field(default_factory=Detector)
    beam: Beam = field(default_factory=Beam)
    scan: Scan = field(default_factory=Scan)
    background: Background = field(default_factory=Background)
    oversample: int = 0
    dmin: float = 0.0
    quirks: Quirk | int = Quirk(0)
    psf: PointSpread = field(default_factory=PointSpread)
    oversample_thick: int = 0
    oversample_polar: int = 0
    oversample_omega: int = 0
    given: Given | int = Given(0)


@dataclass(eq=False, kw_only=True, repr=False)
class Options(Struct):
    """The bits of an image depend on precision, strategy, tolerance, instruction set and device,
    but not on the number of threads. ROI and mask also change the bits: ROI and mask decide
    which pixel is the brightest rendered pixel, and the tolerance is relative to this pixel.
    ROI and mask also decide which strategy NB_STRATEGY_AUTO chooses. Let M be the largest
    number of photons that the crystal can scatter into a pixel. NB_STRATEGY_SPOTS gives 0 for
    each pixel with fewer than 1e-300 M photons.

    Attributes:
        precision:
            enum nb_precision
        strategy:
            enum nb_strategy
        tolerance:
            The allowed error of a pixel before the point spread, as a fraction of the brightest
            rendered pixel before the point spread. 0 means 1e-10 in double, and 1e-5 in single
            precision. NB_STRATEGY_SPOTS omits samples up to this error. In single precision, if
            the error of a tile would be larger, the simulator divides the tile into parts. It
            computes in double each part whose error would still be larger. A point spread also
            takes light from pixels that are not rendered. This light may have a larger error.
    """

    _c = "nb_options"
    precision: Precision | str | int = Precision(0)
    strategy: Strategy | str | int = Strategy(0)
    tolerance: float = 0.0


@dataclass(eq=False, kw_only=True, repr=False)
class Target(Struct):
    """nb_target of the C library.

    Attributes:
        kind:
            enum nb_loss_kind
        observed:
            photons, float32 or float64 [nslow x nfast]
        weight:
            w, float32 or float64; NULL: 1 [nslow x nfast]
        sigma_readout:
            the standard deviation of the read-out noise, photons
        gain:
            the gain in the variance of NB_LOSS_READOUT; 0 means 1
        delta:
            photons, for NB_LOSS_HUBER and NB_LOSS_CAUCHY; 0 means 1
        saturation:
            a pixel with at least so many photons is full; 0: none is full
        background:
            NB_BACKGROUND_PLANES; 0: no background
    """

    _c = "nb_target"
    kind: LossKind | str | int = LossKind(0)
    observed: Any = None
    weight: Any = None
    sigma_readout: float = 0.0
    gain: float = 0.0
    delta: float = 0.0
    saturation: float = 0.0
    background: BackgroundKind | str | int = 0


@dataclass(eq=False, kw_only=True, repr=False)
class Anomalous(Struct):
    """f' and f'' of an element. They replace the values of Cromer and Liberman's method.

    Attributes:
        element:
            symbol, as "SE" or "Se"
        f_prime:
            [electron]
        f_double_prime:
            [electron]
    """

    _c = "nb_anomalous"
    element: str = ""
    f_prime: float = 0.0
    f_double_prime: float = 0.0


@dataclass(eq=False, kw_only=True, repr=False)
class Fcalc(Struct):
    """A calculation of structure factors. A zero-initialised member means its default.

    Attributes:
        dmin:
            all reflections of this spacing or larger are listed [A]
        wavelength:
            for f' and f''; 0: no f' and f'', and Friedel mates are equal A
        k_sol:
            density and B of the bulk solvent, usually 0.35 and 46; k_sol 0: no bulk solvent
            [electron/A^3, A^2]
        b_sol:
            density and B of the bulk solvent, usually 0.35 and 46; k_sol 0: no bulk solvent
            [electron/A^3, A^2]
        tolerance:
            of NB_FCALC_FFT: sum of the errors of |F|, as a fraction of the sum of |F|; 1e-10 to
            0.01; 0: 1e-5
        method:
            enum NB_FCALC_...
        anomalous:
            (nanomalous); needs a wavelength
    """

    _c = "nb_fcalc"
    dmin: float = 0.0
    wavelength: float = 0.0
    k_sol: float = 0.0
    b_sol: float = 0.0
    tolerance: float = 0.0
    method: FcalcMethod | str | int = FcalcMethod(0)
    anomalous: Sequence[Anomalous] = ()


@dataclass(eq=False, kw_only=True, repr=False)
class Mtz(Struct):
    """Header of a written MTZ.

    Attributes:
        cell:
            [A, degree]
        wavelength:
            0: not stated [A]
        space_group:
            NULL: "P 1"
        label:
            name of the column, up to 24 letters; NULL: "FC"
        title:
            up to 70 letters; NULL: none
        friedel:
            1: Friedel mates in two columns, LABEL(+) and LABEL(-)
    """

    _c = "nb_mtz"
    cell: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    wavelength: float = 0.0
    space_group: str | None = None
    label: str | None = None
    title: str | None = None
    friedel: int = 0


@dataclass(eq=False, kw_only=True, repr=False)
class Restraint(Struct):
    """A prior on one parameter. For an own parameter the prior is valid for each shot.

    Attributes:
        name:
            of one parameter, such as "cell_a"; not of a structure factor
        centre:
            sigma > 0 adds (value - centre)^2/(2 sigma^2) to the loss. All four numbers have the
            unit of the parameter
        sigma:
            sigma > 0 adds (value - centre)^2/(2 sigma^2) to the loss. All four numbers have the
            unit of the parameter
        lower:
            bounds; both 0: none. A fit also respects nb_param.lower and upper, and the bounds
            of "Needs and limits" in docs/fitting.md
        upper:
            bounds; both 0: none. A fit also respects nb_param.lower and upper, and the bounds
            of "Needs and limits" in docs/fitting.md
    """

    _c = "nb_restraint"
    name: str | None = None
    centre: float = 0.0
    sigma: float = 0.0
    lower: float = 0.0
    upper: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class HklInfo(Record):
    """The extent of a list of reflections.

    Attributes:
        count:
            listed reflections, with repeats
        min:
            smallest and largest h, k, l of the list
        max:
            smallest and largest h, k, l of the list
    """

    _c = "nb_hkl_info"
    count: int
    min: NDArray[np.int64]
    max: NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Parameter(Record):
    """nb_param of the C library.

    Attributes:
        name:
            such as "cell_a" or "F[1,-2,3]"
        unit:
            static strings; doc: a phrase that describes the parameter
        doc:
            static strings; doc: a phrase that describes the parameter
        group:
            name of its group; its own name if it has no group
        value:
            in the resolved scene, 0 in a row of the registry; in `unit`
        scale:
            a typical change that matters; in `unit`
        lower:
            bounds, both allowed; in `unit`
        upper:
            bounds, both allowed; in `unit`
        smooth:
            NB_SMOOTH_...
    """

    _c = "nb_param"
    name: str
    unit: str
    doc: str
    group: str
    value: float
    scale: float
    lower: float
    upper: float
    smooth: Smooth


@dataclass(frozen=True, eq=False, kw_only=True)
class Description(Record):
    """Derived numbers of a scene: its geometry in every convention, its counts, and the device
    that computes it.

    Attributes:
        cell:
            direct and reciprocal cell [A, 1/A, degree]
        cell_star:
            direct and reciprocal cell [A, 1/A, degree]
        volume:
            [A^3]
        real_axes:
            a, b, c [A]
        star_axes:
            a*, b*, c* [1/A]
        misset:
            about lab x, y, z [degree]
        ncells:
            unit cells along a, b, c; photons of a spot, divided by the photons for square
            blocks
        spot_sum:
            unit cells along a, b, c; photons of a spot, divided by the photons for square
            blocks
        star_sines:
            of the reciprocal angles, not clipped to 1
        star_cosines:
            of the reciprocal angles, not clipped to 1
        npanel:
            npanel: number of panels; 0: one rectangle. panel: index of the panel that the
            direct beam meets, or comes nearest to. All members below describe this panel. Only
            nslow and nfast describe the whole image
        panel:
            npanel: number of panels; 0: one rectangle. panel: index of the panel that the
            direct beam meets, or comes nearest to. All members below describe this panel. Only
            nslow and nfast describe the whole image
        nslow:
            pivot: NB_PIVOT_BEAM or NB_PIVOT_SAMPLE
        nfast:
            pivot: NB_PIVOT_BEAM or NB_PIVOT_SAMPLE
        convention:
            pivot: NB_PIVOT_BEAM or NB_PIVOT_SAMPLE
        pivot:
            pivot: NB_PIVOT_BEAM or NB_PIVOT_SAMPLE
        pixel:
            size: fast, slow [mm]
        size:
            size: fast, slow [mm]
        fast:
            unit vectors
        slow:
            unit vectors
        normal:
            unit vectors
        twotheta_axis:
            unit vectors
        origin:
            outer corner of the first pixel (pix0) [mm]
        distance:
            along the beam, along the normal [mm]
        close_distance:
            along the beam, along the normal [mm]
        beam_fast:
            direct beam, from the outer corner [mm]
        beam_slow:
            direct beam, from the outer corner [mm]
        close_fast:
            nearest point, from the outer corner [mm]
        close_slow:
            nearest point, from the outer corner [mm]
        xbeam:
            beam centre of the convention, as given or default [mm]
        ybeam:
            beam centre of the convention, as given or default [mm]
        adxv:
            beam centre x, y of these programs; origin of DIALS, of SMV and miniCBF [mm]
        mosflm:
            beam centre x, y of these programs; origin of DIALS, of SMV and miniCBF [mm]
        denzo:
            beam centre x, y of these programs; origin of DIALS, of SMV and miniCBF [mm]
        dials_origin:
            beam centre x, y of these programs; origin of DIALS, of SMV and miniCBF [mm]
        xds_org:
            ORGX, ORGY of XDS [pixel]
        thickness:
            sensor: thickness, um, and attenuation, 1/m; mu below 0: not given, 0: no sensor
        mu:
            sensor: thickness, um, and attenuation, 1/m; mu below 0: not given, 0: no sensor
        layer_step:
            thickness of a layer, depth of the first um
        layer_depth:
            thickness of a layer, depth of the first um
        beam:
            unit vectors
        polarization_axis:
            unit vectors
        vertical:
            unit vectors
        spindle:
            unit vectors
        fluence:
            [photons/m^2]
        dispersion:
            fractions of the wavelength
        dispersion_step:
            fractions of the wavelength
        divergence:
            horizontal, vertical [radian]
        divergence_step:
            horizontal, vertical [radian]
        nsource:
            see the type
        ngrid:
            see the type
        ndispersion:
            see the type
        nphi:
            see the type
        ndomains:
            see the type
        nlayers:
            see the type
        mosaic_model:
            enum nb_mosaic_model, not AUTO; NB_INTEGRATED_...
        integrated:
            enum nb_mosaic_model, not AUTO; NB_INTEGRATED_...
        oversample:
            used number, and number by rule
        oversample_wanted:
            used number, and number by rule
        interpolate:
            enum nb_interpolation; no effect without listed reflections
        interpolate_auto:
            1: interpolate was chosen by rule
        strategy:
            enum nb_strategy on the host, never NB_STRATEGY_AUTO
        strategy_why:
            the reason, one clause
        kernel:
            on the host: "scalar" "v2" "v3" "v4" "base" or "reference"
        device:
            where images are computed: "cpu", or "cuda:0" and its name
        device_why:
            the reason, one clause
        derivatives:
            where derivatives are computed, as far as is known yet
        derivatives_why:
            the reason, one clause
        precision:
            NB_PRECISION_SINGLE if any part of an image is in float
        tolerance:
            nb_options.tolerance, as a fraction of the peak
        rounding:
            Estimated rounding error of the image, as a fraction of its brightest pixel before a
            point spread. The estimate is for an image with a spot. It grows with N
            |a|/wavelength: 3e-12 for 30 cells of 50 A at 1 A, 2e-9 for 1000 cells of 1000 A. In
            an image without a spot the fraction may be larger.
        tiles:
            tiles of NB_STRATEGY_LANES; tiles that are divided, and tiles that are computed in
            double, because of the tolerance
        tiles_small:
            tiles of NB_STRATEGY_LANES; tiles that are divided, and tiles that are computed in
            double, because of the tolerance
        tiles_double:
            tiles of NB_STRATEGY_LANES; tiles that are divided, and tiles that are computed in
            double, because of the tolerance
        phi_step:
            [degree]
        sample_max:
            largest edge N |a| of the crystal; lambda x distance/pixel [A]
        pixel_reciprocal:
            largest edge N |a| of the crystal; lambda x distance/pixel [A]
        qmax:
            largest |q| on the detector [1/A]
        pixels:
            rendered pixels: inside the ROI and a box, and not masked
        evaluations:
            pixels x sub-pixels x layers x sources x phi x domains
        background_intensity:
            nanoBragg's I_bg with NB_QUIRK_WATER, else 0 [photons/steradian]
    """

    _c = "nb_description"
    cell: NDArray[np.float64]
    cell_star: NDArray[np.float64]
    volume: float
    real_axes: NDArray[np.float64]
    star_axes: NDArray[np.float64]
    misset: NDArray[np.float64]
    ncells: NDArray[np.float64]
    spot_sum: float
    star_sines: NDArray[np.float64]
    star_cosines: NDArray[np.float64]
    npanel: int
    panel: int
    nslow: int
    nfast: int
    convention: Convention
    pivot: Pivot
    pixel: float
    size: NDArray[np.float64]
    fast: NDArray[np.float64]
    slow: NDArray[np.float64]
    normal: NDArray[np.float64]
    twotheta_axis: NDArray[np.float64]
    origin: NDArray[np.float64]
    distance: float
    close_distance: float
    beam_fast: float
    beam_slow: float
    close_fast: float
    close_slow: float
    xbeam: float
    ybeam: float
    adxv: NDArray[np.float64]
    mosflm: NDArray[np.float64]
    denzo: NDArray[np.float64]
    dials_origin: NDArray[np.float64]
    xds_org: NDArray[np.float64]
    thickness: float
    mu: float
    layer_step: float
    layer_depth: float
    beam: NDArray[np.float64]
    polarization_axis: NDArray[np.float64]
    vertical: NDArray[np.float64]
    spindle: NDArray[np.float64]
    fluence: float
    dispersion: float
    dispersion_step: float
    divergence: NDArray[np.float64]
    divergence_step: NDArray[np.float64]
    nsource: int
    ngrid: int
    ndispersion: int
    nphi: int
    ndomains: int
    nlayers: int
    mosaic_model: MosaicModel
    integrated: Integrated
    oversample: int
    oversample_wanted: int
    interpolate: Interpolation
    interpolate_auto: int
    strategy: Strategy
    strategy_why: str
    kernel: str
    device: str
    device_why: str
    derivatives: str
    derivatives_why: str
    precision: Precision
    tolerance: float
    rounding: float
    tiles: int
    tiles_small: int
    tiles_double: int
    phi_step: float
    sample_max: float
    pixel_reciprocal: float
    qmax: float
    pixels: int
    evaluations: float
    background_intensity: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Spot(Record):
    """A reflection that scatters onto the detector.

    Attributes:
        hkl:
            h k l
        lattice:
            0: the first lattice of the crystal
        panel:
            0 if the detector is one rectangle
        fast:
            the middle of the spot, from the corner of the panel: mean over the terms of the
            brightness [pixel]
        slow:
            the middle of the spot, from the corner of the panel: mean over the terms of the
            brightness [pixel]
        extent:
            where the terms lie: fast from, to, slow from, to [pixel]
        brightness:
            in a unit that all spots of one call share
    """

    _c = "nb_spot"
    hkl: NDArray[np.int64]
    lattice: int
    panel: int
    fast: float
    slow: float
    extent: NDArray[np.float64]
    brightness: float


@dataclass(frozen=True, eq=False, kw_only=True)
class PixelTrace(Record):
    """The last sample of one pixel, and the sums over all its samples (docs/theory.md).

    Attributes:
        stol:
            sin(theta)/lambda [1/A]
        position:
            position of the sample [m]
        h:
            fractional Miller indices of the sample
        hkl:
            indices of the nearest reflection
        f_cell:
            structure factor of the unit cell [electron]
        f_latt:
            lattice factor, in unit cells
        sum:
            of (F_cell F_latt)^2 over all samples [electron^2]
        steps:
            sources x domains x phi steps x sub-pixels
        polarization:
            factors; omega in steradian
        omega:
            factors; omega in steradian
        capture:
            factors; omega in steradian
        intensity:
            of the pixel, before the point spread [photons]
        axes:
            real-space axes a, b, c of the sample [A]
    """

    _c = "nb_pixel_trace"
    stol: float
    position: NDArray[np.float64]
    h: NDArray[np.float64]
    hkl: NDArray[np.int64]
    f_cell: float
    f_latt: float
    sum: float
    steps: float
    polarization: float
    omega: float
    capture: float
    intensity: float
    axes: NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class CompileStats(Record):
    """Counts of a simulator since it was made. captures, replays and skips count CUDA graphs, one
    for each part of an image, loss or derivative. They are 0 on a CPU.

    Attributes:
        compiles:
            plans made
        recompiles:
            plans made for a kind of call that already had another plan
        hits:
            calls that found their plan, and calls that did not
        misses:
            calls that found their plan, and calls that did not
        captures:
            launch sequences recorded as a graph, and run as one
        replays:
            launch sequences recorded as a graph, and run as one
        skips:
            launch sequences that could not be recorded
        fallbacks:
            how often the context took another way, because a feature of compiled mode was not
            available
        compiled_launches:
            kernel launches that followed a plan
        donated:
            donated arrays whose memory was used
        plan_hash:
            hash of the last plan of each kind of call; 0: no plan yet
        bytes:
            memory held by the simulator, without its short lists [byte]
        builds:
            kernels that NVRTC built; kernels of images among them that are in use; kernels that
            were found on disk; kernels that were not found on disk
        promotions:
            kernels that NVRTC built; kernels of images among them that are in use; kernels that
            were found on disk; kernels that were not found on disk
        cubin_hits:
            kernels that NVRTC built; kernels of images among them that are in use; kernels that
            were found on disk; kernels that were not found on disk
        cubin_misses:
            kernels that NVRTC built; kernels of images among them that are in use; kernels that
            were found on disk; kernels that were not found on disk
    """

    _c = "nb_compile_stats"
    compiles: int
    recompiles: int
    hits: int
    misses: int
    captures: int
    replays: int
    skips: int
    fallbacks: int
    compiled_launches: int
    donated: int
    plan_hash: int
    bytes: int
    builds: int
    promotions: int
    cubin_hits: int
    cubin_misses: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Statistics(Record):
    """Statistics over the rendered pixels. A pixel is rendered if it is inside the ROI and not
    masked. If there are boxes, it also has to be in a box. Pixel values are first rounded to
    float32, as in nanoBragg.

    Attributes:
        count:
            rendered pixels
        max:
            largest value; 0 if no pixel is above 0 [photons]
        max_fast:
            centre of the last sub-pixel of the first pixel with that value, from the outer
            corner of max_panel [mm]
        max_slow:
            centre of the last sub-pixel of the first pixel with that value, from the outer
            corner of max_panel [mm]
        sum:
            [photons]
        mean:
            [photons]
        rms:
            sqrt(sum of squares/(count - 1)) [photons]
        rmsd:
            sqrt(sum of squared deviations from the mean/(count - 1)); with NB_QUIRK_STATISTICS,
            pixels of the ROI that are not rendered count as 0 [photons]
        solid_angle:
            sum over the rendered pixels [steradian]
        nonfinite:
            NaN or infinite pixels; sum, mean, rms and rmsd include them
        max_panel:
            panel of the maximum; 0 if the detector is one rectangle
    """

    _c = "nb_statistics"
    count: int
    max: float
    max_fast: float
    max_slow: float
    sum: float
    mean: float
    rms: float
    rmsd: float
    solid_angle: float
    nonfinite: int
    max_panel: int


@dataclass(frozen=True, eq=False, kw_only=True)
class SpotSize(Record):
    """The brightest spot in a box. A number that the pixels do not determine is NaN.

    Attributes:
        q:
            1/d at the middle of the spot [1/A]
        two_theta:
            angle between the ray and the beam [degree]
        photons:
            in the box, above the background; standard deviation
        error:
            in the box, above the background; standard deviation
        background:
            plane of background around the spot: its mean, and the variance of a pixel, which is
            half the mean square of differences two pixels apart photons, photons^2 a pixel
        variance:
            plane of background around the spot: its mean, and the variance of a pixel, which is
            half the mean square of differences two pixels apart photons, photons^2 a pixel
        pixels:
            number of pixels of the background
        tangential:
            variances of the spot, without pixel, point spread and divergence: across the plane
            of beam and ray, and in this plane [1/A^2]
        radial:
            variances of the spot, without pixel, point spread and divergence: across the plane
            of beam and ray, and in this plane [1/A^2]
    """

    _c = "nb_spot_size"
    q: float
    two_theta: float
    photons: float
    error: float
    background: float
    variance: float
    pixels: int
    tangential: float
    radial: float


@dataclass(frozen=True, eq=False, kw_only=True)
class StartValues(Record):
    """Start values by the sizes of spots. A number that the spots do not determine is NaN.

    Attributes:
        spots:
            spots that decided block, mosaic and strain; 0: too few
        block:
            edge N |a| of a mosaic block [A]
        block_error:
            edge N |a| of a mosaic block [A]
        mosaic:
            mosaic spread, as nb_crystal.mosaic [degree]
        mosaic_error:
            mosaic spread, as nb_crystal.mosaic [degree]
        strain:
            relative standard deviation of wavelength and spacings d together
        strain_error:
            relative standard deviation of wavelength and spacings d together
        boxes:
            boxes that decided the gain; 0: too few
        gain:
            variance over mean of the background: counts a photon if the images hold counts
        gain_error:
            variance over mean of the background: counts a photon if the images hold counts
    """

    _c = "nb_start"
    spots: int
    block: float
    block_error: float
    mosaic: float
    mosaic_error: float
    strain: float
    strain_error: float
    boxes: int
    gain: float
    gain_error: float


@dataclass(frozen=True, eq=False, kw_only=True)
class GradcheckRow(Record):
    """One checked derivative: dL/dp of a loss L with respect to a parameter p, or along a
    direction ("direction[0]", unit "1"). A direction moves each parameter by a random part of
    its length (`length` below). Units: photons for the loss and S, photons per unit of the
    parameter for derivatives, and the unit of the parameter for step and length.

    Attributes:
        param:
            the parameter, with its value at x
        loss:
            enum nb_gradcheck_loss
        verdict:
            enum nb_verdict
        vjp:
            dL/dp by nb_vjp() and by nb_jvp()
        jvp:
            dL/dp by nb_vjp() and by nb_jvp()
        fd:
            the finite difference and its error bar
        bar:
            the finite difference and its error bar
        truncation:
            truncation part of the bar; rounding error of the loss
        noise:
            truncation part of the bar; rounding error of the loss
        step:
            smallest step of the chosen difference
        order:
            the error of the chosen difference falls as step^order
        side:
            0: central; 1: one-sided, above x; -1: one-sided, below x
        scale:
            S = sum over pixels of |weight| |dI/dp|
        tolerance:
            coverage x bar + 1e-12 S
        kept:
            fraction of S in the pixels that were compared
        length:
            change of p that changes the image by about itself
        rate:
            n in |I(x + h) - I(x) - h dI/dp| ~ h^n, 2 if right; 0: not measurable
        evaluations:
            number of computed images; all losses share them
        hint:
            with FAIL_VALUE: a known factor near the ratio vjp/fd; else ""
    """

    _c = "nb_gradcheck_row"
    param: Parameter
    loss: GradcheckLoss
    verdict: Verdict
    vjp: float
    jvp: float
    fd: float
    bar: float
    truncation: float
    noise: float
    step: float
    order: int
    side: int
    scale: float
    tolerance: float
    kept: float
    length: float
    rate: float
    evaluations: int
    hint: str


@dataclass(frozen=True, eq=False, kw_only=True)
class GradcheckSummary(Record):
    """nb_gradcheck_summary of the C library.

    Attributes:
        verdict:
            NB_VERDICT_PASS if all passed, else the first failure
        message:
            what failed; "" if all passed
        verdicts:
            number of rows with each verdict
        dot:
            |<w, J d> - <J^T w, d>| over its scale; at most 1e-12
        linearity:
            error of linearity of nb_vjp() over its scale; at most 1e-13, and 1e-12 for a
            continuous crystal
        threads:
            bits were compared for 1, 2 and this number of threads
        evaluations:
            number of computed images
        launches:
            kernel launches; compiled_launches must be 0
        compiled_launches:
            kernel launches; compiled_launches must be 0
    """

    _c = "nb_gradcheck_summary"
    verdict: int
    message: str
    verdicts: NDArray[np.int64]
    dot: float
    linearity: float
    threads: int
    evaluations: int
    launches: int
    compiled_launches: int


@dataclass(frozen=True, eq=False, kw_only=True)
class CrystalInfo(Record):
    """Cell and space group of a file.

    Attributes:
        cell:
            a b c alpha beta gamma [A, degree]
        space_group:
            Hermann-Mauguin symbol, as "C 1 2 1" or "R 3:H"
        noperator:
            operators of the space group, centring included
    """

    _c = "nb_crystal_info"
    cell: NDArray[np.float64]
    space_group: str
    noperator: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Atom(Record):
    """nb_atom of the C library.

    Attributes:
        name:
            chain, residue, atom, conformer, as "A LEU 12 CA"
        element:
            symbol in capitals
        position:
            Cartesian, in the frame of the file [A]
        b:
            isotropic B; with ANISOU the equivalent B [A^2]
        occupancy:
            see the type
        anisotropic:
            1: the file has ANISOU for this atom
    """

    _c = "nb_atom"
    name: str
    element: str
    position: NDArray[np.float64]
    b: float
    occupancy: float
    anisotropic: int


@dataclass(frozen=True, eq=False, kw_only=True)
class FitState(Record):
    """A report after each pass. A pass evaluates the loss of the shots once, with gradient and
    matrix.

    Attributes:
        passes:
            so far
        stage:
            enum nb_fit_stage; of shots fitted alone, the earliest stage
        alone:
            shots that are being fitted alone; 0: all shots together
        loss:
            lowest loss so far, for the spots of this stage
        gain:
            predicted decrease of this loss by the undamped step
    """

    _c = "nb_fit_state"
    passes: int
    stage: FitStage
    alone: int
    loss: float
    gain: float


@dataclass(frozen=True, eq=False, kw_only=True)
class FitValue(Record):
    """nb_fit_value of the C library.

    Attributes:
        param:
            name, unit, bounds of a fit, and its value at the start
        shot:
            number of the shot that owns the value; -1: shared
        value:
            value and error have the unit of the parameter
        error:
            Standard deviation (enum nb_fit_errors, enum nb_fit_scaling). INFINITY: the data do
            not determine the value. NAN: not known, for example for a shared value if the run
            ended while shots were fitted alone, or for a value of a shot that is left out. A
            value at a bound has the error that it would have without the bound; INFINITY if
            this error is wider than the range between the bounds. The errors of other values
            assume that the value stays at its bound. The error of a structure factor assumes
            that the other structure factors are known. With NB_FIT_LBFGS each error assumes
            that all other parameters are known
        sampling:
            Part of the error that comes from sampling the mosaic domains; 0: no random domains.
            NAN: not known and not part of the error (nb_fit_result.draws), or at a bound
        bound:
            -1: at its lower bound, 1: at its upper bound, else 0
        is_held:
            1: no step moves the value, because the loss does not depend on it. A structure
            factor is also held if the error of F^2 would be more than twice F^2. If the mean of
            F is held too, such a structure factor still changes by the common factor of all F
        remark:
            clause about its state or its error; "": none
    """

    _c = "nb_fit_value"
    param: Parameter
    shot: int
    value: float
    error: float
    sampling: float
    bound: int
    is_held: int
    remark: str


@dataclass(frozen=True, eq=False, kw_only=True)
class FitCorrelation(Record):
    """nb_fit_correlation of the C library.

    Attributes:
        i:
            of values; i < j
        j:
            of values; i < j
        value:
            -1 to 1
    """

    _c = "nb_fit_correlation"
    i: int
    j: int
    value: float


@dataclass(frozen=True, eq=False, kw_only=True)
class FitOutlier(Record):
    """A box or a pixel that left a fit by itself.

    Attributes:
        box:
            number of the box, and its first pixel; -1: a single pixel
        fast:
            number of the box, and its first pixel; -1: a single pixel
        slow:
            number of the box, and its first pixel; -1: a single pixel
        z:
            standard deviations above the model, or of a box above other boxes
    """

    _c = "nb_fit_outlier"
    box: int
    fast: int
    slow: int
    z: float


@dataclass(frozen=True, eq=False, kw_only=True)
class FitShot(Record):
    """The result of one shot.

    Attributes:
        name:
            see the type
        left_out:
            why the shot is left out; NULL: it is not left out
        is_held_out:
            1: held out by nb_fit_options.holdout
        loss:
            without restraints; NAN before its first pass
        pixels:
            pixels in its loss: rendered, of weight above 0
        outlier:
            what left the shot: boxes, then pixels [noutlier]
    """

    _c = "nb_fit_shot"
    name: str
    left_out: str | None
    is_held_out: int
    loss: float
    pixels: int
    outlier: tuple[FitOutlier, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class FitResultMembers(Record):
    """The fit owns the arrays. They are valid until the next call with the fit.

    Attributes:
        method:
            NB_FIT_LM or NB_FIT_LBFGS
        end:
            enum nb_fit_end
        why:
            how the last run ended, one sentence
        passes:
            of all runs
        joint:
            number of these passes that evaluated all shots together
        loss:
            loss at `value`, with restraints. If only coarse passes have run: their loss
        freedom:
            number of pixels minus number of values that are neither held nor at a bound. For a
            good model 2 loss/freedom is about 1: with NB_LOSS_POISSON if each pixel has some
            photons, with NB_LOSS_READOUT, and with NB_LOSS_GAUSS and weights 1/variance
        gain:
            as in nb_fit_state
        history:
            lowest loss after each pass of all shots together (joint)
        nshared:
            parameters of all shots, and of each shot
        nown:
            parameters of all shots, and of each shot
        value:
            [nvalue]
        errors:
            enum nb_fit_errors: where errors and covariance come from
        errors_why:
            the same as a clause, with the reason
        misfit:
            misfit of the images (above); 1 is expected. NAN: not known, for example while a run
            goes on, from nb_fit_create_expected(), and with images on a device
        misfit_deviation:
            standard deviation that the misfit of a right model has
        bright_misfit:
            the same for bright pixels
        bright_deviation:
            the same for bright pixels
        error_factor:
            errors were multiplied by this factor; 1: they were not
        draws:
            number of other draws of the mosaic domains, for the error of sampling; 0: errors do
            not include the error of sampling. If domains are random, errors_why says why
        rms:
            of z (enum nb_fit_image_kind) of all pixels; NAN: not known, as misfit
        warning:
            [nwarning]
        covariance:
            without the directions that the data do not determine; 0 for values that are held or
            at a bound; NULL: more than 200 values, or no errors [nvalue x nvalue]
        correlated:
            see the type
        free:
            [nfree]
        condition:
            Largest eigenvalue over smallest eigenvalue, without these directions, for
            parameters in the same units. Blocks: the own parameters of each shot; the shared
            parameters (or all but structure factors) after elimination of the rest. NAN: there
            is none
        shot:
            [nshot]
    """

    _c = "nb_fit_result"
    method: FitMethod
    end: FitEnd
    why: str
    passes: int
    joint: int
    loss: float
    freedom: int
    gain: float
    history: NDArray[np.float64] | None
    nshared: int
    nown: int
    value: tuple[FitValue, ...]
    errors: FitErrors
    errors_why: str
    misfit: float
    misfit_deviation: float
    bright_misfit: float
    bright_deviation: float
    error_factor: float
    draws: int
    rms: float
    warning: tuple[str, ...]
    covariance: NDArray[np.float64] | None
    correlated: tuple[FitCorrelation, ...]
    free: tuple[str, ...]
    condition: float
    shot: tuple[FitShot, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Misfit(Record):
    """How far observations and model differ in a set of pixels. Most pixels are dark, and the
    model describes dark pixels well even if its spots are wrong. So rms tells little about
    spots. Look at the ratios of deviance to expectation, of all pixels and of bright ones.

    Attributes:
        dmin:
            resolution of the pixels [A]
        dmax:
            resolution of the pixels [A]
        pixels:
            number of pixels that have a z
        mean:
            of z; 0 and 1 are expected
        rms:
            of z; 0 and 1 are expected
        loss:
            see the type
        deviance:
            sum of D, and of <D> (misfit, above)
        expected:
            sum of D, and of <D> (misfit, above)
        bright:
            number of pixels where the model has more than NB_FIT_BRIGHT [photons]
        bright_deviance:
            the same sums over these pixels
        bright_expected:
            the same sums over these pixels
        observed:
            sums of y, of I, and of the variance of y
        photons:
            sums of y, of I, and of the variance of y
        variance:
            sums of y, of I, and of the variance of y
        correlation:
            correlation of y and I after a plane of least squares is taken off each. Of a box:
            over its pixels in the last shot that was compared. Of a shot: the median over its
            boxes. 0: I is a plane. NAN: y is a plane, or these are other pixels
        boxes:
            of one shot and of all shots: how many boxes have a correlation, and how many have
            NB_FIT_ALIKE or more
        alike:
            of one shot and of all shots: how many boxes have a correlation, and how many have
            NB_FIT_ALIKE or more
    """

    _c = "nb_misfit"
    dmin: float
    dmax: float
    pixels: int
    mean: float
    rms: float
    loss: float
    deviance: float
    expected: float
    bright: int
    bright_deviance: float
    bright_expected: float
    observed: float
    photons: float
    variance: float
    correlation: float
    boxes: int
    alike: int


@dataclass(frozen=True, eq=False, kw_only=True)
class FitMisfit(Record):
    """nb_fit_misfit of the C library.

    Attributes:
        all:
            see the type
        shell:
            of equal volume in reciprocal space, dmax first
        box:
            of each box of the detector; owned by the fit (nbox)
        r:
            R of boxes: sum over boxes of |observed - photons| / sum over boxes of observed.
            Both are sums over the pixels of a box in all shots, with background. NAN: there are
            no boxes, or the shots have different numbers of boxes. r_expected: R by noise alone
        r_expected:
            R of boxes: sum over boxes of |observed - photons| / sum over boxes of observed.
            Both are sums over the pixels of a box in all shots, with background. NAN: there are
            no boxes, or the shots have different numbers of boxes. r_expected: R by noise alone
        shot:
            `all` of each shot; 0 pixels: the shot does not belong to this set. Owned by the fit
            [nshot]
    """

    _c = "nb_fit_misfit"
    all: Misfit
    shell: tuple[Misfit, ...]
    box: tuple[Misfit, ...]
    r: float
    r_expected: float
    shot: tuple[Misfit, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class PanelCounts(Record):
    """How a panel counts photons, as a file states it. A pixel with a count of c has (c -
    pedestal)/gain photons, and is bad unless low <= c <= high.

    Attributes:
        gain:
            counts/photon; 1 if the file states none
        pedestal:
            counts; 0 if the file states none
        low:
            -infinity, infinity: the file states no limits
        high:
            -infinity, infinity: the file states no limits
    """

    _c = "nb_panel_counts"
    gain: float
    pedestal: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, kw_only=True)
class ExptImage(Record):
    """An image of an experiment.

    Attributes:
        file:
            path of an existing file, or the path that was looked for first; "": the experiment
            names no images
        frame:
            number of the image in the file, from 0; -1: the file holds one image
        experiment:
            number of the experiment, from 0 on through all files
        first:
            number of the first experiment that has this image, of which experiment is a lattice
            (nb_expt_read_lattices()); or experiment itself
        image:
            number of the image in the scan, from 0; 0 if there is no scan
        array:
            number of the image as DIALS counts it in a bbox: the middle of the image is array +
            1/2
        identifier:
            of the experiment; "": none
    """

    _c = "nb_expt_image"
    file: str
    frame: int
    experiment: int
    first: int
    image: int
    array: int
    identifier: str


@dataclass(frozen=True, eq=False, kw_only=True)
class GeometryInfo(Record):
    """The size of a geometry, and the places of numbers that are in a data file.

    Attributes:
        npanel:
            see the type
        ngroup:
            see the type
        nslow:
            size of the image
        nfast:
            size of the image
        pixel:
            edge of the pixels of the first panel [mm]
        distance:
            clen, if distance_from is NULL [mm]
        wavelength:
            0: the file states no wavelength [A]
        distance_from:
            distance_from: the place of clen in a data file; "": the file has no clen; NULL:
            clen is a number. wavelength_from: the place of the photon energy or wavelength in a
            data file; NULL: a number, or not stated. The geometry owns both strings
        wavelength_from:
            distance_from: the place of clen in a data file; "": the file has no clen; NULL:
            clen is a number. wavelength_from: the place of the photon energy or wavelength in a
            data file; NULL: a number, or not stated. The geometry owns both strings
        masked:
            number of pixels in bad regions, at masked edges and in bad panels
    """

    _c = "nb_geometry_info"
    npanel: int
    ngroup: int
    nslow: int
    nfast: int
    pixel: float
    distance: float
    wavelength: float
    distance_from: str | None
    wavelength_from: str | None
    masked: int


__all__ = [
    "Anomalous", "Atom", "Background", "BackgroundKind", "Beam", "Coarse", "Compile",
    "CompileStats", "Compression", "Convention", "Crystal", "CrystalInfo", "Description",
    "Detector", "ExptImage", "Fcalc", "FcalcMethod", "FitCorrelation", "FitEnd", "FitErrors",
    "FitImage", "FitMethod", "FitMisfit", "FitOutlier", "FitScaling", "FitShot", "FitStage",
    "FitState", "FitValue", "Found", "GeometryInfo", "Given", "GradcheckLoss", "GradcheckRow",
    "GradcheckSummary", "HklInfo", "Integrated", "Interpolation", "Lattice", "LogLevel",
    "LossKind", "Material", "Merge", "Misfit", "MosaicModel", "Mtz", "Options", "Origin",
    "Panel", "PanelCounts", "PanelGroup", "Parameter", "Pivot", "PixelTrace", "PointSpread",
    "PointSpreadKind", "Precision", "Profile", "Quirk", "Restraint", "Scan", "Shape", "Smooth",
    "Source", "Spot", "SpotSize", "StartValues", "Statistics", "Status", "Strategy", "System",
    "Target", "Verdict"
]
