"""Parses `-q -x` of nvidia-smi and its relatives into elements, one a GPU: no DTD, no entities.

A document may be cut off or damaged (a killed process, a full pipe); what has not ended is not used.
"""

import re
import xml.etree.ElementTree as ET  # only Element; the parsing is ours
from collections.abc import Mapping
from xml.parsers import expat

import msgspec

from accelwatch.system.processes.printed import plain

# Real documents nest eight deep.
MAX_DEPTH = 32
_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_STRAY_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")
# nvidia-smi of driver 610 writes that, to a bracket at the end, behind values whose names will go.
_NOTE = " [Deprecated"


class SmiDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document as far as it could be read."""

    driver_version: str | None = None
    cuda_version: str | None = None
    # `gpu` elements that are complete.
    gpus: tuple[ET.Element, ...] = ()
    complete: bool = False
    # Why it is not complete.
    fault: str = ""


class _RefusedError(Exception):
    """The document holds what no such tool prints."""


def parse_log(content: bytes, root: str) -> SmiDocument:
    """The document with this root; never raises.

    Text that is not UTF-8 is replaced, a stray `&` is read as text. Warnings before
    and after it (`WARNING: infoROM is corrupted ...`) are left out.
    """
    text = _ILLEGAL.sub("\ufffd", plain(content).decode("utf-8", "replace"))
    end = f"</{root}>"
    first, last = re.search(rf"<\?xml|<!DOCTYPE|<{root}", text), text.rfind(end)
    text = text[first.start() if first else 0 : last + len(end) if last >= 0 else None]
    builder = _Builder(root)
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = builder.refuse
    parser.ExternalEntityRefHandler = builder.refuse
    fault = ""
    try:
        parser.Parse(_STRAY_AMPERSAND.sub("&amp;", text).encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        fault = str(error)
    except _RefusedError as error:
        return SmiDocument(fault=str(error))
    return SmiDocument(
        driver_version=_version(builder.texts, "driver_version", "kmd_version"),
        cuda_version=_version(builder.texts, "cuda_version", "cuda_umd_version"),
        gpus=tuple(builder.gpus),
        complete=not fault and builder.root == root,
        fault=fault,
    )


def _version(texts: Mapping[str, str], *tags: str) -> str | None:
    """The first that is a version, not a sentence or `N/A` instead of one."""
    candidates = (texts[tag] for tag in tags if tag in texts)
    return next((text for text in candidates if text[:1].isdecimal()), None)


def _without_note(text: str) -> str:
    return text.partition(_NOTE)[0] if text.endswith("]") else text


class _Builder:
    """Collects complete `gpu` elements and the texts beside them."""

    def __init__(self, expected: str) -> None:
        self._expected = expected
        self.gpus: list[ET.Element] = []
        self.texts: dict[str, str] = {}
        self.root = ""
        self._open: list[ET.Element] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise _RefusedError("elements nest too deep")
        element = ET.Element(tag, attributes)
        element.text = ""
        if self._open:
            self._open[-1].append(element)
        else:
            self.root = tag
        self._open.append(element)

    def data(self, text: str) -> None:
        if self._open:
            element = self._open[-1]
            element.text = (element.text or "") + text

    def end(self, _: str) -> None:
        element = self._open.pop()
        element.text = _without_note(element.text or "")
        if len(self._open) != 1 or self.root != self._expected:
            return
        if element.tag == "gpu":
            self.gpus.append(element)
        elif len(element) == 0:
            self.texts[element.tag] = element.text.strip()

    def refuse(self, *_: object) -> int:
        raise _RefusedError("the document declares entities")
