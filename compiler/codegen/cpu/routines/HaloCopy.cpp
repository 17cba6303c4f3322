//===- HaloCopy.cpp - Input rows with their padding -----------------------===//

#include "compiler/codegen/cpu/routines/HaloCopy.h"

#include <cassert>

using namespace mlir;
using namespace nnv12::codegen;

/// Calls body(offset, lanes) for consecutive pieces of [0, count), which a
/// vector register holds.
static void pieces(KernelBuilder &k, int64_t count, int64_t elementSize,
                   llvm::function_ref<void(Index, int64_t)> body) {
  int64_t VL = k.VL * 4 / elementSize, unroll = 4, done = 0;
  int64_t whole = count / (VL * unroll);
  if (whole > 1) {
    k.loop(0, whole * VL * unroll, VL * unroll, [&](Value i) {
      for (int64_t u = 0; u < unroll; ++u)
        body(Index(i, u * VL), VL);
    });
    done = whole * VL * unroll;
  }
  if (elementSize == 4)
    for (; done < count; done += VL)
      body(Index(done), std::min(VL, count - done));
  // A part of a vector of bytes is one access if it is a power of two.
  for (int64_t lanes = VL; lanes >= 1; lanes /= 2)
    for (; done + lanes <= count; done += lanes)
      body(Index(done), lanes);
}

namespace {

/// Copies pieces of rows, and fills them.
class RowCopy {
public:
  RowCopy(KernelBuilder &k, const HaloCopy &copy, Value in, Value scratch,
          Value fill)
      : k(k), copy(copy), in(in), scratch(scratch),
        isByte(copy.elementSize == 1 && !copy.makesFloats),
        size(isByte ? 1 : 4), VL(k.VL * 4 / size) {
    Type element = isByte ? Type(k.b.getI8Type()) : Type(k.b.getF32Type());
    if (fill && copy.makesFloats)
      fill = asFloats(fill);
    zero = fill ? k.broadcast(fill, VL) : k.number(0, k.vec(VL, element));
    zero = flipped(zero);
  }

  void clear(Index at, int64_t count) const {
    pieces(k, count, size,
           [&](Index i, int64_t lanes) { store(zero, k.add(at, i), lanes); });
  }
  void elements(Index from, Index to, int64_t count) const {
    pieces(k, count, size, [&](Index i, int64_t lanes) {
      store(load(k.add(from, i), lanes), k.add(to, i), lanes);
    });
  }

private:
  Value asFloats(Value bytes) const {
    Type ints = withElement(bytes.getType(), k.b.getI32Type());
    return arith::SIToFPOp::create(
        k.b, withElement(ints, k.b.getF32Type()),
        Value(arith::ExtUIOp::create(k.b, ints, bytes)));
  }
  Value flipped(Value bytes) const {
    return copy.flips ? k.bitXor(bytes, k.iconst(-128, bytes.getType()))
                      : bytes;
  }
  Value load(Index at, int64_t lanes) const {
    if (copy.makesFloats)
      return asFloats(k.loadPart(in, at, VL, lanes));
    return isByte ? flipped(k.load(in, at, lanes))
                  : k.loadPart(in, at, VL, lanes);
  }
  void store(Value x, Index at, int64_t lanes) const {
    auto type = cast<VectorType>(x.getType());
    if (isByte && type.getNumElements() > lanes)
      x = vector::ExtractStridedSliceOp::create(k.b, x, {0}, {lanes}, {1});
    k.storePart(x, scratch, at, lanes);
  }

  KernelBuilder &k;
  const HaloCopy &copy;
  Value in, scratch, zero;
  bool isByte;
  int64_t size, VL; ///< of an element in bytes, of a vector in elements
};

} // namespace

void HaloCopy::emit(KernelBuilder &k, Value in, Index inOffset, Index firstRow,
                    Value scratch, Value fill, Index firstPlane) const {
  // Zero columns, and input columns that are not needed: strides and large
  // padding may leave nothing of the input.
  int64_t first = std::clamp<int64_t>(-firstColumn, 0, columns);
  int64_t skip = std::clamp<int64_t>(firstColumn, 0, width);
  int64_t copied = std::min(columns - first, width - skip);
  RowCopy copy(k, *this, in, scratch, fill);
  k.repeat(planes, [&](Index plane) {
    Index source = plane, z;
    if (planesOfBlock) {
      z = k.add(firstPlane, k.mul(k.rem(plane, taps), tapDistance));
      source = k.add(k.mul(k.div(plane, taps), planesOfBlock), z);
    }
    k.repeat(rows, [&](Index row) {
      Index to = k.add(k.mul(plane, planeSize()), k.mul(row, rowSize()));
      Index y = k.add(firstRow, row);
      Value isInside = k.within(y, height);
      if (planesOfBlock)
        isInside = k.bitAnd(isInside, k.within(z, planesOfBlock));
      k.ifElse(
          isInside, {},
          [&]() -> Values {
            Index from =
                k.add(k.add(inOffset, k.mul(source, height * width * pixel)),
                      k.add(k.mul(y, width * pixel), skip * pixel));
            copy.clear(to, first * pixel);
            copy.elements(from, k.add(to, first * pixel), copied * pixel);
            int64_t end = first + copied;
            copy.clear(k.add(to, end * pixel), (columns - end) * pixel);
            return {};
          },
          [&]() -> Values {
            copy.clear(to, rowSize());
            return {};
          });
    });
  });
}

void HaloCopy::emitCell(KernelBuilder &k, Value in, Index inOffset,
                        Index firstRow, Index firstCol, Value scratch,
                        Value fill) const {
  assert(copies && !planesOfBlock && "a copy of planes");
  RowCopy copy(k, *this, in, scratch, fill);
  Value isWhole = k.within(firstCol, width - columns + 1);
  // The columns [begin, end) of the copy are inside of the input.
  Index begin = k.min(k.max(k.sub(0, firstCol), 0), columns),
        end = k.max(k.min(k.sub(width, firstCol), columns), begin);
  k.repeat(planes, [&](Index plane) {
    k.repeat(rows, [&](Index row) {
      Index to = k.add(k.mul(plane, planeSize()), k.mul(row, rowSize()));
      Index y = k.add(firstRow, row);
      Index from =
          k.add(k.add(inOffset, k.mul(plane, height * width * pixel)),
                k.add(k.mul(y, width * pixel), k.mul(firstCol, pixel)));
      auto eachPixel = [&](Index lo, Index hi,
                           llvm::function_ref<void(Index)> body) {
        k.loop(lo, hi, 1, [&](Value col) { body(k.mul(col, pixel)); });
      };
      auto copyPart = [&]() -> Values {
        auto clear = [&](Index at) { copy.clear(k.add(to, at), pixel); };
        eachPixel(0, begin, clear);
        eachPixel(begin, end, [&](Index at) {
          copy.elements(k.add(from, at), k.add(to, at), pixel);
        });
        eachPixel(end, columns, clear);
        return {};
      };
      auto copyRow = [&]() -> Values {
        k.ifElse(
            isWhole, {},
            [&] { return copy.elements(from, to, rowSize()), Values(); },
            copyPart);
        return {};
      };
      k.ifElse(k.within(y, height), {}, copyRow,
               [&] { return copy.clear(to, rowSize()), Values(); });
    });
  });
}
