"""A root with the clock and the boot id of a running kernel."""

from pathlib import Path

import pytest

from backends.kernel_log.memory_log import BOOT, UPTIME


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root/proc/sys/kernel/random"
    folder.mkdir(parents=True)
    (folder / "boot_id").write_text(f"{BOOT}\n")
    (tmp_path / "root/proc/uptime").write_text(f"{UPTIME} 1.0\n")
    (tmp_path / "state").mkdir()
    return tmp_path / "root"
