//===- AnswerChange.cpp - Classes and boxes that change -------------------===//
#include "tools/common/AnswerChange.h"

#include <algorithm>
#include <cmath>

namespace nnv12::tools {

/// Columns of the corners of boxes, which are no scores.
static constexpr size_t corners = 4;

AnswerChange::AnswerChange(const std::vector<nnv12_tensor_info> &outputs) {
  size_t begin = 0;
  for (const nnv12_tensor_info &output : outputs) {
    std::vector<size_t> sizes;
    size_t count = 1;
    for (size_t i = 0; i < output.rank; ++i) {
      auto size = static_cast<size_t>(output.shape[i]);
      count *= size;
      sizes.push_back(size);
    }
    bool isOne = sizes.size() > 1 && sizes[0] == 1;
    size_t last = sizes.empty() ? 0 : sizes.back();
    if (outputs.size() == 1 && isOne && count > 1 &&
        *std::max_element(sizes.begin(), sizes.end()) == count) {
      kind_ = Kind::TopOne;
      scores_ = {{0, 1, count}};
    } else if (isOne && isFloat(output.type) && sizes.size() == 3 &&
               sizes[1] > 1 && last > 0 && last != corners) {
      kind_ = Kind::Rows;
      scores_.push_back({begin, sizes[1], last});
    }
    begin += count;
  }
}

void AnswerChange::look(const Answer &answer) {
  if (kind_ != Kind::Rows)
    return;
  auto isNoScore = [&](const Scores &scores) {
    auto first = answer.begin() + ptrdiff_t(scores.begin);
    return std::any_of(first, first + ptrdiff_t(scores.rows * scores.columns),
                       [](double x) { return x < 0 || x > 1; });
  };
  scores_.erase(std::remove_if(scores_.begin(), scores_.end(), isNoScore),
                scores_.end());
  if (scores_.empty())
    kind_ = Kind::None;
}

double AnswerChange::between(const Answer &full, const Answer &given) const {
  double changed = 0;
  for (const Scores &scores : scores_)
    for (size_t row = 0; row < scores.rows; ++row) {
      auto best = [&](const Answer &answer) {
        auto begin =
            answer.begin() + ptrdiff_t(scores.begin + row * scores.columns);
        return std::max_element(begin, begin + ptrdiff_t(scores.columns)) -
               answer.begin();
      };
      ptrdiff_t was = best(full), is = best(given);
      changed +=
          kind_ == Kind::TopOne
              ? was != is
              : std::abs(full[size_t(was)] - given[size_t(is)]) > scoreStep;
    }
  return changed;
}

} // namespace nnv12::tools
