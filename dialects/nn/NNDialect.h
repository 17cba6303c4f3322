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
/// For messages, e.g. "[1, 3, 224]".
std::string str(llvm::ArrayRef<int64_t> values);
/// Whether a tensor of shape `from` broadcasts to one of shape `to`.
bool broadcastsTo(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);
} // namespace nnv12::nn

#include "dialects/nn/NNInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/nn/NNOps.h.inc"

#endif // NNV12_DIALECTS_NN_NNDIALECT_H
