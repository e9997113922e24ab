"""The amdsmi path over a compiled stand-in library, each time in a process of its own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelwatch.backend import Context
from accelwatch_amd import amdsmi
from support.machines.samples import FIXTURES

BUILD = FIXTURES / "amdsmi/build.py"
CHILD = """
import json, sys
from pathlib import Path
from accelwatch.backend import Context, Request
from accelwatch.base.clock import ManualClock
from accelwatch.schema.catalogue.lookup import opt_in_groups
from accelwatch_amd import AmdBackend
root, options, one_shot = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3] == "1"
reads = int(sys.argv[4])
clock = ManualClock()
backend = AmdBackend(Context(root=Path(root), clock=clock, options=options, one_shot=one_shot))
opened = backend.open()
device = backend.identify(backend.discover()[0])[0]
for _ in range(reads):
    reading = backend.read(device, Request(groups=frozenset(opt_in_groups())))[0]
    clock.advance(1.0)
backend.close()
print(json.dumps({
    "source": opened.source, "versions": dict(opened.versions), "uuid": device.uuid,
    "serial": device.serial, "model": device.model, "mode": device.partition_mode,
    "values": {":".join(series): value for series, value in reading.values.items()},
    "absent": {":".join(series): reason.value for series, reason in reading.absent.items()},
    "sources": reading.sources, "loaded": "amdsmi" in sys.modules,
}))
"""
FULL = """
major=26
gpus=2
0.bdf=0000:26:00.0
1.bdf=0000:05:00.0
1.uuid=aaff74a1-0000-1000-80bb-ccddeeff0011
1.serial=0xABCD
1.market=AMD Instinct MI300X
1.compute=SPX
1.memory=NPS1
1.errors=1 20 3
1.errors.1=1 20 -1
1.errors.4=0 0 0
1.pages=0 0 1
1.links=1 1 0 2
1.violations=1000 0 250 0 0 -1
"""


class Rig:
    """A machine with a poor set of files, and a stand-in library in a ROCm folder."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.rocm = folder / "rocm"
        self.scenario = folder / "scenario.txt"
        self.options: dict[str, str] = {}
        self.one_shot = False
        self.reads = 1

    def build(self, *left_out: str) -> None:
        library = self.rocm / "lib/libamd_smi.so"
        library.parent.mkdir(parents=True)
        subprocess.run([sys.executable, str(BUILD), str(library), *left_out], check=True)

    def run(self, scenario: str) -> subprocess.CompletedProcess[str]:
        self.scenario.write_text(scenario)
        environ = {
            **os.environ,
            "ROCM_PATH": str(self.rocm),
            "AMDSMI_STANDIN": str(self.scenario),
        }
        environ.pop("ROCM_HOME", None)
        arguments = [
            str(self.root),
            json.dumps(self.options),
            str(int(self.one_shot)),
            str(self.reads),
        ]
        return subprocess.run(
            [sys.executable, "-c", CHILD, *arguments],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def report(self, scenario: str) -> dict[str, Any]:
        done = self.run(scenario)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def rig(composed: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Rig:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler (cc) to build the stand-in library with")
    machine = composed("mi300x-x2")
    board = machine.root / "sys/devices/pci0000:00/0000:00:01.1/0000:05:00.0"
    shutil.rmtree(board / "ras")
    for name in ("gpu_metrics", "unique_id", "serial_number", "current_compute_partition"):
        (board / name).unlink()
    (board / "current_memory_partition").unlink()
    return Rig(machine.root, tmp_path_factory.mktemp("rig"))


def test_library_adds_what_the_files_lack(rig: Rig) -> None:
    rig.build()
    found = rig.report(FULL)
    assert found["source"] == "sysfs+amdsmi"
    assert found["versions"]["library"] == "26.0.2"
    assert found["uuid"] == "aaff74a1-0000-1000-80bb-ccddeeff0011"
    assert found["serial"] == "0x000000000000ABCD"
    assert found["mode"] == "SPX/NPS1"
    values = found["values"]
    assert values["ecc_errors_total:uncorrected"] == 1
    assert values["ecc_errors_total:deferred"] == 3
    assert values["ecc_location_errors_total:corrected:umc"] == 20
    assert values["ecc_location_errors_total:uncorrected:gfx"] == 0
    assert values["memory_retired_pages:uncorrected"] == 2
    assert values["memory_repair_pending"] == 1
    assert values["interconnect_links:xgmi:up"] == 2
    assert values["interconnect_links:xgmi:down"] == 1
    assert values["link_up:xgmi:2"] == 0
    assert values["power_watts"] == 612
    assert found["sources"]["ecc_errors_total"] == "amdsmi"
    assert found["sources"]["*"] == "sysfs"
    assert "power_watts" not in found["sources"]


def test_all_ones_of_the_library_are_no_value(rig: Rig) -> None:
    rig.build()
    values = rig.report(FULL)["values"]
    assert "ecc_location_errors_total:deferred:umc" not in values
    assert "link_up:xgmi:3" not in values


@pytest.mark.parametrize(
    ("true", "bogus", "umc"),
    [("1.errors=1 20 3", "1.errors=1048560 20 3", True)]
    + [
        ("1.errors.1=1 20 -1", f"1.errors.1={counts}", False)
        for counts in ("1048561 20 -1", "1 1048560 -1")
    ],
)
def test_counts_of_a_sleeping_block_are_no_value_from_the_library_either(
    rig: Rig, true: str, bogus: str, umc: bool
) -> None:
    rig.build()
    assert true in FULL
    found = rig.report(FULL.replace(true, bogus))
    assert found["absent"]["ecc_errors_total"] == "error"
    assert not any(series.startswith("ecc_errors_total") for series in found["values"])
    assert found["values"]["ecc_location_errors_total:uncorrected:gfx"] == 0
    assert ("ecc_location_errors_total:corrected:umc" in found["values"]) is umc


def test_violation_counters_become_seconds(rig: Rig) -> None:
    rig.build()
    rig.reads = 2
    found = rig.report(FULL)
    assert found["values"]["throttle_seconds_total:power"] == 0
    assert found["values"]["throttle_active:power"] == 0
    assert "throttle_seconds_total:memory_thermal" not in found["values"]


def test_what_the_library_does_not_support_is_left_alone(rig: Rig) -> None:
    rig.build()
    found = rig.report("major=26\ngpus=1\n0.bdf=0000:05:00.0\n")
    assert found["uuid"] is None
    assert "ecc_errors_total" not in found["absent"]
    assert found["values"]["utilization_ratio"] == 0.97
    assert found["sources"] == {"*": "sysfs"}


@pytest.mark.parametrize(
    ("status", "reason"), [(10, "permission"), (8, "timeout"), (7, "error"), (30, "error")]
)
def test_errors_of_the_library_are_reasons(rig: Rig, status: int, reason: str) -> None:
    rig.build()
    found = rig.report(FULL + f"status.amdsmi_get_gpu_total_ecc_count={status}\n")
    assert found["absent"]["ecc_errors_total"] == reason
    assert found["values"]["memory_retired_pages:uncorrected"] == 2


@pytest.mark.parametrize(
    "scenario",
    [FULL + "status.amdsmi_init=34\n", FULL + "status.amdsmi_get_lib_version=7\n"],
    ids=["driver not loaded", "no version"],
)
def test_library_that_does_not_start_costs_nothing(rig: Rig, scenario: str) -> None:
    rig.build()
    found = rig.report(scenario)
    assert found["source"] == "sysfs"
    assert found["values"]["utilization_ratio"] == 0.97


def test_library_of_another_release_is_not_used(rig: Rig) -> None:
    rig.build()
    done = rig.run(FULL.replace("major=26", "major=25"))
    found = json.loads(done.stdout)
    assert found["source"] == "sysfs"
    assert found["uuid"] is None
    assert "does not fit" in done.stderr


def test_older_library_without_a_symbol_is_not_used(rig: Rig) -> None:
    rig.build("amdsmi_get_violation_status")
    done = rig.run(FULL)
    found = json.loads(done.stdout)
    assert found["source"] == "sysfs"
    assert "AttributeError" in done.stderr
    assert found["values"]["power_watts"] == 612


def test_file_that_is_no_library_is_not_used(rig: Rig) -> None:
    library = rig.rocm / "lib/libamd_smi.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"\x7fELF garbage")
    found = rig.report(FULL)
    assert (found["source"], found["loaded"]) == ("sysfs", False)


def test_machine_without_the_library_never_imports_the_package(rig: Rig) -> None:
    found = rig.report(FULL)
    assert (found["source"], found["loaded"]) == ("sysfs", False)


def test_one_shot_readings_and_the_option_keep_the_library_out(rig: Rig) -> None:
    rig.build()
    rig.one_shot = True
    assert rig.report(FULL)["loaded"] is False
    rig.one_shot, rig.options = False, {"amdsmi": "never"}
    assert rig.report(FULL)["loaded"] is False


def test_crash_in_the_library_takes_its_process_along(rig: Rig) -> None:
    """Why the library is loaded in the collector child only: nothing in a process survives this."""
    rig.build()
    assert rig.run(FULL + "crash=amdsmi_get_gpu_total_ecc_count\n").returncode == -11


def test_every_name_of_the_protocol_is_in_the_installed_module(rig: Rig) -> None:
    rig.build()
    names = [name for name in amdsmi.AmdSmi.__annotations__ if not name.startswith("_")]
    assert "amdsmi_get_gpu_total_ecc_count" in names
    program = f"import amdsmi; print([n for n in {names!r} if not hasattr(amdsmi, n)])"
    environ = {**os.environ, "ROCM_PATH": str(rig.rocm)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_importing_the_backend_loads_no_vendor_library() -> None:
    program = "import accelwatch_amd, sys; print('amdsmi' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_the_check_of_the_library_does_not_load_it(tmp_path: Path) -> None:
    check = amdsmi.library_check(Context(root=tmp_path, options={"amdsmi": "never"}))
    assert check.ok
    assert "switched off" in check.found
