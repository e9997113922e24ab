"""GPUs of Moore Threads: found on the PCI bus, read through mthreads-gmi, two runs for all of them."""

from accelwatch.backend import Support, Visibility
from accelwatch.backend.kit.smi.backend import SmiBackend
from accelwatch_mthreads.vendor import VENDOR


class MthreadsBackend(SmiBackend):
    """Options: `mthreads_gmi` (path of the command), `pace_s` (seconds between two runs)."""

    name = vendor = VENDOR.name
    serial = False
    remote = "accelwatch_mthreads.vendor:REMOTE"
    visibility = Visibility(variable="MUSA_VISIBLE_DEVICES")
    support = Support(
        vendor="Moore Threads",
        source="`mthreads-gmi -q --json`, else `-q`; its table for processes and for all that is older",
        tested_with="recorded tables of an S80 and an S5000; composed documents, texts and tables, "
        "healthy and faulty",
    )
    smi = VENDOR
    command = VENDOR.command
    options = command.options
