#!/usr/bin/python3
"""A device profile decides how fast a plan is, never what it computes.

Profiles that come with nnv12 are changed at random: numbers to extreme ones,
fields to others, left out or of another type. nnv12c refuses each in one line,
or compiles MNIST with it, and the bundle gives the model's results: the network
in one of the ways in which it can be computed.
"""
import argparse
import copy
import json
import platform
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CASE = ROOT / "test/models/data/mnist"
POSITIVE = [1, 2, 3, 1e-6, 1e-3, 0.5, 1e6, 1e9, 2**53, 1e15]
NUMBERS = [*POSITIVE, 0, -1, -0.0, 1e-300, 5e-324, 1e300, 2**63, 10**40]
OTHERS = [None, True, "", "x", "\x1b[2J\n", [], {}, [1, 2], {"a": 1}]


def places(value):
    """Each field of all objects and lists inside of it: (container, key)."""
    items = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, inner in items:
        yield value, key
        yield from places(inner)


def poison(text, chance):
    profile = json.loads(text)
    # For a program that runs here.
    is_arm = platform.machine() == "aarch64"
    profile["architecture"] = "aarch64" if is_arm else "x86-64"
    profile["target"] = "aarch64" if is_arm else "x86-64-v3"
    # Mostly positive numbers alone, which are not refused as often.
    is_mild = chance.random() < 0.7
    for _ in range(chance.choice([1, 2, 5, 20, 100])):
        container, key = chance.choice(list(places(profile)))
        if is_mild and (key == "version" or isinstance(container[key], bool)):
            continue
        if isinstance(container[key], (int, float)) or not is_mild:
            values = POSITIVE if is_mild else NUMBERS + OTHERS
            container[key] = copy.deepcopy(chance.choice(values))
    return json.dumps(profile)


def run(command):
    return subprocess.run(command, capture_output=True, timeout=120)


def try_profile(args, path, work):
    """Whether it was taken; ValueError says what was wrong."""
    bundle = work / "m.nnv"
    bundle.unlink(missing_ok=True)
    option = "--gpu-profile" if args.gpu else "--profile"
    gpu = ["--gpu"] if args.gpu else []
    done = run(
        [args.bin_dir / "nnv12c", CASE / "model.onnx", "-o", bundle]
        + [*gpu, option, path, "--quiet"]
    )
    said = done.stderr.decode(errors="replace")
    if any(ord(c) < 32 and c != "\n" for c in said):
        raise ValueError(f"found control characters in {said!r}")
    if done.returncode:
        if done.returncode != 1 or said.count("\n") != 1 or bundle.exists():
            raise ValueError(f"exit {done.returncode}: {said}")
        return False
    done = run(
        [args.bin_dir / "nnv12-run", bundle, "--expect", CASE]
        + ["--allow-software-gpu", "--gpu-cache", "none"]
    )
    if done.returncode:
        said = (done.stderr + done.stdout).decode(errors="replace")
        raise ValueError(f"other results: {said}")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin-dir", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--gpu", action="store_true", help="those of GPUs")
    args = parser.parse_args()
    names = sorted((ROOT / "compiler/device/profiles").glob("*.json"))
    if args.gpu:
        names = [n for n in names if "gpu" in json.loads(n.read_text())]
    taken, failed = 0, 0
    with tempfile.TemporaryDirectory(prefix="nnv12-profiles-") as folder:
        work = Path(folder)
        for seed in range(args.first, args.first + args.seeds):
            chance = random.Random(seed)
            path = work / "p.json"
            path.write_text(poison(chance.choice(names).read_text(), chance))
            try:
                taken += try_profile(args, path, work)
            except (ValueError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"FAIL seed {seed}: {error}", flush=True)
    if not taken:
        print("FAIL: found no profile that is taken")
        failed += 1
    print(
        f"profiles: {args.seeds - failed} passed, {failed} failed, "
        f"{taken} taken"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
