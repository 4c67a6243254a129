# SPDX-License-Identifier: MIT
"""Reads the C headers: structs with the comment of each member, enums, and functions.

The headers of this project are regular enough for a scanner of a page: a comment that begins on
the line on which a declaration ends belongs to that declaration, any other to the next one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

HEADERS = [
    "status", "array", "context", "io", "scene", "params", "simulator", "description", "compile",
    "image", "gradcheck", "structure", "fit", "experiment", "formats", "geometry",
    "reflections",
]  # fmt: skip
# those of which nothing is taken: macros, what includes the others, and a library of its own
NOT_READ = ["export", "nanobrag", "mpi"]


@dataclass
class Member:
    """One member of a struct, or one constant of an enum."""

    name: str
    type: str = ""
    dims: list[str] = field(default_factory=list)
    comment: str = ""
    value: str = ""


@dataclass
class Block:
    """A struct or an enum with its members; `tag` is "" for an enum without a name."""

    kind: str
    tag: str
    comment: str
    members: list[Member]


UNITS = (
    r"(?:1/A(?:\^\d)?|A(?:\^\d)?|A, degree|1/A, degree|A, 1/A, degree|1/A, A, degree|degree|mm|mm or pixel"
    r"|um|m|mrad|radian|steradian|pixel|cells|electron(?:\^2)?|electron/A\^3, A\^2|photons"
    r"|photons/\S+|s|g/\S+|byte|\([\w x]+\))"
)


def tidy(comment: str) -> str:
    """The text of a comment on one line, with the unit or shape of its right column in brackets."""
    text = re.sub(r"^[ \t]*\*(?=\s|$)", "  ", comment.strip()[2:-2].rstrip(), flags=re.M)
    unit = re.search(rf"(?:^|\s\s)\s*({UNITS})$", text) or re.search(rf" ({UNITS})$", text)
    if unit and ("  " in unit.group() or text.strip() == unit.group(1)):
        text = f"{text[: unit.start()]} [{unit.group(1).strip('()')}]"
    return " ".join(text.split())


def pieces(body: str) -> list[tuple[str, str, bool]]:
    """Splits the body of a block into ("comment" | "code", text, on the line of the last code)."""
    found: list[tuple[str, str, bool]] = []
    ends = ";" if ";" in re.sub(r"/\*.*?\*/", "", body, flags=re.S) else ","
    pattern = re.compile(rf"/\*.*?\*/|[^{ends}/]*(?:/(?!\*)[^{ends}/]*)*{ends}?", re.S)
    last_code_end = -1
    at = 0
    while at < len(body):
        match = pattern.match(body, at)
        assert match
        text = match.group()
        if not text:
            at += 1
            continue
        if text.startswith("/*"):
            same = last_code_end >= 0 and "\n" not in body[last_code_end:at]
            found.append(("comment", text, same))
        elif text.strip():
            # a declaration may be interrupted by a comment before its end
            found.append(("code", " ".join(text.split()), False))
            last_code_end = match.end()
        at = match.end()
    return found


def declare(text: str) -> list[Member]:
    """The members that one declaration such as "double a[3], b" makes."""
    text = text.rstrip(";, ")
    pointer = re.match(r"(.*?)\(\*(\w+)\)\((.*)\)$", text)
    if pointer:
        return [Member(pointer.group(2), "function")]
    match = re.match(r"(.*?)((?:\**)\w+(?:\[\w+\])*(?:,.*)?)$", text)
    assert match, text
    base, rest = match.group(1).strip(), match.group(2)
    members = []
    for part in rest.split(","):
        part = part.strip()
        stars = ""
        while part.startswith("*"):
            stars, part = stars + "*", part[1:].strip()
        name = re.match(r"\w+", part)
        assert name, text
        members.append(
            Member(name.group(), (base + (" " + stars if stars else "")).strip(), re.findall(r"\[(\w+)\]", part))
        )
    return members


def members_of(kind: str, body: str) -> list[Member]:
    members: list[Member] = []
    latest: list[Member] = []
    before: list[str] = []
    for what, text, same in pieces(body):
        if what == "comment":
            if same and latest:
                for member in latest:
                    member.comment = f"{member.comment} {tidy(text)}".strip()
            elif not tidy(text).startswith("----"):  # the heading of a section
                before.append(tidy(text))
            continue
        if kind == "enum":
            name, _, value = text.rstrip(", ").partition("=")
            latest = [Member(name.strip(), value=value.strip())] if name.strip() else []
        else:
            latest = declare(text)
        for member in latest:
            member.comment = " ".join(before)
        before = []
        members += latest
    return members


def list_macro(text: str, macro: str) -> list[Member]:
    """The rows of a macro such as NB_STATUS_LIST: names with the text beside them."""
    match = re.search(rf"#define {macro}\(X\)(.*?)\n\n", text, re.S)
    assert match, macro
    return [Member(n, comment=t) for n, t in re.findall(r'X\((\w+), "(.*?)"\)', match.group(1))]


def read(include: Path) -> list[Block]:
    """Every struct and enum of the headers in `include`."""
    blocks: list[Block] = []
    for name in HEADERS:
        text = (include / f"{name}.h").read_text()
        pattern = re.compile(r"^(?:typedef )?(struct|enum)(?: (\w+))? \{(.*?)\}(?: (\w+))?;", re.S | re.M)
        for match in pattern.finditer(text):
            kind, tag, body = match.group(1), match.group(2) or "", match.group(3)
            lead = text[: match.start()].rstrip()
            comment = ""
            if lead.endswith("*/"):
                comment = lead[lead.rindex("/*") :]
            if tag in ("nb_status", "nb_verdict"):
                prefix = "" if tag == "nb_status" else "VERDICT_"
                rows = list_macro(text, tag.upper() + "_LIST")
                members = [Member(f"NB_{prefix}{m.name}", comment=m.comment) for m in rows]
            else:
                members = members_of(kind, body)
            blocks.append(Block(kind, tag, tidy(comment) if comment else "", members))
    return blocks


def functions(include: Path) -> list[str]:
    """The name of every function that the headers declare."""
    text = "".join((include / f"{name}.h").read_text() for name in [*HEADERS, "nanobrag"])
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return sorted(set(re.findall(r"NB_API[^;(]*?\b(nb_\w+)\(", text)))
