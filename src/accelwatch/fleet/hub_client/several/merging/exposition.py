"""The pages for Prometheus of several hubs as one: each series with its hub, a family once. Pure."""

import re
from collections.abc import Mapping, Sequence

from accelwatch.exposition.families import escape

_UP = "accel_fleet_hub_up"
_HEAD = re.compile(r"# (?:HELP|TYPE) (\S+)")
# Labels of that name where a label's name stands: in a value quotes are escaped.
_OWN = re.compile(r'(?<=[{,])((?:exported_)*hub=")')


def pages_merged(pages: Mapping[str, str], hubs: Sequence[str], own: str = "") -> bytes:
    """The pages of hubs by name, and of all `hubs` whether they answered.

    `own` is the page of who merges them, whose series stay as they are.
    """
    # A hub over hubs has this family too, and a page has each but once.
    heads = {_UP: [f"# HELP {_UP} Whether the hub answered.", f"# TYPE {_UP} gauge"]}
    samples = {_UP: [f'{_UP}{{hub="{escape(hub)}"}} {int(hub in pages)}' for hub in hubs]}
    for hub, page in (("", own), *pages.items()):
        label = f'hub="{escape(hub)}"' if hub else ""
        family = ""
        for line in page.splitlines():
            if match := _HEAD.match(line):
                family = match[1]
                head = heads.setdefault(family, [])
                if not any(
                    line_before.split(" ", 3)[1] == line.split(" ", 3)[1] for line_before in head
                ):
                    head.append(line)
                samples.setdefault(family, [])
            elif line and not line.startswith("#"):
                samples.setdefault(family, []).append(_labelled(line, label) if label else line)
    lines: list[str] = []
    for family, lines_of in samples.items():
        lines += [*heads.get(family, ()), *lines_of]
    return ("\n".join(lines) + "\n").encode()


def _labelled(line: str, label: str) -> str:
    """A sample with one more label; its own of that name becomes `exported_hub`, and so on."""
    name, brace, remaining = line.partition("{")
    if brace and " " not in name:
        return f"{name}{{{label}{'' if remaining.startswith('}') else ','}" + _OWN.sub(
            r"exported_\1", "{" + remaining
        ).removeprefix("{")
    name, _, value = line.partition(" ")
    return f"{name}{{{label}}} {value}"
