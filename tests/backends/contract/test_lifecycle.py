"""How backends begin and end: nothing at import, little at probe, everything given back at close."""

import json
import re
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from accelwatch.backend import OPTIONAL, Backend, EventSource, Request
from accelwatch.base.errors import AccelwatchError
from accelwatch.plugins.near_misses import near_misses
from accelwatch.schema.event import Category
from support.machines.packed_trees import FakeTree
from support.machines.polling import Poll
from support.machines.staged_machines import FixtureMachine, Stage

CODE = re.compile(r"[a-z][a-z0-9_]*")
PROBE = """
import json, sys
from importlib.metadata import entry_points
from pathlib import Path
from accelwatch.backend import Context

def foreign():
    maps = Path("/proc/self/maps").read_text()
    names = [n for n in ("pynvml", "amdsmi", "pyzes", "yaml") if n in sys.modules]
    return names + [n for n in ("nvidia-ml", "amd_smi", "ze_loader", "rocm_smi") if n in maps]

found = {}
for point in entry_points(group="accelwatch.backends"):
    factory = point.load()
    imported = foreign()
    probe = factory(Context(root=Path(sys.argv[1]), environ={}, options={"file": "demo"})).probe()
    found[point.name] = [imported, foreign(), probe.present, len(probe.checks)]
    for module in [name for name in sys.modules if name.startswith("yaml")]:
        del sys.modules[module]
print(json.dumps(found))
"""


def test_importing_and_probing_load_no_vendor_library(tmp_path: Path) -> None:
    tree = FakeTree(tmp_path)
    tree.lay_out("amd/mi300x-x2")
    tree.lay_out("intel/arc-b580")
    run = subprocess.run(
        [sys.executable, "-c", PROBE, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    found = json.loads(run.stdout)
    assert set(found) >= {"nvidia", "amd", "intel", "host", "kernel_log", "replay"}
    for name, (imported, probed, _, checks) in found.items():
        assert [one for one in imported + probed if one != "yaml"] == [], name
        assert checks > 0, name
    assert {name for name in ("amd", "intel", "nvidia") if found[name][2]} == {"amd", "intel"}


def test_probe_finds_the_machine_and_needs_no_open(stage: Stage) -> None:
    backend = stage.backend()
    first, second = backend.probe(), backend.probe()
    assert first.present
    assert first == second
    backend.close()


def test_no_name_is_nearly_that_of_an_optional_ability(stage: Stage) -> None:
    """An ability that is misspelled is silently not there."""
    assert near_misses(stage.backend(), Backend, OPTIONAL) == []


def test_opening_says_what_it_reads_through(stage: Stage) -> None:
    backend = stage.backend()
    opened = backend.open()
    assert opened.source
    assert all(name and version for name, version in opened.versions.items())
    backend.close()


def test_closing_twice_and_reopening(stage: Stage, poll: Poll) -> None:
    backend = stage.backend()
    backend.close()
    counts = []
    for _ in range(2):
        backend.open()
        counts.append(len(poll(backend)))
        backend.close()
        backend.close()
    assert counts[0] == counts[1]


def test_after_closing_only_typed_errors_come(stage: Stage, backend: Backend) -> None:
    devices = backend.discover()
    backend.close()
    for device in devices:
        with suppress(AccelwatchError):
            backend.discover()
        with suppress(AccelwatchError):
            backend.identify(device)
        with suppress(AccelwatchError):
            backend.read(device, Request())


def test_a_single_reading_starts_no_thread(stage: Stage, poll: Poll) -> None:
    before = set(threading.enumerate())
    backend = stage.backend(one_shot=True)
    backend.open()
    poll(backend)
    # Threads that other tests have left may end meanwhile.
    assert not set(threading.enumerate()) - before
    backend.close()


@pytest.mark.needs("events")
def test_events_are_well_formed(backend: Backend, machine: FixtureMachine) -> None:
    assert isinstance(backend, EventSource)
    for _ in range(2):
        for event in backend.wait_events(0.0):
            assert CODE.fullmatch(event.code)
            assert isinstance(event.category, Category)
            assert event.source
            assert event.time > 0
            assert event.text


def test_the_table_lists_what_can_be_tried(
    stage: Stage, backend: Backend, machine: FixtureMachine
) -> None:
    found = {
        "sleeps": bool(stage.asleep),
        "removable": stage.remove is not None,
        "events": isinstance(backend, EventSource),
        "devices": bool(backend.discover()),
    }
    assert machine.traits - {"files"} == {trait for trait, there in found.items() if there}
