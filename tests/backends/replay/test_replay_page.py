"""The page of the replay backend names every option, key, term and fault, and its example is one."""

from pathlib import Path

import msgspec
import pytest

from accelwatch.backend import Context
from accelwatch_lab.replay import ReplayBackend
from accelwatch_lab.replay.options import Options
from accelwatch_lab.replay.scenario import GroupSpec, PartitionSpec
from accelwatch_lab.replay.signals import Terms
from accelwatch_lab.scenario.faults import NODE_KINDS, Call, FaultKind, FaultSpec

PAGE = Path(__file__).resolve().parents[3] / "docs/backends/replay.md"


@pytest.mark.parametrize("kind", [Options, GroupSpec, PartitionSpec, FaultSpec, Terms])
def test_every_key_is_on_the_page(kind: type[msgspec.Struct]) -> None:
    text = PAGE.read_text()
    assert [name for name in kind.__struct_fields__ if f"`{name}`" not in text] == []


@pytest.mark.parametrize("word", [*sorted(set(FaultKind) - NODE_KINDS), *Call])
def test_every_fault_and_call_is_on_the_page(word: str) -> None:
    assert f"`{word}`" in PAGE.read_text()


def test_the_example_can_be_played(tmp_path: Path) -> None:
    example = PAGE.read_text().split("```yaml\n")[1].split("```")[0]
    path = tmp_path / "example.yaml"
    path.write_text(example)
    backend = ReplayBackend(Context(options={"file": str(path)}))
    backend.open()
    assert len(backend.discover()) == 8
