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
# An image with noise stands in for a measured one; the start is 0.05 degree and 0.1 % off, as indexing
# leaves it.

# %%
import numpy as np
import scipy.optimize

import nanobrag

options = (
    "-hkl ../../examples/data/2erl_p1.hkl -N 6 -gauss_xtal -mosaic 0.5 -mosaic_domains 10 -lambda 1.2 "
    "-fluence 1e28 -distance 120 -detpixels 160 -pixel 0.64 -oversample 2 -water 0.05"
)
truth = nanobrag.Simulator.from_cli(f"-cell 53.91 23.10 23.10 90 110.4 90 -misset 10 20 30 {options}")
observed = truth.digitize(truth(), noise=True, seed=1).counts.astype(float)
start = nanobrag.Scene.from_cli(f"-cell 53.96 23.10 23.10 90 110.4 90 -misset 10.05 19.97 30.04 {options}")
free = "misset cell_a scale"
expected = np.array([10, 20, 30, 53.91, 1])

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
fit = nanobrag.Fit(shot, free)
result = fit.run()
result

# %%
pulls = (result.x - expected) / result.error
print("off the truth, in errors:", np.round(pulls, 2))
assert np.all(abs(pulls) < 5)
assert np.all(abs(by_scipy.x - result.x) < 5 * result.error)

# %% [markdown]
# What is left over has a standard deviation of one where the model is right.

# %%
z = fit.image(0, "z")
print(f"z: mean {z.mean():.3f}, standard deviation {z.std():.3f}")
axes = nanobrag.show(z, sim, vmax=5, title="residual over its standard deviation")
axes.images[0].set(cmap="RdBu", clim=(-5, 5))
