#!/usr/bin/env python3
"""sites.py TREE PART - puts a factor, mutation[i], on every product and term of
the derivative code in a copy of the tree, and lists the sites in TREE/mutation_sites.txt:
number, file, line, text. PART is physics (grad/ and physics/), lanes or spots (the adjoints
in kernels/). For developers only; tests/mutation/mutation.sh calls it.

SPDX-License-Identifier: MIT
"""
import os
import re
import sys

# whole files; and files of which only the slopes are meant
WHOLE = ["grad/background.c", "grad/beam.c", "grad/crystal.c", "grad/derive.c",
         "grad/detector.c", "grad/mosaic.c", "grad/sampling.c", "grad/linear_tangent.h",
         "physics/pixel_vjp.h", "physics/step_vjp.h"]
SLOPES = ["physics/displacement.h", "physics/lattice.h", "physics/structure_factor.h", "physics/pixel_position.h",
          "physics/polarization.h", "physics/step.h", "physics/amorphous.h", "physics/trig.h"]
SLOPE = re.compile(r"(\b[rsc]\.d\w*|\b\w*slope\w*|\bmetric|\bscale|\bbent_\w|\btwice_\w)$")
SLOPE_FUNCTION = re.compile(r"_slopes?$|_vjp$|phys_square_cells$|phys_lattice_crystal$")
VECTOR_CALLS = {"phys_axpy": "svv", "phys_scale": "sv", "phys_vec3": "sss"}
OUTPUT_LAST = {"linear_cross_tangent", "linear_unit_tangent", "linear_rotate_tangent",
               "linear_rotate_xyz_tangent"}
SCALAR_ARGUMENTS = {"linear_add": [0], "linear_add_tangent": [0, 1],
                    "linear_scale": [0]}
# the adjoints of the pixel loops, and of which functions
KERNELS = {
    "lanes": {"lanes_vjp.c": None, "lane_back.h": None, "lane_accumulator.h": None,
              "lane_slopes.h": None, "lane_moments.c": None, "lane_moments.h": None, "lane_jacobian.h": None,
              "lane_pair.h": None, "frame_adjoint.h": {"frame_adjoint_rotation"},
              "lane_columns.h": None, "lane_amorphous.h": None,
              "frame_adjoint.c": None, "jacobian.c": {"add_default"}, "adjoint.c": {"add"},
              "normal.c": {"multiply", "add_structure_factors", "add_tile", "add"}},
    "spots": {"splat_vjp.c": None, "spots_vjp.c": {"add_pair_cotangents", "pair_vjp"},
              "lane_pixels.h": None, "lane_moments.c": {"pixels"},
              "spot_rows.c": None, "row_terms.h": None, "row_factors.h": None,
              "tile_spots.c": {"cross_product", "find_turn", "add_to_block", "add_place",
                               "add_factor", "tile_spots_tangents"}}}
FOLDER = {"lane_pixels.h": "kernels/lanes/", "lane_moments.c": "kernels/lanes/"}
FOLDER.update((name, "kernels/derivatives/") for name in (
    "frame_adjoint.c", "frame_adjoint.h", "jacobian.c", "adjoint.c", "normal.c"))
FOLDER.update((name, "kernels/spots/rows/") for name in (
    "spot_rows.c", "row_terms.h", "row_factors.h", "tile_spots.c"))
# what there is no slope in; and integers that are assigned to
NO_SLOPES = {"next_place", "is_small", "kept_of", "use_source", "use_pair", "max_int",
             "min_int", "cut_to_area", "take_slot", "keep_samples", "place_of", "take_area",
             "take_weights"}
INTEGERS = {"in.n", "in.padded", "weighted", "in->pixel[i]", "met", "at", "last",
            "out->corner[i]", "r->strained", "any", "w.n", "row", "n", "a->small", "p->which",
            "f->which", "b->which[t]", "out->nblocks"}
KERNEL_ARGUMENTS = {"lane_add_wide": [4], "lane_add_scaled": [1], "lane_fill": [2],
                    "lane_add_number": [4], "frame_adjoint_crystal": [1],
                    "frame_adjoint_places": [2, 3], "add_direction": [1], "add_strain": [1],
                    "add_rotation": [1], "scatter_f": [2], "slopes_of": [3],
                    "add_pair_cotangents": [2]}
# arrays of lanes that calls read
KERNEL_ARRAYS = {"lane_add_product": 1, "lane_add": 1, "omega_to_distance": 1}
NOT_A_FACTOR = re.compile(r"^[-+]?\s*(\(\w+\)\s*)?\d*$|^\(int\)|^box->first")


def blank_comments(text):
    """the same length, with comments and preprocessor lines blank"""
    def spaces(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    text = re.sub(r"/\*.*?\*/", spaces, text, flags=re.S)
    # the judge runs in double
    text = re.sub(r"(?m)^#ifdef PHYS_SINGLE$.*?^#(else|endif)$", spaces, text, flags=re.S)
    return re.sub(r"(?m)^[ \t]*#.*$", spaces, text)


def split_top(text, start, separators):
    """(begin, end) of the parts of text between separators outside brackets"""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif depth == 0 and c in separators:
            parts.append((start + begin, start + i))
            begin = i + 1
    parts.append((start + begin, start + len(text)))
    return parts


class File:
    def __init__(self, name, text, whole, functions=None, kernel=False):
        self.name, self.text, self.whole = name, text, whole
        self.functions, self.kernel = functions, kernel  # functions: None for all
        self.code = blank_comments(text)
        self.edits = []  # (begin, end, before, after, line, what)

    def add(self, begin, end, before="(mutation[%d] * (", after="))"):
        while begin < end and self.code[begin].isspace():
            begin += 1
        while end > begin and self.code[end - 1].isspace():
            end -= 1
        what = " ".join(self.code[begin:end].split())
        if not what or (self.kernel and re.search(r"[^-]>|<|[=!]=|&&|\|\|", what)):
            return
        self.edits.append((begin, end, before, after,
                           self.text.count("\n", 0, begin) + 1, what))

    # ---- expressions ----
    def terms(self, begin, end):
        """bounds of the terms of a sum"""
        out, depth, at = [], 0, begin
        for i in range(begin, end):
            c = self.code[i]
            if c in "([{":
                depth += 1
            elif c in ")]}":
                depth -= 1
            elif depth == 0 and c in "+-":
                before = self.code[begin:i].rstrip()
                if not before or before[-1] in "*/+-(,?:=<>&|":
                    continue  # a sign
                if self.code[i:i + 2] == "->" or self.code[i - 1:i + 1] == "->":
                    continue
                if re.search(r"[\d.][eE]$", self.code[begin:i]):
                    continue  # an exponent
                out.append((at, i))
                at = i + 1
        out.append((at, end))
        return out

    def scalar(self, begin, end, alone=True):
        """sites of an expression of reals; `alone`: a single term is one too"""
        question = split_top(self.code[begin:end], begin, "?")
        if len(question) > 1:
            first = question[1][0]
            colon = split_top(self.code[first:end], first, ":")
            self.scalar(first, colon[0][1])
            if len(colon) > 1:
                self.scalar(colon[1][0], end)
            return
        terms = self.terms(begin, end)
        for b, e in terms:
            text = self.code[b:e].strip()
            if (alone or len(terms) > 1) and not NOT_A_FACTOR.match(text):
                self.add(b, e)
            self.inside(b, e)

    def inside(self, begin, end):
        """sums in brackets, and arguments, of a term"""
        depth, open_at = 0, None
        for i in range(begin, end):
            c = self.code[i]
            if c in "([":
                if depth == 0:
                    open_at = i
                depth += 1
            elif c in ")]":
                depth -= 1
                if depth == 0 and c == ")":
                    self.bracket(begin, open_at, i)

    def bracket(self, begin, opened, closed):
        name = re.search(r"(\w+)\s*$", self.code[begin:opened])
        if not name:
            self.scalar(opened + 1, closed, alone=False)
        elif name.group(1) in ("phys_dot",):
            for b, e in split_top(self.code[opened + 1:closed], opened + 1, ","):
                self.vector(b, e, alone=False)

    def vector(self, begin, end, alone=True):
        text = self.code[begin:end]
        call = re.match(r"\s*(\w+)\s*\(", text)
        closes = call and text.rstrip().endswith(")")
        if closes and call.group(1) in VECTOR_CALLS:
            opened = begin + call.end()
            parts = split_top(self.code[opened:begin + len(text.rstrip()) - 1], opened, ",")
            for (b, e), kind in zip(parts, VECTOR_CALLS[call.group(1)]):
                if kind == "s":
                    if not NOT_A_FACTOR.match(self.code[b:e].strip()):
                        self.scalar(b, e)
                else:
                    self.vector(b, e)
        elif alone and text.strip() and "?" not in text:
            self.add(begin, end, "phys_scale(mutation[%d], ", ")")

    # ---- statements ----
    def kernel_call(self, name, opened, closed, begin, end):
        parts = split_top(self.code[opened + 1:closed], opened + 1, ",")
        texts = [self.code[b:e].strip() for b, e in parts]
        for i in KERNEL_ARGUMENTS.get(name, []):
            if texts[i] != "0":
                self.scalar(*parts[i])
                if NOT_A_FACTOR.match(texts[i]):
                    self.add(*parts[i])
        if name in KERNEL_ARRAYS and len(parts) > 2 and "(size_t)" not in texts[0]:
            b, e = parts[KERNEL_ARRAYS[name]]
            n = "l->n" if name == "omega_to_distance" else texts[0]
            self.add(b, e, "mutation_scaled(%s, mutation[%%d], " % n, ")")
        if name in ("times", "multiply"):
            self.scale_lanes(texts[0], texts[3 if len(parts) > 3 else 1], begin, end)
        elif name == "times_omega":
            self.scale_lanes(texts[1] + "->n", texts[2], begin, end)

    def scale_lanes(self, n, out, begin, end):
        self.add(begin, end, "{ ", "; for (int mutant = 0; mutant < %s; mutant++) "
                 "(%s)[mutant] *= mutation[%%d]; }" % (n, out))

    def call(self, name, opened, closed, begin, end):
        arguments = split_top(self.code[opened + 1:closed], opened + 1, ",")
        if name in OUTPUT_LAST or (name == "linear_copy" and "dot" in
                                   self.code[opened:closed]):
            out = self.code[arguments[-1][0]:arguments[-1][1]].strip()
            self.add(begin, end, "{ ", "; linear_scale(mutation[%%d], %s, %s); }" % (out, out))
        for i, (b, e) in enumerate(arguments):
            text = self.code[b:e].strip()
            if i in SCALAR_ARGUMENTS.get(name, []):
                if not NOT_A_FACTOR.match(text):
                    self.scalar(b, e)
            elif name.endswith("_vjp") and re.search(r"\w \* ", text):
                self.scalar(b, e)
            elif name in ("phys_add_vec3", "phys_add_wide3") and i == 1:
                self.vector(b, e)

    def statement(self, begin, end, function):
        code = self.code
        while True:  # labels and conditions before it
            while begin < end and code[begin].isspace():
                begin += 1
            head = re.match(r"(else\b|default\s*:|case [^:]*:|do\b)", code[begin:end])
            if head:
                begin += head.end()
                continue
            head = re.match(r"(if|for|while|switch)\s*\(", code[begin:end])
            if not head:
                break
            depth, i = 1, begin + head.end()
            while i < end and depth:
                depth += {"(": 1, ")": -1}.get(code[i], 0)
                i += 1
            begin = i
        text = code[begin:end]
        if not text.strip():
            return
        if self.functions is not None and function not in self.functions:
            return
        if self.kernel and function in NO_SLOPES:
            return
        slopes_only = not self.whole and not SLOPE_FUNCTION.search(function)
        call = re.match(r"(?:\(void\))?(\w+)\s*\(", text)
        returns = re.match(r"return\b", text)
        if returns and self.kernel and text[returns.end():].strip() in INTEGERS:
            return
        if returns:
            if not slopes_only and not re.search(r"phys_finish\(|return \w$", text):
                if self.kernel and re.match(r"return\s+phys_(axpy|scale|vec3)\s*\(", text):
                    self.vector(begin + returns.end(), end)
                else:
                    self.scalar(begin + returns.end(), end)
            return
        if call and text.rstrip().endswith(")") and not slopes_only:
            opened = begin + call.end() - 1
            if self.kernel:
                self.kernel_call(call.group(1), opened, begin + len(text.rstrip()) - 1,
                                 begin, end)
            self.call(call.group(1), opened, begin + len(text.rstrip()) - 1, begin, end)
            return
        kind = re.match(r"(?:static\s+)?(?:const\s+)?(struct \w+|real|double|int|void)\s",
                        text)
        if kind and re.match(r"static|const int|int", text):
            return
        if self.kernel and not kind and re.match(
                r"(const\s+)?[a-z_]\w*\s+[*\s]*(restrict\s+|const\s+)*\w+\s*(\[|=|,|$)",
                text):
            return  # of a type that holds no slope
        if kind and kind.group(1).startswith("struct") and kind.group(1) != "struct phys_vec3":
            return
        for b, e in split_top(text, begin, ","):
            self.assignment(b, e, kind.group(1) if kind else None, slopes_only)

    def assignment(self, begin, end, kind, slopes_only):
        text = self.code[begin:end]
        m = re.search(r"(?<![=<>!])([-+*/]?=)(?!=)", text)
        if not m or text[m.end():].lstrip().startswith(("{", "(struct")):
            return
        left = text[:m.start()].strip()
        if slopes_only and not SLOPE.search(left):
            return
        if self.kernel and not kind and left in INTEGERS:
            return
        if left.startswith("*") and m.group(1) == "=" and kind:
            return  # a pointer
        if kind and re.search(r"\*\s*((const|restrict)\s+)?\w+$", left):
            return
        right = begin + m.end()
        if kind == "struct phys_vec3" or re.match(
                r"\s*phys_(axpy|scale|vec3|load)\s*\(", text[m.end():]):
            if text[m.end():].rstrip().endswith(")"):
                self.vector(right, end)
        elif not left.startswith("*") or "phys_" not in text[m.end():]:
            if not re.match(r"\s*[&*]", text[m.end():]):
                self.scalar(right, end)

    def run(self):
        depth, begin, function, parens = 0, 0, "", 0
        for i, c in enumerate(self.code):
            if c in "([":
                parens += 1
            elif c in ")]":
                parens -= 1
            elif parens:
                continue
            elif c == "{":
                before = self.code[begin:i]
                if depth == 0:
                    name = re.search(r"(\w+)\s*\([^;{}]*\)\s*$", before, flags=re.S)
                    function = name.group(1) if name else ""
                depth += 1
                begin = i + 1
            elif c == "}":
                depth -= 1
                begin = i + 1
            elif c == ";":
                if depth > 0 and function:
                    self.statement(begin, i, function)
                begin = i + 1

    def write(self, first):
        """the edited text and its sites, numbered from `first`"""
        inserts, sites = [], []
        for number, (b, e, before, after, line, what) in enumerate(self.edits, first):
            inserts.append((b, 1, -(e - b), before.replace("%d", str(number))))
            inserts.append((e, 0, e - b, after.replace("%d", str(number))))
            sites.append("%d\t%s\t%d\t%s" % (number, self.name, line, what))
        # at one place: ends before beginnings, inner ends first, outer beginnings first
        inserts.sort(key=lambda x: (x[0], x[1], x[2]))
        out, at = ["extern double mutation[]; "], 0
        if self.kernel:
            out += ["extern const double *mutation_scaled(int n, double factor, ",
                    "const double *lanes); "]
        for place, _, _, text in inserts:
            out += [self.text[at:place], text]
            at = place
        return "".join(out) + self.text[at:], sites


def files_of(part):
    """(name, whole, functions) of each"""
    if part in KERNELS:
        return [(FOLDER.get(name, "kernels/" + part + "/") + name, True, functions)
                for name, functions in KERNELS[part].items()]
    return [(name, name in WHOLE, None) for name in WHOLE + SLOPES]


def main():
    source, part = os.path.join(sys.argv[1], "src/nanobrag"), sys.argv[2]
    skipped = set(sys.argv[3:])  # FILE:LINE that do not compile
    sites = []
    for name, whole, functions in files_of(part):
        path = os.path.join(source, name)
        with open(path, encoding="utf-8") as f:
            file = File(name, f.read(), whole, functions, part in KERNELS)
        file.run()
        file.edits = [x for x in file.edits if "%s:%d" % (name, x[4]) not in skipped]
        text, new = file.write(len(sites))
        sites += new
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    with open(os.path.join(sys.argv[1], "mutation_sites.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(sites) + "\n")
    print("%d sites" % len(sites))


main()
