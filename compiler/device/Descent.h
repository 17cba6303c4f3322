//===- Descent.h - Coordinate descent on coefficients -----------*- C++ -*-===//
#ifndef NNV12_COMPILER_DEVICE_DESCENT_H
#define NNV12_COMPILER_DEVICE_DESCENT_H

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace nnv12::device {

template <size_t N> using Coefficients = std::array<double, N>;

/// A step of the descent: each coefficient is multiplied by the factor to this
/// power, 1, 0 or -1.
template <size_t N> using Move = std::array<int, N>;

/// What coefficients may be. One below `smallest` is multiplied as if it were
/// that: from 0 nothing grows.
template <size_t N> struct Range {
  Coefficients<N> smallest, most;
};

/// Coordinate descent in log space from `at`: coefficients are multiplied by
/// factors that grow smaller, as long as that makes `loss` less.
template <size_t N, typename Loss>
Coefficients<N> descend(Coefficients<N> at, const Range<N> &range,
                        const std::vector<Move<N>> &moves, Loss loss) {
  double best = loss(at);
  for (double factor = 2; factor > 1.005; factor = std::sqrt(factor))
    for (int moved = 1, rounds = 0; moved && rounds < 50; ++rounds) {
      moved = 0;
      for (double f : {factor, 1 / factor})
        for (const Move<N> &move : moves) {
          Coefficients<N> next = at;
          bool allowed = true;
          for (size_t i = 0; i < N; ++i) {
            if (move[i])
              next[i] = std::max(range.smallest[i], next[i]) *
                        (move[i] > 0 ? f : 1 / f);
            allowed &= next[i] <= range.most[i];
          }
          if (!allowed)
            continue;
          double value = loss(next);
          if (value < best * (1 - 1e-9)) {
            best = value;
            at = next;
            moved = 1;
          }
        }
    }
  return at;
}

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_DESCENT_H
