"""Builds the documentation as a site that is searched without a network: `make docs`.

The pages stand as in a checkout, so that every link among documents, examples and README is checked:
one that leads nowhere ends the build.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "build" / "site"
_FOLDERS = ("docs", "examples", "fixtures/tui", "benchmarks")
_SHOWN = frozenset(
    {".md", ".svg", ".yaml", ".yml", ".json", ".py", ".service", ".sh", ".toml", ".txt"}
)
_SETTINGS = """\
site_name: accelwatch
docs_dir: pages
site_dir: {target}
use_directory_urls: false
theme:
  name: material
  font: false
  features: [navigation.indexes, content.code.copy, search.highlight]
plugins: [search]
markdown_extensions: [tables, fenced_code, {{toc: {{permalink: true}}}}]
validation:
  nav: {{omitted_files: ignore}}
  links: {{not_found: warn, anchors: warn, absolute_links: warn, unrecognized_links: warn}}
"""


def gather(pages: Path) -> None:
    """Copy what the site shows to where it is in a checkout."""
    found = [*ROOT.glob("*.md"), ROOT / "LICENSE"]
    found += [path for name in _FOLDERS for path in (ROOT / name).rglob("*")]
    for path in found:
        if path.is_file() and (path.suffix in _SHOWN or path.name == "LICENSE"):
            copy = pages / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def build(target: Path) -> int:
    """Build the site into a folder; 0 when every link leads somewhere."""
    with tempfile.TemporaryDirectory() as folder:
        gather(Path(folder) / "pages")
        settings = Path(folder) / "mkdocs.yml"
        settings.write_text(_SETTINGS.format(target=target.absolute()), encoding="utf-8")
        command = [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--strict"]
        return subprocess.run([*command, "-f", settings], check=False).returncode


if __name__ == "__main__":
    raise SystemExit(build(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET))
