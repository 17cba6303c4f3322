//===- LayerOperands.h - The layer of a text and its operands ---*- C++ -*-===//
//
// Shared by the tests of kernels of all processors.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_COMPILER_CODEGEN_LAYEROPERANDS_H
#define NNV12_TEST_UNIT_COMPILER_CODEGEN_LAYEROPERANDS_H

#include "compiler/routines/Routine.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace nnv12::test {

using Bytes = std::vector<char>;

Bytes toBytes(const std::vector<float> &values);
std::vector<float> toFloats(const Bytes &bytes);
/// The nearest half of each float, and the reverse.
Bytes toHalf(const Bytes &floats);
Bytes fromHalf(const Bytes &halves);
/// Reproducible values in [-1, 1).
std::vector<float> randomFloats(size_t count, unsigned seed);

/// Reproducible weights, of all sizes that such have, that lie in `packed` in
/// fewer bits: dense, row-major.
std::vector<float> narrowFloats(mlir::RankedTensorType packed,
                                plan::Narrowing narrowing);
/// Such weights as they lie. Ends the program where a bit would be lost.
Bytes narrowedWeights(mlir::RankedTensorType packed, plan::Narrowing narrowing,
                      const Bytes &dense);

/// func.func @main around a layer of operands %0, %1… of these types.
std::string layerText(const std::string &layer,
                      const std::vector<std::string> &in,
                      const std::string &out);
/// The only layer of @main; null where there is none.
mlir::Operation *findLayer(mlir::ModuleOp module);
/// Gives the layer's operands and results the layouts that the routine wants.
void setLayouts(const Routine &routine, mlir::Operation *layer);

/// Dense row-major operands as their layouts want them.
std::vector<Bytes> packOperands(mlir::Operation *layer,
                                const std::vector<Bytes> &operands);
/// A tensor in memory as a dense row-major one. Ends the program where padding
/// is not zero.
Bytes unpackTensor(mlir::Value value, const char *memory);

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_CODEGEN_LAYEROPERANDS_H
