"""The newest whole checkpoint of a job, by a pattern of paths.

A shared file system may hang whoever lists it, so that is done by a process of its own: this file, run
as a program. It therefore needs nothing but the standard library.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator

JOB = "{job}"
COPY = "{copy}"
STEP = "{step}"
# Names read in one search; a search that would need more finds nothing.
MOST_ENTRIES = 200_000
_PLACEHOLDERS = re.compile(r"(\{job\}|\{copy\}|\{step\}|\*)")
_SAFE_JOB = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_.+-]{0,127}")


def mistake(pattern: str) -> str:
    """What is wrong with a pattern; empty when nothing is."""
    if not pattern.startswith("/"):
        return "expected an absolute path"
    if pattern.count(STEP) != 1:
        return f"expected {STEP} once, where the number of the step stands"
    if pattern.count(COPY) > 1 or (COPY in pattern and pattern.index(COPY) > pattern.index(STEP)):
        return f"expected {COPY} once at most, before {STEP}"
    if set("{}") & set(_PLACEHOLDERS.sub("", pattern)):
        return f"only {JOB}, {COPY}, {STEP} and * stand for something"
    return ""


def newest(
    entries: Iterable[tuple[str, ...]], pattern: str, job: str, before: int | None = None
) -> str:
    """The path of the greatest copy and step; empty without one. Entries are paths in parts. Pure.

    With `before` only smaller steps count.
    """
    regex = re.compile("/".join(map(str, _expressions(pattern, job))))
    best: tuple[tuple[int, ...], str] | None = None
    for components in entries:
        path = "/".join(components)
        match = regex.fullmatch(path)
        if match is None or "\n" in path or (before is not None and int(match["step"]) >= before):
            continue
        candidate = (
            tuple(int(match[name]) for name in ("copy", "step") if name in match.re.groupindex),
            path,
        )
        if best is None or candidate > best:
            best = candidate
    return best[1] if best is not None else ""


def step_of(pattern: str, job: str, path: str) -> int | None:
    """The number of the step of a path; None for one that does not fit. Pure."""
    match = re.fullmatch("/".join(_expressions(pattern, job)), path)
    return None if match is None else int(match["step"])


def _expressions(pattern: str, job: str) -> list[str]:
    """A regular expression for each part of the path."""
    meanings = {
        JOB: re.escape(job),
        COPY: r"(?P<copy>\d{1,12})",
        STEP: r"(?P<step>\d{1,12})",
        "*": "[^/]*",
    }
    return [
        "".join(meanings.get(piece) or re.escape(piece) for piece in _PLACEHOLDERS.split(component))
        for component in pattern.split("/")
    ]


def listed(pattern: str, job: str) -> Iterator[tuple[str, ...]]:
    """Paths that are there and fit so far, folder by folder. Raises ValueError beyond MOST_ENTRIES."""
    left = MOST_ENTRIES
    matches: list[tuple[str, ...]] = [("",)]
    for component, expression in list(
        zip(pattern.split("/"), _expressions(pattern, job), strict=True)
    )[1:]:
        if not _PLACEHOLDERS.search(component.replace(JOB, "")):
            matches = [(*folder, component.replace(JOB, job)) for folder in matches]
            continue
        fits = re.compile(expression)
        deeper: list[tuple[str, ...]] = []
        for folder in matches:
            names = _names("/".join(folder) or "/", left)
            left -= len(names)
            deeper += [(*folder, name) for name in names if fits.fullmatch(name)]
        matches = deeper
    yield from matches


def _names(folder: str, most: int) -> list[str]:
    names = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > most:
                    raise ValueError(f"more than {MOST_ENTRIES} names")
    except OSError:
        return []
    return names


def main(pattern: str, job: str, complete: str) -> int:
    """Print the path of the newest checkpoint and, in a second line, of the one before it.

    With `complete` only those count in which a file of that name is.
    """
    if not _SAFE_JOB.fullmatch(job):
        return 1
    try:
        entries = [
            components
            for components in listed(pattern, job)
            if os.path.exists("/".join((*components, complete) if complete else components))  # noqa: PTH110
        ]
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    first = newest(entries, pattern, job)
    second = newest(entries, pattern, job, step_of(pattern, job, first)) if first else ""
    sys.stdout.write(f"{first}\n{second}" if second else first)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
