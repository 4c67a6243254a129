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
# # Structure factors by PyTorch and Adam
# The image is a function of torch, so that a structure factor can be what a network gives. Here Adam
# finds the factors themselves from one image.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

import nanobrag
import nanobrag.torch

cell = "-cell 30 34 38 90 90 90 -N 8 -gauss_xtal -mosaic 0.4 -mosaic_domains 8 -misset 10 20 30"
camera = "-default_F 1 -fluence 1e29 -lambda 1.2 -distance 60 -detpixels 96 -pixel 0.8"
scene = nanobrag.Scene.from_cli(f"{cell} {camera}")
edge = np.arange(-8, 9)
hkl = np.stack(np.meshgrid(edge, edge, edge, indexing="ij"), -1).reshape(-1, 3)
random = np.random.default_rng(1)
factors = random.gamma(4, 25, len(hkl))
scene = scene.replace(crystal__hkl=nanobrag.Hkl(hkl, factors), crystal__default_f=0.0)
sim = nanobrag.Simulator(scene, "F")
truth = torch.tensor(sim.x)
observed = nanobrag.torch.simulate(sim, truth)
sim

# %% [markdown]
# Only reflections that shine onto the detector have a gradient.

# %%
x = torch.full_like(truth, float(truth.mean())).requires_grad_()
nanobrag.torch.loss(sim, x, observed).backward()
lit = abs(x.grad) > 1e-3 * abs(x.grad).max()
print(f"{int(lit.sum())} of {len(x)} reflections have a gradient")

# %%
optimizer = torch.optim.Adam([x], lr=4.0)
weight = 1 / (observed + 1)
history = []
for _ in range(150):
    optimizer.zero_grad()
    loss = nanobrag.torch.loss(sim, x, observed, weight)
    loss.backward()
    optimizer.step()
    history.append(loss.item())
print(f"the loss fell from {history[0]:.4g} to {history[-1]:.4g}")
assert history[-1] < 1e-2 * history[0]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.semilogy(history)
left.set(xlabel="step", ylabel="loss")
right.plot(truth[lit], x.detach()[lit].abs(), ".", markersize=3)
right.set(xlabel="F, electron", ylabel="F found, electron")
correlation = np.corrcoef(truth[lit], x.detach()[lit].abs())[0, 1]
print(f"correlation with the truth {correlation:.4f}")
assert correlation > 0.8
