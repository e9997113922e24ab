"""A receiver of alerts on loopback: it prints a line for each, and keeps them as JSON lines."""

import argparse
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.untrusted_text import printable

_MOST = 1 << 20


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """A notification as a receiver gets it."""

    # Unix seconds of its arrival.
    time: float
    # `opened`, `closed`, ...
    kind: str
    title: str
    where: str
    severity: str


class _Data(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    title: str = ""
    where: str = ""
    severity: str = ""


class _Body(msgspec.Struct, frozen=True, kw_only=True):
    data: _Data


def alerts_of(file: Path) -> list[Alert]:
    """Every alert that has arrived so far."""
    try:
        text = file.read_bytes()
    except OSError:
        return []
    complete = text[: text.rfind(b"\n") + 1]
    return [msgspec.json.decode(line, type=Alert) for line in complete.splitlines()]


def receiver(port: int, file: Path) -> HTTPServer:
    """A server that keeps alerts in a file; not started."""

    class Handler(BaseHTTPRequestHandler):
        """Accepts any POST."""

        def do_POST(self) -> None:
            """An alert, or 400."""
            length = min(int(self.headers.get("Content-Length") or 0), _MOST)
            try:
                data = msgspec.json.decode(self.rfile.read(length), type=_Body).data
            except DECODE_ERRORS:
                self.send_error(400)
                return
            _append_alert(file, data)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing: the alerts are what is printed."""

    return HTTPServer(("127.0.0.1", port), Handler)


def _append_alert(file: Path, data: _Data) -> None:
    alert = Alert(time=time.time(), **msgspec.structs.asdict(data))
    with file.open("ab") as out:
        out.write(msgspec.json.encode(alert) + b"\n")
    clock = time.strftime("%H:%M:%S", time.localtime(alert.time))
    text = f"{clock}  {alert.severity}  {alert.kind}: {alert.where}: {alert.title}"
    sys.stdout.write(f"{printable(text)}\n")
    sys.stdout.flush()


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    receiver(options.port, options.file).serve_forever()


if __name__ == "__main__":
    main()
