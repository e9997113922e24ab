"""The known word nearest to a mistyped one."""

from collections.abc import Iterable


def nearest(name: str, candidates: list[str]) -> str:
    """The known word most like `name`, or an empty string; for "did you mean"."""
    import difflib

    return next(iter(difflib.get_close_matches(name, candidates)), "")


def unknown_key(key: str, recognised: Iterable[str]) -> str:
    """`unknown key` with the nearest known one, or all of them."""
    names = sorted(recognised)
    close = nearest(key, names)
    hint = f"did you mean {close}?" if close else f"expected one of {', '.join(names)}"
    return f"unknown key; {hint}"
