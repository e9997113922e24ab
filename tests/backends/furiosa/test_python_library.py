"""Cards through the vendor's Python libraries: stand-ins with the classes that both document."""

import sys
from math import isfinite
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.reading import Reading
from accelwatch_furiosa import FuriosaBackend
from accelwatch_furiosa.mapping import collected
from accelwatch_furiosa.python_library import Library, load
from backends.furiosa.machines import lay_out_bus
from support.machines.polling import Poll, identities, readings
from support.machines.staged_machines import Stage

BUS = "0000:27:00.0"
UUID = "5CA1AB1E-0708-4606-8000-00000000000A"


def given_by(**answers: object) -> SimpleNamespace:
    """An object whose methods give these; an exception is raised."""

    def method(value: object) -> Any:
        def call() -> object:
            if isinstance(value, Exception):
                raise value
            return value

        return call

    return SimpleNamespace(**{name: method(value) for name, value in answers.items()})


class Old:
    """furiosa_smi_py: who a card is in `device_info`, counters and blocks of memory in lists."""

    name = "furiosa_smi_py"

    @staticmethod
    def device(busy: int = 0, cycles: int = 1000, **other: Any) -> SimpleNamespace:
        counters = [
            given_by(core=core, task_execution_cycle=busy * (core + 1), cycle_count=cycles)
            for core in range(2)
        ]
        blocks = [given_by(total_bytes=24 << 30, in_use_bytes=3 << 30) for _ in range(2)]
        answers: dict[str, object] = {
            "device_info": given_by(
                arch="Rngd",
                index=0,
                name="npu0",
                uuid=UUID,
                serial="RNGDS0042",
                bdf=BUS,
                firmware_version=given_by(major=1, minor=7, patch=0, metadata="4dfed18"),
            ),
            "device_temperature": given_by(soc_peak=41.5, ambient=30.0),
            "power_consumption": 38.25,
            "core_frequency": given_by(
                pe_frequency=[given_by(core=0, frequency=500), given_by(core=1, frequency=1000)]
            ),
            "memory_utilization": given_by(dram=given_by(memory=blocks)),
            "device_performance_counter": given_by(pe_performance_counters=counters),
            "liveness": True,
        }
        return given_by(**{**answers, **other})


class New:
    """furiosa_smi: all in one, a mapping of counters, attributes beside methods."""

    name = "furiosa_smi"

    @staticmethod
    def device(busy: int = 0, cycles: int = 1000, **other: Any) -> SimpleNamespace:
        answers: dict[str, object] = {
            "arch": "Arch.Rngd",
            "dev_node_index": 0,
            "device_name": "npu0",
            "uuid": UUID,
            "serial": "RNGDS0042",
            "bdf": SimpleNamespace(domain=0, bus=0x27, device=0, function=0),
            "firmware_version": SimpleNamespace(major=1, minor=7, patch=0, metadata="4dfed18"),
            "device_temperature": SimpleNamespace(soc_peak=41.5, ambient=30.0),
            "power_consumption": 38.25,
            "power_limit": 180.0,
            "core_frequency": 1000,
            "memory_usage": SimpleNamespace(total_bytes=48 << 30, in_use_bytes=6 << 30),
            "performance_counter": {
                core: SimpleNamespace(task_execution_cycle=busy * (core + 1), cycle_count=cycles)
                for core in range(2)
            },
            "liveness": True,
        }
        return given_by(**{**answers, **other})


EITHER = pytest.mark.parametrize("kind", [Old, New], ids=lambda kind: kind.name)


class Module(ModuleType):
    """A library whose devices a test sets."""

    def __init__(self, name: str, *devices: object) -> None:
        super().__init__(name)
        self.devices: list[object] = list(devices)
        self.failure: Exception | None = None

    def list_devices(self) -> list[object]:
        if self.failure is not None:
            raise self.failure
        return self.devices


def numbers(library: Library, at: int = 0) -> Reading:
    return collected("d", library().cards[at]).reading()


@EITHER
def test_a_card_is_read_as_through_the_command(kind: type[Old | New]) -> None:
    library = Library(kind.name, Module(kind.name, kind.device()))
    (card,) = library().cards
    assert (card.number, card.pci_bus_id) == (0, BUS)
    assert [card.text(key) for key in ("arch", "device_uuid", "device_sn", "firmware")] == [
        "Rngd",
        UUID,
        "RNGDS0042",
        "1.7.0, 4dfed18",
    ]
    values = numbers(library).values
    assert values["temperature_celsius", "gpu"] == 41.5
    assert values[("power_watts",)] == 38.25
    assert values["clock_hertz", "npu"] == 1e9
    assert values[("memory_size_bytes",)] == 48 << 30
    assert values[("memory_used_bytes",)] == 6 << 30
    assert values["reported_health_info", "ok"] == 1
    assert values.get(("power_limit_watts", "enforced")) == (180.0 if kind is New else None)


@EITHER
def test_load_is_what_passed_between_two_rounds(kind: type[Old | New]) -> None:
    module = Module(kind.name, kind.device(busy=100, cycles=1000))
    library = Library(kind.name, module)
    assert ("utilization_ratio",) not in numbers(library).values
    module.devices = [kind.device(busy=200, cycles=2000)]
    values = numbers(library).values
    assert values["core_utilization_ratio", "0"] == pytest.approx(0.1)
    assert values["core_utilization_ratio", "1"] == pytest.approx(0.2)
    assert values[("utilization_ratio",)] == pytest.approx(0.15)


@pytest.mark.parametrize(("busy", "cycles"), [(200, 1000), (0, 2000), (2000, 1500)])
def test_counters_that_stood_still_went_back_or_ran_ahead_report_no_load(
    busy: int, cycles: int
) -> None:
    module = Module("furiosa_smi", New.device(busy=100, cycles=1000))
    library = Library("furiosa_smi", module)
    library()
    module.devices = [New.device(busy=busy, cycles=cycles)]
    reading = numbers(library)
    assert reading.absent[("utilization_ratio",)] is Absence.ERROR


@EITHER
def test_a_quantity_that_fails_hides_no_other(kind: type[Old | New]) -> None:
    broken = kind.device(power_consumption=RuntimeError("IO error"), liveness=False)
    reading = numbers(Library(kind.name, Module(kind.name, broken)))
    assert reading.absent[("power_watts",)] is Absence.ERROR
    assert reading.values["temperature_celsius", "gpu"] == 41.5
    assert reading.values["reported_health_info", "failed"] == 1


def test_a_library_that_cannot_list_says_so() -> None:
    module = Module("furiosa_smi_py")
    module.failure = RuntimeError("Context error")
    with pytest.raises(ReadError, match=r"furiosa_smi_py.list_devices: Context error"):
        Library("furiosa_smi_py", module)()


@pytest.mark.parametrize("number", [None, -1, True, "0"])
def test_a_device_without_a_number_is_none(number: object) -> None:
    library = Library("furiosa_smi", Module("furiosa_smi", New.device(dev_node_index=number)))
    assert library().cards == ()


junk = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just([None])
)


@given(st.dictionaries(st.sampled_from(sorted(vars(New.device()))), junk))
def test_nothing_a_library_gives_is_raised_or_made_a_number_of(answers: dict[str, Any]) -> None:
    library = Library("furiosa_smi", Module("furiosa_smi", New.device(**answers)))
    for card in (*library().cards, *library().cards):
        reading = collected("d", card).reading()
        assert all(isfinite(value) for value in reading.values.values())


def test_the_newer_library_goes_first_and_the_older_is_started() -> None:
    started: list[str] = []
    old, new = Module("furiosa_smi_py"), Module("furiosa_smi")
    old.init = lambda: started.append("old")  # type: ignore[attr-defined]  # as the library has it
    modules: dict[str, ModuleType] = {"furiosa_smi_py": old, "furiosa_smi": new}

    def found(name: str) -> ModuleType:
        if name not in modules:
            raise ModuleNotFoundError(name)
        return modules[name]

    both = load(found)
    assert both is not None
    assert (both.name, started) == ("furiosa_smi", [])
    del modules["furiosa_smi"]
    alone = load(found)
    assert alone is not None
    assert (alone.name, started) == ("furiosa_smi_py", ["old"])
    modules.clear()
    assert load(found) is None


def test_a_library_that_breaks_is_reported() -> None:
    def broken(name: str) -> ModuleType:
        raise OSError("libfuriosa_smi.so: cannot open")

    with pytest.raises(BackendUnavailable, match="libfuriosa_smi.so"):
        load(broken)


def test_without_the_command_the_library_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out_bus(tmp_path, BUS)
    monkeypatch.setitem(sys.modules, "furiosa_smi", None)
    module = Module("furiosa_smi_py", Old.device())
    monkeypatch.setitem(sys.modules, "furiosa_smi_py", module)
    stage = Stage(FuriosaBackend, tmp_path)
    backend = stage.backend()
    assert isinstance(backend, FuriosaBackend)
    assert backend.open().source == "furiosa_smi_py"
    polled = Poll(stage.clock)(backend)
    (device,) = identities(polled)
    assert (device.id, device.pci_bus_id, device.model) == (
        f"furiosa:{UUID}",
        BUS,
        "FuriosaAI RNGD",
    )
    (reading,) = readings(polled)
    assert reading.values[("power_watts",)] == 38.25
    assert reading.absent[("processes",)] is Absence.UNSUPPORTED
    backend.close()
