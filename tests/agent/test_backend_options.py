"""`collect.options` is held against what the backends declare."""

import subprocess
import sys
from pathlib import Path

import pytest

from accelwatch.agent.settings_check import checked
from accelwatch.config.layers import effective
from accelwatch.errors import ConfigError

MISSPELT = """\
collect:
  options:
    nvdia: {x: 1}
    nvidia:
      zzz: 1
      sourc: xml
    host: {a: 1}
"""


def refused(file: Path, text: str) -> list[str]:
    """The lines with which a file of this text is refused, its own path as F."""
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        checked(effective(file, {}))
    return str(caught.value).replace(f"{file}:", "F:").splitlines()


def test_misspelt_backends_and_keys_are_told_with_their_lines(tmp_path: Path) -> None:
    assert refused(tmp_path / "agent.yaml", MISSPELT) == [
        "F:3: collect.options.nvdia: 'nvdia' is not installed; did you mean nvidia?",
        "F:5: collect.options.nvidia.zzz: unknown key;"
        " expected one of nvidia_smi, nvidia_smi_timeout_s, source",
        "F:6: collect.options.nvidia.sourc: unknown key; did you mean source?",
        "F:7: collect.options.host.a: unknown key; this backend has no options",
    ]


def test_what_is_declared_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("collect: {options: {nvidia: {source: xml}, hygon: {pace_s: 1}}}")
    checked(effective(file, {}))


def test_nothing_is_said_of_a_backend_that_declares_nothing(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("collect: {options: {'sampler.fakes:Fake': {devices: []}}}")
    checked(effective(file, {}))


def test_who_checks_keeps_no_backend_in_its_memory(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("collect: {options: {nvidia: {source: xml}}}")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from accelwatch.agent.settings_check import checked\n"
        "from accelwatch.config.layers import effective\n"
        "checked(effective(Path(sys.argv[1]), {}))\n"
        "print([name for name in sys.modules if name.startswith('accelwatch_')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, file], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "[]"
