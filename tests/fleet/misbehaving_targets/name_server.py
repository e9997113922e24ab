"""A name server on 127.0.0.1:53 of a namespace: `*.good.test` is 127.0.0.1, `*.gone.test` is not there.

`*.hang.test` is never answered until the file that is given is there; then it is 127.0.0.1 too.
"""

import socket
import struct
import sys
from pathlib import Path

_ANSWER, _NO_SUCH_NAME, _FAILED = 0x8180, 0x8183, 0x8182  # RFC 1035, 4.1.1
_A = 1


def name_of(question: bytes) -> str:
    """The name that is asked for."""
    labels, at = [], 0
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode())
        at += 1 + length
    return ".".join(labels)


def reply(query: bytes, mended: Path) -> bytes | None:
    """The answer to a question; None for silence."""
    end = query.index(b"\0", 12) + 5
    name, (kind,) = name_of(query[12:]), struct.unpack(">H", query[end - 4 : end - 2])
    there = name.endswith(".good.test") or (name.endswith(".hang.test") and mended.exists())
    if not there and name.endswith(".hang.test"):
        return None
    flags = _ANSWER if there else _NO_SUCH_NAME if name.endswith(".gone.test") else _FAILED
    found = there and kind == _A
    head = query[:2] + struct.pack(">HHHHH", flags, 1, int(found), 0, 0) + query[12:end]
    record = b"\xc0\x0c" + struct.pack(">HHIH", _A, 1, 1, 4) + bytes((127, 0, 0, 1))
    return head + (record if found else b"")


def main() -> None:
    """Answer until killed."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 53))
        print("ready", flush=True)
        while True:
            query, client = server.recvfrom(4096)
            answer = reply(query, Path(sys.argv[1]))
            if answer is not None:
                server.sendto(answer, client)


if __name__ == "__main__":
    main()
