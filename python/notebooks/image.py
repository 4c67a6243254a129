# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---
# %% [markdown]
# # An image and its picture
# The pheromone Er-1 (2ERL), turned by two degrees in water: the first example of nanobrag's README,
# from Python. The structure factors come from the model of atoms.

# %%
import numpy as np

import nanobrag

data = "../../examples/data/2erl.pdb"
sim = nanobrag.Simulator.from_cli(
    f"nanobrag -pdb {data} -misset 10 20 30 -Na 8 -Nb 18 -Nc 18 -gauss_xtal -mosaic 0.2 -mosaic_domains 10 "
    "-lambda 1 -fluence 2e27 -distance 90 -detpixels 384 -pixel 0.27 -osc 1 -phisteps 10 -water 0.05",
    free="misset cell_a distance",
)
sim

# %% [markdown]
# The image is an array of numpy, in photons; `digitize` draws what a detector counts.

# %%
image = sim()
counts = sim.digitize(image, noise=True, seed=1).counts
print(f"{image.sum():.4g} photons, the brightest pixel {image.max():.4g}")

# %%
nanobrag.show(counts, sim, title="2ERL, 1 degree")

# %% [markdown]
# Everything that follows from the scene is in `describe()`, every member of the scene in `scene`.

# %%
description = sim.describe()
print(f"to {1 / description.qmax:.2f} A in the corner, {description.evaluations:.3g} samples")
print(sim.scene.crystal)

# %% [markdown]
# The derivative of the image by the orientation, as a picture: dark where photons come, bright
# where they go.

# %%
change = sim.jvp(None, np.eye(sim.nparam)[0])
size = np.percentile(abs(change), 99)
axes = nanobrag.show(change, sim, vmax=size, title="d image/d misset_x")
axes.images[0].set_clim(-size, size)
