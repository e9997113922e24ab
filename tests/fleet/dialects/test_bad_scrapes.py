"""Scrapes that are wrong, hostile or half: one series is lost, never the device, never the node."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import ForeignReader, TextSample, read_devices, recognise
from accelwatch.fleet.dialects.registry import DIALECTS
from accelwatch.schema.device import DeviceState

NOW = 1_700_000_000.0
GPU = 'gpu="0",UUID="GPU-1",device="nvidia0"'


def dcgm(name: str, value: object, labels: str = GPU) -> str:
    return f"DCGM_FI_DEV_{name}{{{labels}}} {value}\n"


@pytest.mark.parametrize(
    ("value", "reason", "absence"),
    [
        ("NaN", "not_finite", Absence.ERROR),
        ("+Inf", "not_finite", Absence.ERROR),
        ("-1", "implausible", Absence.ERROR),
        ("101.5", "implausible", Absence.ERROR),
        ("1e300", "blank", Absence.UNSUPPORTED),
        ("9223372036854775792", "blank", Absence.UNSUPPORTED),
    ],
)
def test_numbers_that_cannot_be(value: str, reason: str, absence: Absence) -> None:
    read = read_devices(dcgm("GPU_UTIL", value) + dcgm("GPU_TEMP", 40), NOW)
    reading = read.devices[0].reading
    assert ("utilization_ratio",) not in reading.values
    assert reading.absent[("utilization_ratio",)] is absence
    assert reading.values[("temperature_celsius", "gpu")] == 40
    assert read.rejected[reason] == 1


def test_the_next_source_steps_in() -> None:
    text = dcgm("GPU_UTIL", "NaN") + f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{GPU}}} 0.25\n"
    (view,) = read_devices(text, NOW).devices
    assert view.reading.values[("utilization_ratio",)] == 0.25


def test_a_part_of_a_sum_is_no_sum() -> None:
    text = dcgm("FB_USED", 100) + dcgm("FB_FREE", "NaN") + dcgm("FB_RESERVED", 5)
    (view,) = read_devices(text, NOW).devices
    assert view.reading.absent[("memory_size_bytes",)] is Absence.ERROR
    (alone,) = read_devices(dcgm("FB_USED", 100), NOW).devices
    assert ("memory_size_bytes",) not in alone.reading.values


def test_types_are_not_believed() -> None:
    text = "# TYPE DCGM_FI_DEV_GPU_TEMP histogram\n" + dcgm("GPU_TEMP", 40)
    (view,) = read_devices(text, NOW).devices
    assert view.reading.values[("temperature_celsius", "gpu")] == 40


def test_the_first_of_two_series_counts() -> None:
    text = dcgm("GPU_TEMP", 40, GPU + ',hpc_job="7"') + dcgm("GPU_TEMP", 41, GPU + ',hpc_job="8"')
    read = read_devices(text, NOW)
    (view,) = read.devices
    assert view.reading.values[("temperature_celsius", "gpu")] == 40
    assert [one.job_id for one in view.owners] == ["7", "8"]
    assert read.rejected["repeated"] == 1


def test_a_node_is_never_called_by_the_body() -> None:
    labels = GPU + ',instance="evil",node="evil",exported_instance="evil",Hostname="evil"'
    (view,) = read_devices(dcgm("GPU_TEMP", 40, labels), NOW).devices
    assert "evil" not in repr(view)


def test_two_devices_with_one_serial_stay_two() -> None:
    text = "".join(
        f'nvidia_smi_gpu_info{{uuid="u{n}",serial="0000",index="{n}"}} 1\n'
        f'nvidia_smi_temperature_gpu{{uuid="u{n}"}} {40 + n}\n'
        for n in range(2)
    )
    read = read_devices(text, NOW)
    found = [view.reading.values[("temperature_celsius", "gpu")] for view in read.devices]
    assert found == [40, 41]


def test_a_series_without_a_device_is_counted() -> None:
    read = read_devices(dcgm("GPU_TEMP", 40) + "DCGM_FI_DEV_GPU_TEMP 41\n", NOW)
    assert (len(read.devices), read.rejected["no_device"]) == (1, 1)


@pytest.mark.parametrize("name", ["DCGM_FI_DEV_GPU_TEMP", "accel_device_info"])
def test_an_invention_of_devices_is_bounded(name: str) -> None:
    lines = (f'{name}{{vendor="x",device="x{n}",uuid="{n}"}} 1' for n in range(3000))
    read = read_devices("\n".join(lines), NOW)
    assert len(read.devices) == 1024
    assert read.rejected["no_device"] == 3000 - 1024


def test_an_exporter_that_says_its_numbers_are_old() -> None:
    text = 'nvidia_smi_utilization_gpu_ratio{uuid="u"} 1\nnvidia_smi_last_collect_success 0\n'
    (view,) = read_devices(text, NOW).devices
    assert view.state is DeviceState.DEGRADED
    assert "last numbers" in view.reading.notes[0]


def test_a_body_of_another_kind() -> None:
    for body in ("", "<html>404</html>", "{}", "go_goroutines 7\n", b"\x1f\x8b\x08\x00garbage"):
        read = read_devices(body, NOW)
        assert (read.devices, read.dialects) == ((), ())


def test_telegraf_uses_the_prefix_too_and_is_not_mistaken() -> None:
    text = 'nvidia_smi_utilization_gpu{index="0",uuid="GPU-1",host="n"} 50\n'
    assert read_devices(text, NOW).dialects == ()


def test_a_prefix_is_only_before_names_of_exporters_that_can_have_one() -> None:
    families = ("DCGM_FI_DEV_GPU_TEMP", "gpu_gfx_activity")
    pages = [f'site_{family}{{gpu_id="0",serial_number="S"}} 50\n' for family in families]
    assert [read_devices(page, NOW).dialects for page in pages] == [
        (),
        ("amd-device-metrics-exporter",),
    ]


def test_triton_is_not_amd() -> None:
    assert read_devices('gpu_power_usage_watts{gpu_uuid="GPU-1"} 50\n', NOW).dialects == ()


def test_recognised_by_content() -> None:
    found: Any = {"duty_cycle": {"make=cloud-tpu"}, "npu_chip_info_power": {"id=0"}}
    assert [dialect.name for dialect in recognise(found)] == ["npu-exporter", "gke-tpu"]
    assert recognise({"duty_cycle": {"app=x"}}) == ()


def test_samples_of_a_query_read_like_text() -> None:
    samples = [
        TextSample("DCGM_FI_DEV_GPU_TEMP", {"UUID": "GPU-1", "gpu": "0", "job": "dcgm"}, 40.0),
        TextSample("DCGM_FI_DEV_GPU_UTIL", {"UUID": "GPU-1", "gpu": "0", "job": "dcgm"}, 50.0),
    ]
    (view,) = read_devices(samples, NOW).devices
    assert view.reading.values == {("temperature_celsius", "gpu"): 40, ("utilization_ratio",): 0.5}
    reader = ForeignReader()
    assert reader.read_samples(samples, NOW).devices == reader.read_samples(samples, NOW).devices


def test_devices_keep_their_order_while_families_change_theirs() -> None:
    lines = [
        dcgm(name, 7, f'gpu="{n}",UUID="GPU-{9 - n}",device="nvidia{n}"')
        for name in ("GPU_TEMP", "GPU_UTIL")
        for n in range(4)
    ]
    for text in ("".join(lines), "".join(reversed(lines)), "".join(sorted(lines))):
        names = [view.device.name for view in read_devices(text, NOW).devices]
        assert names == ["nvidia0", "nvidia1", "nvidia2", "nvidia3"]


def test_devices_come_and_go() -> None:
    reader = ForeignReader()
    one, two = dcgm("GPU_TEMP", 40), dcgm("GPU_TEMP", 50, 'gpu="1",UUID="GPU-2"')
    counts = [len(reader.read(text, NOW).devices) for text in (one, one + two, two, "", two + one)]
    assert counts == [1, 2, 1, 0, 2]


_NAMES = sorted(
    {row.name for dialect in DIALECTS for row in dialect.rows}
    | {"accel_device_info", "accel_power_watts", "accel_health", "accel_processes"}
)
_LABELS = (
    *("gpu", "UUID", "uuid", "gpu_id", "serial_number", "id", "vdie_id", "card", "name", "device"),
    *("pci_bus_id", "vendor", "GPU_I_ID", "gpu_partition_id", "sub_dev", "make", "clock_type"),
    *("label", "core", "state", "pod", "pid", "xid", "nvlink"),
)
_SAMPLE = st.builds(
    TextSample,
    st.sampled_from(_NAMES),
    st.dictionaries(st.sampled_from(_LABELS), st.text(max_size=6), max_size=5),
    st.floats() | st.integers(-(2**70), 2**70) | st.sampled_from([0, 1, -1, 2147483647]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_SAMPLE, max_size=12))
def test_any_samples_of_known_names_are_survived(samples: list[TextSample]) -> None:
    read = read_devices(samples, NOW)
    for view in read.devices:
        for series, value in view.reading.values.items():
            assert value == value, series
            assert abs(value) != float("inf")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=80), max_size=8), st.integers(0, 400))
def test_a_broken_text_is_survived(lines: list[str], cut: int) -> None:
    text = dcgm("GPU_TEMP", 40) + dcgm("GPU_UTIL", 7) + "\n".join(lines)
    reader = ForeignReader()
    for body in (text, text[:cut], text[cut:], text):
        reader.read(body, NOW)
