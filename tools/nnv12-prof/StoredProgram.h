//===- StoredProgram.h - A bundle's file, read again ------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_STOREDPROGRAM_H
#define NNV12_TOOLS_NNV12_PROF_STOREDPROGRAM_H

#include "artifact/MappedFile.h"
#include "bundle_generated.h"
#include "runtime/include/nnv12.hpp"

namespace nnv12::prof {

/// The program that runs, as its file has it: the runtime tells of a plan what
/// is to be known of it while it runs, and the file has more.
class StoredProgram {
public:
  /// Finds the program of a bundle that was opened from `path`. Ends the
  /// process where the file cannot be read again.
  StoredProgram(const std::string &path, const Bundle &bundle);

  const bundle::Target *target = nullptr; ///< its own
  const bundle::Program *program = nullptr;
  /// Verified; null: the program has none that this version understands.
  const bundle::GpuOverlays *overlays = nullptr;
  /// The same for video.
  const bundle::ProgramVideo *video = nullptr;

private:
  artifact::MappedFile file_;
};

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_STOREDPROGRAM_H
