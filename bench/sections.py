"""sections.py - the tables of bench.py beside those of the cases: many shots, derivatives,
passes of a fit, crystals in closed form, panels, sizes and threads, and the test of the
loops.

SPDX-License-Identifier: MIT
"""
from asked import PRECISIONS, Failed, seconds_text

SLACK = 1.25  # what is slower than wanted by more is reported


def not_run(bench, table, row, head, why):
    row["not_run"] = str(why)
    bench.found[table].append(row)
    print(head, "not run:", str(why)[:60])


# ---- what a call costs beyond its pixels ----


def run_shots(bench):
    """An image of one pixel costs the call and the tile of that pixel; an image of all
    tiles the call and each of them."""
    side, wanted = 64, 50e-6
    print("\nmany shots from one simulator, orientation and cell new each time; one thread\n"
          "precision orientations   one pixel      a tile   the call  wanted")
    for precision in PRECISIONS:
        for orientations in (1, 10, 100):
            seconds = []
            row = {"precision": precision, "orientations": orientations}
            for end in (1, side):
                request = dict(case="B", side=side, ndomains=orientations, threads=1,
                               strategy="lanes", precision=precision, free="misset cell",
                               roi=f"0,{end},0,{end}", calls="moved")
                try:
                    seconds.append(bench.ask([request], 0.02 if bench.quick else 1)[0]["moved"])
                except Failed as why:
                    not_run(bench, "many_shots", row, f"{precision:9s} {orientations:12d}  ", why)
                    break
            else:
                tile = (seconds[1] - seconds[0]) / (side * side / 256 - 1)
                call = seconds[0] - tile
                row.update(one_pixel_seconds=seconds[0], tile_seconds=tile, call_seconds=call)
                bench.found["many_shots"].append(row)
                print(f"{precision:9s} {orientations:12d}   {seconds_text(seconds[0]):>9s}   "
                      f"{seconds_text(tile):>9s}  {seconds_text(call):>9s} "
                      f"{seconds_text(wanted):>7s} {bench.verdict(call <= wanted)}")


# ---- derivatives ----

# what a fit of one crystal, beam and detector leaves free
FITTED = "cell misset ncells mosaic wavelength distance origin scale fluence"


def gradient_wanted(precision, words):
    """(forward + gradient in one pass)/forward"""
    if words.get("shape") == "gauss":
        return 2
    return 2.6 if precision == "float" and "list" not in words else 3


def ask_derivatives(bench, letter, precision, free, calls):
    words = bench.cases[letter]
    gauss, side = words.get("shape") == "gauss", 64 if bench.quick else 512
    less = {} if gauss and not bench.quick else {"side": min(int(words["side"]), side)}
    return bench.ask([dict(case=letter, **less, precision=precision, free=free, calls=calls,
                           strategy="spots" if gauss else "lanes")],
                     0.1 if bench.quick else 4)[0]


def run_gradients(bench):
    most = 64 if bench.quick else 512
    print(f"\nimage and gradient of all parameters; squares as lanes, {most} x {most} pixels at "
          "most\n(a: adjoint, b: loss with its gradient)\n"
          "case precision how  params    image a/image want (image+a)/b want")
    rows = []
    for letter in bench.letters:
        for precision in PRECISIONS:
            row = {"case": letter, "precision": precision}
            try:
                a = ask_derivatives(bench, letter, precision, "*", "image vjp gradient")
            except Failed as why:
                not_run(bench, "gradients", row, f"{letter}    {precision:9s}", why)
                continue
            row.update(strategy=a["strategy"], parameters=a["parameters"],
                       forward_seconds=a["image"], adjoint_seconds=a["vjp"],
                       loss_seconds=a["gradient"])
            wanted = gradient_wanted(precision, bench.cases[letter])
            over, fused = a["vjp"] / a["image"], (a["image"] + a["vjp"]) / a["gradient"]
            print(f"{letter}    {precision:9s} {a['strategy']:5s} {a['parameters']:6d} "
                  f"{seconds_text(a['image']):>9s} {over:6.2f} {wanted:5.1f} {fused:6.2f}   1.3 "
                  f"{bench.verdict(over <= wanted and fused >= 1.3)}")
            rows.append(row)
    bench.found["gradients"] += rows
    print("\nover the image: one tangent, 16 at once, the normal matrix of a fit\n"
          "case precision how  params   tangent  tangents    matrix")
    for row in rows:
        head = f"{row['case']}    {row['precision']:9s} {row['strategy']:5s}"
        try:
            a = ask_derivatives(bench, row["case"], row["precision"], FITTED,
                                "image tangent tangents normal")
        except Failed as why:
            print(head, "not run:", str(why)[:60])
            continue
        row.update(fitted_parameters=a["dense"], fitted_forward_seconds=a["image"],
                   tangent_seconds=a["tangent"], sixteen_tangents_seconds=a["tangents"],
                   normal_seconds=a["normal"])
        print(f"{head} {a['dense']:6d} {a['tangent'] / a['image']:9.2f} "
              f"{a['tangents'] / a['image']:9.2f} {a['normal'] / a['image']:9.2f}")


# ---- a pass of a fit ----

PARTS = ("image", "value", "gradient", "matrix")
DRY = "cell misset ncells mosaic scale origin"
WET = DRY + " water"
STILL = {"cell": "53.91,23.1,23.1,90,110.4,90", "n": "8,18,18", "mosaic": 0.1,
         "shape": "gauss", "ndomains": 40, "list": "2erl", "wavelength": 1,
         "fluence": 1e27, "distance": 100, "oversample": 1, "model": "domains"}
# what it is, how it differs from the still, free parameters, what the parts shall take at
# most in images of the still by lanes; 0: nothing is wanted
FITS = (
    ("water, 40 domains", {"water": 0.12}, WET, (0.18, 0.22, 0.5, 1)),
    ("40 domains", {}, DRY, (0.08, 0.13, 0.32, 0.7)),
    ("water, 1 domain", {"water": 0.12, "ndomains": 1}, WET, (0, 0, 0, 0.6)),
    ("1 domain", {"ndomains": 1}, DRY, (0, 0, 0, 0.35)),
    ("water, 10 domains", {"water": 0.12, "ndomains": 10}, WET, (0, 0, 0, 0.7)),
    ("water, 400 domains", {"water": 0.12, "ndomains": 400}, WET, (0, 0, 0, 4)),
    ("water, misset alone", {"water": 0.12}, "misset", (0.18, 0.22, 0.4, 0.5)),
    ("water, square", {"water": 0.12, "shape": "square"}, WET, (0, 0, 0, 0)),
    ("water, 200 boxes", {"water": 0.12, "boxes": 200}, WET, (0, 0.063, 0.21, 0.37)),
    ("200 boxes", {"boxes": 200}, DRY, (0, 0, 0, 0)),
    ("200 boxes, planes", {"boxes": 200, "planes": 10}, DRY, (0, 0, 0, 0)),
)
# medians of `bench.py -fits -repeat 5`, with NANOBRAG_ISA=v3 for v3. Whoever makes a part
# faster writes its new ratios here.
RATIOS = {
    "v4": {"water, 40 domains": (0.113, 0.166, 0.387, 0.905),
           "40 domains": (0.057, 0.107, 0.326, 0.605),
           "water, 1 domain": (0.077, 0.122, 0.150, 0.523),
           "1 domain": (0.018, 0.063, 0.087, 0.231),
           "water, 10 domains": (0.087, 0.133, 0.208, 0.622),
           "water, 400 domains": (0.441, 0.529, 2.54, 4.42),
           "water, misset alone": (0.114, 0.165, 0.387, 0.469),
           "water, square": (1.33, 1.37, 3.73, 4.76),
           "water, 200 boxes": (0.072, 0.046, 0.111, 0.151)},
    "v3": {"water, 40 domains": (0.091, 0.132, 0.319, 0.684),
           "40 domains": (0.044, 0.082, 0.268, 0.458),
           "water, 1 domain": (0.061, 0.099, 0.117, 0.366),
           "1 domain": (0.012, 0.050, 0.069, 0.181),
           "water, 10 domains": (0.071, 0.110, 0.168, 0.461),
           "water, 400 domains": (0.373, 0.432, 2.24, 3.35),
           "water, misset alone": (0.091, 0.134, 0.318, 0.362),
           "water, square": (1.13, 1.19, 3.19, 3.70),
           "water, 200 boxes": (0.056, 0.042, 0.088, 0.120)},
}


def still_of(bench, more):
    """The still on a detector of 176 mm; with boxes in pixels of a quarter of the size."""
    finer = 4 if "boxes" in more else 1
    side = finer * (96 if bench.quick else 1024)
    return dict(STILL, side=side, pixel=176 / 1024 / finer) | more


def run_fit(bench, what, more, free, wanted):
    auto, gauss = "boxes" in more, more.get("shape") != "square"
    unit = dict(still_of(bench, {}), strategy="lanes", calls="image")
    part = dict(still_of(bench, more), free=free, loss="poisson", calls=" ".join(PARTS),
                strategy="auto" if auto else "spots" if gauss else "lanes")
    row = {"what": what}
    try:
        lanes, a = bench.ask([unit, part], 0.1 if bench.quick else 4)
    except Failed as why:
        not_run(bench, "fits", row, f"{what:20s}", why)
        return
    row["unit_seconds"] = lanes["image"]
    text, slow = f"{what:20s} {seconds_text(lanes['image']):>9s}", False
    for name, want in zip(PARTS, wanted):
        row[("normal" if name == "matrix" else name) + "_seconds"] = a[name]
        ratio = a[name] / lanes["image"]
        text += f" {ratio:8.3f} {want or '-':<5}"
        slow = slow or 0 < SLACK * want < ratio
    print(text, "" if not slow else "busy" if bench.is_busy() else "SLOW")
    if auto:
        side = part["side"]
        print(f"  {a['boxes']} boxes of 12 x 12 on {side} x {side}: made in "
              f"{seconds_text(a['made'])}, {a['bytes'] / 1e6:.1f} MB beyond the data (wanted: "
              "5 ms, 20 MB)")
    bench.found["fits"].append(row)


def compare_fits(bench):
    """Names the parts that have become slower than their stored ratios."""
    stored = RATIOS.get(bench.isa(), {})
    compared = slower = 0
    for row in bench.found["fits"]:
        for part, ratio in zip(PARTS, stored.get(row["what"], ())):
            seconds = row.get(("normal" if part == "matrix" else part) + "_seconds")
            if bench.quick or not seconds:
                continue
            compared += 1
            now = seconds / row["unit_seconds"]
            if now > SLACK * ratio:
                slower += 1
                print(f"  {row['what']}: {part} takes {now:.3g}, {now / ratio:.2f} times the "
                      f"stored ratio of {ratio:.3g}{' (busy)' if bench.is_busy() else ''}")
    if compared:
        print(f"  SLOWER than the stored ratios by more than {SLACK}: {slower} of {compared}")
    elif not bench.quick:
        print(f"  no ratios are stored for {bench.isa()} (sections.py)")


def run_fits(bench):
    print("\na pass of a fit: a still of gaussian spots, 15 parameters, Poisson; in images of it "
          f"by lanes\n{'':20s} {'by lanes':>9s} {'image':>8s} want  {'value':>8s} want  "
          f"{'gradient':>8s} want  {'matrix':>8s} want")
    for fit in FITS:
        run_fit(bench, *fit)
    fast, slow = (96, 99) if bench.quick else (2463, 2527)
    large = dict(still_of(bench, {"water": 0.12}), nfast=fast, nslow=slow, free=WET,
                 pixel=0.172 * 2463 / fast, strategy="spots", calls="value gradient matrix")
    try:
        held = bench.ask([large], 0.1)[0]["bytes"]
        print(f"  {FITS[0][0]}, {slow} x {fast}: {held / 1e6:.1f} MB beyond the data (wanted: "
              f"150): {'reached' if held < 150e6 else 'NOT REACHED'}")
    except Failed as why:
        print("  memory not run:", why)
    compare_fits(bench)


# ---- crystals in closed form ----

DEMO = dict(STILL, side=1024, pixel=0.1, distance=80, mosaic=0.3, misset="25,40,10",
            fluence=1e28, osc=2, oversample=2)
XFEL = dict(cell="67.2,59.8,47.2,90,110.3,90", n="36,36,36", misset="10,20,30", mosaic=0.05,
            shape="gauss", f=100, wavelength=1.74, fluence=1e27, dispersion=0.008,
            nsource=100, side=3000, pixel=0.11, distance=141.7, oversample=1)
WATERY = dict(STILL, water=0.12, side=1024, pixel=176 / 1024)
BOXED = dict(STILL, water=0.12, side=4096, pixel=176 / 4096, boxes=200)
# what it is, scene, precision, free parameters, call, domains and phi steps of the sum, what
# is wanted, in seconds, images of the scene, or L: images of the still by lanes
CONTINUOUS = (
    ("demo, 2 x 2 samples", DEMO, "double", "", "image", 25, 20, 5e-3, "s"),
    ("demo, 2 x 2 samples", DEMO, "float", "", "image", 25, 20, 4e-3, "s"),
    ("XFEL still, 100 energies", XFEL, "double", "", "image", 50, 1, 12e-3, "s"),
    ("XFEL still, 100 energies", XFEL, "float", "", "image", 50, 1, 8e-3, "s"),
    ("demo, of a fit", DEMO, "double", FITTED, "vjp", 25, 20, 3.2, "images"),
    ("XFEL, of a fit", XFEL, "double", FITTED, "vjp", 50, 1, 3.2, "images"),
    ("demo, all parameters", DEMO, "double", "*", "vjp", 25, 20, 3.2, "images"),
    ("XFEL, all parameters", XFEL, "double", "*", "vjp", 50, 1, 3.2, "images"),
    ("still with water", WATERY, "double", WET, "value", 40, 1, 0.07, "L"),
    ("still with water", WATERY, "double", WET, "gradient", 40, 1, 0.12, "L"),
    ("still with water", WATERY, "double", WET, "matrix", 40, 1, 0.25, "L"),
    ("200 boxes of 12 x 12", BOXED, "double", WET, "matrix", 400, 1, 1e-3, "s"),
)


def ask_continuous(bench, scene, request, ndomains, nphi, unit):
    """Returns seconds in closed form, by the sum, and of the unit. The sum takes long, so it
    is timed apart and fewer times."""
    coarser = 8 if bench.quick else 1
    scene = dict(scene, **request, loss="poisson", side=scene["side"] // coarser,
                 pixel=scene["pixel"] * coarser)
    form, part = dict(scene, model="gauss", ndomains=0), request["calls"]
    requests, budget = [form], 0.05 if bench.quick else 3
    if unit == "images":
        form["calls"] += " image"
    if unit == "L":
        requests.append(dict(scene, strategy="lanes", calls="image", free="", water=0))
    answers = bench.ask(requests, budget)
    by_sum = bench.ask([dict(scene, model="domains", ndomains=ndomains, nphi=nphi)],
                       budget / 10)[0][part]
    return answers[0][part], by_sum, 1 if unit == "s" else answers[-1]["image"]


def run_continuous(bench):
    print("\ncrystals in closed form, and by domains x phi steps\n"
          "(L: an image of the still by lanes, without water, of 40 domains)\n"
          f"{'':24s} {'':6s} {'':8s} {'time':>8s} {'':>8s} {'want':>10s} {'domains':>7s} "
          f"{'time':>8s} times")
    for what, scene, precision, free, part, ndomains, nphi, wanted, unit in CONTINUOUS:
        row = {"what": what, "part": part, "precision": precision, "wanted": wanted}
        request = {"precision": precision, "free": free, "calls": part}
        try:
            form, by_sum, one = ask_continuous(bench, scene, request, ndomains, nphi, unit)
        except Failed as why:
            not_run(bench, "continuous", row, f"{what:24s}", why)
            continue
        row.update(seconds=form, domains_seconds=by_sum, unit_seconds=one)
        bench.found["continuous"].append(row)
        is_seconds = unit == "s"
        value = "" if is_seconds else f"{form / one:.3f}"
        want = seconds_text(wanted) if is_seconds else f"{wanted:.3g} {unit}"
        slow = "" if form / one <= wanted else "busy" if bench.is_busy() else "SLOW"
        print(f"{what:24s} {precision:6s} {part:8s} {seconds_text(form):>8s} {value:>8s} "
              f"{want:>10s} {f'{ndomains} x {nphi}':>7s} {seconds_text(by_sum):>8s} "
              f"{by_sum / form:5.0f} {slow}")


# ---- panels ----

# the pixels of a JUNGFRAU 16M, what its image shows, and how it is computed
MANY = {"cell": "53.4,40.5,29.3,90,90,90", "misset": "10,20,30", "n": "40,40,40",
        "mosaic": 0.05, "list": "2erl", "wavelength": 1.2, "fluence": 1e28, "water": 50,
        "oversample": 1, "distance": 150}
PANEL_KINDS = (("square", "lanes", 10), ("gauss", "spots", 100))


def run_panels(bench):
    """Images, and gradients by cell, orientation and all moves of panels, beside those of
    one rectangle with as many pixels at the same places."""
    divide = 8 if bench.quick else 1
    for calls, cuts, precisions in (("image", ("1,1", "2,16", "8,32"), PRECISIONS),
                                    ("gradient", ("1,1", "8,32"), PRECISIONS[:1])):
        print(f"\n{calls + ', s; panels':24s}", *(f"{cut:>10s}" for cut in cuts),
              f"{'over one':>16s}")
        for shape, strategy, ndomains in PANEL_KINDS:
            for precision in precisions:
                free = "cell misset panel_shift panel_rot" if calls == "gradient" else ""
                requests = [dict(MANY, shape=shape, strategy=strategy, ndomains=ndomains,
                                 model="domains", precision=precision, panels=cut, calls=calls,
                                 free=free, loss="poisson", nfast=2048 // divide,
                                 nslow=8192 // divide, pixel=0.075 * divide) for cut in cuts]
                head = f"{shape}, {strategy}, {precision}"
                row = {"what": head, "call": calls}
                try:
                    found = bench.ask(requests, 3 / divide)
                except Failed as why:
                    not_run(bench, "panels", row, f"{head:24s}", why)
                    continue
                row["seconds"] = seconds = [a[calls] for a in found]
                held = "" if calls == "image" else "  ".join(
                    f"{a['parameters']} parameters, {a['bytes'] / 2 ** 20:.0f} MiB" for a in found)
                bench.found["panels"].append(row)
                print(f"{head:24s}", *(f"{s:10.3f}" for s in seconds),
                      *(f"{s / seconds[0]:8.2f}" for s in seconds[1:]), held)


# ---- sizes and threads ----

SPREAD_ALLOWED, SPEEDUP_WANTED = 1.2, 1.9
# pixels in whole tiles, so that the first steps do not show the cut tiles at the edges
SIDES = ((64, 32), (160, 128), (512, 400), (1600, 1280), (5120, 4000))
COUNTS = (61, 610, 6100, 61000, 610000)
CELLS = (5, 10, 20, 50, 100, 200, 500, 1000)


def axes_of(bench):
    """The axes of the ladder: name, label, and for each step its place and the words."""
    last = 2 if bench.quick else 5 if bench.long else 4
    cells = CELLS[:2] if bench.quick else CELLS
    ten = {"dispersion": 0.01, "nsource": 10}
    return (("pixels", "pixels (500 evaluations each)",
             [(f * s, dict(ten, nfast=f, nslow=s)) for f, s in SIDES[:last]]),
            ("domains", "mosaic domains (16384 pixels)",
             [(n, {"side": 128, "ndomains": n}) for n in COUNTS[:last]]),
            ("sources", "sources (16384 pixels)",
             [(n, {"side": 128, "mosaic": 0, "ndomains": 1, "dispersion": 0.01, "nsource": n})
              for n in COUNTS[:last]]),
            ("cells", "cells along a, b, c (819200 evaluations)",
             [(n, {"side": 128, "n": f"{n},{n},{n}"}) for n in cells]))


def run_axis(bench, axis, label, steps, precision):
    row = {"axis": axis, "label": label, "precision": precision, "points": []}
    print(f"\n{label}, {precision}")
    for x, words in steps:
        try:
            a = bench.ask([dict(case="B", strategy="lanes", precision=precision, calls="image",
                                **words)], 0.02 if bench.quick else 1)[0]
        except Failed as why:
            row["not_run"] = str(why)
            print("  not run:", str(why)[:80])
            break
        small, precise = a["tiles_small"] / a["tiles"], a["tiles_double"] / a["tiles"]
        row["points"].append({"x": x, "evaluations": a["evaluations"], "seconds": a["image"],
                              "share_of_tiles_small": small, "share_of_tiles_double": precise})
        tiles = (f"  tiles: {100 * small:.0f}% divided, {100 * precise:.0f}% double"
                 if precision == "float" and small + precise > 0 else "")
        print(f"  {x:10.0f}  {a['evaluations']:8.2g} evaluations  {seconds_text(a['image']):>8s}"
              f"  {1e9 * a['image'] / a['evaluations']:7.3f} ns each{tiles}")
    costs = [point["seconds"] / point["evaluations"] for point in row["points"]]
    if costs:
        row["spread"] = max(costs) / min(costs)
        flat = row["spread"] <= SPREAD_ALLOWED
        row["flat"] = None if not flat and bench.is_busy() else flat
        verdict = "flat" if flat else "NOT FLAT" if row["flat"] is False else row["flat"]
        print(f"  cost of an evaluation: largest {row['spread']:.2f} x the smallest, allowed "
              f"{SPREAD_ALLOWED}: {verdict or 'cannot be told at this load'}")
    bench.found["ladder"].append(row)


def run_threads(bench):
    letter, cores = "B" if bench.quick else "D", bench.machine["cores"]
    print(f"\nthreads, case {letter}; cores that this process may use: {cores}")
    counts = sorted({cores} | {2 ** i for i in range(11) if 2 ** i < cores})
    for precision in PRECISIONS:
        for threads in counts:
            one = {"case": letter, "strategy": "lanes", "precision": precision, "clock": "wall",
                   "calls": "image", "threads": 1}
            try:
                a, b = bench.ask([one, dict(one, threads=threads)], 3)
            except Failed as why:
                print(f"  {precision:6s} not run: {str(why)[:80]}")
                continue
            speedup, same = a["image"] / b["image"], a["bits"] == b["bits"]
            bench.found["thread_scaling"].append(
                {"precision": precision, "threads": threads, "seconds": b["image"],
                 "speedup": speedup, "same_bits": same})
            wanted = f", wanted {SPEEDUP_WANTED}: {bench.verdict(speedup >= SPEEDUP_WANTED)}"
            print(f"  {precision:6s} {threads:3d} threads  {seconds_text(b['image']):>9s}  "
                  f"{speedup:6.3f} x one{wanted if threads == 2 else ''}  "
                  f"{'same bits' if same else 'DIFFERENT BITS'}")


def run_ladder(bench):
    print(f"\nladder: lanes, median of {bench.repeat}, {bench.threads} threads")
    for axis, label, steps in axes_of(bench):
        for precision in PRECISIONS:
            run_axis(bench, axis, label, steps, precision)
    run_threads(bench)


def plot(bench, path):
    """Draws the time of an image against each axis, and the speed by threads."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, places = pyplot.subplots(2, 3, figsize=(12, 7))
    for row in bench.found["ladder"]:
        names = [found["axis"] for found in bench.found["ladder"]]
        place = places.flat[sorted(set(names), key=names.index).index(row["axis"])]
        place.loglog([p["x"] for p in row["points"]], [p["seconds"] for p in row["points"]],
                     "o-", label=row["precision"])
        place.set_xlabel(row["label"])
        place.set_ylabel("seconds of an image")
        place.legend()
    for precision in PRECISIONS:
        rows = [row for row in bench.found["thread_scaling"] if row["precision"] == precision]
        places.flat[4].plot([row["threads"] for row in rows], [row["speedup"] for row in rows],
                            "o-", label=precision)
    places.flat[4].set_xlabel("threads")
    places.flat[4].set_ylabel("times as fast as one")
    places.flat[5].axis("off")
    figure.tight_layout()
    figure.savefig(path)


# ---- a test: are the loops vectorised? ----


def run_floor(bench):
    """The best instruction set against the same loops compiled without vectorisation, in
    turn, on case B. Eight floats of AVX2 leave room for 5; half as many doubles for 2.5."""
    bench.repeat = 9
    machine = bench.measure_machine()
    skipped = ("this build has a sanitizer" if machine["sanitized"] else
               "this build is not optimised" if not machine["optimised"] else
               {"v2": "this machine has no AVX2",
                "base": "no floor is known for this architecture"}.get(machine["isa"]))
    if skipped:
        print("skipped:", skipped)
        return 77
    good = True
    for precision, allowed in (("float", 5), ("double", 2.5)):
        request = {"case": "B", "nslow": 32, "strategy": "lanes", "precision": precision,
                   "calls": "image"}
        best, scalar = bench.ask([dict(request, isa="best"), dict(request, isa="scalar")], 0.2)
        # other work only makes them longer
        times = scalar["least_image"] / best["least_image"]
        good = good and times >= allowed
        print(f"{'ok    ' if times >= allowed else 'not ok'} {precision}: {best['kernel']} "
              f"{1e3 * best['least_image']:.3f} ms, scalar {1e3 * scalar['least_image']:.3f} ms: "
              f"measured x{times:.2f} allowed x{allowed}")
    return 0 if good else 1
