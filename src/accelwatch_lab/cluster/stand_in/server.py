"""The stand-in's scheduler as a process: hooks and readings over HTTP on loopback, in rounds."""

import argparse
import getpass
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec

from accelwatch_lab.cluster.power import is_off, power_off
from accelwatch_lab.cluster.stand_in.hook_documents import Call
from accelwatch_lab.cluster.stand_in.hooks import HookRunner
from accelwatch_lab.cluster.stand_in.observation import job_document, node_document, observe
from accelwatch_lab.cluster.stand_in.state import SchedulerState
from accelwatch_lab.cluster.stand_in.wire import ORDERS, REPORTS, Orders, Report, got, write

# A daemon that has not reported for so long does not answer.
ANSWERS_S = 3.0
_ROUND_S = 0.05
_MOST = 1 << 20


class Submit(msgspec.Struct, frozen=True, kw_only=True):
    """A job of a user."""

    count: int


class Drain(msgspec.Struct, frozen=True, kw_only=True):
    """What an administrator does: without a reason the node accepts work again."""

    node: str
    reason: str = ""


class Cancel(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a job."""

    job: str


class Scheduler:
    """The state, under a lock, and what daemons report to it."""

    def __init__(self, folder: Path, names: list[str], spares: list[str]) -> None:
        self._folder = folder
        self._user = getpass.getuser()
        self._state = SchedulerState(names, spares, self._user)
        self._hooks = HookRunner(self._state)
        # Guards the state: requests are served on threads, and the round of the scheduler changes
        # the same state.
        self._lock = threading.Lock()
        self._ordered: dict[str, Orders] = {}
        self._off = partial(is_off, folder)

    def round(self) -> None:
        """Read the daemons' reports once, and do what follows. Raises OSError."""
        now = time.monotonic()
        with self._lock:
            names = list(self._state.nodes)
            reports = {name: got(self._folder, REPORTS, name, Report) for name in names}
            fresh = {
                name: report
                for name, report in reports.items()
                if report is not None and now - report.time < ANSWERS_S
            }
            self._state.step(fresh, self._off, time.time())
            for name in names:
                orders = self._state.orders[name]
                if self._ordered.get(name) != orders:
                    write(self._folder, ORDERS, name, orders)
                    self._ordered[name] = orders

    def shown(self, path: str) -> object | None:
        """A page; None when there is none."""
        with self._lock:
            if path == "/nodes":
                return {"nodes": [node_document(self._state, name) for name in self._state.nodes]}
            kind, _, name = path[1:].partition("/")
            return job_document(self._state, name) if kind == "jobs" else None

    def answer(self, path: str, body: bytes) -> object | None:
        """The answer to a POST; None for a path that there is not. Raises ValueError, KeyError."""
        match path:
            case "/observe":
                call = msgspec.json.decode(body, type=Call)
                with self._lock:
                    return observe(self._state, call, self._off)
            case "/jobs":
                count = msgspec.json.decode(body, type=Submit).count
                with self._lock:
                    return {"id": self._state.submit(count, time.time())}
            case "/cancel":
                with self._lock:
                    self._state.cancel(msgspec.json.decode(body, type=Cancel).job)
                return {}
            case "/nodes":
                self._administer(msgspec.json.decode(body, type=Drain))
                return {}
            case _:
                return self._hook(path, body)

    def _administer(self, request: Drain) -> None:
        with self._lock:
            if request.reason:
                self._state.drain(request.node, request.reason, self._user, time.time())
            else:
                self._state.resume(request.node)

    def _hook(self, path: str, body: bytes) -> object | None:
        kind, _, name = path[1:].partition("/")
        if kind != "hooks":
            return None
        call = msgspec.json.decode(body, type=Call)
        if call.hook != name:
            raise ValueError(f"{call.hook} was sent to {path}")
        with self._lock:
            refusal = self._hooks.refusal(call)
        if refusal is None and name == "fence" and not call.dry_run:
            # Lasts a moment: nobody waits for it but the caller.
            power_off(self._folder, call.entity.node)
        with self._lock:
            return self._hooks.act(call, time.time())


def server(scheduler: Scheduler, port: int) -> ThreadingHTTPServer:
    """It, as a server on loopback; not started."""

    class Handler(BaseHTTPRequestHandler):
        """Reads and writes JSON."""

        def do_GET(self) -> None:
            """A page, or 404."""
            self._answer(lambda: scheduler.shown(self.path))

        def do_POST(self) -> None:
            """A hook, an observation, a user's or an administrator's request."""
            length = min(int(self.headers.get("Content-Length") or 0), _MOST)
            body = self.rfile.read(length)
            self._answer(lambda: scheduler.answer(self.path, body))

        def _answer(self, respond: Any) -> None:
            try:
                reply = respond()
            except (ValueError, KeyError) as error:
                self.send_error(400, explain=repr(error))
                return
            if reply is None:
                self.send_error(404)
                return
            text = msgspec.json.encode(reply)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", required=True, help="NAME,NAME")
    parser.add_argument("--spares", default="", help="NAME,NAME")
    options = parser.parse_args()
    spares = [name for name in options.spares.split(",") if name]
    scheduler = Scheduler(options.folder, options.nodes.split(","), spares)
    threading.Thread(target=server(scheduler, options.port).serve_forever, daemon=True).start()
    while True:
        scheduler.round()
        time.sleep(_ROUND_S)


if __name__ == "__main__":
    main()
