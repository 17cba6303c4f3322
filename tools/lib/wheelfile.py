"""Writes a wheel, as the binary distribution format has it
(packaging.python.org/specifications/binary-distribution-format), and a tarball
of the same files. The same input gives the same bytes."""

import base64
import csv
import gzip
import hashlib
import io
import os
import tarfile
import time
import zipfile


def _record_hash(data):
    digest = hashlib.sha256(data).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _is_executable(path):
    return bool(os.stat(path).st_mode & 0o100)


def files_below(folder):
    """Paths of files and links below a folder, sorted, relative to it."""
    found = []
    for parent, folders, names in os.walk(folder):
        links = [f for f in folders if os.path.islink(f"{parent}/{f}")]
        for name in names + links:
            found.append(os.path.relpath(os.path.join(parent, name), folder))
    return sorted(found)


def write_wheel(path, name, version, tag, files, metadata, commands, epoch):
    """Writes the wheel `path`.

    files     from names in the wheel to paths; a link is stored as its target,
              for a wheel cannot hold links
    metadata  the text of METADATA
    commands  from names of commands to "module:function"
    epoch     the time of all files, in seconds since 1970
    """
    info = f"{name}-{version}.dist-info"
    added = {
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: nnv12\n"
            f"Root-Is-Purelib: false\nTag: {tag}\n"
        ),
    }
    if commands:
        added[f"{info}/entry_points.txt"] = "[console_scripts]\n" + "".join(
            f"{command} = {function}\n"
            for command, function in sorted(commands.items())
        )
    rows = io.StringIO()
    record = csv.writer(rows, lineterminator="\n")
    # A zip file knows no time before 1980.
    date = time.gmtime(max(epoch, 315532800))[:6]

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(entry, data, mode):
            item = zipfile.ZipInfo(entry, date)
            item.compress_type = zipfile.ZIP_DEFLATED
            item.create_system = 3  # modes are those of Unix
            item.external_attr = (0o100000 | mode) << 16
            wheel.writestr(item, data, compresslevel=9)

        for entry, source in sorted(files.items()):
            with open(source, "rb") as file:
                data = file.read()
            add(entry, data, 0o755 if _is_executable(source) else 0o644)
            record.writerow([entry, _record_hash(data), len(data)])
        for entry, text in added.items():
            data = text.encode()
            add(entry, data, 0o644)
            record.writerow([entry, _record_hash(data), len(data)])
        record.writerow([f"{info}/RECORD", "", ""])
        add(f"{info}/RECORD", rows.getvalue().encode(), 0o644)


def write_tarball(path, top, files, links, epoch):
    """Writes the tarball `path`, compressed by gzip, whose names begin with
    `top`. `files` goes from names to paths, `links` to targets of links."""

    def plain(item):
        item.uid = item.gid = 0
        item.uname = item.gname = "root"
        item.mtime = epoch
        item.mode = 0o755 if item.mode & 0o100 else 0o644
        return item

    with open(path, "wb") as file, gzip.GzipFile(
        "", "wb", 9, file, epoch
    ) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for name, source in sorted(files.items()):
            tar.add(source, f"{top}/{name}", filter=plain)
        for name, target in sorted(links.items()):
            item = plain(tarfile.TarInfo(f"{top}/{name}"))
            item.type, item.linkname = tarfile.SYMTYPE, target
            tar.addfile(item)
