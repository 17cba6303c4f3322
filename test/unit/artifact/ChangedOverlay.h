//===- ChangedOverlay.h - Faults of changed overlays ------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_ARTIFACT_CHANGEDOVERLAY_H
#define NNV12_TEST_UNIT_ARTIFACT_CHANGEDOVERLAY_H

#include "artifact/Writer.h"
#include "test/unit/sample/GpuSample.h"

#include <cstddef>
#include <functional>
#include <gtest/gtest.h>
#include <string>

namespace nnv12::test {

/// A change of the sample's overlay, and how the message about it begins,
/// behind "program 0: ".
struct OverlayCase {
  const char *message;
  std::function<void(artifact::ProgramGpu &)> change;
};

/// The fault of a changed sample, from the writer, which runs the verifier;
/// empty: none.
inline std::string
errorOf(const std::function<void(artifact::Bundle &)> &change) {
  GpuSample sample;
  change(sample.bundle);
  // A good bundle fails for want of the folder.
  std::string error =
      artifact::writeBundle(sample.bundle, "/nonexistent/a.nnv");
  size_t colon = error.find(": ");
  return error.find("No such file") != std::string::npos ? ""
         : colon == std::string::npos ? error
                                      : error.substr(colon + 2);
}

/// The fault of a sample with a changed overlay of program 0.
inline std::string
errorOfGpu(const std::function<void(artifact::ProgramGpu &)> &change) {
  return errorOf(
      [&](artifact::Bundle &bundle) { change(*bundle.programs[0].gpu); });
}

template <size_t N> void expectRefused(const OverlayCase (&cases)[N]) {
  for (const OverlayCase &c : cases) {
    std::string error = errorOfGpu(c.change);
    EXPECT_EQ(error.find("program 0: " + std::string(c.message)), 0u)
        << "expected: " << c.message << "\nfound:    " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_ARTIFACT_CHANGEDOVERLAY_H
