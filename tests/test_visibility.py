"""By which variable a vendor's jobs are told their devices is the backend's own declaration."""

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.backend import Visibility
from accelwatch.query.picking import Criteria, pick
from accelwatch.query.selection import visible
from accelwatch.schema.snapshot import DeviceView
from accelwatch.visibility import Declared
from machines import device, view

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


def test_a_backend_given_by_address_is_asked_too(folder: Path) -> None:
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
def test_a_strangers_variables_are_heeded(
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
def test_a_broken_declaration_is_told_and_gives_nothing_away(
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
    with pytest.raises(ValueError, match="no name of an environment variable"):
        Visibility(variable=name)
    with pytest.raises(ValueError, match="no name of an environment variable"):
        Visibility(variable="A", also=(name,))
