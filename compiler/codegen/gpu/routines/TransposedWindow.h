//===- TransposedWindow.h - Windows of transposed convolutions --*- C++ -*-===//
//
// Results whose rows and columns differ by multiples of the strides take the
// same taps. Each such phase is a part of the grid's third dimension, next to
// the batch, so that invocations of a work group take the same way.
//
// Along one dimension output o takes tap k from input (o + pad - k * dilation)
// / stride where that is whole. With g = gcd(stride, dilation), s = stride / g
// and d = dilation / g, phase p has taps where g divides p + pad: the first is
//
//   (p + pad) / g * inverse(d) mod s
//
// and each s-th after that, whose inputs lie d before one another.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_ROUTINES_TRANSPOSEDWINDOW_H
#define NNV12_COMPILER_CODEGEN_GPU_ROUTINES_TRANSPOSEDWINDOW_H

#include "compiler/codegen/gpu/routines/BlockedWindow.h"

namespace nnv12::codegen {

/// Its places stand in front of those of windows that are not transposed.
class TransposedWindow : public BlockedWindow {
public:
  /// Push words behind those of the window.
  enum Word : unsigned {
    Phases = WindowWords,
    PhaseCols, ///< phases of a row of the result
    // Output rows plus stride less one: a phase's share is this less the phase,
    // by the stride. Likewise columns.
    RowShare,
    ColShare,
    CommonRows, ///< the greatest divisor that stride and dilation share
    CommonCols,
    InverseRows, ///< of dilation, modulo stride, both by their divisor
    InverseCols,
    TransposeWords
  };
  static constexpr unsigned allWords = TransposeWords;

  /// The grid of a layer's front, and its push words.
  static GpuDispatch dispatch(const WindowFront &w, int64_t groups,
                              Part part = Part::Quad);
  /// Why its tensors, with so many weights a tap, its numbers or its grid are
  /// too large; or empty.
  static std::string refusal(const WindowShape &w, int64_t weights);
  /// Taps of the phase that has most: it ends last.
  static double taps(const WindowShape &w);
  static double stepsInTurn(const WindowShape &w, double blocks,
                            Part part = Part::Quad);

  using BlockedWindow::BlockedWindow;

protected:
  void forPlace(function_ref<void()> body, Part part = Part::Quad);
  Values forTaps(const Values &init, TapBody body) override;

private:
  /// The words of one dimension.
  struct Words {
    unsigned kernel, stride, dilation, pad, common, inverse;
  };
  /// The taps of a phase along one dimension.
  struct Taps {
    Value first, count, step;
    Value back; ///< how far the input goes back from tap to tap
    Value from; ///< input of the first output and tap; may be below zero
  };
  Taps tapsOf(Value phase, const Words &words);
  /// A word to divide by: it is zero where there is nothing to compute.
  Value divisor(unsigned w);

  // The invocation's place, from forPlace() on.
  Taps rows, cols;
  Four top, left; ///< the pixels' inputs at the first tap
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_ROUTINES_TRANSPOSEDWINDOW_H
