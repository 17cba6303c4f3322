//===- Import.cpp - Reads an ONNX file ------------------------------------===//

#include "compiler/import/Import.h"

#include "artifact/FileKind.h"
#include "artifact/MappedFile.h"
#include "compiler/import/GraphImporter.h"
#include "compiler/import/Names.h"
#include "compiler/import/Onnx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// The nesting for which protobuf, which parses by recursion, surely has the
/// stack.
static constexpr int maxNesting = 2000;

static std::nullptr_t refuse(StringRef path, MLIRContext &context,
                             const Twine &message) {
  emitError(FileLineColLoc::get(&context, path, 0, 0))
      << path << ": " << message;
  return nullptr;
}

/// Parses the model, null after a fault. `bytes` are not needed afterwards.
static std::unique_ptr<onnx::ModelProto> parse(StringRef bytes, StringRef path,
                                               MLIRContext &context) {
  if (bytes.empty())
    return refuse(path, context, "found an empty file, expected an ONNX model");
  if (bytes.size() > size_t(std::numeric_limits<int>::max()))
    return refuse(path, context,
                  "found a file of " + Twine(bytes.size()) +
                      " bytes, expected less than 2 GiB (larger weights belong "
                      "into external data)");
  google::protobuf::LogSilencer silence; // one line a fault: ours
  auto model = std::make_unique<onnx::ModelProto>();
  int size = bytes.size();
  bool parsed = model->ParseFromArray(bytes.data(), size);
  if (!parsed) {
    // Protobuf stops at 100 messages inside of each other without saying so;
    // the importer's limit is one of graphs and comes with a node.
    google::protobuf::io::CodedInputStream stream(
        reinterpret_cast<const uint8_t *>(bytes.data()), size);
    stream.SetRecursionLimit(maxNesting);
    parsed = model->ParseFromCodedStream(&stream);
  }
  if (!parsed || (!model->has_graph() && !model->has_ir_version())) {
    if (const char *kind = artifact::fileKind(bytes.data(), bytes.size());
        kind && kind != StringRef("an ONNX model"))
      return refuse(path, context,
                    "found " + Twine(kind) + ", expected an ONNX model");
    return refuse(path, context,
                  "found a file that is truncated, no ONNX model, or one with "
                  "more than " +
                      Twine(maxNesting) +
                      " messages inside of each other, expected a serialised "
                      "ModelProto");
  }
  escapeNames(*model);
  return model;
}

/// Null if there is no model.
static OwningOpRef<ModuleOp>
importModel(std::unique_ptr<onnx::ModelProto> model, StringRef path,
            const ImportOptions &options, MLIRContext &context) {
  return model ? GraphImporter(*model, path, options, context).run()
               : OwningOpRef<ModuleOp>();
}

OwningOpRef<ModuleOp> nnv12::importOnnx(StringRef path,
                                        const ImportOptions &options,
                                        MLIRContext &context) {
  context.loadDialect<func::FuncDialect, nn::NNDialect>();
  std::unique_ptr<onnx::ModelProto> model;
  {
    artifact::MappedFile file;
    artifact::Fault fault;
    if (!file.open(path.str().c_str(), fault))
      return refuse(path, context, fault.text);
    model = parse({reinterpret_cast<const char *>(file.data()), file.size()},
                  path, context);
  }
  return importModel(std::move(model), path, options, context);
}

OwningOpRef<ModuleOp> nnv12::importOnnxBuffer(StringRef bytes, StringRef path,
                                              const ImportOptions &options,
                                              MLIRContext &context) {
  context.loadDialect<func::FuncDialect, nn::NNDialect>();
  return importModel(parse(bytes, path, context), path, options, context);
}
