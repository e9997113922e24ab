"""Public bug reports, played from the files of the recordings; see EXPECTED.md beside each."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.machines.samples import samples_root

Case = Callable[[str], Path]


@pytest.fixture
def case() -> Case:
    """Path of a file of the cases; skips the test where they are not here."""
    root = samples_root().parent / "cases"

    def found(relative: str) -> Path:
        if not root.is_dir():
            pytest.skip(f"no cases at {root}; a clone needs none of them")
        path = root / relative
        assert path.exists(), f"the cases are there, but {relative} is not"
        return path

    return found
