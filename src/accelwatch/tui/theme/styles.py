"""The little CSS there is, and Textual's theme for a palette."""

from textual.theme import Theme

from accelwatch.tui.theme.palettes import Palette

CSS = """
Screen { background: $background; color: $foreground; layout: vertical; overflow: hidden; }
#header { height: 1; }
#footer { height: 1; dock: bottom; }
#strip { height: 0; }
#note { height: 1; }
RowList { height: 1fr; }
#grid { display: none; }
#lights { height: 1fr; display: none; }
#totals { height: 2; }
#timeline { height: 2; }
#incident-totals { height: 1; }
#troubles { height: 1; display: none; }
#announced { height: 1; display: none; }
#detail { height: 2; }
#prompt { height: 1; dock: bottom; }
Input, Input:focus { height: 1; border: none; padding: 0 1; background: $panel; color: $foreground; }
Input:ansi > .input--cursor { background: ansi_default; color: ansi_default; text-style: reverse; }
ModalScreen { align: center middle; background: $background 60%; }
.dialog { border: round $primary; background: $background; padding: 0 1; width: auto; height: auto; }
"""

# Textual's own rules name these for themes of sixteen colours.
_ANSI_VARIABLES = {
    "ansi-background": "ansi_default",
    "ansi-foreground": "ansi_default",
    "border-blurred": "ansi_default",
    "input-cursor-background": "ansi_default",
    "input-cursor-foreground": "ansi_default",
    "input-selection-background": "ansi_default",
    "input-selection-foreground": "ansi_default",
    "screen-selection-background": "ansi_default",
    "screen-selection-foreground": "ansi_default",
}


def textual_theme(palette: Palette) -> Theme:
    """What Textual's own widgets (the line for a filter, dialogs) are painted in."""
    roles = palette.roles
    accent = roles["accent"] if not palette.ansi else "ansi_cyan"
    if palette.name == "mono":
        accent = "ansi_default"
    return Theme(
        name=f"accelwatch-{palette.name}",
        primary=accent,
        accent=accent,
        foreground=palette.foreground,
        background=palette.background,
        surface=palette.background,
        panel=palette.background if palette.ansi else roles["track"],
        dark=palette.dark,
        ansi=palette.ansi,
        variables=_ANSI_VARIABLES if palette.ansi else {},
    )
