//===- MatrixUnit.h - Products of tiles of bytes ----------------*- C++ -*-===//
//
// The step of micro-kernels on AMX, whose registers are tiles of up to 16 rows
// of up to 64 bytes:
//
//   sums[p][o] += sum over q < terms/4, i < 4 of x[p][4q + i] * w[q][o][i]
//
// for 16 lanes o of i32, x unsigned and w signed. LLVM tells the CPU the sizes
// of a function's tiles, which have to be constants, and releases them at its
// end.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_MATRIXUNIT_H
#define NNV12_COMPILER_CODEGEN_CPU_MATRIXUNIT_H

#include "compiler/codegen/cpu/KernelBuilder.h"

namespace nnv12::codegen {

struct TileSize {
  int64_t rows, bytes; ///< bytes of a row
};

class MatrixUnit {
public:
  static constexpr int64_t mostRows = 16, mostBytes = 64;
  static bool isIn(const Target &target) { return target.has("amx-int8"); }

  explicit MatrixUnit(KernelBuilder &k);

  Value zero(TileSize size);
  /// Bytes of memory, from the offset on; rows lie apart by `stride`.
  Value load(Value memory, Index offset, Index stride, TileSize size);
  /// Rows of `sums` and x have the same number; those of x have `terms` bytes.
  Value multiplyAdd(Value sums, Value x, Value w, int64_t rows, int64_t terms);

  // Sums pass between tiles and vectors through memory of the function.

  /// The address of memory that the function has for as long as it runs.
  Value allocate(int64_t bytes);
  /// The address, so many bytes later.
  Value advance(Value address, Index bytes);
  /// Rows lie side by side.
  void store(Value tile, Value address, TileSize size);
  /// The same row of i32 again and again.
  Value loadRepeated(Value address, int64_t rows);
  Value loadRow(Value address);
  void storeRow(Value row, Value address);

private:
  Value loadFrom(Value address, Index stride, TileSize size);
  Value size(int64_t number);

  KernelBuilder &k;
  Type tile, pointer;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_MATRIXUNIT_H
