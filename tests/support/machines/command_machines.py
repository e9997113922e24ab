"""Machines whose devices a vendor's command lists: a PCI bus, a program of shell, fixture machines."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from support.machines.staged_machines import FixtureMachine, Stage

Stages = Callable[[Path], AbstractContextManager[Stage]]
# Files of a function with a link, for `lay_out_function`.
LINK = {
    "current_link_speed": "16.0 GT/s PCIe",
    "current_link_width": "16",
    "max_link_speed": "32.0 GT/s PCIe",
    "max_link_width": "16",
}


def prints(files: Mapping[str, str]) -> str:
    """Shell that prints, by arguments (`-q -x`), the file that the machine has for them."""
    cases = "\n".join(f'  "{arguments}") file={file} ;;' for arguments, file in files.items())
    return (
        f'case "$*" in\n{cases}\nesac\n'
        'if [ -n "$file" ] && [ -f ROOT/$file ]; then exec cat ROOT/$file; fi\n'
        'echo "unknown option: $*" >&2; exit 2'
    )


class VendorMachines(NamedTuple):
    """What the machines of one vendor have in common."""

    vendor: str
    # Its path, from the root.
    program: str
    # Shell; `ROOT` in it is the root.
    script: str
    vendor_id: str
    device_id: str
    # The PCI class of its devices.
    code: str

    def write_program(self, root: Path, text: str = "") -> Path:
        """The vendor's command; `text` is shell to run instead."""
        program = root / self.program
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text or self.script}\n".replace("ROOT", str(root)))
        program.chmod(0o755)
        return program

    def lay_out_function(
        self,
        root: Path,
        bus: str,
        code: str = "",
        *,
        vendor_id: str = "",
        numa: str = "0",
        link: bool = False,
    ) -> Path:
        """A function on the PCI bus."""
        folder = root / "sys/bus/pci/devices" / bus
        folder.mkdir(parents=True)
        files = {
            "vendor": vendor_id or self.vendor_id,
            "device": self.device_id,
            "class": code or self.code,
            "numa_node": numa,
            **(LINK if link else {}),
        }
        for name, text in files.items():
            (folder / name).write_text(f"{text}\n")
        return folder

    def machine(
        self,
        name: str,
        stage: Stages,
        *,
        healthy: bool,
        removable: bool = False,
        reports_fault: bool = False,
    ) -> FixtureMachine:
        """A machine of the contract suite."""
        can = frozenset({"devices", "removable"} if removable else {"devices"})
        return FixtureMachine(
            f"{self.vendor}-{name}",
            self.vendor,
            healthy,
            stage,
            can,
            reports_fault=reports_fault,
        )
