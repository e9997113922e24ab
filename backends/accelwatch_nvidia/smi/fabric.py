"""Registration of a GPU with its NVLink fabric, from the words that nvidia-smi prints. Pure."""

from collections.abc import Mapping

from accelwatch_nvidia.quantities.fabric import Registration, registration
from accelwatch_nvidia.smi import text as smi_text

# Per element of `fabric/health`: what it says of a healthy fabric; an absence is no fault either.
_GOOD_TEXTS: Mapping[str, frozenset[str]] = {
    "bandwidth": frozenset({"full"}),
    "route_recovery_in_progress": frozenset({"false"}),
    "route_unhealthy": frozenset({"false"}),
    "access_timeout_recovery": frozenset({"false"}),
    "incorrect_configuration": frozenset({"none", "false"}),
    "summary": frozenset({"healthy", "limited capacity"}),
}


# Other words are NVML's sentence for the return code, `Unknown Error` among them.
_NO_FAILURE = ("success", "n/a", "")


def from_texts(state: str, status: str, health: Mapping[str, str]) -> Registration:
    """Registration of nvidia-smi's `fabric` element; `health` holds the text of each of its leaves."""
    faults = [
        f"{tag.replace('_', ' ')}: {text}"
        for tag, good in _GOOD_TEXTS.items()
        if (text := health.get(tag, "N/A"))
        and smi_text.absence(text) is None
        and text.lower() not in good
    ]
    failure = "" if status.lower() in _NO_FAILURE else status
    limited = health.get("summary", "").lower() == "limited capacity"
    return registration(smi_text.label_value(state), failure, faults, limited=limited)
