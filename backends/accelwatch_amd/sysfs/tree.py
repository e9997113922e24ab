"""A directory of attribute files with an injected byte reader, so that tests decide how a read fails."""

from collections.abc import Callable
from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected, Number
from accelwatch.system.kernel import sysfs

# Content of one file, or the reason why there is none.
ReadBytes = Callable[[Path], bytes | Absence]

# Copies of sysfs files, and some drivers, leave NUL bytes behind the text.
_PADDING = "\0 \t\r\n"


class Tree:
    """Reads of attribute files below one folder; every failure is a typed absence."""

    def __init__(
        self,
        folder: Path,
        read: ReadBytes = sysfs.read_bytes,
        missing: set[Path] | None = None,
    ) -> None:
        self.folder = folder
        self._read = read
        self._missing = missing

    def below(self, name: str) -> "Tree":
        """The same reader over a folder inside this one."""
        return Tree(self.folder / name, self._read, self._missing)

    def remembering(self, missing: set[Path]) -> "Tree":
        """The same tree, which does not read again files that are in the set, and adds to it."""
        return Tree(self.folder, self._read, missing)

    def raw(self, name: str) -> bytes | Absence:
        """Content of a binary attribute."""
        path = self.folder / name
        if self._missing is not None and path in self._missing:
            return Absence.UNSUPPORTED
        content = self._read(path)
        if content is Absence.UNSUPPORTED and self._missing is not None:
            self._missing.add(path)
        return content

    def text(self, name: str) -> str | Absence:
        """Content of a text attribute without padding; undecodable bytes are replaced."""
        content = self.raw(name)
        if isinstance(content, Absence):
            return content
        return content.decode("utf-8", "replace").strip(_PADDING)

    def text_or_none(self, name: str) -> str | None:
        """A text attribute, or None where it is missing, empty or unreadable."""
        text = self.text(name)
        return None if isinstance(text, Absence) or not text else text

    def integer(self, name: str) -> int | Absence:
        """A decimal or 0x-hexadecimal attribute; other text, empty too, is `error`."""
        text = self.text(name)
        return text if isinstance(text, Absence) else sysfs.integer(text)

    def names(self, pattern: str = "*") -> list[str]:
        """Names in this folder that match, in natural order; empty where there is no folder."""
        return [entry.name for entry in sysfs.list_dir(self.folder) if entry.match(pattern)]


def fill(out: Collected, key: str, value: Number, *labels: str) -> None:
    """Record a value unless a better source has already given one."""
    if (key, *labels) not in out.values:
        out.put(key, value, *labels)
