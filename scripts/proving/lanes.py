"""Several lanes beside each other, each in a process of its own, until they have done so many rounds together."""
import multiprocessing
import os
import signal
import sys
import time
import traceback


def run_lane(make, number, queue, enough):
    # The lane ends whatever it started, whoever ends it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()
    lane = None
    try:
        lane = make(number)
        while not enough.is_set() and os.getppid() == parent:
            lane.round()
            queue.put((number, lane.sums(), None))
    except SystemExit:
        raise
    except BaseException:
        log = lane.mirror.said(1500) if lane else ""
        queue.put((number, lane.sums() if lane else None, traceback.format_exc() + log))
    finally:
        if lane:
            lane.stop()


def run(make, count, goal, what, patience=None):
    """Lanes 0..<count until `goal` rounds of `what` are done; the sums of all, and what broke."""
    context = multiprocessing.get_context("fork")
    queue, enough = context.Queue(), context.Event()
    lanes = [context.Process(target=run_lane, args=(make, number, queue, enough)) for number in range(count)]
    sums, broken, told = {}, [], 0
    start = time.monotonic()
    try:
        for lane in lanes:
            lane.start()
        while any(lane.is_alive() for lane in lanes) or not queue.empty():
            try:
                number, said, trouble = queue.get(timeout=1)
            except Exception:  # noqa: BLE001 - queue.Empty of another module
                continue
            if said:
                sums[number] = said
            if trouble:
                broken.append("lane %d: %s" % (number, trouble))
                print(broken[-1], flush=True)
            done = sum(each[what] for each in sums.values())
            if done >= told + max(1, goal // 20):
                told = done
                print("%6.0f s: %d %s, %d reads right, %d wrong, %d errors" % (
                    time.monotonic() - start, done, what, sum(each["reads"] for each in sums.values()),
                    sum(len(each["wrong"]) for each in sums.values()),
                    sum(len(each["errors"]) for each in sums.values())), flush=True)
                for each in sums.values():
                    for line in (each["wrong"] + each["errors"])[:3]:
                        print("        " + line[:600], flush=True)
            if done >= goal or (patience and time.monotonic() - start > patience):
                enough.set()
    finally:
        for lane in lanes:
            if lane.is_alive():
                lane.terminate()
        for lane in lanes:
            lane.join(60)
    return list(sums.values()), broken


def summed(sums):
    total = {}
    for each in sums:
        for name, value in each.items():
            if isinstance(value, dict):
                into = total.setdefault(name, {})
                for key, count in value.items():
                    into[key] = into.get(key, 0) + count
            else:
                total[name] = total.get(name, type(value)()) + value
    return total
