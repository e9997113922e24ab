"""Keys from the terminal, by a thread that sleeps until one is pressed.

Textual's own driver looks for keys ten times a second, which is a tenth of what a dashboard costs on a
quiet machine.
"""

import codecs
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, TextIO, cast

from textual import constants
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from accelwatch.tui.terminal import textual_private

# Bytes that are read at once.
_MOST = 4096
# How many ticks after a key to check whether a lone Escape was all that came.
_QUICK_TICKS = 2


def driver_class() -> type[Driver] | None:
    """The driver for a terminal; None for Textual's own choice.

    That is where the environment names another, as a web server does, or no parser of keys is known.
    """
    ours = constants.DRIVER is None and textual_private.can_parse_keys()
    return TerminalInput if ours else None


class ReadableEvent(threading.Event):
    """An event that a thread can wait for together with files: readable while it is set."""

    def __init__(self) -> None:
        super().__init__()
        self._closed = True
        self.open()

    def open(self) -> None:
        """Have a pipe; again, where it was closed."""
        if self._closed:
            self._out, self._in = os.pipe()
            self._closed = False

    def fileno(self) -> int:
        """For `select`."""
        return self._out

    def set(self) -> None:
        """Wake the waiting thread."""
        if not self.is_set():
            super().set()
            os.write(self._in, b"\0")

    def clear(self) -> None:
        """Let others wait again."""
        if self.is_set():
            os.read(self._out, 1)
            super().clear()

    def close(self) -> None:
        """Give the pipe back."""
        if not self._closed:
            self._closed = True
            os.close(self._out)
            os.close(self._in)


class TerminalOutput:
    """Where the screen is written to; what comes after the terminal has gone goes nowhere.

    With the error Textual's thread that writes would end, and who has more to write, if only to say that
    it was the last, would wait for that thread for ever.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._detached = False

    def write(self, text: str) -> int:
        """Write, or let go."""
        self._try(lambda: self._file.write(text))
        return len(text)

    def flush(self) -> None:
        """Have it shown, or let go."""
        self._try(self._file.flush)

    def _try(self, job: Callable[[], object]) -> None:
        if not self._detached:
            try:
                job()
            except OSError:
                self._detached = True

    def fileno(self) -> int:
        """The terminal's descriptor."""
        return self._file.fileno()


class TerminalInput(LinuxDriver):
    """Textual's driver of a terminal with a way of its own to wait for keys."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        # Textual's own choice is stderr: `2>/dev/null` would leave an empty screen.
        if sys.__stdout__ is not None:
            textual_private.redirect(self, cast(TextIO, TerminalOutput(sys.__stdout__)))
        self.exit_event: ReadableEvent = ReadableEvent()
        # Asked now: of a terminal that is gone the answer would be no.
        self.is_terminal = os.isatty(self.fileno)

    def start_application_mode(self) -> None:
        """Begin, or go on after the terminal was another's: to give it away is to close."""
        self.exit_event.open()
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Give everything back."""
        super().close()
        self.exit_event.close()

    def run_input_thread(self) -> None:
        """Hand over what is typed until input is disabled, or the terminal is gone."""
        parser = textual_private.key_parser(self)
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        ticks = _QUICK_TICKS
        while True:
            pause = constants.ESCAPE_DELAY if ticks else None
            ready, _, _ = select.select([self.fileno, self.exit_event], [], [], pause)
            if self.exit_event in ready:
                return
            ticks = max(ticks - 1, 0)
            if ready:
                typed = self._read()
                if not typed:
                    if self.is_terminal:
                        # The kernel sends it for a controlling terminal only.
                        os.kill(os.getpid(), signal.SIGHUP)
                    return
                ticks = _QUICK_TICKS
                if text := decode(typed):
                    self._hand_over(parser.feed(text))
            self._hand_over(parser.tick())

    def _read(self) -> bytes:
        """What was typed; empty when nothing ever will be."""
        try:
            return os.read(self.fileno, _MOST)
        except OSError:  # of a terminal whose other end was closed
            return b""

    def _hand_over(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)
