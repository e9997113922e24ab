"""The totals of `/v1/fleet` are shared for half a second, but are never older than who has answered."""

import asyncio
import json
from collections.abc import Awaitable
from typing import Any

import pytest

from accelwatch.fleet.api.own import own_text
from accelwatch.fleet.api.pages import HubPages
from accelwatch.web.pages.page import Page
from support.fleet.manual_fleet import Bench
from support.fleet.two_nodes import host
from support.machines import composed as machines


def fleet_page(pages: HubPages) -> dict[str, Any]:
    async def main() -> Page:
        page = pages.page("/v1/fleet", {}, {})
        return await page if isinstance(page, Awaitable) else page

    document: dict[str, Any] = json.loads(asyncio.run(main()).body)
    return document


@pytest.mark.parametrize("device", [True, False])
def test_a_node_that_answers_first_is_in_the_next_totals(device: bool) -> None:
    bench = Bench("a", "b")
    pages = HubPages(bench.fleet, own_text(), ready=lambda: True, may_act=lambda: True)
    assert fleet_page(pages)["nodes"]["up"] == 0
    bench.report("a", machines.view(0) if device else host())
    page = fleet_page(pages)
    assert (page["nodes"]["up"], page["devices_total"]) == (1, int(device))
