# SPDX-License-Identifier: MIT
"""What a call costs over the library: `taskset -c 0 python python/tools/measure.py`.

The library is called through cffi with nothing around it, and then by the package, in turns; the
median of the turns is printed. `measure.py threads` compares one and two threads on two simulators,
and wants two processors.
"""

import statistics
import sys
import threading
import time

import numpy as np

import nanobrag
from nanobrag._lib import ffi, lib

OPTIONS = "-cell 50 60 70 90 90 90 -default_F 100 -N 5 -misset 10 20 30 -fluence 1e28 -detpixels 64 -pixel 0.4"
TURNS, CALLS = 31, 200


def each(function):
    """Microseconds of one call, of processor time: other programs hardly disturb it."""
    start = time.process_time()
    for _ in range(CALLS):
        function()
    return 1e6 * (time.process_time() - start) / CALLS


def over(plain, functions):
    """Medians of what each function takes over the plain one, turn by turn."""
    differences = {name: [] for name in functions}
    base = []
    for _ in range(TURNS):
        base.append(each(plain))
        for name, function in functions.items():
            differences[name].append(each(function) - base[-1])
    print(f"{'the library alone':34} {statistics.median(base):8.1f} us a call")
    for name, values in differences.items():
        print(f"{name:34} {statistics.median(values):8.1f} us over it, in the best turn {min(values):.1f}")


def calls():
    # one pixel of an image of 64 x 64 is rendered, so that the call is nearly empty
    sim = nanobrag.Simulator.from_cli(OPTIONS + " -roi 0 0 0 0", "misset cell_a distance", threads=1)
    image, x = np.empty(sim.shape), sim.x
    bar, dx = np.ones(sim.shape), np.ones(sim.nparam)
    array = ffi.new("nb_array *")
    array[0] = lib.nb_array_f64(ffi.from_buffer("double[]", image), *sim.shape)
    at = ffi.from_buffer("double[]", x)
    functions = {"sim(x)": lambda: sim(x), "sim(x, out)": lambda: sim(x, image)}
    try:
        import torch

        from nanobrag.torch import simulate as in_torch

        tensor, with_gradient = torch.tensor(x), torch.tensor(x, requires_grad=True)
        functions["torch, no gradient"] = lambda: in_torch(sim, tensor)
        functions["torch, a gradient is recorded"] = lambda: in_torch(sim, with_gradient)
    except (ImportError, OSError):
        print("PyTorch is not here")
    try:
        import jax

        from nanobrag.jax import simulate as in_jax

        jax.config.update("jax_enable_x64", True)
        compiled, point = jax.jit(lambda x: in_jax(sim, x)), jax.numpy.asarray(x)
        functions["JAX, compiled"] = lambda: compiled(point).block_until_ready()
    except ImportError:
        print("JAX is not here")
    over(lambda: lib.nb_forward(sim._c, at, array), functions)
    gradient = np.zeros(sim.nparam)
    back = ffi.from_buffer("double[]", gradient)
    array[0].data = ffi.from_buffer(bar)
    over(lambda: lib.nb_vjp(sim._c, at, 1, array, back), {"sim.vjp(x, bar)": lambda: sim.vjp(x, bar)})
    direction = ffi.from_buffer("double[]", dx)
    array[0].data = ffi.from_buffer(image)
    over(lambda: lib.nb_jvp(sim._c, at, 1, direction, array), {"sim.jvp(x, dx)": lambda: sim.jvp(x, dx)})


def threads():
    sims = [nanobrag.Simulator.from_cli(OPTIONS, threads=1) for _ in range(2)]

    def work(sim):
        for _ in range(40):
            sim()

    ratios = []
    for _ in range(11):
        start = time.perf_counter()
        for sim in sims:
            work(sim)
        middle = time.perf_counter()
        both = [threading.Thread(target=work, args=(sim,)) for sim in sims]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        ratios.append((middle - start) / (time.perf_counter() - middle))
    print(f"two threads on two simulators run at {statistics.median(ratios):.2f} times one, best {max(ratios):.2f}")


if __name__ == "__main__":
    threads() if "threads" in sys.argv[1:] else calls()
