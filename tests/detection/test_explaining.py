"""What a finding rests on, in numbers and in a sentence."""

import numpy as np
import pytest

from accelwatch.detection.evidence import Channel, Subject, Weight
from accelwatch.detection.findings.explaining import Tables, explained
from accelwatch.detection.findings.phrases import PHRASES, SHARED, phrase_of
from accelwatch.detection.findings.sentences import group_sentence, hang_sentence, sentence
from accelwatch.detection.findings.suspects import Piece
from accelwatch.detection.fusion.families import FAMILIES, position_of
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.detection.signals.signal import ANY, SignalRow
from accelwatch.detection.tick import Tick
from support.detection.fleets import DEVICES, NODES, START, tick

# 03:12 UTC.
ONSET = START + 3 * 3600 + 12 * 60
TABLES = Tables(DEVICES, NODES)


def piece(signal: int = 0, score: float = 9.0, family: str = "power", **other: object) -> Piece:
    made = Piece(
        Channel.PEER, Weight.STATISTICAL, family, Subject.DEVICE, 0, score, ONSET, signal, "", ""
    )
    return made._replace(**other)  # type: ignore[arg-type]


def slow() -> Tick:
    """Device 0 of sixty draws less, is slower and hotter."""
    made = tick(30, ONSET + 600)
    made.devices.value[:, 0] = 637.0, 1.65e9, 70.0
    made.devices.median[:, 0] = 700.0, 1.875e9, 64.0
    made.devices.low[:, 0], made.devices.high[:, 0] = (698.0, 1.86e9, 63.0), (702.0, 1.89e9, 65.0)
    made.devices.z[:, 0] = -10.0, -9.0, 8.0
    made.devices.usual[0, 0] = 699.0
    return made


def text_of(made: Tick, *pieces: Piece) -> str:
    return sentence("n047", "4711", ONSET, explained(made, TABLES, pieces))


def test_signals_have_numbers_and_the_strongest_is_first() -> None:
    first, *others = explained(slow(), TABLES, [piece(1, 8.5, "clock"), piece()])

    assert first.signal.name == "power_watts"
    assert (first.signal.value, first.signal.expected, first.signal.usual) == (637.0, 700.0, 699.0)
    assert (first.signal.low, first.signal.high, first.signal.z) == (698.0, 702.0, -10.0)
    assert (first.signal.since, first.signal.channel, first.peers) == (ONSET, "peer", 59)
    # The last is named by no channel.
    assert [each.signal.name for each in others] == ["clock_hertz.sm", "temperature_celsius.memory"]
    assert others[1].signal.usual is None


def test_what_is_decisive_is_first_and_five_are_enough() -> None:
    logged = piece(-1, 1.0, channel=Channel.LOG, weight=Weight.DECISIVE, cause="xid_79")
    more = [piece(-1, 20.0, cause=f"rule_{number}") for number in range(6)]

    names = [each.signal.name for each in explained(slow(), TABLES, [*more, logged])]

    assert names == ["xid_79", "rule_0", "rule_1", "rule_2", "rule_3"]


def test_unknown_numbers_are_absent() -> None:
    (only,) = explained(tick(1), TABLES, [piece()])

    assert (only.signal.value, only.signal.expected, only.signal.z) == (None, None, None)


def test_a_slow_device_in_a_sentence() -> None:
    assert text_of(slow(), piece()) == (
        "n047 draws 9 % less power at equal load than its 59 peers of job 4711, since 03:12 UTC; "
        "its clock is 12 % lower and its memory is 6 °C hotter: it throttles because it is too hot."
    )


def test_what_is_hot_since_it_works_harder_is_not_badly_cooled() -> None:
    made = slow()
    made.devices.value[:, 0] = 749.0, 1.875e9, 70.0

    assert text_of(made, piece(2, family="thermal")).endswith(": it works harder than they do.")


def test_without_peers_it_is_compared_with_itself() -> None:
    made = slow()
    made.devices.median[:] = np.nan

    text = text_of(made, piece())

    assert text == "n047 draws 9 % less power at equal load than usual, since 03:12 UTC."


def test_what_is_many_times_more_is_explained_by_both_numbers() -> None:
    made = tick(3, ONSET)
    made.nodes.value[0, 0], made.nodes.median[0, 0] = 80_000.0, 300_000.0
    host = piece(0, family="host", subject=Subject.NODE)

    assert text_of(made, host) == (
        "n047 has its rate of interrupts at 80000/s instead of 300000/s, "
        "unlike its 2 peers of job 4711, since 03:12 UTC."
    )


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        (Channel.LOG, "n047 has logged XID 79, since 03:12 UTC."),
        (Channel.HARD, "n047 has a hardware fault (XID 79), since 03:12 UTC."),
        (Channel.RELATION, "n047 is not well (XID 79), since 03:12 UTC."),
    ],
)
def test_evidence_without_a_number(channel: Channel, text: str) -> None:
    assert text_of(tick(1), piece(-1, channel=channel, cause="xid_79")) == text


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ("node_silent", "n047 does not answer, since 03:12 UTC."),
        ("device_lost", "n047 is lost, since 03:12 UTC."),
        ("thermal_slowdown", "n047 is throttled by its hardware because of heat, since 03:12 UTC."),
    ],
)
def test_causes_that_no_number_says(cause: str, text: str) -> None:
    assert text_of(tick(1), piece(-1, channel=Channel.STRUCTURAL, cause=cause)) == text


def test_a_level_that_only_has_not_ended() -> None:
    assert text_of(tick(1)) == "n047 has not recovered yet, since 03:12 UTC."


def test_groups_and_hangs() -> None:
    assert group_sentence(14, "4711", "storage", ONSET) == (
        "14 nodes of job 4711 wait for storage together, so the storage is to blame, since 03:12 UTC."
    )
    assert hang_sentence("4711", "n017", 480, ONSET) == (
        "Job 4711 has hung since 03:12 UTC: its 480 devices look busy and do no work; "
        "n017 stopped first."
    )
    assert hang_sentence("4711", "", 1, ONSET).endswith("its 1 device look busy and do no work.")


def test_every_shared_cause_has_its_words() -> None:
    assert {family.shared for family in FAMILIES} == SHARED.keys()


@pytest.mark.parametrize(
    "row", [*DEVICE_SIGNALS, *NODE_SIGNALS], ids=lambda row: ".".join(row.series)
)
def test_every_signal_has_its_words(row: SignalRow) -> None:
    """Not only its key with spaces."""
    series = tuple(label for label in row.series if label != ANY)
    assert phrase_of(series) in PHRASES.values()


@pytest.mark.parametrize("name", sorted({row.family for row in (*DEVICE_SIGNALS, *NODE_SIGNALS)}))
def test_every_family_of_the_tables_is_known(name: str) -> None:
    assert FAMILIES[position_of(name)].name == name
