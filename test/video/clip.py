"""Frames of a .y4m file as a network takes them."""
import numpy as np
import torch
import torch.nn.functional as F


def frames(path):
    """Every frame as [rows, columns, 3] of red, green and blue, 0 to 255."""
    data = open(path, "rb").read()
    end = data.index(b"\n")
    words = data[:end].decode().split()
    assert words[0] == "YUV4MPEG2", path
    fields = {w[0]: w[1:] for w in words[1:] if w[0] in "WHC"}
    width, height = int(fields["W"]), int(fields["H"])
    assert fields.get("C", "420").startswith("420"), path
    half = (width + 1) // 2, (height + 1) // 2
    luma, chroma = width * height, half[0] * half[1]
    at = end + 1
    while at < len(data):
        at = data.index(b"\n", at) + 1
        y = (
            np.frombuffer(data, np.uint8, luma, at)
            .reshape(height, width)
            .astype(np.float32)
        )
        planes = [
            np.frombuffer(data, np.uint8, chroma, at + luma + i * chroma)
            .reshape(half[1], half[0])
            .repeat(2, 0)
            .repeat(2, 1)[:height, :width]
            .astype(np.float32)
            - 128
            for i in range(2)
        ]
        at += luma + 2 * chroma
        y = (y - 16) * (255 / 219)
        u, v = planes
        rgb = np.stack(
            [y + 1.596 * v, y - 0.813 * v - 0.392 * u, y + 2.017 * u], axis=-1
        )
        yield np.clip(np.rint(rgb), 0, 255)


def pictures(path, rows, columns, device):
    """Every frame as [3, rows, columns], whole grey levels, stretched."""
    for frame in frames(path):
        x = torch.from_numpy(frame).permute(2, 0, 1)[None].to(device)
        x = F.interpolate(
            x, (rows, columns), mode="bilinear", align_corners=False
        )
        yield x[0].round().clamp(0, 255)
