"""What the contract suite cannot know: the numbers of this driver's files."""

from pathlib import Path

import pytest
from accelwatch_template import TemplateBackend

from accelwatch.backend import Context, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost

FIXTURE = Path(__file__).parent / "fixture"


def test_numbers_are_in_base_units() -> None:
    backend = TemplateBackend(Context(root=FIXTURE))
    assert backend.open().versions == {"driver": "1.4.2"}
    (card,) = backend.identify(backend.discover()[1])
    (reading,) = backend.read(card, Request())
    assert (card.id, card.model) == ("template:TPL-5ca1ab01", "Template T100")
    assert reading.values == {
        ("utilization_ratio",): 0.4,
        ("memory_size_bytes",): 16 << 30,
        ("memory_used_bytes",): 2 << 30,
        ("temperature_celsius", "gpu"): 50.5,
        ("power_watts",): 76.5,
    }
    assert reading.absent == {("processes",): Absence.UNSUPPORTED}


def test_a_machine_without_the_driver_is_no_fault(tmp_path: Path) -> None:
    backend = TemplateBackend(Context(root=tmp_path))
    assert not backend.probe().present
    with pytest.raises(BackendUnavailable, match="no such directory") as why:
        backend.open()
    assert (why.value.reason, why.value.remedy) == (
        "driver_not_loaded",
        "load the kernel module: modprobe template",
    )


def test_a_card_that_has_gone_is_lost(tmp_path: Path) -> None:
    (gone,) = TemplateBackend(Context(root=FIXTURE)).discover()[:1]
    backend = TemplateBackend(Context(root=tmp_path))
    with pytest.raises(DeviceLost, match="cannot be read"):
        backend.identify(gone)
    with pytest.raises(DeviceLost, match="has gone"):
        backend.read(gone, Request())
