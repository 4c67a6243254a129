#!/usr/bin/env python3
"""prose.py [--list] - counts sentences that are hard to read, against ceilings.

A sentence is hard where a pronoun stands for a noun of another place ("that of", "what is", "of
which" and the like), or where it has more than 45 words. --list prints them.
SPDX-License-Identifier: MIT
"""

import pathlib
import re
import sys

PRONOUNS = re.compile(
    r"\b(that of|those of|what (?:is|the|a)|(?:of|in|by|with|to) which|these are|that which"
    r"|other ones|the others)\b"
)
LONG = 45
SHORT = 5  # fewer words are a heading or a label

# Of each kind: the largest share of sentences with such a pronoun, and of long ones, in percent.
# They only fall; 3 (comments: 2) is the aim.
CEILINGS = {"docs": (0.5, 0.2), "headers": (0.5, 0.2), "comments": (0.3, 0.1)}


def sentences_of_markdown(text: str) -> list[str]:
    """Splits running text: code blocks, tables and headings are left out."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    text = re.sub(r"^(\||#).*$", "", text, flags=re.M)
    paragraphs = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text)
    joined = [re.sub(r"\s+", " ", p).strip() for p in paragraphs]
    return [s for p in joined for s in re.split(r"(?<=[.!?])\s+(?=[A-Z`*])", p)]


def sentences_of_comments(text: str) -> list[str]:
    """Splits the comments of a C file."""
    comments = re.findall(r"/\*.*?\*/", text, flags=re.S)
    plain = [re.sub(r"^[ \t]*(/\*+|\*+/?)|\*/$", "", c, flags=re.M) for c in comments]
    joined = [re.sub(r"\s+", " ", c) for c in plain]
    return [s for c in joined for s in re.split(r"(?<=[.;:!?])\s+", c)]


def texts(root: pathlib.Path) -> dict[str, list[tuple[pathlib.Path, str]]]:
    """Returns the sentences of each kind, with their files."""
    kinds = {
        "docs": ([root / "README.md", root / "arch.md", *root.glob("docs/**/*.md")], "md"),
        "headers": (root.glob("include/nanobrag/*.h"), "c"),
        "comments": (root.glob("src/**/*.[ch]"), "c"),
    }
    out = {}
    for kind, (files, form) in kinds.items():
        split = sentences_of_markdown if form == "md" else sentences_of_comments
        found = [(f, s) for f in sorted(files) for s in split(f.read_text())]
        out[kind] = [(f, s) for f, s in found if len(s.split()) >= SHORT]
    return out


def main() -> int:
    """Prints measured against allowed; 1 where a ceiling is passed."""
    root = pathlib.Path(__file__).resolve().parent.parent
    bad = 0
    for kind, found in texts(root).items():
        hard = [(f, s) for f, s in found if PRONOUNS.search(s)]
        long_ones = [(f, s) for f, s in found if len(s.split()) > LONG]
        for name, those, most in zip(
            ("by pronouns", f"above {LONG} words"), (hard, long_ones), CEILINGS[kind], strict=True
        ):
            share = 100 * len(those) / max(len(found), 1)
            word = "ok" if share <= most else "not ok"
            bad += share > most
            print(f"prose: {word} {kind} {name}: {share:.2f} % of {len(found)}, {most} allowed")
            if "--list" in sys.argv[1:]:
                for file, sentence in those:
                    print(f"{file.relative_to(root)}: {sentence}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
