"""What hy-smi prints of its cards, by card and key: JSON, `HCU[0] : key: value`, and its table. Pure.

Keys are in lower case, with `hcu` for `dcu`: the vendor renamed its devices between releases.
"""

import re
from collections.abc import Mapping

from accelwatch.backend.kit.text.failed_cells import normalise_failed_cells
from accelwatch.system.processes.printed import complete_lines, json_documents

# Text by key, of one card.
Fields = Mapping[str, str]
# Fields by the vendor's index.
Report = dict[int, dict[str, str]]

MAX_CARDS = 1024
_CARD = re.compile(r"card(\d{1,4})")
_LINE = re.compile(r"(?:HCU|DCU|GPU)\[(\d{1,4})\]\s*: ?\s*(.+?)\s*:\s+(\S.*?)\s*", re.IGNORECASE)
# Some releases leave out the comma between the powers: `"80.0""Average GFX Core Power (W)"`.
_UNSEPARATED = re.compile(rb'""(?=[A-Za-z(])')
_NUMBER_HEADINGS = frozenset({"hcu", "dcu", "gpu", "device"})
# The index under which the fields of the whole machine stand.
SYSTEM = -1


def key_of(text: str) -> str:
    """A key as it is known here: of `DCU use (%)` it is `hcu use (%)`."""
    return re.sub(r"\b[dg]cu\b", "hcu", " ".join(text.lower().split())).rstrip(" :")


def fields_of(output: bytes) -> Report:
    """Fields from JSON, with whatever words around it; from lines where there is none."""
    repaired = _UNSEPARATED.sub(b'","', output)
    documents = (document for text in (output, repaired) for document in json_documents(text))
    return next(filter(None, map(_report_of, documents)), None) or _from_lines(output)


def _report_of(document: object) -> Report:
    report: Report = {}
    for name, fields in document.items() if isinstance(document, dict) else ():
        number = _index(name)
        if number is None or not isinstance(fields, dict) or len(report) >= MAX_CARDS:
            continue
        report[number] = {key_of(key): _text(value) for key, value in fields.items()}
    return report


def _index(name: str) -> int | None:
    if name == "system":
        return SYSTEM
    match = _CARD.fullmatch(name)
    return int(match[1]) if match else None


def _text(value: object) -> str:
    """A number as text; what is neither text nor a number is as if it were not understood."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else "?"


def _from_lines(output: bytes) -> Report:
    report: Report = {}
    for line in complete_lines(output):
        match = _LINE.fullmatch(line.strip())
        if match is not None and (int(match[1]) in report or len(report) < MAX_CARDS):
            report.setdefault(int(match[1]), {})[key_of(match[2])] = match[3]
    return report


def rows_of(output: bytes) -> Report:
    """Rows of the table by heading: the first line whose first word names the devices is the heading."""
    headings: list[tuple[int, str]] = []
    report: Report = {}
    for line in map(normalise_failed_cells, complete_lines(output)):
        tokens = [(match.start(), match[0]) for match in re.finditer(r"\S+", line)]
        if tokens and tokens[0][1].lower() in _NUMBER_HEADINGS:
            headings = [(at, key_of(token)) for at, token in tokens]
        elif headings and tokens and tokens[0][1].isascii() and tokens[0][1].isdecimal():
            number = int(tokens[0][1]) if len(tokens[0][1]) < 5 else None
            if number is not None and len(report) < MAX_CARDS:
                report.setdefault(number, _row(headings, tokens))
    return report


def has_heading(output: bytes) -> bool:
    """Whether there is a table, if only one without cards."""
    firsts = (line.split(maxsplit=1) for line in complete_lines(output))
    return any(first[0].lower() in _NUMBER_HEADINGS and len(first) > 1 for first in firsts if first)


def _row(headings: list[tuple[int, str]], tokens: list[tuple[int, str]]) -> dict[str, str]:
    """Words by heading, in order; where one is missing, only those that begin below their heading."""
    if len(tokens) == len(headings):
        return {key: token for (_, key), (_, token) in zip(headings, tokens, strict=True)}
    keys_by_column = dict(headings)
    return {keys_by_column[at]: token for at, token in tokens if at in keys_by_column}
