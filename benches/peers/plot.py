"""Plots of a record, as SVG."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape

from .text import rounded

OURS, OTHERS, INK, RULE = "#1668b8", "#a9b4c0", "#24292f", "#e3e7eb"
LINES = [OURS, "#74a9e0", "#c2571a", "#e8a77c"]

ROW, BAR, LABELS, FIGURES = 22, 15, 210, 80


@dataclass(frozen=True)
class Bar:
    """A figure of a system."""

    label: str
    value: float
    ours: bool


@dataclass(frozen=True)
class Line:
    """Figures by number of threads."""

    label: str
    points: dict[int, float]


def bars(
    panels: dict[str, list[Bar]],
    width: int = 760,
    figure: Callable[[float], str] = rounded,
    mark: float | None = None,
) -> str:
    """Panels of horizontal bars, each with its own scale, and with a line at the value `mark`."""
    parts, y = [], 10
    for title, rows in panels.items():
        parts.append(_text(10, y + 14, title, weight="bold"))
        y += 26
        longest = max([row.value for row in rows] + ([] if mark is None else [mark]))
        if mark is not None:
            x, bottom = LABELS + (width - LABELS - FIGURES) * mark / longest, y + len(rows) * ROW
            parts.append(f'<path d="M{x:.1f} {y - 4}V{bottom}" stroke="{OTHERS}"/>')
        for row in rows:
            length = (width - LABELS - FIGURES) * row.value / longest
            middle, color = y + BAR - 3, OURS if row.ours else OTHERS
            parts.append(_text(LABELS - 8, middle, row.label, anchor="end"))
            parts.append(
                f'<rect x="{LABELS}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{color}"/>'
            )
            parts.append(_text(LABELS + length + 6, middle, figure(row.value)))
            y += ROW
        y += 14
    return _svg(width, y, parts)


def lines(series: list[Line], width: int = 760, height: int = 320) -> str:
    """Records a second by number of threads."""
    left, right, top, bottom = 80, width - 230, 20, height - 40
    threads = sorted({thread for line in series for thread in line.points})
    most = max(value for line in series for value in line.points.values())

    def x(thread: int) -> float:
        return left + (right - left) * (thread - threads[0]) / max(threads[-1] - threads[0], 1)

    def y(value: float) -> float:
        return bottom - (bottom - top) * value / most

    parts = [part for value in _round_values(most) for part in _rule(left, right, y(value), value)]
    parts += [_text(x(thread), bottom + 18, str(thread), anchor="middle") for thread in threads]
    parts.append(_text((left + right) / 2, bottom + 35, "threads", anchor="middle"))
    ends = _apart([y(list(line.points.values())[-1]) for line in series], ROW - 6)
    for line, color, end in zip(series, LINES[: len(series)], ends, strict=True):
        points = [(x(thread), y(value)) for thread, value in sorted(line.points.items())]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2.5"/>')
        parts += [
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" fill="{color}"/>' for px, py in points
        ]
        parts.append(_text(right + 12, end + 4, line.label, color=color))
    return _svg(width, height, parts)


def _round_values(most: float) -> list[float]:
    """Values from 0 to `most`, in four to eight steps of 1, 2 or 5 times a power of ten."""
    power = 10 ** (len(str(int(most))) - 1)
    step = next(power * share for share in (0.2, 0.5, 1, 2) if most <= 8 * power * share)
    return [step * i for i in range(int(most / step) + 1)]


def _rule(left: float, right: float, y: float, value: float) -> Iterator[str]:
    yield f'<line x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{RULE}"/>'
    yield _text(left - 8, y + 4, rounded(value), anchor="end")


def _apart(heights: list[float], distance: float) -> list[float]:
    """Heights of labels, in the same order, so that no label covers another."""
    placed, before = {}, float("-inf")
    for i in sorted(range(len(heights)), key=heights.__getitem__):
        before = placed[i] = max(heights[i], before + distance)
    return [placed[i] for i in range(len(heights))]


def _text(
    x: float, y: float, text: str, anchor: str = "start", weight: str = "normal", color: str = INK
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}"'
        f' fill="{color}">{escape(text)}</text>'
    )


def _svg(width: int, height: int, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" font-family="sans-serif" font-size="13">'
    )
    return "\n".join(
        [head, f'<rect width="{width}" height="{height}" fill="white"/>', *parts, "</svg>\n"]
    )
