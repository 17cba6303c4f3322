//===- Race.h - Which kernels are still worth measuring ---------*- C++ -*-===//
//
// The routines of a layer are rivals: a plan takes one of the fastest. Those
// that are clearly slower need no more runs. SoftNeuro, section V: tuning.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12_TUNE_RACE_H
#define NNV12_TOOLS_NNV12_TUNE_RACE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nnv12::tune {

class Race {
public:
  /// The group of a kernel without rivals.
  static constexpr uint32_t alone = UINT32_MAX;

  /// `groups`: kernels with the same number are rivals.
  explicit Race(std::vector<uint32_t> groups);

  /// By kernel, whether it is still in.
  const std::vector<bool> &isIn() const { return isIn_; }
  /// Drops the kernels that take more than 1 + `margin` times as long as the
  /// fastest of their group, but leaves two of each. Times of kernels that are
  /// out do not count.
  void drop(const std::vector<double> &times, double margin);

  /// Fills in the times of kernels that are out. `before` has all times of
  /// another measurement. They change by the same factor as those of the
  /// group's fastest kernel there, which must be in.
  void estimate(const std::vector<double> &before,
                std::vector<double> &times) const;

private:
  const std::vector<uint32_t> groups;
  std::vector<std::vector<size_t>> rivals; ///< kernels of each group
  std::vector<bool> isIn_;
};

/// After which part of all steps kernels are dropped, and how far behind.
struct Heat {
  double part, margin;
};
inline constexpr Heat heats[] = {{0.1, 0.5}, {0.3, 0.2}, {0.55, 0.08}};
/// The margin with which a race begins, by the times of another one.
inline constexpr double firstMargin = 0.25;

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_RACE_H
