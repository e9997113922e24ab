"""nvidia-smi's words: units, absences and failures."""

import pytest

from accelwatch.base.absence import Absence
from accelwatch_nvidia.smi import text as smi_text
from support.machines.samples import sample


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("40 %", "ratio", 0.4),
        ("37 C", "celsius", 37),
        ("-8 C", "celsius", -8),
        ("66.84 W", "watts", 66.84),
        ("66,84 W", "watts", 66.84),
        ("1,024 MiB", "bytes", Absence.ERROR),
        ("1980 MHz", "hertz", 1_980_000_000),
        ("81559 MiB", "bytes", 81559 << 20),
        ("23000 KB/s", "bytes_per_second", 23_000_000),
        ("16x", "lanes", 16),
        ("631.250 mV", "volts", 0.63125),
        ("7015662857 us", "seconds", 7015.662857),
        ("12", "count", 12),
        ("N/A", "watts", Absence.UNSUPPORTED),
        ("[N/A]", "watts", Absence.UNSUPPORTED),
        ("[Not Supported]", "watts", Absence.UNSUPPORTED),
        ("Requested functionality has been deprecated", "watts", Absence.UNSUPPORTED),
        ("Insufficient Permissions", "watts", Absence.PERMISSION),
        ("[Unknown Error]", "watts", Absence.ERROR),
        ("ERR!", "watts", Absence.ERROR),
        ("GPU is lost", "watts", Absence.LOST),
        ("[GPU requires reset]", "watts", Absence.ERROR),
        ("", "watts", Absence.ERROR),
        ("12 furlongs", "watts", Absence.ERROR),
        ("-5 W", "watts", Absence.ERROR),
        ("nan W", "watts", Absence.ERROR),
        ("1e9 W", "watts", Absence.ERROR),
        ("\u0661\u0662 W", "watts", Absence.ERROR),
    ],
)
def test_number(text: str, kind: str, value: float | Absence) -> None:
    assert smi_text.number(text, kind) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Yes", 1),
        ("Disabled", 0),
        ("Not Active", 0),
        ("N/A", Absence.UNSUPPORTED),
        ("Maybe", Absence.ERROR),
    ],
)
def test_flag(text: str, value: int | Absence) -> None:
    assert smi_text.flag(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("P0", 0),
        ("P8", 8),
        ("P32", Absence.ERROR),
        ("8", Absence.ERROR),
        ("N/A", Absence.UNSUPPORTED),
    ],
)
def test_performance_state(text: str, value: int | Absence) -> None:
    assert smi_text.performance_state(text) == value


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "bus", "code"),
    [
        ("device_handle_unknown_error.txt", "0000:0b:00.0", 999),
        ("device_handle_unknown_error_nospace.txt", "0000:07:00.0", 999),
        ("gpu_is_lost_2015.txt", "0000:03:00.0", 15),
        ("gpu_is_lost_windows_wrapped.txt", "0000:03:00.0", 15),
    ],
)
def test_which_gpu_stopped_nvidia_smi(name: str, bus: str, code: int) -> None:
    failed = smi_text.gpu_failure(sample(f"nvidia/errors/{name}").read_text())
    assert failed == smi_text.GpuFailure(bus, code)


_STOPPED = "Unable to determine the device handle for GPU"


@pytest.mark.parametrize(
    ("text", "failures"),
    [
        (f"{_STOPPED}1: 0000:65:00.0: Unknown Error\n", [("0000:65:00.0", 999)]),
        (f"{_STOPPED}12: 00000000:65:00.0: GPU is lost.\n", [("0000:65:00.0", 15)]),
        (f"{_STOPPED} 0000:65:00.0: Unknown Error\n", [("0000:65:00.0", 999)]),
        (f"{_STOPPED} 3: Unknown Error\n", [("3", 999)]),
        (
            f"{_STOPPED}1: 0000:65:00.0: Unknown Error\n"
            f"{_STOPPED}3: 0001:65:00.0: GPU requires reset\n<?xml ?>",
            [("0000:65:00.0", 999), ("0001:65:00.0", 16)],
        ),
        (
            f"{_STOPPED}1: 0000:65:00.0: Unknown Error\n{'|' * 200} Not Found",
            [("0000:65:00.0", 999)],
        ),
        ("No devices were found", []),
    ],
)
def test_gpus_at_which_nvidia_smi_stopped(text: str, failures: list[tuple[str, int]]) -> None:
    assert [(one.pci_bus_id, one.code) for one in smi_text.gpu_failures(text)] == failures


@pytest.mark.oracle
def test_version_mismatch_is_reported_on_stdout() -> None:
    text = sample("nvidia/errors/version_mismatch_with_nvml_line.txt").read_text()
    refused = smi_text.stack_failure(text, 18)
    assert refused is not None
    assert refused.reason == "version_mismatch"


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", 18, "version_mismatch"),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
            "Make sure that the latest NVIDIA driver is installed and running.",
            9,
            "driver_not_loaded",
        ),
        ("", 9, "driver_not_loaded"),
        ("", 12, "library_not_found"),
        ("Failed to initialize NVML: Insufficient Permissions", 4, "permission"),
    ],
)
def test_why_the_stack_is_unavailable(text: str, status: int, reason: str) -> None:
    refused = smi_text.stack_failure(text, status)
    assert refused is not None
    assert refused.reason == reason


def test_a_working_tool_is_no_failure() -> None:
    assert smi_text.stack_failure("No devices were found", 6) is None
    assert smi_text.gpu_failure("No devices were found") is None
