"""Records that belong together: bursts folded into one event, followers, names heard before."""

from pathlib import Path

import pytest

from accelwatch.backend import Context
from accelwatch.base.clock import ManualClock
from accelwatch.schema.event import Category
from accelwatch_kernel_log import KernelLogBackend
from backends.kernel_log.memory_log import NOW, XID79, Log, codes, start


def test_burst_is_one_event_with_the_first_text(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    for number in range(5):
        log.say(number + 1, f"NVRM: Xid (PCI:0000:65:00): 13, part {number}", seconds=900 + number)
    log.say(6, "NVRM: Xid (PCI:0000:66:00): 13, other GPU", seconds=904)
    log.say(7, "NVRM: Xid (PCI:0000:65:00): 13, again", seconds=906)
    texts = [event.detail["message"] for event in backend.wait_events(0.0)]
    assert texts == ["part 0", "other GPU", "again"]


def test_two_wordings_of_a_lost_gpu_are_reported_once_each(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, XID79)
    log.say(2, "NVRM: GPU 0000:65:00.0: GPU has fallen off the bus.")
    log.say(3, "NVRM: GPU 0000:66:00.0: GPU has fallen off the bus.")
    found = [(event.code, event.subject) for event in backend.wait_events(0.0)]
    assert found == [("xid_79", "0000:65:00.0"), ("nvidia_fallen_off_bus", "0000:66:00.0")]


def test_graver_message_is_not_folded_into_a_lesser_one(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    text = "amdgpu 0000:c1:00.0: amdgpu: 1 {} hardware errors detected in total in umc block"
    log.say(1, text.format("correctable"))
    log.say(2, text.format("uncorrectable"))
    categories = [event.category for event in backend.wait_events(0.0)]
    assert categories == [Category.MEMORY_CONTAINED, Category.MEMORY_FATAL]


def test_bus_errors_are_folded_for_a_minute_and_register_errors_for_a_day(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    bus = "nvidia 0000:65:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer"
    register = "mlx5_core 0000:5e:00.0: ACCESS_REG(0x805) op_mod(0x1) failed"
    for sequence, (text, seconds) in enumerate(
        [
            (bus, 100),
            (bus, 159),
            (bus, 161),
            (register, 200),
            (register, 86_000),
            (register, 86_700),
        ]
    ):
        log.say(sequence + 1, text, seconds=seconds)
    assert codes(backend.wait_events(0.0)) == [
        *("pcie_corrected", "pcie_corrected"),
        *("mlx5_access_reg_failed", "mlx5_access_reg_failed"),
    ]


def test_each_change_of_the_recovery_action_is_reported(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    text = "NVRM: Xid (PCI:0000:65:00): 154, GPU recovery action changed from 0x0 (None) to {}"
    log.say(1, text.format("0x4 (Drain and Reset)"))
    log.say(2, text.format("0x1 (GPU Reset Required)"))
    actions = [event.detail["action"] for event in backend.wait_events(0.0)]
    assert actions == ["Drain and Reset", "GPU Reset Required"]


def test_clean_up_after_another_error_is_the_applications(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, XID79, seconds=900.0)
    log.say(2, "NVRM: Xid (PCI:0000:65:00): 45, pid=1, name=a, Ch 1", seconds=901.0)
    log.say(3, "NVRM: Xid (PCI:0000:66:00): 45, pid=1, name=a, Ch 1", seconds=901.0)
    log.say(4, "NVRM: Xid (PCI:0000:65:00): 45, pid=1, name=a, Ch 1", seconds=950.0)
    _, follower, other, late = backend.wait_events(0.0)
    assert follower.category is Category.APPLICATION
    assert follower.detail["follows"] == "xid_79"
    for alone in (other, late):
        assert alone.category is Category.OTHER
        assert "follows" not in alone.detail


CAUSED = "NVRM: Xid (PCI:0000:65:00): 45, pid=1, name=a, Ch 00000008 caused by previous Xid {}"


@pytest.mark.parametrize("before", [None, 13, 149])
@pytest.mark.parametrize("cause", [145, 149])
def test_cause_that_the_message_names_is_the_cause(
    root: Path, before: int | None, cause: int
) -> None:
    """The driver names it minutes later too, or when the cause was never logged."""
    log = Log()
    backend = start(root, log)
    if before is not None:
        log.say(1, f"NVRM: Xid (PCI:0000:65:00): {before}, x", seconds=899.0)
    log.say(2, CAUSED.format(cause), seconds=900.0)
    event = backend.wait_events(0.0)[-1]
    assert (event.code, event.category) == ("xid_45", Category.APPLICATION)
    assert event.detail["follows"] == f"xid_{cause}"


@pytest.mark.parametrize(
    ("fault", "code", "location"),
    [
        (
            "ring gfx_0.0.0 timeout, signaled seq=9, emitted seq=10",
            "amdgpu_ring_timeout",
            {"ring": "gfx_0.0.0"},
        ),
        (
            "[gfxhub] page fault (src_id:0 ring:24 vmid:3 pasid:32773)",
            "amdgpu_page_fault",
            {"hub": "gfxhub"},
        ),
    ],
)
def test_process_after_a_fault_of_amdgpu_belongs_to_it(
    root: Path, fault: str, code: str, location: dict[str, str]
) -> None:
    log = Log()
    backend = start(root, log)
    amd = "amdgpu 0000:c1:00.0: amdgpu: "
    line = "Process python3 pid 4711 thread python3:cs0 pid 4712"
    log.say(1, f"{amd}{fault}", seconds=900.0)
    log.say(2, f"{amd} {line}", seconds=900.0)
    log.say(3, f"amdgpu 0000:c2:00.0: amdgpu: {line}", seconds=900.0)
    log.say(4, f"{amd} {line}", seconds=906.0)
    _, mine, other, late = backend.wait_events(0.0)
    process = {"process": "python3", "pid": "4711", "thread": "python3:cs0", "tid": "4712"}
    assert mine.code == "amdgpu_process"
    assert mine.detail == {"driver": "amdgpu", **process, **location, "follows": code}
    for event in (other, late):
        assert event.detail == {"driver": "amdgpu", **process}


def test_name_of_the_driver_is_resolved_once_it_was_logged(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    heartbeat = "NVRM: GPU4 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 1"
    log.say(1, heartbeat, seconds=10)
    log.say(
        2,
        "NVRM: Xid (PCI:0000:9b:00): 119, pid=1, name=a, "
        "Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 76",
        seconds=20,
    )
    log.say(3, heartbeat, seconds=30)
    first, _, second = backend.wait_events(0.0)
    assert first.subject == "GPU4"
    assert second.subject == "0000:9b:00.0"
    assert second.detail["driver_name"] == "GPU4"


def test_lost_gpu_reported_over_several_records(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, "NVRM: The NVIDIA GPU 0000:65:00.0 (PCI ID: 10de:2330)")
    log.say(2, "NVRM: installed in this system has fallen off the bus and is not responding")
    (event,) = backend.wait_events(0.0)
    assert (event.code, event.subject) == ("nvidia_fallen_off_bus", "0000:65:00.0")


def test_server_that_answers_again_reports_how_long_it_was_silent(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, "nfs: server a not responding, still trying", seconds=100)
    log.say(2, "nfs: server a not responding, still trying", seconds=160)
    log.say(3, "nfs: server b OK", seconds=170)
    log.say(4, "nfs: server a OK", seconds=250)
    events = backend.wait_events(0.0)
    assert codes(events) == ["nfs_not_responding", "nfs_not_responding", "nfs_ok", "nfs_ok"]
    assert "silent_seconds" not in events[2].detail
    assert events[3].detail["silent_seconds"] == "150"


INITIALIZED = "[drm] Initialized xe 1.1.0 for {} on minor 0"
WEDGED = [
    ("xe {}: [drm] device wedged, needs recovery", "drm_wedged"),
    ("xe {0}: [drm] *ERROR* CRITICAL: Xe has declared device {0} as wedged.", "xe_wedged"),
    ("xe {}: [drm] *ERROR* GT0: reset failed (-ECANCELED)", "xe_reset_failed"),
    ("xe {}: Runtime Survivability mode enabled", "xe_survivability"),
    ("i915 {}: [drm] *ERROR* GPU recovery timed out, cancelling all in-flight", "i915_wedged"),
    ("i915 {}: [drm] *ERROR* rcs0 reset request timed out: {{0}}", "i915_reset_failed"),
]


def test_a_driver_that_is_loaded_for_a_sound_device_is_no_event(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, INITIALIZED.format("0000:03:00.0"))
    assert backend.wait_events(0.0) == []


@pytest.mark.parametrize(("text", "code"), WEDGED)
def test_a_driver_that_is_loaded_again_for_a_device_that_was_given_up_is_reported_once(
    root: Path, text: str, code: str
) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, text.format("0000:03:00.0"), seconds=100)
    log.say(2, INITIALIZED.format("0000:04:00.0"), seconds=200)
    log.say(3, INITIALIZED.format("0000:03:00.0"), seconds=300)
    log.say(4, INITIALIZED.format("0000:03:00.0"), seconds=400)
    events = backend.wait_events(0.0)
    assert codes(events) == [code, "drm_initialized"]
    assert events[1].subject == "0000:03:00.0"
    assert events[1].time - events[0].time == 200


@pytest.mark.parametrize(("text", "code"), WEDGED)
def test_a_device_that_was_given_up_before_a_restart_of_the_agent_is_remembered(
    root: Path, text: str, code: str
) -> None:
    log = Log()
    log.say(1, text.format("0000:03:00.0"), seconds=100)
    log.say(2, text.format("0000:04:00.0"), seconds=110)
    log.say(3, INITIALIZED.format("0000:04:00.0"), seconds=120)
    backend = start(root, log)
    log.say(4, INITIALIZED.format("0000:03:00.0"), seconds=300)
    log.say(5, INITIALIZED.format("0000:04:00.0"), seconds=300)
    events = backend.wait_events(0.0)
    assert [(event.code, event.subject) for event in events] == [
        ("drm_initialized", "0000:03:00.0")
    ]


def test_user_space_neither_gives_a_device_up_nor_brings_it_back(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    wedged, back = WEDGED[0][0].format("0000:03:00.0"), INITIALIZED.format("0000:03:00.0")
    log.say(1, wedged, seconds=100, prefix=11)
    log.say(2, back, seconds=200)
    log.say(3, wedged, seconds=300)
    log.say(4, back, seconds=400, prefix=11)
    log.say(5, back, seconds=500)
    events = backend.wait_events(0.0)
    # What user space writes of a device that comes back is nobody's event, not even an untrusted one.
    assert [(event.code, event.trusted) for event in events] == [
        ("drm_wedged", False),
        ("drm_wedged", True),
        ("drm_initialized", True),
    ]
    assert events[2].time - events[1].time == 200


def test_clock_step_moves_no_fold(root: Path) -> None:
    log = Log()
    clock = ManualClock(wall=NOW)
    backend = KernelLogBackend(Context(root=root, clock=clock), lambda path: log)
    backend.open()
    log.say(1, XID79, seconds=900)
    assert codes(backend.wait_events(0.0)) == ["xid_79"]
    clock.step_wall(3600)
    log.say(2, XID79, seconds=901)
    assert backend.wait_events(0.0) == []
