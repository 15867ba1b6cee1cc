"""The table as a picture: a bar for each row, our time over the peer's, as a part of what its budget allows."""

from html import escape

ROW, LEFT, BAR, TOP = 22, 250, 360, 46
COLORS = {True: "#2f855a", False: "#c53030", None: "#718096"}


def svg(results, title):
    rows = [row for row in results if row["ratio"] is not None and row["budget"] is not None]
    height = TOP + ROW * len(rows) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + BAR + 250}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="12" y="20" font-size="15">{escape(title)}</text>',
        f'<text x="{LEFT + limit_at()}" y="{TOP - 8}" text-anchor="middle" fill="#4a5568">budget</text>',
    ]
    parts += [line for index, row in enumerate(rows) for line in bar(row, TOP + ROW * index)]
    parts.append(f'<line x1="{LEFT + limit_at()}" x2="{LEFT + limit_at()}" y1="{TOP - 4}" y2="{height - 12}" '
                 'stroke="#4a5568" stroke-dasharray="4 3"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def limit_at():
    """Where a bar ends that is just within its budget: two thirds along, so that misses show how far."""
    return BAR * 2 // 3


def bar(row, y):
    part = row["ratio"] / row["budget"] if row["budget"] else float(row["ratio"] > 0) * 2
    width = max(1, min(BAR, part * limit_at()))
    text = f'{row["ours"]:.4g} against {row["peer"]:.4g} {row["unit"]}, ratio {row["ratio"]:.3g} of {row["budget"]:.3g}'
    return [
        f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(row["name"])}</text>',
        f'<rect x="{LEFT}" y="{y + 3}" width="{width:.1f}" height="{ROW - 8}" fill="{COLORS[row["met"]]}"/>',
        f'<text x="{LEFT + BAR + 8}" y="{y + 14}" fill="#4a5568">{escape(text)}</text>',
    ]
