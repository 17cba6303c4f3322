//===- VideoAges.cpp - How old the answers to frames are ------------------===//
#include "tools/common/VideoAges.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace nnv12::tools {

size_t makeAnswer(const std::vector<Tensor> &outputs, Answer &answer) {
  answer.clear();
  size_t firstFault = outputs.size();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor &output = outputs[i];
    size_t count = output.data.size() / elementSize(output.type);
    for (size_t k = 0; k < count; ++k) {
      double value = elementAt(output.type, output.data.data(), k);
      if (!std::isfinite(value))
        firstFault = std::min(firstFault, i);
      answer.push_back(value);
    }
  }
  return firstFault;
}

double distance(const Answer &a, const Answer &b) {
  assert(a.size() == b.size() && "answers of one model");
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

double cosineDistance(const Answer &a, const Answer &b) {
  assert(a.size() == b.size() && "answers of one model");
  // Equal ones are told apart from those that rounding makes nearly equal.
  if (a == b)
    return 0;
  double product = 0, squareA = 0, squareB = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += a[i] * b[i];
    squareA += a[i] * a[i];
    squareB += b[i] * b[i];
  }
  if (squareA == 0 || squareB == 0)
    return 1;
  double cosine = product / (std::sqrt(squareA) * std::sqrt(squareB));
  return 1 - std::clamp(cosine, -1.0, 1.0);
}

void VideoAges::addTo(Sums &sums, const Answer &answer, const Answer &full) {
  sums.distance += distance(answer, full);
  if (measure_)
    sums.change += measure_(full, answer);
  double away = cosineDistance(answer, full);
  if (away <= sums.worst)
    return;
  sums.worst = away;
  sums.worstFrame = frames_;
}

void VideoAges::add(const Answer &full, const std::vector<Answer> &ways) {
  assert(ways.size() == ways_.size() && "an answer of each way");
  for (size_t i = 0; i < numSkips; ++i)
    if (frames_ % skips[i] == 0)
      last_[i] = full;
  if (frames_ > 0) {
    steps_ += distance(full, before_);
    for (size_t i = 0; i < ways.size(); ++i)
      addTo(ways_[i], ways[i], full);
    for (size_t i = 0; i < numSkips; ++i)
      addTo(skipping_[i], last_[i], full);
  }
  for (size_t i = 0; i < shares_.size(); ++i) {
    Share &share = shares_[i];
    if (frames_ > 0)
      share.due += leastShare + shareStep * unsigned(i);
    if (share.due >= 100) {
      share.due -= 100;
      addTo(share.sums, share.last, full);
    } else {
      share.last = full;
    }
  }
  before_ = full;
  ++frames_;
}

double VideoAges::step() const {
  return frames_ > 1 ? steps_ / double(frames_ - 1) : 0;
}

AnswerAge VideoAges::leavingOut(double share) const {
  assert(!shares_.empty() && "it was asked for");
  double number = std::round((100 * share - leastShare) / shareStep);
  return finish(
      shares_[size_t(std::clamp(number, 0.0, double(shares_.size() - 1)))]
          .sums);
}

AnswerAge VideoAges::finish(const Sums &sums) const {
  AnswerAge result;
  if (frames_ < 2)
    return result;
  result.distance = sums.distance / double(frames_ - 1);
  result.change = sums.change / double(frames_ - 1);
  if (step() > 0)
    result.age = result.distance / step();
  result.worst = sums.worst;
  result.worstFrame = sums.worstFrame;
  return result;
}

} // namespace nnv12::tools
