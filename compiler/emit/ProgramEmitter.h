//===- ProgramEmitter.h - Operations, memory, lanes of a program *- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_PROGRAMEMITTER_H
#define NNV12_COMPILER_EMIT_PROGRAMEMITTER_H

#include "artifact/Bundle.h"
#include "compiler/emit/KernelTable.h"
#include "compiler/emit/WeightTable.h"
#include "compiler/layers/ExecutionOrder.h"
#include "dialects/plan/PlanDialect.h"

#include <cassert>

namespace nnv12 {

/// The constants after a program's preparations, by constant, type and form,
/// which is ready: packed, as the type says, or transformed.
class ReadyWeights {
public:
  struct Place {
    artifact::Operand operand; ///< Weights or Prepared
    /// Preparations that make it.
    std::vector<artifact::OperationId> after;
  };

  void add(mlir::Value constant, const plan::StoredForm &form, Place place) {
    places.insert({keyOf(constant, form), std::move(place)});
  }
  /// Null where no preparation makes it, or the value is no constant.
  const Place *find(mlir::Value constant, const plan::StoredForm &form) const {
    if (!constant.getDefiningOp<nn::ConstantOp>())
      return nullptr;
    auto it = places.find(keyOf(constant, form));
    return it == places.end() ? nullptr : &it->second;
  }

private:
  static WeightsKey keyOf(mlir::Value constant, const plan::StoredForm &form) {
    assert(form.isReady() && "kernels read it");
    return WeightsKey::of(constant, form);
  }
  std::map<WeightsKey, Place> places;
};

/// A program with the facts that later steps ask of it.
struct EmittedProgram {
  /// Operations, preparations, lanes, switches and the sizes of arena and
  /// prepared memory: every operand placed, every stage in its lane.
  artifact::Program program;
  /// By operation of the program: the number of its layer. A layer that has
  /// nothing to compute has none.
  std::vector<uint32_t> layers;
  ReadyWeights ready; ///< made by preparations
};

/// Emits the program of a plan, which executes each layer of `order` by its
/// number. Adds the kernels that this needs to `kernels` and the weights, in
/// execution order, to `weights`. Fails, with a diagnostic, for a plan of other
/// layers, or with a routine that does not compute its layer.
///
/// Where the plan has a plan.gpu, tensors of the arena lie at multiples of 256,
/// and earlier ones that a stretch reads stay as they are until its end: so the
/// CPU can compute all of it again when the GPU fails in the middle. The
/// results of a split stretch have places that are free from its first layer
/// on, since a GPU may write there while the CPU computes parts.
mlir::FailureOr<EmittedProgram> emitProgram(const ExecutionOrder &order,
                                            plan::ProgramOp plan,
                                            KernelTable &kernels,
                                            WeightTable &weights);

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_PROGRAMEMITTER_H
