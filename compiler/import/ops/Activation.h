//===- Activation.h - Functions that attributes name ------------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_OPS_ACTIVATION_H
#define NNV12_COMPILER_IMPORT_OPS_ACTIVATION_H

#include "compiler/import/Node.h"

namespace nnv12::importer {

/// A function as recurrent and fused operators name it in an attribute, and the
/// parameters that it has, in order, where the model gives none.
struct Activation {
  const char *name;
  UnaryKind kind;
  int params;
  double alpha, beta;

  llvm::SmallVector<double, 2> defaults() const {
    llvm::SmallVector<double, 2> all{alpha, beta};
    all.resize(params);
    return all;
  }
};

/// The activation of that name in any case of letters; null after a fault.
const Activation *findActivation(Node &n, llvm::StringRef name);

/// The function that attribute `activation` names, with these parameters,
/// applied to x; x where there is no such attribute. The form of ONNX Runtime's
/// FusedConv and FusedGemm.
Value activated(Node &n, Value x, llvm::ArrayRef<double> given);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_OPS_ACTIVATION_H
