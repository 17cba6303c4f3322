//===- WordMeter.h - In which words two recognisers differ ------*- C++ -*-===//
#ifndef NNV12_COMPILER_CALIBRATE_WORDMETER_H
#define NNV12_COMPILER_CALIBRATE_WORDMETER_H

#include "compiler/calibrate/ModelMeter.h"

namespace nnv12::calibrate {

/// Word error rate: how many words have to be replaced, added or left out to
/// get those of floats, as a part of these. Without a space among the labels,
/// labels count in place of words.
///
/// It is for an output [T, 1, C] or [1, T, C] of scores as CTC trains them, and
/// labels for all C classes, or for all but the blank. The best class of each
/// step counts, once where it is repeated, and blanks not. The blank is the
/// label "<blank>", "<blk>", "<pad>" or "[PAD]" (or "blank", "[blank]"); class
/// 0 where there is none of these. A space is " ", "|" or "<space>", or a label
/// begins with U+2581 as a word does.
MakeModelMeter makeWordMeter;

/// The least number of elements to replace, add or leave out.
size_t editDistance(const std::vector<std::string> &a,
                    const std::vector<std::string> &b);

} // namespace nnv12::calibrate

#endif // NNV12_COMPILER_CALIBRATE_WORDMETER_H
