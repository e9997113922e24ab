"""The document of `nvidia-smi -q -x`."""

from accelwatch.smi_xml import MAX_DEPTH, Document, parse_log

__all__ = ["MAX_DEPTH", "Document", "parse"]


def parse(content: bytes) -> Document:
    """The document as far as it could be read; never raises."""
    return parse_log(content, "nvidia_smi_log")
