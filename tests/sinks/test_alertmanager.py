"""Alertmanager's API, and the real server: an incident arrives, changes, and is resolved."""

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import NoticeKind, Sink, Status
from accelwatch_alertmanager import alert
from support.incidents.notices import LONG, NOTICE, REQUEST, notice
from support.incidents.sinks import delivered, sink
from support.servers.ports import free_port
from support.servers.receivers import code, receiver

_PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The real program on loopback, without a cluster."""
    if _PROGRAM is None:
        pytest.skip("no Alertmanager is installed")
    folder: Path = tmp_path_factory.mktemp("alertmanager")
    config = folder / "alertmanager.yml"
    config.write_text("route:\n  receiver: none\nreceivers:\n  - name: none\n")
    address = f"127.0.0.1:{free_port()}"
    arguments = [
        _PROGRAM,
        f"--config.file={config}",
        f"--storage.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--cluster.listen-address=",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(arguments, stdout=log, stderr=log)
    try:
        _wait_until_listening(address, process)
        yield f"http://{address}"
    finally:
        process.kill()
        process.wait()


def _wait_until_listening(address: str, process: "subprocess.Popen[bytes]") -> None:
    host, _, port = address.partition(":")
    for _ in range(600):
        assert process.poll() is None, "Alertmanager ended"
        try:
            with socket.create_connection((host, int(port)), timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("Alertmanager does not listen")


async def alerts(base: str, key: str) -> list[Any]:
    """What the server knows of an incident, whether active or not."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{base}/api/v2/alerts", params={"filter": f'incident="{key}"'}) as answer,
    ):
        found: list[Any] = await answer.json()
        return found


def test_the_real_server_takes_changes_and_resolves_it(server: str) -> None:
    async def scenario() -> None:
        now = time.time()
        made: Sink = sink("alertmanager", url=f"{server}/", labels={"team": "gpu"})
        opened = notice(since=now - 60, time=now)
        first = await made.deliver(opened, "")
        assert first.status is Status.DELIVERED
        (active,) = await alerts(server, "west/i42")
        assert active["labels"]["alertname"] == "nvidia.gpu.lost"
        assert active["labels"]["team"] == "gpu"
        assert active["status"]["state"] in ("active", "unprocessed")
        assert "GPU has fallen off the bus" in active["annotations"]["summary"]
        assert active["generatorURL"] == "https://hub/i42"

        # What changes must not make another alert of it, not even the severity.
        rose = notice(
            since=now - 60,
            time=now,
            sequence=2,
            severity=Severity.CRITICAL,
            title="two GPUs",
            labels={**NOTICE.labels, "device": "other", "severity": "info"},
        )
        second = await made.deliver(rose, first.reference)
        assert second.reference == first.reference
        (updated,) = await alerts(server, "west/i42")
        assert updated["fingerprint"] == active["fingerprint"]
        assert "two GPUs" in updated["annotations"]["summary"]

        closed = notice(
            since=now - 60, time=now, closed=time.time() - 1, sequence=3, kind=NoticeKind.CLOSED
        )
        assert (await made.deliver(closed, second.reference)).status is Status.DELIVERED
        await made.close()
        assert await alerts(server, "west/i42") == []

    asyncio.run(scenario())


def test_the_real_server_takes_what_is_as_long_as_can_be(server: str) -> None:
    async def scenario() -> None:
        now = time.time()
        long = notice(**{name: getattr(LONG, name) for name in LONG.__struct_fields__})
        long = notice(**{**_fields(long), "key": "west/long", "since": now, "time": now})
        assert (await delivered(sink("alertmanager", url=server), long))[0].status is (
            Status.DELIVERED
        )
        (active,) = await alerts(server, "west/long")
        assert active["labels"]["node"] == "가" * 200

    asyncio.run(scenario())


def _fields(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__struct_fields__}


def test_an_open_alert_ends_by_itself_and_is_reported_again_in_time() -> None:
    async def scenario() -> None:
        async with receiver() as there:
            made = sink("alertmanager", url=there.base)
            assert made.repeat_s is not None
            assert made.repeat_s * 3 <= 300
            await delivered(made)
            (alert_sent,) = await asyncio.to_thread(_list, there.requests[0].body)
            assert alert_sent["startsAt"] == "2026-11-22T03:14:07Z"
            assert alert_sent["endsAt"] > alert_sent["startsAt"]

    asyncio.run(scenario())


def _list(body: bytes) -> list[Any]:
    import json

    found: list[Any] = json.loads(body)
    return found


def test_one_member_of_a_cluster_that_takes_it_is_enough() -> None:
    async def scenario() -> None:
        async with receiver(code(500)) as bad, receiver() as good:
            (outcome,) = await delivered(sink("alertmanager", url=[bad.base, good.base]))
            assert outcome.status is Status.DELIVERED
            assert len(bad.requests) == len(good.requests) == 1

    asyncio.run(scenario())


def test_the_way_to_decide_is_an_annotation_and_no_label() -> None:
    made = alert(notice(asks=(REQUEST,)), {"alertname": "x"}, NOTICE.time)
    assert made["annotations"]["decide_url"] == REQUEST.link  # type: ignore[index]
    assert made["labels"] == {"alertname": "x"}
    without = alert(NOTICE, {}, NOTICE.time)
    assert "decide_url" not in without["annotations"]  # type: ignore[operator]
