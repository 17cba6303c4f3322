"""Compares bundles of nnv12c --video exact and bounded (nnv12-inspect --json).

    video_checks.py EXACT BOUNDED

Check points and their memory are all that the second one has more.
"""

import json
import sys
from pathlib import Path

exact, bounded = (json.loads(Path(path).read_text()) for path in sys.argv[1:])
before, after = (b["programs"][0].pop("video") for b in (exact, bounded))
assert exact["programs"] == bounded["programs"]
overlays = bounded["video"]["segment"]
for a, b in zip(exact["segments"][:overlays], bounded["segments"]):
    assert a["digest"] == b["digest"], (a, b)

assert before.pop("reuse") == "exact"
for name in (
    "reuse",
    "tolerance",
    "input_tolerance",
    "refresh",
    "num_check_points",
):
    print(name, after.pop(name))
places = {execute.pop("check_place", None) for execute in after["executes"]}
assert places - {None} == {before["arena_size"]}, places
print("bytes", after.pop("arena_size") - before.pop("arena_size"))
assert before == after
