"""An archive made from a real store that scrapes simulated exporters."""

import asyncio
import math
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from accelwatch.archive.history.check import check
from accelwatch.archive.history.summary import summary
from accelwatch.cli.startup.app import build
from accelwatch.fleet.archive.export import Export
from accelwatch.fleet.tsdb.settings import Store


@pytest.mark.parametrize("kind", ["prometheus", "victoria"])
def test_a_store_becomes_an_archive(
    kind: str, stores: Any, start_exporters: Any, tmp_path: Path
) -> None:
    # Without the flag this version leaves the newest 30 s out of a history.
    flags = {"flags": ["-search.latencyOffset=1ms"]} if kind == "victoria" else {}

    async def main() -> None:
        async with (
            start_exporters(dialect="mixed", nodes=4) as exporters,
            getattr(stores, kind)(exporters.job(), **flags) as store,
        ):
            if kind == "victoria":
                await store.settled(400)
            await store.until(
                "count(up == 1)", lambda found: bool(found) and found[0]["value"][1] == "4"
            )
            start = time.time()
            await asyncio.sleep(3)
            progress: list[float] = []
            export = Export(Store(url=store.url), 1.0)
            end = math.ceil(time.time())
            done = await export.run(tmp_path / "a", start, end, progress.append)
            assert progress[-1] == end
            assert done.samples > 0
            if kind == "prometheus":
                await _by_the_command(store.url, start, end, tmp_path)

    asyncio.run(main())
    found = summary(tmp_path / "a")
    assert (found.nodes, found.devices) == (4, 16)
    shares = {column.name: column.share for column in found.device_columns}
    assert shares["device_up"] == 1.0
    assert shares["power_watts"] > 0.5
    assert found.description.source.startswith("http://127.0.0.1")
    assert [finding for finding in check(tmp_path / "a") if finding.mistake] == []


async def _by_the_command(url: str, start: float, end: float, folder: Path) -> None:
    """The same archive, and what rules say of it."""
    secret = folder / "password"
    secret.write_text("open sesame", encoding="utf-8")
    span = ["--from", f"{start:.0f}", "--to", f"{end:.0f}", "--interval", "1s"]
    shown = ["--user", "amy", "--password-file", str(secret)]
    export = ["history", "export", "--prometheus", url, "-o", str(folder / "b"), *span, *shown]
    result = await asyncio.to_thread(CliRunner().invoke, build(), export)
    assert result.exit_code == 0, result.output
    assert "open sesame" not in result.output
    assert summary(folder / "b").devices == 16
    half = ["history", "export", "--prometheus", url, "-o", str(folder / "c"), *span, *shown[:2]]
    result = await asyncio.to_thread(CliRunner().invoke, build(), half)
    assert "--user goes with --password-file" in str(result.exception or result.output)
    command = ["rules", "backtest", "--prometheus", url, *span, "-p", "host"]
    result = await asyncio.to_thread(CliRunner().invoke, build(), command)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
