"""Results of models through Python, byte for byte those of nnv12-run.

Takes test/models/data and, where they are there, the models beside the
repository. ctest calls it python.models."""
import sys
import unittest
from pathlib import Path

from made_models import FOLDER, ROOT, Case, nnv12, np

sys.path.insert(0, str(ROOT / "tools" / "lib"))
import nnv12tools  # noqa: E402
from nnv12._library import tool  # noqa: E402


def cases():
    shared = nnv12tools.shared_folder()
    found = nnv12tools.own_cases()
    if shared:
        found += nnv12tools.shared_cases(shared)
    return {case.name: case for case in found}.values()


class SameAsRun(Case):
    def outputs_of_run(self, bundle, case, *options):
        folder = FOLDER / f"{case.name}.out"
        nnv12tools.call(
            [
                tool("nnv12-run"),
                bundle,
                *(f"--input={name}={file}" for name, file in case.inputs),
                f"--output-dir={folder}",
                *options,
            ]
        )
        return folder

    def test_models(self):
        for case in cases():
            with self.subTest(case.name):
                bundle = nnv12.compile(
                    case.model,
                    FOLDER / f"{case.name}.nnv",
                    shapes=dict(case.shapes),
                )
                feeds = {name: np.load(file) for name, file in case.inputs}
                self.compare(bundle, case, feeds, True)
                self.compare(bundle, case, feeds, False)
                Path(bundle).unlink()

    def compare(self, bundle, case, feeds, is_cold):
        """The first run, and later ones."""
        folder = self.outputs_of_run(
            bundle, case, "--mode=cold" if is_cold else "--wait-ms=60000"
        )
        mode = "cold" if is_cold else "plan"
        with nnv12.Session(bundle, mode=mode, threads=2) as session:
            if not is_cold:
                session.prepare(60)
            for _ in range(3):
                results = session.run(None, feeds)
                for i, (info, found) in enumerate(
                    zip(session.outputs, results)
                ):
                    expected = np.load(folder / f"output_{i}.npy")
                    self.assertEqual(found.shape, expected.shape)
                    self.assertEqual(
                        found.tobytes(), expected.tobytes(), info.name
                    )


if __name__ == "__main__":
    unittest.main()
