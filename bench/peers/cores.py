"""Whether this process has its cores for itself while something is measured.

Of virtual machines, two cores are one real core's halves for seconds at a time, or neighbours take a part of them: nothing in the machine
shows it but what the cores give together. Figures that were taken meanwhile say nothing of two threads against one.
"""

import subprocess
import time

import pytorch
from measure import BUILD, BenchError, say

WHOLE = 0.85  # of the most that all cores gave together since the start
LEARNING_S = 3
TRIES = 12
PAUSE_S = 0.5


class Cores:
    def __init__(self):
        pytorch.build("cores", ["-pthread"])
        self.process = subprocess.Popen([str(BUILD / "cores")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.best = 0.0
        self.taken = self.set_aside = self.doubtful = 0
        end = time.monotonic() + LEARNING_S
        while time.monotonic() < end:
            self.are_whole()

    def are_whole(self):
        print(file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise BenchError("cores ended early")
        self.best = max(self.best, float(answer))
        return float(answer) >= WHOLE * self.best

    def measure(self, what, tries=TRIES, pause=PAUSE_S):
        """What `what()` returns once the cores were whole before and after it; after so many tries, the last."""
        for _ in range(tries):
            is_whole = self.are_whole()
            figure = what() if is_whole else None
            if is_whole and self.are_whole():
                break
            self.set_aside += 1
            time.sleep(pause)
        else:
            self.doubtful += 1
            figure = what()
        self.taken += 1
        return figure

    def print_summary(self):
        say(f"cores: {self.taken} figures, for which {self.set_aside} tries were set aside, since the cores were not whole; "
            f"{self.doubtful} of them were taken nevertheless; the cores together gave up to {self.best:.0f} GFLOP/s")
