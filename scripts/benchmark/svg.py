"""Plots as SVG text: bars for medians with their spread, lines over latency. Readable on light and dark ground."""
import math
from xml.sax.saxutils import escape

COLOURS = {"native": "#8c8c8c", "s3mirror": "#1b7837", "passthrough": "#7fbf7b", "rclone": "#2b83ba", "s3fs": "#d7863a",
           "goofys": "#984ea3", "geesefs": "#b2494e", "mount-s3": "#c9a227", "bare": "#bdbdbd", "s5cmd": "#a0a0a0"}
WIDTH, LABEL, ROW, GROUP = 760, 110, 17, 30


def colour(name):
    return COLOURS.get(name, "#555555")


def text(x, y, words, size=12, anchor="start", weight="normal"):
    return '<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s" font-weight="%s">%s</text>' % (
        x, y, size, anchor, weight, escape(words))


def page(height, parts):
    head = ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" '
            'font-family="sans-serif">\n<rect width="100%%" height="100%%" fill="#ffffff"/>\n' % (
                WIDTH, height, WIDTH, height))
    return head + "\n".join(parts) + "\n</svg>\n"


def bars(title, groups, number):
    """A group for each (title, [(name, cell)]): bars from zero, each group by its own scale."""
    parts = [text(10, 24, title, 16, weight="bold")]
    y = 44
    for heading, row in groups:
        parts.append(text(10, y + 12, heading, 12, weight="bold"))
        y += 20
        most = max(cell.highest for _, cell in row) or 1
        scale = (WIDTH - LABEL - 90) / most
        for name, cell in row:
            length = cell.median * scale
            parts.append(text(LABEL - 6, y + 12, name, 12, "end"))
            parts.append('<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>' % (
                LABEL, y + 2, max(length, 1), ROW - 4, colour(name)))
            parts.append('<path d="M%.1f %dH%.1f" stroke="#000000" stroke-width="1.5"/>' % (
                LABEL + cell.lowest * scale, y + ROW // 2, LABEL + cell.highest * scale))
            parts.append(text(LABEL + cell.highest * scale + 6, y + 12, number(cell.median)))
            y += ROW
        y += GROUP - ROW
    return page(y + 6, parts)


def lines(title, by_name, number):
    """A line for each name of (x, y) points, y from zero by a logarithm, for times of very different length."""
    height, left, right, top, bottom = 330, 60, WIDTH - 150, 40, 290
    points = [point for line in by_name.values() for point in line if point[1] > 0]
    widest = max(x for x, _ in points) or 1
    low = math.floor(math.log10(min(y for _, y in points)))
    high = max(math.ceil(math.log10(max(y for _, y in points))), low + 1)

    def place(x, y):
        return left + (right - left) * x / widest, bottom - (bottom - top) * (math.log10(y) - low) / (high - low)

    parts = [text(10, 24, title, 14, weight="bold")]
    for power in range(low, high + 1):
        y = place(0, 10.0 ** power)[1]
        parts.append('<path d="M%d %.1fH%d" stroke="#dddddd"/>' % (left, y, right))
        parts.append(text(left - 6, y + 4, number(10.0 ** power), 11, "end"))
    for x in sorted({x for x, _ in points}):
        parts.append(text(place(x, 10.0 ** low)[0], bottom + 16, "%g" % x, 11, "middle"))
    labels = []
    for name, line in by_name.items():
        placed = [place(x, y) for x, y in sorted(line) if y > 0]
        drawn = " ".join("%.1f,%.1f" % point for point in placed)
        parts.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2.5"/>' % (drawn, colour(name)))
        labels.append((placed[-1][1], placed[-1][0], name))
    last = 0.0
    for y, x, name in sorted(labels):
        # One below the other, where lines end close together.
        last = max(y + 4, last + 13)
        parts.append(text(right + 8, last, name, 12))
        parts.append('<path d="M%.1f %.1fL%.1f %.1f" stroke="%s"/>' % (x, y, right + 6, last - 4, colour(name)))
    return page(height, parts)
