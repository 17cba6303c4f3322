"""video_profile.py FILE: checks that sums of nnv12-prof --video --json agree,
and says what the frames did."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    video = json.load(file)["video"]
kinds = [frame["kind"] for frame in video["frames"]]
reused = kinds.count("reused")
for layer in video["layers"]:
    assert layer["skipped"] + layer["partial"] + layer["whole"] == reused
    shares = [byte / 255 for byte in bytes.fromhex(layer["computed"])]
    assert len(shares) == len(kinds)
    shares = [s for s, kind in zip(shares, kinds) if kind == "reused"]
    # Bytes are rounded up.
    assert 0 <= sum(shares) / reused - layer["tiles"] < 1 / 255, layer
    pixels = layer["pixels"]
    grid = bytes.fromhex(pixels["bytes"])
    assert len(grid) == pixels["rows"] * pixels["columns"]
    assert any(grid) == any(shares), layer
    if layer["parts"] == "whole":
        assert layer["partial"] == 0
skipped, partial = (
    sum(layer[kind] for layer in video["layers"])
    for kind in ("skipped", "partial")
)
changed = sum(byte > 0 for byte in bytes.fromhex(video["input"]["bytes"]))
print(
    f"{kinds[0]}, then {reused} reused; places changed {changed}; "
    f"skipped {skipped / reused / len(video['layers']):.2f}, "
    f"partial {partial > 0}"
)
