//===- GraphInputs.cpp - Arguments of the model and their shapes ----------===//

#include "compiler/import/GraphImporter.h"
#include "compiler/import/TensorData.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

namespace {
/// Sizes of dimensions by their parameter.
using Parameters = llvm::StringMap<int64_t>;
using Info = onnx::ValueInfoProto;
} // namespace

static const onnx::TensorShapeProto *declaredShape(const Info &info) {
  const onnx::TypeProto_Tensor &type = info.type().tensor_type();
  return type.has_shape() ? &type.shape() : nullptr;
}

/// "[N, 3, ?]".
static std::string declaredText(const onnx::TensorShapeProto *shape) {
  if (!shape)
    return "of unknown rank";
  std::string text;
  for (const auto &dim : shape->dim()) {
    text += text.empty() ? "" : ", ";
    if (dim.has_dim_value() && dim.dim_value() >= 0)
      text += std::to_string(dim.dim_value());
    else
      text += dim.dim_param().empty() ? "?" : dim.dim_param();
  }
  return "[" + text + "]";
}

/// Checks a shape given for an input and takes its parameters' sizes from it.
static bool unify(const Info &info, ArrayRef<int64_t> given,
                  Parameters &parameters, LayerBuilder &b) {
  const onnx::TensorShapeProto *shape = declaredShape(info);
  auto mismatch = [&] {
    return b.refuse("--shape " + str(given),
                    "one that fits " + declaredText(shape));
  };
  for (int64_t d : given)
    if (d < 0)
      return b.refuse("--shape " + str(given), "no negative dimension");
  if (!shape)
    return true;
  if (shape->dim_size() != int(given.size()))
    return mismatch();
  for (auto [dim, d] : llvm::zip(shape->dim(), given)) {
    if (dim.has_dim_value() && dim.dim_value() > 0 && dim.dim_value() != d)
      return mismatch();
    if (!dim.dim_param().empty() &&
        parameters.try_emplace(dim.dim_param(), d).first->second != d)
      return b.refuse("--shape " + str(given),
                      "dimension '" + dim.dim_param() + "' to be " +
                          Twine(parameters.lookup(dim.dim_param())) +
                          " everywhere");
  }
  return true;
}

/// The static shape of an input, nullopt after a fault. A first dimension that
/// is the only one left open is a batch, and a batch is one unless told
/// otherwise. `uses`: how many inputs have a named dimension; one that several
/// have is asked for once, by its name.
static std::optional<Ints> resolve(const Info &info,
                                   const Parameters &parameters,
                                   const llvm::StringMap<unsigned> &uses,
                                   LayerBuilder &b) {
  const onnx::TensorShapeProto *shape = declaredShape(info);
  bool complete = shape != nullptr;
  bool onlyBatch = shape && shape->dim_size() > 1;
  Ints result;
  std::string hint, named;
  bool allNamed = true, isShared = false;
  for (int i = 0; shape && i < shape->dim_size(); ++i) {
    const auto &dim = shape->dim(i);
    hint += hint.empty() ? "" : "x";
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      result.push_back(dim.dim_value());
      hint += std::to_string(dim.dim_value());
    } else if (auto it = parameters.find(dim.dim_param());
               !dim.dim_param().empty() && it != parameters.end()) {
      result.push_back(it->second);
      hint += std::to_string(it->second);
    } else {
      complete = false;
      onlyBatch &= i == 0;
      result.push_back(1);
      hint += "?";
      const std::string &name = dim.dim_param();
      std::string option = "--shape " + name + "=SIZE";
      allNamed &= !name.empty();
      isShared |= !name.empty() && uses.lookup(name) > 1;
      if (!StringRef(named).contains(option))
        named += (named.empty() ? "" : " ") + option;
    }
  }
  if (complete || onlyBatch)
    return result;
  b.fail("shape " + declaredText(shape),
         "static dimensions (set them with " +
             (allNamed && isShared ? named + ", for all inputs"
                                   : "--shape " + info.name() + "=" +
                                         (hint.empty() ? "1x2x3" : hint)) +
             ")");
  return std::nullopt;
}

bool GraphImporter::importInputs(Scope &scope) {
  const onnx::GraphProto &graph = model_.graph();
  llvm::StringMap<const Info *> inputs;
  llvm::StringMap<unsigned> uses; // inputs with a named dimension
  std::string names;
  for (const Info &info : graph.input()) {
    // Up to IR version 3 initialisers are inputs, too.
    if (scope.definesHere(info.name()))
      continue;
    if (!inputs.try_emplace(info.name(), &info).second)
      return report("input '" + info.name() + "': ")
          .refuse("the name twice", "each name once");
    names += (names.empty() ? "" : ", ") + info.name();
    llvm::StringSet<> parameterNames;
    if (const auto *shape = declaredShape(info))
      for (const auto &dim : shape->dim())
        if (!dim.dim_param().empty() &&
            parameterNames.insert(dim.dim_param()).second)
          ++uses[dim.dim_param()];
  }

  Parameters parameters;
  llvm::StringMap<Ints> shapes;
  for (const auto &[name, given] : options_.shapes)
    if (!inputs.count(name) && uses.contains(name) && given.size() == 1 &&
        given[0] >= 0)
      parameters[name] = given[0];
  for (const auto &[name, given] : options_.shapes) {
    Ints shape(given.begin(), given.end());
    if (const Info *info = inputs.lookup(name)) {
      LayerBuilder b = report("input '" + name + "': ");
      if (!unify(*info, shape, parameters, b))
        return false;
      shapes[name] = shape;
    } else if (!parameters.count(name)) {
      return report().refuse("--shape " + name + "=" + str(shape),
                             "an input (" + names +
                                 ") or one size for a named dimension");
    }
  }
  llvm::StringMap<StringRef> constants;
  for (const auto &[name, file] : options_.constants) {
    if (!inputs.count(name))
      return report().refuse("--constant " + name, "an input: " + names);
    constants[name] = file;
  }

  for (const Info &info : graph.input()) {
    if (!inputs.count(info.name()))
      continue;
    LayerBuilder b = report("input '" + info.name() + "': ");
    auto constant = constants.find(info.name());
    if (constant != constants.end()) {
      ImportValue::Kind kind =
          info.type().has_sequence_type()   ? ImportValue::Sequence
          : info.type().has_optional_type() ? ImportValue::Optional
                                            : ImportValue::Tensor;
      ImportValue value =
          readConstantFile(constant->second, kind, external_, b);
      if (b.failed())
        return false;
      int32_t declared = info.type().tensor_type().elem_type();
      if (kind == ImportValue::Tensor && declared &&
          elementType(declared, b.context()) != b.elem(value.tensor))
        return b.refuse("a constant of " + typeName(b.elem(value.tensor)),
                        dataTypeName(declared));
      scope.values[info.name()] = value;
      continue;
    }
    if (!info.type().has_tensor_type())
      return b.refuse("no tensor type", "a tensor");
    int32_t dataType = info.type().tensor_type().elem_type();
    Type element = elementType(dataType, b.context());
    if (!element)
      return b.refuse("elements of " + dataTypeName(dataType),
                      typeSetNames(kAny));
    auto given = shapes.find(info.name());
    std::optional<Ints> shape = given != shapes.end()
                                    ? std::optional<Ints>(given->second)
                                    : resolve(info, parameters, uses, b);
    if (!shape)
      return false;
    RankedTensorType type = b.type(*shape, element);
    if (!type)
      return false;
    Location loc = NameLoc::get(builder_.getStringAttr(info.name()), fileLoc_);
    scope.values[info.name()] = Value(block_->addArgument(type, loc));
    argumentNames_.push_back(info.name());
  }
  return true;
}
