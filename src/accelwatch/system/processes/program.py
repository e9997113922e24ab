"""A program's name from what a driver or an exporter calls its command: never its arguments. Pure.

Arguments hold tokens and paths to secrets, so what could be one is left out rather than guessed at.
"""

import re

# A path there begins with a drive or two backslashes, and may hold blanks.
_WINDOWS = re.compile(r'"?(?:[A-Za-z]:[\\/]|\\\\)')
# Up to the first ending that Windows starts as a program; its arguments may hold others.
_EXECUTABLE = re.compile(r'"?([^"]*?\.(?:exe|com|bat|cmd|scr))(?=["\s]|$)', re.I)


def program_name(command: str) -> str | None:
    """The name of the program alone; None where there is none (`[Not Found]`, `[kthreadd]`, blank).

    nvidia-smi prints the path and, but on Windows, all arguments; exporters pass on either.
    """
    text = command.strip()
    if not text or (text.startswith("[") and text.endswith("]")):
        return None
    path = _windows_path(text) if _WINDOWS.match(text) else text.split(maxsplit=1)[0]
    return path.strip('"').replace("\\", "/").rsplit("/", 1)[-1] or None


def _windows_path(text: str) -> str:
    match = _EXECUTABLE.match(text)
    if match is not None:
        return match[1]
    if text.startswith('"'):
        return text[1:].partition('"')[0]
    return text.split(maxsplit=1)[0]
