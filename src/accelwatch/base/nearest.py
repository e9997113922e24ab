"""The known word that somebody may have meant."""


def nearest(name: str, candidates: list[str]) -> str:
    """The known word most like `name`, or an empty string; for "did you mean"."""
    import difflib

    return next(iter(difflib.get_close_matches(name, candidates)), "")
