//===- VideoProof.h - Proves that frames reuse values rightly ---*- C++ -*-===//
//
// A frame of a video computes the tiles that a change of the inputs can reach,
// beside values of the last frame. In exact streams that gives the results of
// the program, frame by frame:
//   - A whole frame computes all values, as the program does at other places.
//   - Let a later frame come to an execute with all operands as they are to be,
//     and let them differ from the last frame's in pixels of their sets alone.
//     A pixel of the result outside of its set depends on none of these, so the
//     bytes of the last frame are still right. A pixel inside is computed.
//     Nobody else writes there.
//   - So the same holds of the result, and of all values at the end.
// Layers of the tail share a set of one pixel, which changes with any pixel
// that one of them reads from others. They are computed all, or none of them.
// So values between them need not stay: these lie in the program's memory, and
// are written in the order of the program. Nobody else writes there in a frame.
//
// A bounded stream gives other results. At a check point, a frame that is not
// whole computes the tiles at a place where nothing is kept. A pixel of the set
// that differs from the kept one by no more than the tolerance is left as it
// is, and taken out of the set. Others are copied. Proven of each frame: every
// pixel of a kept value is within the tolerance of the pixel that its layer
// gives for the kept values that it reads; without a check point it is equal.
//   - A pixel of the set has just been compared, or computed.
//   - Other pixels read no pixel that is another one than in the last frame,
//     so they are as near as they were then. A whole frame computes all.
// The answer of the last layer is not proven: differences of many layers add
// up, and a layer may enlarge those of its operands. Exact streams of the same
// bundle use no check point, so the first argument holds of them.
//
// video::Planes chooses the dimensions that are rows and columns. Sets,
// windows, tiles and inputs are proven for any choice.
//
// Taken for granted: a kernel's map of tiles, CpuRoutine::together(), that
// nn::neededPart() of a part lies inside of that of a larger one, and that
// streams merge a result before they run the next execute.
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
///   - or it is read in the program's memory, where a layer with the same set
///     has written it;
///   - layers have sets of their own, or from one layer on one of a single
///     pixel, in the order of the model behind those of the inputs, with the
///     rows and columns of their results, and their reads hold each pixel of an
///     operand that a pixel depends on;
///   - the tiles that are computed for a set of pixels hold these pixels;
///   - the pixels of an input are all of its elements;
///   - so are those of a check point's result, which is of f32, its layer's
///     only one, and has rows and columns; no value is kept at a check point's
///     place, which several may share; where reuse is exact there are none, and
///     no tolerances, which are numbers from 0 to 1.
/// Fails with one diagnostic at the layer that says what was found and what was
/// expected: a fault of the compiler.
mlir::LogicalResult proveVideo(const PlanClaim &claim,
                               const artifact::Program &program);

} // namespace nnv12

#endif // NNV12_COMPILER_VERIFY_VIDEOPROOF_H
