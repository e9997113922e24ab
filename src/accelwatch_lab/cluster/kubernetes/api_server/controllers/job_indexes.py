"""Completed indexes of a Job as its status has them, `0,2-4` (pure)."""


def indexes_of(text: str) -> set[int | None]:
    """Of a status."""
    return {index for first, last in _spans(text) for index in range(first, last + 1)}


def with_index(text: str, index: int | None) -> str:
    """The text with one more; the same where a pod has none."""
    if index is None:
        return text
    spans: list[list[int]] = []
    for each in sorted({index, *(value for value in indexes_of(text) if value is not None)}):
        if spans and spans[-1][1] == each - 1:
            spans[-1][1] = each
        else:
            spans.append([each, each])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _spans(text: str) -> list[tuple[int, int]]:
    pairs = (span.partition("-") for span in text.split(",") if span)
    return [(int(first), int(last or first)) for first, _, last in pairs]
