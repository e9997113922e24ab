"""Of several lines of a command that failed the one is quoted that says why."""

import pytest

from accelwatch.base.failure_line import failure_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)\n"
            "dcmi module initialize failed. ret is -8005\n",
            "dcmi module initialize failed. ret is -8005",
        ),
        ("Error: unknown option '-j'\n\nUsage: x-smi [OPTIONS]\n", "Error: unknown option '-j'"),
        (
            "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n"
            "Please also try adding directory to your PATH.\n",
            "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.",
        ),
        ("\n  one line\nanother\n", "one line"),
        ("", ""),
    ],
)
def test_the_line_that_says_why(text: str, line: str) -> None:
    assert failure_line(text) == line
