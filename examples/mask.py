#!/usr/bin/env python3
# mask.py IMAGE MASK [FAST SLOW RADIUS] - writes a mask for -mask from an SMV image: 0 where
# the image has no counts (gaps, dead pixels) and, with a centre and a radius in pixels, in
# the disc of a beamstop; 1 elsewhere. The geometry of IMAGE goes along in the header.
# SPDX-License-Identifier: MIT
import array
import re
import sys

if len(sys.argv) not in (3, 6):
    sys.exit("usage: mask.py IMAGE MASK [FAST SLOW RADIUS]")
image, mask = sys.argv[1:3]
fast, slow, radius = map(float, sys.argv[3:] or (0, 0, 0))

data = open(image, "rb").read()
size = int(re.search(rb"HEADER_BYTES=\s*(\d+)", data).group(1))
header = data[:size]
entry = {key: value.strip() for key, value in re.findall(r"(\w+)=([^;]*);", header.decode())}
nfast, nslow = int(entry["SIZE1"]), int(entry["SIZE2"])

counts = array.array("H", data[size:size + 2 * nfast * nslow])
if (entry["BYTE_ORDER"] == "big_endian") != (sys.byteorder == "big"):
    counts.byteswap()
inside = array.array("H", [
    int(count > 0 and (i % nfast + 0.5 - fast) ** 2 + (i // nfast + 0.5 - slow) ** 2 >= radius ** 2)
    for i, count in enumerate(counts)])
if (entry["BYTE_ORDER"] == "big_endian") != (sys.byteorder == "big"):
    inside.byteswap()
open(mask, "wb").write(header + inside.tobytes())
