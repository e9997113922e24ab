"""`GET /v1/lemons`: devices, slots and nodes whose hardware has failed again and again."""

import asyncio

from accelwatch.base.errors import UsageError
from accelwatch.fleet.detection.fault_history import FaultHistory
from accelwatch.fleet.lemons.documents import LEAST_FAULTS, PERIOD_DAYS, LemonsPage
from accelwatch.fleet.lemons.scoring import lemons_of
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.schema.timestamps import timestamp
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query, only
from accelwatch.web.pages.routes import Parameter, Route

PATH = "/v1/lemons"


class LemonPages:
    """For the hub's event loop."""

    def __init__(self, fleet: Fleet, history: FaultHistory | None = None) -> None:
        self._clock = fleet.clock
        self._history = history or FaultHistory(fleet, lambda: None, lambda: None)

    def routes(self) -> tuple[Route, ...]:
        """The routes."""
        return (
            Route(
                "GET",
                PATH,
                "Devices, slots and nodes with repeated hardware faults, the worst first",
                self.page,
                parameters=(
                    Parameter(
                        "least",
                        f"Faults from which on it is listed; {LEAST_FAULTS} unless given.",
                        {"type": "integer", "minimum": 1},
                    ),
                ),
                answer=LemonsPage,
            ),
        )

    async def page(self, query: Query, headers: Headers) -> Page:
        """`LemonsPage`. Raises UsageError."""
        least, history = _least(query), self._history
        await history.refresh()
        now, lemons = self._clock.wall(), history.lemons
        if least != LEAST_FAULTS:
            lemons = await asyncio.to_thread(lemons_of, history.faults, now, least)
        page = LemonsPage(
            time=timestamp(now),
            days=PERIOD_DAYS,
            rules=history.rules,
            faults=len(history.faults),
            problems=history.problems,
            lemons=lemons,
        )
        return json_page(page, headers)


def _least(query: Query) -> int:
    text = only(query, "least")
    if text is None:
        return LEAST_FAULTS
    if not (text.isascii() and text.isdecimal()) or not int(text[:9]) >= 1:
        raise UsageError("least: a number of faults, at least 1")
    return int(text[:9])
