//===- Registry.cpp - All routines ----------------------------------------===//

#include "compiler/codegen/cpu/Routine.h"
#include "dialects/nn/Layout.h"
#include "llvm/ADT/StringSet.h"

#include <cassert>

namespace nnv12::codegen {

// One line a routine, or a routine with its variants (the plain one first),
// here and one below, the preferred ones first.
using Variants = llvm::ArrayRef<const Routine *>;
Variants convFirstRoutines();
const Routine *convFewRoutine();
const Routine *convTransposeFewRoutine();
const Routine *convDepthwiseRoutine();
Variants convGemmRoutines();
Variants convDirectRoutines();
Variants convIm2colRoutines();
const Routine *convWinograd2Routine();
const Routine *convWinograd4Routine();
const Routine *convWinograd6Routine();
const Routine *convTransposeRoutine();
Variants matmulPanelsRoutines();
const Routine *matmulPanels64Routine();
const Routine *matmulPackingRoutine();
const Routine *poolRoutine();
const Routine *cumSumRoutine();
const Routine *normalizeRoutine();
const Routine *recurrentRoutine();
const Routine *scatterRoutine();
const Routine *softmaxRoutine();
const Routine *topKRoutine();
const Routine *elementRoutine();

namespace {
class List {
public:
  template <typename... Entries> explicit List(Entries... entries) {
    (add(entries), ...);
    assert(hasOwnNames() && "routineNamed() tells them apart");
  }
  llvm::SmallVector<const Routine *> all;

private:
  void add(const Routine *routine) { all.push_back(routine); }
  void add(Variants variants) { all.append(variants.begin(), variants.end()); }
  [[maybe_unused]] bool hasOwnNames() const {
    llvm::StringSet<> names;
    return llvm::all_of(all, [&](const Routine *routine) {
      return names.insert(routine->name()).second;
    });
  }
};
} // namespace

llvm::ArrayRef<const Routine *> routines() {
  static const List list(
      convFirstRoutines(), convFewRoutine(), convTransposeFewRoutine(),
      convDepthwiseRoutine(), convGemmRoutines(), convDirectRoutines(),
      convIm2colRoutines(), convWinograd4Routine(), convWinograd6Routine(),
      convWinograd2Routine(), convTransposeRoutine(), matmulPanelsRoutines(),
      matmulPanels64Routine(), matmulPackingRoutine(), poolRoutine(),
      cumSumRoutine(), normalizeRoutine(), recurrentRoutine(), scatterRoutine(),
      softmaxRoutine(), topKRoutine(),
      elementRoutine()); // matches nearly everything: stays last
  assert(list.all.back() == elementRoutine());
  return list.all;
}

const Routine *routineNamed(llvm::StringRef name) {
  for (const Routine *routine : routines())
    if (routine->name() == name)
      return routine;
  return nullptr;
}

const Routine *routineFor(mlir::Operation *layer) {
  if (auto chosen = layer->getAttrOfType<mlir::StringAttr>("nn.routine"))
    return routineNamed(chosen);
  for (const Routine *routine : routines())
    if (routine->matches(layer))
      return routine;
  return nullptr;
}

static bool agrees(llvm::ArrayRef<std::optional<std::string>> wanted,
                   mlir::TypeRange types) {
  assert(wanted.size() == types.size() && "a routine speaks of each value");
  return llvm::all_of(llvm::zip(wanted, types), [](auto pair) {
    auto &[tag, type] = pair;
    return !tag || *tag == nn::layoutTag(type);
  });
}

llvm::SmallVector<const Routine *> routinesFor(mlir::Operation *layer) {
  llvm::SmallVector<const Routine *> result;
  for (const Routine *routine : routines()) {
    // The routine of last resort is many times slower where another one fits,
    // too slow even to be measured.
    if (!routine->matches(layer) ||
        (routine == elementRoutine() && !result.empty()))
      continue;
    LayoutRequest request = routine->layouts(layer);
    if (agrees(request.operands, layer->getOperandTypes()) &&
        agrees(request.results, layer->getResultTypes()))
      result.push_back(routine);
  }
  return result;
}

KernelInfo Routine::emitTransform(KernelBuilder &, mlir::Operation *,
                                  llvm::StringRef) const {
  llvm_unreachable("a routine with a weight form has a transform");
}
Work Routine::transformWork(mlir::Operation *) const { return {}; }
void Routine::transform(mlir::Operation *, const void *, void *) const {
  llvm_unreachable("a routine with a weight form has a transform");
}

} // namespace nnv12::codegen
