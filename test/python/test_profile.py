"""Session.records and Session.profile."""
import unittest

from made_models import Case, mnist, nnv12, noise, np

KINDS = nnv12.RECORD_KINDS


class Records(Case):
    def run_session(self, runs, **options):
        session = nnv12.Session(mnist(), threads=1, **options)
        self.addCleanup(session.close)
        for _ in range(runs):
            session.run({"Input3": noise(784)})
        return session

    def rows(self, records):
        if np:
            return [nnv12.Record(*fields) for fields in records.tolist()]
        return records

    def test_records(self):
        session = self.run_session(10, record="operation")
        records = session.records()
        if np:
            self.assertEqual(records.dtype.itemsize, 32)
            self.assertEqual(records.dtype.names, nnv12.Record._fields)
        rows = self.rows(records)
        whole = [r for r in rows if KINDS[r.kind] == "whole run"]
        self.assertEqual([r.run for r in whole], list(range(10)))
        operations = session.bundle.info["num_operations"]
        for run in whole:
            inside = [
                r
                for r in rows
                if KINDS[r.kind] == "execute" and r.run == run.run
            ]
            self.assertEqual(len(inside), operations)
            time = sum(r.duration_ns for r in inside)
            self.assertLessEqual(time, run.duration_ns)
            self.assertTrue(all(r.start_ns >= run.start_ns for r in inside))

    def test_no_record_is_read_twice_or_lost(self):
        session = self.run_session(3, record="run", record_runs=100)
        self.assertEqual(len(session.records()), 3)
        self.assertEqual(len(session.records()), 3)

    def test_some_runs(self):
        session = self.run_session(9, record="run", sample_every=4)
        runs = [r.run for r in self.rows(session.records())]
        self.assertEqual(runs, [0, 4, 8])

    def test_table(self):
        session = self.run_session(20, record="piece")
        by_layer = session.profile(by="layer")
        self.assertEqual(by_layer.runs, 19)
        self.assertEqual(
            len(by_layer.rows), session.bundle.info["num_operations"]
        )
        self.assertAlmostEqual(sum(r.share for r in by_layer.rows), 1)
        times = [r.us for r in by_layer.rows]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertIn("Convolution110", {r.layer for r in by_layer.rows})
        table = session.profile()
        self.assertEqual(sum(r.layers for r in table.rows), len(by_layer.rows))
        self.assertLess(len(table.rows), len(by_layer.rows))
        text = str(table).splitlines()
        self.assertEqual(len(text), 2 + len(table.rows))
        self.assertRegex(text[0], r"^19 runs, median [\d.]+ us; first run")
        self.assertIn("Pooling66 and 1 more", str(table))

    def test_refusals(self):
        plain = self.run_session(2)
        self.refuses("found no recorder", plain.records)
        self.refuses("found no recorder", plain.profile)
        coarse = self.run_session(2, record="run")
        self.refuses("found record='run'", coarse.profile)
        few = self.run_session(1, record="operation")
        self.refuses("expected some behind the first one", few.profile)
        self.refuses("by: found 'time'", few.profile, by="time")
        none = self.run_session(0, record="operation")
        self.assertEqual(len(none.records()), 0)
        few.close()
        self.refuses("found a closed one", few.records)


if __name__ == "__main__":
    unittest.main()
