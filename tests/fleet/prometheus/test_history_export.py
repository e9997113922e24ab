"""An archive made from a real store that scrapes simulated exporters."""

import asyncio
import math
import time
from pathlib import Path
from typing import Any

from accelwatch.fleet.archive.export import Export
from accelwatch.fleet.tsdb.settings import Store
from accelwatch.history.check import check
from accelwatch.history.summary import summary


def test_a_store_becomes_an_archive(stores: Any, start_exporters: Any, tmp_path: Path) -> None:
    async def main() -> None:
        began = time.time()
        async with (
            start_exporters(dialect="mixed", nodes=4) as exporters,
            stores.prometheus(exporters.job()) as store,
        ):
            await store.until(
                "count(up == 1)", lambda found: bool(found) and found[0]["value"][1] == "4"
            )
            await asyncio.sleep(3)
            told: list[float] = []
            export = Export(Store(url=store.url), 1.0)
            end = math.ceil(time.time())
            done = await export.run(tmp_path / "a", began, end, told.append)
            assert told[-1] == end
            assert done.samples > 0

    asyncio.run(main())
    found = summary(tmp_path / "a")
    assert (found.nodes, found.devices) == (4, 16)
    shares = {column.name: column.share for column in found.device_columns}
    assert shares["device_up"] == 1.0
    assert shares["power_watts"] > 0.5
    assert found.description.source.startswith("http://127.0.0.1")
    assert [finding for finding in check(tmp_path / "a") if finding.mistake] == []
