"""`GET /v1/detector`: everything that the detector holds of a node, also where nothing is found."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from accelwatch.alerting.rules.document import Mode
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.base.names.nearest import nearest
from accelwatch.detection.findings.finding import Finding, Scope
from accelwatch.fleet.detection.device_names import names_of
from accelwatch.fleet.documents.detector import DETECTOR, DetectorPage, FindingNote
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.schema.timestamps import timestamp
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query, only
from accelwatch.web.pages.routes import Parameter, Route

if TYPE_CHECKING:
    from accelwatch.alerting.rules.rule import RuleSet
    from accelwatch.fleet.detection.running import FleetDetector

_MOST_OF_NAME = 100
# Scopes that only rules explain, and what to request instead.
_GROUPS = {
    "job": "`accelwatch why {}` names its nodes",
    "rack": "name a node of it, such as n12 or n12/nvidia3",
}
_REMEDY = "the pack `detector` does, unless detector.enabled is false"


class DetectorPages:
    """For the hub's event loop."""

    def __init__(
        self,
        fleet: Fleet,
        detector: "Callable[[], FleetDetector | None]",
        rules: "Callable[[], RuleSet | None]",
    ) -> None:
        """`detector` that runs beside `rules`; None where there are no rules."""
        self._fleet, self._detector, self._rules = fleet, detector, rules

    def routes(self) -> tuple[Route, ...]:
        """The routes."""
        return (
            Route(
                "GET",
                DETECTOR,
                "What the detector holds of a node or device now, also where nothing is found",
                self.page,
                parameters=(Parameter("entity", "n12 or n12/nvidia3.", required=True),),
                answer=DetectorPage,
            ),
        )

    async def page(self, query: Query, headers: Headers) -> Page:
        """`DetectorPage`. Raises UsageError, UnmetError."""
        # numpy's share is loaded by those only who have rules.
        from accelwatch.detection.status.row_status import status_of_node

        entity = only(query, "entity")
        if not entity:
            raise UsageError("entity is needed: ?entity=n12 or ?entity=n12/nvidia3")
        node, device = self._named(entity)
        detector = await self._running().between_frames()
        tick = detector.tick
        if tick is None:
            raise UnmetError("the detector has no frame yet; it looks every 15 seconds")
        rows = status_of_node(detector, node)
        if not rows:
            raise UnmetError(f"the detector has no row for {node!r} yet: it was just added")
        names = names_of(self._fleet, node)
        shown = [row for row in rows if not device or row.device == device]
        page = DetectorPage(
            entity=entity,
            time=timestamp(tick.frame.now),
            interval_s=tick.frame.interval_s,
            findings=tuple(_notes(detector.findings.values(), node, device)),
            rows=tuple(
                msgspec.structs.replace(row, name=names.get(row.device, row.name)) for row in shown
            ),
        )
        return json_page(page, headers)

    def _running(self) -> "FleetDetector":
        rules, detector = self._rules(), self._detector()
        if rules is None or detector is None:
            raise UnmetError(f"no detector runs here, as no rules are in force; {_REMEDY}")
        in_force = (rule for rule in rules.rules.values() if rule.mode is not Mode.OFF)
        if not any(rule.needs_detector for rule in in_force):
            raise UnmetError(f"no detector runs here, as no rule asks for it; {_REMEDY}")
        return detector

    def _named(self, entity: str) -> tuple[str, str]:
        """The node, and the id of the device; empty for none."""
        nodes = self._fleet.nodes
        if entity in nodes:
            return entity, ""
        kind, colon, _ = entity.partition(":")
        if colon and kind in _GROUPS:
            raise UnmetError(
                f"the detector is explained for a node or a device of it, not for a {kind}; "
                + _GROUPS[kind].format(entity[:_MOST_OF_NAME])
            )
        node, slash, name = entity.rpartition("/")
        if not slash or node not in nodes:
            node = node if slash else entity
            close = nearest(node[:_MOST_OF_NAME], list(nodes))
            hint = f"; did you mean {close}?" if close else ""
            raise UnmetError(f"no node {node[:_MOST_OF_NAME]!r} is known here{hint}")
        names = names_of(self._fleet, node)
        for id_, called in names.items():
            if name in (id_, called):
                return node, id_
        close = nearest(name[:_MOST_OF_NAME], list(names.values()))
        hint = f"; did you mean {close}?" if close else ""
        raise UnmetError(f"no device {name[:_MOST_OF_NAME]!r} on {node!r}{hint}")


def _notes(findings: Iterable[Finding], node: str, device: str) -> Iterable[FindingNote]:
    """Those that concern a node, or one device of it."""
    for finding in findings:
        if node not in (finding.node, *finding.nodes):
            continue
        if device and finding.scope is Scope.DEVICE and finding.device != device:
            continue
        yield FindingNote(
            level=finding.level.value,
            scope=finding.scope.value,
            device=finding.device,
            job=finding.job,
            family=finding.family,
            channels=finding.channels,
            advice=finding.advice,
            score=finding.score,
            onset=timestamp(finding.onset),
            opened=timestamp(finding.opened),
            sentence=finding.sentence,
        )
