"""Themes as data: a colour for each role. Colour alone never shows a state, so any of them will do.

The default keeps to the Okabe-Ito colours, which people with a red-green deficiency can distinguish.
"""

import msgspec


class Palette(msgspec.Struct, frozen=True, kw_only=True):
    """Roles and what they look like, in rich's style language (`bold #56b4e9`)."""

    name: str
    # For people, in the settings.
    title: str
    background: str
    foreground: str
    dark: bool = True
    # Only the terminal's own sixteen colours.
    ansi: bool = False
    # Laid over a row that is selected in the list that has the keys.
    selected: str = ""
    # The same in a list that has not.
    cursor: str = ""
    # Laid over the first and the last line of a screen.
    edge: str = ""
    roles: dict[str, str] = {}


def _roles(
    *,
    dim: str,
    faint: str,
    title: str,
    accent: str,
    ok: str,
    warn: str,
    bad: str,
    info: str,
    load: str,
    levels: tuple[str, str, str, str],
    quiet: tuple[str, str, str],
    track: str,
    text: str,
    plots: tuple[str, str, str, str],
) -> dict[str, str]:
    return {
        "text": text,
        "strong": f"bold {text}",
        "dim": dim,
        "faint": faint,
        "title": f"bold {title}",
        "rule": track,
        "head": f"bold {dim}",
        "sorted": f"bold {accent}",
        "accent": accent,
        "tab": f"bold underline {title}",
        "key": f"bold {accent}",
        "cursor": f"bold reverse {accent}",
        "cursor_away": f"reverse {faint}",
        "ok": ok,
        "calm": faint,
        "alarm": f"bold reverse {bad}",
        "caution": f"bold reverse {warn}",
        **{f"quiet{step}": colour for step, colour in enumerate(quiet)},
        **{f"level{step}": colour for step, colour in enumerate(levels)},
        "warn": warn,
        "bad": f"bold {bad}",
        "info": info,
        "load": load,
        "memory": plots[1],
        "track": track,
        "plot0": plots[0],
        "plot1": plots[1],
        "plot2": plots[2],
        "plot3": plots[3],
    }


_SAFE = Palette(
    name="safe",
    title="colour-blind safe, dark",
    background="#0f1419",
    foreground="#d5dbe1",
    selected="on #26404f",
    cursor="on #1a242d",
    edge="on #18212a",
    roles=_roles(
        text="#d5dbe1",
        dim="#8593a0",
        faint="#5c6874",
        title="#f2f5f7",
        accent="#56b4e9",
        ok="#4cc2a5",
        warn="#e69f00",
        bad="#f2774b",
        info="#56b4e9",
        load="#56b4e9",
        levels=("#2c5a76", "#3b84ad", "#56b4e9", "#a9dcff"),
        quiet=("#364450", "#456072", "#547d96"),
        track="#2b3640",
        plots=("#56b4e9", "#cc8fbe", "#e0d36b", "#c9a27e"),
    ),
)
_DARK = Palette(
    name="dark",
    title="dark",
    background="#11111b",
    foreground="#cdd6f4",
    selected="on #363a55",
    cursor="on #1f2031",
    edge="on #1c1d2c",
    roles=_roles(
        text="#cdd6f4",
        dim="#8a90ad",
        faint="#5d6280",
        title="#ffffff",
        accent="#89b4fa",
        ok="#a6e3a1",
        warn="#f9e2af",
        bad="#f38ba8",
        info="#89dceb",
        load="#94e2d5",
        levels=("#3f6660", "#5f9d92", "#94e2d5", "#d3f7f0"),
        quiet=("#3a3c55", "#4b5f6c", "#5f8a8a"),
        track="#2d2e42",
        plots=("#94e2d5", "#cba6f7", "#89b4fa", "#fab387"),
    ),
)
_LIGHT = Palette(
    name="light",
    title="light",
    background="#fbfaf7",
    foreground="#24292f",
    dark=False,
    selected="on #cfe3f5",
    cursor="on #eae8e1",
    edge="on #ebe8df",
    roles=_roles(
        text="#24292f",
        dim="#5d6670",
        faint="#8a929b",
        title="#000000",
        accent="#0563a8",
        ok="#00795c",
        warn="#9a5b00",
        bad="#b83a06",
        info="#0563a8",
        load="#0072b2",
        levels=("#9cc3dd", "#5a9dc9", "#0072b2", "#003f66"),
        quiet=("#c2c8cd", "#a3b5c2", "#7f9fb5"),
        track="#d8d5cc",
        plots=("#0072b2", "#9c4f86", "#6f6a00", "#80604d"),
    ),
)
_CONTRAST = Palette(
    name="contrast",
    title="high contrast",
    background="#000000",
    foreground="#ffffff",
    selected="on #0040c0",
    cursor="on #303030",
    edge="on #202020",
    roles=_roles(
        text="#ffffff",
        dim="#d0d0d0",
        faint="#b0b0b0",
        title="#ffffff",
        accent="#00e5ff",
        ok="#5cff8f",
        warn="#ffd500",
        bad="#ff8a65",
        info="#00e5ff",
        load="#00e5ff",
        levels=("#00808f", "#00b3c7", "#00e5ff", "#b8f7ff"),
        quiet=("#808080", "#6f98a0", "#66b8c4"),
        track="#707070",
        plots=("#00e5ff", "#ff9cff", "#b0a8ff", "#ffc9a3"),
    ),
)
_ANSI = Palette(
    name="ansi",
    title="the terminal's sixteen colours",
    background="ansi_default",
    foreground="ansi_default",
    ansi=True,
    selected="reverse",
    cursor="underline",
    roles=_roles(
        text="default",
        dim="default",
        faint="bright_black",
        title="default",
        accent="cyan",
        ok="green",
        warn="yellow",
        bad="red",
        info="cyan",
        load="cyan",
        levels=("blue", "cyan", "cyan", "bold cyan"),
        quiet=("bright_black", "bright_black", "default"),
        track="bright_black",
        plots=("cyan", "magenta", "bright_blue", "default"),
    ),
)
_MONO = Palette(
    name="mono",
    title="monochrome",
    background="ansi_default",
    foreground="ansi_default",
    ansi=True,
    selected="reverse",
    cursor="underline",
    roles={
        **_roles(
            text="default",
            dim="default",
            faint="dim default",
            title="default",
            accent="default",
            ok="default",
            warn="bold default",
            bad="default",
            info="default",
            load="default",
            levels=("dim default", "default", "default", "bold default"),
            quiet=("dim default", "dim default", "default"),
            track="dim default",
            plots=("default",) * 4,
        ),
        "dim": "dim default",
    },
)

# By name, in the order in which the theme key goes through them.
PALETTES = {palette.name: palette for palette in (_SAFE, _DARK, _LIGHT, _CONTRAST, _ANSI, _MONO)}
DEFAULT = "safe"


def next_palette(name: str) -> str:
    """The name after this one, round and round."""
    names = list(PALETTES)
    return names[(names.index(name) + 1) % len(names)]
