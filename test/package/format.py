#!/usr/bin/python3
"""The parts that write packages, on small files: the same input gives the same
bytes, and programs that need more than glibc are refused. And tools/wheel where
it cannot build."""

import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

from trypackage import SOURCE

sys.path.insert(0, str(SOURCE / "tools/lib"))
import glibcneeds  # noqa: E402
import wheelfile  # noqa: E402
from wheel import check_record  # noqa: E402

EPOCH = 1_700_000_000


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def wheel(self, name, files, commands=None):
        path = self.folder / name
        wheelfile.write_wheel(
            path, "w", "1.0", "py3-none-any", files, "Name: w\n",
            commands or {}, EPOCH,
        )  # fmt: skip
        return path

    def test_wheel(self):
        tool = self.write("tool", "#!/bin/sh\n", 0o700)
        text = self.write("text", "a,\"b\"\n", 0o600)
        (self.folder / "link").symlink_to("text")
        files = {
            "w/tool": tool,
            "w/text, 2": text,
            "w/link": self.folder / "link",
        }
        path = self.wheel("a.whl", files, {"w": "w.main:main"})
        with zipfile.ZipFile(path) as wheel:
            self.assertIsNone(wheel.testzip())
            names = wheel.namelist()
            # Folders of metadata come last, as the specification recommends.
            self.assertEqual(names[-1], "w-1.0.dist-info/RECORD")
            check_record(wheel, names)
            modes = [wheel.getinfo(n).external_attr >> 16 for n in names[:3]]
            self.assertEqual(modes, [0o100644, 0o100644, 0o100755])
            self.assertEqual(wheel.read("w/link"), text.read_bytes())
            self.assertEqual(
                wheel.read("w-1.0.dist-info/entry_points.txt"),
                b"[console_scripts]\nw = w.main:main\n",
            )

    def test_wheel_again(self):
        first = {"w/a": self.write("a", "1"), "w/b": self.write("b", "2")}
        second = {
            "w/b": self.write("later/b", "2", 0o664),
            "w/a": self.write("later/a", "1"),
        }
        self.assertEqual(
            self.wheel("1.whl", first).read_bytes(),
            self.wheel("2.whl", second).read_bytes(),
        )

    def test_tarball(self):
        made = []
        for place in "x", "y":
            self.write(f"{place}/tool", "1", 0o700)
            (self.folder / place / "link").symlink_to("tool")
            files = {
                n: self.folder / place / n
                for n in wheelfile.files_below(self.folder / place)
            }
            path = self.folder / f"{place}.tar.gz"
            wheelfile.write_tarball(path, "t-1", files, {"up": ".."}, EPOCH)
            made.append(path.read_bytes())
        self.assertEqual(*made)
        with tarfile.open(fileobj=io.BytesIO(made[0])) as tar:
            found = {m.name: (m.linkname, oct(m.mode)) for m in tar}
        self.assertEqual(
            found,
            {
                "t-1/tool": ("", "0o755"),
                "t-1/link": ("tool", "0o755"),
                "t-1/up": ("..", "0o644"),
            },
        )

    def compile(self, name, text, *options):
        path = self.folder / name
        source = self.write(f"{name}.c", text)
        subprocess.run(["cc", source, "-o", path, *options], check=True)
        return path

    def test_needs(self):
        # pthread_create has been in libc itself since 2.34.
        program = self.compile(
            "threads",
            "#include <pthread.h>\nint main(void) { pthread_t t; "
            "return pthread_create(&t, 0, 0, 0); }",
        )
        found = glibcneeds.glibc_version(program)
        self.assertGreaterEqual(found, (2, 34))
        tag = glibcneeds.manylinux_tag([program])
        self.assertEqual(tag, f"manylinux_2_{found[1]}_x86_64")
        static = self.compile(
            "static", "int main(void) { return 0; }", "-static"
        )
        self.assertEqual(glibcneeds.glibc_version(static), (0, 0))

    def test_foreign(self):
        library = self.compile(
            "libmine.so", "int f(void) { return 0; }", "-shared", "-nostdlib"
        )
        program = self.compile(
            "user", "int f(void); int main(void) { return f(); }", library
        )
        with self.assertRaisesRegex(ValueError, "found a need of .*libmine.so"):
            glibcneeds.manylinux_tag([program])
        needed = glibcneeds.foreign_libraries(program)
        glibcneeds.manylinux_tag([program], needed)


class Refusals(unittest.TestCase):
    """tools/wheel ends with one line where there are these programs alone."""

    PROGRAMS = "bash", "cat", "dirname", "grep", "nproc", "sed"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        for name in self.PROGRAMS:
            (self.path / name).symlink_to(shutil.which(name))
        self.stub("uname", "echo x86_64")
        self.stub("id", "echo 1000")

    def stub(self, name, command):
        (self.path / name).write_text(f"#!{self.path}/bash\n{command}\n")
        (self.path / name).chmod(0o755)

    def line(self, *words):
        done = subprocess.run(
            [self.path / "bash", SOURCE / "tools/wheel", *words],
            env={"PATH": str(self.path)},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_words(self):
        self.assertIn("found 'wheels', expected wheel,", self.line("wheels"))

    def test_processor(self):
        self.stub("uname", "echo aarch64")
        self.assertIn("found aarch64, expected x86_64", self.line())

    def test_another_distribution(self):
        line = self.line()
        self.assertRegex(line, "found no cmake .* llvm-22-dev .*apt-get")

    def test_no_root(self):
        self.stub("apt-get", "echo 'E: not root' >&2; exit 1")
        self.assertIn("needs root, and there is no sudo", self.line())

    def test_no_packages(self):
        self.stub("apt-get", "[ $1 = update ]")
        self.stub("env", "exec \"${@:2}\"")
        self.stub("id", "echo 0")
        self.assertIn("cannot install cmake ", self.line())


if __name__ == "__main__":
    unittest.main()
