#!/usr/bin/env python3
"""Makes later-*.nnv: bundles of a made-up later version of the format.

    make_later.py BIN_DIR [OUT_DIR]

What that version would add to artifact/bundle.fbs is added to the text of the
schema: enumerators, fields at the end of tables, new tables. flatc brings the
metadata of format-4.nnv through JSON into that schema, and repack-bundle of
BIN_DIR puts it together with the segments again. The same flatc writes the same
bytes each time.
"""

import copy
import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCHEMA = HERE.parent.parent / "artifact" / "bundle.fbs"
SOURCE = HERE / "format-4.nnv"
HEADER_SIZE = 256
SMALL_PAGE, LARGE_PAGE = 4096, 65536

OVERLAY = """
/// What an NPU may take over of a program that is complete without it.
table NpuLaunch {
  operation: uint32;
  groups: [uint32];
}

table NpuOverlay {
  device: string (required);
  code: uint32;
  launches: [NpuLaunch];
}
"""


def add_enumerator(schema, name, enumerator):
    """The schema with one more enumerator, the last one, in enum `name`."""

    def extended(match):
        known = re.sub(r"//.*", "", match[2]).strip().rstrip(",")
        return f"{match[1]}{known}, {enumerator} }}"

    schema, count = re.subn(
        rf"(enum {name} : ubyte {{)([^}}]*)}}", extended, schema
    )
    assert count == 1, name
    return schema


def add_field(schema, table, field):
    """The schema with one more field, the last one, in `table`."""
    schema, count = re.subn(
        rf"(table {table} {{[^}}]*)}}", rf"\g<1>  {field}\n}}", schema
    )
    assert count == 1, table
    return schema


def later_schema():
    schema = SCHEMA.read_text()
    schema = add_enumerator(schema, "SegmentKind", "NpuCode")
    schema = add_enumerator(schema, "ProcessorKind", "Npu")
    schema = add_enumerator(schema, "MemoryKind", "Device")
    schema = add_enumerator(schema, "OperationKind", "Upload")
    schema = add_field(schema, "Kernel", "joules: float64;")
    schema = add_field(schema, "Operand", "layout: string;")
    schema = add_field(schema, "Program", "npu: NpuOverlay;")
    schema = add_field(schema, "Bundle", "license: string;")
    return schema.replace("\nroot_type", OVERLAY + "\nroot_type")


class Converter:
    """Between metadata and JSON, by a schema."""

    def __init__(self, schema, folder):
        self.folder = folder
        self.schema = folder / "schema.fbs"
        self.schema.write_text(schema)

    def flatc(self, *arguments):
        command = ["flatc", "-o", self.folder, *arguments]
        subprocess.run(command, check=True)

    def to_json(self, metadata):
        file = self.folder / "metadata.bin"
        file.write_bytes(metadata)
        self.flatc(
            "--json", "--strict-json", "--raw-binary", self.schema, "--", file
        )
        return json.loads((self.folder / "metadata.json").read_text())

    def to_binary(self, value):
        file = self.folder / "later.json"
        file.write_text(json.dumps(value))
        self.flatc("--binary", self.schema, file)
        return (self.folder / "later.nnv").read_bytes()


def add_overlay(program, code):
    program["npu"] = {
        "device": "made up",
        "code": code,
        "launches": [
            {"operation": i, "groups": [i + 1, 1, 1]} for i in range(2)
        ],
    }
    for kernel in program["kernels"]:
        kernel["joules"] = 0.25
    for operation in program["operations"]:
        for operand in operation["operands"]:
            operand["layout"] = "tiled"


def newer_program(program, code):
    """A copy of `program` that a reader of today must pass over."""
    result = copy.deepcopy(program)
    result["target"] = "newer"
    result["processors"].append(
        {"kind": "Npu", "architecture": "npu", "features": [], "code": code}
    )
    result["memories"].append({"kind": "Device", "processor": 1, "size": 4096})
    upload = copy.deepcopy(result["operations"][-1])
    upload["kind"] = "Upload"
    upload["operands"][0]["index"] = len(result["memories"]) - 1
    result["operations"].append(upload)
    result["lanes"][1]["queue"].append(len(result["operations"]) - 1)
    return result


def align(value, alignment):
    return (value + alignment - 1) // alignment * alignment


def place(metadata, size):
    """Moves segments behind metadata of `size` bytes."""
    end = HEADER_SIZE + size
    for segment in metadata["segments"]:
        large = segment["offset"] % LARGE_PAGE == 0
        segment["offset"] = align(end, LARGE_PAGE if large else SMALL_PAGE)
        end = segment["offset"] + segment["size"]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    repack = Path(sys.argv[1]) / "repack-bundle"
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else HERE
    source = SOURCE.read_bytes()
    # Header.h: magic, version, file size, metadata's offset and size.
    offset, size = struct.unpack_from("<QQ", source, 24)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        converter = Converter(later_schema(), folder)
        base = converter.to_json(source[offset : offset + size])
        npu_code = folder / "npu-code"
        npu_code.write_bytes(struct.pack("<5I", *range(5)))
        code = len(base["segments"])
        base["segments"].append(
            {
                "kind": "NpuCode",
                "offset": 1,
                "size": npu_code.stat().st_size,
                "digest": [0] * 32,
            }
        )
        base["license"] = "none"

        def write(file, change):
            metadata = copy.deepcopy(base)
            change(metadata)
            # Offsets do not change how large the metadata is.
            place(metadata, len(converter.to_binary(metadata)))
            binary = folder / "metadata"
            binary.write_bytes(converter.to_binary(metadata))
            subprocess.run(
                [repack, SOURCE, binary, out / file, npu_code], check=True
            )

        def overlay(metadata):
            for program in metadata["programs"]:
                add_overlay(program, code)

        def first(metadata):
            programs = metadata["programs"]
            programs.insert(0, newer_program(programs[1], code))

        def only(metadata):
            programs = metadata["programs"]
            metadata["programs"] = [newer_program(p, code) for p in programs]

        write("later-overlay.nnv", overlay)
        write("later-program.nnv", first)
        write("later-programs-only.nnv", only)


if __name__ == "__main__":
    main()
