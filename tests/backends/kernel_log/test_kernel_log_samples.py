"""Every recorded kernel message against what a person reads in it."""

import json
import re

import msgspec
import pytest

from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.system.kernel.xid import NVLINK5
from accelwatch_kernel_log.interpreter import PATTERNS, Interpreter
from accelwatch_kernel_log.patterns.nvidia import xid_category
from accelwatch_kernel_log.patterns.pattern import Match, find
from accelwatch_kernel_log.record import Framer, Record
from support.machines.samples import sample, samples_root

pytestmark = pytest.mark.oracle

# What dmesg, syslog and journalctl put before the message; /dev/kmsg has nothing of it.
PREFIX = re.compile(
    r"^(?:kern  :\w+ *: \S+ |\[[^\]]*\d{4}\] |(?:\S+ +\d+ [\d:]+ \S+ |[\d:]+ +|\S+T\S+ \S+ )?kernel: "
    r"|\d+,\d+,\d+,-;)?(?:\[(?: *\d+\.\d+|XXXXX)\] )?(?:\[ *T\d+\] )?"
)

Expected = tuple[int, str, str, Category, dict[str, str]]
APPLICATION, HANG, OTHER = Category.APPLICATION, Category.HANG, Category.OTHER
FIRMWARE, BUS = Category.FIRMWARE, Category.BUS
CONTAINED, FATAL = Category.MEMORY_CONTAINED, Category.MEMORY_FATAL
LINK, LINK_FATAL = Category.LINK, Category.LINK_FATAL
PEERMEM = "nvidia_peermem_invalid_context"


def xids(bdf: str, *rows: tuple[int, int, Category, str, str]) -> list[Expected]:
    """(line, xid, category, pid, process) on one GPU; an empty pid or process must be unknown."""
    return [
        (line, f"xid_{xid}", bdf, category, {"pid": pid, "process": process})
        for line, xid, category, pid, process in rows
    ]


FILES: dict[str, list[Expected]] = {
    "amd/kernel/amdgpu_mes_reset_fails_navi33.log": [
        (4, "amdgpu_ring_timeout", "0000:03:00.0", HANG, {"ring": "gfx_0.0.0"}),
        (
            5,
            "amdgpu_process",
            "0000:03:00.0",
            APPLICATION,
            {"process": "WoWClassic.exe", "pid": "47714", "thread": "dxvk-submit"},
        ),
        (7, "amdgpu_mes_timeout", "0000:03:00.0", FIRMWARE, {}),
        (11, "amdgpu_ring_reset_failed", "0000:03:00.0", HANG, {"ring": "gfx_0.0.0"}),
        (12, "amdgpu_reset_begin", "0000:03:00.0", HANG, {}),
    ],
    "amd/kernel/amdgpu_page_fault_gfxhub_clinfo.log": [
        (
            1,
            "amdgpu_page_fault",
            "0000:07:00.0",
            APPLICATION,
            {"hub": "gfxhub0", "process": "clinfo", "pid": "1382"},
        ),
    ],
    "amd/kernel/amdgpu_page_fault_kernel_doc.txt": [
        (1, "amdgpu_page_fault", "", APPLICATION, {"process": "glxinfo", "pid": "2424"}),
    ],
    "amd/kernel/amdgpu_page_fault_mi300_link_reset.log": [
        (1, "amdgpu_page_fault", "0000:38:00.0", APPLICATION, {"hub": "mmhub0", "pid": ""}),
    ],
    "amd/kernel/amdgpu_page_fault_mmhub_python.log": [
        (1, "amdgpu_page_fault", "0000:2b:00.0", APPLICATION, {"process": "python", "pid": "4381"}),
    ],
    "amd/kernel/amdgpu_ras_athub_interrupt_mi50.log": [
        (3, "ras_fatal_interrupt", "0000:e3:00.0", FATAL, {"event": "ERREVENT_ATHUB_INTERRUPT"}),
        (4, "amdgpu_reset_begin", "0000:e3:00.0", HANG, {}),
    ],
    "amd/kernel/amdgpu_ras_bad_pages_threshold.log": [
        (
            2,
            "amdgpu_bad_pages_threshold",
            "0000:08:00.0",
            FATAL,
            {"pages": "176", "threshold": "128"},
        ),
    ],
    "amd/kernel/amdgpu_ras_correctable_total.log": [
        (1, "ras_gfx", "0000:c1:00.0", CONTAINED, {"socket": "4", "die": "0", "count": "1"}),
    ],
    "gaudi/kernel/habanalabs_init_failed_cpucp_timeout.log": [
        (4, "habanalabs_cpucp_timeout", "hl2", FIRMWARE, {}),
        (7, "habanalabs_init_failed", "0000:1a:00.0", FIRMWARE, {"name": "hl2"}),
        (8, "habanalabs_cpucp_timeout", "hl6", FIRMWARE, {}),
        (11, "habanalabs_init_failed", "0000:34:00.0", FIRMWARE, {"name": "hl6"}),
        (12, "habanalabs_cpucp_timeout", "hl4", FIRMWARE, {}),
        (15, "habanalabs_init_failed", "0000:33:00.0", FIRMWARE, {"name": "hl4"}),
        (16, "habanalabs_cpucp_timeout", "hl7", FIRMWARE, {}),
    ],
    "gaudi/kernel/habanalabs_probe_gaudi2.log": [],
    "hygon/kernel/hygpu_page_fault.log": [
        (1, "hygpu_page_fault", "0000:01:00.4", APPLICATION, {"hub": "mmhub0"}),
    ],
    "intel/kernel/i915_engine_reset_preemption_timeout.log": [
        (1, "i915_engine_reset", "0000:00:02.0", APPLICATION, {"engine": "rcs0"}),
        (2, "i915_gpu_hang", "0000:00:02.0", HANG, {"ecode": "12:1:e75ffefe"}),
        (3, "i915_engine_reset", "0000:00:02.0", APPLICATION, {"engine": "bcs0"}),
        (4, "i915_gpu_hang", "0000:00:02.0", HANG, {"ecode": "12:2:10000001"}),
    ],
    "intel/kernel/i915_gpu_hang_adlp.log": [
        (2, "i915_gpu_hang", "0000:00:02.0", HANG, {"process": "python3", "pid": "6414"}),
        (3, "i915_gpu_reset", "0000:00:02.0", HANG, {"reason": "stopped heartbeat on rcs0"}),
        (4, "i915_context_reset", "0000:00:02.0", APPLICATION, {"process": "python3"}),
    ],
    "intel/kernel/i915_gpu_hang_blender.log": [
        (1, "i915_context_reset", "0000:00:02.0", APPLICATION, {"pid": "90663"}),
        (2, "i915_gpu_hang", "0000:00:02.0", HANG, {"process": "blender", "pid": "90663"}),
    ],
    "intel/kernel/i915_hang_old_ironlake.log": [
        (1, "i915_gpu_hang", "", HANG, {"ring": "render"}),
        (2, "i915_gpu_hang", "", HANG, {"ecode": "5:0:0xb5cefffc", "process": "compiz"}),
        (3, "i915_gpu_reset", "", HANG, {}),
    ],
    "intel/kernel/i915_hang_ollama_embed.log": [
        (1, "i915_engine_reset", "", APPLICATION, {"engine": "rcs0"}),
        (2, "i915_context_reset", "", APPLICATION, {"process": "ollama", "pid": "4101609"}),
        (3, "i915_gpu_hang", "", HANG, {"process": "ollama", "pid": "4101609"}),
    ],
    "intel/kernel/i915_reset_request_timed_out_adl.log": [
        (1, "i915_reset_failed", "0000:00:02.0", HANG, {"engine": "rcs0"}),
        (2, "i915_reset_failed", "0000:00:02.0", HANG, {"engine": "rcs0"}),
        (3, "i915_gpu_reset", "0000:00:02.0", HANG, {}),
        (4, "i915_gpu_hang", "0000:00:02.0", HANG, {"process": "xdg-desktop-por", "pid": "1676"}),
        (5, "i915_reset_failed", "0000:00:02.0", HANG, {}),
    ],
    "intel/kernel/xe_probe_dg1.log": [],
    "neuron/kernel/neuron_docs_messages.log": [
        (2, "neuron_out_of_memory", "neuron0", APPLICATION, {}),
        (
            3,
            "neuron_sram_uncorrectable_error",
            "neuron0",
            FATAL,
            {"core": "0", "serial": "19fcda00f5ff6eb9", "action": "TERMINATE_INSTANCE"},
        ),
    ],
    "neuron/logs/nrt_hardware_error_messages.txt": [
        (
            1,
            "neuron_sram_uncorrectable_error",
            "neuron0",
            FATAL,
            {"core": "0", "metadata": "0x16"},
        ),
        (2, "neuron_hbm_uncorrectable_error", "", FATAL, {}),
        (3, "neuron_hbm_repairable_error", "", CONTAINED, {}),
        (4, "neuron_dma_error", "neuron0", BUS, {"core": "0", "engine": "TX engine 0"}),
        (5, "neuron_dma_error", "neuron0", BUS, {"core": "0", "engine": "RX engine 0"}),
        (6, "neuron_collectives_hang", "neuron0", HANG, {"core": "0", "model": "0"}),
        (
            7,
            "neuron_execution_timeout",
            "neuron0",
            HANG,
            {"core": "0", "model": "xxx.neff", "milliseconds": "30000"},
        ),
    ],
    "nvidia/kernel/egpu_xid_79_154_surprise_removal.log": [
        (1, "xid_79", "0000:04:00.0", BUS, {"message": "GPU has fallen off the bus."}),
        (2, "nvidia_fallen_off_bus", "0000:04:00.0", BUS, {}),
        (4, "xid_154", "0000:04:00.0", OTHER, {"value": "0x1", "action": "GPU Reset Required"}),
    ],
    "nvidia/kernel/gpud_dmesg_nccl_segfault_iso.log": [],
    "nvidia/kernel/gpud_dmesg_oom_iso.log": [
        *xids("0000:38:00.0", *((n, 13, APPLICATION, "", "") for n in range(1, 17))),
        *xids("0000:38:00.0", (17, 43, APPLICATION, "2924364", "pt_main_thread")),
        (20, "oom_kill", "httpd", APPLICATION, {"pid": "123"}),
        (21, "oom_kill", "python", APPLICATION, {"pid": "456"}),
        (22, "oom_kill", "httpd", APPLICATION, {"pid": "123"}),
    ],
    "nvidia/kernel/gpud_dmesg_xid119_h100.log": [
        *xids(
            "0000:9b:00.0",
            (3, 119, FIRMWARE, "2024380", "nvidia-smi"),
            (38, 119, FIRMWARE, "2024380", "nvidia-smi"),
            (40, 119, FIRMWARE, "2024380", "nvidia-smi"),
            (42, 119, FIRMWARE, "1263500", "cache_mgr_main"),
            (43, 119, FIRMWARE, "1240590", "gpud"),
        ),
        (41, "nvidia_gsp_rpc_failing", "0000:9b:00.0", FIRMWARE, {}),
    ],
    "nvidia/kernel/gpud_kmsg_nvswitch.log": [],
    "nvidia/kernel/gpud_kmsg_peermem.log": [(n, PEERMEM, "", APPLICATION, {}) for n in range(1, 8)],
    "nvidia/kernel/gsp_heartbeat_timeout_no_xid.log": [
        (2, "nvidia_gsp_heartbeat", "GPU6", FIRMWARE, {}),
        (3, "nvidia_gsp_heartbeat", "GPU6", FIRMWARE, {}),
    ],
    "nvidia/kernel/h100_xid_13_109_dmesg.log": [
        (1, PEERMEM, "", APPLICATION, {}),
        *xids("0000:cb:00.0", *((n, 13, APPLICATION, "", "") for n in (2, 3, 4))),
        *xids("0000:cb:00.0", (5, 109, HANG, "1797828", "pt_main_thread")),
    ],
    "nvidia/kernel/xid_13_109_unknown_pid.log": [
        (1, PEERMEM, "", APPLICATION, {}),
        *xids("0000:cb:00.0", *((n, 13, APPLICATION, "", "") for n in (2, 3, 4))),
        *xids("0000:cb:00.0", (5, 109, HANG, "1797828", "pt_main_thread")),
    ],
    "nvidia/kernel/h100_xid_48_63_94_dmesg.log": xids(
        "0000:52:00.0",
        (1, 48, FATAL, "", ""),
        (2, 63, CONTAINED, "", ""),
        (3, 94, CONTAINED, "", ""),
    ),
    "nvidia/kernel/nixos_xid_16_8_32.log": xids(
        "0000:01:00.0",
        (2, 16, OTHER, "", ""),
        (3, 8, APPLICATION, "4270", "wezterm-gui"),
        (4, 32, APPLICATION, "3911", "X"),
        (5, 32, APPLICATION, "969", "(udev-worker)"),
        (6, 32, APPLICATION, "3911", "X"),
    ),
    "nvidia/kernel/nvswitch_sxid.log": [
        (1, "sxid_12028", "0000:85:00.0", LINK_FATAL, {"severity": "Non-fatal", "link": "61"}),
        (2, "sxid_22013", "0000:08:00.0", LINK, {"switch": "3", "link": "60"}),
        (4, "sxid_20009", "0000:06:00.0", LINK, {"message": "RX Short Error Rate", "link": "04"}),
        (5, "sxid_24007", "0000:c3:00.0", LINK_FATAL, {"severity": "Fatal", "link": "28"}),
        (6, "sxid_20034", "0000:00:00.0", LINK_FATAL, {"message": "LTSSM Fault Up"}),
    ],
    "nvidia/kernel/rtx_xid_38_109_idle_modprobe.log": xids(
        "0000:07:00.0",
        (2, 38, OTHER, "326", "modprobe"),
        *((n, 109, HANG, "326", "modprobe") for n in (3, 4, 5)),
    ),
    "nvidia/kernel/ubuntuforums_xid_62_31_13_56_38.log": xids(
        "0000:03:00.0",
        (2, 62, FIRMWARE, "", ""),
        (3, 31, APPLICATION, "", ""),
        *((n, 13, APPLICATION, "", "") for n in range(4, 10)),
        (10, 56, OTHER, "", ""),
        (11, 56, OTHER, "", ""),
        (12, 38, OTHER, "", ""),
        (13, 31, APPLICATION, "", ""),
    ),
    "nvidia/kernel/ubuntuforums_xid_62_rminit_gtx780.log": [
        *xids("0000:01:00.0", (2, 62, FIRMWARE, "2763", "")),
        (3, "nvidia_init_failed", "0000:01:00.0", FIRMWARE, {"status": "0x26:0x1a:1227"}),
        (4, "nvidia_init_failed", "0000:01:00.0", FIRMWARE, {}),
    ],
    "nvidia/kernel/xid_119_gsp_rpc_repeated_messages.txt": xids(
        "0000:9b:00.0",
        (1, 119, FIRMWARE, "4071838", "python"),
        (2, 119, FIRMWARE, "28232", "cache_mgr_main"),
        (3, 119, FIRMWARE, "28232", "cache_mgr_main"),
        (4, 119, FIRMWARE, "28098", "gpu-feature-dis"),
        (5, 119, FIRMWARE, "4071838", "python"),
    ),
    "nvidia/kernel/xid_62_31_45_32_geforce_syslog.log": xids(
        "0000:02:00.0",
        (3, 62, FIRMWARE, "1300", ""),
        (4, 31, APPLICATION, "1300", ""),
        (5, 62, FIRMWARE, "1294", ""),
        (6, 32, APPLICATION, "1294", ""),
        (7, 32, APPLICATION, "4091", ""),
    ),
    # A daemon's own log file, not the kernel's: none of it may be taken for a kernel message.
    "nvidia/logs/gpud_fabricmanager.log": [],
    "rebellions/kernel/rebellions_probe_cr03_emulated.log": [],
}


def message(line: str) -> str:
    prefix = PREFIX.match(line)
    return line[prefix.end() :] if prefix else line


@pytest.mark.parametrize("name", FILES)
def test_each_line_of_the_file(name: str) -> None:
    lines = sample(name).read_text().splitlines()
    found = {n: find(message(line), PATTERNS) for n, line in enumerate(lines, 1)}
    seen = {
        n: (event.code, event.subject, event.category)
        for n, event in found.items()
        if event is not None
    }
    assert seen == {n: (code, who, category) for n, code, who, category, _ in FILES[name]}
    for n, *_, detail in FILES[name]:
        event = found[n]
        assert event is not None
        assert {key: event.detail.get(key, "") for key in detail} == detail


def test_no_recorded_kernel_file_is_left_out() -> None:
    sample("nvidia/kernel")
    root = samples_root()
    there = {str(path.relative_to(root)) for path in root.glob("*/kernel/*")}
    assert there - set(FILES) == {
        "nvidia/kernel/xid_lines.jsonl",
        "nvidia/kernel/xid_names.tsv",
    }


class Row(msgspec.Struct):
    """A line with the number that its collector read in it; None where it is no Xid line."""

    xid: int | None
    line: str


def rows() -> list[Row]:
    text = sample("nvidia/kernel/xid_lines.jsonl").read_text()
    return [msgspec.json.decode(line, type=Row) for line in text.splitlines()]


def named(line: str) -> Match | None:
    return find(message(line), PATTERNS)


def test_each_single_xid_line_gives_its_own_number() -> None:
    checked = 0
    for row in rows():
        if row.xid is None or "PCI:..." in row.line:
            continue
        found = named(row.line)
        assert found is not None, row.line
        assert found.code == f"xid_{row.xid}"
        bus = re.search(r"\((?:PCI:)?([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2})", row.line)
        assert bus is not None
        assert found.subject == f"{bus[1]}.0"
        checked += 1
    assert checked == 41


@pytest.mark.parametrize(
    ("part", "code", "detail"),
    [
        ("name=KMS thread,", "xid_119", {"process": "KMS thread", "driver_name": "GPU0"}),
        ("name=ray::WorkerDict,", "xid_145", {"process": "ray::WorkerDict", "link": "13"}),
        ("GPU-I:05", "xid_94", {"gpu_instance": "05", "pid": "7194"}),
        ("name=Stray-Win64-Shi, ", "xid_109", {"process": "Stray-Win64-Shi", "message": ""}),
        ("38, pid=1659,", "xid_38", {"pid": "1659", "process": ""}),
        ("name=llama-server", "xid_69", {"process": "llama-server", "message": ""}),
        ("[ T1946]", "xid_31", {"pid": "1942", "process": "llama-bench"}),
        ("NETIR Fatal", "xid_149", {"unit": "NETIR", "severity": "Fatal", "link": "-1"}),
        ("NETIR_LINK_EVT  Fatal", "xid_149", {"unit": "NETIR_LINK_EVT", "link": "01"}),
        ("0x2 (OS Reboot)", "xid_154", {"value": "0x2", "action": "OS Reboot"}),
        ("0x1 (GPU Reset", "xid_154", {"value": "0x1", "action": "GPU Reset Required"}),
        ("postRxDetLinkMask", "nvidia_nvlink_rx_detect", {}),
        ("_kgspIsHeartbeatTimedOut", "nvidia_gsp_heartbeat", {}),
    ],
)
def test_parts_of_single_lines(part: str, code: str, detail: dict[str, str]) -> None:
    (line,) = [row.line for row in rows() if part in row.line]
    found = named(line)
    assert found is not None
    assert found.code == code
    assert {key: found.detail.get(key, "") for key in detail} == detail


def test_line_whose_bus_id_was_blanked_is_no_event() -> None:
    (line,) = [row.line for row in rows() if "PCI:..." in row.line]
    assert named(line) is None


def test_severity_word_decides_nvlink5_codes() -> None:
    words = {
        found.code + found.detail.get("severity", ""): found.category
        for row in rows()
        if row.xid in NVLINK5 and (found := named(row.line))
    }
    assert words == {
        "xid_144Nonfatal": LINK,
        "xid_145Nonfatal": LINK,
        "xid_149Fatal": LINK_FATAL,
    }


def test_raw_kmsg_file_is_framed_record_by_record() -> None:
    content = sample("nvidia/kernel/gpud_kmsg_nvswitch.log").read_bytes()
    records = list(Framer().feed(content if content.endswith(b"\n") else content + b"\n"))
    assert len(records) == 47
    assert records[0] == Record(
        facility=0,
        level=6,
        sequence=3964,
        seconds=206.764307,
        text="nvidia-nvswitch2: open (major=510)",
    )
    assert [record.sequence for record in records] == list(range(3964, 4011))


def test_repeated_peermem_records_are_one_event() -> None:
    content = sample("nvidia/kernel/gpud_kmsg_peermem.log").read_bytes() + b"\n"
    interpreter = Interpreter()
    events = [interpreter.event(record, 1000.0, 2000.0) for record in Framer().feed(content)]
    (event,) = [event for event in events if event is not None]
    assert event.code == PEERMEM
    assert event.time == pytest.approx(1227.996636)


def events_of(name: str) -> list[ErrorEvent]:
    """Events of a recorded file, read line by line a millisecond apart."""
    interpreter = Interpreter()
    lines = sample(name).read_text().splitlines()
    records = [
        Record(facility=0, level=3, sequence=number, seconds=number / 1e3, text=message(line))
        for number, line in enumerate(lines, 1)
    ]
    events = [interpreter.event(record, 0.0, 1e9) for record in records]
    return [event for event in events if event is not None]


def test_gpu_of_a_recorded_xid_has_its_uuid_and_serial() -> None:
    first, *_ = events_of("nvidia/kernel/gpud_dmesg_xid119_h100.log")
    assert first.code == "xid_119"
    assert first.detail["uuid"] == "GPU-509665ad-b600-ac93-3616-d754b23d636d"
    assert first.detail["board_serial"] == "1650124014249"


@pytest.mark.parametrize(
    ("name", "uuid"),
    [
        (
            "nvidia/kernel/xid_62_31_45_32_geforce_syslog.log",
            "GPU-566b96ce-1c0e-55a2-e739-301b62e223b8",
        ),
        (
            "nvidia/kernel/rtx_xid_38_109_idle_modprobe.log",
            "GPU-fb51809b-350a-99db-67b5-e16fc6d498ab",
        ),
        ("nvidia/kernel/nixos_xid_16_8_32.log", "GPU-9ba0f26a-a046-9909-7b2a-17a000456830"),
        (
            "nvidia/kernel/ubuntuforums_xid_62_rminit_gtx780.log",
            "GPU-462c5715-f9c5-3eed-56ad-35fdd066205f",
        ),
    ],
)
def test_each_recorded_xid_names_its_gpu(name: str, uuid: str) -> None:
    events = events_of(name)
    assert events
    assert {event.detail.get("uuid") for event in events} == {uuid}
    assert not any("board_serial" in event.detail for event in events), "the board tells none"


def test_recorded_ring_timeout_names_its_process() -> None:
    timeout, process, *_ = events_of("amd/kernel/amdgpu_mes_reset_fails_navi33.log")
    assert timeout.code == "amdgpu_ring_timeout"
    assert process.detail == {
        "driver": "amdgpu",
        "process": "WoWClassic.exe",
        "pid": "47714",
        "thread": "dxvk-submit",
        "tid": "47850",
        "ring": "gfx_0.0.0",
        "follows": "amdgpu_ring_timeout",
    }


def test_categories_agree_with_the_published_actions() -> None:
    sample("nvidia")
    path = samples_root().parent / "data/nvidia-xid.json"
    if not path.is_file():
        pytest.skip(f"no table at {path}")
    fatal = {FATAL, BUS, LINK_FATAL, FIRMWARE, HANG}
    for row in json.loads(path.read_text())["rows"]:
        xid, ours = row["xid"], row["ours"]
        category = xid_category(xid)
        if ours == "app" or ours.startswith("victim"):
            assert category is APPLICATION, xid
        elif ours.startswith(("reset", "reboot")):
            assert category in fatal, xid
        elif ours.startswith(("watch", "info", "alert", "pend", "app + pend")):
            assert category not in fatal, xid
