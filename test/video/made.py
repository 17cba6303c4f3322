"""Clips from a seed, for places without others: a camera that turns, one that
stands still."""
import numpy as np

ROWS, COLUMNS, FRAMES = 240, 320, 30
TURN = 4  # pixels of a frame


def texture(random, rows, columns):
    """A picture that is alike near by, with details of many sizes."""
    result = np.zeros((rows, columns))
    for cell in (4, 8, 16, 32, 64):
        grid = random.standard_normal((rows // cell + 2, columns // cell + 2))
        y, x = np.arange(rows) / cell, np.arange(columns) / cell
        i, k = y.astype(int), x.astype(int)
        v, u = (y - i)[:, None], (x - k)[None]
        top = grid[np.ix_(i, k)] * (1 - u) + grid[np.ix_(i, k + 1)] * u
        end = grid[np.ix_(i + 1, k)] * (1 - u) + grid[np.ix_(i + 1, k + 1)] * u
        result += top * (1 - v) + end * v
    low, high = result.min(), result.max()
    return 16 + 219 * (result - low) / (high - low)


def write(path, turn, seed=1):
    """A still scene, and a square that goes through it; noise of one level."""
    random = np.random.default_rng(seed)
    scene = texture(random, ROWS, COLUMNS + FRAMES * TURN)
    square = texture(random, 40, 40)
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{COLUMNS} H{ROWS} F25:1 C420jpeg\n".encode())
        for n in range(FRAMES):
            at = n * turn
            luma = scene[:, at : at + COLUMNS].copy()
            luma[100:140, 20 + 7 * n : 60 + 7 * n] = square
            luma = np.rint(luma) + random.integers(-1, 2, luma.shape)
            file.write(b"FRAME\n")
            file.write(luma.clip(16, 235).astype(np.uint8).tobytes())
            file.write(bytes([128]) * (ROWS * COLUMNS // 2))


def clips(folder):
    """Makes the clips, and returns their paths."""
    result = []
    for name, turn in (("made_turns", TURN), ("made_still", 0)):
        result.append(folder / f"{name}.y4m")
        write(result[-1], turn)
    return result
