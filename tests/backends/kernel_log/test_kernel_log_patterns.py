"""The pattern tables over composed messages in the wording of each driver's source."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.schema.event import Category
from accelwatch_kernel_log.pattern import find
from accelwatch_kernel_log.tables import PATTERNS
from accelwatch_kernel_log.xid import sxid_category, xid_category

AMD, XE, NIC = (
    "amdgpu 0000:c1:00.0: amdgpu: ",
    "xe 0000:03:00.0: [drm] ",
    "mlx5_core 0000:5e:00.0: ",
)

_NIC = "0000:5e:00.0"
_MES = "[drm:mes_v11_0_submit_pkt_and_poll_completion.constprop.0 [amdgpu]] *ERROR* "

FAULTS: list[tuple[str, str, Category, str]] = [
    (
        "NVRM: Xid (PCI:0000:65:00 GPU-I:05): 43, pid='1234', name=python, Ch 00000008",
        "xid_43",
        Category.APPLICATION,
        "0000:65:00.0",
    ),
    ("NVRM: Xid (0004:00): 13, 0001 00000000", "xid_13", Category.APPLICATION, ""),
    (
        "NVRM: GPU at 0000:65:00.0 has fallen off the bus.",
        "nvidia_fallen_off_bus",
        Category.BUS,
        "0000:65:00.0",
    ),
    (
        "amdgpu 0000:c1:00.0: [drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, signaled",
        "amdgpu_ring_timeout",
        Category.HANG,
        "0000:c1:00.0",
    ),
    (f"{AMD}MES failed to response msg=3", "amdgpu_mes_timeout", Category.FIRMWARE, "0000:c1:00.0"),
    (f"{_MES}MES failed to response msg=14", "amdgpu_mes_timeout", Category.FIRMWARE, ""),
    (f"{AMD}device lost from bus!", "amdgpu_device_lost", Category.BUS, "0000:c1:00.0"),
    (
        f"{AMD}ERROR: GPU over temperature range(SW CTF) detected!",
        "amdgpu_over_temperature",
        Category.THERMAL,
        "0000:c1:00.0",
    ),
    ("amdgpu: qcm fence wait loop timeout expired", "amdgpu_queue_stuck", Category.HANG, ""),
    (
        "pcieport 10000:e0:06.0: AER: Corrected error received: 10000:e1:00.0",
        "pcie_corrected",
        Category.LINK,
        "10000:e1:00.0",
    ),
    (
        "EDAC MC0: 1 UE on mc#0csrow#0channel#0 (csrow:0 channel:0 page:0x0)",
        "edac_ue",
        Category.MEMORY_FATAL,
        "mc#0csrow#0channel#0",
    ),
    (
        "Memory cgroup out of memory: Killed process 44 (a (b)) total-vm:1kB",
        "oom_kill_cgroup",
        Category.APPLICATION,
        "a (b)",
    ),
    (
        "NVRM: The NVIDIA GPU 0000:65:00.0\n"
        "NVRM: (PCI ID: 10de:2330) installed in this system has\n"
        "NVRM: fallen off the bus and is not responding to commands.",
        "nvidia_fallen_off_bus",
        Category.BUS,
        "0000:65:00.0",
    ),
    (
        "NVRM: The NVIDIA GPU 0000:65:00.0 (PCI ID: 10de:2330)\n"
        "NVRM: installed in this system has fallen off the bus and is not responding to commands.",
        "nvidia_fallen_off_bus",
        Category.BUS,
        "0000:65:00.0",
    ),
    (
        "NVRM: GPU at PCI:0000:65:00: GPU has fallen off the bus",
        "nvidia_fallen_off_bus",
        Category.BUS,
        "0000:65:00.0",
    ),
    ("NVRM: Xid (PCI:00000000:65:00): 46, stuck", "xid_46", Category.HANG, "0000:65:00.0"),
    ("NVRM: Xid (PCI:0000:65:00): 999, new", "xid_999", Category.OTHER, "0000:65:00.0"),
    (
        "nvidia-nvswitch0: SXid (PCI:0000:06:00.0): 22003, Non-fatal, Link 00 x",
        "sxid_22003",
        Category.LINK_FATAL,
        "0000:06:00.0",
    ),
    (
        f"{AMD}ring sdma0 timeout, but soft recovered",
        "amdgpu_ring_recovered",
        Category.APPLICATION,
        "0000:c1:00.0",
    ),
    (
        f"{AMD}Ring gfx_0.0.0 reset succeeded",
        "amdgpu_ring_reset",
        Category.APPLICATION,
        "0000:c1:00.0",
    ),
    (f"{AMD}GPU reset(2) succeeded!", "amdgpu_reset_succeeded", Category.OTHER, "0000:c1:00.0"),
    (f"{AMD}GPU reset end with ret = -110", "amdgpu_reset_failed", Category.HANG, "0000:c1:00.0"),
    (
        f"{AMD}socket: 0, die: 1, 3 new uncorrectable hardware errors detected in umc block",
        "ras_umc",
        Category.MEMORY_FATAL,
        "0000:c1:00.0",
    ),
    (
        f"{AMD}2 deferred hardware errors detected in total in umc block",
        "ras_umc",
        Category.MEMORY_CONTAINED,
        "0000:c1:00.0",
    ),
    (
        f"{AMD}1 uncorrectable hardware errors detected in total in newblock block",
        "ras_other",
        Category.MEMORY_FATAL,
        "0000:c1:00.0",
    ),
    (
        f"{AMD}{{7}}socket: 0, die: 1, 3 uncorrectable hardware errors detected in total in umc block",
        "ras_umc",
        Category.MEMORY_FATAL,
        "0000:c1:00.0",
    ),
    (
        f"{AMD}{{7}} RAS poison is created, no user action is needed.",
        "ras_poison",
        Category.MEMORY_CONTAINED,
        "0000:c1:00.0",
    ),
    (
        f"{AMD}RAS records:230 exceeds 90% of threshold:256",
        "amdgpu_bad_pages_near_threshold",
        Category.MEMORY_CONTAINED,
        "0000:c1:00.0",
    ),
    (
        f"{AMD}MES(1) failed to respond to msg=REMOVE_QUEUE",
        "amdgpu_mes_timeout",
        Category.FIRMWARE,
        "0000:c1:00.0",
    ),
    (
        f"{AMD}[gfxhub] page fault (src_id:0 ring:24 vmid:3 pasid:32773)",
        "amdgpu_page_fault",
        Category.APPLICATION,
        "0000:c1:00.0",
    ),
    (
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma0 timeout, signaled seq=9, emitted seq=9",
        "amdgpu_ring_timeout",
        Category.HANG,
        "",
    ),
    (
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* GPU Recovery Failed: -110",
        "amdgpu_reset_failed",
        Category.HANG,
        "",
    ),
    (
        "xe 0000:03:00.0: [drm] *ERROR* [Hardware Error]: Tile0 reported NONFATAL error 0x20000",
        "xe_hardware_error",
        Category.MEMORY_CONTAINED,
        "0000:03:00.0",
    ),
    (
        "xe 0000:03:00.0: [drm] *ERROR* [Hardware Error]: Tile0 reported FATAL error 0x20000",
        "xe_hardware_error",
        Category.MEMORY_FATAL,
        "0000:03:00.0",
    ),
    (
        "xe 0000:03:00.0: Runtime Survivability mode enabled",
        "xe_survivability",
        Category.FIRMWARE,
        "0000:03:00.0",
    ),
    (
        "amdgpu 0000:c1:00.0: [drm] device wedged, but no recovery needed",
        "drm_wedged_recovered",
        Category.OTHER,
        "0000:c1:00.0",
    ),
    (f"{AMD}Poison is created", "ras_poison", Category.MEMORY_CONTAINED, "0000:c1:00.0"),
    (
        "amdgpu 0000:c1:00.0: [drm] device wedged, but recovered through reset",
        "drm_wedged_recovered",
        Category.OTHER,
        "0000:c1:00.0",
    ),
    (f"{XE}device wedged, needs recovery", "drm_wedged", Category.HANG, "0000:03:00.0"),
    (
        f"{XE}*ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as wedged.\n"
        "IOCTLs and executions are blocked.",
        "xe_wedged",
        Category.HANG,
        "0000:03:00.0",
    ),
    (
        f"{XE}*ERROR* GT0: GuC engine reset request failed on 0:0 because 0x00000000",
        "xe_engine_reset_failed",
        Category.HANG,
        "0000:03:00.0",
    ),
    (
        f"{XE}GT0: Engine reset: engine_class=rcs, logical mask: 0x1, guc_id=2",
        "xe_engine_reset",
        Category.APPLICATION,
        "0000:03:00.0",
    ),
    (
        f"{XE}GT0: Timedout job: seqno=4294967169, lrc_seqno=4294967169, guc_id=2, flags=0x0"
        " in python3 [4711]",
        "xe_job_timeout",
        Category.HANG,
        "0000:03:00.0",
    ),
    (
        f"{XE}*ERROR* GT0: reset failed (-ETIMEDOUT)",
        "xe_reset_failed",
        Category.HANG,
        "0000:03:00.0",
    ),
    (f"{XE}In Survivability Mode", "xe_survivability", Category.FIRMWARE, "0000:03:00.0"),
    (
        "i915 0000:00:02.0: [drm] *ERROR* Failed to reset chip",
        "i915_wedged",
        Category.HANG,
        "0000:00:02.0",
    ),
    ("habanalabs hl3: device heartbeat failed!", "habanalabs_heartbeat", Category.HANG, "hl3"),
    (
        "neuron: NEURON_HW_ERR=DMA_ERROR instance-id=i-0 hostname=h nd-id=3 nc-id=1 serial-num=ab",
        "neuron_dma_error",
        Category.BUS,
        "neuron3",
    ),
    (
        "NEURON_HW_ERR=BRAND_NEW instance-id=i-0 hostname=h nd-id=3",
        "neuron_hw_error",
        Category.OTHER,
        "neuron3",
    ),
    ("nfs: server st-1 not responding, still trying", "nfs_not_responding", Category.OTHER, "st-1"),
    ("nfs: server st-1 not responding, timed out", "nfs_not_responding", Category.OTHER, "st-1"),
    ("nfs: server st-1 OK", "nfs_ok", Category.OTHER, "st-1"),
    (
        "NFS: nfs4_reclaim_open_state: Lock reclaim failed!",
        "nfs_lock_reclaim_failed",
        Category.OTHER,
        "",
    ),
    ("I/O error, dev sda, sector 81 op 0x0:(READ)", "disk_io_error", Category.OTHER, "sda"),
    (
        "blk_update_request: critical medium error, dev sdb, sector 9",
        "disk_io_error",
        Category.OTHER,
        "sdb",
    ),
    (
        "Buffer I/O error on dev dm-0, logical block 5, lost async page write",
        "disk_io_error",
        Category.OTHER,
        "dm-0",
    ),
    (
        "EXT4-fs error (device sda2): ext4_find_entry:1455: inode #2: comm x",
        "filesystem_error",
        Category.OTHER,
        "sda2",
    ),
    (
        "EXT4-fs (sda2): Remounting filesystem read-only",
        "filesystem_readonly",
        Category.OTHER,
        "sda2",
    ),
    (
        "BTRFS info (device sdc1: state E): forced readonly",
        "filesystem_readonly",
        Category.OTHER,
        "sdc1",
    ),
    (
        "XFS (nvme0n1p1): Filesystem has been shut down due to log error (0x2).",
        "filesystem_shutdown",
        Category.OTHER,
        "nvme0n1p1",
    ),
    (
        "nvme nvme1: I/O 12 QID 4 timeout, reset controller",
        "nvme_timeout",
        Category.OTHER,
        "nvme1",
    ),
    (
        "nvme nvme1: I/O tag 12 (100c) opcode 0x2 (Read) QID 4 timeout, aborting",
        "nvme_timeout",
        Category.OTHER,
        "nvme1",
    ),
    (
        "nvme nvme1: Disabling device after reset failure: -19",
        "nvme_disabled",
        Category.OTHER,
        "nvme1",
    ),
    (
        "tar: attempt to access beyond end of device\nsda1: rw=0, sector=9, nr_sectors = 8 limit=1",
        "disk_beyond_end",
        Category.OTHER,
        "sda1",
    ),
    (
        "md/raid1:md0: Disk failure on sdb1, disabling device.",
        "raid_disk_failed",
        Category.OTHER,
        "md0",
    ),
    (
        "INFO: task kworker/u8:3:4711 blocked for more than 120 seconds.",
        "hung_task",
        Category.HANG,
        "kworker/u8:3",
    ),
    (
        "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:99]",
        "soft_lockup",
        Category.HANG,
        "CPU#3",
    ),
    (
        "NMI watchdog: Watchdog detected hard LOCKUP on cpu 7",
        "hard_lockup",
        Category.HANG,
        "cpu 7",
    ),
    ("Kernel panic - not syncing: Fatal exception", "kernel_panic", Category.OTHER, ""),
    (
        "BUG: unable to handle page fault for address: ffff",
        "kernel_oops",
        Category.OTHER,
        "",
    ),
    ("VFS: file-max limit 1024 reached", "file_limit_reached", Category.OTHER, ""),
    (
        "unregister_netdevice: waiting for eth7 to become free. Usage count = 1",
        "netdevice_stuck",
        Category.OTHER,
        "eth7",
    ),
    (
        "Memory cgroup out of memory: Killed process 5 (train) total-vm:1kB",
        "oom_kill_cgroup",
        Category.APPLICATION,
        "train",
    ),
    ("NVRM: RmInitAdapter failed! (0x25:0xffff:1480)", "nvidia_init_failed", Category.FIRMWARE, ""),
    (
        "nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
        "nvme_down",
        Category.OTHER,
        "nvme1",
    ),
    ("rcu: INFO: rcu_sched self-detected stall on CPU", "rcu_stall", Category.HANG, "CPU"),
    (
        "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
        "rcu_stall",
        Category.HANG,
        "CPUs",
    ),
    (
        f"{NIC}poll_health:957:(pid 0): Fatal error 1 detected",
        "mlx5_fatal",
        Category.FIRMWARE,
        _NIC,
    ),
    ("mlx5_core 0000:5e:00.0 ens1np0: Link down", "mlx5_link_down", Category.LINK, _NIC),
    (
        "pcieport 0000:5d:00.0: pciehp: Slot(1-2): Link Down",
        "pcie_slot_link_down",
        Category.BUS,
        "0000:5d:00.0",
    ),
    (
        "pcieport 0000:5d:00.0: DPC: containment event, status:0x1f01 source:0x0000",
        "pcie_contained",
        Category.BUS,
        "0000:5d:00.0",
    ),
    (
        "mce: CPU12: Core temperature is above threshold, cpu clock is throttled (total events = 1)",
        "cpu_throttled",
        Category.THERMAL,
        "",
    ),
    (
        "mce: [Hardware Error]: Machine check events logged",
        "machine_check",
        Category.OTHER,
        "",
    ),
    (
        "{1}[Hardware Error]: event severity: corrected",
        "hardware_error",
        Category.OTHER,
        "",
    ),
    (
        "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0 (channel:1 slot:0)",
        "edac_ue",
        Category.MEMORY_FATAL,
        "CPU_SrcID#0_Ha#0_Chan#1_DIMM#0",
    ),
    (
        "EDAC MC1: 3 CE memory read error on DIMM_B2 (channel:1)",
        "edac_ce",
        Category.MEMORY_CONTAINED,
        "DIMM_B2",
    ),
    (
        "pcieport 0000:64:00.0: AER: Corrected error received: 0000:65:00.0",
        "pcie_corrected",
        Category.LINK,
        "0000:65:00.0",
    ),
    (
        "pcieport 0000:64:00.0: AER: Uncorrectable (Fatal) error message received from 0000:65:00.0",
        "pcie_uncorrected_fatal",
        Category.BUS,
        "0000:65:00.0",
    ),
    (
        "nvidia 0000:65:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
        "pcie_corrected",
        Category.LINK,
        "0000:65:00.0",
    ),
    (
        "nvidia 0000:65:00.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), "
        "type=Transaction Layer, (Requester ID)",
        "pcie_uncorrected_nonfatal",
        Category.BUS,
        "0000:65:00.0",
    ),
    (
        f"{NIC}mlx5_pcie_event:301:(pid 268): Detected insufficient power on the PCIe slot (27W).",
        "mlx5_insufficient_power",
        Category.POWER,
        "0000:5e:00.0",
    ),
    (
        f"{NIC}Port module event[error]: module 0, Cable error, High Temperature",
        "mlx5_module_temperature",
        Category.THERMAL,
        "0000:5e:00.0",
    ),
    (
        f"{NIC}Port module event: module 0, Cable unplugged",
        "mlx5_port_module_event",
        Category.LINK,
        "0000:5e:00.0",
    ),
    (
        f"{NIC}mlx5_cmd_out_err:838:(pid 1): ACCESS_REG(0x805) op_mod(0x1) failed, status bad",
        "mlx5_access_reg_failed",
        Category.OTHER,
        "0000:5e:00.0",
    ),
    (
        f"{NIC}poll_health:789:(pid 0): device's health compromised - reached miss count",
        "mlx5_health_compromised",
        Category.FIRMWARE,
        "0000:5e:00.0",
    ),
]


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
        f"{AMD}GPU reset succeeded, trying to resume",
        f"{AMD}Starting gfx_0.0.0 ring reset",
        "pt_main_thread[77]: segfault at 7f ip 00 sp 00 error 4 in libnccl.so.2[7f+d3]",
        "audit: NVRM: Xid (PCI:0000:65:00): 79, a message that only quotes one",
        "usb 1-1: Product: NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:65:00): , no number",
        "NVRM: GPU at PCI:0000:65:00: GPU-00000000-1111-2222-3333-444444444444",
        "nvidia-nvswitch3: SXid (PCI:0000:08:00.0): 22013, Severity 0 Engine instance 60",
        f"{NIC}Port module event: module 0, Cable plugged",
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


def test_codes_that_nobody_documented_are_never_fatal() -> None:
    assert {xid_category(xid) for xid in range(176, 400)} == {Category.OTHER}


def test_sxid_is_fatal_by_the_guide_or_by_its_word() -> None:
    assert sxid_category(22003, fatal=False) is Category.LINK_FATAL
    assert sxid_category(99999, fatal=True) is Category.LINK_FATAL
    assert sxid_category(12028, fatal=False) is Category.LINK
    assert sxid_category(10004, fatal=False) is Category.THERMAL


ALPHABET = (
    "NVRM: Xid(PCI:0)=,[].'<>#/-\n\x00é" + "amdgpu i915 xe nfs: server task blocked EDAC error"
)


@given(st.one_of(st.text(max_size=300), st.text(ALPHABET, max_size=300)))
def test_any_text_is_survived(text: str) -> None:
    find(text, PATTERNS)


@given(st.sampled_from(FAULTS), st.data())
def test_damaged_messages_are_survived(
    fault: tuple[str, str, Category, str], data: st.DataObject
) -> None:
    text = fault[0]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    find(text[:start] + data.draw(st.text(max_size=8)) + text[end:], PATTERNS)


@pytest.mark.parametrize("head", [text[: len(text) // 2] for text, *_ in FAULTS] + [""])
@pytest.mark.parametrize("filler", ["a", " ", "1,", "0:", "\\", "[a", "(", "task a:1 ", " on "])
def test_long_messages_are_survived(head: str, filler: str) -> None:
    """An expression that backtracks without bound would not come to an end here."""
    find(head + filler * (8192 // len(filler)), PATTERNS)


PAGE = Path(__file__).resolve().parents[3] / "docs/backends/kernel-log.md"


def test_page_names_every_code_with_its_category() -> None:
    page = {
        code: categories
        for codes, categories in re.findall(
            r"^\| (`.*?`) \| (.*?) \|", PAGE.read_text(), re.MULTILINE
        )
        for code in re.findall(r"`(\w+)`", codes)
    }
    families = ("xid_", "sxid_", "ras_umc", "ras_other", "hygpu_", "xe_hardware_error")
    for _, code, category, _ in FAULTS:
        if not code.startswith(families):
            assert page[code] == category.value, code
    named = {pattern.code for pattern in PATTERNS if pattern.decide is None}
    assert named <= set(page)
