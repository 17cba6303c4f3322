"""video_lines.py LINES FOLDER FRAMES: the JSON lines of nnv12-run --video have
the values of FOLDER/I/output_K.npy, which are those of frame I by itself."""
import json
import sys

import numpy as np

path, folder, frames = sys.argv[1:]
lines = [json.loads(line) for line in open(path)]
assert [line["frame"] for line in lines] == list(range(int(frames))), lines
for line in lines:
    assert line["ms"] > 0, line
    for k, found in enumerate(line["outputs"]):
        y = np.load(f"{folder}/{line['frame']}/output_{k}.npy").astype(float)
        assert found["nan"] == 0
        np.testing.assert_allclose(
            [found["min"], found["max"], found["mean"]],
            [y.min(), y.max(), y.mean()],
            rtol=1e-6,
        )
print(len(lines), "lines of", len(lines[0]["outputs"]), "outputs")
