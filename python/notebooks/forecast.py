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
# # Errors before the experiment
# The Fisher information of an image tells how well a fit of it would know each parameter: here against
# the distance of the detector, for a still with water.

# %%
import matplotlib.pyplot as plt
import numpy as np

import nanobrag

scene = nanobrag.Scene.from_cli(
    "-cell 53.91 23.10 23.10 90 110.4 90 -default_F 100 -N 6 -gauss_xtal -mosaic 0.5 -mosaic_domains 10 "
    "-misset 10 20 30 -lambda 1.2 -fluence 1e28 -detpixels 128 -pixel 0.8 -oversample 2 -water 0.05"
)
free = "cell_a misset mosaic scale"


def forecast(distance):
    """The errors of a fit at this distance, mm."""
    moved = scene.replace(detector__distance=distance)
    shot = nanobrag.Shot(scene=moved, target=nanobrag.Target(kind="poisson"))
    return nanobrag.fisher(shot, free)


# %%
distances = np.arange(60.0, 201.0, 20.0)
results = [forecast(distance) for distance in distances]
results[0]

# %% [markdown]
# Nearer, more reflections are seen; farther, each is sampled more finely.

# %%
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for i, value in enumerate(results[0].value):
    errors = np.array([result.error[i] for result in results])
    axes.semilogy(distances, errors, ".-", label=f"{value.param.name}, {value.param.unit}")
axes.set(xlabel="distance, mm", ylabel="standard deviation")
axes.legend()
assert all(np.all(np.isfinite(result.error)) for result in results)

# %% [markdown]
# Which parameters could be taken for each other is in the covariance.

# %%
covariance = results[0].covariance
size = np.sqrt(np.diag(covariance))
correlation = covariance / np.outer(size, size)
names = [value.param.name for value in results[0].value]
for i, j in zip(*np.triu_indices(len(names), 1), strict=True):
    if abs(correlation[i, j]) > 0.5:
        print(f"{names[i]} and {names[j]}: {correlation[i, j]:.2f}")
