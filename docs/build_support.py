"""Writes the table of docs/vendors.md from the backends' declarations: `python docs/build_support.py`.

A test keeps it current.
"""

from functools import partial
from pathlib import Path

from accelwatch.backend import Supported
from accelwatch.plugins import entry_points as plugins

TARGET = Path(__file__).parent / "vendors.md"
BEGIN = "<!-- made by docs/build_support.py from the backends -->\n"
END = "<!-- end of the table -->\n"
_HEAD = "| vendor | read through | tested with |\n|---|---|---|\n"


def _rows() -> list[str]:
    """A row for each backend that declares what it supports: vendors by name, then the rest."""
    backends = map(partial(plugins.load, plugins.BACKENDS), plugins.names(plugins.BACKENDS))
    declared = [backend.support for backend in backends if isinstance(backend, Supported)]
    declared.sort(key=lambda told: (told.vendor.islower(), told.vendor))
    return [f"| {told.vendor} | {told.source} | {told.tested_with} |\n" for told in declared]


def page(text: str) -> str:
    """The page with the table as it should be."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}{_HEAD}{''.join(_rows())}{END}{after}"


if __name__ == "__main__":
    TARGET.write_text(page(TARGET.read_text(encoding="utf-8")), encoding="utf-8")
