"""Commands for tests, as small shell scripts."""

from pathlib import Path


def script(path: Path, text: str) -> str:
    """An executable of these lines at `path`, which is returned."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)
