"""Makes a wheel and a tarball of installed files. tools/wheel calls it.

  packages.py wheel INSTALLED PYTHON_PACKAGE VERSION EPOCH OUT_FOLDER
  packages.py tarball INSTALLED PYTHON_PACKAGE VERSION EPOCH OUT_FOLDER

INSTALLED is the folder of `cmake --install`, PYTHON_PACKAGE that of the sources
in Python. Prints the path of the package. Refuses files that would need
anything but glibc.
"""

import os
import sys
from pathlib import Path

from glibcneeds import is_elf, manylinux_tag
from wheelfile import files_below, write_tarball, write_wheel

# Where the Python package looks for library and tools.
INSIDE = "nnv12/_files"
METADATA = """\
Metadata-Version: 2.1
Name: nnv12
Version: {version}
Summary: Compiler and runtime for neural networks that answer at once
License: Apache-2.0
Keywords: onnx,inference,compiler
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Description-Content-Type: text/markdown

# nnv12

nnv12 turns an ONNX model into one file of native code and weights, a bundle. A
small runtime maps the bundle and runs it.

```python
import nnv12

nnv12.compile("model.onnx", "model.nnv")
with nnv12.Session("model.nnv") as session:
    print(session.inputs, session.outputs)
    results = session.run({{"x": image}})
```

`nnv12 model.onnx` compiles a model, runs it, and shows where the time goes.
Arrays are NumPy's where it is installed, any buffers elsewhere.

The folder `nnv12/_files` has the compiler `nnv12c` and the other tools, the
library, headers for C and C++, and files for CMake and pkg-config. All of it
needs glibc alone.
"""


def sources(package):
    """The files of the Python package, relative to it."""
    return [
        name
        for name in files_below(package)
        if name.endswith((".py", "py.typed"))
    ]


def check(installed):
    """The tag of the platform that the installed programs run on."""
    files = [Path(installed, name) for name in files_below(installed)]
    programs = [f for f in files if not f.is_symlink() and is_elf(f)]
    # Programs link installed libraries and glibc, nothing else.
    return manylinux_tag(programs, {f.name for f in files})


def make_wheel(installed, package, version, epoch, out):
    tag = f"py3-none-{check(installed)}"
    files = {
        f"{INSIDE}/{name}": Path(installed, name)
        for name in files_below(installed)
    }
    files.update(
        {f"nnv12/{name}": Path(package, name) for name in sources(package)}
    )
    for name in ("LICENSE", "NOTICE"):
        files[f"nnv12-{version}.dist-info/licenses/{name}"] = Path(
            installed, "share/doc/nnv12", name
        )
    commands = {"nnv12": "nnv12.command:main"}
    path = Path(out, f"nnv12-{version}-{tag}.whl")
    metadata = METADATA.format(version=version)
    write_wheel(path, "nnv12", version, tag, files, metadata, commands, epoch)
    return path


def make_tarball(installed, package, version, epoch, out):
    check(installed)
    top = f"nnv12-{version}-linux-x86_64"
    files = {name: Path(installed, name) for name in files_below(installed)}
    # With the folder python on PYTHONPATH, the package finds the files above.
    files.update(
        {
            f"python/nnv12/{name}": Path(package, name)
            for name in sources(package)
        }
    )
    path = Path(out, f"{top}.tar.gz")
    links = {"python/nnv12/_files": "../.."}
    write_tarball(path, top, files, links, epoch)
    return path


def main():
    make = {"wheel": make_wheel, "tarball": make_tarball}[sys.argv[1]]
    installed, package, version, epoch, out = sys.argv[2:]
    os.makedirs(out, exist_ok=True)
    try:
        print(make(installed, package, version, int(epoch), out))
    except ValueError as error:
        sys.exit(f"tools/wheel: error: {error}")


if __name__ == "__main__":
    main()
