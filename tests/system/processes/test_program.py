"""A program's name: what a person would call it, and not a letter of its arguments."""

import pytest

from accelwatch.system.processes.program import program_name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python3", "python3"),
        ("/usr/bin/python3 train.py", "python3"),
        ("./gpu_burn 600", "gpu_burn"),
        ("memhog --token=abc --cfg=/etc/secret.yaml", "memhog"),
        ("/opt/tool --url=https://user:secret@host/path", "tool"),
        ("VLLM::EngineCore", "VLLM::EngineCore"),
        (r"C:\Windows\explorer.exe", "explorer.exe"),
        (r"C:\Program Files (x86)\Edge\msedge.exe", "msedge.exe"),
        (r"C:\Program Files\App\app.exe --token=a\b\secret.exe", "app.exe"),
        (r'"C:\Program Files\App\App.EXE" --key "D:\secret.txt"', "App.EXE"),
        ("C:/tools/memhog.exe /cfg:D:/secret", "memhog.exe"),
        (r"\\server\share\tool.exe -x", "tool.exe"),
        (r'"C:\tools\memhog" D:\secret', "memhog"),
        (r"C:\tools\memhog D:\secret", "memhog"),
        (r"venv\Scripts\python.exe -c secret", "python.exe"),
    ],
)
def test_the_name_without_path_and_arguments(command: str, name: str) -> None:
    assert program_name(command) == name


@pytest.mark.parametrize("command", ["", "  ", "[Not Found]", "[N/A]", "[kthreadd]", "/", "bin/"])
def test_nothing_that_is_a_program(command: str) -> None:
    assert program_name(command) is None
