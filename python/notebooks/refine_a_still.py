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
# # A still, refined by scipy and by the library
# An image with noise stands in for a measured one. The start is a model of DIALS (.expt), 0.05 degree and
# 0.1 % off, as indexing leaves it; a second file holds the truth.

# %%
import tempfile

import numpy as np
import scipy.optimize

import nanobrag

geometry = "-lambda 1.2 -distance 120 -detpixels 160 -pixel 0.64"
content = (
    "-hkl ../../examples/data/2erl_p1.hkl -N 6 -gauss_xtal -mosaic 0.5 -mosaic_domains 10 -fluence 1e28 "
    "-oversample 2 -water 0.05"
)
scenes = {}
with tempfile.TemporaryDirectory() as folder:
    for name, crystal in {"truth": "53.91 23.10 23.10 90 110.4 90 -misset 10 20 30",
                          "indexed": "53.96 23.10 23.10 90 110.4 90 -misset 10.05 19.97 30.04"}.items():  # fmt: skip
        path = f"{folder}/{name}.expt"
        nanobrag.write_expt(nanobrag.Simulator.from_cli(f"-cell {crystal} {geometry} {content}"), path)
        scenes[name] = nanobrag.Scene.from_cli(f"-expt {path} {content}")
truth = nanobrag.Simulator(scenes["truth"])
observed = truth.digitize(truth(), noise=True, seed=1).counts
start, free = scenes["indexed"], "misset cell_a scale"

# %% [markdown]
# scipy gets the residuals and their Jacobian; weights are 1/variance.

# %%
sim = nanobrag.Simulator(start, free)
target = nanobrag.Target(observed=observed, weight=1 / np.maximum(truth(), 1))
problem = sim.least_squares(target)
by_scipy = scipy.optimize.least_squares(
    problem.fun, problem.x0, problem.jac, bounds=problem.bounds, x_scale=problem.x_scale
)
errors = np.sqrt(np.diag(np.linalg.inv(by_scipy.jac.T @ by_scipy.jac)))
for parameter, value, error in zip(sim.parameters, by_scipy.x, errors, strict=True):
    print(f"{parameter.name:10} {value:10.5f} +- {error:.5f} {parameter.unit}")

# %% [markdown]
# The library's own fit takes the likelihood of Poisson, and any number of shots.

# %%
shot = nanobrag.Shot(scene=start, target=nanobrag.Target(kind="poisson", observed=observed))
fit = nanobrag.Fit(shot, free, scaling="misfit")  # the image has the same mosaic domains
result = fit.run()
result

# %%
pulls = (result.x[3:] - [53.91, 1]) / result.error[3:]
axis, found = truth.orientation()[0], sim.orientation(x=result.x)[0]
angle = np.degrees(np.linalg.norm(np.cross(axis, found)) / np.linalg.norm(axis) / np.linalg.norm(found))
print(f"edge and scale off the truth, in errors: {pulls.round(2)}; the axis a: {angle:.5f} degree")
assert max(*abs(pulls), angle / max(result.error[:3])) < 5
assert np.all(abs(by_scipy.x - result.x) < 5 * result.error)

# %% [markdown]
# What is left over has a standard deviation of one where the model is right.

# %%
z = fit.image(0, "z")
print(f"z: mean {z.mean():.3f}, standard deviation {z.std():.3f}")
axes = nanobrag.show(z, sim, vmax=5, title="residual over its standard deviation")
axes.images[0].set(cmap="RdBu", clim=(-5, 5))
