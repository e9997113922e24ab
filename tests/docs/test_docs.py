"""Generated pages are current, links lead somewhere, and the commands shown exist."""

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from accelwatch.cli.startup.app import build
from accelwatch.schema.catalogue.lookup import catalogue

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def _builder(name: str) -> Any:
    """The module of docs/ that writes a page."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_metrics_page_is_current() -> None:
    page = (DOCS / "metrics.md").read_text()
    assert page == _builder("build_metrics").build(), "run: python docs/build_metrics.py"
    for row in catalogue():
        assert page.count(f"| `{row.key}` |") == 1


def test_remediation_page_is_current() -> None:
    page = (DOCS / "remediation.md").read_text()
    assert page == _builder("build_remedy").build(), "run: python docs/build_remedy.py"


def test_workloads_page_is_current() -> None:
    page = (DOCS / "actions" / "kubernetes-workloads.md").read_text()
    assert page == _builder("build_workloads").build(), "run: python docs/build_workloads.py"


def test_the_table_of_support_is_what_the_backends_declare() -> None:
    page = (ROOT / "docs" / "vendors.md").read_text()
    assert page == _builder("build_support").page(page), "run: python docs/build_support.py"


def test_the_checklists_of_the_vendors_are_what_the_machines_of_the_tests_show() -> None:
    for path, text in _builder("build_checklists").pages():
        assert path.read_text() == text, f"{path.name}: run python docs/build_checklists.py"


def _pages() -> list[Path]:
    folders = ("docs", "examples", "benchmarks", "fixtures")
    return [
        *ROOT.glob("*.md"),
        *(page for name in folders for page in ROOT.glob(f"{name}/**/*.md")),
    ]


def _anchors(page: Path) -> set[str]:
    """The names that a page's headings get where it is shown."""
    headings = re.findall(r"^#+ +(.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", _pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in _anchors(target), link


def test_paths_named_in_help_and_messages_are_there() -> None:
    """A page that a message sends its reader to; a vendor's folder of that name may be cited too."""
    sources = [
        path
        for name in ("src", "actions", "alerts", "backends", "exporters")
        for path in ROOT.glob(f"{name}/**/*.py")
    ]
    named = {
        path
        for source in sources
        for path in re.findall(r"\b(?:docs|examples)/[\w/-]+\.(?:md|yaml|yml)", source.read_text())
    }
    assert "docs/metrics.md" in named
    ours = [path for path in sorted(named) if (ROOT / path).parent.is_dir()]
    assert [path for path in ours if not (ROOT / path).exists()] == []


def _usages(text: str) -> list[list[str]]:
    """Words of each `accelwatch ...` in a shell block, and of each in a command table's first column."""
    lines = [line.strip().removeprefix("$ ") for line in text.splitlines()]
    lines = [line for line in lines if line.startswith("accelwatch ")]
    return [shlex.split(re.split(r" \| |  #", line)[0])[1:] for line in lines]


def test_every_option_that_the_pages_show_exists() -> None:
    shown = [words for page in _pages() for words in _usages(page.read_text())]
    assert len(shown) > 10
    app = build()
    for words in shown:
        assert _takes(app, words), words


def _takes(command: Any, words: list[str]) -> bool:
    """Whether the command has every long option among the words, up to `--`."""
    if words and (sub := getattr(command, "commands", {}).get(words[0])):
        return _takes(sub, words[1:])
    own = words[: words.index("--")] if "--" in words else words
    known = {flag for option in command.params for flag in option.opts} | {"--help", "--version"}
    return {word.partition("=")[0] for word in own if word.startswith("--")} <= known | COMPLETION


COMPLETION = {"--install-completion", "--show-completion"}
