"""The pytest plugin that ends a run at the first case that takes longer than $MUTATE_CASE_S: a client would wait minutes for an answer
that a mutant has lost."""
import os
import threading

OUT = os.dup(1)  # pytest takes the other one
_timer = []


def _give_up(nodeid):
    os.write(OUT, f"\nFAILED {nodeid} - it took too long\n".encode())
    os._exit(1)  # what it started ends with the namespace


def pytest_runtest_logstart(nodeid):
    _timer.append(threading.Timer(float(os.environ["MUTATE_CASE_S"]), _give_up, [nodeid]))
    _timer[0].start()


def pytest_runtest_logfinish():
    _timer.pop().cancel()
