"""The motion between frames of a clip, as test/video/motion-frames finds it."""
import json
import subprocess
from pathlib import Path

import numpy as np

# A search with all that DeepCache adds to it: each second block each way, and
# no error computed twice.
SEARCHES = {
    "none": ["--search=none"],
    "ES": ["--search=exhaustive"],
    "TSS": ["--search=three-step"],
    "DS": ["--search=diamond"],
    "DS, k = 2": ["--search=diamond", "--skip=2", "--keep-errors"],
}


def match(binary, frames, search, block=10, db=20.0, options=()):
    """A dictionary for each frame but the first: dx, dy, matched, ms, clean.
    `frames` are arrays of bytes, [rows, columns, 3]."""
    rows, columns = frames[0].shape[:2]
    command = [
        str(binary),
        "-",
        f"--video-size={columns}x{rows}",
        f"--block={block}",
        f"--threshold={db}",
        *SEARCHES[search],
        *options,
    ]
    done = subprocess.run(
        command, input=b"".join(f.tobytes() for f in frames), stdout=-1
    )
    if done.returncode:
        raise SystemExit(f"{Path(binary).name} ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def changed(found, rows, columns):
    """1 for each pixel that is not clean."""
    mask = np.ones((rows, columns), np.float32)
    for x, y, width, height in found["clean"]:
        mask[y : y + height, x : x + width] = 0
    return mask
