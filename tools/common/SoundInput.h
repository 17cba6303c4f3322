//===- SoundInput.h - Sound as model inputs ---------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_SOUNDINPUT_H
#define NNV12_TOOLS_COMMON_SOUNDINPUT_H

#include "tools/common/Options.h"
#include "tools/common/Tensor.h"
#include "tools/media/Wav.h"

namespace nnv12::tools {

/// The options of the command line for sound.
struct SoundArguments {
  unsigned rate = 0; ///< samples a second; 0: the bundle decides
  std::string channel = "mean";

  void addTo(Options &options);
};

/// Whether a file is one of sound: it begins as such files do, or is named so.
bool isSound(const std::string &path);

/// Reads a WAV file and makes its first samples a tensor of the input's type
/// and shape, with zeros behind the last one. `unread`: how many samples the
/// file has beyond those. Empty, or one line that starts with the path.
std::string readSound(const std::string &path, const nnv12_tensor_info &input,
                      const SoundOptions &options, Tensor &tensor,
                      uint64_t &unread);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_SOUNDINPUT_H
