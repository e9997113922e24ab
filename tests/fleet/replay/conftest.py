"""One archive for all tests of a module."""

from pathlib import Path

import pytest

from support.archives.replay_archives import bad_day


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bad_day(tmp_path_factory.mktemp("archive") / "fleet")
