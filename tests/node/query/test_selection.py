"""Selectors, visibility and filters over views."""

import msgspec
import pytest

from accelwatch.base.durations import seconds, size_bytes
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.expr import compile_condition, device_names
from accelwatch.node.query.selection import matching, select, visible
from accelwatch.node.query.visibility import Declared
from accelwatch.schema.snapshot import DeviceView
from support.machines.composed import device, lost_view, mig_view, view

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
        ("GPU-", [0, 1, 7, 3]),
        (str(device(0).serial), [0]),
    ],
)
def test_selectors(selector: str, indices: list[int]) -> None:
    assert [one.device.index for one in select(NODE, [selector])] == indices


def test_several_selectors_mean_the_devices_of_each_in_the_order_of_the_node() -> None:
    assert [one.device.index for one in select(NODE, ["nvidia3", " 0 ", "nvidia3"])] == [0, 3]
    assert select(NODE, []) == []


def test_all_of_no_device_is_none_and_one_of_none_is_an_error() -> None:
    assert select([], ["all"]) == []
    with pytest.raises(UnmetError) as refused:
        select([], ["0"])
    assert str(refused.value) == "no device '0'; there are: none"


@pytest.mark.parametrize("selector", ["nvidia9", "GPU-f", "GPU"])
def test_an_unknown_name_is_refused_with_the_names_there_are(selector: str) -> None:
    message = f"no device '{selector}'; there are: nvidia0, nvidia1, nvidia3"
    with pytest.raises(UnmetError, match=message):
        select(NODE, [selector])


@pytest.mark.parametrize("selector", ["9", "amd:0", ""])
def test_a_selector_that_means_nothing_is_an_error(selector: str) -> None:
    with pytest.raises(UnmetError, match="there are: nvidia:0, nvidia:1, nvidia:3"):
        select(NODE, [selector])


def _amd(index: int) -> DeviceView:
    one = device(index, vendor="amd", id=f"amd:{index}", name=f"amd{index}", pci_bus_id=None)
    return msgspec.structs.replace(view(index), device=one)


def test_an_index_of_several_vendors_is_refused_with_their_names() -> None:
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


def test_visibility_of_one_device() -> None:
    assert visible([view(0)], {"CUDA_VISIBLE_DEVICES": "0"}, Declared()) == [view(0)]
    assert visible([view(0)], {"CUDA_VISIBLE_DEVICES": "1"}, Declared()) == []


def test_a_vendor_without_a_variable_keeps_all() -> None:
    other = view(0, device=device(0, vendor="other", backend="other"))
    assert visible([other], {"CUDA_VISIBLE_DEVICES": ""}, Declared()) == [other]


@pytest.mark.parametrize(
    ("mask", "indices"), [("0.1", [0]), ("1", [1]), ("1.0,0.1", [0, 1]), (" 1 , 0 ", [0, 1])]
)
def test_a_tile_of_a_device_is_the_device(mask: str, indices: list[int]) -> None:
    """`ZE_AFFINITY_MASK` names tiles behind a dot; a uuid may have a dot of its own."""
    views = [view(index, device=device(index, vendor="intel", uuid=None)) for index in (0, 1)]
    found = visible(views, {"ZE_AFFINITY_MASK": mask}, Declared())
    assert [one.device.index for one in found] == indices
    dotted = view(0, device=device(0, uuid="GPU.b"))
    assert visible([dotted], {"CUDA_VISIBLE_DEVICES": "GPU.b"}, Declared()) == [dotted]


def test_a_host_that_is_not_known_equals_no_name() -> None:
    condition = compile_condition('host != "n01"', device_names())
    assert matching(NODE, condition) == []
    assert matching(NODE, condition, "n02") == NODE


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


def test_an_index_of_a_vendor_under_its_old_name() -> None:
    one = device(0, vendor="ascend", id="ascend:0", name="ascend0", pci_bus_id=None)
    npu = msgspec.structs.replace(view(0), device=one)
    assert [each.device.id for each in select([*NODE, npu], ["huawei:0"])] == ["ascend:0"]
