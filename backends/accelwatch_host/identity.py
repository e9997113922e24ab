"""Who the host is, from files under the root that never block."""

import hashlib
import hmac
import uuid
from pathlib import Path

from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.sysfs import read_text

VENDOR = "host"
_APPLICATION = b"accelwatch host identity"
_PLACEHOLDERS = frozenset({"", "to be filled by o.e.m.", "default string", "system product name"})


def _text(path: Path) -> str | None:
    text = read_text(path)
    return None if isinstance(text, Absence) or not text else text


def machine_uuid(machine_id: str) -> str | None:
    """An identity derived from /etc/machine-id; None when that is not 32 hexadecimal digits.

    machine-id(5) asks not to show the id itself on a network, but a keyed hash of it.
    """
    try:
        key = bytes.fromhex(machine_id)
    except ValueError:
        return None
    if len(key) != 16:
        return None
    digest = hmac.new(key, _APPLICATION, hashlib.sha256).digest()
    return str(uuid.UUID(bytes=digest[:16]))


def _model(root: Path) -> str | None:
    """Vendor and product from DMI, else the device tree's model, else the kernel and its release."""
    dmi = root / "sys/class/dmi/id"
    words = [_text(dmi / "sys_vendor"), _text(dmi / "product_name")]
    named = [word for word in words if word and word.lower() not in _PLACEHOLDERS]
    model = " ".join(named) or _text(root / "proc/device-tree/model")
    return model or " ".join(filter(None, _kernel(root))) or None


def _kernel(root: Path) -> tuple[str | None, str | None]:
    folder = root / "proc/sys/kernel"
    return _text(folder / "ostype"), _text(folder / "osrelease")


def host_name(root: Path) -> str | None:
    """The kernel's host name."""
    return _text(root / "proc/sys/kernel/hostname")


def host_device(root: Path, backend: str) -> Device:
    """Identity of the host; `driver_version` is the kernel release."""
    machine_id = _text(root / "etc/machine-id") or _text(root / "var/lib/dbus/machine-id")
    unique = machine_uuid(machine_id) if machine_id else None
    return Device(
        id=f"{VENDOR}:{unique or host_name(root) or 'unknown'}",
        vendor=VENDOR,
        backend=backend,
        index=0,
        name="host",
        kind=DeviceKind.HOST,
        model=_model(root),
        uuid=unique,
        driver_version=_kernel(root)[1],
        boot_id=_text(root / "proc/sys/kernel/random/boot_id"),
    )
