"""The end of a program. PyTorch's threads that run backward drop what they hold, some of it Python's, after `backward` has returned. One
that needs the interpreter's lock while the interpreter ends is ended itself, and with it the process (std::terminate)."""

import atexit
import os
import time

SECONDS = 1.0  # at most; mostly it takes three looks


def register():
    atexit.register(wait_for_backward)


def wait_for_backward():
    """Until these threads sleep, three times in a row. Each look gives them the lock for a millisecond."""
    deadline, quiet = time.monotonic() + SECONDS, 0
    try:
        while quiet < 3 and time.monotonic() < deadline:
            states = backward_states()
            if not states:
                return
            quiet = quiet + 1 if set(states) == {"S"} else 0
            time.sleep(0.001)
    except OSError:  # no /proc: nobody can tell
        time.sleep(0.01)


def backward_states():
    """As in /proc: R runs, S sleeps."""
    states = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/stat") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
        except FileNotFoundError:
            continue  # ended meanwhile
        if name.startswith("pt_autograd"):
            states.append(rest.split()[0])
    return states
