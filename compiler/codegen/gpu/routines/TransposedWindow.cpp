//===- TransposedWindow.cpp - Windows of transposed convolutions ----------===//

#include "compiler/codegen/gpu/routines/TransposedWindow.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <numeric>
#include <tuple>
#include <utility>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

/// A layer along one of its dimensions.
struct Extents {
  int64_t outputs, stride, dilation, pad;

  static Extents rows(const WindowShape &w) {
    return {w.outHeight, w.strideRows, w.dilationRows, w.top};
  }
  static Extents cols(const WindowShape &w) {
    return {w.outWidth, w.strideCols, w.dilationCols, w.left};
  }
  int64_t phases() const { return std::min(stride, outputs); }
  int64_t common() const { return std::gcd(stride, dilation); }
  int64_t inverse() const {
    int64_t modulus = stride / common(), step = dilation / common();
    // Euclid's algorithm: `x` and `y` times the step are `a` and `b`.
    int64_t a = step % modulus, b = modulus, x = 1, y = 0;
    while (a > 1) {
      int64_t quotient = b / a;
      std::tie(a, b) = std::pair(b - quotient * a, a);
      std::tie(x, y) = std::pair(y - quotient * x, x);
    }
    return a == 0 ? 0 : (x % modulus + modulus) % modulus;
  }

  /// The outputs of a phase.
  int64_t outputsOf(int64_t phase) const {
    return (outputs - phase + stride - 1) / stride;
  }
  int64_t tapsOf(int64_t phase, int64_t kernel) const {
    int64_t place = phase + pad, step = stride / common();
    if (place % common())
      return 0;
    int64_t first = place / common() % step * inverse() % step;
    return std::max<int64_t>(0, (kernel - first + step - 1) / step);
  }
};

int64_t phaseCount(const WindowShape &w) {
  return Extents::rows(w).phases() * Extents::cols(w).phases();
}

} // namespace

GpuDispatch TransposedWindow::dispatch(const WindowFront &w, int64_t groups,
                                       Part part) {
  Extents rows = Extents::rows(w), cols = Extents::cols(w);
  GpuDispatch dispatch = BlockedWindow::dispatch(w, groups, part);
  // The pixels of a phase are no neighbours.
  if (phaseCount(w) > 1)
    dispatch.maps.clear();
  // The first phase has most pixels.
  int64_t most = int64_t(divideCeil(rows.outputs, rows.stride) *
                         divideCeil(cols.outputs, cols.stride));
  dispatch.groups[0] = uint32_t(divideCeil(most, groupPixels));
  dispatch.groups[2] = uint32_t(w.batch * phaseCount(w));
  dispatch.append({phaseCount(w), cols.phases(), rows.outputs + rows.stride - 1,
                   cols.outputs + cols.stride - 1, rows.common(), cols.common(),
                   rows.inverse(), cols.inverse()});
  assert(dispatch.push.size() == TransposeWords && "a value for each word");
  return dispatch;
}

std::string TransposedWindow::refusal(const WindowShape &w, int64_t weights) {
  std::string reason = BlockedWindow::refusal(w, weights);
  if (!reason.empty())
    return reason;
  // Places are computed in 32 bits, below zero where a tap is in the padding.
  constexpr int64_t mostStep = 1 << 14, mostPad = 1 << 29;
  for (const Extents &of : {Extents::rows(w), Extents::cols(w)}) {
    if (std::max(of.stride, of.dilation) > mostStep)
      return "a stride or dilation is more than 16384";
    if (of.pad < 0 || of.pad > mostPad)
      return "padding in front is below zero or more than 2^29";
  }
  if (w.batch * phaseCount(w) > GpuTarget::maxGroups)
    return GpuTarget::tooManyGroups;
  return "";
}

double TransposedWindow::taps(const WindowShape &w) {
  auto along = [](int64_t kernel, const Extents &of) {
    return divideCeil(kernel, of.stride / of.common());
  };
  return double(along(w.kernelRows, Extents::rows(w)) *
                along(w.kernelCols, Extents::cols(w)));
}

double TransposedWindow::stepsInTurn(const WindowShape &w, double blocks,
                                     Part part) {
  Extents rows = Extents::rows(w), cols = Extents::cols(w);
  double sum = 0;
  for (int64_t row = 0; row < rows.phases(); ++row)
    for (int64_t col = 0; col < cols.phases(); ++col)
      sum += groupsInTurn(rows.outputsOf(row) * cols.outputsOf(col), part) *
             BlockedWindow::stepsInTurn(blocks,
                                        double(rows.tapsOf(row, w.kernelRows) *
                                               cols.tapsOf(col, w.kernelCols)));
  return double(w.batch) * sum;
}

Value TransposedWindow::divisor(unsigned w) { return k.val(k.max(word(w), 1)); }

TransposedWindow::Taps TransposedWindow::tapsOf(Value phase,
                                                const Words &words) {
  Value stride = divisor(words.stride), common = divisor(words.common);
  Value dilation = word(words.dilation), place = add(phase, word(words.pad));
  Taps taps;
  taps.step = div(stride, common);
  taps.back = div(dilation, common);
  taps.first = rem(mul(rem(div(place, common), taps.step), word(words.inverse)),
                   taps.step);
  // A first tap beyond the kernel gives none.
  Value upTo = sub(add(word(words.kernel), taps.step), 1);
  Value count = div(sub(upTo, taps.first), taps.step);
  Value zero = k.constant(0);
  Value isWhole = k.compare(Order::eq, rem(place, common), zero);
  taps.count = select(isWhole, count, zero);
  // The first tap is below the stride: with as many dilations more nothing is
  // below zero before it is divided.
  Value far = add(place, mul(dilation, sub(stride, taps.first)));
  taps.from = sub(div(far, stride), dilation);
  return taps;
}

void TransposedWindow::forPlace(llvm::function_ref<void()> body, Part part) {
  Value z = k.groupId(GpuBuilder::Dim::Z), phases = divisor(Phases);
  batch = div(z, phases);
  Value phase = rem(z, phases), phaseCols = divisor(PhaseCols);
  Value phaseRow = div(phase, phaseCols), phaseCol = rem(phase, phaseCols);
  Value height = div(sub(word(RowShare), phaseRow), divisor(StrideRows)),
        width = div(sub(word(ColShare), phaseCol), divisor(StrideCols));
  auto found = [&] {
    rows = tapsOf(phaseRow, {KernelRows, StrideRows, DilationRows, Top,
                             CommonRows, InverseRows});
    cols = tapsOf(phaseCol, {KernelCols, StrideCols, DilationCols, Left,
                             CommonCols, InverseCols});
    for (Value &p : pixel) {
      Value y = div(p, width), x = rem(p, width);
      top.push_back(add(rows.from, y));
      left.push_back(add(cols.from, x));
      // From the number in the phase to that in the result.
      Value row = add(phaseRow, mul(y, word(StrideRows))),
            col = add(phaseCol, mul(x, word(StrideCols)));
      p = add(mul(row, word(OutWidth)), col);
    }
    body();
  };
  forPixels(mul(height, width), found, part);
}

Values TransposedWindow::forTaps(const Values &init, TapBody body) {
  Value kernelCols = word(KernelCols);
  return k.loop(0, rows.count, 1, init, [&](Value r, ValueRange carried) {
    Value up = mul(r, rows.back);
    Four row;
    for (Value y : top)
      row.push_back(sub(y, up));
    Value rowTap = mul(add(rows.first, mul(r, rows.step)), kernelCols);
    return k.loop(0, cols.count, 1, Values(carried),
                  [&](Value c, ValueRange sums) {
                    Value before = mul(c, cols.back);
                    Four col;
                    for (Value x : left)
                      col.push_back(sub(x, before));
                    Value tap = add(rowTap, add(cols.first, mul(c, cols.step)));
                    return body(tap, row, col, sums);
                  });
  });
}
