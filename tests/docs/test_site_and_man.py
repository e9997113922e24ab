"""The documentation builds as a site without a broken link; the man page is current."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from accelwatch.cli.startup.app import build

ROOT = Path(__file__).resolve().parents[2]
MAN = ROOT / "docs/man/accelwatch.1"


def module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; building it fails at a link that leads nowhere."""
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed; requirements/dev.lock has it")
    target = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, str(ROOT / "docs/build_site.py"), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def test_every_page_is_there(site: Path) -> None:
    pages = [page.relative_to(ROOT) for page in ROOT.glob("docs/**/*.md")]
    assert len(pages) > 30
    assert [page for page in pages if not (site / page).with_suffix(".html").exists()] == []


def test_search_needs_no_network(site: Path) -> None:
    """The index is beside the pages, and no script or font is fetched from elsewhere."""
    assert "hw.gpu.utilization" in (site / "search/search_index.json").read_text("utf-8")
    page = (site / "docs/otlp.html").read_text("utf-8")
    loaded = re.findall(r'<(?:script|link)[^>]*(?:src|href)="([^"]+)"', page)
    assert [address for address in loaded if address.startswith(("http:", "https:", "//"))] == []


def test_a_link_that_leads_nowhere_ends_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Path
) -> None:
    builder = module("build_site")
    (tmp_path / "README.md").write_text("[gone](docs/gone.md)", "utf-8")
    (tmp_path / "LICENSE").write_text("", "utf-8")
    monkeypatch.setattr(builder, "ROOT", tmp_path)
    assert builder.build(tmp_path / "site") != 0


def test_the_man_page_is_current() -> None:
    assert MAN.read_text("utf-8") == module("build_man").build(), "run: python docs/build_man.py"


def test_the_man_page_has_every_command_that_the_help_lists() -> None:
    text = MAN.read_text("utf-8")
    app: Any = build()
    headings = re.findall(r"^\.SS (\S+)", text, re.MULTILINE)
    assert {*headings} == {name for name, one in app.commands.items() if not one.hidden}
    assert r".B \-\-json" in text


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not on PATH")
def test_the_man_page_is_roff_without_a_warning() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", MAN], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_nothing_in_a_text_is_taken_for_a_request() -> None:
    escaped = module("build_man").escaped
    assert escaped(".TH a-b\n c\\d") == r"\&.TH a\-b c\ed"
    assert escaped("'x") == r"\&'x"


def test_the_wheel_has_the_man_page() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    shared = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared == {"docs/man/accelwatch.1": "share/man/man1/accelwatch.1"}


def test_the_readme_of_an_index_page_leads_to_no_file() -> None:
    text = module("index_readme").for_an_index((ROOT / "README.md").read_text("utf-8"))
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert [link for link in links if not link.startswith(("http://", "https://"))] == []
    assert "five minutes" in text
    assert "![" not in text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a [b](docs/b.md#c) d", "a b d"),
        ("a [b](https://e.org) d", "a [b](https://e.org) d"),
        ("![x](a.svg)\n\nb\n", "b\n"),
        ("![x](https://e.org/a.svg)\n\nb\n", "![x](https://e.org/a.svg)\n\nb\n"),
    ],
)
def test_links_and_pictures_of_an_index_page(given: str, shown: str) -> None:
    assert module("index_readme").for_an_index(given) == shown
