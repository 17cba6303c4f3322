"""clip.py KIND FORMAT OUT WIDTH HEIGHT FRAMES [SEED]: makes a clip without
needing NumPy.

KIND    colors: frames that are red, green and blue in turns; still: one frame
        again and again; moving: rectangles that move over noise, with a cut in
         the middle; spot: a spot that moves over one picture of noise; mark: a
         small rectangle that moves over a frame that stays
FORMAT  y4m: chroma 4:4:4; raw: rgb24; folder: OUT/frame0.ppm, frame1.ppm...
OUT     a file or a folder; - is standard output
"""
import os
import random
import sys

COLORS = [(220, 30, 30), (30, 220, 30), (30, 30, 220)]


def frames(kind, width, height, count, seed):
    """Each frame as a list of pixels (red, green, blue)."""
    draw = random.Random(seed)
    if kind == "colors":
        for i in range(count):
            yield [COLORS[i % 3]] * (width * height)
        return
    if kind == "spot":
        still = [(draw.randrange(256),) * 3 for _ in range(width * height)]
        for i in range(count):
            pixels = list(still)
            for place in range(9):
                y, x = height // 4 + place // 3, 2 * i % (width - 3) + place % 3
                pixels[y * width + x] = COLORS[0]
            yield pixels
        return
    if kind == "mark":
        still = next(frames("still", width, height, 1, seed))
        for i in range(count):
            pixels = list(still)
            for y in range(i % height, min(i % height + 6, height)):
                for x in range(i % width, min(i % width + 8, width)):
                    pixels[y * width + x] = COLORS[i % 3]
            yield pixels
        return
    scenes = [
        [tuple(draw.randrange(256) for _ in range(3)) for _ in range(4)]
        for _ in range(2)
    ]
    for i in range(1 if kind == "still" else count):
        colors = scenes[2 * i // count]
        pixels = [
            tuple(c // 2 + draw.randrange(3) for c in colors[0])
            for _ in range(width * height)
        ]
        for k, color in enumerate(colors[1:], 1):
            left, top = (i * k + 5 * k) % width, (3 * i + 4 * k) % height
            for y in range(top, min(top + height // 3, height)):
                for x in range(left, min(left + width // 3, width)):
                    pixels[y * width + x] = color
        for _ in range(count if kind == "still" else 1):
            yield pixels


def planes(pixels):
    """The frame as planes of Y, Cb and Cr (ITU-R BT.601)."""
    result = []
    for offset, *weights in (
        (16, 0.257, 0.504, 0.098),
        (128, -0.148, -0.291, 0.439),
        (128, 0.439, -0.368, -0.071),
    ):
        result += [
            min(255, max(0, round(offset + sum(map(float.__mul__, w, p)))))
            for w, p in (
                (weights, [float(c) for c in pixel]) for pixel in pixels
            )
        ]
    return bytes(result)


def main():
    kind, form, out, *numbers = sys.argv[1:]
    width, height, count, seed = (list(map(int, numbers)) + [1])[:4]
    if form == "folder":
        os.makedirs(out, exist_ok=True)
        for i, pixels in enumerate(frames(kind, width, height, count, seed)):
            with open(f"{out}/frame{i}.ppm", "wb") as file:
                file.write(b"P6 %d %d 255\n" % (width, height))
                file.write(bytes(c for pixel in pixels for c in pixel))
        return
    with sys.stdout.buffer if out == "-" else open(out, "wb") as file:
        if form == "y4m":
            file.write(b"YUV4MPEG2 W%d H%d F25:1 C444\n" % (width, height))
        for pixels in frames(kind, width, height, count, seed):
            if form == "y4m":
                file.write(b"FRAME\n" + planes(pixels))
            else:
                file.write(bytes(c for pixel in pixels for c in pixel))


main()
