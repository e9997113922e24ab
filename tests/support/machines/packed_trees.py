"""Fake /sys and /proc trees below a root: written file by file, or laid out from packed ones.

A packed tree is JSON: `files` (path to content) and `links` (path to target). A content is text, or
an object of `text` with `nul_padded_to`, of `zeros` (a number of NUL bytes), or of `b64`.
"""

import base64
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from support.machines.samples import FIXTURES, sample

Packed = str | dict[str, str | int]


def unpacked(value: Packed) -> bytes:
    """Bytes of one packed file."""
    if isinstance(value, str):
        return value.encode()
    if "b64" in value:
        return base64.b64decode(str(value["b64"]))
    text = str(value.get("text", "")).encode()
    return text.ljust(int(value.get("nul_padded_to", value.get("zeros", 0))), b"\0")


class FakeTree:
    """Files and links below a root; paths are relative to it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, content: Packed | bytes) -> None:
        """Create or replace a file."""
        file = self._file(path)
        file.write_bytes(content if isinstance(content, bytes) else unpacked(content))

    def link(self, path: str, target: str) -> None:
        """A symbolic link; a target that begins with / is kept, another is below the root."""
        file = self._file(path)
        kept = target.startswith("/")
        file.symlink_to(target if kept else os.path.relpath(self.root / target, file.parent))

    def _file(self, path: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def pci(self, bus_id: str, *bridges: str) -> str:
        """Folder of a PCI function below the given bridges, linked from /sys/bus/pci/devices."""
        folder = "/".join(("sys/devices/pci0000:00", *bridges, bus_id))
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        self.link(f"sys/bus/pci/devices/{bus_id}", folder)
        return folder

    def lay_out(self, name: str) -> None:
        """A composed machine of the fixtures: `<vendor>/<machine>`."""
        packed = json.loads((FIXTURES / name / "tree.json").read_text())
        for path, content in packed["files"].items():
            self.write(path, content)
        for path, target in packed["links"].items():
            self.link(path, target)


class OnTree(Protocol):
    """A machine that is read from a tree."""

    tree: FakeTree


M = TypeVar("M", bound=OnTree)


def composed_machines(machine: M, vendor: str) -> Callable[[str], M]:
    """Lays out one composed machine of fixtures/<vendor>."""

    def lay_out(name: str) -> M:
        machine.tree.lay_out(f"{vendor}/{name}")
        return machine

    return lay_out


def recorded_cards(
    machine: M, vendor: str, lay_out_card: Callable[[M, Mapping[str, Packed]], object]
) -> Callable[[str], M]:
    """Lays out one recorded card of a vendor; skips where the recordings are missing."""

    def lay_out(name: str) -> M:
        packed = json.loads(sample(f"{vendor}/sysfs/{name}.json").read_text())
        lay_out_card(machine, packed["files"])
        return machine

    return lay_out


def uevent_of(files: Mapping[str, Packed]) -> tuple[str, dict[str, str]]:
    """Name of the recorded `card*` and the keys of its device's uevent."""
    name = next(path for path in files if path.endswith("/device/uevent"))
    lines = unpacked(files[name]).decode().strip("\0\n").splitlines()
    return name.split("/")[0], dict(line.split("=", 1) for line in lines)
