"""Reads a PNG of 8-bit RGB as the program writes it, with nothing but the standard library.

SPDX-License-Identifier: MIT
"""
import struct
import zlib


def read_png(path):
    """Returns width, height and rows; a row is a list of (red, green, blue)."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "not a PNG"
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert (depth, colour) == (8, 2), "not 8-bit RGB"
        if kind == b"IDAT":
            packed += body
        at += 12 + size
    raw, stride, before, rows = zlib.decompress(packed), 3 * width, bytes(3 * width), []
    for y in range(height):
        filter_kind = raw[y * (stride + 1)]
        line = bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left = line[i - 3] if i >= 3 else 0
            up, corner = before[i], before[i - 3] if i >= 3 else 0
            if filter_kind == 1:
                line[i] = (line[i] + left) & 255
            elif filter_kind == 2:
                line[i] = (line[i] + up) & 255
            elif filter_kind == 3:
                line[i] = (line[i] + (left + up) // 2) & 255
            elif filter_kind == 4:
                guess = left + up - corner
                near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up),
                           (abs(guess - corner), 2, corner))
                line[i] = (line[i] + near[2]) & 255
        before = bytes(line)
        rows.append([tuple(line[i:i + 3]) for i in range(0, stride, 3)])
    return width, height, rows
