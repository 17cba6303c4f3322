"""Makes a measured profile one of another code generator, of which one kernel
has other code: edit_profile.py PROFILE..."""

import json
import sys

for path in sys.argv[1:]:
    with open(path) as file:
        profile = json.load(file)
    profile["revision"] = "other"
    first = min(profile["kernels"])
    profile["kernels"][first]["code"] = "0" * 64
    with open(path, "w") as file:
        json.dump(profile, file)
