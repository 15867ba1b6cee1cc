"""The demo's page: what each device achieved, how the losses fell in one picture, and which digits were mistaken."""

import math
from html import escape

COLORS = ["#1f62b5", "#c4281f", "#188048", "#b36b00", "#7a3fa0", "#008b8b", "#555555", "#b5286f"]
WIDTH, HEIGHT, LEFT, BOTTOM = 760, 320, 60, 30
HIGHEST, LOWEST = 1, -1  # powers of ten
STYLE = """body { font: 15px sans-serif; max-width: 980px; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse } td, th { padding: .25em .5em; font-size: 14px; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
td:first-child, th:first-child { text-align: left } figure { display: inline-block; margin: .4em; text-align: center; font-size: 13px }
.name { margin-right: 1em; white-space: nowrap } .name b { display: inline-block; width: .8em; height: .8em; margin-right: .4em }
.scroll { overflow-x: auto } li { margin-bottom: .6em }
code { background: #f2f2f2; padding: .2em .4em; display: block; white-space: pre-wrap; overflow-wrap: anywhere }"""
DASH = 7  # of one device's line; behind it come those of the others


def page(table, results, next_steps):
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table[1:])
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table[0])
    steps = "".join(f"<li>{escape(what)}: <code>{escape(command)}</code></li>" for what, command in next_steps)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Backplane: the demo</title>
<style>{STYLE}</style></head><body>
<h1>One program, {len(results)} kinds of device</h1>
<p>The same network learned 1,797 handwritten digits on a device of each plugin. The last columns show how
its calls were served: by a kernel of the plugin (native) or one that Backplane compiled for the device (generated), after a conversion
of dtype or layout (legalized), by several kernels (decomposed), or on the host.</p>
<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>
<h2>How the losses fell</h2>
<p>The loss of each step; where devices agree, their colors alternate.</p>
<p>{legend(results)}</p>
<div class="scroll">{curves(results)}</div>
<h2>Digits that were mistaken</h2>
{mistakes(results)}
<h2>What to try next</h2><ul>{steps}</ul>
</body></html>
"""


def curves(results):
    """All devices on one scale of powers of ten. Each line is dashed so that where they agree all can be seen."""
    parts = []
    for power in range(LOWEST, HIGHEST + 1):
        y = height_of(10**power)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    steps = max(len(result["losses"]) for result in results)
    parts.append(f'<text x="{WIDTH}" y="{HEIGHT - 8}" text-anchor="end">{steps} steps</text>')
    for index, result in enumerate(results):
        points = " ".join(f"{x:.1f},{height_of(loss):.1f}" for x, loss in means(result["losses"]))
        dashes = f'stroke-dasharray="{DASH} {DASH * (len(results) - 1)}" stroke-dashoffset="{-DASH * index}"'
        color = COLORS[index % len(COLORS)]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2.5" {dashes}/>')
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" font-size="12" font-family="sans-serif">{"".join(parts)}</svg>'


def legend(results):
    return "".join(
        f'<span class="name"><b style="background: {COLORS[index % len(COLORS)]}"></b>{escape(result["device"])}</span> '
        for index, result in enumerate(results)
    )


def height_of(loss):
    power = min(max(math.log10(max(loss, 1e-30)), LOWEST), HIGHEST)
    return 8 + (HIGHEST - power) / (HIGHEST - LOWEST) * (HEIGHT - BOTTOM - 8)


def means(losses, columns=190):
    """Of as many steps as share a column."""
    columns = min(columns, len(losses))
    for column in range(columns):
        part = losses[column * len(losses) // columns : (column + 1) * len(losses) // columns]
        yield LEFT + column * (WIDTH - LEFT) / columns, sum(part) / len(part)


def mistakes(results):
    """Each image once, with the devices that mistook it."""
    found = {}
    for result in results:
        for one in result["misread"]:
            key = (tuple(one["pixels"]), one["shows"], one["read_as"])
            found.setdefault(key, []).append(result["device"])
    if not found:
        return "<p>None.</p>"
    return "".join(figure(*key, devices, len(results)) for key, devices in found.items())


def figure(pixels, shows, read_as, devices, num_devices):
    squares = "".join(
        f'<rect x="{index % 8}" y="{index // 8}" width="1.02" height="1.02" fill-opacity="{shade:.3f}"/>'
        for index, shade in enumerate(pixels)
        if shade
    )
    who = "all devices" if len(devices) == num_devices else ", ".join(devices)
    text = f"a {shows}, read as {read_as}<br>by {escape(who)}"
    return f'<figure><svg viewBox="0 0 8 8" width="88" height="88">{squares}</svg><br>{text}</figure>'
