"""What may be folded into one event, and what tells more than the line before it."""

from pathlib import Path

import pytest

from backends.kernel_log.memory_log import Log, start

XID = "NVRM: Xid (PCI:0000:65:00{}): {}"
AMD = "amdgpu 0000:c1:00.0: amdgpu: "


def texts_of(root: Path, *lines: str) -> list[str]:
    log = Log()
    backend = start(root, log)
    for sequence, text in enumerate(lines, 1):
        log.say(sequence, text)
    return [event.text for event in backend.wait_events(0.0)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            XID.format("", "48, pid='<unknown>', name=<unknown>, DBE"),
            XID.format("", "48, pid=4711, name=python, DBE"),
        ),
        (XID.format("", "48, DBE"), XID.format("", "48, pid=4711, name=python, DBE")),
        (
            XID.format("", "31, pid=1, name=a, Ch 00000002"),
            XID.format("", "31, pid=2, name=b, Ch 00000002"),
        ),
        (
            XID.format(" GPU-I:01", "43, pid=1, name=a, Ch 1"),
            XID.format(" GPU-I:02", "43, pid=1, name=a, Ch 1"),
        ),
        (
            XID.format(" GPU-I:01 GPU-CI:00", "43, pid=1, name=a, Ch 1"),
            XID.format(" GPU-I:01 GPU-CI:01", "43, pid=1, name=a, Ch 1"),
        ),
        (
            XID.format("", "149, NETIR_LINK_EVT Fatal XC0 i0 Link 01 (0x0)"),
            XID.format("", "149, NETIR_LINK_EVT Fatal XC0 i0 Link 02 (0x0)"),
        ),
        (
            XID.format("", "74, NVLink: fatal error detected on link 14(0x0, 0x0)"),
            XID.format("", "74, NVLink: fatal error detected on link 15(0x0, 0x0)"),
        ),
        (
            XID.format("", "137, RLW_RXPIPE interrupt hit on link 11 on GPU0: PRIV Error"),
            XID.format("", "137, RLW_RXPIPE interrupt hit on link 12 on GPU0: PRIV Error"),
        ),
        (
            "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
            "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 31 LTSSM Fault Up",
        ),
        (f"{AMD}ring gfx_0.0.0 timeout, signaled", f"{AMD}ring sdma0 timeout, signaled"),
        (
            f"{AMD}socket: 0, die: 0, 3 new uncorrectable hardware errors detected in umc block",
            f"{AMD}socket: 0, die: 1, 3 new uncorrectable hardware errors detected in umc block",
        ),
        (
            f"{AMD}socket: 0, die: 0, 3 new uncorrectable hardware errors detected in umc block",
            f"{AMD}socket: 1, die: 0, 3 new uncorrectable hardware errors detected in umc block",
        ),
        (
            "i915 0000:00:02.0: [drm] Resetting rcs0 for preemption time out",
            "i915 0000:00:02.0: [drm] Resetting bcs0 for preemption time out",
        ),
        (
            "Out of memory: Killed process 1 (python)",
            "Out of memory: Killed process 2 (python)",
        ),
    ],
)
def test_a_line_that_reports_more_is_an_event_of_its_own(
    root: Path, first: str, second: str
) -> None:
    assert texts_of(root, first, second, first, second) == [first, second]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (XID.format("", "45, pid=1, name=a, Ch 01"), XID.format("", "45, pid=1, name=a, Ch 02")),
        (
            XID.format("", "119, pid=1, name=a, Timeout after 6s of waiting for RPC"),
            XID.format("", "119, pid=2, name=b, Timeout after 6s of waiting for RPC"),
        ),
        (
            XID.format("", "79, GPU has fallen off"),
            "NVRM: GPU 0000:65:00.0: GPU has fallen off the bus.",
        ),
    ],
)
def test_a_line_that_reports_nothing_new_is_none(root: Path, first: str, second: str) -> None:
    assert texts_of(root, first, second) == [first]
