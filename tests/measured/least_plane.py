"""least_plane.py IMAGE NFAST BOX LOSS: is LOSS the least of Poisson's for a plane that is
nowhere negative in a box, where nothing else is expected?

Such planes are sums of four that are 0 along one edge each. At the best one, with m = sum of
q R, each q > 0 has sum of R (1 - y/m) = 0; multiplying q by what would make it so (Lucy's
iteration) never lets the loss grow.

SPDX-License-Identifier: MIT
"""

import array
import math
import sys

image, nfast, box, found = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
pixels = array.array("f")
with open(image, "rb") as file:
    pixels.frombytes(file.read())
with open(box) as file:
    f0, f1, s0, s1 = (int(word) for word in file.read().split())
rows = []
for s in range(s0, s1 + 1):
    for f in range(f0, f1 + 1):
        u, v = (2 * f - f0 - f1) / (f1 - f0), (2 * s - s0 - s1) / (s1 - s0)
        rows.append(((1 + u, 1 - u, 1 + v, 1 - v), pixels[s * nfast + f]))
seen = [(r, y) for r, y in rows if y > 0]
total = [sum(r[k] for r, _ in rows) for k in range(4)]
q = [0.01] * 4
for _ in range(20000):
    m = [sum(a * b for a, b in zip(q, r)) for r, _ in seen]
    q = [q[k] / total[k] * sum(r[k] * y / x for (r, y), x in zip(seen, m)) for k in range(4)]
m = [sum(a * b for a, b in zip(q, r)) for r, _ in seen]
least = sum(a * b for a, b in zip(q, total))
least += sum(-y - y * math.log(x / y) for (_, y), x in zip(seen, m))
print(f"# loss {found}, by hand {least:.8f}; 1e-6 allowed")
sys.exit(not abs(found - least) < 1e-6)
