"""What an action plug-in may know of the house; the same for a stranger's."""

import ast
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3] / "actions"
_MODULES = sorted(_ROOT.glob("accelwatch_*/**/*.py"))
_ALLOWED = (
    "accelwatch.action",
    "accelwatch.action.kit",
    "accelwatch.api_client",
    "accelwatch.api_client.backendai",
    "accelwatch.system.processes.child_process",
    "accelwatch.base.clock",
    "accelwatch.base.decode_errors",
    "accelwatch.system.processes.command",
    "accelwatch.alerting.delivery.transport.blocking",
    "accelwatch.alerting.delivery.transport.post",
    "accelwatch.base.durations",
    "accelwatch.base.errors",
    "accelwatch.system.files.file_rights",
    "accelwatch.system.located_yaml",
    "accelwatch.base.names.host_ranges",
    "accelwatch.api_client.kubernetes",
    "accelwatch.plugins.options",
    "accelwatch.schema",
    "accelwatch.api_client.slurm.scontrol_text",
    "accelwatch.base.standard_webhooks",
    "accelwatch.base.untrusted_text",
)


def _imported(module: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, module
            names.add(node.module or "")
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("module", _MODULES, ids=lambda path: str(path.relative_to(_ROOT)))
def test_an_action_sees_the_contract_clock_and_commands(module: Path) -> None:
    for name in _imported(module):
        if (
            name.split(".")[0].startswith("accelwatch")
            and name.split(".")[0] != module.relative_to(_ROOT).parts[0]
        ):
            assert any(name == one or name.startswith(f"{one}.") for one in _ALLOWED), name


def test_the_core_imports_none_of_them() -> None:
    plug_ins = {path.relative_to(_ROOT).parts[0] for path in _MODULES}
    for module in (_ROOT.parent / "src").rglob("*.py"):
        if "accelwatch_" in module.read_text():
            assert not {name.split(".")[0] for name in _imported(module)} & plug_ins, module
