"""cbf_floats.py IN.cbf.gz OUT: the counts of a full CBF with byte offsets, as raw floats.

SPDX-License-Identifier: MIT
"""

import array
import gzip
import sys

START = b"\x0c\x1a\x04\xd5"


def counts(data, number):
    """Yields sums of differences, each of 1 byte, or of 2 or 4 behind an escape."""
    at, value = data.index(START) + len(START), 0
    for _ in range(number):
        for size in (1, 2, 4):
            step = int.from_bytes(data[at : at + size], "little", signed=True)
            at += size
            if step != -(1 << (8 * size - 1)):
                break
        value += step
        yield value


def main():
    with gzip.open(sys.argv[1]) as file:
        data = file.read()
    number = int(data.split(b"X-Binary-Number-of-Elements:")[1].split()[0])
    with open(sys.argv[2], "wb") as file:
        array.array("f", counts(data, number)).tofile(file)


main()
