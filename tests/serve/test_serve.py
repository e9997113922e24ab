"""The dashboard in a real browser, and who may open it."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from headless_browser import Page, browser, chromium
from installed_command import accelwatch


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def served() -> Iterator[int]:
    port = free_port()
    words = [sys.executable, "-m", "accelwatch", "serve", "--replay", "demo", "--port", str(port)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, env=dict(os.environ))
    assert process.stderr is not None
    assert b"the dashboard is at" in process.stderr.readline()
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except ConnectionRefusedError:
            assert process.poll() is None, process.stderr.read()
    yield port
    process.terminate()
    process.wait()
    process.stderr.close()


def status(port: int, path: str, **headers: str) -> int:
    connection = HTTPConnection("127.0.0.1", port)
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def test_only_this_servers_own_pages_may_open_it(served: int) -> None:
    assert status(served, "/") == 200
    assert status(served, "/", Host="evil.example") == 403
    assert status(served, "/ws", Origin="http://evil.example") == 403


def test_other_machines_are_refused_without_a_word() -> None:
    run = accelwatch("serve", "--host", "0.0.0.0")
    assert run.returncode == 2
    assert "can be reached from other machines and there is no password" in run.stderr


def test_a_browser_shows_the_dashboard(served: int, tmp_path: Path) -> None:
    program = chromium()
    if program is None:
        pytest.skip("chromium is not on PATH (Debian: apt install chromium)")

    async def look() -> tuple[int, bytes]:
        async with browser(program) as page:
            await page.call("Page.navigate", url=f"http://127.0.0.1:{served}/")
            painted = await painted_cells(page)
            return painted, await page.screenshot(tmp_path / "dashboard.png")

    painted, picture = asyncio.run(asyncio.wait_for(look(), 60))
    assert painted > PAINTED
    assert picture.startswith(b"\x89PNG")


PAINTED = 100_000
"""Pixels of text and bars that only a drawn dashboard has."""
_COUNT = """
(() => {
  const layer = document.querySelector("canvas.xterm-text-layer");
  if (!layer) return 0;
  const data = layer.getContext("2d").getImageData(0, 0, layer.width, layer.height).data;
  let painted = 0;
  for (let i = 0; i < data.length; i += 4) if (data[i] + data[i + 1] + data[i + 2] > 200) painted++;
  return painted;
})()
"""


async def painted_cells(page: Page) -> int:
    """Bright pixels of the terminal, once there are many."""
    while True:
        painted = int(await page.evaluate(_COUNT) or 0)
        if painted > PAINTED:
            return painted
        await asyncio.sleep(0.1)
