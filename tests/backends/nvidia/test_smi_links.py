"""NVLinks where only nvidia-smi can be used: what it prints, and when it is run."""

import pytest

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.schema.reading import Collected, Link
from accelwatch.system.processes.command import CommandResult
from accelwatch_nvidia.smi import nvlink as smi_links
from accelwatch_nvidia.smi.nvlink import LinkReader
from support.machines.samples import sample

from .test_smi_source import Tool, fixture, tool

__all__ = ["tool"]

FIRST = "GPU-c0ffee00-0000-4000-8000-000000000001"
SECOND = "GPU-c0ffee00-0000-4000-8000-000000000002"
STATES = f"""GPU 0: NVIDIA H100 80GB HBM3 (UUID: {FIRST})
\t Link 0: 26.562 GB/s
\t Link 1: 26.562 GB/s
\t Link 2: <inactive>
GPU 1: NVIDIA H100 80GB HBM3 (UUID: {SECOND})
\t Link 0: 26.562 GB/s
"""
ERRORS = f"""GPU 0: NVIDIA H100 80GB HBM3 (UUID: {FIRST})
\t Link 0: Replay Errors: 3
\t Link 0: Recovery Errors: 0
\t Link 0: CRC Errors: 7
\t Link 1: Replay Errors: 4
\t Link 1: Recovery Errors: 1
\t Link 1: CRC Errors: 0
\t Link 2: Replay Errors: 0
\t Link 2: Recovery Errors: 0
GPU 9: Another (UUID: GPU-00000000)
\t Link 0: Replay Errors: 99
"""


def test_links_up_and_down_and_their_errors(tool: Tool) -> None:
    tool.answer(fixture("h100x2"))
    tool.answer(STATES.encode(), "nvlink -s").answer(ERRORS.encode(), "nvlink -e")
    backend = tool.open()
    first, second = (backend.identify(found)[0] for found in backend.discover())
    values = backend.read(first, Request())[0].values
    assert values["interconnect_links", "nvlink", "up"] == 2
    assert values["interconnect_links", "nvlink", "down"] == 1
    assert values["interconnect_errors_total", "nvlink", "replay"] == 7
    assert values["interconnect_errors_total", "nvlink", "recovery"] == 1
    assert ("interconnect_errors_total", "nvlink", "crc") not in values
    assert not [series for series in values if series[0].startswith("link_")]
    assert backend.read(second, Request())[0].values["interconnect_links", "nvlink", "up"] == 1
    detail = backend.read(first, Request(groups=frozenset({"links"})))[0]
    assert detail.values["link_up", "nvlink", "2"] == 0
    assert detail.values["link_errors_total", "nvlink", "1", "replay"] == 4
    assert detail.links[2] == Link(fabric="nvlink", link="2", up=False)
    assert tool.runs() == ["-q -x", "nvlink -s", "nvlink -e"]


def test_errors_of_nvlink_5() -> None:
    by_uuid = smi_links.parse_states(f"GPU 0: NVIDIA B200 (UUID: {FIRST})\n\t Link 0: 50 GB/s\n")
    lines = (
        "Tx Packets: 171134",
        "Malformed packet Errors: 1",
        "Buffer overrun Errors: 2",
        "Rx Errors: 3",
        "Rx remote Errors: 4",
        "Rx General Errors: 5",
        "Local link integrity Errors: 6",
        "Tx discards: 7",
        "Link recovery successful events: 90",
        "Link recovery failed events: 8",
        "Effective Errors: 9",
        "Effective BER: 15e-255",
        "Symbol Errors: 10",
        "FEC Errors - 0: 91",
    )
    text = "".join(f"\t Link 0: {line}\n" for line in lines)
    smi_links.add_errors(f"GPU 0: NVIDIA B200 (UUID: {FIRST})\n{text}", by_uuid)
    assert {kind: counts[0] for kind, counts in by_uuid[FIRST].errors.items()} == {
        "malformed_packet": 1,
        "buffer_overrun": 2,
        "receive": 3,
        "receive_remote": 4,
        "receive_general": 5,
        "link_integrity": 6,
        "transmit_discard": 7,
        "recovery_failed": 8,
        "effective": 9,
        "symbol": 10,
    }


def test_links_are_queried_again_when_they_are_due(tool: Tool) -> None:
    tool.answer(fixture("h100x2"))
    tool.answer(STATES.encode(), "nvlink -s").answer(ERRORS.encode(), "nvlink -e")
    clock = ManualClock()
    backend = tool.open(clock=clock)
    first = backend.identify(backend.discover()[0])[0]
    backend.read(first, Request())
    clock.advance(60)
    backend.read(first, Request(slow=False))
    assert tool.runs().count("nvlink -s") == 1
    clock.advance(60)
    backend.read(first, Request())
    assert tool.runs().count("nvlink -s") == 2


@pytest.mark.parametrize(
    ("printed", "runs"),
    [
        ("Device does not have or support Nvlink", 1),
        ("NVML: Unable to retrieve Nvlink information as all links are inActive", 2),
    ],
)
def test_a_gpu_without_links_is_not_queried_each_time(tool: Tool, printed: str, runs: int) -> None:
    text = f"GPU 0: NVIDIA L40S (UUID: {FIRST})\n{printed}\n"
    tool.answer(fixture("h100x2")).answer(text.encode(), "nvlink -s")
    backend = tool.open(clock=(clock := ManualClock()))
    first = backend.identify(backend.discover()[0])[0]
    reading = backend.read(first, Request())[0]
    up = reading.values.get(("interconnect_links", "nvlink", "up"))
    assert up == (0 if "inActive" in printed else None)
    clock.advance(60)
    backend.read(first, Request())
    assert tool.runs().count("nvlink -s") == runs


def test_a_run_that_does_not_end_is_not_waited_for_again() -> None:
    runs: list[tuple[str, ...]] = []

    def run(*arguments: str) -> CommandResult:
        runs.append(arguments)
        return CommandResult(failure="timeout")

    reader = LinkReader(run, ManualClock())
    for _ in range(2):
        assert reader.read(FIRST, None, slow=True, fresh_s=0) is Absence.TIMEOUT
    assert runs == [("nvlink", "-s")]


def test_a_gpu_that_is_queried_alone_is_named(tool: Tool) -> None:
    runs: list[tuple[str, ...]] = []

    def run(*arguments: str) -> CommandResult:
        runs.append(arguments)
        text = STATES if arguments[1] == "-s" else ERRORS
        return CommandResult(output=text.encode(), status=0)

    reader = LinkReader(run, ManualClock())
    found = reader.read(FIRST, "0000:1b:00.0", slow=True, fresh_s=1)
    assert not isinstance(found, Absence)
    assert found.states == {0: True, 1: True, 2: False}
    assert runs == [("nvlink", kind, "-i", "0000:1b:00.0") for kind in ("-s", "-e")]


def test_a_link_of_which_nothing_is_known_is_neither_up_nor_down() -> None:
    text = f"GPU 0: X (UUID: {FIRST})\n Link 0: <inactive>\n Link 1: something new\n"
    assert smi_links.parse_states(text)[FIRST].states == {0: False}
    assert smi_links.parse_states("Link 0: 25 GB/s\n") == {}


@pytest.mark.oracle
def test_links_of_recordings() -> None:
    text = sample("nvidia/cli/gpud_nvidia-smi_nvlink_status_a100.txt").read_text()
    found = smi_links.parse_states(text)
    assert len(found) == 8
    assert all(gpu.states == dict.fromkeys(range(12), True) for gpu in found.values())
    session = sample("nvidia/captures/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt")
    (gpu,) = smi_links.parse_states(session.read_text()).values()
    collected = Collected("x")
    assert smi_links.record_links(gpu, collected, frozenset()) == ()
    assert collected.values["interconnect_links", "nvlink", "up"] == 18
    for name in ("nvidia-h100-mig__590.48.01", "nvidia-l40s__595.80"):
        text = sample(f"nvidia/captures/linux-x86_64__{name}.txt").read_text()
        assert smi_links.parse_states(text) == {}


ALL_DOWN = f"""GPU 0: NVIDIA B200 (UUID: {FIRST})
\t Link 0: 53.125 GB/s
GPU 1: NVIDIA B200 (UUID: {SECOND})
NVML: Unable to retrieve NVLink information as all links are inActive
"""


def test_a_gpu_whose_links_are_all_down_has_none_up(tool: Tool) -> None:
    tool.answer(fixture("h100x2"))
    tool.answer(ALL_DOWN.encode(), "nvlink -s").answer(b"", "nvlink -e")
    backend = tool.open()
    first, second = (backend.identify(found)[0] for found in backend.discover())
    assert backend.read(first, Request())[0].values["interconnect_links", "nvlink", "up"] == 1
    reading = backend.read(second, Request())[0]
    assert reading.values["interconnect_links", "nvlink", "up"] == 0
    assert ("interconnect_links", "nvlink", "down") not in reading.values
    assert ("interconnect_links",) not in reading.absent


def test_a_gpu_whose_links_cannot_be_queried_has_no_number() -> None:
    other = ALL_DOWN.replace("as all links are inActive", "for Unknown Error")
    assert set(smi_links.parse_states(other)) == {FIRST}
