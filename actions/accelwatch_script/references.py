"""Secrets of hooks: named by `file:` or `env:`, and hidden in whatever a hook prints."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from accelwatch.errors import ConfigError
from accelwatch.untrusted_text import escaped

_FILE = "file:"
_ENV = "env:"
_MOST_BYTES = 64 << 10
HIDDEN = "<hidden>"
_LEAST_HIDDEN = 4
"""Characters; a shorter value would hide letters of ordinary words."""


def is_reference(text: str) -> bool:
    """Whether a value names where it stands instead of standing there itself."""
    return text.startswith((_FILE, _ENV))


def resolved(key: str, text: str, environ: Mapping[str, str]) -> str:
    """What a reference stands for. Raises ConfigError, which never has the value."""
    if text.startswith(_FILE):
        return _content(key, Path(text.removeprefix(_FILE)))
    if not text.startswith(_ENV):
        raise ConfigError(f"{key}: no secret belongs here; write file:/PATH or env:NAME")
    name = text.removeprefix(_ENV)
    value = environ.get(name, "")
    if not value:
        raise ConfigError(f"{key}: the variable {escaped(name)} is not set")
    return value


def _content(key: str, path: Path) -> str:
    if not path.is_absolute():
        raise ConfigError(f"{key}: expected an absolute path behind {_FILE}")
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no text"
        raise ConfigError(f"{key}: {escaped(str(path))} cannot be read: {reason}") from None
    if not text or "\0" in text:
        raise ConfigError(f"{key}: {escaped(str(path))} holds no secret")
    return text


def without(secrets: Iterable[str], text: str) -> str:
    """The text with secrets hidden, the longest first."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _LEAST_HIDDEN:
            text = text.replace(secret, HIDDEN)
    return text
