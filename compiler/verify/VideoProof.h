//===- VideoProof.h - Proves that reuse changes no result -------*- C++ -*-===//
//
// A frame of a video computes the tiles that a change of the inputs can reach,
// beside values of the last frame. That gives the results of the program, frame
// by frame:
//   - A whole frame computes all values, as the program does at other places.
//   - Let a later frame come to an execute with all operands as they are to be,
//     and let them differ from the last frame's in pixels of their sets alone.
//     A pixel of the result outside of its set depends on none of these, so the
//     bytes of the last frame are still right. A pixel inside is computed.
//     Nobody else writes there.
//   - So the same holds of the result, and of all values at the end.
//
// video::Planes chooses the dimensions that are rows and columns. Sets,
// windows, tiles and inputs are proven for any choice.
//
// Taken for granted: a kernel's map of tiles, CpuRoutine::together(), and that
// nn::neededPart() of a part lies inside of that of a larger one.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_VERIFY_VIDEOPROOF_H
#define NNV12_COMPILER_VERIFY_VIDEOPROOF_H

#include "compiler/verify/PlanClaim.h"

namespace nnv12 {

/// Shows of the part for video of a program that provePlan() has proven, for
/// any choice of switches that have been taken,
///   - each execute reads at its places, byte by byte, the values that its
///     layer reads, and each output is copied from the value that the model
///     returns;
///   - each byte of the arena is written by one execute, or by one input, so
///     values stay for later frames;
///   - layers have sets of their own, in the order of the model behind those of
///     the inputs, with the rows and columns of their results, and their reads
///     hold each pixel of an operand that a pixel depends on;
///   - the tiles that are computed for a set of pixels hold these pixels;
///   - the pixels of an input are all of its elements.
/// Fails with one diagnostic at the layer that says what was found and what was
/// expected: a fault of the compiler.
mlir::LogicalResult proveVideo(const PlanClaim &claim,
                               const artifact::Program &program);

} // namespace nnv12

#endif // NNV12_COMPILER_VERIFY_VIDEOPROOF_H
