//===- Channels.h - A tensor by channels ------------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_WEIGHTS_CHANNELS_H
#define NNV12_COMPILER_WEIGHTS_CHANNELS_H

#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace nnv12 {

/// A dense tensor of f32 as channels along one dimension.
class Channels {
public:
  Channels(mlir::RankedTensorType type, unsigned axis, const float *data)
      : count(type.getDimSize(axis)), data(data) {
    for (auto [i, extent] : llvm::enumerate(type.getShape()))
      (i < axis ? outer : i == axis ? ignored : inner) *= extent;
  }

  /// Calls body(first element, how many) for the pieces of a channel.
  void pieces(int64_t channel,
              llvm::function_ref<void(int64_t, int64_t)> body) const {
    pieces(channel, channel + 1,
           [&](int64_t, int64_t first, int64_t n) { body(first, n); });
  }
  /// Calls body(channel, first element, how many) for those of the channels
  /// from `begin` to `end`, in the order of memory.
  void pieces(int64_t begin, int64_t end,
              llvm::function_ref<void(int64_t, int64_t, int64_t)> body) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t channel = begin; channel < end; ++channel)
        body(channel, (o * count + channel) * inner, inner);
  }
  /// The scales of all channels, if all have one by `find`. Looks at some that
  /// lie apart first: most weights have none.
  template <typename Scale>
  std::optional<llvm::SmallVector<Scale>>
  scales(std::optional<Scale> (*find)(const float *, size_t)) {
    auto scale = [&](int64_t channel) {
      gathered.clear();
      pieces(channel, [&](int64_t first, int64_t size) {
        gathered.append(data + first, data + first + size);
      });
      return find(gathered.data(), gathered.size());
    };
    constexpr int64_t samples = 4;
    for (int64_t i = 0; i < samples; ++i)
      if (!scale((count - 1) * i / (samples - 1)))
        return std::nullopt;
    llvm::SmallVector<Scale> result;
    for (int64_t channel = 0; channel < count; ++channel) {
      std::optional<Scale> found = scale(channel);
      if (!found)
        return std::nullopt;
      result.push_back(*found);
    }
    return result;
  }

private:
  int64_t count, outer = 1, ignored = 1, inner = 1;
  const float *data;
  llvm::SmallVector<float, 0> gathered;
};

} // namespace nnv12

#endif // NNV12_COMPILER_WEIGHTS_CHANNELS_H
