//===- Routine.h - One way to compute a layer -------------------*- C++ -*-===//
//
// A routine is an algorithm with the layouts it works in (SoftNeuro's word).
// Plans need these facts of one, for each kind of processor; how a CPU does it
// is in codegen/cpu/CpuRoutine.h.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_ROUTINES_ROUTINE_H
#define NNV12_COMPILER_ROUTINES_ROUTINE_H

#include "artifact/KernelFacts.h"
#include "dialects/plan/StoredForm.h"
#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace nnv12 {

/// The layout that a routine wants for each operand and result of a layer: a
/// tag, "" for dense row-major, or nullopt for "any, as it comes".
struct LayoutRequest {
  llvm::SmallVector<std::optional<std::string>> operands;
  llvm::SmallVector<std::optional<std::string>> results;
};

/// Weights that a routine reads in a form that no layout can describe: computed
/// from the packed ones, by the compiler or, at the start, by a kernel; or
/// packed ones in fewer bits.
struct WeightForm {
  unsigned operand; ///< of the layer: a constant
  /// Stable, e.g. "winograd4"; equal names and types are equal bytes.
  std::string name;
  int64_t bytes; ///< of the weights in this form
  /// Not computed: the weights as a file has them in fewer bits. Only a
  /// constant whose elements this narrowing keeps has the form.
  std::optional<plan::Narrowing> narrow = std::nullopt;

  /// The form of packed weights in fewer bits, `bytes` with their scales.
  static WeightForm narrowed(unsigned operand, plan::Narrowing narrow,
                             int64_t bytes) {
    plan::StoredForm form = {plan::Storage::packed, narrow};
    return {operand, form.text(), bytes, narrow};
  }
  /// The form of the bytes that the kernel reads.
  plan::StoredForm stored() const {
    return narrow ? plan::StoredForm{plan::Storage::packed, narrow}
                  : plan::transformed(name);
  }
};

/// The name of kernels that make weights of this form, or widen those of a
/// narrow one: in bundles, costs and profiles.
inline std::string transformName(llvm::StringRef form) {
  return ("transform." + form).str();
}

using artifact::KernelFacts;
using artifact::Work;

class Routine {
public:
  /// `name` is stable and descriptive, e.g. "conv.direct.nChw16c". Routines
  /// that differ in parameters only differ behind the last dot. `summary` is
  /// one line for docs/routines.md; that of a variant says its difference.
  Routine(const llvm::Twine &name, const llvm::Twine &summary)
      : name_(name.str()), summary_(summary.str()) {}
  virtual ~Routine() = default;
  llvm::StringRef name() const { return name_; }
  llvm::StringRef summary() const { return summary_; }
  /// Why it does not compute this layer (of a GPU's: on no target), as a
  /// diagnostic would say it; empty where it does. Looks at kind, attributes,
  /// shapes and element types, not at layouts, and writes no code.
  virtual std::string misfit(mlir::Operation *layer) const = 0;
  /// Whether it computes this layer.
  virtual bool matches(mlir::Operation *layer) const {
    return misfit(layer).empty();
  }
  /// By default all tensors are dense.
  virtual LayoutRequest layouts(mlir::Operation *layer) const;
  /// Computes nearly every layer, and is many times slower where another
  /// routine does so too: taken where there is no other.
  virtual bool isFallback() const { return false; }
  /// The work of its kernel. Other arithmetic, and an element moved by itself,
  /// counts as multiply-adds. See Work.h for what is shared.
  virtual Work work(mlir::Operation *layer) const;

  /// The form in which its kernel reads its weights; none: as packed by the
  /// operand's layout.
  virtual std::optional<WeightForm> weightForm(mlir::Operation *layer) const {
    return std::nullopt;
  }
  /// The work of making the form of packed weights; called where there is one
  /// that is computed.
  virtual Work transformWork(mlir::Operation *layer) const { return {}; }

private:
  const std::string name_, summary_;
};

} // namespace nnv12

#endif // NNV12_COMPILER_ROUTINES_ROUTINE_H
