//===- VideoClip.h - Tolerances of reuse by a user's clip -------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_VIDEOCLIP_H
#define NNV12_TOOLS_NNV12C_VIDEOCLIP_H

#include "compiler/codegen/common/TemporaryFolder.h"
#include "tools/nnv12c/CompileOptions.h"

namespace nnv12 {

/// Reads all frames of a clip. "" or one line that says what is wrong with it.
std::string checkClip(const std::string &clip);

/// Tolerances that a clip allows.
struct ClipTolerances {
  float input = 0, value = 0;
  uint32_t refresh = 0;
  std::string report; ///< lines for people
};

/// Finds tolerances for a bundle with bounded reuse on the options' clip, by
/// nnv12-bench, which stands beside this program. Files go to `folder`. Returns
/// "", or one line that tells a fault, or that no tolerances keep --max-age.
std::string findTolerances(const std::string &bundle,
                           const ClipOptions &options,
                           const TemporaryFolder &folder,
                           ClipTolerances &tolerances);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_VIDEOCLIP_H
