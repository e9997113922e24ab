"""Writes the tables of keys in docs/dashboard.md from the table of actions."""

from pathlib import Path

from accelwatch.tui.views.help_lines import markdown

PAGE = Path(__file__).with_name("dashboard.md")
BEGIN, END = "<!-- keys -->", "<!-- end of keys -->"


def main() -> None:
    """Replace what is between the two marks."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{markdown().strip()}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
