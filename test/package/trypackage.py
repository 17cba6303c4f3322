"""The tests of packages share these: SqueezeNet, root folders, faults."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
DEMO = SOURCE / "tools/demo.d"
LIMIT_BYTES = 60_000_000
# From the package to SqueezeNet's answer.
LIMIT_SECONDS = 20
LIMIT_START_MS = 25
# The loader and all of glibc that our files link.
GLIBC = ["ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6"]
GLIBC_FOLDERS = ["/lib64", "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib"]


def wrong(text):
    """Ends the test with a line that says what was found and expected."""
    sys.exit(f"{Path(sys.argv[0]).name}: {text}")


def call(command, **options):
    """Runs a command without standard input; returns its output."""
    command = [str(word) for word in command]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    if done.returncode:
        wrong(
            f"{' '.join(command)}: found status {done.returncode}, "
            f"expected 0: {done.stdout.strip()}"
        )
    return done.stdout


def check_size(path):
    size = os.path.getsize(path)
    if size > LIMIT_BYTES:
        wrong(f"{path}: found {size} bytes, expected at most {LIMIT_BYTES}")
    print(f"{Path(path).name}: {size / 1e6:.1f} MB")


def check_time(what, seconds):
    if seconds > LIMIT_SECONDS:
        wrong(
            f"{what}: found {seconds:.1f} s, expected at most {LIMIT_SECONDS}"
        )
    print(f"{what}: {seconds:.1f} s")


def pythons():
    """One interpreter for each version from 3.9 on that is found."""
    folders = os.environ.get("PATH", "").split(":")
    versions = Path.home() / ".pyenv/versions"
    candidates = [Path("/usr/bin/python3")]
    candidates += [p / "bin/python3" for p in sorted(versions.glob("*"))]
    for folder in folders:
        candidates += sorted(Path(folder or ".").glob("python3.[0-9]*"))
    found = {}
    for path in candidates:
        if not re.fullmatch(r"python3(\.\d+)?", path.name):
            continue
        done = (
            subprocess.run(
                [path, "-c", "import sys; print(*sys.version_info[:2])"],
                capture_output=True,
                text=True,
            )
            if path.exists()
            else None
        )
        if done and done.returncode == 0:
            version = tuple(map(int, done.stdout.split()))
            if version >= (3, 9):
                found.setdefault(version, path)
    return found


def has_numpy(python):
    done = subprocess.run([python, "-c", "import numpy"], capture_output=True)
    return done.returncode == 0


# Runs in a Python that sees the package, with NumPy or without. Its arguments
# are model, bundle to write, photo and labels.
TRY = """
import sys
import nnv12
model, bundle, photo, labels = sys.argv[1:]
nnv12.compile(model, bundle)
with nnv12.Session(bundle) as session:
    (image,) = session.inputs
    pixels = nnv12.image(photo, image, scale=1, color="bgr")
    (scores,) = session.run(None, {image.name: pixels})
scores = memoryview(scores).cast("B").cast("f").tolist()
names = open(labels).read().splitlines()
print(names[scores.index(max(scores))])
"""


def try_python(python, work, environment):
    """Compiles SqueezeNet from Python, and asks it what is on the photo; does
    the same by the command. `python` sees the package in this environment."""
    model, photo = DEMO / "squeezenet.onnx", DEMO / "espresso.jpg"
    options = {"env": environment, "cwd": work}
    check_answer(
        call(
            [python, "-c", TRY, model, work / "p.nnv", photo,
             DEMO / "labels.txt"],
            **options,
        )  # fmt: skip
    )
    check_command([python, "-m", "nnv12"], work, environment)


def check_command(command, work, environment):
    """Runs nnv12's command on SqueezeNet."""
    found = call(
        [*command, DEMO / "squeezenet.onnx", DEMO / "espresso.jpg",
         "--cold", "1"],
        env=environment,
        cwd=work,
    )  # fmt: skip
    if "cold: session and first run" not in found:
        wrong(f"{command}: found '{found.strip()}', expected a table of times")


def check_start(compiler):
    """nnv12c starts as quickly as a tool that is called for each model may."""
    times = []
    for _ in range(20):
        start = time.monotonic()
        call([compiler, "--version"])
        times.append(1e3 * (time.monotonic() - start))
    if min(times) > LIMIT_START_MS:
        wrong(
            f"{compiler}: found {min(times):.1f} ms to start, expected at most"
            f" {LIMIT_START_MS}"
        )
    print(f"nnv12c starts in {min(times):.1f} ms")


def check_answer(text):
    first = text.strip().partition("\n")[0]
    if "espresso" not in first:
        wrong(f"SqueezeNet: found '{first}', expected espresso first")


class Root:
    """A folder that programs see as the root: glibc, SqueezeNet, and the files
    that a test unpacks there. Nothing else of the machine: no shell, no /proc.
    """

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="nnv12-root-"))
        os.chmod(self.path, 0o755)
        for folder in ("lib", "lib64", "tmp", "model", "home"):
            (self.path / folder).mkdir()
        for name in GLIBC:
            found = [f for f in GLIBC_FOLDERS if os.path.exists(f"{f}/{name}")]
            if not found:
                wrong(f"found no {name}, expected it in {GLIBC_FOLDERS}")
            # Loaders of distributions differ in the folders that they know.
            for folder in ("lib", "lib64"):
                shutil.copy(f"{found[0]}/{name}", self.path / folder / name)
        for name in ("squeezenet.onnx", "espresso.jpg", "labels.txt"):
            shutil.copy(DEMO / name, self.path / "model" / name)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        shutil.rmtree(self.path)

    def command(self, *words, proc=False):
        """The command that runs `words` inside, with /proc or without it. Needs
        root or namespaces."""
        unshare = [shutil.which("unshare") or "unshare", "--map-root-user"]
        if proc:
            (self.path / "proc").mkdir(exist_ok=True)
            unshare += ["--mount", "--pid", "--fork"]
            unshare += [f"--mount-proc={self.path}/proc"]
        return [
            *(unshare if proc or os.geteuid() else []),
            shutil.which("chroot") or "/usr/sbin/chroot",
            self.path,
            *words,
        ]

    def can_run(self, program):
        """Whether the machine lets us change the root: it lets us if a program
        there prints its version."""
        done = subprocess.run(
            [str(w) for w in self.command(program, "--version")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return "Operation not permitted" not in done.stdout

    def run(self, *words, proc=False, **variables):
        environment = {"HOME": "/home", "PATH": "/none", **variables}
        return call(self.command(*words, proc=proc), env=environment)

    def answer(self, tools, *options, proc=False):
        """Compiles SqueezeNet with the options, asks it what is on the photo.
        `tools` is their folder inside."""
        self.run(
            f"{tools}/nnv12c", "/model/squeezenet.onnx", "-o", "/tmp/s.nnv",
            *options, proc=proc,
        )  # fmt: skip
        run_options = ["--bgr", "--scale", "1", "--labels", "/model/labels.txt"]
        if "--sign" in options:
            run_options += ["--public-key", "/tmp/key.pub"]
        check_answer(
            self.run(
                f"{tools}/nnv12-run", "/tmp/s.nnv", "--input",
                "/model/espresso.jpg", *run_options, proc=proc,
            )  # fmt: skip
        )

    def try_tools(self, tools, start):
        """All that needs a library of its own; `start` is when unpacking
        began, in seconds of time.monotonic()."""
        self.answer(tools)
        check_time("unpacked, compiled, run", time.monotonic() - start)
        version = self.run(f"{tools}/nnv12c", "--version").split()[1]
        for tool in (self.path / tools.lstrip("/")).iterdir():
            if tool.name == "nnv12":
                continue  # a script of Python's
            found = self.run(f"{tools}/{tool.name}", "--version")
            if version not in found:
                wrong(f"{tool.name}: found {found.strip()}, expected {version}")

    def try_copies(self, tools):
        """Tries the copies of libsodium and libzstd: a signed bundle, and one
        with compressed weights. The loader asks /proc where a program lies."""
        self.run(f"{tools}/nnv12-keygen", "/tmp/key", proc=True)
        self.answer(tools, "--sign", "/tmp/key.key", proc=True)
        shutil.copy(SOURCE / "test/data/format-5.nnv", self.path / "tmp/z.nnv")
        if "zstd" not in self.run(f"{tools}/nnv12-inspect", "/tmp/z.nnv"):
            wrong("format-5.nnv: found no weights of zstd, expected some")
        run = [f"{tools}/nnv12-run", "/tmp/z.nnv", "--random"]
        self.run(*run, proc=True)
        folder = str(Path(tools).parent / "lib")
        self.run(*run, LD_LIBRARY_PATH=folder)


def build_user(prefix, work, sample):
    """Builds the program of test/install against the package at `prefix`, by
    CMake and by pkg-config, and runs it where there is a sample bundle."""
    user = SOURCE / "test/install/user"
    call(["cmake", "-S", user, "-B", work, f"-DCMAKE_PREFIX_PATH={prefix}"])
    call(["cmake", "--build", work])
    libraries = next(Path(prefix).rglob("nnv12.pc")).parent
    flags = call(
        ["pkg-config", "--cflags", "--libs", "nnv12"],
        env={**os.environ, "PKG_CONFIG_PATH": str(libraries)},
    )
    call(["cc", user / "user.c", *flags.split(), "-o", work / "user-pc"])
    if not sample:
        return
    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries.parent)}
    for program in ("user-nnv12", "user-nnv12-static", "user-pc"):
        found = call([work / program, sample], env=environment).strip()
        if found != "0.5":
            wrong(f"{program}: found {found}, expected 0.5")
