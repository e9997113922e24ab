"""Tables drawn with + - and |, as furiosa-smi and furiosactl print them. Pure."""


def blocks_of(output: bytes) -> list[dict[str, str]]:
    """As `rows_of`, where a row is all lines from one rule to the next: cells are joined by blanks."""
    blocks: list[dict[str, str]] = []
    lines: list[bytes] = []
    headings = b""
    for line in output.splitlines():
        if line.strip().startswith(b"|"):
            headings = headings or line
            lines.append(line)
            continue
        if lines and lines[0] is not headings:
            rows = rows_of(b"\n".join([headings, *lines]))
            names = rows[0] if rows else ()
            blocks += [{name: " ".join(row[name] for row in rows).strip() for name in names}]
        lines = []
    return blocks


def rows_of(output: bytes) -> list[dict[str, str]]:
    """Each row by its headings, in lower case; none of an output that has no table."""
    headings, *rows = lines_of(output) or [[]]
    return [_row(headings, cells) for cells in rows if len(cells) >= len(headings)]


def lines_of(output: bytes) -> list[list[str]]:
    """Cells of each line of the table, of which the first has the headings, in lower case."""
    lines: list[list[str]] = []
    for line in output.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if len(text) < 2 or text[0] != "|" or text[-1] != "|":
            continue
        cells = [cell.strip() for cell in text[1:-1].split("|")]
        lines.append(cells if lines else [cell.lower() for cell in cells])
    return lines


def _row(headings: list[str], cells: list[str]) -> dict[str, str]:
    # A command line, which stands last, may have a bar of its own.
    last = "|".join(cells[len(headings) - 1 :])
    return dict(zip(headings, [*cells[: len(headings) - 1], last], strict=True))
