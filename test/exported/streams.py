"""Two models of speech that take a step of sound and hand on their states."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class Detector(nn.Module):
    """A voice detector: a Fourier transform as a convolution, an encoder, an
    LSTM. 512 samples of 16 kHz and the last 64 of the step before."""

    inputs = ["x", "context", "h", "c"]
    outputs = ["speech", "context_next", "h_next", "c_next"]

    def __init__(self, window=64, width=16, hidden=32):
        super().__init__()
        time = torch.arange(window) / window
        angle = 2 * math.pi * torch.arange(window // 2 + 1)[:, None] * time
        hann = 0.5 - 0.5 * torch.cos(2 * math.pi * time)
        basis = torch.cat([torch.cos(angle), torch.sin(angle)]) * hann
        self.register_buffer("basis", basis[:, None])
        self.hop = window // 2
        self.encoder = nn.Sequential(
            nn.Conv1d(window // 2 + 1, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv1d(width, width, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv1d(width, width, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.lstm = nn.LSTM(width, hidden)
        self.decoder = nn.Linear(hidden, 1)
        with torch.no_grad():
            # So that states and results move.
            for weights in [*self.lstm.parameters(), self.decoder.weight]:
                weights *= 3

    def forward(self, x, context, h, c):
        sound = torch.cat([context, x], 1)
        waves = F.conv1d(sound[:, None], self.basis, stride=self.hop)
        real, imaginary = waves.chunk(2, 1)
        size = torch.sqrt(real * real + imaginary * imaginary)
        y = self.encoder(size).permute(2, 0, 1)
        y, (h, c) = self.lstm(y, (h, c))
        speech = torch.sigmoid(self.decoder(F.relu(y[-1])))
        return speech, x[:, -64:], h, c

    def states(self):
        hidden = self.lstm.hidden_size
        h, c = (torch.zeros(1, 1, hidden) for _ in range(2))
        return torch.zeros(1, 64), h, c


class Block(nn.Module):
    """A conformer's block, of `past` frames in its caches."""

    def __init__(self, width, heads, past, kernel=7):
        super().__init__()
        self.heads, self.past, self.kernel = heads, past, kernel
        self.before, self.after = (
            nn.Sequential(
                nn.LayerNorm(width),
                nn.Linear(width, 4 * width),
                nn.SiLU(),
                nn.Linear(4 * width, width),
            )
            for _ in range(2)
        )
        self.query, self.key, self.value, self.place, self.out = (
            nn.Linear(width, width) for _ in range(5)
        )
        self.u, self.v = (
            nn.Parameter(torch.randn(heads, 1, width // heads) / 4)
            for _ in range(2)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.widen = nn.Conv1d(width, 2 * width, 1)
        self.depthwise = nn.Conv1d(width, width, kernel, groups=width)
        self.narrow = nn.Conv1d(width, width, 1)

    def split(self, x):
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, keys, values, cache, mask, places):
        x = x + self.before(x) / 2
        y = self.norms[0](x)
        q, k, v, p = (
            self.split(f(z))
            for f, z in (
                (self.query, y),
                (self.key, y),
                (self.value, y),
                (self.place, places),
            )
        )
        keys = torch.cat([keys, k], 2)
        values = torch.cat([values, v], 2)
        scores = (q + self.u) @ keys.transpose(2, 3)
        scores = scores + (q + self.v) @ p.transpose(2, 3)
        scores = scores / math.sqrt(q.shape[3])
        weights = scores.masked_fill(mask, -math.inf).softmax(3)
        x = x + self.out((weights @ values).transpose(1, 2).flatten(2))
        y = F.glu(self.widen(self.norms[1](x).transpose(1, 2)), 1)
        y = torch.cat([cache, y], 2)
        cache = y[:, :, 1 - self.kernel :]
        y = self.norms[2](self.depthwise(y).transpose(1, 2))
        x = x + self.narrow(F.silu(y).transpose(1, 2)).transpose(1, 2)
        x = x + self.after(x) / 2
        keys, values = (z[:, :, -self.past :] for z in (keys, values))
        return self.norms[3](x), keys, values, cache


class Conformer(nn.Module):
    """A conformer's streaming step: 19 frames of 40 features to 4 frames of
    results. Its states are the caches of attention and of convolutions, and
    the number of frames in them."""

    inputs = ["x", "keys", "values", "cache", "frames"]
    outputs = ["y"] + [f"{name}_next" for name in inputs[1:]]

    def __init__(self, width=16, heads=2, blocks=2, past=16, words=12):
        super().__init__()
        self.width, self.heads, self.past = width, heads, past
        self.front = nn.Sequential(
            nn.Conv2d(1, 4, 3, 2), nn.ReLU(), nn.Conv2d(4, 8, 3, 2), nn.ReLU()
        )
        self.project = nn.Linear(8 * 9, width)
        self.blocks = nn.ModuleList(
            Block(width, heads, past) for _ in range(blocks)
        )
        self.head = nn.Linear(width, words)
        time = torch.arange(past + 4)[:, None]
        rate = 10000 ** (-torch.arange(0, width, 2) / width)
        places = torch.cat([torch.sin(time * rate), torch.cos(time * rate)], 1)
        self.register_buffer("places", places[None])

    def forward(self, x, keys, values, cache, frames):
        y = self.project(self.front(x[:, None]).transpose(1, 2).flatten(2))
        mask = torch.arange(self.past + 4) < self.past - frames
        states = []
        for block, *state in zip(self.blocks, keys, values, cache):
            state = [z[None] for z in state]
            y, *state = block(y, *state, mask, self.places)
            states.append(state)
        keys, values, cache = (torch.cat(z) for z in zip(*states))
        frames = torch.clamp(frames + 4, max=self.past)
        return self.head(y).log_softmax(2), keys, values, cache, frames

    def states(self):
        count, each = len(self.blocks), self.width // self.heads
        shape = count, self.heads, self.past, each
        keys, values = (torch.zeros(shape) for _ in range(2))
        cache = torch.zeros(count, self.width, self.blocks[0].kernel - 1)
        return keys, values, cache, torch.zeros(1, dtype=torch.int64)
