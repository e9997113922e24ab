"""GPUs of Iluvatar CoreX: found on the PCI bus, read through ixsmi, two runs for all of them."""

from collections.abc import Mapping

from accelwatch.backend import Support, Visibility
from accelwatch.backend.kit.smi.backend import SmiBackend
from accelwatch_iluvatar.vendor import VENDOR

_LIBRARIES = ("lib64", "lib")


class IluvatarBackend(SmiBackend):
    """Options: `ixsmi` (path of the command), `pace_s` (seconds between two runs)."""

    name = vendor = VENDOR.name
    serial = False
    remote = "accelwatch_iluvatar.vendor:REMOTE"
    visibility = Visibility(variable="CUDA_VISIBLE_DEVICES")
    support = Support(
        vendor="Iluvatar",
        source="`ixsmi -q -x`, else `-q`; its table for processes and where it has nothing else",
        tested_with="recorded tables of a BI-V100, BI-V150 and MR-V100 DUO; composed documents, texts "
        "and tables, healthy and faulty",
    )
    smi = VENDOR
    command = VENDOR.command
    options = command.options

    def environ(self) -> Mapping[str, str]:
        """The libraries beside the command, which the driver's installer makes known to nobody."""
        home = self._program.parent.parent
        folders = [home / name for name in _LIBRARIES if (home / name / "libixml.so").exists()]
        return {"LD_LIBRARY_PATH": ":".join(map(str, folders))} if folders else {}
