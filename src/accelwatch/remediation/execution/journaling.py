"""What the pure part wants remembered, as the journal keeps it, and made again from there."""

from collections.abc import Iterable, Iterator

import msgspec

from accelwatch.alerting.incidents.journal.records import GONE, MOST_BODY, StateRecord
from accelwatch.remediation.execution import flat_remedies
from accelwatch.remediation.execution.operations.operation import KIND as OPERATION
from accelwatch.remediation.policy.context import records
from accelwatch.remediation.policy.context.tables import replay
from accelwatch.remediation.policy.state.model import RemedyState

_DECODER = msgspec.json.Decoder(records.StateRecord)
_ENCODER = msgspec.json.Encoder(order="deterministic")
# Key of a state of which there is one.
_ONLY = "-"
# Kind of a piece of what is too large for one body; pieces beyond those that count mean nothing.
PIECE_KIND = "part"
# Characters of a piece: each needs at most four bytes in JSON that was JSON before.
_PIECE = MOST_BODY // 4 - 1


class Pieces(msgspec.Struct, frozen=True):
    """The body of what is in pieces."""

    parts: int


def journal_records(record: records.StateRecord) -> Iterator[StateRecord]:
    """A record of the pure part as states of the journal; one without a value is gone."""
    key, value = _key_and_value(record)
    kind = str(type(record).__struct_config__.tag)
    node = key if "node" in record.__struct_fields__ else ""

    def state(key: str, body: msgspec.Raw, kind: str = kind) -> StateRecord:
        return StateRecord(kind, key, body, incident=_incident(value), node=node)

    if value is None or value == "":
        yield state(key, GONE)
        return
    body = _ENCODER.encode(record)
    if len(body) <= MOST_BODY:
        yield state(key, msgspec.Raw(body))
        return
    text = body.decode("utf-8")
    pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
    yield state(key, _raw(Pieces(len(pieces))))
    for number, piece in enumerate(pieces):
        yield state(_piece_key(kind, key, number), _raw(piece), PIECE_KIND)


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(_ENCODER.encode(value))


def _piece_key(kind: str, key: str, number: int) -> str:
    return f"{kind}:{key}:{number}"


def _key_and_value(record: records.StateRecord) -> tuple[str, object]:
    names = record.__struct_fields__
    if isinstance(record, records.StartedRecord):
        return _ONLY, record
    if len(names) == 1:
        return _ONLY, getattr(record, names[0])
    key, value = (getattr(record, name) for name in names)
    return str(key), value


def _incident(value: object) -> str:
    annotation = getattr(value, "mark", None)
    return str(getattr(value, "incident", "") or getattr(annotation, "incident", ""))


def restored(states: Iterable[StateRecord]) -> RemedyState:
    """The state that the journal's states amount to. Raises DECODE_ERRORS for what is none.

    An unknown record is never ignored: an engine that forgot what it holds would be
    worse than one that does not begin.
    """
    by_key = {(record.kind, record.key): record for record in states}
    state = RemedyState()
    for (kind, _), record in by_key.items():
        if kind in (OPERATION, PIECE_KIND):
            continue
        body = _joined_body(record, by_key)
        if kind == flat_remedies.KIND:
            body = flat_remedies.nested(body)
        state = replay(state, _DECODER.decode(body))
    return state


def _joined_body(record: StateRecord, by_key: dict[tuple[str, str], StateRecord]) -> bytes:
    """The body of a state, put together. Raises msgspec.ValidationError when a piece is missing."""
    body = bytes(record.body)
    try:
        count = msgspec.json.decode(body, type=Pieces).parts
    except msgspec.ValidationError:
        return body
    pieces = [
        by_key.get((PIECE_KIND, _piece_key(record.kind, record.key, number)))
        for number in range(count)
    ]
    if None in pieces:
        raise msgspec.ValidationError(f"a piece of {record.kind} {record.key} is missing")
    return "".join(
        msgspec.json.decode(piece.body, type=str) for piece in pieces if piece is not None
    ).encode()
