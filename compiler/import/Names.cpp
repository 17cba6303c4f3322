//===- Names.cpp - Names of a model as they can be shown ------------------===//
#include "compiler/import/Names.h"

#include "artifact/Escape.h"
#include "compiler/import/Onnx.h"

using namespace nnv12;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

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

/// By a list: models may nest as deep as protobuf's parser takes them.
void importer::escapeNames(onnx::ModelProto &model) {
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
