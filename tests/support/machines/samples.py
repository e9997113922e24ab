"""Where the recorded vendor outputs are, if they are here. They are read in place and never copied."""

import os
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).resolve().parents[3]
_DEFAULT = _REPOSITORY.parent / "shared" / "samples"
FIXTURES = _REPOSITORY / "fixtures"


def samples_root() -> Path:
    """The folder of recordings: $ACCELWATCH_SAMPLES, else `shared/samples` beside the repository."""
    return Path(os.environ.get("ACCELWATCH_SAMPLES", _DEFAULT))


def sample(relative: str) -> Path:
    """Path of one recording; skips the test where the recordings are missing."""
    root = samples_root()
    if not root.is_dir():
        pytest.skip(
            f"no vendor recordings at {root}: these tests compare with what real tools printed; a clone "
            "needs none of it, the same readers are tested over fixtures/ (ACCELWATCH_SAMPLES names "
            "another folder)"
        )
    path = root / relative
    assert path.exists(), f"the recordings are there, but {relative} is not"
    return path
