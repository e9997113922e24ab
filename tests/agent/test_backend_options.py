"""`collect.options` is held against what the backends declare."""

import subprocess
import sys
from pathlib import Path

import pytest

from accelwatch.agent.settings_check import checked, read_settings
from agent.test_settings_check import refusal

MISSPELT = """\
collect:
  options:
    nvdia: {x: 1}
    nvidia:
      zzz: 1
      sourc: xml
    host: {a: 1}
"""


def test_misspelt_backends_and_keys_are_reported_with_their_lines(tmp_path: Path) -> None:
    assert refusal(tmp_path / "agent.yaml", MISSPELT) == [
        "F:3: collect.options.nvdia: 'nvdia' is not installed; did you mean nvidia?",
        "F:5: collect.options.nvidia.zzz: unknown key;"
        " expected one of nvidia_smi, nvidia_smi_timeout_s, source",
        "F:6: collect.options.nvidia.sourc: unknown key; did you mean source?",
        "F:7: collect.options.host.a: unknown key; this backend has no options",
    ]


def test_what_is_declared_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("collect: {options: {nvidia: {source: xml}, hygon: {pace_s: 1}}}")
    checked(read_settings(file, {}))


def test_nothing_is_reported_of_a_backend_that_declares_nothing(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("collect: {options: {'node.sampler.fakes:Fake': {devices: []}}}")
    checked(read_settings(file, {}))


def test_who_checks_keeps_no_backend_in_its_memory(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("collect: {options: {nvidia: {source: xml}}}")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from accelwatch.agent.settings_check import checked, read_settings\n"
        "checked(read_settings(Path(sys.argv[1]), {}))\n"
        "print([name for name in sys.modules if name.startswith('accelwatch_')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, file], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "[]"


def options_in(folder: Path, text: str) -> dict[str, dict[str, object]]:
    """Options of a file in a folder, as they are in force."""
    file = folder / "agent.yaml"
    file.write_text(f"collect: {{options: {{{text}}}}}")
    return read_settings(file, {}).settings.collect.options


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("replay: {file: day.yaml}", "F/day.yaml"),
        ("replay: {file: ../day.yaml}", "F/../day.yaml"),
        ("replay: {file: /srv/day.yaml}", "/srv/day.yaml"),
        ("replay: {file: ~/day.yaml}", "~/day.yaml"),
        ("replay: {file: demo}", "demo"),
        ("replay: {file: ''}", ""),
        ("hygon: {hy_smi: bin/hy-smi}", "F/bin/hy-smi"),
        ("nvidia: {nvidia_smi: nvidia-smi}", "nvidia-smi"),
        ("nvidia: {nvidia_smi: ./nvidia-smi}", "F/nvidia-smi"),
        ("nvidia: {source: nvml}", "nvml"),
        ("hygon: {hy_smi: 7}", 7),
        ("'node.sampler.fakes:Fake': {file: day.yaml}", "day.yaml"),
    ],
)
def test_a_relative_path_starts_at_the_folder_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, read: object
) -> None:
    monkeypatch.chdir("/")
    ((_, options),) = options_in(tmp_path, written).items()
    (value,) = options.values()
    assert value == (read.replace("F/", f"{tmp_path}/") if isinstance(read, str) else read)


def test_other_options_stay_as_they_are(tmp_path: Path) -> None:
    options = options_in(tmp_path, "replay: {loop: false, file: a.yaml, lop: 1}, nvdia: {x: a/b}")
    path = str(tmp_path / "a.yaml")
    assert options == {"replay": {"loop": False, "file": path, "lop": 1}, "nvdia": {"x": "a/b"}}


def test_a_file_whose_folder_is_not_named_stands_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "agent.yaml").write_text("collect: {options: {replay: {file: a.yaml}}}")
    monkeypatch.chdir(tmp_path)
    options = read_settings(Path("agent.yaml"), {}).settings.collect.options
    assert options == {"replay": {"file": str(tmp_path / "a.yaml")}}


def test_a_recording_that_is_not_there_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    text = "collect:\n  options:\n    replay:\n      file: "
    prefix = "F:4: collect.options.replay.file: "
    assert refusal(file, f"{text}no.yaml") == [f"{prefix}{tmp_path}/no.yaml: no such file"]
    assert refusal(file, f"{text}~nobody-of-this-name/a") == [
        f"{prefix}~nobody-of-this-name/a: no such file"
    ]
    (tmp_path / "no.yaml").write_text("")
    assert refusal(file, f"{text}yes*") == [f"{prefix}{tmp_path}/yes*: no such file"]
    for written in ("no.yaml", "no*", ".", "demo"):
        file.write_text(text + written)
        checked(read_settings(file, {}))


def test_a_program_that_is_not_there_is_a_matter_of_the_backend(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("collect: {options: {hygon: {hy_smi: /nonexistent/hy-smi}}}")
    checked(read_settings(file, {}))
