"""Where the packages of another Slurm come from: the mirror that this system has its own from."""

from pathlib import Path

import pytest

from support.slurm import unpacked as unpacked_slurm
from support.slurm.unpacked import NoSlurmError, mirror

SHORT = """\
# deb https://old.example/debian bookworm main
deb [arch=amd64] https://near.example/debian stable main
"""
LONG = """\
Types: deb
URIs: http://far.example/debian-security

Types: deb
URIs: http://far.example/debian
"""


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("sources.list", SHORT, "https://near.example/debian"),
        ("sources.list.d/debian.sources", LONG, "http://far.example/debian"),
    ],
)
def test_the_mirror_is_the_systems_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, found: str
) -> None:
    monkeypatch.setattr(unpacked_slurm, "SOURCES", tmp_path)
    (tmp_path / "sources.list.d").mkdir()
    with pytest.raises(NoSlurmError, match="no source of Debian packages"):
        mirror()
    (tmp_path / name).write_text(text)
    assert mirror() == found
