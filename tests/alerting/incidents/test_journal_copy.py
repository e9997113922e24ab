"""A copy of a journal: as the tables say, then as each new entry says."""

from typing import Any

import msgspec
import pytest

from accelwatch.alerting.incidents.closed_incidents import MOST_CLOSED
from accelwatch.alerting.incidents.journal.records import (
    IncidentRecord,
    Loaded,
    MaintenanceRecord,
    Record,
    SilenceRecord,
    StateRecord,
)
from accelwatch.alerting.incidents.journal_copy import JournalCopy
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence, matchers
from accelwatch.alerting.rules.document import Severity
from support.incidents.incident_samples import incident, over

NOW = 1_800_000_000.0
SILENCE = Silence(
    id="s1", matchers=matchers("id=i1"), starts=NOW, ends=NOW + 100, by="ana", reason="swap"
)
WINDOW = Maintenance(id="m2", nodes=("n1",), starts=NOW, ends=NOW + 100, by="ana", reason="BIOS")


def copy_of(**loaded: Any) -> JournalCopy:
    copy = JournalCopy()
    copy.replace(Loaded(**loaded), NOW)
    return copy


def ids(incidents: list[Incident]) -> list[str]:
    return [one.id for one in incidents]


def test_what_was_read_at_once_and_what_came_later_are_the_same() -> None:
    whole = copy_of(incidents=[over(incident(1), NOW), incident(2)], silences=[SILENCE])
    later = copy_of(incidents=[incident(1)])
    later.apply([IncidentRecord(incident(2)), IncidentRecord(over(incident(1), NOW))], NOW)
    later.apply([SilenceRecord(SILENCE)], NOW)
    for copy in (whole, later):
        assert (ids(copy.open), ids(copy.closed)) == (["i2"], ["i1"])
        assert copy.muting.silences == [SILENCE]


@pytest.mark.parametrize("record", [SilenceRecord(SILENCE), MaintenanceRecord(WINDOW)])
def test_what_mutes_an_incident_starts_and_ends(record: Record) -> None:
    copy = copy_of(incidents=[incident(1)])
    (one,) = copy.open
    version = copy.version
    copy.apply([record], NOW)
    mute = copy.mute_of(one)
    assert mute is not None
    assert mute.by == "ana (unverified)"
    assert copy.version > version
    version = copy.version
    copy.apply([], NOW + 1)
    assert copy.version == version  # nothing is told again while nothing changes
    copy.apply([], NOW + 101)
    assert copy.mute_of(one) is None
    assert copy.version > version


def test_a_state_stands_until_it_is_gone_or_over() -> None:
    stands = StateRecord("veto", "n1", msgspec.Raw(b"{}"))
    ends = StateRecord("veto", "n2", msgspec.Raw(b"{}"), until=NOW + 5)
    copy = copy_of(states=[stands])
    copy.apply([ends], NOW)
    assert copy.states(NOW) == [stands, ends]
    assert copy.states(NOW + 5) == [stands]
    copy.apply([StateRecord("veto", "n1")], NOW)
    assert copy.states(NOW) == [ends]


def test_the_oldest_of_those_that_are_over_are_let_go() -> None:
    copy = copy_of()
    copy.apply([IncidentRecord(over(incident(n), NOW)) for n in range(1, MOST_CLOSED + 2)], NOW)
    assert len(copy.closed) == MOST_CLOSED
    assert copy.incident("i1") is None
    assert copy.closed[0].id == f"i{MOST_CLOSED + 1}"


@pytest.mark.parametrize(
    ("fields", "silences", "is_covered"),
    [
        ({"follows": "i1"}, [], True),
        ({}, [], False),
        ({"follows": "i1", "severity": Severity.CRITICAL}, [], False),
        ({"follows": "i9"}, [], False),
        ({"follows": "i1"}, [SILENCE], False),
    ],
)
def test_an_incident_is_covered_by_one_that_leads_and_is_not_muted(
    fields: dict[str, Any], silences: list[Silence], *, is_covered: bool
) -> None:
    one = incident(2, **{"severity": Severity.WARNING, **fields})
    copy = copy_of(incidents=[incident(1), one], silences=silences)
    assert copy.is_covered_by_leader(one) is is_covered
