"""Keys come from the terminal at once, a lone Escape too; the thread that waits ends when told."""

import io
import os
import pty
import select
import signal
import threading
import tty
from collections.abc import Iterator

import pytest
from textual import constants, events
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread
from textual.message import Message

from accelwatch.tui.terminal.input import (
    ReadableEvent,
    TerminalInput,
    TerminalOutput,
    driver_class,
)
from support.processes.waiting import wait_until


class Keyboard:
    """The far end of a terminal at whose near end the driver listens, without an application."""

    def __init__(self) -> None:
        self.received: list[str] = []
        self._far, self._near = pty.openpty()
        tty.setraw(self._near)
        driver = self.driver = TerminalInput.__new__(TerminalInput)
        driver.fileno, driver._debug, driver.exit_event = self._near, False, ReadableEvent()
        driver.is_terminal = True
        driver.process_message = self._receive  # type: ignore[method-assign]

    def _receive(self, message: Message) -> None:
        if isinstance(message, events.Key):
            self.received.append(message.key)

    def listen(self) -> threading.Thread:
        thread = threading.Thread(target=self.driver.run_input_thread, daemon=True)
        thread.start()
        return thread

    def press(self, keys: bytes) -> None:
        os.write(self._far, keys)

    def hang_up(self) -> None:
        os.close(self._far)
        self._far = -1

    def close(self) -> None:
        self.driver.exit_event.set()
        if self._far >= 0:
            os.close(self._far)
        os.close(self._near)


@pytest.fixture
def keyboard() -> Iterator[Keyboard]:
    keyboard = Keyboard()
    yield keyboard
    keyboard.close()


def test_keys_come_as_they_are_pressed(keyboard: Keyboard) -> None:
    thread = keyboard.listen()
    for keys in (b"a", b"\x1b[A", b"\xc3", b"\xa9"):
        keyboard.press(keys)
    wait_until(lambda: len(keyboard.received) == 3)
    assert keyboard.received == ["a", "up", "é"]
    keyboard.driver.exit_event.set()
    thread.join(60.0)


def test_a_lone_escape_is_a_key_without_another_one(keyboard: Keyboard) -> None:
    thread = keyboard.listen()
    keyboard.press(b"\x1b")
    wait_until(lambda: keyboard.received == ["escape"])
    keyboard.driver.exit_event.set()
    thread.join(60.0)


def test_listening_stops_when_requested_and_starts_anew(keyboard: Keyboard) -> None:
    for key in ("a", "b"):
        thread = keyboard.listen()
        keyboard.press(key.encode())
        wait_until(lambda: keyboard.received)
        assert keyboard.received.pop() == key
        keyboard.driver.exit_event.set()
        thread.join(60.0)
        assert not thread.is_alive()
        keyboard.driver.exit_event.clear()


def test_an_input_that_ends_is_no_terminal_and_ends_no_program(keyboard: Keyboard) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    keyboard.driver.fileno, keyboard.driver.is_terminal = nothing, False
    thread = keyboard.listen()
    thread.join(60.0)
    os.close(nothing)
    assert not thread.is_alive()


def test_a_terminal_that_is_gone_hangs_up(keyboard: Keyboard) -> None:
    """As the kernel does for a controlling terminal, which this one is not."""
    received: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda number, _: received.append(number))
    try:
        thread = keyboard.listen()
        keyboard.hang_up()
        wait_until(lambda: received == [signal.SIGHUP])
        thread.join(60.0)
        assert not thread.is_alive()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_event_is_readable_exactly_while_it_is_set() -> None:
    event = ReadableEvent()

    def readable() -> bool:
        return event in select.select([event], [], [], 0)[0]

    assert not readable()
    event.set()
    event.set()
    assert readable()
    event.clear()
    assert not readable()
    event.clear()
    event.set()
    assert readable()
    event.close()


def test_an_event_that_is_closed_may_be_opened_again() -> None:
    event = ReadableEvent()
    for _ in range(2):
        event.close()
        event.close()
        event.open()
        event.open()
        event.set()
        assert select.select([event], [], [], 0)[0] == [event]
        event.clear()
        assert select.select([event], [], [], 0)[0] == []
    event.close()


def test_the_environment_may_name_another_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    assert driver_class() is TerminalInput
    monkeypatch.setattr(constants, "DRIVER", "textual.drivers.web_driver:WebDriver")
    assert driver_class() is None


def test_a_screen_is_drawn_without_a_terminal_until_its_end() -> None:
    """More than may wait to be written, once a write has failed: nobody waits for ever."""
    far, near = os.openpty()
    os.close(far)
    raw = io.FileIO(near, "w", closefd=False)
    output = TerminalOutput(io.TextIOWrapper(raw, write_through=True))
    thread = WriterThread(output)  # type: ignore[arg-type]
    thread.start()
    for _ in range(3 * MAX_QUEUED_WRITES):
        thread.write("x" * 9000)
    thread.stop()
    assert not thread.is_alive()
    assert output.fileno() == near
    os.close(near)


@pytest.mark.parametrize("failing", ["write", "flush"])
def test_what_fails_once_is_not_tried_again(failing: str) -> None:
    tried: list[str] = []

    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            tried.append("write")
            if failing == "write":
                raise OSError(5, "gone")
            return len(text)

        def flush(self) -> None:
            tried.append("flush")
            if failing == "flush":
                raise OSError(5, "gone")

    output = TerminalOutput(Gone())
    for _ in range(3):
        assert output.write("abc") == 3
        output.flush()
    assert tried == {"write": ["write"], "flush": ["write", "flush"]}[failing]
