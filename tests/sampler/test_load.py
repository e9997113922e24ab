from importlib import metadata
from pathlib import Path

import pytest

from accelwatch.errors import PluginError
from accelwatch.plugins import BACKENDS as GROUP
from accelwatch.sampler.installed import entry_points
from accelwatch.sampler.load import BACKENDS, resolve
from accelwatch.sampler.settings import CollectSettings


def test_installed_backends_are_those_of_the_standard_library() -> None:
    assert BACKENDS == GROUP
    assert entry_points(GROUP) == {p.name: p.value for p in metadata.entry_points(group=GROUP)}


def test_groups_comments_extras_and_damage_are_told_apart(tmp_path: Path) -> None:
    for name, content in {
        "one-1.dist-info": b"[other]\na = x:y\n\n[mine]\n# note\nb = m.n:C\nc=m:D [extra]\n[z]\nd=q:r",
        "two-1.egg-info": b"[mine]\nb = second:wins_not\ne = e:E\n",
        "bad-1.dist-info": b"\xff\xfe[mine]",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "entry_points.txt").write_bytes(content)
    (tmp_path / "none-1.dist-info").mkdir()
    found = entry_points("mine", [str(tmp_path / "missing"), str(tmp_path)])
    assert found == {"b": "m.n:C", "c": "m:D", "e": "e:E"}


def test_without_any_there_is_nothing(tmp_path: Path) -> None:
    assert entry_points("mine", [str(tmp_path)]) == {}


def test_replay_is_only_for_who_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "replay" not in resolve(CollectSettings())
    assert list(resolve(CollectSettings(backends=("replay",)))) == ["replay"]
    monkeypatch.setenv("ACCELWATCH_DISABLE_PLUGINS", "amd,intel")
    assert not {"amd", "intel"} & resolve(CollectSettings()).keys()


@pytest.mark.parametrize("name", ["nowhere", "nowhere:Backend", "sampler.fakes:Nobody"])
def test_what_cannot_be_loaded_says_so_when_it_is_loaded(name: str) -> None:
    with pytest.raises(PluginError, match="backend"):
        resolve(CollectSettings(backends=(name,)))[name]()
