//===- TuningKernels.h - Kernels of CPUs to be measured ---------*- C++ -*-===//
//
// In the tuning bundle of CPUs each operation is one candidate.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_EMIT_TUNINGKERNELS_H
#define NNV12_COMPILER_EMIT_TUNINGKERNELS_H

#include "compiler/codegen/cpu/Target.h"
#include "compiler/emit/KernelTable.h"
#include "compiler/routines/Cut.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nnv12 {

/// A kernel whose time a plan may depend on.
struct TuningKernel {
  KernelFacts facts;
  /// A layer that wants it. Kernels of one layer have the same, of others
  /// another one.
  std::string layer;
  /// The layer of an execute; null for kernels that make weights of weights.
  mlir::Operation *op;
  /// Emits its code; returns its number in the table.
  std::function<unsigned(KernelTable &)> emit;
  /// Its back alone is computed, in several operations where its tiles do not
  /// follow one another; none: all of it.
  std::optional<Cut> cut = std::nullopt;
};

/// Every kernel that a plan for `main`, or for one with some of the layers
/// `others`, can consist of, each key once, in the order of the layers: all
/// candidates that agree with the layers' layouts, the transforms of their
/// weight forms, and the packing of raw weights and of those that can be
/// narrow.
std::vector<TuningKernel>
tuningKernels(mlir::func::FuncOp main, const codegen::Target &target,
              llvm::ArrayRef<mlir::Operation *> others = {});

/// Layers of which tuningParts() has parts.
constexpr size_t mostTunedParts = 60;

/// For layers that CPUs share with a GPU: the kernels in tiles for parts
/// (PartGrid.h) of layers spread over `main`, each with another routine, by
/// channels and by rows. All tiles of a kernel are measured, unless it is the
/// layer's own one, and three backs: about three quarters, a half and a quarter
/// of the result. These have the kernel's key.
std::vector<TuningKernel> tuningParts(mlir::func::FuncOp main,
                                      const codegen::Target &target);

/// The kernels that are measured on one target.
struct TuningProgram {
  codegen::Target target;
  std::vector<TuningKernel> kernels;
  std::string revision; ///< of the code generator
};

/// Writes the bundle: one operation a kernel, and before each that reads
/// activations one that writes them, as the layer before would: they are in the
/// caches then, of all cores that compute. Operands lie in model inputs that
/// nnv12-tune fills, and in outputs:
///   weights      f32, at least 64 MiB: constants
///   activations  f32: other inputs of kernels, by way of fresh
///   integers     i64, 0 or 1: operands of integers and truth values
///   sink         f32, an output: results
///   fresh        f32, an output: activations
/// The layers of operations that compute parts are named by artifact::partName.
/// Kernels of operations that are measured have a key; the one that writes
/// activations has none. On failure a diagnostic has been emitted and nothing
/// was written.
mlir::LogicalResult writeTuningBundle(mlir::func::FuncOp main,
                                      llvm::ArrayRef<TuningProgram> programs,
                                      const std::string &path,
                                      const std::string &signingKey = {});

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_TUNINGKERNELS_H
