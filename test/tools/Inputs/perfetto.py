"""Decodes a trace in Perfetto's format and checks what makes it one: slices of
each track nest and come in order. Prints what is there."""

import collections
import struct
import sys


def fields(data):
    """(field, value) of a message: numbers, and bytes of nested messages."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
        elif kind == 1:
            yield tag >> 3, struct.unpack_from("<Q", data, at)[0]
            at += 8
        elif kind == 2:
            size = varint()
            assert at + size <= len(data), "a message ends beyond its end"
            yield tag >> 3, data[at : at + size]
            at += size
        else:
            raise AssertionError(f"wire type {kind}")


tracks = {}
stacks = collections.defaultdict(list)
last = collections.defaultdict(int)
depth = collections.Counter()
slices = collections.Counter()
kinds = set()
values = collections.defaultdict(list)
flows = collections.defaultdict(list)
with open(sys.argv[1], "rb") as file:
    trace = file.read()
for field, packet in fields(trace):
    assert field == 1
    packet = dict(fields(packet))
    if 60 in packet:
        descriptor = dict(fields(packet[60]))
        if 8 in descriptor:
            tracks[descriptor[1]] = ("counter", descriptor[2].decode())
            continue
        owner = dict(fields(descriptor.get(4) or descriptor[3]))
        name = owner.get(5) or owner[6]
        tracks[descriptor[1]] = (
            "process" if 3 in descriptor else "thread",
            name.decode(),
        )
    if 11 in packet:
        event = dict(fields(packet[11]))
        track, time = event[11], packet[8]
        assert track in tracks
        assert time >= last[track], "a track's events come in order"
        last[track] = time
        assert (event[9] == 4) == (tracks[track][0] == "counter")
        if event[9] == 4:
            values[track].append(event[30])
        elif event[9] == 1:
            stacks[track].append(time)
            slices[track] += 1
            depth[track] = max(depth[track], len(stacks[track]))
            kind = event[22].decode()
            kinds.add(kind)
            if 47 in event:
                flows[event[47]].append((time, kind))
        else:
            assert stacks[track], "what ends has begun"
            stacks[track].pop()
assert not any(stacks.values()), "what has begun ends"
for number, (what, name) in sorted(tracks.items()):
    if what == "process":
        print("process", name)
    elif what == "counter":
        print(f"counter {name}: most {max(values[number])}")
    else:
        print(f"thread {name}: {slices[number]} slices, {depth[number]} deep")
print("kinds", *sorted(kinds))
ok = all(sorted(steps)[-1][1] == "execute" for steps in flows.values())
print(
    f"flows {len(flows)}",
    ", each from what prepares to what computes" if ok else ", wrong",
    sep="",
)
