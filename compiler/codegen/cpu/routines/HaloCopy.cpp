//===- HaloCopy.cpp - Input rows with their padding -----------------------===//

#include "compiler/codegen/cpu/routines/HaloCopy.h"

using namespace mlir;
using namespace nnv12::codegen;

/// Calls body(offset, lanes) for consecutive pieces of [0, count).
static void pieces(KernelBuilder &k, int64_t count,
                   llvm::function_ref<void(Index, int64_t)> body) {
  int64_t VL = k.VL, unroll = 4, done = 0;
  int64_t whole = count / (VL * unroll);
  if (whole > 1) {
    k.loop(0, whole * VL * unroll, VL * unroll, [&](Value i) {
      for (int64_t u = 0; u < unroll; ++u)
        body(Index(i, u * VL), VL);
    });
    done = whole * VL * unroll;
  }
  for (; done < count; done += VL)
    body(Index(done), std::min(VL, count - done));
}

void HaloCopy::emit(KernelBuilder &k, Value in, Index inOffset, Index firstRow,
                    Value scratch) const {
  // Zero columns, and input columns that are not needed: strides and large
  // padding may leave nothing of the input.
  int64_t first = std::clamp<int64_t>(-firstColumn, 0, columns);
  int64_t skip = std::clamp<int64_t>(firstColumn, 0, width);
  int64_t copied = std::min(columns - first, width - skip);
  Value zero = k.fconst(0, k.vec(k.VL));
  auto clear = [&](Index at, int64_t count) {
    pieces(k, count, [&](Index i, int64_t lanes) {
      k.storePart(zero, scratch, k.add(at, i), lanes);
    });
  };
  k.repeat(planes, [&](Index plane) {
    k.repeat(rows, [&](Index row) {
      Index to = k.add(k.mul(plane, planeSize()), k.mul(row, rowSize()));
      Index y = k.add(firstRow, row);
      k.ifElse(
          k.within(y, height), {},
          [&]() -> Values {
            Index from =
                k.add(k.add(inOffset, k.mul(plane, height * width * pixel)),
                      k.add(k.mul(y, width * pixel), skip * pixel));
            clear(to, first * pixel);
            pieces(k, copied * pixel, [&](Index i, int64_t lanes) {
              k.storePart(k.loadPart(in, k.add(from, i), k.VL, lanes), scratch,
                          k.add(k.add(to, first * pixel), i), lanes);
            });
            int64_t end = first + copied;
            clear(k.add(to, end * pixel), (columns - end) * pixel);
            return {};
          },
          [&]() -> Values {
            clear(to, rowSize());
            return {};
          });
    });
  });
}
