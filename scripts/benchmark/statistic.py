"""From the turns of one or more runs to medians and ratios."""
import dataclasses
import statistics


@dataclasses.dataclass
class Cell:
    """One contestant's figure under one condition."""
    median: float
    lowest: float
    highest: float
    # To the reference, round by round: (median, lowest, highest); None without one.
    ratio: tuple = None


def condition_of(turn):
    return (turn["tls"], turn["latency_ms"])


def values(documents):
    """(condition, figure) -> name -> {(run, round): value}."""
    found = {}
    for run, document in enumerate(documents):
        for turn in document["turns"]:
            for figure, value in turn.get("figures", {}).items():
                row = found.setdefault((condition_of(turn), figure), {})
                row.setdefault(turn["name"], {})[(run, turn["round"])] = value
    return found


def cells(row, reference):
    """name -> Cell, with ratios to the reference of the same round."""
    base = row.get(reference, {})
    made = {}
    for name, by_round in row.items():
        ratios = [value / base[number] for number, value in by_round.items() if base.get(number)]
        made[name] = Cell(statistics.median(by_round.values()), min(by_round.values()), max(by_round.values()),
                          (statistics.median(ratios), min(ratios), max(ratios)) if ratios and name != reference else None)
    return made


def errors(documents):
    """(condition, work) -> name -> what went wrong."""
    found = {}
    for document in documents:
        for turn in document["turns"]:
            if "error" in turn:
                found.setdefault((condition_of(turn), turn["work"]), {})[turn["name"]] = turn["error"]
    return found
