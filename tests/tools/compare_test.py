"""bench/compare.py: the table it prints."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import compare  # noqa: E402


class Table(unittest.TestCase):
    def test_takes_the_fastest_of_each_and_says_how_far_they_spread(self):
        base = [{"a": 0.2}, {"a": 0.3}]
        head = [{"a": 0.1, "b": 0.5}, {"a": 0.11, "b": 0.4}]
        _, a, b = compare.table(base, head)
        self.assertEqual(a.split(), ["a", "200.00", "ms", "100.00", "ms", "2.000", "50%"])
        self.assertEqual(b.split(), ["b", "400.00", "ms", "new"])


if __name__ == "__main__":
    unittest.main()
