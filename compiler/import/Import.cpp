//===- Import.cpp - Reads an ONNX file ------------------------------------===//

#include "compiler/import/Import.h"

#include "artifact/Escape.h"
#include "artifact/FileKind.h"
#include "artifact/MappedFile.h"
#include "compiler/import/GraphImporter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// The nesting for which protobuf, which parses by recursion, surely has the
/// stack.
static constexpr int maxNesting = 2000;

static std::nullptr_t refuse(StringRef path, MLIRContext &context,
                             const Twine &message) {
  emitError(FileLineColLoc::get(&context, path, 0, 0))
      << path << ": " << message;
  return nullptr;
}

/// Other text stays as it is: labels of classes have line ends, and strings
/// that a model computes with are fields of bytes.
static bool isName(const FieldDescriptor &field) {
  return field.type() == FieldDescriptor::TYPE_STRING &&
         field.name() != "doc_string" && field.name() != "value";
}

static void escapeField(Message &message, const FieldDescriptor *field) {
  const Reflection &reflection = *message.GetReflection();
  std::string scratch;
  if (!field->is_repeated()) {
    const std::string &name =
        reflection.GetStringReference(message, field, &scratch);
    if (std::string text = artifact::escaped(name); text != name)
      reflection.SetString(&message, field, text);
    return;
  }
  for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
    const std::string &name =
        reflection.GetRepeatedStringReference(message, field, i, &scratch);
    if (std::string text = artifact::escaped(name); text != name)
      reflection.SetRepeatedString(&message, field, i, text);
  }
}

/// Escapes control characters in all names of the model (artifact/Escape.h):
/// diagnostics, bundles, and tools' output hold none of them. By a list: models
/// may nest as deep as protobuf's parser takes them.
static void escapeNames(onnx::ModelProto &model) {
  std::vector<Message *> left = {&model};
  std::vector<const FieldDescriptor *> fields;
  while (!left.empty()) {
    Message &message = *left.back();
    left.pop_back();
    const Reflection &reflection = *message.GetReflection();
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor *field : fields) {
      if (isName(*field))
        escapeField(message, field);
      if (field->type() != FieldDescriptor::TYPE_MESSAGE)
        continue;
      if (!field->is_repeated())
        left.push_back(reflection.MutableMessage(&message, field));
      else
        for (int i = 0; i < reflection.FieldSize(message, field); ++i)
          left.push_back(reflection.MutableRepeatedMessage(&message, field, i));
    }
  }
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
