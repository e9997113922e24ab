"""The Python of the documentation passes the strictest type checking, as its reader's would."""

import re
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def snippets() -> dict[str, str]:
    """Each Python block of the pages, by page and line."""
    found: dict[str, str] = {}
    for page in PAGES:
        text = page.read_text()
        for match in re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
            line = text[: match.start()].count("\n") + 1
            found[f"{page.stem}_{line}"] = match[1]
    return found


def check(folder: Path, blocks: dict[str, str]) -> str:
    """What mypy --strict says of the blocks, each a module of its own."""
    paths = []
    for name, block in blocks.items():
        path = folder / f"{name}.py"
        path.write_text(block)
        paths.append(str(path))
    settings = ["--strict", "--config-file", str(ROOT / "pyproject.toml")]
    out, err, _ = api.run([*settings, *paths])
    return out + err


@pytest.fixture
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.usefixtures("at_root")
def test_every_snippet_is_typed(tmp_path: Path) -> None:
    blocks = snippets()
    assert {name.rpartition("_")[0] for name in blocks} >= {"python", "recording", "expressions"}
    blocks["wrong"] = 'import accelwatch\n\naccelwatch.snapshot(timeout_s="2")\n'
    found = check(tmp_path, blocks)
    wrong = [line for line in found.splitlines() if ": error:" in line]
    assert len(wrong) == 1, found
    assert "wrong.py:3: error: Argument" in wrong[0]
