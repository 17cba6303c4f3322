//===- ExternalTensors.cpp - Tensors of other files become own ones -------===//

#include "compiler/quantize/ExternalTensors.h"

#include "llvm/Support/MathExtras.h"

#include <iterator>
#include <limits>

using namespace nnv12;
using namespace nnv12::quantize;
using llvm::Twine;
using onnx::TensorProto;

namespace {
class Reader {
public:
  explicit Reader(importer::ExternalData &files) : files(files) {}
  std::string run(onnx::ModelProto &model);

private:
  void visit(onnx::GraphProto &graph);
  void visit(onnx::SparseTensorProto &sparse);
  void visit(TensorProto &tensor);
  void fail(const TensorProto &tensor, const Twine &found,
            const Twine &expected);

  importer::ExternalData &files;
  /// The size of the model with its external data.
  uint64_t size = 0;
  std::string fault;
};
} // namespace

/// Bits of an element by TensorProto's number of its type, of those too that
/// the library's enumeration does not name; 0: not known, or not always as
/// many.
static unsigned bitsOf(int type) {
  static constexpr unsigned bits[] = {
      0,  32, 8,  8,  16, 16,  32, 64, 0, 8, // float to bool
      16, 64, 32, 64, 64, 128, 16,           // float16 to bfloat16
      8,  8,  8,  8,  4,  4,   4,  8,  2, 2, // float8, int4, float4, e8m0, int2
  };
  return type > 0 && size_t(type) < std::size(bits) ? bits[type] : 0;
}

void Reader::fail(const TensorProto &tensor, const Twine &found,
                  const Twine &expected) {
  if (fault.empty())
    fault = ("initialiser '" + Twine(tensor.name()) + "': found " + found +
             ", expected " + expected)
                .str();
}

void Reader::visit(TensorProto &tensor) {
  if (!fault.empty() || tensor.data_location() != TensorProto::EXTERNAL)
    return;
  uint64_t bits = bitsOf(tensor.data_type());
  bool overflows = false;
  for (int64_t extent : tensor.dims()) {
    bool isTooLarge = false;
    bits = extent < 0
               ? 0
               : llvm::SaturatingMultiply(bits, uint64_t(extent), &isTooLarge);
    overflows |= isTooLarge;
  }
  constexpr uint64_t most = std::numeric_limits<int32_t>::max();
  uint64_t bytes = overflows ? most : llvm::divideCeil(bits, 8);
  size = llvm::SaturatingAdd(size, bytes);
  if (!bitsOf(tensor.data_type()))
    return fail(tensor, "external data of type " + Twine(tensor.data_type()),
                "numbers, to quantise the model");
  if (size >= most)
    return fail(tensor, "more than 2 GB of tensors with its external data",
                "a model of less than 2 GB, to quantise it");
  importer::ExternalData::Slice slice =
      files.find(tensor, bytes, [&](const Twine &found, const Twine &expected) {
        fail(tensor, found, expected);
      });
  if (!slice.file)
    return;
  tensor.set_raw_data(slice.bytes.data(), slice.bytes.size());
  tensor.clear_external_data();
  tensor.clear_data_location();
}

void Reader::visit(onnx::SparseTensorProto &sparse) {
  visit(*sparse.mutable_values());
  visit(*sparse.mutable_indices());
}

void Reader::visit(onnx::GraphProto &graph) {
  for (TensorProto &tensor : *graph.mutable_initializer())
    visit(tensor);
  for (onnx::SparseTensorProto &sparse : *graph.mutable_sparse_initializer())
    visit(sparse);
  for (onnx::NodeProto &node : *graph.mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_t())
        visit(*attribute.mutable_t());
      if (attribute.has_sparse_tensor())
        visit(*attribute.mutable_sparse_tensor());
      if (attribute.has_g())
        visit(*attribute.mutable_g());
      for (TensorProto &tensor : *attribute.mutable_tensors())
        visit(tensor);
      for (onnx::SparseTensorProto &tensor :
           *attribute.mutable_sparse_tensors())
        visit(tensor);
      for (onnx::GraphProto &inner : *attribute.mutable_graphs())
        visit(inner);
    }
}

std::string Reader::run(onnx::ModelProto &model) {
  size = model.ByteSizeLong();
  visit(*model.mutable_graph());
  return fault;
}

std::string
nnv12::quantize::readExternalTensors(onnx::ModelProto &model,
                                     importer::ExternalData &files) {
  return Reader(files).run(model);
}
