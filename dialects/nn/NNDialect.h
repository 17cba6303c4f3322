//===- NNDialect.h - The nn dialect: layers on static tensors ---*- C++ -*-===//
#ifndef NNV12_DIALECTS_NN_NNDIALECT_H
#define NNV12_DIALECTS_NN_NNDIALECT_H

#include "dialects/nn/Box.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/nn/NNDialect.h.inc"
#include "dialects/nn/NNEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/nn/NNAttrs.h.inc"

namespace nnv12::nn {
/// Whether the types are the same but for their layouts.
bool equalIgnoringLayout(mlir::TypeRange lhs, mlir::TypeRange rhs);
} // namespace nnv12::nn

#include "dialects/nn/NNInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/nn/NNOps.h.inc"

#endif // NNV12_DIALECTS_NN_NNDIALECT_H
