"""The arithmetic of the report, checked on made-up results: `python3 -m benchmark.check` in scripts."""
import tempfile
import unittest
import xml.dom.minidom
import os

from . import lister, report, statistic
from .reading import percentile


def document(turns):
    options = {"rounds": 2, "size_mib": 1024, "small": 2000, "many": 100_000, "pages": 10_000, "sources": 1000,
               "random": 500}
    return {"machine": {"cores": 2, "memory_gib": 23, "linux": "6"}, "options": options, "versions": {}, "server": {},
            "names": ["native", "s3mirror", "rclone", "bare"], "turns": turns}


def turn(number, name, latency=0, **figures):
    return {"round": number, "name": name, "work": "stream", "latency_ms": latency, "tls": False, "figures": figures}


TURNS = [turn(0, "native", cold_s=1.0), turn(0, "s3mirror", cold_s=2.0), turn(0, "rclone", cold_s=4.0),
         turn(1, "native", cold_s=2.0), turn(1, "s3mirror", cold_s=2.0), turn(1, "rclone", cold_s=8.0),
         turn(0, "bare", cold_s=0.5), turn(0, "s3mirror", 20, cold_s=3.0)]


class Checks(unittest.TestCase):
    def test_ratios_are_of_one_round(self):
        row = statistic.values([document(TURNS)])[((False, 0), "cold_s")]
        self.assertEqual(statistic.cells(row, "native")["s3mirror"].ratio, (1.5, 1.0, 2.0))

    def test_a_percentile_is_the_nearest_rank(self):
        self.assertEqual([percentile(list(range(1, 101)), rank) for rank in (50, 99, 100)], [50, 99, 100])
        self.assertEqual(percentile([7], 1), 7)

    def test_the_table_names_the_best_mount(self):
        text = report.markdown([document(TURNS)])
        self.assertIn("| 1 GiB, in order, cold, s | 1.5 | **2** · 1.5× (1–2) | 6 · 4× | bare client 0.5 |", text)
        self.assertIn("**Large objects, 20 ms added**", text)

    def test_an_error_is_named(self):
        failed = dict(turn(0, "rclone"), error="no way")
        self.assertIn("- rclone, `stream`: no way", report.markdown([document(TURNS + [failed])]))

    def test_plots_are_well_formed(self):
        with tempfile.TemporaryDirectory() as directory:
            names = report.plots([document(TURNS)], directory)
            self.assertEqual(names, ["large-objects.svg", "latency-cold.svg"])
            for name in names:
                xml.dom.minidom.parse(os.path.join(directory, name))

    def test_pages_cover_all_keys_once(self):
        with tempfile.TemporaryDirectory() as top:
            for name in ("a/1", "a/2", "a-b", "c"):
                os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
                open(os.path.join(top, name), "wb").close()
            bucket = lister.Bucket(top)
            seen, after, more = [], b"", True
            while more:
                entries, more = bucket.page(b"", b"/", after, True, 1)
                seen += [entry if isinstance(entry, bytes) else entry[0] for entry in entries]
                after = seen[-1]
            self.assertEqual(seen, [b"a-b", b"a/", b"c"])


if __name__ == "__main__":
    unittest.main(verbosity=0)
