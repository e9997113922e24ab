"""Files of secrets as they have to be."""

from pathlib import Path


def write_secret(path: Path, text: str) -> Path:
    """A file that only its owner may read."""
    path.touch()
    path.chmod(0o600)
    path.write_text(text, encoding="utf-8")
    return path
