"""The lock of checkpoints: an old copy of a job writes nothing that counts."""

import importlib
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def module(examples: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(examples / "slurm-checkpoint-lock"))
    return importlib.import_module("checkpoint_lock")


def test_an_old_copy_cannot_write_after_a_new_one_has_started(module: Any, tmp_path: Path) -> None:
    old, new = module.CheckpointLock(tmp_path, 0), module.CheckpointLock(tmp_path, 1)
    assert old.claim() is None
    old.save(1, b"one")
    assert new.claim() == (1, b"one")
    with pytest.raises(module.TakenOver, match="copy 0 was closed"):
        old.save(2, b"two")
    assert not any(file.name == "step-2" for file in tmp_path.rglob("*"))
    new.save(2, b"TWO")
    assert (tmp_path / "copy-1" / "step-2").read_bytes() == b"TWO"


def test_one_that_was_just_writing_does_not_end_it(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = module.CheckpointLock(tmp_path, 0), module.CheckpointLock(tmp_path, 1)
    old.claim()
    old.save(1, b"one")
    monkeypatch.setattr(module.os, "fsync", lambda _: new.claim())
    with pytest.raises(module.TakenOver):
        old.save(2, b"two")
    monkeypatch.undo()
    assert module.CheckpointLock(tmp_path, 2).claim() == (1, b"one")


def test_an_old_copy_that_starts_late_ends(module: Any, tmp_path: Path) -> None:
    module.CheckpointLock(tmp_path, 2).claim()
    with pytest.raises(module.TakenOver, match="copy 2 has begun, this is 1"):
        module.CheckpointLock(tmp_path, 1).claim()
    module.CheckpointLock(tmp_path, 3).claim()
    with pytest.raises(module.TakenOver, match="has begun, this is 1"):
        module.CheckpointLock(tmp_path, 1).claim()


def test_the_youngest_copy_counts_not_the_greatest_step(module: Any, tmp_path: Path) -> None:
    for copy, step in ((0, 50), (1, 20)):
        lock = module.CheckpointLock(tmp_path, copy)
        lock.claim()
        lock.save(step, str(step).encode())
    # A copy that has not written anything yet does not hide what is there.
    module.CheckpointLock(tmp_path, 2).claim()
    assert module.CheckpointLock(tmp_path, 3).claim() == (20, b"20")


def test_a_copy_may_start_from_an_earlier_checkpoint_and_the_next_goes_on_from_it(
    module: Any, tmp_path: Path
) -> None:
    first = module.CheckpointLock(tmp_path, 0)
    first.claim()
    for step in (10, 20, 30):
        first.save(step, str(step).encode())
    again = module.CheckpointLock(tmp_path, 1)
    assert again.claim(f"{tmp_path}/copy-0/step-20") == (20, b"20")
    again.save(21, b"21")
    assert module.CheckpointLock(tmp_path, 2).claim("") == (21, b"21")
