"""Machines for accelwatch's contract suite: `pytest ... --machines template_machines`."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from accelwatch_template import TemplateBackend

from support.machines.staged_machines import FixtureMachine, Stage

FIXTURE = Path(__file__).parent / "fixture"


@contextlib.contextmanager
def healthy(folder: Path) -> Iterator[Stage]:
    """Two cards; the last one can be pulled out."""
    shutil.copytree(FIXTURE, folder / "root")
    stage = Stage(TemplateBackend, folder / "root")
    cards = folder / "root/sys/class/template"
    stage.remove = lambda device: shutil.rmtree(cards / f"card{device.index}")
    yield stage


@contextlib.contextmanager
def without_identity(folder: Path) -> Iterator[Stage]:
    """The first card has lost its firmware: it does not know who it is."""
    with healthy(folder) as stage:
        (stage.root / "sys/class/template/card0/uuid").unlink()
        yield stage


@contextlib.contextmanager
def damaged(folder: Path) -> Iterator[Stage]:
    """Sensors that answer with texts, a file that is missing, and a model without a name."""
    with healthy(folder) as stage:
        card = stage.root / "sys/class/template/card0"
        (card / "power_microwatts").write_text("N/A\n")
        (card / "temperature_millicelsius").unlink()
        (card / "model").write_text("\n")
        yield stage


@contextlib.contextmanager
def asleep(folder: Path) -> Iterator[Stage]:
    """The first card sleeps; none of its own files may be opened, which would wake it."""
    with healthy(folder) as stage:
        card, bus = stage.root / "sys/class/template/card0", "0000:41:00.0"
        function = stage.root / "sys/bus/pci/devices" / bus
        (function / "power").mkdir(parents=True)
        (function / "power/runtime_status").write_text("suspended\n")
        (card / "device").symlink_to(function)
        stage.asleep = {bus: card}
        yield stage


_CAN = frozenset({"devices", "removable", "files"})
MACHINES = (
    FixtureMachine("template-two-cards", "template", True, healthy, _CAN),
    FixtureMachine("template-without-identity", "template", False, without_identity, _CAN),
    FixtureMachine("template-damaged", "template", False, damaged, _CAN),
    FixtureMachine("template-asleep", "template", False, asleep, _CAN | {"sleeps"}),
)
