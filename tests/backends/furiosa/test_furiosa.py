"""What furiosa-smi and furiosactl say of an NPU, in base units, and what they do not say."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend import Request
from accelwatch.errors import BackendUnavailable, DeviceLost, ReadError
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import DeviceKind, DeviceState
from accelwatch.schema.health import Health, judge
from accelwatch.schema.reading import Reading
from accelwatch_furiosa import FuriosaBackend
from accelwatch_furiosa.document import Card, cards_of, jobs_of
from accelwatch_furiosa.mapping import read
from backends.furiosa.machines import OUTPUT, stage, write_program
from polling import Poll, assert_all_believed, identities, readings
from samples import sample
from staged_machines import Stage


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[tuple[Stage, FuriosaBackend]]:
    with stage(folder, name) as staged:
        backend = staged.backend()
        assert isinstance(backend, FuriosaBackend)
        backend.open()
        yield staged, backend
        backend.close()


def cards(name: str) -> tuple[Card, ...]:
    folder = OUTPUT / name
    return cards_of((folder / "info.json").read_bytes(), (folder / "status.json").read_bytes())


def reading(name: str, at: int) -> Reading:
    return read("d", cards(name)[at], "furiosa-smi")


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


def test_nobody_asked_for_processes(tmp_path: Path) -> None:
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
    assert judge(DeviceState.OK, reading("rngd-bad-day", at), [], 0.0).health is health


@pytest.mark.parametrize(("told", "health"), [(True, "ok"), (False, "failed")])
def test_liveness_as_a_truth(told: bool, health: str) -> None:
    card = Card(number=0, pci_bus_id=None, info={}, status={"liveness": told})
    assert read("d", card, "furiosa-smi").values["reported_health_info", health] == 1


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
    device, told = one.identity[0], one.readings[0]
    assert (device.index, device.architecture, device.serial) == (1, "warboy", "WBYB0000000000001")
    assert told.values["temperature_celsius", "gpu"] == 54.0
    assert told.values["power_watts",] == pytest.approx(0.99)
    assert told.sources["*"] == "furiosactl"
    assert [process.pid for process in told.processes or ()] == [4711]


def test_a_card_that_is_not_listed_is_lost(tmp_path: Path) -> None:
    with opened(tmp_path, "rngd-x2") as (staged, backend):
        device = backend.discover()[1]
        (tmp_path / "output/info.json").write_text("[]")
        staged.clock.advance(10.0)
        with pytest.raises(DeviceLost, match="does not list the NPU at 0000:45:00.0"):
            backend.identify(device)


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
    told = cards_of(
        msgspec.json.encode([{**info, "dev_name": "npu0"}]), msgspec.json.encode([second])
    )
    for card in told:
        read("d", card, "furiosa-smi")


@given(st.binary(max_size=200), st.integers(0, 800))
def test_damaged_tables_raise_nothing_untyped(noise: bytes, length: int) -> None:
    whole = (OUTPUT / "warboy/info.txt").read_bytes()
    for output in (noise, whole[:length], whole[:length] + noise):
        with contextlib.suppress(ReadError):
            for card in cards_of(output):
                read("d", card, "furiosactl")
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
    values = read("d", card, "furiosa-smi").values
    assert values == {
        ("temperature_celsius", "gpu"): pytest.approx(celsius),
        ("power_watts",): pytest.approx(watts),
    }


@pytest.mark.oracle
def test_recorded_processes() -> None:
    (job,) = jobs_of(sample("furiosa/cli/furiosactl_ps.txt").read_bytes())
    assert (job.number, job.pid) == (0, 132529)
    assert job.command == "/usr/bin/python3 /usr/local/bin/uvicorn image_classify:app"
