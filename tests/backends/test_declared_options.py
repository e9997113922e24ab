"""What backends declare of their options is what they use, and what their pages tell of."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from accelwatch.backend import Configurable
from accelwatch.plugins import entry_points as plugins
from accelwatch_lab.replay.options import Options

ROOT = Path(__file__).parents[2]
OURS = [
    name
    for name in plugins.names(plugins.BACKENDS)
    if (ROOT / f"backends/accelwatch_{name}").is_dir()
]
# Whoever takes one of these takes the option `pace_s`.
_PACED = {"pace_of", "VendorTool", "ToolBackend", "SmiBackend"}


def _modules(name: str) -> Iterator[tuple[ModuleType, ast.Module]]:
    folder = ROOT / f"backends/accelwatch_{name}"
    for file in sorted(folder.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "options" in text or any(word in text for word in _PACED):
            dotted = ".".join(file.relative_to(folder.parent).with_suffix("").parts)
            yield import_module(dotted), ast.parse(text)


def _read_options(module: ModuleType, tree: ast.Module) -> Iterator[str]:
    """Names of the options that a module asks for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in _PACED:
            yield "pace_s"
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr == "get" and ast.unparse(node.func.value).endswith("options"):
            (key, *_) = node.args
            if isinstance(key, ast.Name):
                yield getattr(module, key.id)
            else:
                assert isinstance(key, ast.Constant), f"{ast.unparse(node)}: write the name out"
                yield str(key.value)


@pytest.mark.parametrize("name", OURS)
def test_a_backend_declares_the_options_that_it_requests(name: str) -> None:
    backend = plugins.load(plugins.BACKENDS, name)
    assert isinstance(backend, Configurable)
    options_read = {
        option for module, tree in _modules(name) for option in _read_options(module, tree)
    }
    if command := getattr(backend, "command", None):
        options_read.add(command.option)
    if name == "replay":
        options_read |= {field.name for field in msgspec.structs.fields(Options)}
    assert {option.name for option in backend.options} == options_read


@pytest.mark.parametrize("name", OURS)
def test_the_page_of_a_backend_names_its_options(name: str) -> None:
    page = (ROOT / f"docs/backends/{name.replace('_', '-')}.md").read_text(encoding="utf-8")
    backend = plugins.load(plugins.BACKENDS, name)
    assert [one.name for one in backend.options if f"`{one.name}" not in page] == []


def test_knowing_them_loads_no_library_of_a_vendor() -> None:
    code = (
        "import sys\n"
        "from accelwatch.plugins import entry_points as plugins\n"
        "from accelwatch.node.sampler.declared_options import loaded\n"
        "print(len(loaded(plugins.names(plugins.BACKENDS))))\n"
        "print({'pynvml', 'amdsmi', 'pyluwen', 'furiosa_smi_py', 'psutil'} & set(sys.modules))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    count, vendors = run.stdout.splitlines()
    assert int(count) >= len(OURS)
    assert vendors == "set()"
