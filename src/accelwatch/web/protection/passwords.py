"""bcrypt checks off the event loop, on a few daemon threads behind a bounded queue.

A check lasts tens of milliseconds by design. A verified password is cached, as a keyed digest,
so that the next scrape costs nothing; a wrong password always costs a full check.
"""

import asyncio
import hashlib
import hmac
import os
import queue
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

_THREADS = 2
_WAITING = 32
_REMEMBERED = 64
# Salt and digest of no password in use; checked when the user is unknown, so that it costs the same.
_FILLER = "N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"


class Busy(Exception):  # noqa: N818 - a state of the server
    """Too many checks wait already."""


class _Check(NamedTuple):
    hashed: str
    password: bytes
    done: Callable[[bool], None]


class PasswordChecker:
    """Owned by the event loop; `close` lets the threads end."""

    def __init__(self) -> None:
        self._secret = os.urandom(32)
        self._verified: dict[bytes, None] = {}
        self._queue: queue.Queue[_Check | None] = queue.Queue(_WAITING)
        self._threads: list[threading.Thread] = []

    async def check(self, users: Mapping[str, str], user: str, password: str) -> bool:
        """Whether the password is the user's. Raises Busy."""
        data = password.encode("utf-8", "surrogateescape")
        hashed = users.get(user)
        digest = self._digest(user, hashed or "", data)
        if hashed is not None and digest in self._verified:
            return True
        correct = await self._run(hashed or _stand_in(users), data)
        if hashed is None or not correct:
            return False
        while len(self._verified) >= _REMEMBERED:
            del self._verified[next(iter(self._verified))]
        self._verified[digest] = None
        return True

    def _digest(self, user: str, hashed: str, password: bytes) -> bytes:
        components = (user.encode("utf-8", "surrogateescape"), hashed.encode(), password)
        message = b"".join(hashlib.sha256(component).digest() for component in components)
        return hmac.digest(self._secret, message, "sha256")

    async def _run(self, hashed: str, password: bytes) -> bool:
        self._start()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bool] = loop.create_future()

        def settle(correct: bool) -> None:
            if not answer.done():
                answer.set_result(correct)

        def done(correct: bool) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, correct)

        try:
            self._queue.put_nowait(_Check(hashed, password, done))
        except queue.Full as error:
            raise Busy("too many passwords wait to be checked") from error
        return await answer

    def _start(self) -> None:
        if not self._threads:
            self._threads = [
                threading.Thread(target=self._work, name=f"password-{number}", daemon=True)
                for number in range(_THREADS)
            ]
            for thread in self._threads:
                thread.start()

    def _work(self) -> None:
        import bcrypt

        while (check := self._queue.get()) is not None:
            try:
                correct = bcrypt.checkpw(check.password, check.hashed.encode())
            except ValueError:  # longer than bcrypt accepts, or a null byte: nobody's password
                correct = False
            try:
                check.done(correct)
            except RuntimeError:
                return  # the loop was closed meanwhile; nobody waits for an answer

    def close(self) -> None:
        """Let the threads end; checks that still wait are left unanswered."""
        while True:
            try:
                self._queue.get_nowait()
            except queue.Empty:
                break
        for _ in self._threads:
            self._queue.put_nowait(None)
        self._threads = []


def _stand_in(users: Mapping[str, str]) -> str:
    cost = next(iter(users.values()))[4:6] if users else "10"
    return f"$2b${cost}${_FILLER}"
