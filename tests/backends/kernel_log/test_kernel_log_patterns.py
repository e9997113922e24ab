"""The pattern tables over composed messages in the wording of each driver's source."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.schema.event import Category
from accelwatch_kernel_log.interpreter import PATTERNS
from accelwatch_kernel_log.patterns.nvidia import sxid_category, xid_category
from accelwatch_kernel_log.patterns.pattern import find
from backends.kernel_log.accelerator_messages import ACCELERATORS, Composed
from backends.kernel_log.machine_messages import MACHINE

AMD = "amdgpu 0000:c1:00.0: amdgpu: "
NIC = "mlx5_core 0000:5e:00.0: "

FAULTS = [*ACCELERATORS, *MACHINE]


@pytest.mark.parametrize(("text", "code", "category", "subject"), FAULTS)
def test_fault(text: str, code: str, category: Category, subject: str) -> None:
    found = find(text, PATTERNS)
    assert found is not None
    assert (found.code, found.category, found.subject) == (code, category, subject)


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"{AMD}no uncorrectable hardware errors detected in umc block",
        f"{AMD}0 uncorrectable hardware errors detected in total in umc block",
        f"{AMD}socket: 0, die: 0, 0 new correctable hardware errors detected in gfx block",
        f"{AMD}1048560 uncorrectable hardware errors detected in umc block",
        f"{AMD}2097120 correctable hardware errors detected in umc block",
        f"{AMD}socket: 0, die: 0 1048561 deferred hardware errors detected in total in umc block",
        f"{AMD}{'9' * 5000} uncorrectable hardware errors detected in umc block",
        f"{AMD}GPU reset succeeded, trying to resume",
        f"{AMD}Starting gfx_0.0.0 ring reset",
        f"{AMD}records:120 threshold:256, resetting RAS table header signature",
        "xe 0000:03:00.0: Survivability Mode is not supported on this card",
        "xe 0000:03:00.0: Runtime Survivability Mode not supported",
        "pt_main_thread[77]: segfault at 7f ip 00 sp 00 error 4 in libnccl.so.2[7f+d3]",
        "audit: NVRM: Xid (PCI:0000:65:00): 79, a message that only quotes one",
        "usb 1-1: Product: NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:65:00): , no number",
        "NVRM: GPU at PCI:0000:65:00: GPU-00000000-1111-2222-3333-444444444444",
        "nvidia-nvswitch3: SXid (PCI:0000:08:00.0): 22013, Severity 0 Engine instance 60",
        f"{NIC}Port module event: module 0, Cable plugged",
        "nvgpu: 17000000.gpu nvgpu_timeout_expired:10 [INFO]  error notifier set to 43 for ch 5",
        "tenstorrent: ARC initialization done.",
        "tenstorrent: ARC initialization skipped.",
        "tenstorrent 0000:41:00.0: Link retrained to Gen4 after 1 attempt(s)",
        "tenstorrent 0000:41:00.0: Failed to set ARC watchdog timeout (this is normal for old FW)",
        "tenstorrent 0000:41:00.0: ARC message queue not available (this is normal for old FW)",
        "amdxdna 0000:c6:00.1: enabling device (0000 -> 0002)",
        "intel_vpu 0000:00:0b.0: [drm] *ERROR* ivpu_ipc_send_receive_internal(): IPC receive failed: "
        "type VPU_JSM_MSG_SSID_RELEASE, ret -74]",
        "intel_vpu 0000:00:0b.0: [drm] Scheduler mode: OS",
        "qaic 0000:81:00.0: Dropping non-PUSH RAS message",
        "oom_reaper: reaped process 9 (x), now anon-rss:0kB",
        "nfs: mount request",
        "EXT4-fs (sda2): mounted filesystem with ordered data mode",
        "pcieport 0000:64:00.0: AER: enabled with IRQ 30",
        "pcieport 0000:64:00.0: DPC: enabled with IRQ 30",
        "pcieport 0000:5d:00.0: pciehp: Slot(1): Link Up",
        "mlx5_core 0000:5e:00.0 ens1np0: Link up",
        "mce: CPU12: Core temperature/speed normal (total events = 1)",
    ],
)
def test_no_fault(text: str) -> None:
    assert find(text, PATTERNS) is None


def test_unit_and_link_of_a_link_fault() -> None:
    text = "NVRM: Xid (PCI:0008:01:00): 145, RLW_REMAP Link fatal XC0 i0 Link 02 (0x0)"
    found = find(text, PATTERNS)
    assert found is not None
    assert found.category is Category.LINK_FATAL
    assert (found.detail["unit"], found.detail["link"]) == ("RLW_REMAP", "02")


def test_a_management_unit_that_hangs_is_reported_less_often_than_it_is_polled() -> None:
    """Every few seconds, for hours."""
    found = find(f"{AMD}SMU: No response msg_reg: 12 resp_reg: 0", PATTERNS)
    assert found is not None
    assert found.fold_s >= 60


def test_codes_that_nobody_documented_are_never_fatal() -> None:
    assert {xid_category(xid) for xid in range(176, 400)} == {Category.OTHER}


def test_sxid_is_fatal_by_the_guide_or_by_its_word() -> None:
    assert sxid_category(22003, fatal=False) is Category.LINK_FATAL
    assert sxid_category(99999, fatal=True) is Category.LINK_FATAL
    assert {sxid_category(sxid, fatal=False) for sxid in (20009, 22013, 11012)} == {Category.LINK}
    assert sxid_category(10004, fatal=False) is Category.THERMAL


@pytest.mark.parametrize("sxid", [11004, 12028, 19084])
def test_sxid_that_only_a_reset_cures_is_fatal_for_the_link(sxid: int) -> None:
    assert sxid_category(sxid, fatal=False) is Category.LINK_FATAL


ALPHABET = (
    "NVRM: Xid(PCI:0)=,[].'<>#/-\n\x00é" + "amdgpu i915 xe nfs: server task blocked EDAC error"
)


@given(st.one_of(st.text(max_size=300), st.text(ALPHABET, max_size=300)))
def test_any_text_is_survived(text: str) -> None:
    find(text, PATTERNS)


@given(st.sampled_from(FAULTS), st.data())
def test_damaged_messages_are_survived(fault: Composed, data: st.DataObject) -> None:
    text = fault[0]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    find(text[:start] + data.draw(st.text(max_size=8)) + text[end:], PATTERNS)


@pytest.mark.parametrize("head", [text[: len(text) // 2] for text, *_ in FAULTS] + [""])
@pytest.mark.parametrize("filler", ["a", " ", "1,", "0:", "\\", "[a", "(", "task a:1 ", " on "])
def test_long_messages_are_survived(head: str, filler: str) -> None:
    """An expression that backtracks without bound would not come to an end here."""
    find(head + filler * (8192 // len(filler)), PATTERNS)


@pytest.mark.parametrize("driver", ["hygpu", "hydcu", "hycu"])
def test_hygons_driver_has_one_name_whatever_its_release_calls_it(driver: str) -> None:
    match = find(f"{driver} 0000:09:00.0: {driver}: ring sdma0 timeout, signaled seq=1", PATTERNS)
    assert match is not None
    assert match.code == "hygpu_ring_timeout"


PAGE = Path(__file__).resolve().parents[3] / "docs/backends/kernel-log.md"


def test_page_names_every_code_with_its_category() -> None:
    page = {
        code: categories
        for codes, categories in re.findall(
            r"^\| (`.*?`) \| (.*?) \|", PAGE.read_text(), re.MULTILINE
        )
        for code in re.findall(r"`(\w+)`", codes)
    }
    families = (
        "xid_",
        "sxid_",
        "nvgpu_error_",
        "ras_umc",
        "ras_gfx",
        "ras_other",
        "hygpu_",
        "xe_hardware_error",
        "qaic_ras_",
    )
    for _, code, category, _ in FAULTS:
        if not code.startswith(families):
            assert page[code] == category.value, code
    named = {pattern.code for pattern in PATTERNS if pattern.decide is None}
    assert named <= set(page)
