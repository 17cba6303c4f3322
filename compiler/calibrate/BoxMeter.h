//===- BoxMeter.h - Which boxes two detectors both find ---------*- C++ -*-===//
#ifndef NNV12_COMPILER_CALIBRATE_BOXMETER_H
#define NNV12_COMPILER_CALIBRATE_BOXMETER_H

#include "compiler/calibrate/ModelMeter.h"

namespace nnv12::calibrate {

/// Part of the boxes that both models have: one of the same class that overlaps
/// with it by half (intersection over union). Boxes that one of them has alone
/// count as missed, whichever it is.
///
/// It is for lists of boxes with corners (x1 y1 x2 y2, or y1 x1 y2 x2), before
/// or after the suppression of doubles:
/// - an output [N, 4] or [1, N, 4], beside scores [N], [1, N], [N, C],
///   [1, N, C] or [1, C, N]; with scores [N] a third output [N] may have
///   classes: integers, or of a name with "class" or "label";
/// - one output [N, 6] or [1, N, 6]: corners, score, class.
/// There may be several lists, as one for each level of a pyramid.
///
/// A box counts where its best score is 0.5 at least, or 0 where scores are no
/// parts of 1. Where the scores of each row sum up to 1, the class that most
/// rows have is the background.
MakeModelMeter makeBoxMeter;

} // namespace nnv12::calibrate

#endif // NNV12_COMPILER_CALIBRATE_BOXMETER_H
