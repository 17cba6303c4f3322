"""nnv12.compile, and where the library and the tools are looked for."""
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from made_models import FOLDER, ROOT, Case, floats, mnist, nnv12, noise
from onnx_writer import write_model

MODEL = ROOT / "test" / "models" / "data" / "mnist" / "model.onnx"


def child(code, **environment):
    """Runs Python code in a process that has these variables, and others not
    if they are None."""
    merged = {**os.environ, **environment}
    merged["PYTHONPATH"] = str(ROOT / "runtime" / "python")
    return subprocess.run(
        [sys.executable, "-c", code],
        env={k: v for k, v in merged.items() if v is not None},
        cwd=FOLDER,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )


class Compile(Case):
    def test_names(self):
        model = FOLDER / "named.onnx"
        model.write_bytes(MODEL.read_bytes())
        made = nnv12.compile(str(model))
        self.assertEqual(made, str(FOLDER / "named.nnv"))
        other = nnv12.compile(model, FOLDER / "other name.nnv")
        with nnv12.Session(other) as session:
            self.assertEqual(session.inputs[0].name, "Input3")

    def test_options(self):
        made = nnv12.compile(
            MODEL,
            FOLDER / "options.nnv",
            target=["x86-64-v3", "aarch64"],
            threads=1,
            options=["--mode=cold", "--property=color=bgr"],
        )
        bundle = nnv12.Bundle(made)
        self.assertEqual(bundle.info["target"], "x86-64-v3")
        self.assertEqual(bundle.properties["color"], "bgr")
        with nnv12.Session(bundle) as session:
            self.assertEqual(session.info["threads"], 1)

    def test_shapes(self):
        model = FOLDER / "open.onnx"
        write_model(
            model,
            [("Identity", ["x"], ["y"]), ("Identity", ["s"], ["t"])],
            [("x", "f32", (1, "rows", 2)), ("s", "f32", ())],
            [("y", "f32", (1, "rows", 2)), ("t", "f32", ())],
        )
        for shapes in ({"x": (1, 3, 2), "s": ()}, {"rows": 3}):
            bundle = nnv12.Bundle(nnv12.compile(model, shapes=shapes))
            self.assertEqual(bundle.inputs[0].shape, (1, 3, 2))
        self.refuses("rows", nnv12.compile, model, status=None)
        self.refuses(
            "shapes: x: found 'big'", nnv12.compile, model, shapes={"x": "big"}
        )
        self.refuses(
            "shapes: x: found 1.5", nnv12.compile, model, shapes={"x": 1.5}
        )

    def test_refused_models(self):
        text = FOLDER / "text.onnx"
        text.write_text("no model")
        output = FOLDER / "refused.nnv"
        for expected, model in (
            ("found a text, expected an ONNX model", text),
            ("No such file", FOLDER / "missing.onnx"),
            ("No such file", "-v"),
        ):
            self.refuses(expected, nnv12.compile, model, output, status=None)
        self.assertFalse(output.exists())
        self.refuses(
            "No such file", nnv12.compile, MODEL, "/no/x.nnv", status=None
        )
        self.refuses(
            "--bogus",
            nnv12.compile,
            MODEL,
            output,
            options=["--bogus"],
            status=None,
        )
        self.refuses(
            "expected a list", nnv12.compile, MODEL, output, options="--help"
        )
        self.refuses("model: found int", nnv12.compile, 7, output)

    def test_ctrl_c(self):
        # A compiler that only sleeps, and writes down that it was ended.
        tools = FOLDER / "slow"
        tools.mkdir()
        slow = tools / "nnv12c"
        slow.write_text(
            "#!/bin/sh\n"
            f"trap 'echo ended >{FOLDER}/ended; kill $!; exit 1' TERM\n"
            f"echo started >{FOLDER}/started\n"
            "sleep 60 & wait\n"
        )
        slow.chmod(0o755)
        # Python's own, so that the process ends as users see it.
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import nnv12\n"
                "try: nnv12.compile('a.onnx', 'a.nnv')\n"
                "except KeyboardInterrupt: print('interrupted')",
            ],
            env={
                **os.environ,
                "NNV12_TOOLS": str(tools),
                "PYTHONPATH": str(ROOT / "runtime" / "python"),
            },
            cwd=FOLDER,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.wait_for(FOLDER / "started")
        process.send_signal(signal.SIGINT)
        output, messages = process.communicate(timeout=60)
        self.assertEqual(output, b"interrupted\n")
        self.assertEqual(messages, b"")
        self.wait_for(FOLDER / "ended")
        self.assertFalse((FOLDER / "a.nnv").exists())

    def test_ctrl_c_leaves_files_as_they_were(self):
        folder = FOLDER / "whole"
        folder.mkdir()
        output = folder / "whole.nnv"
        code = (
            "import nnv12, sys\n"
            "print('go', flush=True)\n"
            f"nnv12.compile({str(MODEL)!r}, {str(output)!r})\n"
        )
        good = Path(mnist()).read_bytes()
        for delay in (0.02, 0.06, 0.1, 0.15):
            output.write_bytes(good)
            process = subprocess.Popen(
                [sys.executable, "-c", code],
                env={
                    **os.environ,
                    "PYTHONPATH": str(ROOT / "runtime" / "python"),
                },
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            process.stdout.readline()
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            nnv12.Bundle(output).close()
            self.assertEqual(os.listdir(folder), ["whole.nnv"])

    def wait_for(self, path):
        end = time.monotonic() + 30
        while not path.exists():
            self.assertLess(time.monotonic(), end, f"no {path}")
            time.sleep(0.01)


class Places(Case):
    """A process says by its last line what it lacks."""

    SESSION = (
        "import nnv12\n"
        "try: nnv12.Session('x.nnv')\n"
        "except nnv12.Error as error: print(error)"
    )
    COMPILE = (
        "import nnv12\n"
        "try: nnv12.compile('x.onnx')\n"
        "except nnv12.Error as error: print(error)"
    )

    def line(self, code, **environment):
        done = child(code, **environment)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout.count("\n"), 1, done.stdout)
        return done.stdout

    def test_missing_library(self):
        line = self.line(self.SESSION, NNV12_LIBRARY="/no/libnnv12.so")
        self.assertIn("libnnv12: found none that loads", line)
        other = child("import zlib; print(zlib.__file__)").stdout.strip()
        if other.endswith(".so"):
            line = self.line(self.SESSION, NNV12_LIBRARY=other)
            self.assertIn("found no function nnv12_version", line)

    def test_missing_compiler(self):
        line = self.line(self.COMPILE, NNV12_TOOLS="/no/where")
        self.assertEqual(
            line, "nnv12c: found no such program, expected it in /no/where\n"
        )

    def test_compiler_that_does_not_start(self):
        folder = FOLDER / "foreign"
        folder.mkdir()
        (folder / "nnv12c").write_bytes(b"\x7fELF and no more")
        (folder / "nnv12c").chmod(0o755)
        line = self.line(self.COMPILE, NNV12_TOOLS=str(folder))
        self.assertIn("nnv12c: cannot start: ", line)

    def test_compiler_on_a_foreign_libc(self):
        # As on musl: there is no such loader.
        loader = b"/lib64/ld-linux-x86-64.so.2"
        content = Path(sys.executable).resolve().read_bytes()
        if loader not in content:
            self.skipTest("the processor has another loader")
        folder = FOLDER / "musl"
        folder.mkdir()
        other = loader.replace(b"linux", b"other")
        (folder / "nnv12c").write_bytes(content.replace(loader, other))
        (folder / "nnv12c").chmod(0o755)
        line = self.line(self.COMPILE, NNV12_TOOLS=str(folder))
        self.assertEqual(
            line,
            "nnv12c: cannot start: found no glibc of its processor, expected"
            " one\n",
        )

    def test_old_libc(self):
        folder = FOLDER / "old"
        folder.mkdir()
        own = nnv12._library
        for source in own._library_path(), own.tool("nnv12c"):
            content = Path(source).read_bytes()
            newer = re.sub(rb"\0GLIBC_2\.", b"\0GLIBC_9.", content)
            self.assertNotEqual(newer, content)
            (folder / Path(source).name).write_bytes(newer)
        (folder / "nnv12c").chmod(0o755)
        library = folder / Path(own._library_path()).name
        for line in (
            self.line(self.SESSION, NNV12_LIBRARY=str(library)),
            self.line(self.COMPILE, NNV12_TOOLS=str(folder)),
        ):
            self.assertRegex(line, r"version `GLIBC_9\.\S+' not found")

    def test_compiler_that_crashes(self):
        folder = FOLDER / "crashing"
        folder.mkdir()
        (folder / "nnv12c").write_text("#!/bin/sh\nkill -SEGV $$\n")
        (folder / "nnv12c").chmod(0o755)
        line = self.line(self.COMPILE, NNV12_TOOLS=str(folder))
        self.assertEqual(line, "nnv12c: ended by signal 11\n")

    def test_import_takes_little(self):
        # CPU time, which other programs change little. The byte code is kept,
        # as it is wherever a package was installed: the first child writes it.
        keeps = {
            "PYTHONDONTWRITEBYTECODE": None,
            "PYTHONPYCACHEPREFIX": str(FOLDER / "byte code"),
        }
        code = (
            "try: import numpy\n"
            "except ImportError: pass\n"
            "import time\n"
            "start = time.process_time()\n"
            "import nnv12\n"
            "print(time.process_time() - start)"
        )
        seconds = min(float(child(code, **keeps).stdout) for _ in range(5))
        self.assertLess(seconds, 0.060)


if __name__ == "__main__":
    unittest.main()
