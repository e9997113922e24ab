"""Evidence that others push: accepted, assigned, logged as events, kept until it ends or expires."""

import logging
from collections.abc import Callable

import msgspec

from accelwatch.alerting.evaluation.silences.requests import timestamp_of
from accelwatch.alerting.incidents.model.silence import named
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import UsageError
from accelwatch.fleet.api.evidence.alertmanager_webhook import AlertmanagerMessage, alerts_of
from accelwatch.fleet.documents.evidence import (
    EvidencePage,
    EvidenceTaken,
    NewEvidence,
    NewEvidences,
    StandingEvidence,
)
from accelwatch.fleet.evidence.intake import EvidenceIntake
from accelwatch.fleet.evidence_settings import Evidence
from accelwatch.fleet.state.evidence.board import ReceivedAlert
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.location import Location, locate
from accelwatch.schema.event import PUSHED, SEVERITY, ErrorEvent
from accelwatch.schema.timestamps import timestamp
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Change, Headers, Page, Query
from accelwatch.web.pages.routes import Route
from accelwatch.web.protection.roles import Role

logger = logging.getLogger(__name__)

PATH = "/v1/evidence"
ALERTMANAGER = "/v1/evidence/alertmanager"
MOST_AT_ONCE = 1000
_LONGEST_CODE = 100
_LONGEST_TEXT = 1000
_LONGEST_KEY = 300


class EvidencePages:
    """What is pushed to the hub by a third party."""

    def __init__(
        self, fleet: Fleet, settings: Callable[[], Evidence], intake: EvidenceIntake | None = None
    ) -> None:
        self._fleet = fleet
        self._settings = settings
        self._intake = intake or EvidenceIntake(fleet)
        self._reported_unplaced: tuple[str, ...] = ()

    def routes(self) -> tuple[Route, ...]:
        """The routes."""
        return (
            Route(
                "GET",
                PATH,
                "Evidence that others sent and that has not expired",
                self._page,
                answer=EvidencePage,
            ),
            Route(
                "POST",
                PATH,
                "Push evidence about nodes and devices",
                self._accept_ours,
                body=NewEvidences,
                answer=EvidenceTaken,
                role=Role.ACT,
            ),
            Route(
                "POST",
                ALERTMANAGER,
                "Webhook of an Alertmanager",
                self._accept_alerts,
                body=AlertmanagerMessage,
                answer=EvidenceTaken,
                role=Role.ACT,
            ),
        )

    def _page(self, _query: Query, headers: Headers) -> Page:
        active = tuple(map(_document, self._fleet.evidence.all()))
        return json_page(EvidencePage(active=active), headers)

    async def _accept_ours(self, change: Change) -> Page:
        return await self._accept_all(_decode(change.body), "evidence", change)

    async def _accept_alerts(self, change: Change) -> Page:
        return await self._accept_all(alerts_of(change.body), "alertmanager", change)

    async def _accept_all(self, message: NewEvidences, kind: str, change: Change) -> Page:
        """Record the evidence, as codes of that kind. Raises UsageError."""
        if len(message.evidence) > MOST_AT_ONCE:
            raise UsageError(f"more than {MOST_AT_ONCE} at once")
        source = _checked_text(message.source, "source")
        by = named(change.user or " ".join(message.by.split())[:_LONGEST_CODE], bool(change.user))
        events = [
            (evidence, self._event(evidence, source, by, kind)) for evidence in message.evidence
        ]
        unplaced: list[str] = []
        refused: list[str] = []
        for evidence, event in events:
            location = self._locate(evidence)
            if evidence.status == "ended" and self._resolve(evidence, event, location):
                continue
            if location is None:
                unplaced.append(event.code)
            elif not self._accept(evidence, location, event):
                refused.append(event.code)
        self._complain(source, unplaced)
        answer = EvidenceTaken(
            accepted=len(events) - len(unplaced) - len(refused),
            unplaced=tuple(unplaced),
            refused=tuple(refused),
            problem=await self._intake.written(),
        )
        return json_page(answer, change.headers)

    def _event(self, evidence: NewEvidence, source: str, by: str, kind: str) -> ErrorEvent:
        now = self._fleet.clock.wall()
        time = min(timestamp_of("at", evidence.at), now) if evidence.at else now
        return ErrorEvent(
            code=f"{kind}_{_checked_text(evidence.code, 'code')}",
            category=evidence.category,
            time=time,
            text=evidence.text[:_LONGEST_TEXT] or evidence.code[:_LONGEST_CODE],
            source=PUSHED,
            subject=source,
            detail={SEVERITY: evidence.severity, "by": by},
        )

    def _locate(self, evidence: NewEvidence) -> Location | None:
        settings = self._settings()
        labels = {"node": evidence.node, "device": evidence.device}
        if not (evidence.node or evidence.device):
            return locate(self._fleet, evidence.labels, settings)
        by_name = Evidence(node_labels=("node",), device_labels=("device",))
        location = locate(self._fleet, labels, by_name)
        # Evidence of a device that is not there is none of its node.
        return (
            None if location is not None and evidence.device and not location.device else location
        )

    def _resolve(self, evidence: NewEvidence, event: ErrorEvent, location: Location | None) -> bool:
        """Its evidence is over, also where its device has gone meanwhile; whether it was found."""
        findable = bool(evidence.key) or location is not None
        resolved = findable and self._intake.resolve(_key(evidence, event, location), event)
        return resolved or location is not None

    def _accept(self, evidence: NewEvidence, location: Location, event: ErrorEvent) -> bool:
        if evidence.status == "happened":
            self._intake.happened(location, event)
            return True
        until = self._fleet.clock.wall() + self._settings().keep_s
        return self._intake.activate(location, event, _key(evidence, event, location), until)

    def _complain(self, source: str, unplaced: list[str]) -> None:
        """Log once that evidence matches no node; its sender may ignore the response."""
        if unplaced and (source, *unplaced) != self._reported_unplaced:
            self._reported_unplaced = (source, *unplaced)
            text = "evidence about an unknown node or device was dropped source=%s code=%s count=%d"
            logger.warning(text, source, unplaced[0], len(unplaced))


def _key(evidence: NewEvidence, event: ErrorEvent, location: Location | None) -> str:
    """By what the end of something is known, also where nobody knows any more of whom it was."""
    own = evidence.key or "\x1f".join((event.code, *(location or ())))
    return f"{event.subject}\x1f{own[:_LONGEST_KEY]}"


def _decode(body: bytes) -> NewEvidences:
    try:
        return msgspec.json.decode(body, type=NewEvidences)
    except DECODE_ERRORS as error:
        raise UsageError(f"invalid body: {error}") from error


def _checked_text(text: str, what: str) -> str:
    joined = " ".join(text.split())
    if not joined or len(joined) > _LONGEST_CODE or not joined.isprintable():
        raise UsageError(f"{what}: 1 to {_LONGEST_CODE} printable characters are expected")
    return joined


def _document(evidence: ReceivedAlert) -> StandingEvidence:
    event = evidence.event
    return StandingEvidence(
        key=evidence.key.partition("\x1f")[2].replace("\x1f", " "),
        source=event.subject,
        code=event.code,
        node=evidence.node,
        device=event.device_id,
        severity=event.detail.get(SEVERITY, ""),
        text=event.text,
        by=event.detail.get("by", ""),
        since=timestamp(event.time),
        until=timestamp(evidence.until),
    )
