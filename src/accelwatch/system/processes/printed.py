"""What a vendor's command printed, without what is for terminals, and the JSON among its lines. Pure."""

import codecs
import json
import re
from collections.abc import Iterator

_ESCAPE = b"\x1b"
# Of ECMA-48: a control sequence, a string of the operating system, and the others of one letter.
_SEQUENCE = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[@-Z\\-_])"
)
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DOCUMENT_START = re.compile(r"^[{\[]", re.MULTILINE)
# A control character in a text, as of a command line, is allowed.
_DECODER = json.JSONDecoder(strict=False)
_MOST_ATTEMPTS = 64


def plain(output: bytes) -> bytes:
    """The output as UTF-8 without marks of its encoding, NULs at its end, colours and movements."""
    if output.startswith(_UTF_16):
        # A Windows shell makes that of redirected output.
        output = output.decode("utf-16", "replace").encode("utf-8", "replace")
    output = output.removeprefix(codecs.BOM_UTF8).rstrip(b"\0")
    return _SEQUENCE.sub(b"", output) if _ESCAPE in output else output


def complete_lines(output: bytes) -> list[str]:
    """The lines, but for a last one without its end: of a number that was cut nobody knows the rest."""
    lines = output.decode("utf-8", "replace").splitlines(keepends=True)
    if lines and not lines[-1].endswith(("\n", "\r")):
        del lines[-1]
    return [line.rstrip("\r\n") for line in lines]


def json_documents(output: bytes) -> Iterator[object]:
    """The documents that begin a line, in order, whatever lines stand before, between and after them."""
    text = plain(output).decode("utf-8", "replace").lstrip()
    at = 0
    for _ in range(_MOST_ATTEMPTS):
        opening = _DOCUMENT_START.search(text, at)
        if opening is None:
            return
        try:
            document, at = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            at = opening.end()
            continue
        yield document
