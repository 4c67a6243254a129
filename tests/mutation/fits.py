#!/usr/bin/env python3
"""fits.py BUILD [NAME...] - are wrong minimisers noticed? Makes one change at a time to a
copy of a file of src/nanobrag_fit, links it into the test programs of fits, and expects one
of them to fail. Prints a table of the changes with the program and the case that notice
each; exit status 1 if one is not noticed. BUILD is a configured and built folder of Ninja.
For developers. SPDX-License-Identifier: MIT"""

import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

PROGRAMS = ["test_sums", "test_system", "test_joint", "test_alone", "test_errors", "test_limits",
            "test_fit", "test_minimiser", "test_factors", "test_lbfgs", "test_restraints",
            "test_misfit", "test_scale"]

# what is wrong, file, text that stands there once, text in its place
MUTANTS = [
    ("gradient of shared parameters with the wrong sign", "one_shot.c",
     "    sum[0] = loss;\n",
     "    sum[0] = loss;\n    for (size_t i = 0; i < l->ns; i++) w->gradient[i] *= -1;\n"),
    ("gradient of own parameters with the wrong sign", "one_shot.c",
     "    own[0] = loss;\n",
     "    own[0] = loss;\n    for (size_t i = l->ns; i < l->m; i++) w->gradient[i] *= -1;\n"),
    ("step with the wrong sign", "system.c",
     "step[i] = s->scale[i] * r[i];", "step[i] = -s->scale[i] * r[i];"),
    ("bounds ignored in the step", "system.c",
     "return (struct limits){stops || x == low ? low - x : -INFINITY,\n"
     "                           stops || x == high ? high - x : INFINITY};",
     "return (struct limits){low - low - INFINITY, x - x + stops + INFINITY};"),
    ("bounds ignored, and x cut back to them", "system.c",
     "while (hold(s, bounds, stops, step));", "while (0);"),
    ("what is held at a bound never let go", "system.c",
     "    if (!(most > rounding * size)) return 0;\n", "    return 0;\n"),
    ("no damping", "normal_equations.c",
     ": step_joint(fit, damping,", ": step_joint(fit, 0 * damping,"),
    ("no damping of shots alone", "normal_equations.c",
     "return fit->alone ? step_alone(fit, (size_t)(track - fit->track), damping,",
     "return fit->alone ? step_alone(fit, (size_t)(track - fit->track), 0 * damping,"),
    ("damping not scaled by the diagonal of own blocks", "system.c",
     "along[k] /= of.values[k] + damping;", "along[k] /= of.values[k];"),
    ("damping not raised after a refused step", "track.c",
     "track->damping *= 4;", "track->damping *= 1;"),
    ("damping not raised where the loss is infinite", "track.c",
     "if (isinf(loss))\n        track->damping *= 10;", "if (isinf(loss))\n        track->damping *= 1;"),
    ("a step that raises the loss is taken", "track.c",
     "const int is_lower = loss < track->loss;",
     "const int is_lower = loss < track->loss || (isfinite(loss) && track->passes == 3);"),
    ("own block of the next shot", "normal_equations.c",
     "const double *own = fit->best.own + (first + k) * fit->at.own_end;",
     "const double *own =\n            fit->best.own + (first + (k + 1) % n) * fit->at.own_end;"),
    ("own gradient of the next shot", "normal_equations.c",
     "slopes->own + k * at->own_end + at->own_gradient,",
     "slopes->own + (k + 1) % l->nshot * at->own_end + at->own_gradient,"),
    ("own parameters of the next shot", "fit.h",
     "return i < l->ns ? i : i + shot * l->no;",
     "return i < l->ns ? i : i + (shot + 1) % l->nshot * l->no;"),
    ("a lost shot in the sum", "evaluate.c",
     "    if (!is_wanted || status != NB_OK) {\n",
     "    if (!is_wanted || status != NB_OK || (shot > 0 && shot + 1 == fit->layout.nshot)) {\n"),
    ("a shot added twice", "one_shot.c", "    sum[0] = loss;\n", "    sum[0] = 2 * loss;\n"),
    ("a sum in the order in which shots come", "sums.c",
     "        if (!is_single && !sibling) break;\n",
     "        if (!is_single && !sibling && sums->nnode > 0) sibling = sums->node;\n"
     "        if (!is_single && !sibling) break;\n"),
    ("Schur complement without the cross term", "system.c",
     "s->complement[i * ns + j] -= cross[l * ns + i] * solved[l * ns + j];",
     "s->complement[i * ns + j] -= 0 * cross[l * ns + i] * solved[l * ns + j];"),
    ("right side without the cross term", "system.c",
     "r[j] -= solved[i * ns + j] * rk[i];", "r[j] -= 0 * solved[i * ns + j] * rk[i];"),
    ("own steps without the shared ones", "system.c",
     "rk[i] -= solved[i * ns + j] * r[j];", "rk[i] -= 0 * solved[i * ns + j] * r[j];"),
    ("restraint with the wrong weight", "restraints.c",
     "fit->weight[i] = 1 / (r->sigma * r->sigma);", "fit->weight[i] = 1 / r->sigma;"),
    ("restraint with the wrong centre", "restraints.c",
     "fit->centre[i] = r->centre;", "fit->centre[i] = fit->start[i];"),
    ("restraint with the wrong sign", "restraints.c",
     "point->sum[at->gradient + i] += fit->weight[i] * (x[i] - fit->centre[i]);",
     "point->sum[at->gradient + i] -= fit->weight[i] * (x[i] - fit->centre[i]);"),
    ("restraint missing from the matrix", "restraints.c",
     "point->sum[place] += fit->weight[i];", "point->sum[place] += 0 * fit->weight[i];"),
    ("restraint missing from the loss", "restraints.c",
     "return fit->weight[i] > 0 ? fit->weight[i] * off * off / 2 : 0;", "return 0 * off;"),
    ("restraint of own parameters with the wrong sign", "restraints.c",
     "own[at->own_gradient + i] += fit->weight[j] * (x[j] - fit->centre[j]);",
     "own[at->own_gradient + i] -= fit->weight[j] * (x[j] - fit->centre[j]);"),
    ("restraint of own parameters of the first shot alone", "restraints.c",
     "if (point->status[shot] != NB_OK) continue;\n        for",
     "if (point->status[shot] != NB_OK || shot > 0) continue;\n        for"),
    ("restraint missing from the matrix of own parameters", "restraints.c",
     "own[at->own_matrix + place] += fit->weight[j];",
     "own[at->own_matrix + place] += 0 * fit->weight[j];"),
    ("restraint whose loss own parameters lack", "point.c",
     "loss += fit_restraints(fit, point->x, l->ns + shot * l->no, l->no);",
     "loss += 0 * fit_restraints(fit, point->x, l->ns + shot * l->no, l->no);"),
    ("restraint's bounds ignored", "restraints.c",
     "fit->upper[i] = fmin(fit->upper[i], r->upper);",
     "fit->upper[i] = fmax(fit->upper[i], r->upper);"),
    ("coarse attempt that keeps the worse result", "stage.c",
     ".loss < track->loss;", ".loss > track->loss;"),
    ("coarse attempt compared while its spots are broadened", "stage.c",
     "    return track->fresh || track_stage(fit, track).kind == NB_FIT_COARSE\n"
     "           || fit->kept_track", "    return fit->kept_track"),
    ("direction free by the eigenvalues of what is left", "system.c",
     "return !(of->values[k] > of->least);",
     "return !(of->values[k] > of->least * of->values[of->n - 1]);"),
    ("coarse attempt that is always kept", "track.c",
     "    if (track_kept_is_better(fit, track)) fit_swap", "    if (0) fit_swap"),
    ("no second attempt", "track.c",
     "if (is_bad(fit, track) && track_again(fit, track)) return 1;", "(void)is_bad;"),
    ("convergence judged on the step within bounds, damped", "track.c",
     "track->gain = fit_step(fit, track, 0, 0, fit->step);\n        if",
     "track->gain = fit_step(fit, track, track->damping, 1, fit->step);\n        if"),
    ("convergence judged with free steps across bounds", "system.c",
     "stops || x == low ? low - x : -INFINITY,\n"
     "                           stops || x == high ? high - x : INFINITY",
     "stops ? low - x : -INFINITY, stops ? high - x : INFINITY"),
    ("a parameter at its bound is not held in the errors of others", "covariance.c",
     "fit->fixed[i] |= is_at_bound(fit, at_x(fit, of, i));", "fit->fixed[i] |= 0;"),
    ("expectation of a deviance that is 1 at any photons", "deviance.c",
     "p.expected = w * e.mean;", "p.expected = w;"),
    ("misfit of all pixels alike alone", "misfit.c",
     "v.factor = fmax(v.factor, v.bright);", "v.factor = fmax(v.factor, 1);"),
    ("noise is scaled", "misfit.c",
     "static const double deviations = 5;", "static const double deviations = -1e9;"),
    ("a restraint's part of an error is scaled", "covariance.c",
     "        if (!(fit->weight[k] > 0)) continue;\n        for (size_t i = 0; i < n * n; i++)",
     "        for (size_t i = n * n; i < n * n; i++)"),
    ("the end of a fit not in units of the misfit", "normal_equations.c",
     "const double misfit = fit->alone ? 1 : fmax(fit->track->misfit, 1);", "const double misfit = 1;"),
    ("a scale far off is left to the others", "track.c",
     "static const double too_low = 2, too_high = 5,",
     "static const double too_low = 1e99, too_high = 1e99,"),
    ("a scale that all have in common is not found first", "make.c",
     "fit_begins_alone(fit) && fit->shared_scale == SIZE_MAX;", "fit_begins_alone(fit);"),
    ("a shot that fails is left in", "ask.c",
     "            NB_TRY(leave_out(fit, shot, status));\n            continue;\n", "            continue;\n"),
    ("an outlier is left in", "leave_out.c",
     "static const double outlier = 5,", "static const double outlier = 5000,"),
    ("weak structure factors not stepped in F^2", "normal_equations.c",
     "if (!is_weak(f, diagonal)) return step;", "if (!is_weak(f, diagonal) || step < 1e30) return step;"),
    ("gauge of scale and F not fixed", "ask.c",
     "    if (!fit->has_gauge) return;\n", "    return;\n"),
    ("gauge: the scales do not take up the rest", "ask.c",
     "fit->trial.x[i] /= factor * factor;", "fit->trial.x[i] /= factor;"),
    ("structure factors not damped", "normal_equations.c",
     "static const double f_damping_least = 0.1;", "static const double f_damping_least = 0;"),
    ("structure factors that ignore the dense step", "normal_equations.c",
     "slope += coupling(fit, j, f) * dense[j];\n        step[i] = limited",
     "slope += 0 * coupling(fit, j, f) * dense[j];\n        step[i] = limited"),
    ("dense matrix without the structure factors", "normal_equations.c",
     "fit->folded[i * n + j] -= k[i] * inverse * k[j];", "fit->folded[i * n + j] -= 0 * k[j];"),
    ("errors without the shared parameters'", "system.c",
     "sum += inverse->solved[oi * ns + l] * s->solved[oj * ns + l];",
     "sum += 0 * inverse->solved[oi * ns + l] * s->solved[oj * ns + l];"),
    ("covariance of shared and own parameters with the wrong sign", "system.c",
     "if (i < ns) return -inverse->solved[oj * ns + i];", "if (i < ns) return inverse->solved[oj * ns + i];"),
    ("processes that go other ways go on", "exchange.c",
     "    if (!is_same)\n", "    if (0)\n"),
    ("an error of another process is none here", "exchange.c",
     "    for (int rank = 0; count > 0 &&", "    for (int rank = 0; count > 1e9 &&"),
    ("a run is not ended by a failure in another process", "exchange.c",
     "    return fit_stopped(team->fit, fail(team->fit->ctx, status, \"%s\", message));",
     "    return fail(team->fit->ctx, status, \"%s\", message);"),
    ("a cancel of each process ends a run each", "exchange.c",
     "    if (status == NB_ERR_CANCELLED) atomic_store(&team->fit->cancelled, 0);\n", ""),
    ("reasons of shots that other processes evaluated are unknown", "exchange.c",
     "        if (rank == team->rank) continue;\n", "        if (rank < team->ranks) continue;\n"),
    ("L-BFGS without the scale of its gradient", "lbfgs.c",
     "gradient[i] = search->scale[i] * fit_gradient", "gradient[i] = fit_gradient"),
    ("L-BFGS with structure factors of which nothing is known", "lbfgs.c",
     "const int stays = normal_is_held(fit, i);",
     "const int stays = !(fit_diagonal(fit, &fit->best, i) > 0);"),
    ("L-BFGS with the gradient of another point", "lbfgs.c",
     "fit_gradient(fit, &fit->trial, i)", "fit_gradient(fit, &fit->best, i)"),
    ("a restrained scale that takes up a factor of F", "restraints.c",
     "fit->has_gauge = 0;", "fit->has_gauge = fit->has_gauge;"),
    ("L-BFGS off its bounds by rounding", "lbfgs.c",
     "    if (u >= search->upper[i]) return fit->upper[i];\n    return fmin(fmax(u * search->scale[i], fit->lower[i]), fit->upper[i]);\n",
     "    return u * search->scale[i];\n"),
    ("errors of squares of one photon", "variances.c",
     "return photons + target->sigma_readout", "return 1 + 0 * photons + target->sigma_readout"),
    ("errors with a wrong B", "variances.c",
     "sum.second += density[i] * l * off / variance;", "sum.second += density[i] * l * off / variance * 1.3;"),
    ("errors with M on one side alone", "covariance.c",
     "const double *a = side ? meat : inverse, *b = side ? inverse : meat;",
     "const double *a = side ? meat : inverse, *b = meat;"),
    ("errors of shared values before all shots were together", "point.c",
     "return fit->alone || (fit->was_alone && fit->joint == 0);", "return fit->alone;"),
    ("passes of shots alone count", "ask.c", "fit->run_passes += !fit->alone && !track_is_prelude(fit);", "fit->run_passes++;"),
    ("z with the wrong variance", "compare.c", "1 / sqrt(out->variance) :", "1.01 / sqrt(out->variance) :"),
    ("an expected image that is the observed one of nobody", "one_shot.c",
     "status = nb_forward(sim, w->x, &image);", "status = nb_forward(sim, w->x, &image);\n    for (size_t i = 0; i < 64 * 64; i++) photons[i] *= 1.2;"),
]


def commands_of(build, program):
    text = subprocess.run(["ninja", "-C", build, "-t", "commands", program],
                          capture_output=True, text=True, check=True).stdout
    return text.strip().split("\n")


def link_of(build, program, objects, output):
    """The link of a program, with objects before its libraries."""
    line = [c for c in commands_of(build, program) if f"-o bin/{program}" in c][-1]
    line = re.sub(r" && .*list_cases.*", "", line.replace(": && ", ""))
    line = line.replace(f"-o bin/{program}", f"-o {output}")
    return re.sub(r"(\S*libtest_support\.a)", " ".join(objects) + r" \1", line, count=1)


def compile_all(build, source_root, folder, names):
    entries = json.load(open(os.path.join(build, "compile_commands.json")))
    objects = []
    for name in names:
        entry = next(e for e in entries if e["file"].endswith(f"src/nanobrag_fit/{name}"))
        command = shlex.split(entry["command"])
        output = os.path.join(folder, name.replace("/", "_") + ".o")
        command[command.index("-o") + 1] = output
        command[-1] = os.path.join(folder, "src", "nanobrag_fit", name)
        command.insert(-2, "-w")
        command.insert(command.index("-w"), "-Wno-error")
        command.insert(1 if "ccache" not in command[0] else 2, "-I" + os.path.join(folder, "src"))
        subprocess.run(command, cwd=entry["directory"], check=True)
        objects.append(output)
    return objects


def judge(build, root, folder, mutant):
    """Returns the program and case that notice a mutant, or None."""
    what, name, old, new = mutant
    source = os.path.join(folder, "src", "nanobrag_fit")
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(os.path.join(root, "src/nanobrag_fit"), source)
    files = {os.path.basename(f): f for f in glob.glob(source + "/**/*.[ch]", recursive=True)}
    path = files[name]
    text = open(path).read()
    if text.count(old) != 1:
        sys.exit(f"fits.py: {what}: the text stands {text.count(old)} times in {name}")
    open(path, "w").write(text.replace(old, new))
    names = [path] if name.endswith(".c") else sorted(f for f in files.values() if f.endswith(".c"))
    names = [os.path.relpath(f, source) for f in names]
    objects = compile_all(build, root, folder, names)
    for program in PROGRAMS:
        output = os.path.join(folder, program)
        subprocess.run(link_of(build, program, objects, output), shell=True, cwd=build, check=True)
        cases = subprocess.run([output, "--list"], capture_output=True, text=True).stdout.split()
        for case in cases:
            try:
                run = subprocess.run([output, case], cwd=folder, capture_output=True, timeout=120)
                if run.returncode not in (0, 77):
                    return program, case, ""
            except subprocess.TimeoutExpired:
                return program, case, " (does not end)"
    return None


def main():
    build = os.path.abspath(sys.argv[1])
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
    wanted = sys.argv[2:]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        print("| wrong | noticed by |\n|---|---|", flush=True)
        for mutant in MUTANTS:
            if wanted and not any(w in mutant[0] for w in wanted):
                continue
            found = judge(build, root, folder, mutant)
            missed += found is None
            print(f"| {mutant[0]} | {found[0] + '.' + found[1] + found[2] if found else 'NOTHING'} |",
                  flush=True)
    print(f"\n{len(MUTANTS)} wrong minimisers, {missed} not noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
