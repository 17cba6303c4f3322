"""Libraries and versions of glibc's symbols that ELF files need, by readelf."""

import re
import subprocess

# Parts of glibc, which every machine with it has.
GLIBC = re.compile(r"(libc|libm|libdl|libpthread|librt)\.so|ld-linux")


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def _readelf(option, path):
    return subprocess.run(
        ["readelf", "--wide", option, path],
        capture_output=True,
        text=True,
        check=True,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    ).stdout


def glibc_version(path):
    """The newest version of glibc whose symbols a file uses, such as (2, 34);
    (0, 0) where it uses none. Versions that are no numbers are refused: they
    ask for a feature of the loader."""
    text = _readelf("--version-info", path)
    needs = text.partition("Version needs section")[2]
    newest = (0, 0)
    for name in re.findall(r"Name: (\S+)", needs):
        number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", name)
        if number:
            newest = max(newest, (int(number[1]), int(number[2])))
        else:
            raise ValueError(
                f"{path}: found a symbol of version {name}, expected glibc's"
            )
    return newest


def foreign_libraries(path):
    """Libraries that the loader must find for a file, beside glibc's."""
    text = _readelf("--dynamic", path)
    names = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    return [name for name in names if not GLIBC.match(name)]


def manylinux_tag(paths, beside=()):
    """The platform tag of a wheel that holds these ELF files (PEP 600), for
    x86-64. Raises ValueError with one line where a file needs a library that is
    neither glibc's nor named in `beside`."""
    newest = (2, 17)  # older ones have names of their own
    for path in paths:
        others = [n for n in foreign_libraries(path) if n not in beside]
        if others:
            raise ValueError(
                f"{path}: found a need of {', '.join(others)}, "
                "expected glibc alone"
            )
        newest = max(newest, glibc_version(path))
    return f"manylinux_{newest[0]}_{newest[1]}_x86_64"
