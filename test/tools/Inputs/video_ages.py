"""video_ages.py JSON FOLDER FRAMES: the ages that nnv12-bench --video --json
tells of skipping are those of the answers FOLDER/I/output_*.npy to each frame
by itself."""
import glob
import json
import sys

import numpy as np

path, folder, frames = sys.argv[1:]
frames = int(frames)
answers = [
    np.concatenate(
        [
            np.load(file).astype(float).ravel()
            for file in sorted(glob.glob(f"{folder}/{i}/output_*.npy"))
        ]
    )
    for i in range(frames)
]


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


video = json.load(open(path))["video"]
assert video["frames"] == frames, video
step = np.mean([np.linalg.norm(a - b) for a, b in zip(answers[1:], answers)])
np.testing.assert_allclose(video["step"], step, rtol=1e-6)
rows = {row["name"]: row for row in video["answers"]}
for name, n in (
    ("every 2nd frame", 2),
    ("every 3rd frame", 3),
    ("every 4th frame", 4),
):
    pairs = [(answers[i - i % n], answers[i]) for i in range(1, frames)]
    away = np.mean([np.linalg.norm(a - b) for a, b in pairs])
    worst = [1000 * (1 - cosine(a, b)) for a, b in pairs]
    row = rows.pop(name)
    np.testing.assert_allclose(row["saved"], 1 - 1 / n, rtol=1e-6)
    np.testing.assert_allclose(row["distance"], away, rtol=1e-6)
    np.testing.assert_allclose(row["age"], away / step, rtol=1e-6)
    np.testing.assert_allclose(row["worst"], max(worst), rtol=1e-5)
    assert row["worst_frame"] == 1 + int(np.argmax(worst)), row
(noise,) = rows.values()
assert noise["saved"] == 0 and 0 < noise["age"] < 0.5, noise
(plain,) = video["sessions"]
for kind in ("samples_ms", "cpu_samples_ms"):
    assert len(plain[kind]) == frames and min(plain[kind]) > 0, plain
assert plain["median_ms"] <= plain["p90_ms"] <= plain["p99_ms"], plain
print("ages of", frames, "frames of", len(answers[0]), "numbers")
