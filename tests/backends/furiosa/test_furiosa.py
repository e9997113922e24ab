"""What furiosa-smi and furiosactl say of an NPU, in base units, and what they do not say."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend import Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.vendor_program import output_of
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DevicePermission, ReadError
from accelwatch.schema.device import DeviceKind, DeviceState
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch_furiosa import FuriosaBackend
from accelwatch_furiosa.document import Card, cards_of, jobs_of
from accelwatch_furiosa.mapping import collected
from backends.furiosa.machines import OUTPUT, stage, write_program
from support.machines.pci_nodes import bind, give
from support.machines.polling import Poll, assert_all_believed, identities, loss, readings
from support.machines.samples import sample
from support.machines.staged_machines import Stage


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[tuple[Stage, FuriosaBackend]]:
    with stage(folder, name) as staged:
        backend = staged.backend()
        assert isinstance(backend, FuriosaBackend)
        backend.open()
        yield staged, backend
        backend.close()


def read(card: Card) -> Reading:
    return collected("d", card).reading()


def cards(name: str) -> tuple[Card, ...]:
    folder = OUTPUT / name
    return cards_of((folder / "info.json").read_bytes(), (folder / "status.json").read_bytes())


def reading(name: str, at: int) -> Reading:
    return read(cards(name)[at])


def test_who_a_card_is(tmp_path: Path) -> None:
    with opened(tmp_path, "rngd-x2") as (staged, backend):
        polled = Poll(staged.clock)(backend)
    first, second = identities(polled)
    assert first.id == "furiosa:5CA1AB1E-0708-4606-8000-000000000001"
    assert (first.kind, first.model, first.architecture) == (
        DeviceKind.NPU,
        "FuriosaAI RNGD",
        "rngd",
    )
    assert (first.index, first.name, first.serial) == (0, "npu0", "RNG00000000001Q")
    assert (first.firmware_version, first.numa_node) == ("2026.3.0, 0000000", 1)
    assert (second.index, second.pci_bus_id) == (1, "0000:45:00.0")
    assert_all_believed(identities(polled), readings(polled))


def test_a_card_at_work() -> None:
    values = reading("rngd-x2", 0).values
    assert values["temperature_celsius", "gpu"] == 61.25
    assert values["power_watts",] == 148.0
    assert values["power_limit_watts", "enforced"] == 180.0
    assert values["clock_hertz", "npu"] == 1e9
    assert values["memory_size_bytes",] == 51_002_736_640
    assert values["memory_used_bytes",] == 25_501_368_320
    assert values["utilization_ratio",] == pytest.approx(0.4)
    assert values["core_utilization_ratio", "0"] == pytest.approx(0.9)
    assert values["core_utilization_ratio", "3"] == 0.0
    assert values["reported_status_info", "alive"] == 1
    assert values["reported_health_info", "ok"] == 1


def test_a_process_and_its_card(tmp_path: Path) -> None:
    with opened(tmp_path, "rngd-x2") as (staged, backend):
        polled = Poll(staged.clock)(backend)
    (process,) = polled[0].readings[0].processes or ()
    assert (process.pid, process.command, process.gpu_memory_bytes) == (4711, "python3", None)
    assert process.absent["gpu_memory_bytes"] is Absence.UNSUPPORTED
    assert polled[1].readings[0].processes == ()


def test_processes_were_not_requested(tmp_path: Path) -> None:
    with opened(tmp_path, "rngd-x2") as (_, backend):
        (device,) = backend.identify(backend.discover()[0])
        (plain,) = backend.read(device, Request(processes=False))
    assert plain.absent["processes",] is Absence.NOT_COLLECTED


def test_without_ps_processes_are_an_error_and_the_rest_stays(tmp_path: Path) -> None:
    with stage(tmp_path, "rngd-x2") as staged:
        write_program(tmp_path, "furiosa-smi", f"[ $1 = ps ] && exit 3; cat {tmp_path}/output/$1.*")
        backend = staged.backend()
        backend.open()
        first = Poll(staged.clock)(backend)[0].readings[0]
    assert (first.processes, first.absent["processes",]) == (None, Absence.ERROR)
    assert first.values["power_watts",] == 148.0


def test_without_status_what_info_says_stands_alone(tmp_path: Path) -> None:
    with stage(tmp_path, "rngd-x2") as staged:
        write_program(
            tmp_path, "furiosa-smi", f"[ $1 = status ] && exit 3; cat {tmp_path}/output/$1.*"
        )
        backend = staged.backend()
        backend.open()
        first = Poll(staged.clock)(backend)[0].readings[0]
    assert first.values["power_watts",] == 148.0
    assert first.absent["utilization_ratio",] is Absence.UNSUPPORTED
    assert first.absent["memory_used_bytes",] is Absence.UNSUPPORTED


@pytest.mark.parametrize(("at", "health"), [(0, Health.FAILED), (1, Health.OK), (2, Health.OK)])
def test_health(at: int, health: Health) -> None:
    assert evaluate_health(DeviceState.OK, reading("rngd-bad-day", at), [], 0.0).health is health


@pytest.mark.parametrize(("liveness", "health"), [(True, "ok"), (False, "failed")])
def test_liveness_as_a_truth(liveness: bool, health: str) -> None:
    card = Card(number=0, pci_bus_id=None, info={}, status={"liveness": liveness})
    assert read(card).values["reported_health_info", health] == 1


def test_what_cannot_be_read_hides_nothing_else() -> None:
    odd = reading("rngd-bad-day", 1)
    assert odd.absent["temperature_celsius", "gpu"] is Absence.UNSUPPORTED
    assert odd.absent["power_watts",] is Absence.ERROR
    assert odd.absent["memory_size_bytes",] is Absence.UNSUPPORTED
    assert odd.values["core_utilization_ratio", "0"] == pytest.approx(0.4)
    assert odd.absent["core_utilization_ratio", "1"] is Absence.UNSUPPORTED
    assert odd.absent["utilization_ratio",] is Absence.ERROR, "no mean of some of the cores"
    assert odd.values["reported_status_info", "puzzled"] == 1
    dead = reading("rngd-bad-day", 0)
    assert dead.absent["utilization_ratio",] is Absence.UNSUPPORTED
    assert dead.values["memory_size_bytes",] == 51_002_736_640


def test_a_uuid_of_zeros_is_none(tmp_path: Path) -> None:
    with opened(tmp_path, "rngd-bad-day") as (_, backend):
        (device,) = backend.identify(backend.discover()[1])
    assert (device.id, device.uuid) == ("furiosa:RNG00000000004Q", None)
    assert device.firmware_version is None


def test_warboy(tmp_path: Path) -> None:
    with opened(tmp_path, "warboy") as (staged, backend):
        (one,) = Poll(staged.clock)(backend)
    device, reading = one.identity[0], one.readings[0]
    assert (device.index, device.architecture, device.serial) == (1, "warboy", "WBYB0000000000001")
    assert reading.values["temperature_celsius", "gpu"] == 54.0
    assert reading.values["power_watts",] == pytest.approx(0.99)
    assert reading.sources["*"] == "furiosactl"
    assert [process.pid for process in reading.processes or ()] == [4711]


def test_a_card_that_is_not_listed_is_lost(tmp_path: Path) -> None:
    with opened(tmp_path, "rngd-x2") as (staged, backend):
        device = backend.discover()[1]
        (tmp_path / "output/info.json").write_text("[]")
        staged.clock.advance(10.0)
        lost = loss(backend, staged.clock, device)
    assert "does not list the NPU at 0000:45:00.0" in str(lost)


def test_without_a_command_it_says_what_to_install(tmp_path: Path) -> None:
    with stage(tmp_path, "warboy") as staged:
        (tmp_path / "usr/bin/furiosactl").unlink()
        with pytest.raises(BackendUnavailable, match="neither furiosa-smi nor furiosactl"):
            staged.backend().open()


@pytest.mark.parametrize("output", [b"", b"{}", b"No device", b"\xff\xfe"])
def test_what_is_no_output_of_info_is_an_error(output: bytes) -> None:
    with pytest.raises(ReadError, match="neither JSON nor a table"):
        cards_of(output)


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=5,
)
_KEYS = ("device_uuid", "arch", "firmware", "temperature", "power", "pci_bdf", "memory", "liveness")
_CARD = st.dictionaries(st.sampled_from((*_KEYS, "pe_utilizations")), _ANY)


@given(_CARD, _CARD | _ANY)
def test_damaged_documents_raise_nothing_untyped(info: dict[str, object], status: object) -> None:
    second = {**status, "device": "npu0"} if isinstance(status, dict) else status
    cards = cards_of(
        msgspec.json.encode([{**info, "dev_name": "npu0"}]), msgspec.json.encode([second])
    )
    for card in cards:
        read(card)


@given(st.binary(max_size=200), st.integers(0, 800))
def test_damaged_tables_raise_nothing_untyped(noise: bytes, length: int) -> None:
    whole = (OUTPUT / "warboy/info.txt").read_bytes()
    for output in (noise, whole[:length], whole[:length] + noise):
        with contextlib.suppress(ReadError):
            for card in cards_of(output):
                read(card)
        with contextlib.suppress(ReadError):
            jobs_of(output)


@pytest.mark.oracle
def test_recorded_json() -> None:
    first, second = cards_of(sample("furiosa/cli/furiosa_smi_info_trimmed.json").read_bytes())
    assert (first.number, first.text("device_sn")) == (0, "RNG26040100181Q")
    assert (second.number, second.pci_bus_id) == (3, "0000:45:00.0")
    assert second.text("firmware") == "2026.3.0, 2d3f72a"


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("file", "number", "bus", "firmware", "celsius", "watts"),
    [
        ("furiosa_smi_info_rngd_2025.1.0_pert", 0, "30", "2025.1.0+696efad", 29.81, 35.0),
        ("furiosa_smi_info_rngd_v2026.1.0", 0, "03", "1.7.0, 4dfed1852e7b", 40.98, 38.4),
        ("furiosactl_info", 1, "44", "1.6.0, 3c10fd3", 54.0, 0.99),
        ("furiosactl_info_full", 1, "44", "1.6.0, 3c10fd3", 54.0, 0.99),
    ],
)
def test_recorded_tables(
    file: str, number: int, bus: str, firmware: str, celsius: float, watts: float
) -> None:
    (card,) = cards_of(sample(f"furiosa/cli/{file}.txt").read_bytes())
    assert (card.number, card.pci_bus_id) == (number, f"0000:{bus}:00.0")
    assert card.text("firmware") == firmware
    values = read(card).values
    assert values == {
        ("temperature_celsius", "gpu"): pytest.approx(celsius),
        ("power_watts",): pytest.approx(watts),
    }


@pytest.mark.oracle
def test_recorded_processes() -> None:
    (job,) = jobs_of(sample("furiosa/cli/furiosactl_ps.txt").read_bytes())
    assert (job.number, job.pid) == (0, 132529)
    assert job.command == "/usr/bin/python3 /usr/local/bin/uvicorn image_classify:app"


HEADED = "| Device | PID | CMD |\n"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (HEADED + "| npu0pe0-1, npu1pe0 | 7 | a |\n", [(0, 7), (1, 7)]),
        (HEADED + "| npu0, npu0pe1 npu3 | 7 | a |\n", [(0, 7), (3, 7)]),
        ("| PID | NPU |\n| 7 | npu2 |\n", [(2, 7)]),
        (HEADED, []),
        ("", []),
    ],
)
def test_who_uses_which_cards(table: str, expected: list[tuple[int, int]]) -> None:
    assert [(job.number, job.pid) for job in jobs_of(table.encode())] == expected


@pytest.mark.parametrize(
    "table",
    [
        "| Accelerator | PID | CMD |\n| npu0 | 7 | a |\n",
        "| Device | Process | CMD |\n| npu0 | 7 | a |\n",
        HEADED + "| npu0 | 7 | a |\n| card1 | 8 | b |\n",
        HEADED + "| npu0, card1 | 7 | a |\n",
        HEADED + "| npu0 | seven | a |\n",
        HEADED + "| npu0 | | a |\n",
        HEADED + "| npu0 |\n",
        "no such command: ps\n",
    ],
)
def test_a_table_of_processes_that_cannot_be_read_is_an_error(table: str) -> None:
    with pytest.raises(ReadError, match="furiosa-smi ps"):
        jobs_of(table.encode())


def test_cards_in_use_are_not_called_unused(tmp_path: Path) -> None:
    with stage(tmp_path, "rngd-x2") as staged:
        (tmp_path / "output/ps.txt").write_text("| Accelerator | PID |\n| npu0 | 7 |\n")
        backend = staged.backend()
        backend.open()
        for polled in Poll(staged.clock)(backend):
            (reading,) = polled.readings
            assert (reading.processes, reading.absent["processes",]) == (None, Absence.ERROR)


INFO_TABLE = """\
+------+--------+-----------------+-------------------+---------+-------+-------------+------------+
| Arch | Device | S/N             | Firmware          | Temp.   | Power | Power Limit | Core Clock |
+------+--------+-----------------+-------------------+---------+-------+-------------+------------+
| RNGD | npu0   | RNG00000000001Q | 2026.3.0, 0000000 | 51.25°C |  96 W |       180 W |   2000 MHz |
+------+--------+-----------------+-------------------+---------+-------+-------------+------------+
"""
STATUS_TABLE = """\
+------+--------+----------+-----------------+---------------+------------------+
| Arch | Device | Liveness | Memory          | Cores         | Core Utilization |
+------+--------+----------+-----------------+---------------+------------------+
|      |        |          |                 | 0 (occupied), | Core 0: 81.50%,  |
| RNGD | npu0   | alive    | 23.75/47.50 GiB | 1 (occupied)  | Core 1: 40.50%   |
+------+--------+----------+-----------------+---------------+------------------+
|      |        |          |                 | 0 (available),| Core 0: -,       |
| RNGD | npu1   | dead     | 0.00/47.50 GiB  | 1 (available) | Core 1: -        |
+------+--------+----------+-----------------+---------------+------------------+
"""
_TABLES = '[ "$2" ] && { echo "unexpected argument" >&2; exit 2; }; '


INFO_FULL = """\
+------+--------+--------------------------------------+------------+----------------+---------+---------+-------+--------------+---------+
| Arch | Device | UUID                                 | S/N        | Firmware       | Temp.   | Power   | Clock | PCI-BDF      | PCI-DEV |
+------+--------+--------------------------------------+------------+----------------+---------+---------+-------+--------------+---------+
| rngd | npu0   | 5CA1AB1E-0000-4000-8000-000000000001 | RNGD900001 | 0.0.21+d6cada3 | 30.00°C | 35.00 W | N/A   | 0000:30:00.0 | 510:0   |
+------+--------+--------------------------------------+------------+----------------+---------+---------+-------+--------------+---------+
"""  # noqa: E501


def test_a_command_without_json_is_run_for_the_full_table(tmp_path: Path) -> None:
    """As of 2024: `--format` knows full only, and the short table has neither uuid nor serial number."""
    with stage(tmp_path, "rngd-x2") as staged:
        shutil.rmtree(tmp_path / "sys/bus/pci/devices")
        (tmp_path / "sys/class/rngd_mgmt").mkdir(parents=True)
        (tmp_path / "info").write_text(INFO_FULL)
        (tmp_path / "status").write_text(STATUS_TABLE)
        knows = (
            '[ "$2" ] && [ "$1 $2 $3" != "info --format full" ] && '
            '{ echo "unexpected argument" >&2; exit 2; }; '
        )
        show = f"[ $1 = ps ] && cat {tmp_path}/output/ps.txt || cat {tmp_path}/$1"
        write_program(tmp_path, "furiosa-smi", knows + show)
        backend = staged.backend()
        backend.open()
        one = Poll(staged.clock)(backend)[0]
    (device,) = one.identity
    assert device.uuid == "5CA1AB1E-0000-4000-8000-000000000001"
    assert device.serial == "RNGD900001"
    assert device.pci_bus_id == "0000:30:00.0"
    values = one.readings[0].values
    assert values["power_watts",] == 35.0
    assert values["reported_health_info", "ok"] == 1, "its status has the table only"
    assert ("clock_hertz", "npu") not in values


def test_a_command_without_json_is_read_by_its_tables(tmp_path: Path) -> None:
    with stage(tmp_path, "rngd-x2") as staged:
        shutil.rmtree(tmp_path / "sys/bus/pci/devices")
        (tmp_path / "sys/class/rngd_mgmt").mkdir(parents=True)
        (tmp_path / "info").write_text(INFO_TABLE)
        (tmp_path / "status").write_text(STATUS_TABLE)
        show = f"[ $1 = ps ] && cat {tmp_path}/output/ps.txt || cat {tmp_path}/$1"
        write_program(tmp_path, "furiosa-smi", _TABLES + show)
        backend = staged.backend()
        backend.open()
        one = Poll(staged.clock)(backend)[0]
    values = one.readings[0].values
    assert one.identity[0].serial == "RNG00000000001Q"
    assert values["power_watts",] == 96.0
    assert values["power_limit_watts", "enforced"] == 180.0
    assert values["clock_hertz", "npu"] == 2e9
    assert values["memory_used_bytes",] == round(23.75 * (1 << 30))
    assert values["memory_size_bytes",] == round(47.5 * (1 << 30))
    assert values["core_utilization_ratio", "1"] == pytest.approx(0.405)
    assert values["utilization_ratio",] == pytest.approx(0.61)
    assert values["reported_health_info", "ok"] == 1


def test_the_table_of_status() -> None:
    info = b'[{"dev_name": "npu0"}, {"dev_name": "npu1"}]'
    _, dead = cards_of(info, STATUS_TABLE.encode())
    result = read(dead)
    assert result.values["reported_health_info", "failed"] == 1
    assert result.values["memory_used_bytes",] == 0
    assert result.values["utilization_ratio",] == 0.0, "nobody has its cores"


def of_table(*cores: tuple[str, str]) -> Reading:
    """Of a table of status with these cells in the columns Cores and Core Utilization."""
    heads = "| Device | Cores            | Core Utilization |\n"
    names = ("npu0", *[""] * len(cores))
    rows = "".join(
        f"| {name:<6} | {core:<16} | {share:<16} |\n"
        for name, (core, share) in zip(names, cores, strict=False)
    )
    rule = "+--------+------------------+------------------+\n"
    text = rule + heads + rule + rows + rule
    (card,) = cards_of(b'[{"dev_name": "npu0"}]', text.encode())
    return read(card)


BUSY = ("0 (occupied),", "Core 0: 99.00%,")
REST = [(f"{core} (available),", "-") for core in range(1, 8)]


def test_cores_at_rest_count_in_the_load_of_a_card() -> None:
    result = of_table(BUSY, *REST)
    assert result.values["utilization_ratio",] == pytest.approx(0.99 / 8)
    assert result.values["core_utilization_ratio", "0"] == pytest.approx(0.99)
    assert result.values["core_utilization_ratio", "7"] == 0.0


def test_load_is_not_known_where_the_share_of_a_core_in_use_is_not() -> None:
    result = of_table(BUSY, *REST[:-1], ("7 (occupied)", "-"))
    assert result.absent["utilization_ratio",] is Absence.ERROR
    assert result.absent["core_utilization_ratio", "7"] is Absence.UNSUPPORTED


@pytest.mark.parametrize("words", [("", "-"), ("1 (available)", "-")])
def test_load_is_not_known_where_not_every_core_is_listed(words: tuple[str, str]) -> None:
    result = of_table(("", "Core 0: 99.00%,"), words)
    assert result.absent["utilization_ratio",] is Absence.ERROR
    assert result.values["core_utilization_ratio", "0"] == pytest.approx(0.99)


def test_whose_process_is_on_a_core_is_read_from_the_table_too() -> None:
    occupied, idle = cards_of(
        b'[{"dev_name": "npu0"}, {"dev_name": "npu1"}]', STATUS_TABLE.encode()
    )
    assert occupied.occupied
    assert not idle.occupied


def test_older_releases_take_the_form_of_the_output_by_another_name(tmp_path: Path) -> None:
    with stage(tmp_path, "rngd-x2") as staged:
        refuse = '[ "$2" = --format ] && { echo "unexpected argument" >&2; exit 2; }; '
        write_program(tmp_path, "furiosa-smi", refuse + f"cat {tmp_path}/output/$1.*")
        backend = staged.backend()
        backend.open()
        first = Poll(staged.clock)(backend)[0].readings[0]
    assert first.values["clock_hertz", "npu"] == 1e9
    assert first.values["utilization_ratio",] == pytest.approx(0.4)


def test_a_command_that_failed_once_is_queried_in_the_same_form_again(tmp_path: Path) -> None:
    with stage(tmp_path, "rngd-x2") as staged:
        write_program(tmp_path, "furiosa-smi", "echo 'Error: permission denied' >&2; exit 1")
        backend = staged.backend()
        backend.open()
        write_program(tmp_path, "furiosa-smi")
        staged.clock.advance(100.0)
        first = Poll(staged.clock)(backend)[0].readings[0]
    assert first.values["clock_hertz", "npu"] == 1e9


def test_a_status_that_hangs_is_a_timeout_and_what_info_says_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends_what_hangs(program: Path, *arguments: str, timeout_s: float, **more: Any) -> bytes:
        hangs = arguments[0] == "status"
        return output_of(program, *arguments, timeout_s=0.2 if hangs else timeout_s, **more)

    monkeypatch.setattr("accelwatch_furiosa.program.output_of", ends_what_hangs)
    with stage(tmp_path, "rngd-x2") as staged:
        hang = f"[ $1 = status ] && exec sleep 30; cat {tmp_path}/output/$1.*"
        write_program(tmp_path, "furiosa-smi", hang)
        backend = staged.backend()
        backend.open()
        first = Poll(staged.clock)(backend)[0].readings[0]
    assert first.values["power_watts",] == 148.0
    assert first.absent["utilization_ratio",] is Absence.TIMEOUT
    assert first.absent["memory_used_bytes",] is Absence.TIMEOUT
    assert first.absent["reported_status_info",] is Absence.TIMEOUT


def test_a_status_that_is_none_is_an_error() -> None:
    (card,) = cards_of(b'[{"dev_name": "npu0"}]', b"Segmentation fault")
    assert read(card).absent["utilization_ratio",] is Absence.ERROR


def test_cores_in_use_by_an_unknown_process_are_not_called_free(tmp_path: Path) -> None:
    """`ps` tells who is not root of its own processes only."""
    with stage(tmp_path, "rngd-x2") as staged:
        (tmp_path / "output/ps.txt").write_text("| NPU | PID | CMD |\n")
        backend = staged.backend()
        backend.open()
        busy, idle = (one.readings[0] for one in Poll(staged.clock)(backend))
    assert (busy.processes, busy.absent["processes",]) == (None, Absence.PERMISSION)
    assert idle.processes == ()


def lay_out_driver(root: Path, reasons: str) -> None:
    folder = root / "sys/class/rngd_mgmt/rngd!npu1mgmt"
    folder.mkdir(parents=True)
    (folder / "throttle_reason").write_text(f"{reasons}\n")
    (folder / "power_limit_mw").write_text("225000\n")
    (folder / "version").write_text("2026.3.1, 0000000\n")
    hwmon = root / "sys/bus/pci/devices/0000:45:00.0/hwmon/hwmon4"
    hwmon.mkdir(parents=True)
    for file, text in (
        ("temp1_label", "PEAK"),
        ("temp1_input", "61000"),
        ("temp2_label", "AMBIENT"),
    ):
        (hwmon / file).write_text(f"{text}\n")
    (hwmon / "temp2_input").write_text("34500\n")


@pytest.mark.parametrize(
    ("reasons", "active"),
    [
        ("0x00000000", set()),
        ("0x00000001", set()),
        ("0x00000002", {"thermal_hardware"}),
        ("0x00000004", {"power"}),
        ("0x00000040", {"power"}),
        ("0x00000008", {"clock_setting"}),
        ("0x00000010", {"clock_setting"}),
        ("0x00000020", {"other"}),
        ("0x00000100", {"other"}),
        ("0x00000046", {"thermal_hardware", "power"}),
    ],
)
def test_why_the_driver_slows_a_card(tmp_path: Path, reasons: str, active: set[str]) -> None:
    with stage(tmp_path, "rngd-x2") as staged:
        lay_out_driver(tmp_path, reasons)
        backend = staged.backend()
        backend.open()
        polled = Poll(staged.clock)(backend)
    values = polled[1].readings[0].values
    slowed_by = {
        series[1] for series in values if series[0] == "throttle_active" and values[series]
    }
    assert slowed_by == active
    assert len([series for series in values if series[0] == "throttle_active"]) == 4
    assert values["clocks_idle",] == int(reasons.endswith("1"))
    assert values["power_limit_watts", "enforced"] == 225.0
    assert values["temperature_celsius", "board"] == 34.5
    assert polled[1].identity[0].driver_version == "2026.3.1, 0000000"
    assert_all_believed(identities(polled), readings(polled))
    assert polled[0].readings[0].values["power_limit_watts", "enforced"] == 180.0


def test_a_driver_that_reports_less(tmp_path: Path) -> None:
    with stage(tmp_path, "rngd-x2") as staged:
        lay_out_driver(tmp_path, "slow")
        folder = tmp_path / "sys/class/rngd_mgmt/rngd!npu1mgmt"
        (folder / "power_limit_mw").unlink()
        backend = staged.backend()
        backend.open()
        second = Poll(staged.clock)(backend)[1].readings[0]
    assert second.absent["throttle_active", "power"] is Absence.ERROR
    assert second.absent["power_limit_watts", "enforced"] is Absence.UNSUPPORTED
    assert second.values["power_watts",] == 38.0


def test_a_card_of_another_container_is_not_lost(tmp_path: Path) -> None:
    with stage(tmp_path, "rngd-x2") as staged:
        info = msgspec.json.decode((tmp_path / "output/info.json").read_bytes())
        (tmp_path / "output/info.json").write_bytes(msgspec.json.encode(info[:1]))
        for bus in ("0000:03:00.0", "0000:45:00.0"):
            bind(tmp_path, bus, "furiosa_rngd")
        give(tmp_path, "rngd/npu0mgmt")
        backend = staged.backend()
        backend.open()
        mine, other = Poll(staged.clock)(backend)
    assert mine.error is None
    assert isinstance(other.error, DevicePermission)
