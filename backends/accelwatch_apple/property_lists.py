"""Apple's property lists in XML, of which nothing is trusted. Pure."""

import plistlib


def property_list(text: bytes) -> object | None:
    """The document; None for what is none."""
    try:
        document: object = plistlib.loads(text.strip(), fmt=plistlib.FMT_XML)
    except Exception:  # noqa: BLE001 - plistlib raises whatever its conversions do
        return None
    return document
