#!/usr/bin/env python3
"""Draws docs/pictures/*.svg from the *.txt beside them. draw.py [--check]: only tells whether they are so already."""

import sys
import textwrap
from html import escape
from pathlib import Path

WIDTH, MARGIN, GAP, LINE = 840, 12, 12, 17
COLORS = ["#dbeafe", "#bfdbfe", "#dcfce7", "#fef3c7"]


def draw_row(boxes, top, color):
    width = (WIDTH - 2 * MARGIN - GAP * (len(boxes) - 1)) / len(boxes)
    texts = [(title.strip(), textwrap.wrap(text, int(width / 6.6))) for title, _, text in (box.partition(":") for box in boxes)]
    height = 36 + LINE * max(len(lines) for _, lines in texts)
    parts = []
    for index, (title, lines) in enumerate(texts):
        left = MARGIN + index * (width + GAP)
        middle = left + width / 2
        parts.append(f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{height}" rx="6" fill="{color}" stroke="#1e3a5f"/>')
        parts.append(f'<text x="{middle:.1f}" y="{top + 22}" font-weight="bold">{escape(title)}</text>')
        parts += [f'<text x="{middle:.1f}" y="{top + 22 + LINE * (number + 1)}">{escape(line)}</text>' for number, line in enumerate(lines)]
    return parts, top + height + GAP


def draw_boundary(text, top):
    line = f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{top + 14}" y2="{top + 14}" stroke="#b91c1c" stroke-dasharray="7 4"/>'
    half = len(text) * 3.4 + 8
    back = f'<rect x="{WIDTH / 2 - half:.1f}" y="{top + 2}" width="{2 * half:.1f}" height="22" fill="#ffffff"/>'
    return [line, back, f'<text x="{WIDTH / 2}" y="{top + 18}" fill="#b91c1c">{escape(text)}</text>'], top + 28 + GAP


def draw(text):
    parts, top, row = [], MARGIN, 0
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("-"):
            more, top = draw_boundary(line[1:].strip(), top)
        else:
            more, top = draw_row(line.split("|"), top, COLORS[row % len(COLORS)])
            row += 1
        parts += more
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}" '
    head += 'font-family="sans-serif" font-size="13" text-anchor="middle">'
    background = f'<rect width="{WIDTH}" height="{top}" fill="#ffffff"/>'
    return "\n".join([head, background, *parts, "</svg>"]) + "\n"


def main():
    stale = []
    for source in sorted(Path(__file__).parent.glob("*.txt")):
        target = source.with_suffix(".svg")
        picture = draw(source.read_text())
        if not target.exists() or target.read_text() != picture:
            stale.append(target.name)
            if "--check" not in sys.argv:
                target.write_text(picture)
    if stale:
        print(("differs from its text: " if "--check" in sys.argv else "drew ") + ", ".join(stale))
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
