"""A real Alertmanager on loopback, started by a test and ended with it."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from support.servers.prometheus_servers import installed, started

# A route that tells what it hears, and its end within a second.
AT_ONCE = {"group_wait": "0s", "group_interval": "1s", "repeat_interval": "1h"}


class Alertmanager:
    """A running server."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def alerts(self, **labels: str) -> list[Any]:
        """What it knows of alerts with these labels, active or not."""
        params = [("filter", f'{name}="{word}"') for name, word in labels.items()]
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.url}/api/v2/alerts", params=params) as answer,
        ):
            body: list[Any] = await answer.json()
            return body

    async def post_alert(self, labels: Mapping[str, str], **alert: Any) -> None:
        """Tell it of an alert, as Prometheus does."""
        body = [{"labels": dict(labels), **alert}]
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.url}/api/v2/alerts", json=body) as answer,
        ):
            assert answer.status == 200, await answer.text()


@contextlib.asynccontextmanager
async def alertmanager(
    folder: Path,
    port: int,
    webhook: Mapping[str, Any] | None = None,
    inhibit_rules: Sequence[Mapping[str, Any]] = (),
) -> AsyncIterator[Alertmanager]:
    """One without a cluster; `webhook` is whom it tells, `inhibit_rules` are as in its file."""
    receiver: dict[str, Any] = {"name": "one"}
    if webhook is not None:
        receiver["webhook_configs"] = [dict(webhook)]
    config = folder / f"alertmanager-{port}.yml"
    whole: dict[str, Any] = {"route": {"receiver": "one", **AT_ONCE}, "receivers": [receiver]}
    if inhibit_rules:
        whole["inhibit_rules"] = list(inhibit_rules)
    config.write_bytes(msgspec.yaml.encode(whole))
    command = (
        installed("prometheus-alertmanager"),
        f"--config.file={config}",
        f"--storage.path={folder / f'alertmanager-{port}'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    )
    url, log = f"http://127.0.0.1:{port}", folder / f"alertmanager-{port}.log"
    async with started(command, url, "/-/ready", log):
        yield Alertmanager(url)
