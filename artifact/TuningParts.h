//===- TuningParts.h - Parts of layers in a tuning bundle -------*- C++ -*-===//
//
// Compiler and nnv12-tune agree on it; compiler/emit/TuningKernels.h has the
// rest.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_TUNINGPARTS_H
#define NNV12_ARTIFACT_TUNINGPARTS_H

#include <cstdint>
#include <cstdio>
#include <string>

namespace nnv12::artifact {

/// The layer's name in operations that compute positions [at, extent) of a
/// dimension of its result as it is stored, padding included.
inline std::string partName(const std::string &layer,
                            const std::string &dimension, uint64_t at,
                            uint64_t extent) {
  return "from " + std::to_string(at) + " of " + std::to_string(extent) + " " +
         dimension + " of " + layer;
}

/// The part of the positions that operations of such a name compute; 0: the
/// name is another one.
inline double partShare(const std::string &name) {
  unsigned long long at = 0, extent = 0;
  if (std::sscanf(name.c_str(), "from %llu of %llu ", &at, &extent) != 2 ||
      at == 0 || at >= extent)
    return 0;
  return 1 - double(at) / double(extent);
}

/// Whether a part of such a name reads all of the layer's weights.
inline bool partHasAllWeights(const std::string &name) {
  char dimension[16] = "";
  std::sscanf(name.c_str(), "from %*u of %*u %15s ", dimension);
  return std::string(dimension) != "channels";
}

/// The layer in such a name.
inline std::string partLayer(const std::string &name) {
  return name.substr(name.find(" of ", name.find(" of ") + 1) + 4);
}

/// The key of a kernel of a GPU that computes positions [0, at) alone.
inline std::string frontKey(const std::string &key,
                            const std::string &dimension, uint64_t at) {
  return key + "@" + dimension + ":" + std::to_string(at);
}

/// The key of the whole layer's kernel; "": the kernel computes no front.
inline std::string wholeKey(const std::string &key) {
  size_t end = key.find('@');
  return end == std::string::npos ? "" : key.substr(0, end);
}

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_TUNINGPARTS_H
