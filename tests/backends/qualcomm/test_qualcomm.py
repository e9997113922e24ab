"""What qaic-util says of Cloud AI chips, in base units, and what it does not say."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend import Context
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Collected
from accelwatch_qualcomm import QualcommBackend, mapping
from accelwatch_qualcomm.document import parse
from backends.qualcomm.machines import FOLDER, stage, write_program
from support.machines.polling import Poll, Polled, assert_all_believed, identities, readings
from support.machines.samples import sample

MIB, GIB = 1 << 20, 1 << 30
BARE = Device(id="qualcomm:0", vendor="qualcomm", backend="qualcomm", index=0, name="qaic0")


def polled(folder: Path, name: str) -> list[Polled]:
    with stage(folder, name) as staged:
        backend = staged.backend()
        backend.open()
        polls = Poll(staged.clock)(backend)
        backend.close()
    assert_all_believed(identities(polls), readings(polls))
    return polls


def collected_from(text: str) -> Collected:
    (chip,) = parse(f"QID 0\n{text}\n".encode()).chips
    return mapping.collected("d", chip)


def test_chips_at_work(tmp_path: Path) -> None:
    first, second = polled(tmp_path, "ai100-x2")
    who = first.identity[0]
    assert (who.id, who.uuid) == ("qualcomm:0x5ca1ab1e", "0x5ca1ab1e")
    assert (who.serial, who.model) == ("PN000-12-000001", "Cloud AI 100")
    assert (who.firmware_version, who.driver_version) == ("1.19.8", "1.19.8")
    assert (who.kind, who.name, who.numa_node) == (DeviceKind.NPU, "qaic0", 0)
    (reading,) = first.readings
    assert reading.values == {
        ("temperature_celsius", "gpu"): 54.25,
        ("power_watts",): 41.5,
        ("power_limit_watts", "enforced"): 75.0,
        ("clock_hertz", "npu"): 1_450_000_000,
        ("clock_hertz", "memory"): 2_133_000_000,
        ("clock_hertz", "fabric"): 1_450_000_000,
        ("clock_hertz", "soc"): 667_000_000,
        ("memory_size_bytes",): 32_692 * MIB,
        ("memory_used_bytes",): 12_000 * MIB,
        ("reported_status_info", "ready"): 1,
        ("reported_health_info", "ok"): 1,
        ("pcie_link_generation", "current"): 4,
        ("pcie_link_width_lanes", "current"): 8,
    }
    assert second.identity[0].index == 1


def test_a_bad_day(tmp_path: Path) -> None:
    failed, starting_up, odd, unlisted = polled(tmp_path, "ai100-bad-day")
    assert failed.identity[0].id == "qualcomm:0000:01:00.0"
    broken = failed.readings[0]
    assert broken.values[("reported_health_info", "failed")] == 1
    assert broken.absent[("temperature_celsius", "gpu")] is Absence.UNSUPPORTED
    assert broken.absent[("power_watts",)] is Absence.ERROR
    assert broken.absent[("memory_size_bytes",)] is Absence.ERROR
    starting = starting_up.readings[0]
    assert starting.values[("reported_health_info", "degraded")] == 1
    assert starting.absent[("memory_size_bytes",)] is Absence.ERROR
    assert starting.absent[("clock_hertz", "npu")] is Absence.ERROR
    assert starting.absent[("power_limit_watts", "enforced")] is Absence.UNSUPPORTED
    unknown = odd.readings[0]
    assert unknown.values[("reported_status_info", "parked")] == 1
    assert unknown.absent[("reported_health_info",)] is Absence.UNSUPPORTED
    assert unknown.values[("memory_size_bytes",)] == 32 * GIB
    assert unknown.absent[("memory_used_bytes",)] is Absence.UNSUPPORTED
    assert type(unlisted.error) is ReadError


def test_a_command_that_complains_is_why_a_chip_is_not_read(tmp_path: Path) -> None:
    with stage(tmp_path, "ai100-x2") as staged:
        write_program(tmp_path, "echo 'Failed to get Runtime Platform' >&2; exit 255")
        backend = staged.backend()
        backend.open()
        first, second = Poll(staged.clock)(backend)
        backend.close()
    assert isinstance(first.error, ReadError)
    assert "Failed to get Runtime Platform" in str(second.error)


def test_without_the_command_the_remedy_is_named(tmp_path: Path) -> None:
    backend = QualcommBackend(Context(root=tmp_path))
    assert not backend.probe().present
    with pytest.raises(BackendUnavailable, match="neither in /opt/qti-aic/tools"):
        backend.open()


@pytest.mark.parametrize(
    ("word", "health"),
    [("Ready", "ok"), ("Error", "failed"), ("Error: 5", "failed"), ("Initializing", "degraded")],
)
def test_what_a_status_means(word: str, health: str) -> None:
    assert collected_from(f"\tStatus:{word}").values[("reported_health_info", health)] == 1


@pytest.mark.parametrize(("free", "used"), [("33 MB", None), ("N/A", None), ("32 MB", 0)])
def test_free_memory_beyond_the_total_is_no_use_of_memory(free: str, used: int | None) -> None:
    out = collected_from(f"\tDram Total:32 MB\n\tDram Free:{free}")
    assert out.values.get(("memory_used_bytes",)) == used
    assert out.values[("memory_size_bytes",)] == 32 * MIB


Power = tuple[float | None, float | None, tuple[str, ...]]


def power_of_each(*blocks: str) -> list[Power]:
    """Power, its limit and the notes of each chip; `blocks` are lines of fields with `;` between."""
    text = "".join(f"QID {at}\n{block.replace(';', chr(10))}\n" for at, block in enumerate(blocks))
    chips = parse(text.encode()).chips
    rows = []
    for chip in chips:
        values = mapping.collected("d", chip, chips).values
        power, limit = values.get(("power_watts",)), values.get(("power_limit_watts", "enforced"))
        rows.append((power, limit, mapping.notes(chip, chips)))
    return rows


SERIAL, OTHER = "Board serial:PN1-12-000001", "Board serial:PN1-12-000002"
BOARD = "Board power(Watts):48.00;Board TDP Cap(Watts):150.00"
AT_FIRST = ("the power of the card is reported once, at qaic0",)
NOWHERE: Power = (None, None, AT_FIRST)


def test_each_chip_of_a_card_has_its_own_power_where_it_is_reported() -> None:
    soc = "SOC power(Watts):11.00;SOC TDP Cap(Watts):31.00"
    block = f"{SERIAL};{BOARD};{soc}"
    assert power_of_each(block, block) == [(11.0, 31.0, ()), (11.0, 31.0, ())]
    silent = f"{SERIAL};{BOARD};SOC power(Watts):0.00"
    assert power_of_each(silent, block) == [(None, None, ()), (11.0, 31.0, ())], (
        "none is of the card"
    )


def test_a_card_that_does_not_know_its_power_has_chips_that_do() -> None:
    block = f"{SERIAL};Board power(Watts):0.00;SOC power(Watts):20.00;SOC TDP Cap(Watts):80.00"
    assert power_of_each(block) == [(20.0, 80.0, ())]


def test_the_power_of_a_card_is_reported_once() -> None:
    one, two = f"{SERIAL};{BOARD}", f"{OTHER};{BOARD}"
    whole: Power = (48.0, 150.0, ())
    assert power_of_each(one, one, two, one) == [whole, NOWHERE, whole, NOWHERE]
    old = f"{SERIAL};Board power(Watts):48.00;TDP Cap(Watts):75.00"
    assert power_of_each(old, old) == [(48.0, 75.0, ()), NOWHERE]


def test_the_power_of_a_card_stands_at_the_first_chip_that_reports_it() -> None:
    rows = power_of_each(f"Status:Error;{SERIAL}", f"{SERIAL};{BOARD}")
    assert rows == [
        (None, None, ("the power of the card is reported once, at qaic1",)),
        (48.0, 150.0, ()),
    ]


@pytest.mark.parametrize("serial", ["Board serial:", "Board serial:0000-00", "Status:Ready"])
def test_chips_without_a_serial_of_their_card_are_cards_of_their_own(serial: str) -> None:
    assert power_of_each(f"{serial};{BOARD}", f"{serial};{BOARD}") == [(48.0, 150.0, ())] * 2


def test_no_power_is_not_known_and_says_nothing_of_others() -> None:
    assert power_of_each(SERIAL, f"{SERIAL};Board power(Watts):0.00") == [(None, None, ())] * 2


def test_no_status_is_no_health() -> None:
    out = collected_from("\tStatus:")
    assert out.values == {}
    assert out.absent[("reported_status_info",)] is Absence.UNSUPPORTED


def test_the_recorded_server_of_eight_cards() -> None:
    first, second = parse(sample("qualcomm/qaic_util_q_8card.txt").read_bytes()).chips
    assert mapping.collected("d", first).values == {
        ("clock_hertz", "npu"): 825_000_000,
        ("clock_hertz", "memory"): 2_133_000_000,
        ("clock_hertz", "fabric"): 1_450_000_000,
        ("clock_hertz", "soc"): 667_000_000,
        ("memory_size_bytes",): 32_692 * MIB,
        ("memory_used_bytes",): 0,
        ("reported_status_info", "ready"): 1,
        ("reported_health_info", "ok"): 1,
    }
    who = mapping.identified(BARE, first, None, None)
    assert (who.uuid, who.serial, who.firmware_version) == (
        "0x64b5276b",
        "PN471-12-343016",
        "1.5.6",
    )
    assert (second.number, second.pci_bus_id) == (1, "0000:81:00.0")
    assert mapping.identified(BARE, second, None, None).serial is None


def test_the_recorded_lines_of_a_tutorial() -> None:
    chips = parse(sample("qualcomm/qaic_util_q_grep.txt").read_bytes()).chips
    assert [(chip.number, chip.pci_bus_id) for chip in chips] == [(0, None), (1, None)]
    for chip in chips:
        out = mapping.collected("d", chip)
        assert out.values[("memory_size_bytes",)] == 32 * GIB
        assert out.absent[("memory_used_bytes",)] is Absence.UNSUPPORTED


_WHOLE = (FOLDER / "ai100-x2.txt").read_bytes()


@given(st.data())
def test_damaged_text_invents_nothing(data: st.DataObject) -> None:
    lines = data.draw(st.permutations(_WHOLE.splitlines(keepends=True)))
    text = b"".join(lines)[: data.draw(st.integers(0, len(_WHOLE)))]
    noise = data.draw(st.binary(max_size=20))
    whole = mapping.collected("d", parse(_WHOLE).chips[0]).values
    for chip in parse(noise + text).chips:
        known = set(mapping.collected("d", chip).values)
        assert {key for key, *_ in known} <= {key for key, *_ in whole}
        mapping.identified(BARE, chip, None, None)
