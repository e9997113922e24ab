"""By which variable a vendor's jobs are told their devices is the backend's own declaration."""

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.backend import Visibility
from accelwatch.base.errors import UnmetError
from accelwatch.node.query.picking import Criteria, pick
from accelwatch.node.query.selection import visible
from accelwatch.node.query.visibility import Declared
from accelwatch.schema.snapshot import DeviceView
from support.machines.composed import device, view

_MODULE = """
from accelwatch.backend import Visibility

class Backend:
    name = "stranger"
    vendor = "other"
    visibility = {declared}
"""
_BY_UUID = """Visibility(
        variable="OTHER_DEVICES", uuid_pattern="OTHER-[0-9]+", also=("OTHER_FIRST",)
    )"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the import path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("stranger_of_others", None)


def installed(folder: Path, declared: str, *, name: str = "stranger") -> None:
    """Install a stranger's backend with this declaration."""
    (folder / "stranger_of_others.py").write_text(_MODULE.format(declared=declared))
    metadata = folder / "stranger-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text(
        f"[accelwatch.backends]\n{name} = stranger_of_others:Backend\n"
    )


def other(index: int) -> DeviceView:
    """A device that only the stranger's backend knows."""
    one = device(index, vendor="other", backend="stranger", id=f"o{index}", uuid=f"OTHER-{index}")
    return msgspec.structs.replace(view(index), device=one)


@pytest.mark.parametrize("name", ["stranger", "other", "zz_last"])
def test_a_strangers_device_can_be_picked(folder: Path, name: str) -> None:
    installed(folder, _BY_UUID, name=name)
    chosen = pick([other(0), other(1)], Criteria(count=2), Declared())
    assert (chosen.variable, chosen.value) == ("OTHER_DEVICES", "OTHER-0,OTHER-1")


def test_a_backend_given_by_address_is_queried_too(folder: Path) -> None:
    (folder / "stranger_of_others.py").write_text(_MODULE.format(declared=_BY_UUID))
    assert Declared().of(other(0).device) is None
    found = Declared(["nvidia", "stranger_of_others:Backend"]).of(other(0).device)
    assert found is not None
    assert found.variable == "OTHER_DEVICES"


def test_indices_are_given_where_no_uuid_is_taken(folder: Path) -> None:
    installed(folder, 'Visibility(variable="OTHER_DEVICES")')
    assert pick([other(3)], Criteria(), Declared()).value == "3"


@pytest.mark.parametrize(
    ("environ", "indices"),
    [
        ({}, [0, 1]),
        ({"OTHER_DEVICES": "1"}, [1]),
        ({"OTHER_FIRST": "0"}, [0]),
        ({"OTHER_FIRST": "0", "OTHER_DEVICES": "1"}, [0]),
        ({"CUDA_VISIBLE_DEVICES": ""}, [0, 1]),
    ],
)
def test_a_strangers_variables_count(
    folder: Path, environ: dict[str, str], indices: list[int]
) -> None:
    installed(folder, _BY_UUID)
    kept = visible([other(0), other(1)], environ, Declared())
    assert [one.device.index for one in kept] == indices


def test_our_vendors_are_those_with_a_declaration() -> None:
    vendors = Declared().vendors()
    assert {"amd", "intel", "nvidia"} <= set(vendors)
    assert vendors == sorted(vendors)
    assert "host" not in vendors


def test_a_strangers_vendor_is_one_more(folder: Path) -> None:
    installed(folder, _BY_UUID)
    assert {"nvidia", "other"} <= set(Declared().vendors())


@pytest.mark.parametrize(
    ("declared", "fault"),
    [
        ("'OTHER_DEVICES'", "visibility is a str, not a Visibility"),
        ("Visibility(variable='OTHER', uuid_pattern='(')", "its pattern of a uuid is none"),
        ("1 // 0", "cannot be loaded"),
    ],
)
def test_a_broken_declaration_is_reported_without_its_text(
    folder: Path, declared: str, fault: str
) -> None:
    installed(folder, declared)
    found = Declared()
    assert found.of(other(0).device) is None
    assert found.of(device(0)) is not None
    assert len(found.faults) == 1
    assert fault in found.faults[0]


@pytest.mark.parametrize(
    "name", ["", "A B", "1A", "A=B", "A;id", "\N{LATIN SMALL LETTER E WITH ACUTE}"]
)
def test_a_variable_is_a_name_that_a_shell_takes(name: str) -> None:
    with pytest.raises(ValueError, match="not a valid environment variable name"):
        Visibility(variable=name)
    with pytest.raises(ValueError, match="not a valid environment variable name"):
        Visibility(variable="A", also=(name,))


@pytest.mark.parametrize(
    "entry", ["", "index", "{uuid}", "{index},", "{index}{index}", "a b{index}"]
)
def test_an_entry_is_made_of_an_index_or_an_address(entry: str) -> None:
    with pytest.raises(ValueError, match="ends neither with"):
        Visibility(variable="A", entry=entry)


def test_a_device_is_named_as_its_runtime_wants_it() -> None:
    furiosa = device(3, vendor="furiosa", backend="furiosa")
    chosen = pick([msgspec.structs.replace(view(3), device=furiosa)], Criteria(), Declared())
    assert (chosen.variable, chosen.value) == ("FURIOSA_DEVICES", "npu:3")


def chip(index: int, bus: str | None) -> DeviceView:
    one = device(index, vendor="tenstorrent", backend="tenstorrent", pci_bus_id=bus)
    return msgspec.structs.replace(view(index), device=one)


def test_a_chip_is_given_by_its_address() -> None:
    chosen = pick([chip(0, "0000:01:00.0")], Criteria(), Declared())
    assert (chosen.variable, chosen.value) == ("TT_VISIBLE_DEVICES", "0000:01:00.0")


@pytest.mark.parametrize(
    ("bus", "reason"),
    [
        (None, "has no PCI address by which a job could be given it"),
        ("0000:01:00.0,0", "its PCI address '0000:01:00.0,0' cannot be used in TT_VISIBLE"),
    ],
)
def test_a_chip_without_a_sound_address_is_given_to_nobody(bus: str | None, reason: str) -> None:
    with pytest.raises(UnmetError, match=reason):
        pick([chip(0, bus)], Criteria(), Declared())


@pytest.mark.parametrize(
    ("text", "indices"),
    [
        ("0000:41:00.0", [1]),
        ("41:00.0,0000:01:00.0", [0, 1]),
        ("1", [1]),
        ("", []),
        ("0000:99:00.0,0000:41:00.0", []),
    ],
)
def test_chips_that_a_variable_with_addresses_leaves(text: str, indices: list[int]) -> None:
    chips = [chip(0, "0000:01:00.0"), chip(1, "0000:41:00.0")]
    found = visible(chips, {"TT_VISIBLE_DEVICES": text}, Declared())
    assert [one.device.index for one in found] == indices


@pytest.mark.parametrize(
    ("text", "indices"),
    [("npu:1", [1]), ("npu:0:0-3,npu:1:*", [0, 1]), ("npu:10", []), ("warboy*1", []), ("1", [1])],
)
def test_cards_that_a_variable_with_device_specifications_leaves(
    text: str, indices: list[int]
) -> None:
    cards = [
        msgspec.structs.replace(view(at), device=device(at, vendor="furiosa", backend="furiosa"))
        for at in (0, 1)
    ]
    found = visible(cards, {"FURIOSA_DEVICES": text}, Declared())
    assert [one.device.index for one in found] == indices
