"""The time that a run takes beside the library's own."""
import json
import os
import subprocess
import sys
import time
import unittest

from made_models import ROOT, Case, mnist, needs_numpy, nnv12, np, stream
from nnv12._library import tool

# Microseconds.
RUN_BOUND, STEP_BOUND = 25, 30
# Milliseconds.
COLD_BOUND = 2
FIRST_RESULT = """
import nnv12, sys, time, array
x = array.array("f", bytes(4 * 784))
start = time.perf_counter()
session = nnv12.Session(sys.argv[1])
session.run({"Input3": x})
print(time.perf_counter() - start)
"""


def median(values):
    return sorted(values)[len(values) // 2]


@needs_numpy
class Overhead(Case):
    def measure(self, bundle, step):
        """By how many microseconds step(session) takes longer than the run in
        it, which the session records. The least of some medians: other
        programs may be busy."""
        results = []
        for _ in range(5):
            with nnv12.Session(
                bundle, threads=1, record="run", record_runs=500
            ) as session:
                for _ in range(100):
                    step(session)
                times = []
                for _ in range(500):
                    start = time.perf_counter_ns()
                    step(session)
                    times.append(time.perf_counter_ns() - start)
                records = session.records()
            inside = records["duration_ns"][-500:]
            results.append((median(times) - median(inside)) / 1e3)
        return min(results)

    def test_run(self):
        x = np.ones((1, 1, 28, 28), np.float32)
        feeds = {"Input3": x}
        more = self.measure(mnist(), lambda session: session.run(feeds))
        self.assertLess(more, RUN_BOUND)

    def test_step(self):
        x, y, a, b = (np.zeros((1, 4), np.float32) for _ in range(4))
        states = [a, b]

        def step(session):
            session.run(
                {"x": x, "state": states[0]}, out={"y": y, "next": states[1]}
            )
            states.reverse()

        self.assertLess(self.measure(stream(), step), STEP_BOUND)

    def test_first_result(self):
        """A fresh process's first result, beside that of one in C++."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "runtime" / "python"),
        }
        command = [sys.executable, "-c", FIRST_RESULT, mnist()]
        ours = min(
            float(subprocess.check_output(command, env=environment))
            for _ in range(7)
        )
        bench = [tool("nnv12-bench"), mnist(), "--cold=7", "--warm=0"]
        report = subprocess.check_output(
            [*bench, "--unbacked", "--json=-"], stderr=subprocess.DEVNULL
        )
        theirs = json.loads(report)["cold"]["stages_ms"]["in-process"]["min"]
        self.assertLess(1e3 * ours - theirs, COLD_BOUND)


if __name__ == "__main__":
    unittest.main()
