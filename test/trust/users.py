#!/usr/bin/python3
"""Two users of one machine and group: does code of the one run as the other?

The victim compiles. nnv12c links its files below TMPDIR; with --target host
it runs bundles that it has just written there. Meanwhile the attacker puts
files of its own in the place of all that it can: in the folder for temporary
files, and in a cache folder that both can write. Its code makes a file, whose
owner tells who ran it, and the victim's bundle must be the same as ever. Then
the attacker plants links in a shared cache folder.

In each combination of umask and folder it compiles --tries times, and
--host-tries times with --target host. That forged bundles run where they are
let, and that the attacker gets into a folder that is open to it, is tried
first. Needs root and setpriv; exits with 77 without.
"""
import argparse
import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ATTACKER, VICTIM, GROUP = 52345, 52346, 52300
MODEL = Path(__file__).resolve().parents[1] / "models/data/mnist/model.onnx"

# Watches a folder, and in it folders of nnv12c: says what it has exchanged.
ATTACK = r"""
import os, sys
folder, evil = sys.argv[1], open(sys.argv[2], "rb").read()
seen, number, swapped = set(), 0, 0
print("ready", flush=True)
while not os.path.exists(sys.argv[3]):
    try:
        names = os.listdir(folder)
    except OSError:
        continue
    for name in names:
        if not name.startswith("nnv12c-") or name in seen:
            continue
        inside = f"{folder}/{name}"
        # Its files, one by one, or the whole folder.
        try:
            for file in os.listdir(inside):
                number += 1
                fresh = f"{inside}/x{number}"
                open(fresh, "wb").write(evil)
                os.chmod(fresh, 0o644)
                os.rename(fresh, f"{inside}/{file}")
                swapped += 1
                seen.add(name)
        except OSError:
            pass
        try:
            number += 1
            os.rename(inside, f"{folder}/x{number}")
            os.mkdir(inside, 0o777)
            os.chmod(inside, 0o777)
            for file in os.listdir(f"{folder}/x{number}"):
                open(f"{inside}/{file}", "wb").write(evil)
            swapped += 1
            seen.add(name)
        except OSError:
            pass
print(swapped)
"""


def as_user(user, command, umask=0o022, **options):
    return subprocess.Popen(
        ["setpriv", f"--reuid={user}", f"--regid={GROUP}", "--clear-groups"]
        + [str(part) for part in command],
        umask=umask,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        **options,
    )


class World:
    """Folders of both, and a forged bundle."""

    def __init__(self, work, bin_dir, forge):
        self.work, self.bin = work, work / "bin"
        work.chmod(0o755)
        self.bin.mkdir()
        for tool in ("nnv12c", "nnv12-tune", "nnv12-bench", "nnv12-run"):
            shutil.copy(bin_dir / tool, self.bin / tool)
        self.home, self.marks = work / "home", work / "marks"
        self.home.mkdir()
        self.marks.mkdir()
        self.marks.chmod(0o1777)
        self.mark = self.marks / "ran"
        shutil.copy(MODEL, self.home / "m.onnx")
        os.chown(self.home, VICTIM, GROUP)
        self.evil = work / "evil.nnv"
        self.bundle = self.victim(self.folder("tmp", 0o1777), 0o022)[1]
        tuning = work / "tuning.nnv"
        subprocess.run(
            [self.bin / "nnv12c", MODEL, "--emit", "tuning", "-o", tuning],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        subprocess.run([forge, tuning, self.mark, self.evil], check=True)
        self.evil.chmod(0o644)
        tuning.chmod(0o644)

    def folder(self, name, mode):
        path = self.work / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        os.chown(path, 0, GROUP)
        path.chmod(mode)
        return path

    def victim(self, temporary, umask, *options):
        """nnv12c's output, line by line, and the bundle's bytes or None."""
        result = self.home / "m.nnv"
        result.unlink(missing_ok=True)
        process = as_user(
            VICTIM,
            [self.bin / "nnv12c", "m.onnx", "-o", "m.nnv", "--quiet", *options],
            umask,
            cwd=self.home,
            env={**os.environ, "HOME": self.home, "TMPDIR": temporary},
        )
        said = process.communicate(timeout=300)[0].splitlines()
        progress = ("nnv12c: measuring ", "nnv12c: running ")
        said = [line for line in said if not line.startswith(progress)]
        good = process.returncode == 0 and result.exists()
        return said, result.read_bytes() if good else None

    def ran_as(self):
        """The user whose rights forged code had; None: it did not run."""
        if not self.mark.exists():
            return None
        owner = self.mark.stat().st_uid
        self.mark.unlink()
        return owner


class Attack:
    """Exchanges files that it can in a folder while the block runs."""

    def __init__(self, world, folder):
        self.stop = world.work / "stop"
        self.stop.unlink(missing_ok=True)
        self.process = as_user(
            ATTACKER,
            [sys.executable, "-c", ATTACK, folder, world.evil, self.stop],
            0,
        )
        self.process.stdout.readline()
        self.swapped = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop.touch()
        self.swapped = int(self.process.communicate(timeout=60)[0] or -1)


def has_bytes(file):
    """Whether a file has bytes; the attacker may be exchanging its folder."""
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False


def check_controls(world):
    """Checks that code of the other would show, if there were some."""
    profile = world.home / "p.json"
    said = as_user(
        VICTIM, [world.bin / "nnv12-tune", world.evil, "-o", profile]
    ).communicate(timeout=60)[0]
    if world.ran_as() != VICTIM:
        return f"a forged bundle that is measured does not run: {said}"
    shared = world.folder("open", 0o2775)
    inside = shared / "nnv12c-open"
    inside.mkdir()
    inside.chmod(0o770)
    os.chown(inside, VICTIM, GROUP)
    (inside / "a.nnv").touch()
    with Attack(world, shared) as attack:
        for _ in range(200):
            if has_bytes(inside / "a.nnv"):
                break
            threading.Event().wait(0.05)
    if attack.swapped < 1:
        return "the attacker does not get into a folder that is open to it"
    return None


def try_combination(world, umask, kind, tries, host_tries):
    """None, or a line about the fault."""
    modes = {"sticky": 0o1777, "open": 0o777, "cache": 0o1777}
    temporary = world.folder("tmp", modes[kind])
    watched, shared = temporary, []
    if kind == "cache":
        watched = world.folder("cache", 0o2775)
        shared = ["--cache-dir", watched]
    expected = f"{watched}, which others can write"
    if kind == "sticky":
        expected = None
    for number in range(tries + host_tries):
        on_host = number >= tries
        options = ["--target", "host", *shared] if on_host else []
        # Measured anew each time.
        shutil.rmtree(world.home / ".cache", ignore_errors=True)
        with Attack(world, watched) as attack:
            said, bundle = world.victim(temporary, umask, *options)
        place = f"umask {umask:03o}, {kind}, try {number}"
        owner = world.ran_as()
        if owner is not None:
            return f"{place}: code of the attacker ran as user {owner}"
        if attack.swapped:
            return f"{place}: the attacker got into {watched}"
        if kind == "open" and bundle:
            return f"{place}: a folder that is open to all was used"
        if kind != "open" and not bundle:
            return f"{place}: found no bundle: {said}"
        if not on_host and bundle not in (None, world.bundle):
            return f"{place}: found another bundle"
        # nnv12c may also say that a measurement was disturbed.
        lines = [line for line in said if "others can write" in line]
        must_say = expected and (kind == "open" or on_host)
        if bool(lines) != bool(must_say) or any(
            expected not in line for line in lines
        ):
            return f"{place}: found {said}, expected lines of {expected}"
    return None


def try_links(world):
    """Links in a shared cache folder, where the victim would write."""
    precious, made = world.home / "precious", world.home / "made"
    precious.write_text("precious")
    precious.chmod(0o600)
    os.chown(precious, VICTIM, GROUP)
    # The files that it would write, if the folder were its own.
    own = world.home / "own"
    temporary = world.folder("tmp", 0o1777)
    host = ["--target", "host", "--cache-dir"]
    said, good = world.victim(temporary, 0o022, *host, own)
    names = os.listdir(own) if own.exists() else []
    if not good or not names:
        return f"found nothing in a cache of the victim's own: {said}"
    for path in own.iterdir():
        if path.stat().st_mode & 0o077:
            mode = stat.filemode(path.stat().st_mode)
            return f"{path.name}: found mode {mode}"
    shared = world.folder("cache", 0o2775)
    for name in {*names, *(f"{n}.lock" for n in names if n[-5:] == ".json")}:
        link = shared / name
        link.symlink_to(made if name.endswith(".lock") else precious)
        os.chown(link, ATTACKER, GROUP, follow_symlinks=False)
    said, good = world.victim(temporary, 0o022, *host, shared)
    if precious.read_text() != "precious" or made.exists() or not good:
        return f"a link in a shared cache folder was followed: {said}"
    # And in a folder of its own, where no link can be another's: no harm.
    for name in names:
        (own / name).unlink()
        (own / name).symlink_to(precious)
    said, good = world.victim(temporary, 0o022, *host, own)
    if precious.read_text() != "precious" or not good:
        return f"a link in the cache folder was written through: {said}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin-dir", type=Path, required=True)
    parser.add_argument("--forge", type=Path, required=True)
    parser.add_argument("--umasks", default="000,002,022")
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--host-tries", type=int, default=10)
    args = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("skipped: two users need root and setpriv")
        return 77
    if platform.machine() != "x86_64":
        print("skipped: forged code is for x86-64 alone")
        return 77
    failed, count = 0, 0
    with tempfile.TemporaryDirectory(prefix="nnv12-users-") as work:
        world = World(Path(work), args.bin_dir, args.forge)
        steps = [("controls", lambda: check_controls(world))]
        for umask in (int(u, 8) for u in args.umasks.split(",")):
            for kind in ("sticky", "open", "cache"):
                steps.append(
                    (
                        f"umask {umask:03o}, {kind}",
                        lambda u=umask, k=kind: try_combination(
                            world, u, k, args.tries, args.host_tries
                        ),
                    )
                )
        steps.append(("links", lambda: try_links(world)))
        for name, step in steps:
            count += 1
            wrong = step()
            failed += wrong is not None
            print(f"FAIL {wrong}" if wrong else f"pass {name}", flush=True)
    print(f"users: {count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
