"""refl.py BOXES OUT - writes a table of DIALS (.refl) whose rows are the boxes of a text file:
"ID f0 f1 s0 s1" or, with frames, "ID f0 f1 s0 s1 z0 z1" in a line, ends of f and s included.
A row of id -1 is no indexed reflection. SPDX-License-Identifier: MIT
"""

import struct
import sys


def text(s: str) -> bytes:
    return bytes([0xD9, len(s)]) + s.encode()


def blob(kind: str, rows: int, data: bytes) -> bytes:
    head = b"\xc6" + struct.pack(">I", len(data))
    return b"\x92" + text(kind) + b"\x92\xce" + struct.pack(">I", rows) + head + data


with open(sys.argv[1]) as lines:
    boxes = [[int(word) for word in line.split()] for line in lines]
rows = len(boxes)
columns = {
    "id": ("int", "<%di" % rows, [b[0] for b in boxes]),
    "panel": ("std::size_t", "<%dQ" % rows, [0] * rows),
    "miller_index": ("cctbx::miller::index<>", "<%di" % (3 * rows),
                     [x for b in boxes for x in ((0, 0, 0) if b[0] < 0 else (1, 2, 3))]),
    "bbox": ("int6", "<%di" % (6 * rows),
             [x for b in boxes
              for x in (b[1], b[2] + 1, b[3], b[4] + 1, *(b[5:7] or (0, 1)))]),
}
data = b"".join(text(name) + blob(kind, rows, struct.pack(form, *numbers))
                for name, (kind, form, numbers) in columns.items())
with open(sys.argv[2], "wb") as out:
    out.write(b"\x93" + text("dials::af::reflection_table") + b"\x01\x83"
              + text("identifiers") + b"\x80" + text("nrows") + b"\xce" + struct.pack(">I", rows)
              + text("data") + bytes([0x80 + len(columns)]) + data)
