"""Names that do not resolve, or never: they cost neither the others, nor the inventory, nor the end."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fleet.misbehaving_targets.namespaces import PORT, Space, check_tools, simulator, space
from fleet.misbehaving_targets.processes import hub_process, written

_SERVER = Path(__file__).with_name("name_server.py")
# More look-ups at a time than there are threads for everything else.
_HANGING = 40
# Less than a look-up hangs, which is ten seconds five times over.
_SOON_S = 40.0


@contextlib.asynccontextmanager
async def name_server(where: Space, folder: Path) -> AsyncIterator[Path]:
    """The only name server of a namespace; the file that mends it."""
    settings, mended = folder / "resolv.conf", folder / "mended"
    settings.write_text("nameserver 127.0.0.1\noptions timeout:10 attempts:5\n")
    switch = folder / "nsswitch.conf"
    switch.write_text("hosts: files dns\n")
    where.run("mount", "--bind", str(settings), "/etc/resolv.conf")
    where.run("mount", "--bind", str(switch), "/etc/nsswitch.conf")
    process = await asyncio.create_subprocess_exec(
        *(*where.enter, sys.executable, str(_SERVER), str(mended)), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"ready\n"
        yield mended
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def test_names_that_do_not_resolve_cost_only_themselves(tmp_path: Path) -> None:
    check_tools("ip", "mount")
    hanging = f"http://n[001-{_HANGING:03d}].hang.test:{PORT}/node/n001"
    bad = {"n1.gone.test": "dns", "n1.fail.test": "dns", "n001.hang.test": "timeout"}
    settings = {
        "targets": {
            "static": [
                hanging,
                *(f"http://n{n}.good.test:{PORT}/node/n00{n}" for n in (1, 2, 3)),
                f"http://n1.gone.test:{PORT}/node/n001",
                f"http://n1.fail.test:{PORT}/node/n001",
            ]
        },
        "scrape": {"scrape_timeout": "10s", "max_backoff": "1s"},
    }

    def is_reported(page: Any) -> bool:
        rows = {row["node"].partition("/")[0]: row for row in page["nodes"]}
        faults = {name: rows[name]["targets"][0]["fault"] for name in bad if name in rows}
        return all(faults.get(name) and faults[name]["reason"] == bad[name] for name in bad)

    async def main() -> None:
        async with (
            space() as inner,
            name_server(inner, tmp_path) as mended,
            simulator(inner, f"127.0.0.1:{PORT}"),
            hub_process(tmp_path, settings, inner.enter) as hub,
        ):
            await hub.until(lambda fleet: fleet["nodes"]["up"] == 3)
            page = await hub.until(is_reported, "/v1/nodes")
            for row in page["nodes"]:
                (target,) = row["targets"]
                if ".good." in row["node"]:
                    assert (row["state"], target["failures_total"]) == ("up", 0)
                if ".gone." in row["node"]:
                    assert "does not resolve" in target["fault"]["message"]
            async with asyncio.timeout(_SOON_S):
                while written(tmp_path / "state") < 6:
                    await asyncio.sleep(0.1)
            mended.touch()
            await hub.until(lambda fleet: fleet["nodes"]["up"] == 3 + _HANGING)
            mended.unlink()
            hub.process.terminate()
            async with asyncio.timeout(_SOON_S):
                await hub.process.wait()

    asyncio.run(main())
