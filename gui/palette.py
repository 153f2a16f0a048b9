"""The colours of both themes, by meaning. Nothing else in the desktop names a colour.

Red is live and never an alarm; violet, amber and yellow are abnormal; white on dark (inverse) is an
operator's hand; everything that is as it should be is grey. Text on its background has a contrast of at
least 4.5 : 1; `TEXT_PAIRS` lists the pairs in use and a test computes each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Palette:
    name: str
    gap: str  # window base, splitter handles, separators
    well: str  # callouts, meters, progress
    bg0: str  # inputs, past
    bg1: str  # panels, table rows
    bg1alt: str
    bg2: str  # top bar, toolbars, headers, status bar
    selbg: str  # selected row
    bg3: str  # buttons
    bg4: str  # checked and pressed buttons
    line: str  # row hairlines, disabled borders
    line2: str  # control borders
    line3: str  # border of checked buttons
    row: str  # hairline under a table row
    hatch: str  # over what is old
    t1: str
    t2: str
    t3: str
    dis: str
    live: str  # fill of a tally; white text on it
    live_line: str  # lamps and lines
    p1: str
    p2: str
    p3: str
    p4: str
    on_p: str  # text on a fill of p1 to p4
    inv: str  # an operator has a hand on it
    on_inv: str
    sel: str  # keyboard focus, selection
    grid: str  # the timeline's fine grid
    grid2: str  # and its hours
    live_dim: str  # the recorded part of a window
    live_edge: str  # outline of a running window
    live_rest: str  # the part of it that is to come
    plan_edge: str  # outline of a planned window
    done: str  # fill of a window that is over
    done_edge: str
    drag: str  # fill of what is dragged
    on_now: str  # fill of the playlist item on air

    def priority(self, number: int) -> str:
        return (self.p1, self.p2, self.p3, self.p4)[number - 1]

    def colours(self) -> dict[str, str]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "name"}


DARK = Palette(
    name="dark",
    gap="#131416",
    well="#17181A",
    bg0="#1B1D1F",
    bg1="#232527",
    bg1alt="#262829",
    bg2="#2A2D30",
    selbg="#2E3236",
    bg3="#34373B",
    bg4="#42464B",
    line="#313438",
    line2="#4A4E54",
    line3="#7A8087",
    row="#2A2C2F",
    hatch="#32363A",
    t1="#E6E8EA",
    t2="#B9BDC2",
    t3="#9DA2A9",
    dis="#8A8F96",
    live="#C62828",
    live_line="#E5484D",
    p1="#F04DFF",
    p2="#FFA31A",
    p3="#F7EA6A",
    p4="#B9BDC2",
    on_p="#17181A",
    inv="#E9EBED",
    on_inv="#17181A",
    sel="#8FB0CC",
    grid="#2B2E31",
    grid2="#3A3D41",
    live_dim="#472A2C",
    live_edge="#9A4448",
    live_rest="#292829",
    plan_edge="#7F858C",
    done="#2A2C2F",
    done_edge="#383B3F",
    drag="#3A3E43",
    on_now="#3C4045",
)

LIGHT = Palette(
    name="light",
    gap="#BFC3C8",
    well="#FFFFFF",
    bg0="#FFFFFF",
    bg1="#F5F6F7",
    bg1alt="#EFF0F2",
    bg2="#E6E8EA",
    selbg="#DDE5EC",
    bg3="#F8F9F9",
    bg4="#CDD2D7",
    line="#D6D9DC",
    line2="#A0A6AD",
    line3="#5E646B",
    row="#E3E5E8",
    hatch="#E0E3E6",
    t1="#17181A",
    t2="#43474C",
    t3="#555A60",
    dis="#666B72",
    live="#C62828",
    live_line="#C62828",
    p1="#A3009F",
    p2="#8F4E00",
    p3="#665C00",
    p4="#43474C",
    on_p="#FFFFFF",
    inv="#1F2124",
    on_inv="#FFFFFF",
    sel="#2A628F",
    grid="#E9EBED",
    grid2="#CFD3D7",
    live_dim="#F6D5D5",
    live_edge="#B44A4E",
    live_rest="#F8EDED",
    plan_edge="#6A7078",
    done="#ECEEF0",
    done_edge="#C9CDD2",
    drag="#FFFFFF",
    on_now="#D3D8DD",
)

_SURFACES = ("bg0", "bg1", "bg1alt", "bg2", "selbg", "bg3")
TEXT_PAIRS: tuple[tuple[str, str], ...] = (
    *((text, ground) for text in ("t1", "t2") for ground in (*_SURFACES, "bg4", "well", "gap")),
    *(("t3", ground) for ground in _SURFACES),
    *(("dis", ground) for ground in ("bg0", "bg1")),
    *(
        (priority, ground)
        for priority in ("p1", "p2", "p3", "p4")
        for ground in ("bg1", "bg1alt", "bg2", "well")
    ),
    *(("on_p", priority) for priority in ("p1", "p2", "p3", "p4")),
    ("on_inv", "inv"),
    ("inv", "well"),
    *(("t1", ground) for ground in ("live_dim", "live_rest", "drag", "on_now")),
    ("t2", "live_rest"),
    ("t3", "done"),
)


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""

    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
