"""refl_fitted.py TABLE IMAGE EDGE - checks a table of -reflout against raw floats of its spots:
rows 0, 1 and 3 were fitted, the others were not. SPDX-License-Identifier: MIT
"""

import array
import struct
import sys

table = open(sys.argv[1], "rb").read()
edge = int(sys.argv[3])
pixels = array.array("f", open(sys.argv[2], "rb").read())


def column(name, form, n):
    """the rows of a column, n numbers each: the bytes behind its name and its type"""
    at = table.index(name.encode()) + len(name)
    head = {0xC4: (1, ">B"), 0xC5: (2, ">H"), 0xC6: (4, ">I")}
    while table[at] not in head or not valid(at, head[table[at]], form, n):
        at += 1
    size, kind = head[table[at]]
    (length,) = struct.unpack_from(kind, table, at + 1)
    rows = list(struct.iter_unpack("<%d%s" % (n, form), table[at + 1 + size:at + 1 + size + length]))
    return rows if n > 1 else [row[0] for row in rows]


def valid(at, head, form, n):
    (length,) = struct.unpack_from(head[1], table, at + 1)
    return length == 5 * n * struct.calcsize("<" + form)


def centroid(box):
    """of the floats in a box: fast0 fast1 slow0 slow1, ends excluded"""
    sums = [0.0, 0.0, 0.0]
    for slow in range(box[2], box[3]):
        for fast in range(box[0], box[1]):
            value = pixels[slow * edge + fast]
            for i, x in enumerate((fast + 0.5, slow + 0.5, 1)):
                sums[i] += value * x
    return sums[0] / sums[2], sums[1] / sums[2]


used = column("nanobrag.used", "B", 1)
place, box = column("xyzcal.px", "d", 3), column("bbox", "i", 6)
mm, s1 = column("xyzcal.mm", "d", 3), column("s1", "d", 3)
z, correlation = column("nanobrag.z", "d", 1), column("nanobrag.correlation", "d", 1)
bad = used != [1, 1, 0, 1, 0]
print("# used: %s" % used)
for i in (0, 1, 3):
    off = max(abs(a - b) for a, b in zip(place[i], centroid(box[i])))
    scale = max(abs(a * 1.2 - b) for a, b in zip(place[i], mm[i][:2]))
    length = sum(x * x for x in s1[i]) ** 0.5 * 1.2
    print("# row %d: off by %.3f pixel, 0.05 allowed; %.1e mm, 1e-12; |s1| lambda %.15g; "
          "rms z %.3f, 0.8 to 1.2; correlation %.4f, 0.9 at least"
          % (i, off, scale, length, z[i], correlation[i]))
    bad |= not off < 0.05 or not scale < 1e-12 or not abs(length - 1) < 1e-12
    bad |= not 0.8 < z[i] < 1.2 or not correlation[i] > 0.9
for i in (2, 4):
    bad |= any(place[i]) or z[i] != 0
sys.exit(bad)
