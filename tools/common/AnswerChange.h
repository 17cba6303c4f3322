//===- AnswerChange.h - Classes and boxes that change -----------*- C++ -*-===//
//
// Distances of answers say little to people. The class of a classifier may
// change, and boxes of a detector may come or go.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_COMMON_ANSWERCHANGE_H
#define NNV12_TOOLS_COMMON_ANSWERCHANGE_H

#include "tools/common/VideoAges.h"

namespace nnv12::tools {

/// Changes of classes or boxes, which the shapes of a model's outputs tell.
class AnswerChange {
public:
  /// A score that changes by more may make a box come or go.
  static constexpr double scoreStep = 0.05;

  enum class Kind : uint8_t {
    None,
    TopOne, ///< one output of 1xN numbers, the scores of N classes
    Rows    ///< outputs of 1xRxC scores, R boxes
  };

  explicit AnswerChange(const std::vector<nnv12_tensor_info> &outputs);

  /// Outputs of which a number of this answer is outside of 0 to 1 are no
  /// scores. For the first full answer.
  void look(const Answer &answer);
  Kind kind() const { return kind_; }

  /// TopOne: 1 where the largest number is another, or 0. Rows: how many rows
  /// have a largest score that differs by more than scoreStep.
  double between(const Answer &full, const Answer &given) const;

private:
  /// Scores in an answer, row by row.
  struct Scores {
    size_t begin, rows, columns;
  };
  Kind kind_ = Kind::None;
  std::vector<Scores> scores_;
};

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_ANSWERCHANGE_H
