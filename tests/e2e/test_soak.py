"""The soak tests for some seconds: soak_kill.py and soak_two.py run them for as long as one likes (`make soak`)."""
import unittest

import soak_kill
import soak_two


def run(soak, *args):
    lines = []
    wrong = soak(*args, report=lines.append)
    print("\n".join(lines))
    return wrong, "\n".join(lines)


class Soak(unittest.TestCase):
    def test_killed_again_and_again(self):
        wrong, lines = run(soak_kill.soak, 30, 1)
        self.assertEqual(wrong, 0, lines)

    def test_two_programs_at_one_database(self):
        wrong, lines = run(soak_two.soak, 0.2, 3)
        self.assertEqual(wrong, 0, lines)


if __name__ == "__main__":
    unittest.main()
