"""images.py - images that other programs write, read as dxtbx and their writers read them: CBF by
fabio and CBFlib, NXmx and HDF5 of DECTRIS by h5py, with the filters of hdf5plugin, and SMV by hand.

Run by the python of DIALS:  images.py READ_IMAGE
A kind whose writer is absent is named as skipped; so is a reader.

SPDX-License-Identifier: MIT
"""
import bz2
import glob
import gzip
import hashlib
import json
import os
import subprocess
import sys

import h5py
import numpy as np
from dxtbx.model.experiment_list import ExperimentListFactory
from measured import check, failures

try:
    import fabio
except ImportError:
    fabio = None
try:
    import pycbf
except ImportError:
    pycbf = None
try:
    import hdf5plugin

    os.environ["HDF5_PLUGIN_PATH"] = hdf5plugin.PLUGIN_PATH
except ImportError:
    hdf5plugin = None

if not hasattr(np, "float"):
    np.float = float  # dxtbx 3.11 reads CBF of reals by this name
FAST, SLOW, CUT = 61, 48, 50000
rng = np.random.default_rng(11)


def counts(kind="<i4", shape=(SLOW, FAST)):
    """counts of any size: small differences, large ones, bad pixels, the largest number"""
    info = np.iinfo(kind)
    out = rng.poisson(4, shape).astype("i8")
    strong = rng.random(shape) < 0.1
    out[strong] = rng.integers(0, min(info.max, 70000), strong.sum())
    # larger differences are beyond the writers of byte offsets in fabio and CBFlib
    out.flat[[3, 400]] = min(info.max, 2**31 - 3), 300
    if info.min < 0:
        out[rng.random(shape) < 0.05] = -1
        out.flat[[4, 7]] = 0, -2
    return out.astype(kind)


# ---- the readers ----

def ours(path, frame=0):
    done = subprocess.run([sys.argv[1], path, str(frame), "out.bin"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        return None, None, done.stderr.strip()
    head = json.loads(done.stdout)
    shape = head["nslow"], head["nfast"]
    n = shape[0] * shape[1]
    with open("out.bin", "rb") as file:
        data = file.read()
    return (np.frombuffer(data[:8 * n]).reshape(shape),
            np.frombuffer(data[8 * n:], "u1").reshape(shape).astype(bool), head)


def of_dxtbx(path, frame):
    """pixels and mask; the panels stacked"""
    images = ExperimentListFactory.from_filenames([path])[0].imageset
    return tuple(np.vstack([one.as_numpy_array() for one in read(frame)])
                 for read in (images.get_raw_data, images.get_mask))


def see(path, expected, frame=0, dxtbx_reads=True, fabio_reads=False, mask=True):
    """compare a file with what was written into it, and with the other readers"""
    pixels, good, head = ours(path, frame)
    if pixels is None:
        check(False, "%s: %s" % (path, head))
        return None
    said = "%d x %d, sum %d" % (*expected.shape, expected.sum(dtype=float))
    check(pixels.shape == expected.shape and (pixels == expected).all(),
          "%s: pixels as written, %s" % (path, said))
    if fabio_reads and fabio is not None:
        with fabio.open(path) as image:
            check((image.get_frame(frame).data == pixels).all(), "%s: pixels of fabio" % path)
    if not dxtbx_reads:
        return head
    raw, trusted = of_dxtbx(path, frame)
    check(raw.shape == pixels.shape and (raw == pixels).all(), "%s: pixels of dxtbx" % path)
    full = pixels >= float(head["overload"])
    if mask:  # a saturated pixel is a limit for a fit, and no bad pixel
        check((trusted == (good & ~full)).all(),
              "%s: mask of dxtbx, %d bad, %d full" % (path, (~good).sum(), full.sum()))
    return head


# ---- miniCBF ----

MINI = """
# Detector: PILATUS 100K, S/N 24-9999
# 2016-03-05T09:01:45.613
# Pixel_size 172e-6 m x 172e-6 m
# Silicon sensor, thickness 0.000320 m
# Exposure_time 0.0964000 s
# Exposure_period 0.1000000 s
# Tau = 124.0e-09 s
# Count_cutoff %d counts
# Threshold_setting: 9000 eV
# Wavelength 0.68890 A
# Detector_distance 0.16000 m
# Beam_xy (30.00, 25.00) pixels
# Start_angle 12.5000 deg.
# Angle_increment 0.1000 deg.
""" % CUT


def check_mini():
    if fabio is None:
        print("       miniCBF of fabio: skipped, python3-fabio is absent")
        return
    for i, name in enumerate(("mini_1.cbf", "mini_2.cbf.gz", "mini_3.cbf.bz2")):
        data = counts(shape=(195, 487))  # a module of a Pilatus
        image = fabio.cbfimage.CbfImage(data=data, header={
            "_array_data.header_convention": '"PILATUS_1.2"',
            "_array_data.header_contents": MINI})
        image.write("plain.cbf")
        with open("plain.cbf", "rb") as file:
            text = file.read().replace(b"###CBF: VERSION 1.5", b"###CBF: VERSION 1.5, CBFlib v0.7.8 - PILATUS detectors", 1)
        with (open, gzip.open, bz2.open)[i](name, "wb") as file:
            file.write(text)
        head = see(name, data)
        check(head is None or (float(head["wavelength"]), float(head["osc_start"]),
                               float(head["distance"]), float(head["overload"]))
              == (0.6889, 12.5, 160, CUT), "%s: its header" % name)


# ---- imgCIF ----

def check_cbflib():
    if pycbf is None:
        print("       CBF of CBFlib: skipped, python3-pycbf is absent")
        return
    cases = [("packed", pycbf.CBF_PACKED, "<i4"), ("v2", pycbf.CBF_PACKED_V2, "<i4"),
             ("offset", pycbf.CBF_BYTE_OFFSET, "<i4"), ("none", pycbf.CBF_NONE, "<i4"),
             ("packed_u2", pycbf.CBF_PACKED, "<u2"), ("v2_u2", pycbf.CBF_PACKED_V2, "<u2"),
             ("offset_u2", pycbf.CBF_BYTE_OFFSET, "<u2"), ("none_i2", pycbf.CBF_NONE, "<i2"),
             ("flat", pycbf.CBF_PACKED | pycbf.CBF_FLAT_IMAGE, "<i4"),
             ("flat_v2", pycbf.CBF_PACKED_V2 | pycbf.CBF_FLAT_IMAGE, "<i4"),
             ("flat_u2", pycbf.CBF_PACKED | pycbf.CBF_FLAT_IMAGE, "<u2"),
             ("alone", pycbf.CBF_PACKED | pycbf.CBF_UNCORRELATED_SECTIONS, "<i4")]
    for name, compression, kind in cases:
        path, data = "img_%s.cbf" % name, [counts(kind), counts(kind)]
        handle = pycbf.cbf_handle_struct()
        handle.new_datablock(b"image_1")
        handle.new_category(b"array_data")
        handle.new_column(b"data")
        for i, panel in enumerate(data):
            if i:
                handle.new_row()
            handle.set_integerarray_wdims_fs(
                compression, i + 1, panel.tobytes(), panel.itemsize, int(kind[1] == "i"),
                panel.size, b"little_endian", FAST, SLOW, 1, 0)
        handle.write_widefile(path.encode(), pycbf.CBF,
                              pycbf.MIME_HEADERS | pycbf.MSG_DIGEST | pycbf.PAD_4K, 0)
        head = see(path, np.vstack(data).astype(float), dxtbx_reads=False)
        check(head is None or head["npanel"] == 2, "%s: two panels" % path)


def check_full(source):
    """imgCIF of dxtbx: sections of several panels, and one of a single panel"""
    try:
        from dxtbx.format.cbf_writer import FullCBFWriter
    except ImportError:
        print("       imgCIF of dxtbx: skipped, its writer is absent")
        return
    for path in source:
        images = ExperimentListFactory.from_filenames([path])[0].imageset
        name = "full_" + path.split(".")[0] + ".cbf"
        expected = of_dxtbx(path, 0)[0]
        FullCBFWriter(imageset=images).write_cbf(name, index=0)
        head = see(name, expected, mask=False)
        check(head is None or head["npanel"] == len(images.get_detector()),
              "%s: %d panels" % (name, len(images.get_detector())))


# ---- NXmx ----

def group(parent, name, nx_class):
    out = parent.create_group(name)
    out.attrs["NX_class"] = nx_class
    return out


def axis(parent, name, value, units, vector, depends_on=".", kind="translation",
         offset=None):
    out = parent.create_dataset(name, data=value)
    out.attrs.update({"units": units, "vector": np.array(vector, float),
                      "transformation_type": kind, "depends_on": depends_on})
    if offset is not None:
        out.attrs.update({"offset": np.array(offset, float), "offset_units": "mm"})
    return out


def skeleton(file, frames, shapes, kind):
    """all but the data; shapes: origin (slow, fast) and size of each module in the frame"""
    entry = group(file, "entry", "NXentry")
    entry["definition"], entry["start_time"] = "NXmx", "2026-01-01T00:00:00Z"
    entry["end_time_estimated"] = "2026-01-01T00:01:00Z"
    group(entry, "source", "NXsource")["name"] = "x"
    instrument = group(entry, "instrument", "NXinstrument")
    instrument["name"] = "x"
    beam = group(instrument, "beam", "NXbeam")
    beam["incident_wavelength"] = 0.9
    beam["incident_wavelength"].attrs["units"] = "angstrom"
    sample = group(entry, "sample", "NXsample")
    sample["depends_on"] = "/entry/sample/transformations/omega"
    turns = group(sample, "transformations", "NXtransformations")
    axis(turns, "omega", 10 + 0.5 * np.arange(frames), "deg", (-1, 0, 0), kind="rotation")
    detector = group(instrument, "detector", "NXdetector")
    detector["depends_on"] = "/entry/instrument/detector/transformations/z"
    axis(group(detector, "transformations", "NXtransformations"), "z", 120.0, "mm", (0, 0, 1))
    detector["sensor_material"], detector["description"] = "Si", "x"
    detector["sensor_thickness"] = 0.45
    detector["sensor_thickness"].attrs["units"] = "mm"
    detector["saturation_value"], detector["underload_value"] = CUT, 0
    mask = np.zeros((SLOW, FAST), "u4")
    mask[5, 3:9], mask[20:23, 50] = 1, 2**31
    if len(shapes) == 1:
        detector["pixel_mask"] = mask
    for i, (origin, size) in enumerate(shapes):
        module = group(detector, "module_%d" % i, "NXdetector_module")
        module["data_origin"], module["data_size"] = np.array(origin), np.array(size)
        axis(module, "module_offset", 0.0, "mm", (1, 0, 0),
             "/entry/instrument/detector/transformations/z",
             offset=(-3 + 0.1 * origin[1], -2.4 + 0.1 * origin[0], 0))
        for name, vector in (("fast", (-1, 0, 0)), ("slow", (0, -1, 0))):
            axis(module, name + "_pixel_direction", 0.1, "mm", vector,
                 "/entry/instrument/detector/module_%d/module_offset" % i)
    data = group(entry, "data", "NXdata")
    data.attrs["signal"] = "data"
    return data, mask if len(shapes) == 1 else np.zeros((SLOW, FAST), "u4")


WHOLE = [((0, 0), (SLOW, FAST))]
HALVES = [((0, 0), (SLOW // 2, FAST)), ((SLOW // 2, 0), (SLOW // 2, FAST))]
QUARTERS = [((s, f), (SLOW // 2, 30)) for s in (0, SLOW // 2) for f in (0, 31)]


def filters():
    yield "none", {}
    yield "deflate", {"compression": "gzip", "shuffle": True}
    yield "fletcher", {"fletcher32": True, "compression": "gzip"}
    if hdf5plugin is None:
        print("       bitshuffle, LZ4, Zstandard, Blosc: skipped, hdf5plugin is absent")
        return
    yield "bslz4", hdf5plugin.Bitshuffle()
    yield "lz4", hdf5plugin.LZ4()
    yield "zstd", hdf5plugin.Zstd()
    yield "blosc", hdf5plugin.Blosc()
    yield "bszstd", hdf5plugin.Bitshuffle(cname="zstd")


def check_filters():
    for name, options in filters():
        for kind in ("<u2", "<u4", "<i4") if name in ("none", "bslz4") else ("<i4",):
            path, data = "nx_%s_%s.nxs" % (name, kind[1:]), counts(kind, (3, SLOW, FAST))
            with h5py.File(path, "w") as file:
                to, bad = skeleton(file, 3, WHOLE, kind)
                to.create_dataset("data", data=data, chunks=(1, SLOW, FAST), **options)
            for frame in (0, 2):
                expected = data[frame].astype(float)
                raw = expected.copy()
                if kind == "<u4":  # dxtbx has signed numbers of 32 bits
                    raw = data[frame].view("<i4").astype(float)
                head = see(path, expected, frame, dxtbx_reads=(raw == expected).all())
                check(head is None or (float(head["osc_start"]), float(head["osc_range"]))
                      == (10 + 0.5 * frame, 0.5), "%s: angles" % path)


def check_layouts():
    """panels, a virtual dataset, and a master with external links"""
    data = counts("<i4", (4, SLOW, FAST))
    for name, shapes in (("halves", HALVES), ("quarters", QUARTERS)):
        with h5py.File("nx_%s.nxs" % name, "w") as file:
            to, _ = skeleton(file, 4, shapes, "<i4")
            to.create_dataset("data", data=data)
        if name == "halves":
            see("nx_halves.nxs", data[3], 3)
        else:  # dxtbx has the panels one behind the other
            pixels = ours("nx_quarters.nxs", 3)[0]
            check((pixels == data[3]).all(), "nx_quarters.nxs: panels stay where they are")
            raw = ExperimentListFactory.from_filenames(["nx_quarters.nxs"])[0].imageset
            for panel, (s, f) in zip(raw.get_raw_data(3), [o for o, _ in QUARTERS]):
                check((panel.as_numpy_array() == data[3, s:s + SLOW // 2, f:f + 30]).all(),
                      "nx_quarters.nxs: the panel of dxtbx at %d, %d" % (s, f))
    parts = (data[:3], data[3:])
    for i, part in enumerate(parts):
        with h5py.File("part_%d.h5" % (i + 1), "w") as file:
            file.create_dataset("/entry/data/data", data=part, chunks=(1, SLOW, FAST),
                                compression="gzip")
    layout = h5py.VirtualLayout((4, SLOW, FAST), "<i4")
    layout[:3] = h5py.VirtualSource("part_1.h5", "/entry/data/data", (3, SLOW, FAST))
    layout[3:] = h5py.VirtualSource("part_2.h5", "/entry/data/data", (1, SLOW, FAST))
    with h5py.File("nx_virtual.nxs", "w") as file:
        to, _ = skeleton(file, 4, WHOLE, "<i4")
        to.create_virtual_dataset("data", layout)
    with h5py.File("nx_master.h5", "w") as file:
        to, _ = skeleton(file, 4, WHOLE, "<i4")
        for i in (1, 2):
            to["data_%06d" % i] = h5py.ExternalLink("part_%d.h5" % i, "/entry/data/data")
    for frame in (0, 3):
        see("nx_virtual.nxs", data[frame], frame)
        # dxtbx takes data_000001 alone for all frames
        see("nx_master.h5", data[frame], frame, dxtbx_reads=False)
    with h5py.File("nx_float.nxs", "w") as file:
        to, _ = skeleton(file, 2, WHOLE, "<f4")
        reals = np.abs(data[:2]).astype("<f4") * np.float32(0.3)
        to.create_dataset("data", data=reals)
    see("nx_float.nxs", reals[1].astype(float), 1)


# ---- SMV ----

def smv(path, data, order, **keys):
    head = "".join("%s=%s;\n" % item for item in {
        "HEADER_BYTES": "  512", "DIM": 2, "BYTE_ORDER": order, "SIZE1": data.shape[1],
        "SIZE2": data.shape[0], "PIXEL_SIZE": 0.1024, "BIN": "2x2", "TIME": 1.5,
        "DISTANCE": 200.0, "OSC_START": 3.0, "OSC_RANGE": 1.0, "PHI": 3.0, "WAVELENGTH": 1.1,
        "BEAM_CENTER_X": 3.0, "BEAM_CENTER_Y": 2.5, **keys}.items())
    raw = data.astype(data.dtype.newbyteorder(">" if order == "big_endian" else "<"))
    opener = gzip.open if path.endswith("gz") else bz2.open if path.endswith("bz2") else open
    with opener(path, "wb") as file:
        file.write(("{\n" + head + "}\f").ljust(512).encode() + raw.tobytes())


def check_smv():
    for order in ("little_endian", "big_endian"):
        for ending in (".img", ".img.gz", ".img.bz2"):
            path, data = "adsc_%s_1%s" % (order[:3], ending), counts("<u2")
            smv(path, data, order, TYPE="unsigned_short", IMAGE_PEDESTAL=40)
            pixels = data.astype(float)
            # dxtbx takes the pedestal off; its header has no mark of bad pixels
            see(path, pixels, dxtbx_reads=False)
            raw = of_dxtbx(path, 0)[0]
            check((raw == pixels - 40).all() or (raw == pixels).all(),
                  "%s: pixels of dxtbx" % path)
        for words, kind, of_fabio in (
                ("signed short int", "<i2", False), ("unsigned short int", "<u2", True),
                ("signed long int", "<i4", False), ("unsigned long int", "<u4", True),
                ("signed char", "<i1", True), ("unsigned char", "<u1", True),
                ("long int", "<i4", True), ("short int", "<i2", True)):
            path = "dtrek_%s_%s.img" % (words.replace(" ", "_"), order[:3])
            data = counts(kind)
            smv(path, data, order, Data_type=words, TYPE="mad")
            see(path, data.astype(float), dxtbx_reads=False, fabio_reads=of_fabio)
        data = rng.normal(0, 3, (SLOW, FAST)).astype("<f4")
        smv("float_%s.img" % order[:3], data, order, TYPE="float")
        see("float_%s.img" % order[:3], data.astype(float), dxtbx_reads=False)


def check_measured():
    """every measured image: sum, SHA-256 of its pixels as int32, and mask are those of dxtbx"""
    folder = os.environ.get("NANOBRAG_MEASURED_DATA", "")
    paths = sorted(glob.glob(os.path.join(folder, "*", "*.cbf*"))) if folder else []
    if not paths:
        print("       measured images: skipped, NANOBRAG_MEASURED_DATA names no folder of them")
    for path in paths:
        name, ending = os.path.splitext(os.path.basename(path))
        plain = name if ending in (".gz", ".bz2") else name + ending
        opener = {".gz": gzip.open, ".bz2": bz2.open}.get(ending, open)
        with opener(path, "rb") as packed, open(plain, "wb") as file:
            file.write(packed.read())
        raw, trusted = of_dxtbx(plain, 0)
        pixels, good, head = ours(path)
        digests = [hashlib.sha256(array.astype("<i4").tobytes()).hexdigest()
                   for array in (raw, pixels)]
        full = pixels >= float(head["overload"])
        check(digests[0] == digests[1] and raw.sum(dtype=float) == pixels.sum(),
              "%s: sum %d, SHA-256 %s" % (plain, pixels.sum(), digests[1][:16]))
        check((trusted == (good & ~full)).all(), "%s: mask of dxtbx, %d bad, %d full"
              % (plain, (~good).sum(), full.sum()))


def main():
    check_measured()
    check_mini()
    check_cbflib()
    check_filters()
    check_layouts()
    check_full(["nx_none_i4.nxs", "nx_halves.nxs", "nx_float.nxs"])
    check_smv()
    return failures()


if __name__ == "__main__":
    sys.exit(main())
