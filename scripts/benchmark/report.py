"""The results of runs as Markdown tables and SVG plots."""
import argparse
import json
import os

from . import svg
from .statistic import cells, errors, values
from .works import FIGURES

BARE = ("bare", "s5cmd")
TITLES = {"native": "native directory", "passthrough": "s3mirror passthrough", "bare": "bare client",
          "s5cmd": "`s5cmd cp`"}


def number(value):
    """Three digits, or the whole number."""
    if value >= 1000:
        return "{:,.0f}".format(value)
    return "%.3g" % value if value < 100 else "%.0f" % value


def ratio_text(ratio):
    middle, lowest, highest = (number(value) for value in ratio)
    return "%s× (%s–%s)" % (middle, lowest, highest) if lowest != highest else middle + "×"


def size_text(mebibytes):
    return "%d GiB" % (mebibytes >> 10) if mebibytes % 1024 == 0 else "%d MiB" % mebibytes


def title_of(figure, options):
    values_of = {name: "{:,}".format(options.get(name, 0)) for name in ("small", "many", "pages", "sources", "random")}
    return FIGURES[figure].title.format(size=size_text(options["size_mib"]), **values_of)


def condition_title(condition):
    tls, latency = condition
    parts = ["TLS"] if tls else []
    return ", ".join(parts + (["%g ms added" % latency] if latency else []))


def best_of(row, figure, names):
    """The name of the mount with the best median, where there are at least two mounts."""
    mounts = {name: row[name].median for name in names if name in row and name != "native"}
    if len(mounts) < 2:
        return None
    return (max if FIGURES[figure].more_is_better else min)(mounts, key=mounts.get)


def table(documents, chapter, condition, names):
    """The lines of one chapter under one condition; none where nothing was measured."""
    options = documents[0]["options"]
    found = values(documents)
    lines = []
    for figure, about in FIGURES.items():
        if about.chapter != chapter or not (by_name := found.get((condition, figure))):
            continue
        row = cells(by_name, "native")
        best = best_of(row, figure, names)
        parts = []
        for name in names:
            cell = row.get(name)
            text = "–" if cell is None else number(cell.median)
            if name == best:
                text = "**%s**" % text
            parts.append(text + (" · " + ratio_text(cell.ratio) if cell and cell.ratio else ""))
        others = ["%s %s" % (TITLES[name], number(row[name].median)) for name in BARE if name in row]
        unit = "" if about.unit == "×" else ", " + about.unit
        lines.append("| %s%s | %s |" % (title_of(figure, options), unit, " | ".join(parts + [", ".join(others) or "–"])))
    if lines:
        heads = [TITLES.get(name, name) for name in names] + ["no mount"]
        lines[:0] = ["| | %s |" % " | ".join(heads), "|---" + "|---:" * (len(heads)) + "|"]
    return lines


def server_text(server):
    if not server:
        return ""
    text = "The server alone%s: %s MB/s in one stream, %s in four; %s pages of 1,000 names a second" % (
        ", objects in memory" if server["in_memory"] else "", number(server["stream_MBps"]),
        number(server["four_streams_MBps"]), number(server["pages_per_s"]))
    if "small_gets_per_s" in server:
        text += "; %s GETs of 16 KiB a second" % number(server["small_gets_per_s"])
    return text + "."


def markdown(documents):
    first = documents[0]
    machine = first["machine"]
    rounds = sum(document["options"]["rounds"] for document in documents)
    lines = ["Medians of %d interleaved rounds on %d cores, %d GiB, Linux %s; after the dot the ratio to the native "
             "directory, and its lowest and highest in a round; bold is the best mount." % (
                 rounds, machine["cores"], machine["memory_gib"], machine["linux"]),
             server_text(first["server"])]
    if not machine.get("root", True):
        lines.append("The kernel's caches were not dropped, which takes root: what is called cold was in memory here.")
    lines += ["Measured: " + "; ".join("%s: %s" % item for item in first["versions"].items()) + "."]
    names = [name for name in first["names"] if name not in BARE]
    conditions = sorted({(turn["tls"], turn["latency_ms"]) for document in documents for turn in document["turns"]})
    for condition in conditions:
        for chapter in dict.fromkeys(about.chapter for about in FIGURES.values()):
            if rows := table(documents, chapter, condition, names):
                where = condition_title(condition)
                lines += ["", "**%s%s**" % (chapter, where and ", " + where), ""] + rows
    failed = errors(documents)
    if failed:
        lines += ["", "Left out:", ""]
        for (condition, work), by_name in failed.items():
            where = condition_title(condition)
            lines += ["- %s, `%s`%s: %s" % (name, work, where and ", " + where, " ".join(error.split()))
                      for name, error in by_name.items()]
    return "\n".join(lines) + "\n"


def plots(documents, directory):
    """Writes one plot a chapter, and one of what latency does; returns the files' names."""
    os.makedirs(directory, exist_ok=True)
    found = values(documents)
    options = documents[0]["options"]
    names = documents[0]["names"]
    written = []

    def write(name, text):
        with open(os.path.join(directory, name), "w") as file:
            file.write(text)
        written.append(name)

    plain = min((condition for condition, _ in found), default=None)
    for chapter in dict.fromkeys(about.chapter for about in FIGURES.values()):
        groups = []
        for figure, about in FIGURES.items():
            if about.chapter == chapter and (by_name := found.get((plain, figure))):
                row = cells(by_name, "native")
                groups.append(("%s, %s" % (title_of(figure, options).replace("`", ""), about.unit),
                               [(name, row[name]) for name in names if name in row]))
        if groups:
            write(chapter.lower().replace(" ", "-") + ".svg", svg.bars(chapter, groups, number))
    for figure in ("cold_s", "small1_s", "small16_s", "first_ms"):
        lines = {}
        for (condition, other), by_name in sorted(found.items()):
            if other == figure and not condition[0]:
                for name, cell in cells(by_name, None).items():
                    lines.setdefault(name, []).append((condition[1], cell.median))
        if any(len(points) > 1 for points in lines.values()):
            title = "%s, %s, by added latency, ms" % (title_of(figure, options), FIGURES[figure].unit)
            write("latency-%s.svg" % figure.split("_")[0], svg.lines(title, lines, number))
    return written


def report(arguments):
    parser = argparse.ArgumentParser(prog="bench report", description="tables and plots of results")
    parser.add_argument("--plots", default="", metavar="DIR", help="also writes SVG plots there")
    parser.add_argument("files", nargs="+", metavar="FILE", help="what --json wrote")
    options = parser.parse_args(arguments)
    documents = []
    for path in options.files:
        with open(path) as file:
            documents.append(json.load(file))
    print(markdown(documents), end="")
    if options.plots:
        for name in plots(documents, options.plots):
            print("wrote " + os.path.join(options.plots, name))
