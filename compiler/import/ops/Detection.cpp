//===- Detection.cpp - Selecting boxes ------------------------------------===//

#include "compiler/import/Counted.h"
#include "compiler/import/OpTable.h"
#include "compiler/import/RunTimeNumbers.h"
#include "llvm/Support/MathExtras.h"

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

/// The boxes of constants: rows without padding.
static void selectConstantBoxes(Node &n) {
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

/// The elements of input i, and its count, if dimension `axis` has one. Null
/// after a fault.
static Value boxesInput(Node &n, unsigned i, int64_t axis, Value &count) {
  if (!n.has(i) || !n.value(i).hasRunTimeSize())
    return n.in(i);
  ImportValue v = toCounted(n, n.value(i));
  if (v.axis != axis) {
    n.failNotConstant(v.count, "the size of dimension " + Twine(v.axis) +
                                   " of input '" + n.inputName(i) + "'");
    return {};
  }
  count = v.count;
  return v.all;
}

/// Rows [image, class, box], with room for all that can be taken. Those that
/// are not hold -1.
static void nonMaxSuppression(Node &n) {
  bool isConstant = true;
  for (unsigned i = 0; i < n.inputs(); ++i)
    isConstant &= !n.has(i) || (n.value(i).kind == ImportValue::Tensor &&
                                n.isConstant(n.value(i).tensor));
  if (isConstant)
    return selectConstantBoxes(n);
  Value count;
  Value boxes = boxesInput(n, 0, 1, count), scores = boxesInput(n, 1, 2, count);
  if (!n.expectRank(boxes, 3, 3, "boxes") ||
      !n.expectRank(scores, 3, 3, "scores"))
    return;
  // Boxes and scores may have room for another number each.
  int64_t all = std::min(n.dim(boxes, 1), n.dim(scores, 2));
  if (count) {
    boxes = n.slice(boxes, 1, 0, all);
    scores = n.slice(scores, 2, 0, all);
  } else {
    count = n.scalar(n.i64(), double(n.dim(boxes, 1)));
  }
  Value asked = n.optional(2);
  if (asked && n.size(asked) != 1)
    return n.fail("max_output_boxes_per_class of " + Twine(n.size(asked)) +
                      " elements",
                  "one");
  int64_t most = asked ? knownLimit(n, asked, 0).value_or(all) : 0;
  most = std::clamp<int64_t>(most, 0, all);
  int64_t images = n.dim(scores, 0), classes = n.dim(scores, 1), rows;
  int64_t limit = n.graph().options().mostBoxes;
  if (n.failed())
    return;
  if (images * classes * most == 0)
    return n.out(n.ints({0, 3}, {}));
  if (llvm::MulOverflow(images * classes, most, rows) || rows > limit)
    return n.fail("up to " + Twine(most) + " boxes of each of " +
                      Twine(classes) + " classes of " + Twine(images) +
                      " images",
                  "at most " + Twine(limit) + " in all (--limit-boxes)");
  auto threshold = [&](unsigned i) {
    Value v = n.optional(i);
    return n.reshape(v ? v : n.scalar(n.f32(), 0), {1});
  };
  Value taken = n.create<nn::NonMaxSuppressionOp>(
      {boxes, scores, threshold(3), threshold(4), n.reshape(count, {1})},
      {n.attr("most", most),
       n.flag("centered", n.intAttr("center_point_box", 0) != 0),
       n.flag("filtered", n.has(4))});
  Value mask = n.binary(BinaryKind::greater_equal, taken, 0.0);
  if (asked && !n.data(asked)) {
    Value places =
        n.generate({1, 1, most}, n.i64(), [](int64_t i) { return double(i); });
    mask = n.binary(BinaryKind::logical_and, mask,
                    n.binary(BinaryKind::less, places,
                             n.reshape(n.cast(asked, n.i64()), {})));
  }
  if (n.failed())
    return;
  ImportValue selected = select(n, mask);
  if (n.failed())
    return;
  ImportValue places = toCounted(n, selected.as(ImportValue::Rows));
  ImportValue indices = toCounted(n, selected.as(ImportValue::Picked, taken));
  if (n.failed())
    return;
  ImportValue result = ImportValue::counted(
      n.concat({n.slice(places.all, 1, 0, 2), n.unsqueeze(indices.all, {1})},
               1),
      0, places.count);
  result.all = fill(n, result, -1.0);
  result.isMarked = true;
  n.out(0, result);
}

OpRows importer::detectionOps() {
  static const OpRow rows[] = {
      {"NonMaxSuppression", 10, kFloat32, nonMaxSuppression,
       "rows of -1 behind those of run-time boxes, and OUTPUT.count"},
  };
  return rows;
}
