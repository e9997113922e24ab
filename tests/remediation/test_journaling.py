"""What the pure part wants remembered comes back from the journal as it was."""

import itertools
from pathlib import Path

import msgspec
import pytest

from accelwatch.action.intent import IntentKind, JobKey
from accelwatch.alerting.incidents.journal.records import MOST_BODY, Batch, StateRecord
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.remediation.execution.journaling import PIECE_KIND, journal_records, restored
from accelwatch.remediation.policy.context import records
from accelwatch.remediation.policy.context.tables import replay
from accelwatch.remediation.policy.state.model import (
    Approval,
    Clocks,
    Departed,
    Remedy,
    RemedyState,
)
from accelwatch.remediation.policy.state.orders import Stop, Veto
from accelwatch.remediation.policy.state.stage import Stage
from remediation.bench import intent
from remediation.virtual_time import START


def remedy(text: str = "") -> Remedy:
    return Remedy(
        node="n1",
        stage=Stage.QUARANTINING,
        clocks=Clocks(since=START, begun=START),
        incident="i1",
        approval=Approval(vouched=text),
    )


def through(folder: Path, *records: records.StateRecord) -> tuple[RemedyState, list[StateRecord]]:
    """The state after a journal on a disk, and its states."""
    file = open_file(folder / FILE)
    states = [*itertools.chain.from_iterable(map(journal_records, records))]
    file.write([Batch(time=START, records=[*states])])
    known = file.load(START).states
    file.close()
    return restored(known), known


def test_all_that_stands_comes_back(tmp_path: Path) -> None:
    veto = Veto(node="n2", by="anna", reason="mine", at=START)
    written: list[records.StateRecord] = [
        records.StartedRecord(token=7, at=START),
        records.RemedyRecord(node="n1", remedy=remedy()),
        records.VetoRecord(node="n2", veto=veto),
        records.StopRecord(stop=Stop(by="anna", at=START)),
        records.ChoreRecord(key="17", intent=intent(IntentKind.RESTORE_JOB)),
        records.DepartedRecord(
            key="c/17 5", departed=Departed(job=JobKey("c", "17", 5.0), at=START, nodes=("n5",))
        ),
        records.LingeringRecord(node="n3", intent=intent(IntentKind.REBOOT, "n3")),
        records.ForgottenRecord(node="n4", incident="i4"),
    ]
    expected = RemedyState()
    for record in written:
        expected = replay(expected, record)
    state, known = through(tmp_path, *written)
    assert state == expected
    assert ("remedy", "n1") in {(one.kind, one.key) for one in known}


def test_what_is_gone_does_not(tmp_path: Path) -> None:
    state, known = through(
        tmp_path,
        records.RemedyRecord(node="n1", remedy=remedy()),
        records.RemedyRecord(node="n1", remedy=None),
        records.StopRecord(stop=Stop(by="anna", at=START)),
        records.StopRecord(stop=None),
    )
    assert (state, known) == (RemedyState(), [])


def test_an_entry_names_incident_and_node() -> None:
    (one,) = journal_records(records.RemedyRecord(node="n1", remedy=remedy()))
    assert (one.incident, one.node) == ("i1", "n1")
    lingering = records.LingeringRecord(node="n3", intent=intent(IntentKind.REBOOT, "n3"))
    (other,) = journal_records(lingering)
    assert (other.incident, other.node) == ("i1", "n3")


@pytest.mark.parametrize("text", ["x", '"', "\\", "\x01", "넷", "😀"])
def test_what_is_too_large_for_one_body_is_kept_in_pieces(tmp_path: Path, text: str) -> None:
    large, larger = remedy(text * MOST_BODY), remedy(text * 2 * MOST_BODY)
    for one in (larger, large):
        (tmp_path / FILE).unlink(missing_ok=True)
        state, known = through(
            tmp_path,
            records.RemedyRecord(node="n1", remedy=larger),
            records.RemedyRecord(node="n1", remedy=one),
        )
        assert state.remedies["n1"] == one
        assert all(len(bytes(piece.body)) <= MOST_BODY for piece in known)


def test_a_piece_that_is_missing_is_no_small_thing() -> None:
    states = [*journal_records(records.RemedyRecord(node="n1", remedy=remedy("x" * 2 * MOST_BODY)))]
    last = max(one.key for one in states if one.kind == PIECE_KIND)
    with pytest.raises(msgspec.ValidationError, match="a piece of remedy n1 is missing"):
        restored([one for one in states if one.key != last])
