"""Sessions from many threads and processes, and many of them."""
import os
import signal
import sys
import threading
import time
import unittest
import warnings

from made_models import Case, floats, mnist, nnv12, noise, stream

# The long form of the tests, for ctest's python.long.
LONG = bool(os.environ.get("NNV12_PYTHON_LONG"))
THREADS = 16


def in_threads(work):
    """Calls work(number) on 16 threads at once; raises the first exception
    of any."""
    failures = []
    barrier = threading.Barrier(THREADS)

    def main(number):
        try:
            barrier.wait()
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=main, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def resident():
    """The process's own memory in bytes."""
    with open("/proc/self/smaps_rollup") as file:
        for line in file:
            if line.startswith("Pss_Anon") or line.startswith("Anonymous"):
                return int(line.split()[1]) * 1024
    raise AssertionError("found no size of memory")


def descriptors():
    return len(os.listdir("/proc/self/fd"))


class Threads(Case):
    RUNS = 2000 if LONG else 200

    def check(self, session, number):
        for i in range(self.RUNS):
            x = floats(number, i, 1, 2)
            state = floats(i, 3, 4, number)
            y = session.run({"x": x, "state": state})["y"]
            assert y.tolist() == [[number + i, i + 3, 5, 2 + number]]

    def test_one_session(self):
        with nnv12.Session(stream(), threads=1) as session:
            in_threads(lambda number: self.check(session, number))

    def test_a_session_each(self):
        bundle = nnv12.Bundle(stream())
        sessions = [nnv12.Session(bundle, threads=1) for _ in range(THREADS)]
        in_threads(lambda number: self.check(sessions[number], number))
        for session in sessions:
            session.close()
        bundle.close()

    def test_opened_and_closed_side_by_side(self):
        def work(number):
            for _ in range(self.RUNS // 20):
                with nnv12.Session(stream(), threads=1) as session:
                    session.run(
                        {"x": floats(*[0] * 4), "state": floats(*[0] * 4)}
                    )

        in_threads(work)

    def test_closed_by_another_thread(self):
        session = nnv12.Session(mnist())
        ends = []

        def work(number):
            feeds = {"Input3": noise(784)}
            try:
                while True:
                    session.run(feeds)
                    if number == 0 and not ends:
                        ends.append(1)
                        session.close()
            except nnv12.Error as error:
                assert "closed" in str(error), error

        in_threads(work)

    def test_a_run_lets_others_run(self):
        # Python itself changes threads only after 1000 seconds, so the other
        # one goes on where a run of the library lets it.
        gate, went_on = threading.Lock(), []

        def wait():
            with gate:
                went_on.append(True)

        gate.acquire()
        other = threading.Thread(target=wait)
        other.start()
        before = sys.getswitchinterval()
        sys.setswitchinterval(1000)
        try:
            with nnv12.Session(mnist(), threads=1) as session:
                feeds = {"Input3": noise(784)}
                session.run(feeds)
                self.assertFalse(went_on)
                gate.release()
                end = time.monotonic() + 20
                while not went_on and time.monotonic() < end:
                    session.run(feeds)
                self.assertTrue(went_on)
        finally:
            sys.setswitchinterval(before)
            other.join()

    def test_from_a_signal_handler(self):
        # A handler runs in the middle of the main thread's own call.
        session = nnv12.Session(stream(), threads=1)
        feeds = {"x": floats(1, 2, 3, 4), "state": floats(1, 2, 3, 4)}
        found = []

        class Feeds(dict):
            def __getitem__(self, name):
                os.kill(os.getpid(), signal.SIGUSR1)
                return dict.__getitem__(self, name)

        def handler(*_):
            try:
                session.run(feeds)
            except nnv12.Error as error:
                found.append(error.status)

        before = signal.signal(signal.SIGUSR1, handler)
        try:
            session.run(Feeds(feeds))
        finally:
            signal.signal(signal.SIGUSR1, before)
        self.assertIn(nnv12.Status.BUSY, found)
        session.run(feeds)
        session.close()

    def test_fork(self):
        bundle = nnv12.Bundle(mnist())
        session = nnv12.Session(bundle, threads=2)
        feeds = {"Input3": noise(784)}
        expected = session.run(feeds)["Plus214_Output_0"].tobytes()
        with warnings.catch_warnings():
            # Python 3.12 warns: this process has threads.
            warnings.simplefilter("ignore")
            process = os.fork()
        if process == 0:
            status = 1
            try:
                try:
                    session.run(feeds)
                except nnv12.Error as error:
                    status = 2 if "forked" in str(error) else 3
                session.close()
                # One that the child makes of the same bundle works.
                own = nnv12.Session(bundle, threads=2)
                found = own.run(feeds)["Plus214_Output_0"].tobytes()
                own.close()
                if status == 2 and found == expected:
                    status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(process, 0)[1], 0)
        session.run(feeds)
        session.close()


class Growth(Case):
    SESSIONS = 10000 if LONG else 200
    RUNS = 100000 if LONG else 3000
    BOUND = 1 << 20

    def assert_steady(self, work, times):
        """The second half of the calls takes no memory and no descriptor."""
        for _ in range(times // 2):
            work()
        memory, files = resident(), descriptors()
        for _ in range(times // 2):
            work()
        self.assertEqual(descriptors(), files)
        self.assertLess(resident() - memory, self.BOUND)

    def test_sessions(self):
        def work():
            with nnv12.Session(mnist(), record="run", record_runs=10) as s:
                s.run({"Input3": noise_784})

        noise_784 = noise(784)
        self.assert_steady(work, self.SESSIONS)

    def test_sessions_that_are_not_closed(self):
        def work():
            nnv12.Session(mnist(), threads=1)

        self.assert_steady(work, self.SESSIONS)

    def test_refusals(self):
        with open(mnist(), "rb") as file:
            bad = bytearray(file.read())
        bad[100] ^= 1

        def work():
            for source in (bad, "/no/where.nnv"):
                try:
                    nnv12.Session(source)
                except nnv12.Error:
                    continue
                raise AssertionError("opened")

        self.assert_steady(work, self.SESSIONS)

    def test_runs(self):
        with nnv12.Session(mnist(), threads=1) as session:
            feeds = {"Input3": noise(784)}
            self.assert_steady(lambda: session.run(feeds), self.RUNS)

    def test_streams(self):
        with nnv12.Session(stream(), threads=1) as session:
            x, y = floats(1, 2, 3, 4), floats(*[0] * 4)
            states = [floats(*[0] * 4), floats(*[0] * 4)]

            def work():
                session.run(
                    {"x": x, "state": states[0]},
                    out={"y": y, "next": states[1]},
                )
                states.reverse()

            self.assert_steady(work, self.RUNS)

    def test_wrong_runs(self):
        with nnv12.Session(stream(), threads=1) as session:

            def work():
                try:
                    session.run({"x": floats(1), "state": None})
                except nnv12.Error:
                    return
                raise AssertionError("ran")

            self.assert_steady(work, self.RUNS)


if __name__ == "__main__":
    unittest.main()
