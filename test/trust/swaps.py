#!/usr/bin/python3
"""A bundle that is opened with a public key runs as it was signed.

Three things are done to a signed bundle of MNIST:

  bytes    each byte is changed in turn
  swaps    at a random moment while it is opened, a session made and run, its
           file is exchanged by another one of the same signer, by one that is
           not signed or by a tuning bundle; bytes are put behind it; its
           header, metadata or code are written over in place, by the
           descriptor or through a mapping
  cuts     the same with its file cut, which may end the process by SIGBUS

The result is a refusal or the same output, bit by bit. The same is tried with
the bundle's digest instead of the key.
"""
import argparse
import ctypes
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/lib"))
import numpy as np  # noqa: E402
from nnv12runtime import Buffer  # noqa: E402

MODEL = Path(__file__).resolve().parents[1] / "models/data/mnist/model.onnx"


class Options(ctypes.Structure):
    """nnv12_open_options."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("public_key", ctypes.c_char_p),
        ("verify_weights", ctypes.c_int),
        ("target", ctypes.c_char_p),
        ("copying", ctypes.c_int),
        ("trust_weights", ctypes.c_int),
        ("digest", ctypes.c_char_p),
        ("take_tuning", ctypes.c_int),
    ]


class Runner:
    """Opens and runs a bundle with one input and one output."""

    def __init__(self, library, options):
        self.lib, self.options = ctypes.CDLL(str(library)), options
        self.lib.nnv12_bundle_close.argtypes = [ctypes.c_void_p]
        self.lib.nnv12_session_close.argtypes = [ctypes.c_void_p]
        generator = np.random.default_rng(1)
        self.x = generator.random((1, 1, 28, 28), np.float32)

    def run(self, path=None, image=None, attacks=(None, None, None)):
        """The output's bytes; None where the bundle was refused. `attacks`:
        calls before it is opened, a session is made, and it runs."""
        bundle, session = ctypes.c_void_p(), ctypes.c_void_p()
        (attacks[0] or int)()
        options = ctypes.byref(self.options)
        if image is None:
            status = self.lib.nnv12_bundle_open(
                str(path).encode(), options, ctypes.byref(bundle), None
            )
        else:
            status = self.lib.nnv12_bundle_open_memory(
                ctypes.c_void_p(image.ctypes.data),
                ctypes.c_size_t(image.size),
                options,
                ctypes.byref(bundle),
                None,
            )
        if status:
            return None
        (attacks[1] or int)()
        y = np.full(10, np.nan, np.float32)
        taken = self.lib.nnv12_session_create(
            bundle, None, ctypes.byref(session), None
        )
        if not taken:
            (attacks[2] or int)()
            given = Buffer.of(self.x)
            wanted = Buffer.of(y)
            taken = self.lib.nnv12_session_run(
                session, ctypes.byref(given), 1, ctypes.byref(wanted), 1, None
            )
            self.lib.nnv12_session_close(session)
        self.lib.nnv12_bundle_close(bundle)
        return None if taken else y.tobytes()


def aligned(data):
    """A copy at a multiple of 64."""
    room = np.empty(len(data) + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + len(data)]
    copy[:] = np.frombuffer(data, np.uint8)
    return copy


def try_bytes(runner, data, expected, step):
    image, opened = aligned(data), 0
    for i in range(0, len(data), step):
        image[i] ^= 0x11
        result = runner.run(image=image)
        image[i] ^= 0x11
        opened += result is not None
        if result not in (None, expected):
            return f"byte {i}: found another result"
    # Padding is not covered, and there are no bytes that nothing covers.
    if not 0 < opened < len(data) / 2:
        return f"found {opened} of {len(data) // step} changes accepted"
    return None


def write_in_place(path, begin, size, through_mapping):
    with open(path, "r+b") as file:
        if not through_mapping:
            os.pwrite(file.fileno(), b"\xcc" * size, begin)
            return
        with mmap.mmap(file.fileno(), 0) as mapping:
            mapping[begin : begin + size] = b"\xcc" * size


def attacks_on(path, others, parts):
    """The changes to the file, by name."""

    def exchange(by):
        fresh = path.with_suffix(".new")
        shutil.copy(by, fresh)
        os.rename(fresh, path)

    def append():
        with open(path, "ab") as file:
            file.write(b"\xcc" * 4096)

    result = {f"exchanged by {o.name}": lambda o=o: exchange(o) for o in others}
    result["appended to"] = append
    for name, begin, size in parts:
        for mapped in (False, True):
            how = "through a mapping" if mapped else "in place"
            result[
                f"{name} written over {how}"
            ] = lambda b=begin, s=size, m=mapped: write_in_place(path, b, s, m)
    return result


def try_swaps(runner, data, expected, others, parts, work, tries):
    path, chance = work / "swapped.nnv", random.Random(1)
    path.write_bytes(data)
    start = time.perf_counter()
    runner.run(path)
    lasts = max(1e-3, time.perf_counter() - start)
    attacks = list(attacks_on(path, others, parts).items())
    # One after the other, and then at any moment.
    for name, attack in attacks:
        for stage in range(3):
            path.unlink()
            path.write_bytes(data)
            steps = [attack if stage == i else None for i in range(3)]
            result = runner.run(path, attacks=steps)
            if result != (expected if stage else None):
                return f"{name} at stage {stage}: found {result}"
    for number in range(tries):
        path.unlink()
        path.write_bytes(data)
        name, attack = attacks[number % len(attacks)]
        moment = chance.random() * lasts
        begun, results = threading.Event(), []

        def opener():
            begun.set()
            results.append(runner.run(path))

        thread = threading.Thread(target=opener)
        thread.start()
        begun.wait()
        # Sleeping is too coarse.
        until = time.perf_counter() + moment
        while time.perf_counter() < until:
            pass
        attack()
        thread.join()
        if results[0] not in (None, expected):
            return f"{name} after {moment * 1e6:.0f} us: found another result"
    return None


def try_cuts(arguments, data, expected, work, tries):
    """In processes of their own: a mapping that lost its file gives SIGBUS."""
    path, chance = work / "cut.nnv", random.Random(2)
    endings = set()
    for number in range(tries):
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        process = subprocess.Popen(
            [sys.executable, __file__, *arguments, "--once", path],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        process.stdout.readline()
        time.sleep(chance.random() * 2e-3)
        os.truncate(path, chance.randrange(len(data)))
        result = process.communicate(timeout=60)[0].strip().decode()
        endings.add(process.returncode or result)
        if process.returncode not in (0, -signal.SIGBUS):
            return f"cut: found the end {process.returncode}"
        if not process.returncode and result not in ("", expected.hex()):
            return "cut: found another result"
    return None if endings else "found no end"


def tool(args, name, *arguments):
    subprocess.run(
        [args.bin_dir / name, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def options_for(args):
    options = Options(struct_size=ctypes.sizeof(Options))
    if args.key:
        options.public_key = bytes.fromhex(args.key)
    if args.digest:
        options.digest = bytes.fromhex(args.digest)
    return options


def make_bundles(args, work):
    """The bundle, others that shall not pass for it, its parts and key."""
    key = work / "k.key"
    signs = []
    if args.bin_dir.joinpath("nnv12-keygen").exists():
        done = subprocess.run(
            [args.bin_dir / "nnv12-keygen", work / "k"], capture_output=True
        )
        signs = ["--sign", key] if done.returncode == 0 else []
    signed = work / "signed.nnv"
    tool(args, "nnv12c", MODEL, *signs, "-o", signed)
    unsigned, other = work / "unsigned.nnv", work / "other.nnv"
    tool(args, "nnv12c", MODEL, "--property", "by=others", "-o", unsigned)
    tool(args, "nnv12c", MODEL, *signs, "--emit", "tuning", "-o", other)
    facts = json.loads(
        subprocess.check_output(
            [args.bin_dir / "nnv12-inspect", signed, "--json", "--summary"]
        )
    )
    parts = [("header", 0, 256)]
    parts.append(("metadata", facts["metadata_offset"], facts["metadata_size"]))
    parts += [
        (s["kind"], s["offset"], s["size"])
        for s in facts["segments"]
        if s["kind"] == "code"
    ]
    public = (work / "k.pub").read_text().split()[1] if signs else None
    return signed, [unsigned, other], parts, public, facts["digest"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin-dir", type=Path)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--key")
    parser.add_argument("--digest")
    parser.add_argument("--once", type=Path)
    args = parser.parse_args()
    if args.once:
        runner = Runner(args.library, options_for(args))
        print("ready", flush=True)
        result = runner.run(args.once)
        print(result.hex() if result else "")
        return 0
    failed, skipped = 0, []
    with tempfile.TemporaryDirectory(prefix="nnv12-swaps-") as name:
        work = Path(name)
        signed, others, parts, key, digest = make_bundles(args, work)
        data = signed.read_bytes()
        bindings = [["--key", key]] if key else []
        if not key:
            skipped.append("a public key: install libsodium23")
        for binding in [*bindings, ["--digest", digest]]:
            arguments = ["--library", args.library, *binding]
            options = options_for(parser.parse_args(map(str, arguments)))
            runner = Runner(args.library, options)
            expected = runner.run(signed)
            if expected is None:
                print(f"FAIL {binding[0]}: the bundle was refused")
                return 1
            for what, step in (
                ("bytes", lambda: try_bytes(runner, data, expected, args.step)),
                (
                    "swaps",
                    lambda: try_swaps(
                        runner, data, expected, others, parts, work, args.tries
                    ),
                ),
                (
                    "cuts",
                    lambda: try_cuts(
                        arguments, data, expected, work, args.cuts
                    ),
                ),
            ):
                wrong = step()
                failed += wrong is not None
                label = f"{binding[0][2:]}, {what}"
                print(
                    f"FAIL {label}: {wrong}" if wrong else f"pass {label}",
                    flush=True,
                )
    for line in skipped:
        print(f"skipped: {line}")
    return 1 if failed else 77 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
