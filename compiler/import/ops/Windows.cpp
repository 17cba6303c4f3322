//===- Windows.cpp - Sliding windows: kernel, stride, padding -------------===//

#include "compiler/import/ops/Windows.h"

#include <algorithm>
#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// Larger numbers are no windows, and would overflow.
static constexpr int64_t maxWindow = int64_t(1) << 24;

bool importer::windowNumbers(ArrayRef<int64_t> values, size_t count,
                             int64_t low) {
  return values.size() == count && llvm::all_of(values, [&](int64_t v) {
           return v >= low && v < maxWindow;
         });
}

Value importer::withChannelsFirst(Node &n, Value x,
                                  llvm::function_ref<Value(Value)> f) {
  if (n.failed())
    return {};
  int64_t rank = n.rank(x);
  assert(rank >= 3 && "the caller has looked");
  Ints toFront = llvm::to_vector(llvm::seq<int64_t>(rank)), toBack = toFront;
  std::rotate(toFront.begin() + 1, toFront.end() - 1, toFront.end());
  std::rotate(toBack.begin() + 1, toBack.begin() + 2, toBack.end());
  return n.transpose(f(n.transpose(x, toFront)), toBack);
}

Value importer::channelsFirst(Node &n, Value x,
                              llvm::function_ref<Value(Value)> f) {
  bool isLast = n.intAttr("channels_last", 0) != 0 && n.rank(x) >= 3;
  return isLast ? withChannelsFirst(n, x, f) : f(x);
}

Ints importer::kernelShape(Node &n, Value x) {
  Ints kernel = n.intsAttr("kernel_shape");
  if (n.failed())
    return {};
  if (!windowNumbers(kernel, n.rank(x) - 2, 1))
    n.fail("kernel_shape " + str(kernel),
           "a positive size for each spatial dimension of " + str(n.shape(x)));
  return kernel;
}

std::optional<Windows> importer::readWindows(Node &n, Value x,
                                             ArrayRef<int64_t> kernel) {
  size_t rank = kernel.size();
  if (n.failed() || !n.expectRank(x, rank + 2, rank + 2, "an input"))
    return std::nullopt;
  Windows w;
  w.kernel = Ints(kernel);
  w.strides = n.intsAttr("strides", Ints(rank, 1));
  w.dilations = n.intsAttr("dilations", Ints(rank, 1));
  Ints pads = n.intsAttr("pads", Ints(2 * rank, 0));
  unsigned autoPad = n.choice("auto_pad", "NOTSET",
                              {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"});
  bool ceilMode = n.intAttr("ceil_mode", 0) != 0;
  if (n.failed())
    return std::nullopt;
  if (autoPad != 0)
    pads.assign(2 * rank, 0);
  if (!windowNumbers(w.kernel, rank, 1) || !windowNumbers(w.strides, rank, 1) ||
      !windowNumbers(w.dilations, rank, 1) ||
      !windowNumbers(pads, 2 * rank, 0)) {
    n.fail("kernel " + str(w.kernel) + ", strides " + str(w.strides) +
               ", dilations " + str(w.dilations) + ", pads " + str(pads),
           "positive numbers for " + Twine(rank) + " spatial dimensions");
    return std::nullopt;
  }
  for (size_t i = 0; i < rank; ++i) {
    int64_t size = n.dim(x, i + 2);
    int64_t extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
    int64_t low = pads[i], high = pads[i + rank], stride = w.strides[i];
    if (autoPad >= 2) {
      int64_t out = (size + stride - 1) / stride;
      int64_t total = std::max<int64_t>((out - 1) * stride + extent - size, 0);
      low = autoPad == 2 ? total / 2 : total - total / 2;
      high = total - low;
    }
    int64_t room = size + low + high - extent;
    if (ceilMode && room < 0 && room > -stride && w.dilations[i] == 1) {
      // One window, of which nothing counts beyond the end.
      w.kernel[i] = size + low + high;
      room = 0;
    }
    if (room < 0) {
      n.fail("a window of " + Twine(extent) + " over dimension " +
                 Twine(i + 2) + " of " + str(n.shape(x)),
             "at most " + Twine(size + low + high));
      return std::nullopt;
    }
    int64_t counted = high, out = room / stride + 1;
    if (ceilMode && room % stride) {
      // A window that would start in the padding at the end is left out.
      int64_t start = out * stride;
      if (start < size + low) {
        ++out;
        high += stride - room % stride;
      }
    }
    w.padsLow.push_back(low);
    w.padsHigh.push_back(high);
    w.countedPadsHigh.push_back(counted);
    w.output.push_back(out);
  }
  return w;
}
