"""The names that are used exist in the installed binding, and importing the backend loads none of it."""

import subprocess
import sys

import pytest

from accelwatch_nvidia.nvml import library
from accelwatch_nvidia.nvml.nvml import import_library
from accelwatch_nvidia.quantities import functions


def protocol_names() -> list[str]:
    own = vars(library.Library)
    names = {name for name in own if name.startswith(("nvml", "c_nvml"))}
    return sorted(names | {name for name in own["__annotations__"] if not name.startswith("_")})


@pytest.mark.parametrize("name", [*protocol_names(), *functions.FUNCTIONS, *functions.STRUCTURES])
def test_each_name_exists_in_pynvml(name: str) -> None:
    assert hasattr(import_library(), name)


def test_import_of_the_backend_loads_no_vendor_library() -> None:
    program = (
        "import sys, accelwatch_nvidia; from accelwatch.backend import Context;"
        "accelwatch_nvidia.NvidiaBackend(Context()).probe();"
        "print([m for m in ('pynvml', 'ctypes', 'xml', 'subprocess') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"


def test_the_library_sees_the_interpreter_as_it_is() -> None:
    program = (
        "import ctypes.util, sys\n"
        "before = sys.modules['ctypes.util']\n"
        "from accelwatch_nvidia.nvml.nvml import import_library\n"
        "library = import_library()\n"
        "print(sys.modules['ctypes.util'] is before, library.find_library is before.find_library)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout == "True True\n"
