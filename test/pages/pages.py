"""A page's blocks of code, and how each kind of them is run."""
import contextlib
import io
import os
import re
import subprocess
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
# The name of the file that a block is, in a comment on its first line.
NAMED = re.compile(r"^(?:/\* | *// |# )([\w.-]+\.(?:c|cpp|txt))(?: \*/)?$")


class Failure(Exception):
    """One line."""


class Page:
    """Runs the blocks of a page in their order, in the working folder.

    Commands share a shell's variables, pieces of Python their names. A block
    that is a file is written. One of `text` is the output of the one before.
    `instead` takes a block's language and text. It returns true where it has
    done the block's work in another way.
    """

    def __init__(self, path, environment, instead=lambda language, text: False):
        self.path = Path(path)
        self.environment = environment
        self.instead = instead
        self.names = {}
        self.settings = []
        self.output = ""
        self.done = 0

    def run(self):
        content = self.path.read_text(encoding="utf-8")
        for match in BLOCK.finditer(content):
            line = content.count("\n", 0, match.start()) + 1
            try:
                self.run_block(*match.groups(), line + 1)
            except Exception as error:
                place = f"{self.path.name}:{line}"
                raise Failure(f"{place}: {error}") from error
            self.done += 1

    def run_block(self, language, text, line):
        name = NAMED.match(text.partition("\n")[0])
        if self.instead(language, text):
            return
        if name:
            Path(name[1]).write_text(text, encoding="utf-8")
        elif language == "sh":
            self.run_commands(text)
        elif language == "python":
            printed = io.StringIO()
            code = compile("\n" * (line - 1) + text, str(self.path), "exec")
            with contextlib.redirect_stdout(printed):
                exec(code, self.names)
            self.output = printed.getvalue()
        elif language == "text":
            self.compare(text)
        else:
            raise Failure(f"found a block of '{language}' without a name")

    def run_commands(self, text):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "".join(self.settings) + text],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            universal_newlines=True,
        )
        if done.returncode:
            raise Failure(done.stdout.strip() or f"status {done.returncode}")
        self.output = done.stdout
        for line in text.splitlines(True):
            if re.match(r"(export )?[A-Z_]+=", line):
                self.settings.append(line)

    def compare(self, text):
        """Each line of the text is in the output, up to its first number that
        differs from machine to machine."""
        for line in filter(str.strip, text.splitlines()):
            start = re.split(r" +[\d.]+ (?:ms|s|%)|^\d+ thread", line)[0]
            if start not in self.output:
                raise Failure(f"found '{self.output}', expected '{start}'")


def blocks_of(path, language):
    content = Path(path).read_text(encoding="utf-8")
    return [text for kind, text in BLOCK.findall(content) if kind == language]


@contextlib.contextmanager
def inside(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
