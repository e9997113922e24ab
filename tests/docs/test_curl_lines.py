"""Every curl line of the documents, run against a real agent and a real hub on other ports."""

import asyncio
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from accelwatch.config.model import Web
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.targets.settings import Targets
from support.fleet.hub_peers import agent, served_hub
from support.machines import composed as machines
from support.servers.fake_prometheus import soon

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
_HOSTS = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|hub\.example\.org):(9877|9878)")


def lines() -> dict[str, str]:
    """Each command of a shell block that begins with curl, by page and line."""
    found = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(r"^```(?:bash|sh)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            for one in re.finditer(r"^curl (?:[^'\n]|'[^']*')*$", block[1], re.MULTILINE):
                at = text[: block.start(1) + one.start()].count("\n") + 1
                found[f"{page.relative_to(ROOT)}:{at}"] = one[0]
    return found


def in_order() -> list[tuple[str, str]]:
    """One device is acknowledged before its node is, after which none is missing."""
    return sorted(lines().items(), key=lambda line: "device=" not in line[1])


def test_the_lines_are_seen() -> None:
    assert len(lines()) >= 9
    assert sum("curl " in line for page in PAGES for line in page.read_text().splitlines()) >= 9


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on PATH")
def test_every_line_is_answered() -> None:
    shot = machines.snapshot(machines.view(0), machines.view(1))
    device = machines.device(1).id

    async def main() -> None:
        async with agent(shot) as one:
            settings = HubSettings(
                web=Web(listen_address=("127.0.0.1:0",)),
                scrape=Scrape(timeout_s=5.0),
                targets=Targets(static=(one.address,), labels={"node": "n007"}),
            )
            async with served_hub(settings, interval_s=0.2) as running:
                nodes = running.hub.fleet.nodes
                await soon(lambda: any(len(node.devices) == 2 for node in nodes.values()))
                one.feed.put(machines.snapshot(machines.view(0)))  # one is missing
                await soon(lambda: any(len(node.devices) == 1 for node in nodes.values()))
                ports = {"9877": one.address, "9878": running.base.removeprefix("http://")}
                for position, text in in_order():
                    line = _HOSTS.sub(lambda host: f"http://{ports[host[1]]}", text)
                    line = line.replace("nvidia:GPU-...", device)
                    done = await asyncio.to_thread(
                        subprocess.run,
                        ["sh", "-c", line.replace("curl ", "curl --fail-with-body -m 30 ", 1)],
                        capture_output=True,
                        text=True,
                        timeout=60,
                        check=False,
                    )
                    assert done.returncode == 0, (position, text, done.stdout, done.stderr)

    asyncio.run(main())
