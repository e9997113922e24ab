"""README as a package index shows it, where no link into a checkout leads anywhere.

Hatchling calls it when a wheel or source distribution is built: links keep their words, pictures go.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?://)[^)]*\)\n\n?", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?://)[^)]*\)")


def for_an_index(text: str) -> str:
    """The text without anything that leads to a file."""
    return _LINK.sub(r"\1", _PICTURE.sub("", text))


class IndexReadme(MetadataHookInterface):
    """Fills in the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called once for a build."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_an_index(text)}
