//===- NonMaxSuppressionTest.cpp - Boxes against a plain loop -------------===//

#include "LayerCheck.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <numeric>

using namespace nnv12::test;

namespace {

struct Case {
  int64_t batch, classes, boxes, most, count;
  bool centered, filtered;
  double iou, score;
  /// Scores are drawn from so many numbers, so that some are equal.
  int64_t levels;
};

/// Two corners of box i of an image.
std::array<float, 4> corners(const Tensor &boxes, int64_t image, int64_t i,
                             bool centered) {
  std::array<float, 4> v, c;
  for (int64_t d = 0; d < 4; ++d)
    v[d] = float(boxes.at({image, i, d}));
  for (int d = 0; d < 2; ++d) {
    float first = centered ? v[d] - v[2 + d] / 2 : v[d];
    float second = centered ? v[d] + v[2 + d] / 2 : v[2 + d];
    c[d] = std::min(first, second);
    c[2 + d] = std::max(first, second);
  }
  return c;
}

bool overlaps(const std::array<float, 4> &a, const std::array<float, 4> &b,
              float limit) {
  auto area = [](const std::array<float, 4> &x) {
    return (x[2] - x[0]) * (x[3] - x[1]);
  };
  std::array<float, 4> common = {std::max(a[0], b[0]), std::max(a[1], b[1]),
                                 std::min(a[2], b[2]), std::min(a[3], b[3])};
  if (common[2] <= common[0] || common[3] <= common[1])
    return false;
  float shared = area(common), joined = area(a) + area(b) - shared;
  return area(a) > 0 && area(b) > 0 && joined > 0 && shared / joined > limit;
}

/// The boxes of one image and class.
std::vector<double> select(const Case &c, const Tensor &boxes,
                           const Tensor &scores, int64_t image, int64_t label) {
  std::vector<int64_t> order(std::clamp<int64_t>(c.count, 0, c.boxes));
  std::iota(order.begin(), order.end(), 0);
  auto score = [&](int64_t i) { return scores.at({image, label, i}); };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return score(i) > score(j); });
  std::vector<double> taken;
  for (int64_t i : order) {
    if (int64_t(taken.size()) == c.most || (c.filtered && score(i) <= c.score))
      break;
    auto box = corners(boxes, image, i, c.centered);
    if (std::none_of(taken.begin(), taken.end(), [&](double j) {
          return overlaps(box, corners(boxes, image, int64_t(j), c.centered),
                          float(c.iou));
        }))
      taken.push_back(double(i));
  }
  taken.resize(c.most, -1);
  return taken;
}

void checkCase(const Case &c, unsigned seed) {
  Tensor boxes = integers({c.batch, c.boxes, 4}, "f32", 0, 24, seed);
  Tensor scores =
      integers({c.batch, c.classes, c.boxes}, "f32", 0, c.levels, seed + 1);
  auto one = [](std::string element, double v) {
    Tensor x = values(element, {v});
    x.shape = {1};
    return x;
  };
  std::vector<double> want;
  for (int64_t image = 0; image < c.batch; ++image)
    for (int64_t label = 0; label < c.classes; ++label)
      for (double i : select(c, boxes, scores, image, label))
        want.push_back(i);
  auto flag = [](bool is) { return is ? "true" : "false"; };
  check(
      "nn.non_max_suppression %0, %1 iou %2 score %3 count %4 most " +
          std::to_string(c.most) + " centered " + flag(c.centered) +
          " filtered " + flag(c.filtered) + " : $0, $1, $2, $3, $4 -> $r",
      {boxes, scores, one("f32", c.iou), one("f32", c.score),
       one("i64", double(c.count))},
      {{c.batch, c.classes, c.most}, "i64", "", {}},
      [&](const Indices &i) {
        return want[(i[0] * c.classes + i[1]) * c.most + i[2]];
      },
      0, testTargets(), "non_max_suppression");
}

TEST(NonMaxSuppression, AgainstAPlainLoop) {
  unsigned seed = 1;
  for (bool centered : {false, true})
    for (bool filtered : {false, true})
      for (double iou : {0.0, 0.4, 1.0}) {
        checkCase({1, 1, 70, 20, 70, centered, filtered, iou, 3, 9}, seed++);
        checkCase({2, 3, 33, 33, 31, centered, filtered, iou, 40, 50}, seed++);
      }
}

TEST(NonMaxSuppression, FewBoxes) {
  for (int64_t boxes : {1, 2, 3, 17})
    for (int64_t count : {-1, 0, 1, 2, 17, 99})
      checkCase({1, 2, boxes, boxes, count, false, count % 2 == 0, 0.3, 2, 5},
                unsigned(boxes));
}

TEST(NonMaxSuppression, NoneCounts) {
  checkCase({1, 2, 40, 8, 40, false, true, 0.5, 100, 9}, 3);
}

} // namespace
