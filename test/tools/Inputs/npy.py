"""npy.py FILE TYPE SHAPE: writes a .npy file of 0, 1, 2... without needing
NumPy."""
import struct
import sys

path, code, shape = (
    sys.argv[1],
    sys.argv[2],
    [int(n) for n in sys.argv[3].split(",")],
)
count = 1
for extent in shape:
    count *= extent
header = "{'descr': '<%s', 'fortran_order': False, 'shape': (%s,), }" % (
    code,
    ", ".join(map(str, shape)),
)
header += " " * (63 - (len(header) + 10) % 64) + "\n"
with open(path, "wb") as f:
    f.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode())
    f.write(
        struct.pack(
            "<%d%s" % (count, {"f4": "f", "f8": "d"}[code]), *range(count)
        )
    )
