"""Pages of silences and maintenance, closing an incident and writing into it, for hub and agent.

Whoever may change something is for the server to decide; here it is done, and said who did it.
"""

from collections import Counter
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from accelwatch.alerting.evaluation.incident_reader import IncidentReader
from accelwatch.alerting.evaluation.paths import INCIDENTS, MAINTENANCE, SILENCES
from accelwatch.alerting.evaluation.silences.describing import (
    silence_document,
    unknown_in,
    window_document,
)
from accelwatch.alerting.evaluation.silences.documents import (
    Closed,
    MaintenanceChanged,
    MaintenancePage,
    NoteWritten,
    SilenceChanged,
    SilencesPage,
)
from accelwatch.alerting.evaluation.silences.requests import (
    Closing,
    NewMaintenance,
    NewNote,
    NewSilence,
    decode_request,
    for_whom,
    note_of,
    reason_of,
    silence_of,
    unknown_labels,
    who,
    window_of,
)
from accelwatch.alerting.incidents.model.incident import OWN_LABELS
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence, named
from accelwatch.base.clock import Clock
from accelwatch.base.errors import UnmetError, UsageError, check_leads
from accelwatch.schema.timestamps import timestamp
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Change, Headers, Page, Query, only
from accelwatch.web.pages.routes import ON_BEHALF_OF, Parameter, Route
from accelwatch.web.protection.roles import Role

if TYPE_CHECKING:
    from accelwatch.alerting.evaluation.runner import RuleRunner
    from accelwatch.alerting.incidents.incident_store import IncidentStore


class SilencePages:
    """What keeps incidents quiet, and how it is changed."""

    def __init__(
        self,
        runner: "Callable[[], RuleRunner | None]",
        clock: Clock,
        nodes: Callable[[], Collection[str]],
        labels: Callable[[], Collection[str]] = tuple,
        *,
        reader: Callable[[], IncidentReader | None] | None = None,
        refusal: Callable[[], str] = str,
    ) -> None:
        """`runner` gives whoever evaluates now, `nodes` and `labels` the names that are known.

        `reader` returns the incidents, those of `runner` if None; `refusal` says why a request for a
        change has to go to another hub.
        """
        self._reader: Callable[[], IncidentReader | None] = reader or runner
        self._refusal = refusal
        self._labels = labels
        self._runner = runner
        self._clock = clock
        self._nodes = nodes

    def routes(self) -> tuple[Route, ...]:
        """The routes."""
        silence, window = f"{SILENCES}/{{id}}", f"{MAINTENANCE}/{{id}}"
        close, note = f"{INCIDENTS}/{{id:path}}/close", f"{INCIDENTS}/{{id:path}}/note"
        by = (Parameter("by", "Who ends it, where the hub has no logins."), ON_BEHALF_OF)
        return (
            Route(
                "GET",
                SILENCES,
                "Silences that are not over",
                self._silences,
                answer=SilencesPage,
            ),
            Route(
                "POST",
                SILENCES,
                "Set a silence",
                self._silence,
                body=NewSilence,
                answer=SilenceChanged,
                role=Role.ACT,
            ),
            Route(
                "DELETE",
                silence,
                "End a silence",
                self._expire_silence,
                parameters=by,
                answer=SilenceChanged,
                role=Role.ACT,
            ),
            Route(
                "GET",
                MAINTENANCE,
                "Windows of maintenance that are not over",
                self._windows,
                answer=MaintenancePage,
            ),
            Route(
                "POST",
                MAINTENANCE,
                "Announce maintenance",
                self._announce,
                body=NewMaintenance,
                answer=MaintenanceChanged,
                role=Role.ACT,
            ),
            Route(
                "DELETE",
                window,
                "End maintenance",
                self._expire_window,
                parameters=by,
                answer=MaintenanceChanged,
                role=Role.ACT,
            ),
            Route(
                "POST",
                close,
                "Close an incident by hand",
                self._close,
                body=Closing,
                answer=Closed,
                role=Role.ACT,
            ),
            Route(
                "POST",
                note,
                "Write into an incident's history",
                self._note,
                body=NewNote,
                answer=NoteWritten,
                role=Role.ACT,
            ),
        )

    def _silences(self, _query: Query, headers: Headers) -> Page:
        reader, now = self._reader(), self._clock.wall()
        if reader is None:
            return json_page(SilencesPage(evaluated=False), headers)
        counts = _counts(reader)
        silences = tuple(
            silence_document(silence, now, counts) for silence in reader.muting.silences
        )
        return json_page(SilencesPage(problems=reader.problems, silences=silences), headers)

    def _windows(self, _query: Query, headers: Headers) -> Page:
        reader, now = self._reader(), self._clock.wall()
        if reader is None:
            return json_page(MaintenancePage(evaluated=False), headers)
        counts = _counts(reader)
        windows = tuple(window_document(window, now, counts) for window in reader.muting.windows)
        return json_page(MaintenancePage(problems=reader.problems, maintenance=windows), headers)

    async def _silence(self, change: Change) -> Page:
        runner = self._required_runner()
        incident_store, now = runner.incident_store, self._clock.wall()
        request = decode_request(change.body, NewSilence)
        incident_store.muting.check_room(Silence)
        # Only accepted silences get a number.
        unknown = unknown_labels(
            silence_of(request, "", now, change.user), self._existing_labels(incident_store)
        )
        silence = silence_of(request, incident_store.next_id("s"), now, change.user)
        problem = await incident_store.mutes.mute(silence)
        document = silence_document(silence, now, _counts(runner))
        response = SilenceChanged(silence=document, problem=problem, unknown=unknown)
        return json_page(response, change.headers)

    def _existing_labels(self, incident_store: "IncidentStore") -> set[str]:
        of_incidents = (name for incident in incident_store.open for name in incident.facts.labels)
        return {*OWN_LABELS, *self._labels(), *of_incidents}

    async def _announce(self, change: Change) -> Page:
        runner = self._required_runner()
        incident_store, now = runner.incident_store, self._clock.wall()
        request = decode_request(change.body, NewMaintenance)
        incident_store.muting.check_room(Maintenance)
        incident_store.muting.check_nodes(window_of(request, "", now, change.user))
        window = window_of(request, incident_store.next_id("m"), now, change.user)
        problem = await incident_store.mutes.mute(window)
        document = window_document(window, now, _counts(runner))
        unknown = unknown_in(window, self._nodes())
        return json_page(
            MaintenanceChanged(maintenance=document, unknown=unknown, problem=problem),
            change.headers,
        )

    async def _expire_silence(self, id_: str, change: Change) -> Page:
        return await self._expire(Silence, id_, change)

    async def _expire_window(self, id_: str, change: Change) -> Page:
        return await self._expire(Maintenance, id_, change)

    async def _expire(self, kind: type[Silence | Maintenance], id_: str, change: Change) -> Page:
        runner = self._required_runner()
        person = who(change.user, only(change.query, "by") or "")
        actor = for_whom(named(person, bool(change.user)), change)
        muting = runner.incident_store.muting
        if muting.is_announced(id_):
            raise UsageError(f"{id_[:100]} is kept by the scheduler; end it there")
        if not isinstance(muting.get(id_), kind):
            what = "silence" if kind is Silence else "maintenance"
            raise UnmetError(f"no {what} {id_[:100]!r}, or it is over")
        expired, problem = await runner.incident_store.mutes.unmute(id_, actor)
        now, counts = self._clock.wall(), _counts(runner)
        if isinstance(expired, Silence):
            document = silence_document(expired, now, counts)
            return json_page(SilenceChanged(silence=document, problem=problem), change.headers)
        window = window_document(expired, now, counts)
        return json_page(
            MaintenanceChanged(maintenance=window, unknown=(), problem=problem), change.headers
        )

    async def _close(self, id_: str, change: Change) -> Page:
        runner = self._required_runner()
        request = decode_request(change.body, Closing)
        actor = named(who(change.user, request.by), bool(change.user))
        incident, problem = await runner.incident_store.close(id_, actor, reason_of(request.reason))
        closed = timestamp(incident.updated)
        return json_page(Closed(id=incident.id, closed=closed, problem=problem), change.headers)

    async def _note(self, id_: str, change: Change) -> Page:
        from accelwatch.alerting.incidents.timeline_notes import Line

        runner = self._required_runner()
        request = decode_request(change.body, NewNote)
        actor = named(who(change.user, request.by), bool(change.user))
        text = note_of(request.text)
        if not runner.incident_store.accepts_notes(id_):
            raise UnmetError(f"no incident {id_[:100]!r} is kept that can be written into")
        problem = await runner.incident_store.note([Line(id_, actor, text)])
        return json_page(NoteWritten(id=id_, text=text, problem=problem), change.headers)

    def _required_runner(self) -> "RuleRunner":
        runner = self._runner()
        if runner is None:
            check_leads(self._refusal())
            raise UnmetError("no rules are evaluated here, so there are no incidents to silence")
        return runner


def _counts(reader: IncidentReader) -> Counter[str]:
    """Open incidents by what mutes them."""
    mutes = (reader.mute_of(incident) for incident in reader.open)
    return Counter(mute.id for mute in mutes if mute is not None)
