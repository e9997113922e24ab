"""Where the Level Zero loader lies, and whether the options want it; loads nothing."""

from collections.abc import Sequence
from pathlib import Path

from accelwatch.backend import Check, Context
from accelwatch.schema.device import DeviceKind
from accelwatch_intel.card import Card

LIBRARIES = ("libze_loader.so.1", "libze_loader.so")

_FOLDERS = (
    "usr/lib/x86_64-linux-gnu",
    "lib/x86_64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "usr/local/lib",
    "usr/local/lib64",
)
_REMEDY = "install level-zero (libze1) and the GPU's compute runtime for memory, ECC and Xe Link"


def chosen_path(context: Context) -> str:
    """The loader that the option `level_zero_library` names; empty for the usual one."""
    return str(context.options.get("level_zero_library") or "")


def is_enabled(context: Context, cards: Sequence[Card]) -> bool:
    """Whether Sysman is to be used: the option `sysman`, and with `auto` a discrete card."""
    gpus = [card for card in cards if card.kind is DeviceKind.GPU]
    choice = context.options.get("sysman", "auto")
    if choice in ("on", True):
        return bool(gpus)
    return choice == "auto" and any(card.discrete for card in gpus)


def check(context: Context, cards: Sequence[Card]) -> Check:
    """Whether the library lies where distributions put it."""
    own = chosen_path(context)
    paths = (
        [Path(own)]
        if own
        else [context.root / folder / name for folder in _FOLDERS for name in LIBRARIES]
    )
    library = next((path for path in paths if path.exists()), None)
    if library is not None:
        return Check(subject=LIBRARIES[0], ok=True, found=str(library))
    enabled = is_enabled(context, cards)
    return Check(
        subject=LIBRARIES[0],
        ok=not enabled,
        found="not found" if enabled else "not found, and not requested",
        remedy=_REMEDY if enabled else "",
    )
