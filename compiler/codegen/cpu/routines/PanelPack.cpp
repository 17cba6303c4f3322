//===- PanelPack.cpp - A matrix as panels of 16 columns -------------------===//

#include "compiler/codegen/cpu/routines/PanelPack.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12::codegen;

static constexpr int64_t width = 16;

/// Transposes n vectors of n lanes (n a power of two): interleaving the halves
/// log2(n) times turns rows into columns.
static Values transpose(KernelBuilder &k, Values rows) {
  int64_t n = rows.size();
  assert(llvm::isPowerOf2_64(n) && "halves are interleaved");
  for (int64_t round = 1; round < n; round *= 2) {
    Values next(n);
    for (int64_t i = 0; i < n / 2; ++i)
      for (int64_t half = 0; half < 2; ++half) {
        SmallVector<int64_t> lanes;
        for (int64_t l = 0; l < n / 2; ++l) {
          lanes.push_back(half * n / 2 + l);
          lanes.push_back(n + half * n / 2 + l);
        }
        next[2 * i + half] =
            vector::ShuffleOp::create(k.b, rows[i], rows[i + n / 2], lanes);
      }
    rows = next;
  }
  return rows;
}

/// Rows [row, row + count) of a panel of `columns` columns, count <= VL.
static void packTransposed(KernelBuilder &k, Value in, Index from,
                           int64_t stride, Value out, Index to, int64_t columns,
                           int64_t count) {
  assert(count >= 1 && count <= k.VL && "rows of one vector");
  for (int64_t first = 0; first < width; first += k.VL) {
    Values lines;
    for (int64_t l = 0; l < k.VL; ++l)
      lines.push_back(
          first + l < columns
              ? k.loadPart(in, k.add(from, (first + l) * stride), k.VL, count)
              : k.fconst(0, k.vec(k.VL)));
    lines = transpose(k, lines);
    for (int64_t i = 0; i < count; ++i)
      k.store(lines[i], out, k.add(to, i * width + first));
  }
}

void PanelPack::emit(KernelBuilder &k, Value in, Index inOffset, Value scratch,
                     Index firstPanel, Index count) const {
  int64_t whole = columns / width, rest = columns % width;
  auto panel = [&](Index index, int64_t present) {
    Index to = k.mul(k.sub(index, firstPanel), panelSize());
    Index from =
        k.add(inOffset, k.mul(index, isTransposed ? width * rows : width));
    if (!isTransposed) {
      k.loop(0, rows, 1, [&](Value row) {
        for (int64_t v = 0; v < width; v += k.VL)
          k.store(k.loadPart(in, k.add(from, k.add(k.mul(row, columns), v)),
                             k.VL, std::clamp<int64_t>(present - v, 0, k.VL)),
                  scratch, k.add(to, k.add(k.mul(row, width), v)));
      });
      return;
    }
    int64_t done = rows / k.VL * k.VL;
    if (done)
      k.loop(0, done, k.VL, [&](Value row) {
        packTransposed(k, in, k.add(from, row), rows, scratch,
                       k.add(to, k.mul(row, width)), present, k.VL);
      });
    if (done < rows)
      packTransposed(k, in, k.add(from, done), rows, scratch,
                     k.add(to, done * width), present, rows - done);
  };
  Index last = k.add(firstPanel, count);
  if (whole)
    k.loop(firstPanel, k.min(last, whole), 1,
           [&](Value index) { panel(index, width); });
  if (rest)
    k.ifThen(k.less(whole, last), [&] { panel(whole, rest); });
}
