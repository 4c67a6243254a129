# SPDX-License-Identifier: MIT
"""Lifetimes, threads, forks, pickles, Ctrl-C."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import os
import pickle
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import nanobrag

LONG = (
    "-cell 50 60 70 90 90 90 -default_F 100 -N 5 -fluence 1e28 -detpixels 2048 -pixel 0.04 -mosaic 1 "
    "-mosaic_domains 1000 -strategy lanes"
)


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.skipif("NANOBRAG_SANITIZED" in os.environ, reason="the sanitizer keeps what was freed")
def test_a_thousand_cycles_leave_no_memory(scene):
    def cycle():
        sim = nanobrag.Simulator(scene, "misset", threads=1)
        image = sim()
        sim.loss(None, image, normal=True)
        nanobrag.Hkl([[1, 2, 3]], [1.0])

    for _ in range(50):
        cycle()
    gc.collect()
    before = resident()
    for _ in range(1000):
        cycle()
    gc.collect()
    grown = resident() - before
    print(f"grown by {grown} bytes in 1000 cycles, allowed 1 MiB")
    assert grown < 1 << 20


def test_objects_are_freed_in_any_order(scene):
    sim = nanobrag.Simulator(scene, "misset")
    context, image = sim._context, sim()
    del sim
    gc.collect()
    assert context.message() == ""
    hkl = nanobrag.Hkl([[0, 0, 2]], [9.0])
    changed = scene.replace(crystal__hkl=hkl)
    del hkl
    sim = nanobrag.Simulator(changed)
    del changed
    gc.collect()
    assert sim().shape == image.shape
    # a cycle of references, which only the collector frees
    sim.self = sim
    del sim
    gc.collect()
    fit = nanobrag.Fit(nanobrag.Shot(scene=scene, target=image), "misset")
    result = fit.run()
    del fit
    gc.collect()
    assert len(result.value) == 3


def test_scenes_and_simulators_pickle(sim, scene):
    assert pickle.loads(pickle.dumps(scene)) == scene
    assert copy.deepcopy(scene) == scene
    assert scene.replace(dmin=2.0) != scene
    sim.x = sim.x + [0.1, 0, 0, 1, 2]
    again = pickle.loads(pickle.dumps(sim))
    assert np.array_equal(again(), sim())
    assert again.parameters.names == sim.parameters.names
    full = sim.resolved().replace(
        crystal__hkl=nanobrag.Hkl([[1, 2, 3], [0, 0, 1]], [3.0, 4.0]), detector__box=[[0, 5, 0, 5]],
        beam__source=[nanobrag.Source(direction=(1, 0, 0), wavelength=1.0, weight=1.0)],
    )  # fmt: skip
    assert pickle.loads(pickle.dumps(full)) == full


def test_two_threads_share_a_simulator(sim):
    expected = [sim(sim.x + 0.01 * i) for i in range(4)]
    wrong = []

    def work(i):
        for _ in range(20):
            if not np.array_equal(sim(sim.x + 0.01 * i), expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_gil_is_free_during_a_call():
    """Python runs beside an image: a counter of another thread goes on."""
    sim = nanobrag.Simulator.from_cli(LONG, threads=1)
    ticks = 0
    done = threading.Event()

    def count():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    stopper = threading.Timer(0.5, sim.stop)
    thread.start()
    stopper.start()
    with pytest.raises(nanobrag.CancelledError):
        sim()
    done.set()
    thread.join()
    print(f"{ticks} ticks during the call, more than 20 expected")
    assert ticks > 20
    # stopping is not for ever
    small = sim.scene.replace(detector__nslow=16, detector__nfast=16)
    assert nanobrag.Simulator(small)().max() > 0


INTERRUPT = """
    import os, signal, statistics, threading, time
    import nanobrag
    # a shell ignores the signal for what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
    {make}
    delays = []
    for _ in range(7):
        sent = []
        def kill():
            time.sleep(0.2)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)
        thread = threading.Thread(target=kill)
        thread.start()
        try:
            {call}
            raise SystemExit("the call ended by itself")
        except KeyboardInterrupt:
            delays.append(1e3 * (time.perf_counter() - sent[0]))
        thread.join()
    print(f"median {{statistics.median(delays):.1f}} ms, longest {{max(delays):.1f}} ms")
"""


@pytest.mark.parametrize("what", ["image", "fit"])
def test_ctrl_c_ends_a_call(what):
    make = f'sim = nanobrag.Simulator.from_cli("{LONG}", "misset")'
    call = "sim()"
    if what == "fit":
        make += (
            "\n    import numpy as np"
            "\n    shot = nanobrag.Shot(scene=sim.scene, target=np.zeros(sim.shape))"
            '\n    fit = nanobrag.Fit(shot, "misset")'
        )
        call = "fit.run()"
    script = textwrap.dedent(INTERRUPT).format(make=textwrap.dedent(make.replace("\n    ", "\n")), call=call)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    print(done.stdout)


def test_ctrl_c_between_short_calls_leaves_a_simulator_usable():
    """Three thousand interrupts, wherever they come: no lock stays taken."""
    script = """if True:
        import faulthandler, random, signal
        import nanobrag
        faulthandler.dump_traceback_later(100, exit=True)
        options = "-cell 50 60 70 90 90 90 -default_F 100 -detpixels 4"
        sim = nanobrag.Simulator.from_cli(options, "misset", threads=1)
        expected, x = sim(), sim.x
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        random.seed(1)
        interrupts = 0
        for _ in range(3000):
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(2e-5, 2e-4))
                while True:
                    sim(x)
            except KeyboardInterrupt:
                interrupts += 1
        assert interrupts == 3000
        assert (sim(x) == expected).all()
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_handler_calls_nothing_of_what_it_watches():
    sim = nanobrag.Simulator.from_cli(LONG, "misset")
    for call in (sim, sim.close, sim.describe, lambda: sim.parameters, sim.explain):
        sim.progress = lambda _, call=call: call()
        with pytest.raises(RuntimeError, match="a progress handler may not call"):
            sim()
    sim.progress = None
    assert sim.describe().nslow == 2048


def test_a_handler_of_progress_is_called_and_may_raise():
    seen = []
    sim = nanobrag.Simulator.from_cli(LONG.replace("2048", "300"), progress=seen.append)
    sim()
    assert seen
    assert seen == sorted(seen)
    assert 0 <= seen[0] <= seen[-1] <= 1

    def fail(_fraction):
        raise ZeroDivisionError("of the handler")

    sim = nanobrag.Simulator.from_cli(LONG, progress=fail)
    with pytest.raises(ZeroDivisionError, match="of the handler"):
        sim()


def _image(_):
    return _shared()


def _with_start(method, sim):
    global _shared
    _shared = sim
    with multiprocessing.get_context(method).Pool(2) as pool:
        return pool.map(_image, range(4))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning", "ignore:.*fork.*:RuntimeWarning")
def test_forked_workers(sim):
    expected = sim()
    for image in _with_start("fork", sim):
        assert np.array_equal(image, expected)
    # and the process itself, with threads of its own
    pid = os.fork()
    if pid == 0:
        os._exit(0 if np.array_equal(sim(), expected) else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert np.array_equal(sim(), expected)


def test_spawned_workers(sim):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        image = pool.apply(nanobrag.Simulator.__call__, (sim,))
    assert np.array_equal(image, sim())


def test_what_needs_more_than_numpy_is_imported_where_it_is_named():
    script = """if True:
        import sys
        import nanobrag
        assert not {"nanobrag.report", "torch", "jax", "scipy", "matplotlib"} & set(sys.modules)
        assert callable(nanobrag.report.write)
        try:
            nanobrag.reports
        except AttributeError as error:
            assert "no attribute 'reports'" in str(error)
        else:
            raise SystemExit("no error")
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_interrupts_reach_the_handler_of_the_caller(sim):
    """The package leaves signal handlers alone."""
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGPIPE)
    nanobrag.Scene.from_cli("-cell 5 5 5 90 90 90 -default_F 1")
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGPIPE)) == before
