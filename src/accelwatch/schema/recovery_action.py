"""The recovery action that a driver requests for a GPU: NVML's numbers and nvidia-smi's words.

Relatives of nvidia-smi print the same words.
"""

from collections.abc import Mapping
from types import MappingProxyType

# nvmlDeviceGpuRecoveryAction_t (nvml.h), field 230; the names are the catalogue's.
ACTIONS: Mapping[int, str] = MappingProxyType(
    {
        0: "none",
        1: "gpu_reset",
        2: "node_reboot",
        3: "drain_p2p",
        4: "drain_and_reset",
        5: "recover_imex_domain",
        6: "bus_reset",
        7: "system_reboot",
    }
)
# It concerns the NVLink domain of many nodes: no GPU is to be reset, and no node drained.
OF_DOMAIN = "recover_imex_domain"
# What nvidia-smi prints for those that it has words for (its manual, "GPU Recovery Action").
PRINTED_TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "none": "None",
        "gpu_reset": "Reset",
        "node_reboot": "Reboot",
        "drain_p2p": "Drain P2P",
        "drain_and_reset": "Drain and Reset",
    }
)
_NAMES = {text.lower().replace(" ", "_"): name for name, text in PRINTED_TEXTS.items()}


def concerns_device(name: str) -> bool:
    """Whether an action is about the GPU or its node."""
    return name not in ("none", OF_DOMAIN)


def name_of(text: str) -> str:
    """The name for a printed word, in lower case and with `_`; another word is a name already."""
    return _NAMES.get(text, text)
