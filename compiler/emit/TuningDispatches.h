//===- TuningDispatches.h - Dispatches of a GPU to be measured --*- C++ -*-===//
//
// Sessions compute the tuning bundle of a GPU there as they compute a model,
// and write down how long each dispatch took.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_EMIT_TUNINGDISPATCHES_H
#define NNV12_COMPILER_EMIT_TUNINGDISPATCHES_H

#include "compiler/codegen/cpu/Target.h"
#include "compiler/codegen/gpu/GpuTarget.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace nnv12 {

/// Writes the bundle: every way in which a GPU of `target` can compute a layer
/// of `main`, each key once, and of each routine as many as some pipelines
/// compute. The program of the CPUs `cpus` only copies, in as many executes as
/// there are kernels.
///
/// All stretches are warm, and stand in this order:
///   0  one dispatch that computes nothing
///   1  `idleDispatches` of them
///   2  one that writes the second output, which is handed back
///   3… kernels. Before each that reads activations one writes them, as the
///      layer before would: they are in the caches then. Weights come one
///      behind another from 64 MiB or more, so that they are not
/// With `hasFronts` there are also fronts of up to 60 layers, by channels and
/// by rows: about a quarter, a half and three quarters. Their keys are
/// artifact::frontKey(). A dispatch whose time is asked for has `work`. The one
/// upload is of the same few megabytes, many times over. On failure a
/// diagnostic has been emitted and nothing was written.
mlir::LogicalResult writeTuningBundle(mlir::func::FuncOp main,
                                      llvm::ArrayRef<codegen::Target> cpus,
                                      const codegen::GpuTarget &target,
                                      const std::string &revision,
                                      bool hasFronts, const std::string &path,
                                      const std::string &signingKey = {});

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_TUNINGDISPATCHES_H
