"""A journal that may be read and not written: the hub goes on, says so, and starts no other."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.alerting.incidents.journal.sqlite.folder import LOCK, MARKER_FILE
from fleet.misbehaving_targets.processes import hub_process
from support.servers.receivers import Receiver, receiver

# Permissions bind root too without CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH (1 and 2, prctl 24).
_BOUND = """
import ctypes, os, sys
if os.geteuid() == 0:
    for capability in (1, 2):
        assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""
RULE = """
version: 1
rules:
- {id: site.lost, title: A device is lost, when: state == "lost"}
"""


_BEFORE = (sys.executable, "-c", _BOUND)


def _with_alerts(settings: Mapping[str, object], there: Receiver) -> dict[str, object]:
    """People are notified there, but of incidents of another node only."""
    sink = {"name": "a", "type": "webhook", "options": {"url": f"{there.base}/x"}}
    routes = [{"sinks": ["a"], "match": ["node=other"]}]
    return {**settings, "alerts": {"sinks": [sink], "routes": routes}}


def _protect(folder: Path, what: str) -> None:
    (folder / FILE).chmod(0o400)
    for beside in folder.glob(f"{FILE}-*"):
        beside.unlink()
    if what == "folder":
        folder.chmod(0o500)


WAYS = ("folder", "file", "empty folder")


def _state(folder: Path, what: str) -> Path:
    """A folder for state whose journal, or place for one, cannot be written."""
    state = folder / "state"
    state.mkdir(mode=0o700, parents=True)
    if what == "empty folder":
        state.chmod(0o500)
    else:
        open_file(state / FILE).close()
        (state / LOCK).touch(mode=0o600)
        (state / MARKER_FILE).touch(mode=0o600)
        _protect(state, what)
    return state


async def _check(folder: Path, what: str) -> None:
    state = _state(folder, what)
    before = {file.name: file.read_bytes() for file in state.iterdir()}
    (folder / "rules.yaml").write_text(RULE)
    settings = {
        "targets": {"static": ["127.0.0.1:1"]},
        "rules": {"files": [str(folder / "rules.yaml")]},
    }
    try:
        async with (
            receiver() as there,
            hub_process(folder, _with_alerts(settings, there), _BEFORE) as hub,
        ):
            page = await hub.until(lambda page: page["judged"], "/v1/incidents")
            (problem,) = page["problems"]
            assert "but not kept" in problem
            assert str(state) in problem
            assert sum((await hub.get("/v1/fleet"))["nodes"].values()) == 1
            (request,) = await there.wait_for(1)
            notice = request.json()["data"]
            assert notice["title"] == "incidents are not kept in the journal"
            assert notice["evidence"] == [problem]
        after = {file.name: file.read_bytes() for file in state.iterdir()}
        if what == "empty folder":
            assert FILE not in after
        else:
            assert after[FILE] == before[FILE]
            assert os.stat(state / FILE).st_mode & 0o777 == 0o400  # noqa: PTH116
    finally:
        state.chmod(0o700)


def test_a_journal_that_cannot_be_written_is_reported_and_left(tmp_path: Path) -> None:
    async def all_ways() -> None:
        # Each hub waits for ten seconds before it notifies: they wait side by side.
        async with asyncio.TaskGroup() as group:
            for what in WAYS:
                group.create_task(_check(tmp_path / what.replace(" ", "-"), what))

    asyncio.run(all_ways())
