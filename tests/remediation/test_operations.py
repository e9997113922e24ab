"""The life of an operation: nothing but what its table allows."""

import ast
import itertools
import json
from pathlib import Path

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import Report, ReportStatus, Step
from accelwatch.remediation.execution.operations.ledger import release_without_journal
from accelwatch.remediation.execution.operations.operation import (
    FOLLOWS,
    KEPT_S,
    OPEN,
    Operation,
    OperationState,
    Witness,
    WrongOrderError,
    advanced,
    operation_of,
    record,
)
from remediation.bench import intent
from remediation.virtual_time import START

HOUSE = Path(__file__).parents[2]


def operation(state: OperationState = OperationState.RESERVED) -> Operation:
    return Operation(
        id="i1-1",
        action="fake",
        intent=intent(IntentKind.QUARANTINE),
        step=Step(kind="drain", text="drain n1"),
        attempt=1,
        state=state,
        reserved=START,
    )


@pytest.mark.parametrize(
    ("before", "after", "by"), [*itertools.product(OperationState, OperationState, Witness)]
)
def test_only_what_the_table_has_may_follow(
    before: OperationState, after: OperationState, by: Witness
) -> None:
    if by in FOLLOWS.get((before, after), frozenset()):
        assert advanced(operation(before), after, now=START + 1, by=by).state is after
    else:
        with pytest.raises(WrongOrderError, match=f"{after} cannot follow {before} by {by}"):
            advanced(operation(before), after, now=START + 1, by=by)


def test_unknown_is_left_by_what_is_seen_or_a_person_only() -> None:
    ways = {pair: by for pair, by in FOLLOWS.items() if pair[0] is OperationState.UNKNOWN}
    assert set(ways) == {
        (OperationState.UNKNOWN, OperationState.OBSERVED),
        (OperationState.UNKNOWN, OperationState.FAILED),
    }
    assert all(by == {Witness.OBSERVATION, Witness.PERSON} for by in ways.values())


def test_whatever_may_have_happened_is_never_called_off() -> None:
    assert (OperationState.ANSWERED, OperationState.CANCELLED) not in FOLLOWS
    assert FOLLOWS[OperationState.STARTED, OperationState.CANCELLED] == {Witness.PURSUIT}


def test_an_end_is_an_end() -> None:
    assert set(OperationState) - OPEN == {
        OperationState.OBSERVED,
        OperationState.FAILED,
        OperationState.CANCELLED,
    }


def test_times_and_answers_are_kept() -> None:
    started = advanced(operation(), OperationState.STARTED, now=START + 1)
    answered = advanced(
        started,
        OperationState.ANSWERED,
        now=START + 2,
        report=Report(status=ReportStatus.DONE, text="ok"),
    )
    seen = advanced(answered, OperationState.OBSERVED, now=START + 3, by=Witness.OBSERVATION)
    assert (started.started, started.ended) == (START + 1, None)
    assert (seen.started, seen.ended) == (START + 1, START + 3)
    assert seen.report == Report(status=ReportStatus.DONE, text="ok")


@pytest.mark.parametrize("state", OperationState)
def test_only_what_is_open_claims_its_node(state: OperationState) -> None:
    one = operation(state)
    if state not in OPEN:
        one = advanced(
            operation(OperationState.UNKNOWN), OperationState.FAILED, now=START, by=Witness.PERSON
        )
    kept = record(one)
    assert operation_of(kept) == one
    assert (kept.claim, kept.until) == (
        ("node:fake:n1", None) if one.is_open else ("", START + KEPT_S)
    )


def test_only_the_ledger_permits_an_effect() -> None:
    """Each `Committed` is made in `Ledger.start`, after what is awaited there, or does nothing, or only
    takes our own mark off at a person's word.
    """
    makers = [
        path.relative_to(HOUSE).as_posix()
        for folder in ("src", "actions")
        for path in (HOUSE / folder).rglob("*.py")
        if "Committed(" in path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Committed"
    ]
    assert makers == ["src/accelwatch/remediation/execution/operations/ledger.py"] * 3
    source = (HOUSE / makers[0]).read_text(encoding="utf-8")
    (start,) = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.AsyncFunctionDef) and node.name == "start"
    )
    (rehearsal,) = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name == "rehearsal"
    )
    assert "dry_run=True" in ast.unparse(rehearsal)
    (write,) = (node.lineno for node in ast.walk(start) if isinstance(node, ast.Await))
    (made,) = (
        node.lineno
        for node in ast.walk(start)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Committed"
    )
    assert write < made


@pytest.mark.parametrize("kind", sorted(set(IntentKind) - {IntentKind.RELEASE}))
def test_only_a_release_is_permitted_without_the_journal(kind: IntentKind) -> None:
    with pytest.raises(ValueError, match="has to be in the journal before it is done"):
        release_without_journal(intent(kind))
    assert release_without_journal(intent(IntentKind.RELEASE)).operation == "by-hand"


def test_a_journal_has_the_report_under_the_key_of_before() -> None:
    report = Report(status=ReportStatus.DONE, text="ok")
    answered = msgspec.structs.replace(operation(), report=report)
    written = msgspec.json.encode(answered)
    assert json.loads(written)["told"]["text"] == "ok"
    assert msgspec.json.decode(written, type=Operation) == answered
