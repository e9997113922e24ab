"""The guess at what is on the PCI bus, over the kernel's table and over what is none."""

from pathlib import Path

import pytest

from accelwatch.system.kernel.pci_bus import on_bus

_ZEROS = "\t0" * 15


def _table(root: Path, text: str) -> Path:
    path = root / "proc/bus/pci/devices"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return root


def test_vendors_and_drivers_of_all_functions(tmp_path: Path) -> None:
    table = (
        f"0010\t80860D57{_ZEROS}\n0100\t10de2330{_ZEROS}\tnvidia\n0101\t10022000{_ZEROS}\tamdgpu\n"
    )
    assert on_bus(_table(tmp_path, table)) == frozenset(
        {"8086", "10de", "1002", "nvidia", "amdgpu"}
    )


def test_a_machine_without_functions(tmp_path: Path) -> None:
    assert on_bus(_table(tmp_path, "")) == frozenset()


@pytest.mark.parametrize(
    "table",
    ["nonsense\n", f"0010\t80860d57{_ZEROS}\n0100\t10de", f"0010\t8086{_ZEROS}\n", "\x00\xff"],
)
def test_a_table_that_cannot_be_read_says_nothing(tmp_path: Path, table: str) -> None:
    assert on_bus(_table(tmp_path, table)) is None


def test_no_table_says_nothing(tmp_path: Path) -> None:
    assert on_bus(tmp_path) is None
