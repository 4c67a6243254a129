"""image.py - how alike two images of raw 8-byte floats are:  image.py TRUE FOUND

SPDX-License-Identifier: MIT
"""
import sys

import numpy as np

LEAST = 0.98
true, found = (np.fromfile(name) for name in sys.argv[1:3])
good = true.size == found.size and true.std() > 0
correlation = np.corrcoef(true, found)[0, 1] if good else 0.0
good = correlation > LEAST
print("%s the image of what DIALS refined, without noise: correlation with the true one "
      "%.5f, allowed above %g" % ("ok    " if good else "not ok", correlation, LEAST))
sys.exit(not good)
