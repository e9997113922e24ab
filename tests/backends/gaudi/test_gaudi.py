"""What hl-smi and the driver say of a Gaudi, in base units, and what they do not say."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch.backend import Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.unlisted import RUNS
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, ReadError
from accelwatch.schema.device import DeviceKind, DeviceState
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch_gaudi import GaudiBackend
from backends.gaudi.machines import FOLDER, drop, lay_out, stage, tree, write_program
from support.machines.polling import Poll, Polled, assert_all_believed, identities, readings
from support.machines.staged_machines import Stage

MIB = 1 << 20


@contextlib.contextmanager
def opened(folder: Path, name: str, node: str = "accel") -> Iterator[tuple[Stage, GaudiBackend]]:
    with stage(folder, name, node) as staged:
        backend = staged.backend()
        assert isinstance(backend, GaudiBackend)
        backend.open()
        yield staged, backend
        backend.close()


def polled(folder: Path, name: str, node: str = "accel") -> dict[int, Polled]:
    """By the vendor's index."""
    with opened(folder, name, node) as (staged, backend):
        polls = Poll(staged.clock)(backend)
    return {(one.identity or (one.found,))[0].index: one for one in polls}


def reading(folder: Path, name: str, index: int, node: str = "accel") -> Reading:
    return polled(folder, name, node)[index].readings[0]


def test_who_a_card_is(tmp_path: Path) -> None:
    polls = polled(tmp_path, "gaudi2-x2")
    (first,) = polls[0].identity
    assert first.id == "habana:01P0-HL2080A0-15-TNBS01-03-07-04"
    assert (first.vendor, first.backend, first.kind) == ("habana", "gaudi", DeviceKind.NPU)
    assert (first.model, first.architecture, first.serial) == ("HL-225", "gaudi2", "AN00000001")
    assert (first.driver_version, first.firmware_version) == ("1.20.0-bd87f71", "58.1.1")
    assert (first.pci_bus_id, first.numa_node) == ("0000:33:00.0", 0)
    assert (first.name, first.device_nodes) == ("accel0", ("/dev/accel/accel0",))
    assert_all_believed(identities(list(polls.values())), readings(list(polls.values())))


def test_a_card_at_work(tmp_path: Path) -> None:
    values = reading(tmp_path, "gaudi2-x2", 0).values
    assert values["utilization_ratio",] == pytest.approx(0.88)
    assert values["temperature_celsius", "gpu"] == 61.0
    assert values["power_watts",] == 525.0
    assert values["power_limit_watts", "enforced"] == 600.0
    assert values["memory_size_bytes",] == 98304 * MIB
    assert values["memory_used_bytes",] == 94963 * MIB
    assert values["clock_hertz", "soc"] == values["clock_limit_hertz", "soc", "max"] == 1.65e9
    assert values["ecc_errors_total", "corrected"] == 3
    assert values["ecc_lifetime_errors", "corrected"] == 17
    assert values["ecc_location_errors_total", "corrected", "dram"] == 2
    assert values["ecc_errors_total", "uncorrected"] == 0, "21 events are no ECC errors"
    assert values["ecc_enabled",] == values["ecc_enabled_pending",] == 1
    assert values["pcie_link_generation", "current"] == 4
    assert values["pcie_link_width_lanes", "max"] == 16
    assert values["performance_state",] == 0
    assert values["platform_module_info", "1"] == 1
    assert values["reported_health_info", "ok"] == 1
    assert values["reset_required",] == 0


def test_resets_of_both_kinds_are_counted_together(tmp_path: Path) -> None:
    assert reading(tmp_path, "gaudi2-x2", 1).values["resets_total",] == 3


def test_processes_of_the_table(tmp_path: Path) -> None:
    polls = polled(tmp_path, "gaudi2-x2")
    busy, idle = (polls[index].readings[0].processes for index in (0, 1))
    assert busy is not None
    assert [(p.pid, p.command, p.gpu_memory_bytes) for p in busy] == [
        (4711, "python3", 94195 * MIB)
    ]
    assert idle == ()


@pytest.mark.parametrize("at_work", ["94195, 83, 22, 0", "768, 83, 22, 40"])
def test_processes_of_others_are_not_reported(tmp_path: Path, at_work: str) -> None:
    """hl-smi says N/A, and the card's memory or load tells that somebody uses it."""
    at_rest = "768, 83, 22, 0"
    with stage(tmp_path, "gaudi2-x2") as staged:
        query = tmp_path / "query.csv"
        assert at_rest in query.read_text()
        query.write_text(query.read_text().replace(at_rest, at_work))
        backend = staged.backend()
        backend.open()
        (reading,) = Poll(staged.clock)(backend)[1].readings
        backend.close()
    assert reading.processes is None
    assert reading.absent["processes",] is Absence.PERMISSION
    assert any(note.startswith("hl-smi names no process, but") for note in reading.notes)


def test_processes_were_not_requested(tmp_path: Path) -> None:
    with opened(tmp_path, "gaudi2-x2") as (_, backend):
        (device,) = backend.identify(backend.discover()[0])
        (plain,) = backend.read(device, Request(processes=False))
    assert plain.processes is None
    assert plain.absent["processes",] is Absence.NOT_COLLECTED


def test_an_old_driver_with_a_table_alone(tmp_path: Path) -> None:
    polls = polled(tmp_path, "gaudi1-table", "hl")
    (device,) = polls[1].identity
    assert (device.id, device.uuid, device.name) == ("habana:0000:20:1d.0", None, "hl0")
    assert (device.model, device.architecture) == ("HL-205", "gaudi")
    assert device.device_nodes == ("/dev/hl0",)
    values = polls[1].readings[0].values
    assert values["memory_used_bytes",] == 32454 * MIB
    assert values["power_limit_watts", "enforced"] == 350.0
    assert values["ecc_errors_total", "uncorrected"] == 0
    assert values["reported_status_info", "operational"] == 1
    assert polls[1].readings[0].absent["performance_state",] is Absence.UNSUPPORTED


@pytest.mark.parametrize(
    ("index", "status", "state", "health"),
    [
        (0, "needs reset", "failed", Health.FAILED),
        (1, "in reset", "degraded", Health.DEGRADED),
        (2, "disabled", "failed", Health.FAILED),
        (3, "operational", "ok", Health.OK),
    ],
)
def test_health(tmp_path: Path, index: int, status: str, state: str, health: Health) -> None:
    read = reading(tmp_path, "gaudi3-bad-day", index)
    assert read.values["reported_status_info", status] == 1
    assert read.values["reported_health_info", state] == 1
    assert read.values["reset_required",] == int(status == "needs reset")
    assert evaluate_health(DeviceState.OK, read, [], 0.0).health is health


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("Operational", "ok"),
        ("Malfunction", "failed"),
        ("In reset", "degraded"),
        ("in device creation", "degraded"),
        ("in reset after device release", "degraded"),
        ("puzzled", None),
    ],
)
def test_words_of_older_and_newer_drivers(tmp_path: Path, word: str, state: str | None) -> None:
    with opened(tmp_path, "gaudi2-x2") as (staged, backend):
        (tmp_path / "sys/bus/pci/devices/0000:33:00.0/status").write_text(f"{word}\n")
        values = Poll(staged.clock)(backend)[0].readings[0].values
    assert values["reported_status_info", word.lower()] == 1
    words = [series[1] for series in values if series[0] == "reported_health_info"]
    assert words == ([] if state is None else [state])


def test_what_cannot_be_read_hides_nothing_else(tmp_path: Path) -> None:
    odd = reading(tmp_path, "gaudi3-bad-day", 1)
    for series in (
        ("utilization_ratio",),
        ("temperature_celsius", "gpu"),
        ("power_watts",),
        ("memory_size_bytes",),
        ("ecc_lifetime_errors", "uncorrected"),
        ("ecc_enabled",),
        ("pcie_link_width_lanes", "current"),
    ):
        assert odd.absent[series] is Absence.ERROR, series
    assert odd.absent["ecc_enabled_pending",] is Absence.UNSUPPORTED
    assert odd.values["memory_used_bytes",] == 672 * MIB
    assert odd.values["pcie_link_width_lanes", "max"] == 16


def test_a_card_of_which_only_the_driver_reports(tmp_path: Path) -> None:
    poll = polled(tmp_path, "gaudi3-bad-day")[2]
    assert poll.identity[0].id == "habana:0000:4c:00.0"
    assert poll.readings[0].values["power_limit_watts", "enforced"] == 850.0
    assert poll.readings[0].sources["power_limit_watts"] == "sysfs"


def test_processes_without_name_or_memory(tmp_path: Path) -> None:
    listed = reading(tmp_path, "gaudi3-bad-day", 3).processes
    assert listed is not None
    assert [(p.pid, p.command, p.gpu_memory_bytes) for p in listed] == [
        (900, "python3", None),
        (901, None, 12 * MIB),
    ]
    assert listed[0].absent["gpu_memory_bytes"] is Absence.UNSUPPORTED


def test_utilization_above_one_is_one(tmp_path: Path) -> None:
    assert reading(tmp_path, "gaudi3-bad-day", 3).values["utilization_ratio",] == 1.0


def test_a_card_that_did_not_come_up_cannot_be_read(tmp_path: Path) -> None:
    errors = [one.error for one in polled(tmp_path, "gaudi3-bad-day").values() if one.error]
    assert [type(error) for error in errors] == [ReadError]
    assert "does not list the NPU at 0000:bb:00.0" in str(errors[0])


def test_the_driver_is_read_while_the_command_fails(tmp_path: Path) -> None:
    with opened(tmp_path, "gaudi2-x2") as (staged, backend):
        (device,) = backend.identify(backend.discover()[0])
        write_program(tmp_path, "echo 'HLML initialization failed' >&2; exit 1")
        (tmp_path / "sys/bus/pci/devices/0000:33:00.0/status").write_text("needs reset\n")
        for _ in range(2):
            # One failure is bridged by the answer before it.
            staged.clock.advance(10.0)
            with contextlib.suppress(ReadError):
                (reading,) = backend.read(device, Request())
    assert reading.values["reset_required",] == 1
    assert reading.values["reported_health_info", "failed"] == 1
    assert reading.absent["power_watts",] is Absence.ERROR
    assert reading.notes == (
        "from the driver only: hl-smi ended with status 1: HLML initialization failed",
    )
    assert reading.processes is None


def test_a_card_off_the_bus_is_lost_at_once(tmp_path: Path) -> None:
    with opened(tmp_path, "gaudi2-x2") as (staged, backend):
        device = backend.identify(backend.discover()[1])[0]
        assert staged.remove is not None
        staged.remove(device)
        drop(tmp_path, str(device.pci_bus_id))
        with pytest.raises(DeviceLost):
            backend.read(device, Request())


def test_a_list_that_is_cut_short_loses_no_card_of_a_container(tmp_path: Path) -> None:
    for file in ("query.csv", "table.txt"):
        (tmp_path / file).write_bytes((FOLDER / "gaudi2-x2" / file).read_bytes())
    write_program(tmp_path)
    staged = Stage(GaudiBackend, tmp_path)
    backend = staged.backend()
    backend.open()
    assert len(backend.discover()) == 2
    query = tmp_path / "query.csv"
    query.write_bytes(b"\n".join(query.read_bytes().splitlines()[:2]) + b"\n")
    found = []
    for _ in range(RUNS):
        staged.clock.advance(10.0)
        found.append(len(backend.discover()))
    backend.close()
    assert found == [2] * (RUNS - 1) + [1]


def test_a_container_that_hides_the_bus(tmp_path: Path) -> None:
    for file in ("query.csv", "table.txt"):
        (tmp_path / file).write_bytes((FOLDER / "gaudi2-x2" / file).read_bytes())
    write_program(tmp_path)
    staged = Stage(GaudiBackend, tmp_path)
    backend = staged.backend()
    backend.open()
    polls = Poll(staged.clock)(backend)
    backend.close()
    assert [one.identity[0].uuid for one in polls] == [
        "01P0-HL2080A0-15-TNBS01-03-07-04",
        "01P0-HL2080A0-15-TNBS01-05-02-06",
    ]
    assert polls[0].readings[0].values["power_watts",] == 525.0
    assert not [series for series in polls[0].readings[0].values if series[0] == "reset_required"]


def test_a_version_that_knows_less_is_queried_less(tmp_path: Path) -> None:
    with stage(tmp_path, "gaudi2-x2") as staged:
        write_program(
            tmp_path,
            f'echo "$*" >> {tmp_path}/asked; case "$2" in *dram*) echo "unknown query"; exit 1;; '
            f"esac; case $1 in -Q) cut -d, -f1-18 {tmp_path}/query.csv;; "
            f"*) cat {tmp_path}/table.txt;; esac",
        )
        backend = staged.backend()
        backend.open()
        values = Poll(staged.clock)(backend)[0].readings[0].values
        staged.clock.advance(10.0)
        Poll(staged.clock)(backend)
        backend.close()
    assert values["ecc_lifetime_errors", "corrected"] == 17
    assert ("ecc_location_errors_total", "corrected", "dram") not in values
    lines = (tmp_path / "asked").read_text().splitlines()
    assert len([line for line in lines if "dram" in line]) == 1


def test_hl_smi_logs_to_a_folder_of_its_own_that_goes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HABANA_LOGS", raising=False)
    with stage(tmp_path, "gaudi2-x2") as staged:
        write_program(
            tmp_path,
            f'echo "$HABANA_LOGS" > {tmp_path}/logs; touch "$HABANA_LOGS/log" || exit 1; '
            f"case $1 in -Q) cat {tmp_path}/query.csv;; *) cat {tmp_path}/table.txt;; esac",
        )
        backend = staged.backend()
        backend.open()
        backend.discover()
        logs = Path((tmp_path / "logs").read_text().strip())
        assert (logs / "log").exists()
        backend.close()
    assert not logs.exists()


def test_a_folder_of_logs_that_is_set_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HABANA_LOGS", str(tmp_path))
    with stage(tmp_path, "gaudi2-x2") as staged:
        write_program(tmp_path, f'echo "$HABANA_LOGS" > {tmp_path}/logs; exit 1')
        backend = staged.backend()
        backend.open()
        backend.close()
    assert (tmp_path / "logs").read_text().strip() == str(tmp_path)


def test_other_functions_of_the_vendor_are_no_accelerators(tmp_path: Path) -> None:
    card = {**tree("gaudi2-x2")[0], "unbound": True}
    lay_out(tmp_path, 0, card)
    (tmp_path / "sys/module/habanalabs/version").unlink()
    (tmp_path / "sys/module/habanalabs").rmdir()
    backend = Stage(GaudiBackend, tmp_path).backend()
    assert backend.probe().present
    (tmp_path / "sys/bus/pci/devices/0000:33:00.0/class").write_text("0x020000\n")
    assert not backend.probe().present


def test_accelerators_of_others_have_the_class_too(tmp_path: Path) -> None:
    with opened(tmp_path, "gaudi2-x2") as (staged, backend):
        (tmp_path / "sys/bus/pci/devices/0000:33:00.0/vendor").write_text("0x8086\n")
        devices = {one.identity[0].index: one.identity[0] for one in Poll(staged.clock)(backend)}
    assert devices[0].device_nodes == ()
    assert devices[1].device_nodes == ("/dev/accel/accel1",)


def test_without_command_and_driver_it_says_what_to_install(tmp_path: Path) -> None:
    lay_out(tmp_path, 0, {**tree("gaudi2-x2")[0], "unbound": True})
    with pytest.raises(BackendUnavailable, match="neither libhlml nor hl-smi") as refused:
        Stage(GaudiBackend, tmp_path).backend().open()
    assert "load the driver" in refused.value.remedy
    assert "install" in refused.value.remedy
