"""Entry points by reading `entry_points.txt` of installed distributions.

The standard library's reader does more and costs 10 to 20 ms to import, a good part of a whole
single reading; it remains the way for installations that are not directories of files.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_SUFFIXES = (".dist-info", ".egg-info")


def entry_points(group: str, path: Sequence[str] | None = None) -> dict[str, str]:
    """Name to `module:attribute` for a group; what comes first on the path wins."""
    found: dict[str, str] = {}
    for text in _texts(sys.path if path is None else path):
        if f"[{group}]" in text:
            for name, value in _section(text, group):
                found.setdefault(name, value)
    return found or _by_standard_library(group, path)


def _texts(path: Sequence[str]) -> Iterator[str]:
    for folder in path:
        try:
            names = sorted(
                name
                for name in os.listdir(folder or ".")  # noqa: PTH208 - names are enough
                if name.endswith(_SUFFIXES)
            )
        except OSError:
            continue
        for name in names:
            try:
                yield Path(folder, name, "entry_points.txt").read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue


def _section(text: str, group: str) -> Iterator[tuple[str, str]]:
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{group}]"
        elif inside and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield name.strip(), value.partition("[")[0].strip()


def _by_standard_library(group: str, path: Sequence[str] | None) -> dict[str, str]:
    from importlib import metadata

    if path is None:
        return {point.name: point.value for point in metadata.entry_points(group=group)}
    distributions = metadata.distributions(path=list(path))
    points = (point for found in distributions for point in found.entry_points)
    return {point.name: point.value for point in points if point.group == group}
