"""Writes a measured profile of a phone that nobody measured, for plans:
measured_profile.py TUNING.json OUT.json [EDIT]

TUNING.json describes a tuning bundle for aarch64 (nnv12-inspect --json). All
kernels take about as long. EDIT is Python that changes `profile`; `own` is
the set of keys of the bundle.
"""

import json
import sys
from pathlib import Path

tuning, out, edit = (sys.argv[1:] + [""])[:3]
source = Path(__file__).resolve().parents[3]
with open(source / "compiler/device/profiles/meizu-16t.json") as file:
    profile = json.load(file)
with open(tuning) as file:
    program = json.load(file)["programs"][0]
kernels = {k["key"]: k for k in program["kernels"] if k["key"]}
profile.update(
    name="drawn",
    identity="a phone",
    measured=True,
    revision=program["revision"],
    kernels={
        key: {
            "big": [1e-7 * (1000 + kernel["bytes"] / 64)],
            "little": 1e-6,
            "code": kernel["fingerprint"],
        }
        for key, kernel in kernels.items()
    },
)
own = set(kernels)
exec(edit)
with open(out, "w") as file:
    json.dump(profile, file)
