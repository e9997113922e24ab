"""What an alert plug-in may know of the house; the same for a stranger's."""

import ast
from pathlib import Path

import pytest

from accelwatch.plugins import entry_points as plugins

_ROOT = Path(__file__).parents[2] / "alerts"
_MODULES = sorted(_ROOT.glob("accelwatch_*/*.py"))
_ALLOWED = (
    "accelwatch.alerting.sink",
    "accelwatch.alerting.delivery.transport.blocking",
    "accelwatch.alerting.delivery.transport.post",
    "accelwatch.alerting.delivery.formatting.text",
    "accelwatch.base.errors",
    "accelwatch.base.decode_errors",
    "accelwatch.plugins.options",
    "accelwatch.alerting.rules.document",
    "accelwatch.schema.timestamps",
    "accelwatch.base.standard_webhooks",
    "accelwatch.base.untrusted_text",
    "accelwatch.base.clock",
    "accelwatch.api_client.kubernetes.client",
    "accelwatch.api_client.kubernetes.errors",
    "accelwatch.api_client.kubernetes.server",
)


def imported(module: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, module
            names.add(node.module or "")
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("module", _MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_sink_sees_the_contract_the_texts_and_the_sender(module: Path) -> None:
    ours = {name for name in imported(module) if name.split(".")[0].startswith("accelwatch")}
    own = module.parent.name
    assert {name for name in ours if name not in _ALLOWED and name.split(".")[0] != own} == set()


def test_the_core_imports_none_of_them() -> None:
    plug_ins = {path.parent.name for path in _MODULES}
    for module in (_ROOT.parent / "src").rglob("*.py"):
        if "accelwatch_" in module.read_text():
            found = {name.split(".")[0] for name in imported(module)} & plug_ins
            assert not found, f"{module} imports {found}"


def test_each_folder_is_a_plug_in() -> None:
    addresses = plugins.addresses(plugins.ALERTS)
    folders = {path.parent.name for path in _MODULES}
    assert {address.partition(":")[0] for address in addresses.values()} >= folders
    assert len(folders) == 7


@pytest.mark.parametrize("name", plugins.names(plugins.ALERTS))
def test_each_has_what_the_dispatcher_asks_of_it(name: str) -> None:
    made = plugins.load(plugins.ALERTS, name)
    assert made.pace_s >= 0.0
    assert made.repeat_s is None or made.repeat_s > 0.0
