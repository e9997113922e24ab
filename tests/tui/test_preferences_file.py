"""The file of a user's settings: what a person wrote there and cannot be read is never written over."""

import stat
from pathlib import Path

import pytest

from accelwatch.tui.theme.preferences import Preferences, load, save


def test_what_was_saved_is_loaded_and_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "accelwatch" / "dashboard.yaml"
    save(Preferences(density="full", interval_s=5.0), path)
    assert load(path) == (Preferences(density="full", interval_s=5.0), "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"theme: [", b"- 1\n", b"tree: 7\n", b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_set_aside_when_settings_are_saved(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "dashboard.yaml"
    path.write_bytes(content)
    preferences, problem = load(path)
    assert preferences == Preferences()
    assert problem.startswith(f"{path}: ")
    assert path.read_bytes() == content, "loading changes nothing"
    save(preferences, path)
    assert (tmp_path / "dashboard.yaml.damaged").read_bytes() == content
    assert load(path) == (Preferences(), "")


def test_a_word_that_means_nothing_is_replaced_by_the_default(tmp_path: Path) -> None:
    path = tmp_path / "dashboard.yaml"
    path.write_text("theme: purple-rain\ndensity: dense\ninterval_s: 0.001\n")
    preferences, problem = load(path)
    assert preferences == Preferences(interval_s=0.25)
    assert "no theme 'purple-rain'" in problem
    assert "no density 'dense'" in problem
    save(preferences, path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["dashboard.yaml"]
