"""A driver whose module has another name in each release, on buses that are shown and hidden."""

from pathlib import Path

import pytest

from accelwatch.backend.kit import driver_modules

NAMES = ("xdrv", "ydrv")


@pytest.mark.parametrize("name", NAMES)
def test_one_of_the_modules_is_enough(tmp_path: Path, name: str) -> None:
    assert not driver_modules.is_loaded(tmp_path, NAMES)
    (tmp_path / "sys/module" / name).mkdir(parents=True)
    assert driver_modules.is_loaded(tmp_path, NAMES)
    assert driver_modules.module_version(tmp_path, NAMES) is None
    (tmp_path / "sys/module" / name / "version").write_text("1.2.3\n")
    assert driver_modules.module_version(tmp_path, NAMES) == "1.2.3"
