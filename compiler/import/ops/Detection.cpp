//===- Detection.cpp - Selecting boxes ------------------------------------===//

#include "compiler/import/OpTable.h"

#include <numeric>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

namespace {
/// In float32, like the values themselves: thresholds are met exactly.
struct Box {
  float low[2], high[2];
  float area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};
} // namespace

/// Corners in any order, or a centre and a size.
static Box boxFrom(const float (&v)[4], bool centered) {
  Box box;
  for (int d = 0; d < 2; ++d) {
    float first = centered ? v[d] - v[2 + d] / 2 : v[d];
    float second = centered ? v[d] + v[2 + d] / 2 : v[2 + d];
    box.low[d] = std::min(first, second);
    box.high[d] = std::max(first, second);
  }
  return box;
}

/// Whether the intersection is more than this part of the union.
static bool overlaps(const Box &a, const Box &b, float threshold) {
  Box common;
  for (int d = 0; d < 2; ++d) {
    common.low[d] = std::max(a.low[d], b.low[d]);
    common.high[d] = std::min(a.high[d], b.high[d]);
    if (!(common.high[d] > common.low[d]))
      return false;
  }
  float shared = common.area(), joined = a.area() + b.area() - shared;
  return a.area() > 0 && b.area() > 0 && joined > 0 &&
         shared / joined > threshold;
}

/// The result's shape depends on the values: they must be constant.
static void nonMaxSuppression(Node &n) {
  auto boxes = n.constantInput(0, "boxes");
  auto scores = n.constantInput(1, "scores");
  int64_t most = n.has(2) ? n.intInput(2, "max_output_boxes_per_class") : 0;
  float threshold = n.has(3) ? float(n.floatInput(3, "iou_threshold")) : 0;
  bool filtered = n.has(4);
  float least = filtered ? float(n.floatInput(4, "score_threshold")) : 0;
  bool centered = n.intAttr("center_point_box", 0) != 0;
  if (n.failed())
    return;
  ArrayRef<int64_t> b = boxes->type().getShape(), s = scores->type().getShape();
  if (b.size() != 3 || s.size() != 3 || b[0] != s[0] || b[1] != s[2] ||
      b[2] != 4)
    return n.fail("boxes " + str(b) + " and scores " + str(s),
                  "[batch, boxes, 4] and [batch, classes, boxes]");
  int64_t count = b[1];
  Ints selected;
  std::vector<Box> all(count);
  for (int64_t batch = 0; batch < b[0]; ++batch) {
    for (int64_t i = 0; i < count; ++i) {
      float v[4];
      for (int d = 0; d < 4; ++d)
        v[d] = float(boxes->asDouble((batch * count + i) * 4 + d));
      all[i] = boxFrom(v, centered);
    }
    for (int64_t label = 0; label < s[1]; ++label) {
      auto score = [&](int64_t i) {
        return float(scores->asDouble((batch * s[1] + label) * count + i));
      };
      Ints order(count);
      std::iota(order.begin(), order.end(), 0);
      if (filtered)
        llvm::erase_if(order, [&](int64_t i) { return !(score(i) > least); });
      llvm::stable_sort(
          order, [&](int64_t i, int64_t j) { return score(i) > score(j); });
      Ints kept;
      for (int64_t i : order) {
        if (int64_t(kept.size()) >= most)
          break;
        if (llvm::any_of(kept, [&](int64_t k) {
              return overlaps(all[i], all[k], threshold);
            }))
          continue;
        kept.push_back(i);
        selected.append({batch, label, i});
      }
    }
  }
  n.out(n.ints({int64_t(selected.size()) / 3, 3}, selected));
}

OpRows importer::detectionOps() {
  static const OpRow rows[] = {
      {"NonMaxSuppression", 10, kFloat32, nonMaxSuppression, "inputs constant"},
  };
  return rows;
}
