"""The inputs of the steps of the streams in this folder, the same on every
machine: NumPy promises to keep the numbers of RandomState."""
import numpy as np

SAMPLES = 512  # a step of the detector, 32 ms
FRAMES, FEATURES = 19, 40  # a step of the conformer
FRAMES_ON = 16  # its windows overlap


def detector_inputs(steps):
    """Noise that grows louder, then starts again: (1, 512) each."""
    noise = np.random.RandomState(43).random_sample((steps, 1, SAMPLES))
    for step in range(steps):
        loudness = step % 20 / 20
        yield ((2 * noise[step] - 1) * loudness).astype(np.float32)


def conformer_inputs(steps):
    """Windows of one sequence of features: (1, 19, 40) each."""
    count = steps * FRAMES_ON + FRAMES - FRAMES_ON
    numbers = np.random.RandomState(44).random_sample((count, FEATURES))
    features = (4 * numbers - 2).astype(np.float32)
    for step in range(steps):
        begin = step * FRAMES_ON
        yield features[None, begin : begin + FRAMES]
