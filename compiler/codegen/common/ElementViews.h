//===- ElementViews.h - Fewer dimensions for the same elements --*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_ELEMENTVIEWS_H
#define NNV12_COMPILER_CODEGEN_COMMON_ELEMENTVIEWS_H

#include "compiler/codegen/common/Element.h"

namespace nnv12::codegen {

/// Whether a kernel can compute the layer element by element: it has one result
/// and an element function, as have all layers of a nn.fuse.
bool hasElementKernel(Operation *layer);
/// The misfit of a routine where there is none.
constexpr char noElementKernel[] =
    "it has more results than one, or no element function";

/// The layers that one kernel computes.
struct ElementProgram {
  Value root;                   ///< the value that is stored
  TensorView output;            ///< where
  SmallVector<Value> leaves;    ///< one an operand, in order
  SmallVector<Operation *> ops; ///< in order; root's is the last

  static ElementProgram of(Operation *layer);
};

/// Where all layers are pointwise, drops dimensions of size one and merges
/// those that all operands traverse alike, so that for example any element-wise
/// layer on tensors of one layout is a single loop. Sets the emitter's views
/// and program.output.
///
/// `apart` are dimensions of the result that stay apart from all others. They
/// become those of program.output; equal ones are merged.
void simplifyViews(ElementEmitter &e, ElementProgram &program,
                   llvm::MutableArrayRef<unsigned> apart = {});

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_ELEMENTVIEWS_H
