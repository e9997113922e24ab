"""A journal that may be read and not written: the hub goes on, says so, and begins no other."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from accelwatch.alerting.incidents.journal.file import FILE, JournalFile
from accelwatch.alerting.incidents.journal.opening import LOCK, MARKER_FILE
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


@pytest.mark.parametrize("what", ["folder", "file", "empty folder"])
def test_a_journal_that_cannot_be_written_is_told_and_left(tmp_path: Path, what: str) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    if what == "empty folder":
        state.chmod(0o500)
    else:
        JournalFile(state / FILE).close()
        (state / LOCK).touch(mode=0o600)
        (state / MARKER_FILE).touch(mode=0o600)
        _protect(state, what)
    before = {one.name: one.read_bytes() for one in state.iterdir()}
    (tmp_path / "rules.yaml").write_text(RULE)
    settings = {
        "targets": {"static": ["127.0.0.1:1"]},
        "rules": {"files": [str(tmp_path / "rules.yaml")]},
    }

    async def story() -> None:
        async with (
            receiver() as there,
            hub_process(tmp_path, _with_alerts(settings, there), _BEFORE) as hub,
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

    try:
        asyncio.run(story())
        after = {one.name: one.read_bytes() for one in state.iterdir()}
        if what == "empty folder":
            assert FILE not in after
        else:
            assert after[FILE] == before[FILE]
            assert os.stat(state / FILE).st_mode & 0o777 == 0o400  # noqa: PTH116
    finally:
        state.chmod(0o700)
