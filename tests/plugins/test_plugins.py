"""Plug-ins are found as the standard library finds them, and a broken one is data."""

import sys
from importlib import metadata
from pathlib import Path

import pytest

from accelwatch.base.errors import PluginError
from accelwatch.plugins import entry_points as plugins


@pytest.mark.parametrize(
    "group", [plugins.ACTIONS, plugins.ALERTS, plugins.BACKENDS, plugins.EXPORTERS]
)
def test_the_standard_library_agrees(group: str) -> None:
    theirs = {point.name: point.value for point in metadata.entry_points(group=group)}
    assert plugins.addresses(group) == theirs


def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str) -> None:
    """Install a distribution that declares plug-ins."""
    folder = tmp_path / "stranger-1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text(lines)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_strangers_plug_in_is_found_like_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stranger_module.py").write_text("class Backend: pass\n")
    lines = (
        "[console_scripts]\nx = y:z\n[accelwatch.backends]\nstranger = stranger_module:Backend\n"
    )
    stranger(tmp_path, monkeypatch, lines)
    assert "stranger" in plugins.names(plugins.BACKENDS)
    assert plugins.load(plugins.BACKENDS, "stranger").__name__ == "Backend"
    assert "x" not in plugins.names(plugins.BACKENDS)
    sys.modules.pop("stranger_module")


def test_a_broken_plug_in_is_a_row_and_the_others_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_module.py").write_text("raise RuntimeError('no luck')\n")
    lines = "[accelwatch.exporters]\nbroken = broken_module:X\nmissing = no_such_module:X [extra]\n"
    stranger(tmp_path, monkeypatch, lines)
    loaded, failures = plugins.load_all(plugins.EXPORTERS)
    assert {"json", "csv", "prometheus"} <= set(loaded)
    assert {failure.name for failure in failures} == {"broken", "missing"}
    assert any("no luck" in failure.message for failure in failures)


def test_a_name_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELWATCH_DISABLE_PLUGINS", "nvidia,amd")
    assert not {"nvidia", "amd"} & set(plugins.names(plugins.BACKENDS))


def test_an_unknown_name_lists_the_installed() -> None:
    with pytest.raises(
        PluginError, match="no accelwatch.exporters plug-in 'jsno'; installed: csv, json"
    ):
        plugins.load(plugins.EXPORTERS, "jsno")


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        (["nvidia", "host"], ""),
        (["my_module:Backend"], ""),
        (["nvidia", "nvidai"], "'nvidai' is not installed; did you mean nvidia?"),
        (
            ["zzz"],
            f"'zzz' is not installed; installed: {', '.join(plugins.names(plugins.BACKENDS))}",
        ),
    ],
)
def test_names_are_checked_before_anything_is_loaded(wanted: list[str], complaint: str) -> None:
    assert plugins.unknown(plugins.BACKENDS, wanted) == complaint


def test_sections_comments_extras_and_damage_are_distinguished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in {
        "one-1.dist-info": b"[other]\na = x:y\n\n[mine]\n# note\nb = m.n:C\nc=m:D [extra]\n[z]\nd=q:r",
        "two-1.egg-info": b"[mine]\nb = second:wins_not\ne = e:E\n",
        "bad-1.dist-info": b"\xff\xfe[mine]",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "entry_points.txt").write_bytes(content)
    (tmp_path / "none-1.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "missing"), str(tmp_path)])
    assert plugins.addresses("mine") == {"b": "m.n:C", "c": "m:D", "e": "e:E"}
    assert plugins.addresses("nobody's") == {}
