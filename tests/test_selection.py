"""Selectors, visibility and filters over views."""

import msgspec
import pytest

from accelwatch.durations import seconds, size_bytes
from accelwatch.errors import UnmetError, UsageError
from accelwatch.expr import compile_condition, device_names
from accelwatch.query.selection import matching, select, visible
from accelwatch.schema.snapshot import DeviceView
from accelwatch.visibility import Declared
from machines import device, lost_view, mig_view, view

NODE = [view(0), view(1), mig_view(7, 1), lost_view(3)]


@pytest.mark.parametrize(
    ("selector", "indices"),
    [
        ("all", [0, 1, 7, 3]),
        ("1", [1, 7]),
        ("nvidia:0", [0]),
        ("nvidia3", [3]),
        (str(device(0).uuid), [0]),
        ("GPU-00000003", [3]),
        ("00000001-1111", [1, 7]),
        ("00000000:18:00.0", [0]),
        ("MIG-7", [7]),
        (str(device(0).serial), [0]),
    ],
)
def test_selectors(selector: str, indices: list[int]) -> None:
    assert [one.device.index for one in select(NODE, [selector])] == indices


@pytest.mark.parametrize("selector", ["9", "amd:0", "GPU-f", "", "GPU"])
def test_a_selector_that_means_nothing_is_an_error(selector: str) -> None:
    with pytest.raises(UnmetError, match="there are: nvidia:0, nvidia:1, nvidia:3"):
        select(NODE, [selector])


def _amd(index: int) -> DeviceView:
    one = device(index, vendor="amd", id=f"amd:{index}", name=f"amd{index}", pci_bus_id=None)
    return msgspec.structs.replace(view(index), device=one)


def test_an_index_of_several_vendors_is_told_with_their_names() -> None:
    mixed = [*NODE, _amd(1), _amd(2)]
    with pytest.raises(UnmetError) as refused:
        select(mixed, ["nvidia:0", "1"])
    assert str(refused.value) == "'1' means 2 devices; say which: nvidia:1, amd:1"
    assert [one.device.id for one in select(mixed, ["amd:1"])] == ["amd:1"]
    assert [one.device.id for one in select(mixed, ["2"])] == ["amd:2"]
    assert len(select(mixed, ["all"])) == len(mixed)


@pytest.mark.parametrize(
    ("environ", "indices"),
    [
        ({}, [0, 1, 7, 3]),
        ({"CUDA_VISIBLE_DEVICES": "1,0"}, [0, 1, 7]),
        ({"CUDA_VISIBLE_DEVICES": ""}, []),
        ({"CUDA_VISIBLE_DEVICES": "0,-1,1"}, [0]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-00000003"}, [3]),
        ({"ROCR_VISIBLE_DEVICES": ""}, [0, 1, 7, 3]),
    ],
)
def test_visibility(environ: dict[str, str], indices: list[int]) -> None:
    assert [one.device.index for one in visible(NODE, environ, Declared())] == indices


@pytest.mark.parametrize(
    ("text", "indices"),
    [
        ('state == "lost"', [3]),
        ("power_watts > 642.5", [1]),
        ("not (power_watts > 642.5)", [0]),
        ("device_up", [0, 1, 7]),
        ("health.failed", [3]),
        ('host == "n01" and device == "nvidia0"', [0]),
        ("missing(power_watts) and not device_up", [3]),
    ],
)
def test_filters_keep_only_what_is_true(text: str, indices: list[int]) -> None:
    condition = compile_condition(text, device_names())
    assert [one.device.index for one in matching(NODE, condition, "n01")] == indices


@pytest.mark.parametrize(
    ("text", "expected"), [("2", 2.0), ("2s", 2.0), ("500ms", 0.5), ("5m", 300.0), (" 1.5 s", 1.5)]
)
def test_durations(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10GiB", 10 << 30), ("10G", 10 << 30), ("500MB", 500_000_000), ("42", 42), ("1.5k", 1536)],
)
def test_sizes(text: str, expected: int) -> None:
    assert size_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "-1", "1 fortnight", "1e3"])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        seconds(text)
    with pytest.raises(UsageError):
        size_bytes(text + "x")
