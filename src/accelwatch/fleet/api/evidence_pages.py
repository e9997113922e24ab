"""Evidence that others push: taken, placed, noted among the events, kept for as long as it stands."""

import asyncio
import logging
from collections.abc import Callable

import msgspec

from accelwatch.alerting.evaluation.silencing import moment_of
from accelwatch.alerting.incidents.silence import named
from accelwatch.base.errors import UsageError
from accelwatch.fleet.api.alertmanager_webhook import alerts_of
from accelwatch.fleet.api.evidence_documents import (
    EvidencePage,
    EvidenceTaken,
    NewEvidence,
    NewEvidences,
    StandingEvidence,
)
from accelwatch.fleet.evidence_settings import Evidence
from accelwatch.fleet.state.evidence import STANDS, Standing
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.placing import Place, placed
from accelwatch.schema.event import PUSHED, SEVERITY, ErrorEvent
from accelwatch.schema.moments import timestamp
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import JSON, Change, Headers, Page, Query, ask_again, plain

logger = logging.getLogger(__name__)

PATH = "/v1/evidence"
ALERTMANAGER = "/v1/evidence/alertmanager"
MOST_AT_ONCE = 1000
_LONGEST_CODE = 100
_LONGEST_TEXT = 1000
_LONGEST_KEY = 300


class EvidencePages:
    """What is pushed to the hub by a third party."""

    def __init__(self, fleet: Fleet, settings: Callable[[], Evidence]) -> None:
        self._fleet = fleet
        self._settings = settings
        self._writing = asyncio.Lock()
        self._told_of: tuple[str, ...] = ()

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path takes; empty for paths of somebody else."""
        if path == PATH:
            return ("GET", "HEAD", "POST")
        return ("POST",) if path == ALERTMANAGER else ()

    def page(self, query: Query, headers: Headers) -> Page:
        """`EvidencePage`. Raises UsageError."""
        ask_again(query, ())
        standing = tuple(map(_document, self._fleet.evidence.all()))
        return json_page(EvidencePage(standing=standing), headers)

    async def act(self, change: Change) -> Page:
        """Take what is told. Raises UsageError."""
        ask_again(change.query, ())
        media = change.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if media != JSON:
            return plain(415, "the body is JSON: Content-Type: application/json")
        told = alerts_of(change.body) if change.path == ALERTMANAGER else _told(change.body)
        if len(told.evidence) > MOST_AT_ONCE:
            raise UsageError(f"more than {MOST_AT_ONCE} at once")
        source = _word(told.source, "source")
        by = named(change.user or " ".join(told.by.split())[:_LONGEST_CODE], bool(change.user))
        alertmanager = change.path == ALERTMANAGER
        events = [(one, self._event(one, source, by, alertmanager)) for one in told.evidence]
        unplaced: list[str] = []
        refused: list[str] = []
        for one, event in events:
            place = self._placed(one)
            if one.status == "ended" and self._end(one, event, place):
                continue
            if place is None:
                unplaced.append(event.code)
            elif not self._take(one, place, event):
                refused.append(event.code)
        self._complain(source, unplaced)
        answer = EvidenceTaken(
            taken=len(events) - len(unplaced) - len(refused),
            unplaced=tuple(unplaced),
            refused=tuple(refused),
            problem=await self._written(),
        )
        return json_page(answer, change.headers)

    def _event(self, one: NewEvidence, source: str, by: str, alertmanager: bool) -> ErrorEvent:
        now = self._fleet.clock.wall()
        time = min(moment_of("at", one.at), now) if one.at else now
        kind = "alertmanager" if alertmanager else "evidence"
        return ErrorEvent(
            code=f"{kind}_{_word(one.code, 'code')}",
            category=one.category,
            time=time,
            text=one.text[:_LONGEST_TEXT] or one.code[:_LONGEST_CODE],
            source=PUSHED,
            subject=source,
            detail={SEVERITY: one.severity, "by": by},
        )

    def _placed(self, one: NewEvidence) -> Place | None:
        settings = self._settings()
        given = {"node": one.node, "device": one.device}
        if not (one.node or one.device):
            return placed(self._fleet, one.labels, settings)
        by_name = Evidence(node_labels=("node",), device_labels=("device",))
        found = placed(self._fleet, given, by_name)
        # Evidence of a device that is not there is none of its node.
        return None if found is not None and one.device and not found.device else found

    def _end(self, one: NewEvidence, event: ErrorEvent, place: Place | None) -> bool:
        """What stood is over, also where its device has gone meanwhile; whether it is known which."""
        ended = self._fleet.evidence.end(_key(one, event, place)) if one.key or place else None
        if ended is not None:
            there = self._fleet.nodes.get(ended.node)
            device = None if there is None else there.devices.get(ended.event.device_id)
            name = "" if device is None else device.device.name
            of = Place(ended.node, ended.event.device_id, name)
            self._note(of, event, "ended")
        return ended is not None or place is not None

    def _take(self, one: NewEvidence, place: Place, event: ErrorEvent) -> bool:
        board = self._fleet.evidence
        event = msgspec.structs.replace(event, device_id=place.device)
        if one.status == "happened":
            self._fleet.events.note(place.node, place.name, event)
            return True
        key = _key(one, event, place)
        new = board.get(key) is None
        until = self._fleet.clock.wall() + self._settings().keep_s
        if not board.begin(Standing(key=key, node=place.node, event=event, until=until)):
            return False
        if new:
            self._note(place, event, "began")
        return True

    def _complain(self, source: str, unplaced: list[str]) -> None:
        """Say once that evidence is about nobody; who pushes may not look at the answer."""
        if unplaced and (source, *unplaced) != self._told_of:
            self._told_of = (source, *unplaced)
            text = "evidence about an unknown node or device was dropped source=%s code=%s count=%d"
            logger.warning(text, source, unplaced[0], len(unplaced))

    def _note(self, place: Place, event: ErrorEvent, what: str) -> None:
        text = event.text if what == "began" else f"over: {event.text}"
        detail = {**event.detail, STANDS: what}
        noted = msgspec.structs.replace(event, text=text, detail=detail, device_id=place.device)
        self._fleet.events.note(place.node, place.name, noted)

    async def _written(self) -> str:
        async with self._writing:
            standing = tuple(self._fleet.evidence.all())
            return await asyncio.to_thread(self._fleet.evidence_file.write, standing)


def _key(one: NewEvidence, event: ErrorEvent, place: Place | None) -> str:
    """By what the end of something is known, also where nobody knows any more of whom it was."""
    own = one.key or "\x1f".join((event.code, *(place or ())))
    return f"{event.subject}\x1f{own[:_LONGEST_KEY]}"


def _told(body: bytes) -> NewEvidences:
    try:
        return msgspec.json.decode(body, type=NewEvidences)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the body is not what is expected: {error}") from error


def _word(text: str, what: str) -> str:
    word = " ".join(text.split())
    if not word or len(word) > _LONGEST_CODE or not word.isprintable():
        raise UsageError(f"{what}: 1 to {_LONGEST_CODE} printable characters are expected")
    return word


def _document(one: Standing) -> StandingEvidence:
    event = one.event
    return StandingEvidence(
        key=one.key.partition("\x1f")[2].replace("\x1f", " "),
        source=event.subject,
        code=event.code,
        node=one.node,
        device=event.device_id,
        severity=event.detail.get(SEVERITY, ""),
        text=event.text,
        by=event.detail.get("by", ""),
        since=timestamp(event.time),
        until=timestamp(one.until),
    )
