"""Checks what a profile in JSON says of why runs take their time."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    profile = json.load(file)
warm = profile["warm"]
parts = []
for explained in [*warm["operations"], warm, profile["first_run"]]:
    explanation = explained["explanation"]
    parts = list(explanation["parts_us"])
    assert explanation["cause"] in parts and explanation["text"]
    assert all(time >= 0 for time in explanation["parts_us"].values())
    assert explanation["gives_back_us"] >= 0
mean = sum(warm["samples_us"]) / len(warm["samples_us"])
assert abs(sum(warm["explanation"]["parts_us"].values()) / mean - 1) < 0.001
first = profile["first_run"]
assert (
    abs(sum(first["explanation"]["parts_us"].values()) / first["us"] - 1)
    < 0.001
)
print(*parts)
print(
    "counters",
    ", ".join(value["name"] for value in profile["counters"]["values"]),
)
assert all(
    len(value["of_thread"]) == profile["threads"] + profile["preparing"]
    for value in profile["counters"]["values"]
)
sizes = [size["bytes"] for size in warm["roof"]["by_size"]]
assert sizes == sorted(sizes) and warm["roof"]["multiply_adds_per_second"] > 1e8
live = sorted({operation["live_bytes"] for operation in warm["operations"]})
print(f"roof of {len(sizes)} sizes, live bytes", *live)
