"""Which machine this is, and which of its boots: ids that the firmware and the kernel give."""

from pathlib import Path

# Uuids that boards bear on which nobody wrote one.
_DUMMIES = frozenset(
    {
        "03000200-0400-0500-0006-000700080009",
        "12345678-1234-5678-90ab-cddeefaabbcc",
    }
)


def boot_id(root: Path) -> str:
    """The kernel's random id of this boot; empty where it cannot be read."""
    return _line(root / "proc/sys/kernel/random/boot_id")


def system_uuid(root: Path) -> str:
    """The firmware's uuid of the machine; empty where it has none, or only root may read it."""
    uuid = _line(root / "sys/class/dmi/id/product_uuid").casefold()
    return "" if uuid in _DUMMIES or set(uuid) <= set("0-") or set(uuid) <= set("f-") else uuid


def _line(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""
