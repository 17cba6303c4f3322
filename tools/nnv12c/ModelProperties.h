//===- ModelProperties.h - A bundle's properties of its model ---*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_MODELPROPERTIES_H
#define NNV12_TOOLS_NNV12C_MODELPROPERTIES_H

#include "artifact/Bundle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/nnv12c/CompileOptions.h"

#include <vector>

namespace nnv12 {

/// The model's own properties, as they are, those of labels and pictures in the
/// form that all bundles have (KnownProperties.h), and the options', which
/// count more. A fault of an option is an error; a wrong property of the model
/// is left out, with a remark. `main` is the function of
/// `module` with the model's inputs and outputs.
mlir::FailureOr<std::vector<artifact::Property>>
modelProperties(mlir::ModuleOp module, mlir::func::FuncOp main,
                const CompileOptions &options);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_MODELPROPERTIES_H
