#!/usr/bin/env python3
"""Makes later-*.nnv: bundles of a made-up later version of the format.

    make_later.py BIN_DIR [OUT_DIR]

The text of artifact/bundle.fbs gets the additions of that version: enumerators,
fields at the end of tables, new tables. flatc brings the metadata of
format-5.nnv, or of format-5-overlays.nnv, through JSON into that schema, and
repack-bundle of BIN_DIR puts it together with the segments again. The same
flatc writes the same bytes each time.
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
SOURCE, GPU_SOURCE = HERE / "format-5.nnv", HERE / "format-5-overlays.nnv"
HEADER_SIZE = 256
SMALL_PAGE, LARGE_PAGE = 4096, 65536


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
    schema = add_enumerator(schema, "OverlayKind", "Splits")
    schema = add_enumerator(schema, "SealKind", "Licensed")
    schema = add_field(schema, "Kernel", "joules: float64;")
    schema = add_field(schema, "Operand", "layout: string;")
    schema = add_field(schema, "OverlayHead", "frames: uint32;")
    schema = add_field(schema, "Target", "vendor: string;")
    return add_field(schema, "Bundle", "license: string;")


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


def add_fields(metadata):
    metadata["license"] = "none"
    for target in metadata["targets"]:
        target["vendor"] = "made up"
        for kernel in target["kernels"]:
            kernel["joules"] = 0.25
    for program in metadata["programs"]:
        for operation in program["operations"]:
            for operand in operation["operands"]:
                operand["layout"] = "tiled"


def add_processor(target, code):
    """Gives a target an NPU; returns its number."""
    target["processors"].append(
        {"kind": "Npu", "architecture": "npu", "features": [], "code": code}
    )
    return len(target["processors"]) - 1


def add_overlays(metadata, code):
    """Gives each program a video overlay, whose operations an NPU runs."""
    for index, program in enumerate(metadata["programs"]):
        target = metadata["targets"][program["target"]]
        program.setdefault("overlays", []).insert(
            0,
            {
                "kind": "Splits",
                "head": {
                    "index": index,
                    "processor": add_processor(target, code),
                    "frames": 25,
                },
                "segment": code,
            },
        )


def make_newer(metadata, program, code):
    """A copy of a program, and of its target, that a reader of today must pass
    over: an NPU runs some of its operations."""
    result = copy.deepcopy(program)
    target = copy.deepcopy(metadata["targets"][program["target"]])
    target["name"] = "newer"
    result["target"] = len(metadata["targets"])
    metadata["targets"].append(target)
    npu = add_processor(target, code)
    kernel = copy.deepcopy(target["kernels"][0])
    kernel["processor"] = npu
    result["operations"][0]["kernel"] = len(target["kernels"])
    target["kernels"].append(kernel)
    result["memories"].append(
        {"kind": "Device", "processor": npu, "size": 4096}
    )
    upload = copy.deepcopy(result["operations"][-1])
    upload["kind"] = "Upload"
    upload["operands"][0]["index"] = len(result["memories"]) - 1
    result["operations"].append(upload)
    result["lanes"][1]["queue"].append(len(result["operations"]) - 1)
    result["states"] = [{"output": 0, "input": 0}]
    return result


def make_sealed(metadata, program):
    """A copy of a program whose weights need a key."""
    result = copy.deepcopy(program)
    sealed = copy.deepcopy(metadata["segments"][2])
    assert sealed["kind"] == "Weights"
    sealed["seal"] = "Licensed"
    sealed["seal_parameters"] = list(range(12))
    metadata["segments"].append(sealed)
    for operation in result["operations"]:
        for operand in operation["operands"]:
            if operand["space"] == "Weights":
                operand["index"] = len(metadata["segments"]) - 1
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
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        converter = Converter(later_schema(), folder)
        npu_code = folder / "npu-code"
        npu_code.write_bytes(struct.pack("<5I", *range(5)))

        def write(file, source, change):
            """`change` returns files of segments that it adds, or nothing."""
            data = source.read_bytes()
            # Header.h: magic, version, file size, metadata's offset and size.
            offset, size = struct.unpack_from("<QQ", data, 24)
            metadata = converter.to_json(data[offset : offset + size])
            metadata["segments"].append(
                {
                    "kind": "NpuCode",
                    "offset": 1,
                    "size": npu_code.stat().st_size,
                    "digest": [0] * 32,
                }
            )
            add_fields(metadata)
            more = change(metadata, len(metadata["segments"]) - 1) or []
            # Offsets do not change how large the metadata is.
            place(metadata, len(converter.to_binary(metadata)))
            binary = folder / "metadata"
            binary.write_bytes(converter.to_binary(metadata))
            subprocess.run(
                [repack, source, binary, out / file, npu_code, *more],
                check=True,
            )

        def first(metadata, code):
            programs = metadata["programs"]
            programs.insert(0, make_newer(metadata, programs[1], code))

        def only(metadata, code):
            programs = metadata["programs"]
            metadata["programs"] = [
                make_newer(metadata, p, code) for p in programs
            ]

        def sealed(metadata, code):
            programs = metadata["programs"]
            weights = metadata["segments"][2]
            file = folder / "weights"
            file.write_bytes(bytes(weights["size"]))
            programs.insert(0, make_sealed(metadata, programs[1]))
            return [file]

        write("later-overlay.nnv", SOURCE, add_overlays)
        write("later-overlays.nnv", GPU_SOURCE, add_overlays)
        write("later-program.nnv", SOURCE, first)
        write("later-programs-only.nnv", SOURCE, only)
        write("later-seal.nnv", SOURCE, sealed)


if __name__ == "__main__":
    main()
