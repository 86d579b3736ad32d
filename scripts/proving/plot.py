"""Lines over time as SVG, each in a frame of its own scale."""
from benchmark.svg import WIDTH, page, text

LEFT, FRAME, GAP = 90, 90, 40


def frame(top, title, points, shades, longest):
    """One line of (seconds, value); `shades` are (from, to) of what is to be seen behind it."""
    most = max([value for _, value in points] + [1e-9]) * 1.05
    scale = (WIDTH - LEFT - 30) / longest

    def place(moment, value):
        return LEFT + moment * scale, top + FRAME - FRAME * value / most

    parts = [text(LEFT, top - 6, title, 12, weight="bold")]
    for begun, ended in shades:
        parts.append('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#f3d9d9"/>' % (
            LEFT + begun * scale, top, max(1, (ended - begun) * scale), FRAME))
    parts.append('<path d="M%d %dV%dH%d" fill="none" stroke="#888888"/>' % (LEFT, top, top + FRAME, WIDTH - 30))
    parts.append(text(LEFT - 6, top + 10, "%.4g" % most, 11, "end"))
    parts.append(text(LEFT - 6, top + FRAME, "0", 11, "end"))
    drawn = " ".join("%.1f,%.1f" % place(*point) for point in points)
    parts.append('<polyline points="%s" fill="none" stroke="#1b7837" stroke-width="1.5"/>' % drawn)
    return parts


def over_time(title, frames, shades):
    """`frames` are (title, [(seconds, value)])."""
    longest = max([point[0] for _, points in frames for point in points] + [1])
    parts = [text(10, 24, title, 16, weight="bold")]
    top = 60
    for name, points in frames:
        parts += frame(top, name, points, shades, longest)
        top += FRAME + GAP
    for minutes in range(0, int(longest / 60) + 1, max(1, int(longest / 600))):
        parts.append(text(LEFT + minutes * 60 * (WIDTH - LEFT - 30) / longest, top - GAP + 16, "%d min" % minutes, 11,
                          "middle"))
    return page(top, parts)
