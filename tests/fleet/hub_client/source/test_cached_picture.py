"""Where an embedded hub keeps its inventory, and who may have it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from accelwatch.base.errors import AccelwatchError
from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.archive.settings import History
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.hub_client.local_hub.embedded import for_single_user
from accelwatch.fleet.hub_client.local_hub.inventory_folder import acquire_folder, fleet_folder
from accelwatch.fleet.state.inventory.file import Changes, Expected, InventoryFile
from accelwatch.fleet.tsdb.settings import Federation, RemoteWrite
from support.machines import composed as machines

_HOLDER = """
import sys, time
from pathlib import Path
from accelwatch.fleet.hub_client.local_hub.inventory_folder import acquire_folder
print(acquire_folder(Path(sys.argv[1]), Path(sys.argv[1]), configured=False).folder, flush=True)
time.sleep(1000)
"""


def _settings(*targets: str) -> HubSettings:
    settings = HubSettings()
    return replace(settings, targets=replace(settings.targets, static=targets))


def test_each_set_of_targets_has_its_folder_below_the_state_directory() -> None:
    environ = {"HOME": "/home/a"}
    one = fleet_folder(_settings("n[1-2]"), environ)
    assert one is not None
    assert one.parent == Path("/home/a/.local/state/accelwatch/fleets")
    assert one == fleet_folder(_settings("n[1-2]"), environ)
    assert one != fleet_folder(_settings("n[1-3]"), environ)
    moved = fleet_folder(_settings("n[1-2]"), {**environ, "XDG_STATE_HOME": "/s"})
    assert moved == Path("/s/accelwatch/fleets") / one.name
    assert fleet_folder(_settings("n1"), {}) is None


def test_the_second_dashboard_gets_a_copy_and_says_so(tmp_path: Path) -> None:
    folder, spare = tmp_path / "fleet", tmp_path / "spare"
    folder.mkdir()
    spare.mkdir()
    device = machines.device(0)
    inventory = InventoryFile(folder)
    seen = {"n1": Expected(first_seen=1.0, last_seen=2.0)}
    inventory.write(Changes(updated=seen, added=[("n1", device, 1.0)]))
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(folder)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == str(folder)
        kept = acquire_folder(folder, spare, configured=False)
        holder.kill()
    assert kept.folder == spare
    assert "is not kept" in kept.remark
    copy = InventoryFile(spare)
    assert copy.load()["n1"].devices == {device.id: device}
    copy.close()
    inventory.close()
    assert acquire_folder(folder, spare, configured=False).folder == folder


def test_a_folder_that_cannot_be_used_is_done_without_unless_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "fleet"
    kept = acquire_folder(folder, tmp_path, configured=False)
    assert kept.folder is None
    assert "cannot keep the inventory" in kept.remark
    with pytest.raises(AccelwatchError, match="cannot keep the inventory"):
        acquire_folder(folder, tmp_path, configured=True)


def test_fleets_that_nobody_looks_at_any_more_are_forgotten(tmp_path: Path) -> None:
    old, young = tmp_path / "old", tmp_path / "young"
    for folder in (old, young):
        folder.mkdir()
        (folder / "lock").write_text("")
    long_ago = time.time() - 100 * 86400
    os.utime(old / "lock", (long_ago, long_ago))
    acquire_folder(tmp_path / "new", tmp_path, configured=False)
    assert not old.exists()
    assert young.exists()


def test_a_dashboards_own_hub_writes_to_nobody_and_alerts_nobody() -> None:
    rules = RuleSettings(packs=("nvidia",))
    settings = HubSettings(
        rules=rules,
        alerts=Alerts(sinks=(SinkSettings(name="x", type="webhook"),)),
        remote_write=RemoteWrite(url="http://store/write"),
        federation=Federation(enabled=True),
        history=History(folder="/x"),
    )
    assert for_single_user(settings) == HubSettings(rules=rules)
