//===- Element.cpp - Any layer, element by element ------------------------===//

#include "compiler/codegen/common/ElementViews.h"
#include "compiler/codegen/cpu/ElementKernel.h"
#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/Work.h"

using namespace mlir;

namespace nnv12::codegen {
namespace {

/// The routine of last resort, and the right one for layers that only move
/// elements or compute them singly.
class ElementRoutine : public CpuRoutine {
public:
  ElementRoutine()
      : CpuRoutine(
            "element",
            "any layer of one result, element by element; chains of layers in "
            "one pass") {}
  bool matches(Operation *layer) const override {
    return hasElementKernel(layer);
  }
  bool isFallback() const override { return true; }
  LayoutRequest layouts(Operation *layer) const override {
    return anyLayouts(layer);
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  llvm::StringRef symbol) const override {
    return emitElementKernel(k, layer, symbol);
  }
  Work work(Operation *layer) const override { return elementWork(layer); }
};

} // namespace

const Routine *elementRoutine() {
  static const ElementRoutine routine;
  return &routine;
}

} // namespace nnv12::codegen
