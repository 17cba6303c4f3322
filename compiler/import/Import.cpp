//===- Import.cpp - Reads an ONNX file ------------------------------------===//

#include "compiler/import/Import.h"

#include "compiler/import/GraphImporter.h"
#include "compiler/import/Onnx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MemoryBuffer.h"

#include <google/protobuf/stubs/logging.h>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

static OwningOpRef<ModuleOp> refuse(StringRef path, MLIRContext &context,
                                    const Twine &message) {
  emitError(FileLineColLoc::get(&context, path, 0, 0))
      << path << ": " << message;
  return {};
}

/// Parses the model, null after a fault. `bytes` are not needed afterwards.
static std::unique_ptr<onnx::ModelProto> parse(StringRef bytes, StringRef path,
                                               MLIRContext &context) {
  if (bytes.empty()) {
    refuse(path, context, "found an empty file, expected an ONNX model");
    return nullptr;
  }
  if (bytes.size() > size_t(std::numeric_limits<int>::max())) {
    refuse(path, context,
           "found a file of " + Twine(bytes.size()) +
               " bytes, expected less than 2 GiB (larger weights belong into "
               "external data)");
    return nullptr;
  }
  google::protobuf::LogSilencer silence; // one line a fault: ours
  auto model = std::make_unique<onnx::ModelProto>();
  if (!model->ParseFromArray(bytes.data(), int(bytes.size())) ||
      (!model->has_graph() && !model->has_ir_version())) {
    refuse(path, context,
           "found a file that is truncated or no ONNX model, expected a "
           "serialised ModelProto");
    return nullptr;
  }
  return model;
}

static OwningOpRef<ModuleOp> importModel(const onnx::ModelProto &model,
                                         StringRef path,
                                         const ImportOptions &options,
                                         MLIRContext &context) {
  return GraphImporter(model, path, options, context).run();
}

OwningOpRef<ModuleOp> nnv12::importOnnx(StringRef path,
                                        const ImportOptions &options,
                                        MLIRContext &context) {
  context.loadDialect<func::FuncDialect, nn::NNDialect>();
  std::unique_ptr<onnx::ModelProto> model;
  {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!buffer)
      return refuse(path, context,
                    "found no readable file (" + buffer.getError().message() +
                        "), expected an ONNX model");
    model = parse((*buffer)->getBuffer(), path, context);
  }
  return model ? importModel(*model, path, options, context)
               : OwningOpRef<ModuleOp>();
}

OwningOpRef<ModuleOp> nnv12::importOnnxBuffer(StringRef bytes, StringRef path,
                                              const ImportOptions &options,
                                              MLIRContext &context) {
  context.loadDialect<func::FuncDialect, nn::NNDialect>();
  std::unique_ptr<onnx::ModelProto> model = parse(bytes, path, context);
  return model ? importModel(*model, path, options, context)
               : OwningOpRef<ModuleOp>();
}
