"""Secrets of hooks: named by `file:` or `env:`, and hidden in whatever a hook prints."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import msgspec

from accelwatch.base.errors import ConfigError
from accelwatch.base.untrusted_text import escaped
from accelwatch.system.files.file_rights import check_not_open

_FILE = "file:"
_ENV = "env:"
_MOST_BYTES = 64 << 10
HIDDEN = "<hidden>"
# Characters.
_LEAST_HIDDEN = 4
# What `quote_plus`, `quote`, JavaScript's `encodeURIComponent` and `encodeURI` leave as it is.
_KEPT_IN_URLS = ("", "/", "!'()*", "/:?=&+,;@$!'()*#")
_PERCENT = re.compile("%[0-9A-F]{2}")


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
    check_not_open(str(path))
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
    """The text with secrets hidden, also as JSON, Python and URLs write them, the longest first."""
    for form in sorted(_forms(secrets), key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def without_cut(secrets: Iterable[str], data: bytes) -> bytes:
    """What a program printed last, without the end of a secret whose beginning was not kept."""
    lengths = (_tail_length(form.encode(errors="replace"), data) for form in _forms(secrets))
    return data[max(lengths, default=0) :]


def _forms(secrets: Iterable[str]) -> set[str]:
    """How secrets may be printed; a short one would hide letters of ordinary words."""
    return {form for secret in secrets if len(secret) >= _LEAST_HIDDEN for form in _written(secret)}


def _written(secret: str) -> Iterator[str]:
    """A secret plainly, and as JSON, Python and URLs write it."""
    yield secret
    yield msgspec.json.encode(secret).decode()[1:-1]
    yield json.dumps(secret)[1:-1]
    yield repr(secret)[1:-1]
    yield ascii(secret)[1:-1]
    yield repr(secret.encode(errors="replace"))[2:-1]
    for kept in _KEPT_IN_URLS:
        quoted = quote(secret, safe=kept, errors="replace")
        for form in (quoted, quoted.replace("%20", "+")):
            yield form
            yield _PERCENT.sub(lambda match: match[0].lower(), form)


def _tail_length(form: bytes, data: bytes) -> int:
    """How many bytes of data are the end of a secret."""
    start = form.find(data[:1], 1) if data else -1
    while start > 0:
        if data.startswith(form[start:]):
            return len(form) - start
        start = form.find(data[:1], start + 1)
    return 0
