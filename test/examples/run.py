"""Compiles and runs the examples of runtime/include and docs/c-api.md.

Each is cut out of its file, so that it cannot differ from the text that people
read, and put into a main() that gives it buffers and looks at its results.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

# The sample's input and output have 48 floats; y[0] = (x[0] + 0) * 0.5.
C_BEGIN = """#include <nnv12.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  float pixels[48] = {1}, scores[48] = {0};
"""
CXX_BEGIN = """#include <nnv12.hpp>
#include <cstdio>
int main() {
  std::vector<float> pixels(48), scores(48);
  pixels[0] = 1;
"""
END = """
  return printf("%g\\n", scores[0]) < 0;
}
"""


def fail(message):
    sys.exit(f"examples: {message}")


def from_c_header(text):
    """The indented lines of the comment that begins nnv12.h."""
    lines = re.findall(
        r"^\|\*   (.*?) *\*\|$", text.split("Ownership.")[0], re.M
    )
    return "\n".join(lines)


def from_cxx_header(text):
    lines = re.findall(r"^//   (.*)$", text.split("#ifndef")[0], re.M)
    return "\n".join(lines)


def from_page(language):
    def cut(text):
        block = re.search(rf"```{language}\n(.*?)```", text, re.S)
        # Its include stands above main().
        return re.sub(r"#include.*\n", "", block[1]) if block else ""

    return cut


# File, how its example is cut out, whether it is C.
EXAMPLES = [
    ("runtime/include/nnv12.h", from_c_header, True),
    ("runtime/include/nnv12.hpp", from_cxx_header, False),
    ("docs/c-api.md", from_page("c"), True),
    ("docs/c-api.md", from_page("cpp"), False),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("cc", "cxx", "library", "make-sample", "source"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    include = os.path.join(args.source, "runtime", "include")
    folder = os.path.dirname(args.library)
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([args.make_sample, f"{work}/model.nnv"], check=True)
        for file, cut, is_c in EXAMPLES:
            with open(os.path.join(args.source, file), encoding="utf-8") as f:
                example = cut(f.read())
            if "model.nnv" not in example:
                fail(f"{file}: found no example that opens model.nnv")
            # C must be good C++ as well.
            for compiler, standard in ([(args.cc, "-xc")] if is_c else []) + [
                (args.cxx, "-xc++")
            ]:
                source = f"{work}/example.txt"
                with open(source, "w", encoding="utf-8") as f:
                    f.write((C_BEGIN if is_c else CXX_BEGIN) + example + END)
                command = [
                    compiler,
                    standard,
                    source,
                    "-xnone",
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                    f"-I{include}",
                    f"-L{folder}",
                    f"-Wl,-rpath,{folder}",
                    "-lnnv12",
                    "-o",
                    f"{work}/example",
                ]
                if subprocess.run(command, check=False).returncode:
                    fail(f"{file}: {standard[2:]}: does not compile")
                run = subprocess.run(
                    [f"{work}/example"],
                    cwd=work,
                    text=True,
                    stdout=subprocess.PIPE,
                    check=False,
                )
                if run.returncode or run.stdout != "0.5\n":
                    fail(
                        f"{file}: {standard[2:]}: found status "
                        f"{run.returncode}, {run.stdout!r}, expected 0.5"
                    )
    print("all examples compile and run")


main()
