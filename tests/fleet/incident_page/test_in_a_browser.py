"""The page in a real browser as wide as a small phone, opened by a link, with nobody logged in."""

import asyncio
from pathlib import Path

import aiohttp
import msgspec
import pytest

from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import LinkSettings
from accelwatch.web.protection.web_config import Protection
from fleet.incident_page.page_site import PageSite, page_site
from fleet.remedies.hub_site import HubSite, until
from remediation.fake_scheduler import FakeScheduler
from support.servers.headless_browser import Page, browser, chromium
from support.servers.receivers import Receiver, receiver

WIDTH = 360
# Chromium takes many seconds to start on a busy machine.
_WITHIN_S = 180.0
NASTY = "<img src=x onerror=alert(1)><script>alert(2)</script>"
LOCKED = Protection(users={"ana": "$2b$04$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"})


async def opened(page: Page, address: str) -> str:
    """Go there; the words of the page."""
    await page.call("Page.navigate", url=address)
    return await read(page, address)


async def read(page: Page, address: str = "") -> str:
    """The words of the page once it is there."""
    ready = "document.readyState == 'complete' && !!document.querySelector('header')"
    while not await page.evaluate(f"{ready} && location.href != 'about:blank'"):
        await asyncio.sleep(0.05)
    return str(await page.evaluate("document.body.innerText"))


def stage(one: PageSite) -> Stage:
    return one.remedies.engine.state.remedies["a"].stage


async def approval_link(there: Receiver) -> str:
    """The link in the message that asks for a yes."""
    while True:
        for request in there.requests:
            for approval in request.json()["data"]["asks"]:
                return str(approval["link"])
        await asyncio.sleep(0.05)


async def look(program: str, site: HubSite, one: PageSite, there: Receiver, picture: Path) -> str:
    """What somebody who is notified sees and does; the link's token."""
    site.watts = 100.0
    address = await approval_link(there)
    token = address.partition("?link=")[2]
    assert address == f"{one.base}/incidents/{one.incident}?link={token}"
    async with browser(program) as page:
        await page.call(
            "Emulation.setDeviceMetricsOverride",
            width=WIDTH,
            height=780,
            deviceScaleFactor=1,
            mobile=True,
        )
        words = await opened(page, address)
        assert "take a out of the pool" in words
        assert NASTY in words, "what a device is called is text"
        assert await page.evaluate("document.querySelectorAll('img, script, iframe').length") == 0
        assert await page.evaluate("document.documentElement.scrollWidth") == WIDTH
        assert await page.evaluate("!!document.querySelector('svg path.line')")
        await page.screenshot(picture)
        await opened(page, address)
        assert stage(one) is Stage.AWAITING_APPROVAL, "looking changes nothing"
        assert not site.quarantined("n1")
        form = "document.querySelector('button.yes').closest('form')"
        # Somebody keeps the form, and sends it again when the button was pressed.
        body = str(await page.evaluate(f"new URLSearchParams(new FormData({form})).toString()"))
        await page.evaluate("document.querySelector('button.yes').click()")
        while "Approved." not in await read(page):
            await asyncio.sleep(0.05)
        await until(lambda: site.quarantined("n1"))
        last = there.requests[-1].json()["data"]
        while not (last["asks"] == [] and "approve by link:oncall" in str(last["done"])):
            await asyncio.sleep(0.05)
            last = there.requests[-1].json()["data"]
        assert "used already" in await opened(page, address)
        assert await page.evaluate("document.querySelectorAll('button').length") == 0
    async with aiohttp.ClientSession() as session:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        again = f"{body}&verb=approve"
        async with session.post(address, data=again, headers=headers) as answer:
            assert answer.status == 403
            assert "used already" in await answer.text()
        async with session.get(f"{one.base}/incidents/{one.incident}") as answer:
            assert answer.status == 401, "without the link somebody has to log in"
        foreign = one.token(incident="i99")
        async with session.get(f"{one.base}/incidents/{one.incident}?link={foreign}") as answer:
            assert answer.status == 401
        async with session.get(f"{one.base}/v1/incidents?link={one.token()}") as answer:
            assert answer.status == 401, "the link opens its page and nothing else"
    return token


def test_somebody_on_a_phone_approves_by_the_link_once(
    tmp_path: Path, fake_plugin: list[FakeScheduler], caplog: pytest.LogCaptureFixture
) -> None:
    program = chromium()
    if program is None:
        pytest.skip("chromium is not on PATH (Debian: apt install chromium)")
    site = HubSite(tmp_path, mode="approve")
    site.model = NASTY
    links = LinkSettings(sinks=("oncall",))
    site.settings = msgspec.structs.replace(site.settings, links=links)
    fake_plugin.append(site.world)
    tokens: list[str] = []

    async def scenario() -> None:
        async with receiver() as there:
            options = {"url": f"{there.base}/x", "updates": True}
            sinks = (SinkSettings(name="oncall", type="webhook", options=options),)
            site.alerts = Alerts(sinks=sinks)
            async with page_site(site, LOCKED) as one, asyncio.timeout(_WITHIN_S):
                picture = tmp_path / "page.png"
                tokens.append(await look(program, site, one, there, picture))

    caplog.set_level("DEBUG")
    asyncio.run(scenario())
    (token,) = tokens
    assert token not in caplog.text
    for file in tmp_path.glob("journal.sqlite*"):
        assert token.encode() not in file.read_bytes()
