"""Where Habana's programs and library may write their logs: they do so at each run, or fail."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "HABANA_LOGS"
_DEFAULT = "var/log/habana_logs"


class Logs:
    """A folder of our own, made when it is needed and removed at the end."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._own: Path | None = None

    def environ(self) -> Mapping[str, str]:
        """What to add to the environment: nothing where a folder is set, or the usual one serves."""
        if VARIABLE in os.environ or os.access(self._root / _DEFAULT, os.W_OK):
            return {}
        if self._own is None:
            self._own = Path(tempfile.mkdtemp(prefix="accelwatch-habana-"))
        return {VARIABLE: str(self._own)}

    def close(self) -> None:
        """Remove the folder."""
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            self._own = None
