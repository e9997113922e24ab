"""Writes docs/accelwatch.svg from what the real program prints: `python docs/build_picture.py`."""

import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

TARGET = Path(__file__).with_name("accelwatch.svg")


def main() -> None:
    """Run the program on the shipped recording and keep its colours."""
    words = [sys.executable, "-m", "accelwatch", "--replay", "demo", "--color", "always", "--once"]
    text = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    lines = text.splitlines()[1:]
    console = Console(record=True, width=max(len(Text.from_ansi(line)) for line in lines) + 1)
    for line in lines:
        console.print(Text.from_ansi(line), no_wrap=True)
    TARGET.write_text(console.export_svg(title="accelwatch"))


if __name__ == "__main__":
    main()
