"""The dashboard in a real browser, and who may open it."""

import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path

import aiohttp
import psutil
import pytest

from accelwatch.cli.servers.serve_visits import COLUMNS, ROWS, own_page, within
from support.processes.warm_command import accelwatch
from support.servers.headless_browser import Page, browser, chromium
from support.servers.ports import free_port


class Serving:
    """A running server."""

    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self.pid = pid

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def dashboards(self) -> list[dict[str, str]]:
        """The environments of the visitors' dashboards."""
        found = []
        for one in psutil.Process(self.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                environ = one.environ()
                if "--served" in one.cmdline() and "ROWS" in environ:
                    found.append(environ)
        return found


@pytest.fixture
def served() -> Iterator[int]:
    with serving() as one:
        yield one.port


@contextlib.contextmanager
def serving(*more: str) -> Iterator[Serving]:
    port = free_port()
    words = [sys.executable, "-m", "accelwatch", "serve", "--replay", "demo", "--port", str(port)]
    words += more
    process = subprocess.Popen(words, stderr=subprocess.PIPE, env=dict(os.environ))
    assert process.stderr is not None
    assert b"the dashboard is at" in process.stderr.readline()
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except ConnectionRefusedError:
            assert process.poll() is None, process.stderr.read()
    try:
        yield Serving(port, process.pid)
    finally:
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


def test_the_page_loads_from_nobody_else(served: int) -> None:
    connection = HTTPConnection("127.0.0.1", served)
    connection.request("GET", "/")
    page = connection.getresponse().read().decode()
    connection.close()
    links = re.findall(r"""(?:href|src|url\()\s*=?\s*["']([^"']+)""", page)
    assert links
    assert [one for one in links if not one.startswith(f"http://127.0.0.1:{served}/")] == []


def test_links_to_others_are_taken_out_of_a_page() -> None:
    ours = '<link rel="stylesheet" href="http://here/static/css/xterm.css" />'
    theirs = '<link\n  rel="stylesheet"\n  href="https://fonts.example/css?family=R"\n />'
    page = own_page(f"<head>{ours}{theirs}</head>", "http://here", "here")
    assert ours in page
    assert "fonts.example" not in page


def test_an_encoded_body_is_refused(served: int) -> None:
    assert status(served, "/", **{"Content-Encoding": "gzip"}) == 415
    assert status(served, "/ws", **{"Content-Encoding": "gzip"}) == 415


@pytest.mark.parametrize(
    ("requested", "drawn"), [(80, 80), (999_999_999, 600), (-1, 20), (0, 20), (1e300, 600)]
)
def test_a_screen_is_of_bounded_size(requested: float, drawn: int) -> None:
    assert within(requested, COLUMNS) == drawn


@pytest.mark.parametrize("requested", ["80", None, float("nan"), [80]])
def test_a_size_is_a_number(requested: object) -> None:
    with pytest.raises(ValueError, match="number of cells"):
        within(requested, ROWS)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.05)


def test_nobody_draws_an_endless_screen() -> None:
    async def main() -> None:
        with serving() as one:
            huge = "width=999999999&height=999999999"
            async with (
                aiohttp.ClientSession() as session,
                session.ws_connect(f"{one.base}/ws?{huge}") as socket,
            ):
                await until(one.dashboards)
                # A dashboard that begins its collector is two processes for a moment.
                drawn = {(environ["COLUMNS"], environ["ROWS"]) for environ in one.dashboards()}
                assert drawn == {(str(COLUMNS[1]), str(ROWS[1]))}
                size = {"width": 999_999_999, "height": 999_999_999}
                await socket.send_json(["resize", size])
                await socket.send_json(["ping", "still there"])
                assert await text(socket, '"still there"')

    asyncio.run(main())


@pytest.mark.parametrize(
    "message", ["nonsense", "{}", '["resize", {"width": "x"}]', '["stdin", 1]', '["resize"]']
)
def test_a_damaged_message_ends_only_its_visit(message: str) -> None:
    async def main() -> None:
        with serving() as one:
            async with aiohttp.ClientSession() as session:
                async with session.ws_connect(f"{one.base}/ws") as socket:
                    await socket.send_str(message)
                    async with asyncio.timeout(60):
                        while not socket.closed:
                            await socket.receive()
                assert status(one.port, "/") == 200

    asyncio.run(main())


def test_visitors_are_bounded() -> None:
    async def main() -> None:
        with serving("--max-visitors", "1") as one:
            async with aiohttp.ClientSession() as session:
                async with session.ws_connect(f"{one.base}/ws"):
                    assert status(one.port, "/ws") == 503
                    assert status(one.port, "/") == 503
                await until(lambda: status(one.port, "/") == 200)
                async with session.ws_connect(f"{one.base}/ws") as socket:
                    await socket.send_json(["ping", "in again"])
                    assert await text(socket, '"in again"')

    asyncio.run(main())


def test_there_is_no_terminal_to_give_back() -> None:
    """`q` neither stands in the footer nor ends the dashboard."""

    async def main() -> None:
        with serving() as one:
            async with (
                aiohttp.ClientSession() as session,
                session.ws_connect(f"{one.base}/ws?width=200&height=60") as socket,
            ):
                drawn = await text(socket, "next screen")
                assert "quit" not in drawn
                for key in ("q", "\x03", "\x1a", "?"):
                    await socket.send_json(["stdin", key])
                drawn = await text(socket, "This list of keys")
                assert "Quit." not in drawn

    asyncio.run(main())


async def text(socket: aiohttp.ClientWebSocketResponse, wanted: str) -> str:
    """What was drawn and told until the wanted words were among it."""
    found = ""
    async with asyncio.timeout(60):
        while wanted not in found:
            message = await socket.receive()
            assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), found[-500:]
            data = message.data
            data = data if isinstance(data, str) else data.decode(errors="replace")
            found += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data)
    return found


def test_keys_work_without_a_click(served: int) -> None:
    program = chromium()
    if program is None:
        pytest.skip("chromium is not on PATH (Debian: apt install chromium)")

    async def look() -> bool:
        async with browser(program) as page:
            await page.call("Page.navigate", url=f"http://127.0.0.1:{served}/")
            await painted_cells(page)
            active = 'document.activeElement.className.includes("xterm-helper-textarea")'
            return bool(await page.evaluate(active))

    assert asyncio.run(asyncio.wait_for(look(), 60))


def test_other_machines_are_refused_without_a_word() -> None:
    run = accelwatch("serve", "--host", "0.0.0.0")
    assert run.returncode == 2
    assert "can be reached from other machines and there is no password" in run.stderr


def test_a_page_polls_the_name_by_which_it_was_opened() -> None:
    link = '<link href="http://127.0.0.1:9879/a.css">'
    socket_ = 'data-url="ws://127.0.0.1:9879/ws"'
    page = own_page(f"<head>{link}{socket_}</head>", "http://127.0.0.1:9879", "localhost:9879")
    assert "http://localhost:9879/a.css" in page
    assert "ws://localhost:9879/ws" in page
    assert "127.0.0.1" not in page


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_browser_shows_the_dashboard(served: int, tmp_path: Path, name: str) -> None:
    program = chromium()
    if program is None:
        pytest.skip("chromium is not on PATH (Debian: apt install chromium)")

    async def look() -> tuple[int, bytes]:
        async with browser(program) as page:
            await page.call("Page.navigate", url=f"http://{name}:{served}/")
            painted = await painted_cells(page)
            return painted, await page.screenshot(tmp_path / "dashboard.png")

    painted, picture = asyncio.run(asyncio.wait_for(look(), 60))
    assert painted > PAINTED
    assert picture.startswith(b"\x89PNG")


# Pixels of text and bars that only a drawn dashboard has.
PAINTED = 50_000
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


def test_a_port_in_use_is_refused_before_a_dashboard_is_announced() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = [sys.executable, "-m", "accelwatch", "serve", "--port", str(port)]
        run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 1
    assert run.stderr == f"accelwatch: cannot listen on 127.0.0.1:{port}: Address already in use\n"
