//===- VideoFollower.h - Addresses of an overlay for video ------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_ARTIFACT_VIDEOFOLLOWER_H
#define NNV12_TEST_UNIT_ARTIFACT_VIDEOFOLLOWER_H

#include "bundle_generated.h"

#include <string>

namespace nnv12::test {

/// Follows the overlay of an understood program as runtime/Stream.cpp does, for
/// any frames, tile after tile. Says which access leaves the session's memory
/// or a kernel's grid; empty: none. Shares no code with the verifier.
std::string findOutside(const bundle::Bundle *bundle,
                        const bundle::Program *program,
                        const bundle::ProgramVideo *video);

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_ARTIFACT_VIDEOFOLLOWER_H
