"""What cnmon says of an MLU, in base units, and what it does not say."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend import Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import DeviceKind, DeviceState
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch_cambricon import CambriconBackend
from accelwatch_cambricon.document import Card, parse_info
from accelwatch_cambricon.mapping import processes_of, read
from accelwatch_cambricon.table import parse_table
from backends.cambricon.machines import TEXTS, staged, write_program
from support.machines.polling import Poll, assert_all_believed, identities, loss, readings
from support.machines.samples import sample
from support.machines.staged_machines import Stage

MIB = 1 << 20
# What stands above recorded rows that came without.
_HEAD = b"""| CNMON v5.10.13                                               Driver v5.10.13 |
| Card  VF  Name       Firmware |               Bus-Id | Util        Ecc-Error |
| Fan   Temp      Pwr:Usage/Cap |         Memory-Usage | SR-IOV   Compute-Mode |
"""


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[tuple[Stage, CambriconBackend]]:
    with staged(folder, name) as machine:
        backend = machine.backend()
        assert isinstance(backend, CambriconBackend)
        backend.open()
        yield machine, backend
        backend.close()


def bad_day(at: int) -> Reading:
    card = parse_info((TEXTS / "mlu590-bad-day.info").read_bytes()).cards[at]
    table = parse_table((TEXTS / "mlu590-bad-day.txt").read_bytes()).cards
    return read("d", card.completed(next((c for c in table if c.number == at), None)))


def test_who_a_card_is(tmp_path: Path) -> None:
    with opened(tmp_path, "mlu370x8-x2") as (machine, backend):
        (tmp_path / "dev/cambricon_dev0").touch()
        polled = Poll(machine.clock)(backend)
    first, second = identities(polled)
    assert first.id == "cambricon:5ca1ab1e-0370-0000-0000-000000000000"
    assert (first.kind, first.model, first.architecture) == (DeviceKind.NPU, "MLU370-X8", "mlu370")
    assert (first.index, first.name, first.serial) == (0, "mlu0", "5CA1AB1E0")
    assert (first.firmware_version, first.driver_version) == ("1.1.6", "5.10.22")
    assert (first.pci_bus_id, first.numa_node) == ("0000:13:00.0", 1)
    assert first.device_nodes == ("/dev/cambricon_dev0",)
    assert second.device_nodes == (), "a node that is not there is not named"
    assert_all_believed(identities(polled), readings(polled))


def test_a_card_at_work(tmp_path: Path) -> None:
    with opened(tmp_path, "mlu370x8-x2") as (machine, backend):
        busy, idle = readings(Poll(machine.clock)(backend))
    values = busy.values
    assert values["utilization_ratio",] == pytest.approx(0.66)
    assert values["temperature_celsius", "gpu"] == 78.0
    assert values["temperature_celsius", "board"] == 64.0
    assert values["temperature_celsius", "memory"] == 63.0
    assert values["power_watts",] == 144.0
    assert values["power_limit_watts", "enforced"] == 250.0
    assert values["memory_size_bytes",] == 23308 * MIB
    assert values["memory_used_bytes",] == 17320 * MIB
    assert values["fan_speed_ratio", "0"] == 0.0
    assert values["ecc_enabled",] == 1
    assert values["reported_health_info", "ok"] == 1
    assert values["reported_status_info", "Good, Running"] == 1
    assert busy.processes is not None
    assert [(p.pid, p.command, p.gpu_memory_bytes) for p in busy.processes] == [
        (4711, "python", 15829 * MIB),
        (4800, "serve", None),
    ]
    assert idle.processes == ()


def test_the_table_alone(tmp_path: Path) -> None:
    with opened(tmp_path, "mlu370s4-table-only") as (machine, backend):
        polled = Poll(machine.clock)(backend)
    first, second = identities(polled)
    assert (first.pci_bus_id, second.pci_bus_id) == ("0000:1b:00.0", "0000:36:00.0")
    assert (first.id, first.model) == ("cambricon:0000:1b:00.0", "MLU370-S4")
    assert (first.driver_version, first.firmware_version) == ("4.20.18", "1.1.6")
    busy, idle = readings(polled)
    assert busy.values["power_watts",] == 30.0
    assert busy.values["power_limit_watts", "enforced"] == 75.0
    assert busy.values["memory_used_bytes",] == 4096 * MIB
    assert busy.values["ecc_enabled",] == 0
    assert busy.absent["reported_health_info",] is Absence.UNSUPPORTED
    assert busy.absent["temperature_celsius", "board"] is Absence.UNSUPPORTED
    assert busy.processes is not None
    assert [(p.pid, p.command) for p in busy.processes] == [(4711, "infer")]
    assert idle.processes == ()


def test_without_its_table_the_rest_is_reported(tmp_path: Path) -> None:
    with opened(tmp_path, "mlu370x8-x2") as (machine, backend):
        (tmp_path / "table").unlink()
        machine.clock.advance(10.0)
        first, _ = readings(Poll(machine.clock)(backend))
    assert first.absent["ecc_enabled",] is Absence.UNSUPPORTED
    assert first.values["power_watts",] == 144.0


def test_cards_without_addresses_among_others_on_the_bus_are_not_guessed(tmp_path: Path) -> None:
    with staged(tmp_path, "mlu370s4-table-only", count=1) as machine:
        backend = machine.backend()
        backend.open()
        found = backend.discover()
        backend.close()
    assert [device.pci_bus_id for device in found] == ["0000:1b:00.0", None, None]


@pytest.mark.parametrize(
    ("at", "status", "health"),
    [
        (0, "Bad, Running", Health.FAILED),
        (1, "Good, Reset", Health.DEGRADED),
        (2, "Puzzled, Reset Error", Health.FAILED),
        (3, "Puzzled", Health.OK),
    ],
)
def test_words_of_health(at: int, status: str, health: Health) -> None:
    sick = bad_day(at)
    assert sick.values["reported_status_info", status] == 1
    assert evaluate_health(DeviceState.OK, sick, [], 0.0).health is health


def test_a_word_that_nobody_knows_means_nothing() -> None:
    assert bad_day(3).absent["reported_health_info",] is Absence.ERROR


@pytest.mark.parametrize(("device", "driver"), [("Good", "Puzzled"), ("Puzzled", "Running")])
def test_nobody_vouches_for_a_card_beside_such_a_word(device: str, driver: str) -> None:
    path = "health state"
    fields: dict[tuple[str, ...], str] = {(path, "device"): device, (path, "driver"): driver}
    reading = read("cambricon:0", Card(number=0, pci_bus_id=None, fields=fields))
    assert reading.values["reported_status_info", f"{device}, {driver}"] == 1
    assert reading.absent["reported_health_info",] is Absence.ERROR


def test_errors_of_ecc_have_no_kind() -> None:
    sick = bad_day(0)
    assert sick.values["ecc_enabled",] == 1
    assert sick.notes == ("cnmon counts 7 ECC errors, without their kind",)
    assert not any(key.startswith("ecc_errors") for key, *_ in sick.values)
    assert bad_day(2).absent["ecc_enabled",] is Absence.ERROR


def test_what_cannot_be_read_hides_nothing_else() -> None:
    silent, overfull = bad_day(1), bad_day(2)
    assert silent.absent["utilization_ratio",] is Absence.UNSUPPORTED
    assert silent.absent["temperature_celsius", "gpu"] is Absence.ERROR
    assert silent.absent["memory_used_bytes",] is Absence.UNSUPPORTED
    assert silent.values["memory_size_bytes",] == 81920 * MIB
    assert overfull.absent["memory_used_bytes",] is Absence.ERROR
    assert overfull.values["memory_size_bytes",] == 24576 * MIB
    assert "more memory in use" in overfull.notes[0]


def test_virtual_functions_are_no_cards() -> None:
    table = parse_table((TEXTS / "mlu590-bad-day.txt").read_bytes())
    assert [(card.number, card.pci_bus_id) for card in table.cards][-1] == (2, "0000:53:00.0")
    assert len(table.cards) == 3


def test_whose_processes_nobody_reports(tmp_path: Path) -> None:
    with opened(tmp_path, "mlu590-bad-day") as (machine, backend):
        polled = readings(Poll(machine.clock)(backend))
        (device,) = backend.identify(backend.discover()[0])
        (plain,) = backend.read(device, Request(processes=False))
    assert polled[0].processes == ()
    assert polled[2].absent["processes",] is Absence.ERROR
    assert plain.absent["processes",] is Absence.NOT_COLLECTED


@pytest.mark.parametrize(
    "part", ["Domain ID : 0", "Bus num : 100", "Device : 20", "Function : 8", "Bus num : x"]
)
def test_an_address_that_is_none(part: str) -> None:
    parts = {"Domain ID": "0000", "Bus num": "3D", "Device": "00", "Function": "0"}
    key, _, value = part.partition(" : ")
    lines = "".join(f"        {k} : {v}\n" for k, v in {**parts, key: value}.items())
    (card,) = parse_info(f"Card 0\n    PCI :\n{lines}".encode()).cards
    assert card.pci_bus_id == ("0000:3d:00.0" if key == "Domain ID" else None)


def test_an_unlisted_card_is_lost(tmp_path: Path) -> None:
    with opened(tmp_path, "mlu370x8-x2") as (machine, backend):
        text = (tmp_path / "info").read_text()
        (tmp_path / "info").write_text(text[: text.index("Card 1")])
        machine.clock.advance(10.0)
        there, gone = backend.discover()
        assert backend.identify(there)[0].index == 0
        lost = loss(backend, machine.clock, gone)
    assert "cnmon does not list the NPU at 0000:3d:00.0" in str(lost)


def test_presence(tmp_path: Path) -> None:
    with staged(tmp_path, "mlu370x8-x2", count=1) as machine:
        (tmp_path / "dev/cambricon_ctl").unlink()
        backend = machine.backend()
        assert backend.probe().present
        (tmp_path / "sys/bus/pci/devices/0000:13:00.0/class").write_text("0x020000\n")
        assert not backend.probe().present


def test_without_the_command_it_says_what_to_install(tmp_path: Path) -> None:
    with staged(tmp_path, "mlu370x8-x2") as machine:
        (tmp_path / "usr/bin/cnmon").unlink()
        with pytest.raises(BackendUnavailable, match="cnmon was found neither") as refused:
            machine.backend().open()
    assert "install" in refused.value.remedy


def test_complaints_of_the_command_are_reported(tmp_path: Path) -> None:
    with staged(tmp_path, "mlu370x8-x2") as machine:
        write_program(tmp_path, "echo 'cndev init failed' >&2; exit 1")
        backend = machine.backend()
        backend.open()
        with pytest.raises(ReadError, match="cnmon info ended with status 1: cndev init failed"):
            backend.identify(backend.discover()[0])


@pytest.mark.parametrize("output", [b"", b"hello", b"\xff\xfe", b"|" * 10_000, b"Card\n"])
def test_what_is_no_answer_is_an_error(output: bytes) -> None:
    for parse in (parse_info, parse_table):
        with pytest.raises(ReadError, match="cnmon"):
            parse(output)


@pytest.mark.parametrize("file", sorted(p.name for p in TEXTS.iterdir() if p.suffix != ".md"))
@given(data=st.data())
def test_a_text_that_was_cut_or_shuffled_invents_nothing(file: str, data: st.DataObject) -> None:
    whole = (TEXTS / file).read_bytes()
    parse = parse_info if file.endswith("info") else parse_table
    true = {card.number: card for card in parse(whole).cards}
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    with contextlib.suppress(ReadError):
        for card in parse(cut).cards:
            complete = read("d", true[card.number]).values
            less = read("d", card).values
            assert {
                series: value for series, value in less.items() if series[0] not in _BY_TWO
            }.items() <= complete.items()
            pids = {job.pid for job in true[card.number].jobs or ()}
            assert {job.pid for job in card.jobs or ()} <= pids
    lines = data.draw(st.permutations(whole.splitlines()))
    with contextlib.suppress(ReadError):
        for card in parse(b"\n".join([*lines, b""])).cards:
            read("d", card)
            processes_of("d", card.jobs or ())


# Made of two lines, of which the second may be cut off.
_BY_TWO = ("reported_status_info", "reported_health_info", "memory_used_bytes")


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("file", "head", "driver", "model", "bus", "celsius", "watts", "cap", "size", "ecc"),
    [
        ("mlu370x4_4.20.11", b"", "4.20.11", "MLU370-X4", None, 32, 30, 150, 23308, 0),
        ("mlu370x4_5.10.10_rows", _HEAD, "5.10.13", "MLU370-X4", "1b", 41, 27, 150, 23308, 0),
        ("mlu370x8_5.10.22_rows", _HEAD, "5.10.13", "MLU370-X8", "13", 28, 107, 250, 20638, 1),
    ],
)
def test_recorded_tables(
    file: str,
    head: bytes,
    driver: str,
    model: str,
    bus: str | None,
    celsius: int,
    watts: int,
    cap: int,
    size: int,
    ecc: int,
) -> None:
    table = parse_table(head + sample(f"cambricon/cli/cnmon_{file}.txt").read_bytes())
    (card,) = table.cards
    assert isinstance(card, Card)
    assert (card.number, card.text("product name"), card.text("firmware")) == (0, model, "v1.1.6")
    assert (table.driver_version or "").removeprefix("v") == driver
    assert card.pci_bus_id == (None if bus is None else f"0000:{bus}:00.0")
    values = read("d", card).values
    assert values["utilization_ratio",] == 0.0
    assert values["temperature_celsius", "gpu"] == celsius
    assert values["power_watts",] == watts
    assert values["power_limit_watts", "enforced"] == cap
    assert values["memory_used_bytes",] == 0
    assert values["memory_size_bytes",] == size * MIB
    assert values["fan_speed_ratio", "0"] == 0.0
    assert values["ecc_enabled",] == ecc
    assert card.jobs is None
