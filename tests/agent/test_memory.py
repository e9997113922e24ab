"""What is asked of the allocator: of glibc something, of any other nothing."""

import ctypes
from collections.abc import Callable

import pytest

from accelwatch.system.daemon.memory import give_back, use_single_arena


class Library:
    """A C library that notes what it is asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, ...]] = []

    def mallopt(self, option: int, value: int) -> int:
        self.calls.append((option, value))
        return 1

    def malloc_trim(self, pad: int) -> int:
        self.calls.append((pad,))
        return 1


def test_glibc_keeps_one_arena_and_returns_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    use_single_arena()
    give_back()
    assert library.calls == [(-8, 1), (0,)]


@pytest.mark.parametrize("ask", [use_single_arena, give_back])
@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError, None])
def test_any_other_library_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[[], None], error: type[Exception] | None
) -> None:
    def load(_: object) -> object:
        if error is not None:
            raise error
        return object()

    monkeypatch.setattr(ctypes, "CDLL", load)
    ask()
