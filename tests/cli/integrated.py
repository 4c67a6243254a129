"""integrated.py TABLE TRUTH IDS - checks the intensities of a table of -integrate whose structure
factors are all equal: their mean is TRUTH within 4 of its errors, and the rms of their errors over
their standard deviations is 1. SPDX-License-Identifier: MIT
"""

import struct
import sys

table = open(sys.argv[1], "rb").read()


def column(name, form):
    """the numbers of a column: the bytes behind its name and its type"""
    key = struct.pack(">I", len(name)) + name.encode()
    at = table.index(key) + len(key)
    heads = {0xC4: (1, ">B"), 0xC5: (2, ">H"), 0xC6: (4, ">I")}
    while table[at] not in heads:
        at += 1
    size, kind = heads[table[at]]
    (length,) = struct.unpack_from(kind, table, at + 1)
    return [row[0] for row in struct.iter_unpack("<" + form, table[at + 1 + size:at + 1 + size + length])]


j, variance = column("intensity.prf.value", "d"), column("intensity.prf.variance", "d")
ids, truth = sorted(set(column("id", "i"))), float(sys.argv[2])
# not weighted by 1/variance: an intensity that is low by chance has a lower variance
mean, error = sum(j) / len(j), sum(variance) ** 0.5 / len(j)
pull = (sum((a - truth) ** 2 / v for a, v in zip(j, variance)) / len(j)) ** 0.5
off = abs(mean - truth) / error
print("# %d intensities, ids %s: mean %.0f, expected %.0f: %.2f errors off, 4 allowed; rms of pulls %.3f, "
      "0.85 to 1.15 allowed" % (len(j), ids, mean, truth, off, pull))
sys.exit(not (len(j) > 50 and off < 4 and 0.85 < pull < 1.15 and str(ids) == sys.argv[3]))
