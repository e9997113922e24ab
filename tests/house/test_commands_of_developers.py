"""The files that `.ci/run` and the Makefile name are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Of a shell's or make's variable only what follows it is known.
_PATH = re.compile(
    r"(?<![\w/.-])(?:(?:tests|benchmarks|docs|distribution|\$tests_of_it)/)[\w/.-]+\.(?:py|sh)\b"
)


@pytest.mark.parametrize("file", [".ci/run", "Makefile"])
def test_files_that_are_named_are_there(file: str) -> None:
    text = (ROOT / file).read_text()
    folder = re.search(r"^ *tests_of_it=(\S+)$", text, re.MULTILINE)
    named = [
        path.replace("$tests_of_it", folder.group(1) if folder else "")
        for path in _PATH.findall(text)
    ]
    assert named
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_folders_of_make_near_are_there() -> None:
    """Of one that is not there, pytest runs nothing at all; what is left out by name may have moved."""
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    near, not_near = re.findall(r"^(?:NOT_)?NEAR := (.*)$", text, re.MULTILINE)
    assert [name for name in near.split() if not (ROOT / "tests" / name).is_dir()] == []
    assert [name for name in not_near.split() if not (ROOT / "tests" / name).is_file()] == []
