#!/usr/bin/env python3
"""Makes bundle_fields.inc of bundle.fbs: the fields of each table.

    fields.py SCHEMA OUT

Each field has a row, in the order of its table's vtable. The row has the kind
of the field, as artifact/MetadataBudget.cpp checks it.
"""

import re
import sys
from pathlib import Path

SIZES = {"bool": 1, "ubyte": 1, "uint32": 4, "int32": 4, "float": 4}
SIZES["uint64"] = SIZES["int64"] = SIZES["double"] = 8


def fields_of(body):
    """Names, types and attributes."""
    found = re.findall(r"(\w+):\s*(\[?\w+\]?)([^;]*);", body)
    return [(n, t, re.findall(r"required|text", rest)) for n, t, rest in found]


def main():
    schema, out = map(Path, sys.argv[1:])
    text = re.sub(r"//.*", "", schema.read_text())
    sizes = {k: (v, v) for k, v in SIZES.items()}
    for name, of in re.findall(r"enum (\w+) : (\w+)", text):
        sizes[name] = sizes[of]
    for name, body in re.findall(r"struct (\w+) {(.*?)}", text, re.S):
        end, widest = 0, 1
        for _, of, _ in fields_of(body):
            size, alignment = sizes[of]
            end = (end + alignment - 1) // alignment * alignment + size
            widest = max(widest, alignment)
        sizes[name] = ((end + widest - 1) // widest * widest, widest)
    tables = re.findall(r"table (\w+) {(.*?)}", text, re.S)
    numbers = {name: i for i, (name, _) in enumerate(tables)}

    def row(of, attributes, table):
        required = str("required" in attributes).lower()
        inner = of.strip("[]")
        isVector = inner != of
        if of == "string":
            kind = "Text" if "text" in attributes else "Name"
            return f"Kind::{kind}, {required}, 0, 0"
        if inner in numbers:
            # Each holds tables before it: a visit comes to an end.
            assert numbers[inner] < numbers[table], f"{table}: found {inner}"
            kind = "Tables" if isVector else "Table"
            return f"Kind::{kind}, {required}, {numbers[inner]}, 4"
        kind = "Vector" if isVector else "Inline"
        size, alignment = sizes[inner]
        return f"Kind::{kind}, {required}, {size}, {alignment}"

    lines = [f"// Made by artifact/{Path(__file__).name} of {schema.name}."]
    lines.append("constexpr Field fields[] = {")
    firsts = [0]
    for name, body in tables:
        fields = fields_of(body)
        for field, of, attributes in fields:
            one = row(of, attributes, name)
            lines.append(f"    {{{one}}}, // {name}.{field}")
        firsts.append(firsts[-1] + len(fields))
    lines.append("};")
    lines.append("constexpr uint16_t firsts[] = {")
    lines.append("    " + ", ".join(map(str, firsts)) + "};")
    for name in ("Bundle", "GpuOverlays", "VideoOverlays"):
        lines.append(f"constexpr uint8_t table{name} = {numbers[name]};")
    out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
