//===- GraphImporter.cpp - Walks the nodes of an ONNX model ---------------===//

#include "compiler/import/GraphImporter.h"

#include "compiler/import/Counted.h"
#include "compiler/import/OpTable.h"
#include "compiler/import/TensorData.h"
#include "compiler/import/TensorNames.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SaveAndRestore.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// How deep control flow and functions may be nested.
static constexpr unsigned maxDepth = 64;

GraphImporter::GraphImporter(onnx::ModelProto &model, StringRef path,
                             const ImportOptions &options, MLIRContext &context)
    : model_(model), path_(path.str()),
      external_(path, options.externalData, options.inputs), options_(options),
      builder_(&context), fileLoc_(FileLineColLoc::get(&context, path, 0, 0)) {
  if (model.has_graph())
    for (onnx::TensorProto &t : *model.mutable_graph()->mutable_initializer())
      weights_[&t] = &t;
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

LayerBuilder GraphImporter::report(const Twine &what) {
  return LayerBuilder(builder_, fileLoc_, (path_ + ": " + what).str(),
                      options_.maxTensorBytes);
}

LayerBuilder GraphImporter::reportNode(const onnx::NodeProto &proto,
                                       int index) {
  std::string name = nodeName(proto, index);
  return LayerBuilder(
      builder_, NameLoc::get(builder_.getStringAttr(name), fileLoc_),
      path_ + ": node '" + name + "' (" + proto.op_type() + "): ",
      options_.maxTensorBytes);
}

//===----------------------------------------------------------------------===//
// Fields that the protobuf classes of Debian's ONNX do not know yet
//===----------------------------------------------------------------------===//

/// FunctionProto.attribute_proto (attributes with defaults, IR version 9).
static constexpr int attributeProtoField = 11;
/// Which function of one name is meant (IR version 10).
static constexpr int functionOverloadField = 13, nodeOverloadField = 8;

/// The bytes of each field with this number.
template <typename Message>
static SmallVector<StringRef> fieldsOf(const Message &message, int number) {
  SmallVector<StringRef> result;
  const auto &unknown = message.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto &field = unknown.field(i);
    if (field.number() == number &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      result.push_back(field.length_delimited());
  }
  return result;
}

template <typename Message>
static StringRef textField(const Message &message, int number) {
  SmallVector<StringRef> fields = fieldsOf(message, number);
  return fields.empty() ? StringRef() : fields.back();
}

static std::string functionKey(StringRef domain, StringRef name,
                               StringRef overload) {
  return (domain + "::" + name + ":" + overload).str();
}

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

/// The same domain has two names.
static StringRef canonicalDomain(StringRef domain) {
  return domain == "ai.onnx" ? StringRef() : domain;
}

bool GraphImporter::checkModel() {
  // Newer versions add types and fields; a model that uses one that matters is
  // refused where it does.
  if (model_.ir_version() < 3)
    return report().refuse("IR version " + Twine(model_.ir_version()),
                           "3 or later");
  if (!model_.has_graph())
    return report().refuse("no graph", "a model with one");
  for (const onnx::OperatorSetIdProto &set : model_.opset_import())
    modelFrame_.opsets[canonicalDomain(set.domain())] = set.version();
  auto it = modelFrame_.opsets.find("");
  if (it != modelFrame_.opsets.end() &&
      (it->second < 1 || it->second > latestOpset))
    return report().refuse("operator set " + Twine(it->second) + " of ai.onnx",
                           "1 to " + Twine(latestOpset) +
                               ", which exporters can be asked for");
  return true;
}

static SmallVector<StringRef> outputNames(const onnx::GraphProto &graph) {
  SmallVector<StringRef> names;
  for (const onnx::ValueInfoProto &output : graph.output())
    names.push_back(output.name());
  return names;
}

SmallVector<StringRef> GraphImporter::wantedOutputs() const {
  if (options_.outputs.empty())
    return outputNames(model_.graph());
  return {options_.outputs.begin(), options_.outputs.end()};
}

void GraphImporter::nameTensors(const onnx::GraphProto &graph,
                                const Scope &scope) {
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &name : node.output()) {
      auto value = scope.values.find(name);
      if (value == scope.values.end())
        continue;
      const ImportValue &v = value->second;
      if (Value tensor = v.isCounted() ? v.all : v.tensor)
        options_.names->tensors.emplace_back(name, tensor);
    }
}

OwningOpRef<ModuleOp> GraphImporter::run() {
  assert(!mainFunc_ && "a model is imported once");
  if (!checkModel() || !importFunctions())
    return {};
  const onnx::GraphProto &graph = model_.graph();
  OwningOpRef<ModuleOp> module = ModuleOp::create(fileLoc_);
  (*module)->setAttr("nn.model", builder_.getStringAttr(graph.name()));
  NamedAttrList properties;
  for (const onnx::StringStringEntryProto &property : model_.metadata_props())
    if (!property.key().empty())
      properties.set(property.key(), builder_.getStringAttr(property.value()));
  if (!properties.empty())
    (*module)->setAttr("nn.properties",
                       properties.getDictionary(builder_.getContext()));
  builder_.setInsertionPointToEnd(module->getBody());
  mainFunc_ = func::FuncOp::create(builder_, fileLoc_, "main",
                                   builder_.getFunctionType({}, {}));
  block_ = mainFunc_.addEntryBlock();
  builder_.setInsertionPointToEnd(block_);

  Scope scope;
  if (!addInitializers(graph, scope) || !importInputs(scope))
    return {};
  current_ = &scope;
  if (!importNodes(graph.node(), wantedOutputs(), scope, modelFrame_) ||
      !bindOutputs())
    return {};

  if (options_.names)
    nameTensors(graph, scope);
  // Drop layers that folding left behind.
  llvm::DenseSet<Value> dropped;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block_))) {
    if (!isa<nn::NNDialect>(op.getDialect()) || !op.use_empty())
      continue;
    dropped.insert_range(op.getResults());
    op.erase();
  }
  if (options_.names)
    llvm::erase_if(options_.names->tensors, [&](const auto &named) {
      return dropped.contains(named.second);
    });
  return module;
}

/// The tensors that a graph's output consists of, by name: a sequence or
/// optional gives one for each element, NAME[0], NAME[1]…
static void flatten(const std::string &name, const ImportValue &value,
                    SmallVectorImpl<std::pair<std::string, Value>> &tensors) {
  if (value.kind == ImportValue::Tensor)
    return tensors.emplace_back(name, value.tensor), void();
  for (auto [i, element] : llvm::enumerate(value.list))
    flatten(name + "[" + std::to_string(i) + "]", element, tensors);
}

/// The element type that a declared type has, inside sequences and optionals;
/// zero if it says nothing.
static int32_t declaredElement(const onnx::TypeProto &type) {
  if (type.has_sequence_type())
    return declaredElement(type.sequence_type().elem_type());
  if (type.has_optional_type())
    return declaredElement(type.optional_type().elem_type());
  return type.tensor_type().elem_type();
}

bool GraphImporter::bindOutputs() {
  SmallVector<StringRef> names = wantedOutputs();
  if (names.empty())
    return report().refuse("a graph without outputs", "at least one");
  llvm::StringMap<int32_t> declaredElements;
  for (const onnx::ValueInfoProto &output : model_.graph().output())
    declaredElements[output.name()] = declaredElement(output.type());
  // Behind the outputs: how much of those counts of which only a run tells.
  SmallVector<std::pair<std::string, Value>> tensors, counts;
  for (StringRef name : names) {
    LayerBuilder b = report("output '" + name + "': ");
    std::optional<ImportValue> value = lookup(*current_, name);
    if (!value)
      return b.refuse("a name that is not defined", "the output of a node");
    size_t first = tensors.size();
    if (value->hasRunTimeSize()) {
      ImportValue v = toCounted(b, *value);
      if (b.failed())
        return false;
      tensors.emplace_back(name, v.isMarked ? v.all : fill(b, v, 0.0));
      counts.emplace_back((name + ".count").str(), b.reshape(v.count, {1}));
    } else {
      flatten(name.str(), *value, tensors);
    }
    int32_t declared = declaredElements.lookup(name);
    Type element = elementType(declared, builder_.getContext());
    for (auto &[name, tensor] : llvm::drop_begin(tensors, first)) {
      if (!tensor) {
        if (!undecoded_)
          b.fail("an absent optional", "a tensor");
        return false;
      }
      if (declared && element != b.elem(tensor))
        return b.refuse(typeName(b.elem(tensor)), dataTypeName(declared));
    }
  }
  for (auto &named : counts) {
    if (llvm::is_contained(llvm::make_first_range(tensors), named.first))
      return report().refuse("an output '" + named.first + "'",
                             "another name, as that is the count of one");
    tensors.push_back(named);
  }
  if (tensors.empty())
    return report().refuse("outputs that are empty sequences or optionals",
                           "at least one tensor");
  SmallVector<Value> results;
  for (auto &[name, tensor] : tensors)
    results.push_back(tensor);
  func::ReturnOp::create(builder_, fileLoc_, results);
  SmallVector<Type> types(ValueRange(results).getTypes());
  mainFunc_.setType(
      builder_.getFunctionType(block_->getArgumentTypes(), types));
  assert(argumentNames_.size() == block_->getNumArguments() &&
         "each argument has a name");
  for (auto [i, name] : llvm::enumerate(argumentNames_))
    mainFunc_.setArgAttr(i, "nn.name", builder_.getStringAttr(name));
  for (auto [i, named] : llvm::enumerate(tensors))
    mainFunc_.setResultAttr(i, "nn.name", builder_.getStringAttr(named.first));
  return true;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

bool GraphImporter::addInitializers(const onnx::GraphProto &graph,
                                    Scope &scope) {
  auto add = [&](const std::string &name, auto &known, const auto &tensor) {
    if (scope.definesHere(name))
      return bool(report("initialiser '" + name + "': ")
                      .refuse("the name twice", "each name once"));
    known[name] = &tensor;
    return true;
  };
  for (const onnx::TensorProto &t : graph.initializer())
    if (!add(t.name(), scope.initializers, t))
      return false;
  for (const onnx::SparseTensorProto &t : graph.sparse_initializer())
    if (!add(t.values().name(), scope.sparse, t))
      return false;
  return true;
}

Value GraphImporter::addInput(StringRef name, RankedTensorType type) {
  // The body of a loop asks several times for one name.
  std::string unique = name.str();
  for (int i = 2; llvm::is_contained(argumentNames_, unique); ++i)
    unique = (name + "." + Twine(i)).str();
  argumentNames_.push_back(unique);
  return block_->addArgument(type, fileLoc_);
}

Value GraphImporter::tensorConstant(const onnx::TensorProto &tensor,
                                    LayerBuilder &b) {
  auto [it, isNew] = decoded_.try_emplace(&tensor);
  if (!isNew)
    return it->second;
  Value value = b.constant(decodeTensor(tensor, external_, b));
  decoded_[&tensor] = value;
  // The elements are copied; weights must not take memory twice. Nothing reads
  // a tensor again that `decoded` holds.
  if (onnx::TensorProto *owner = weights_.lookup(&tensor))
    delete owner->release_raw_data();
  return value;
}

std::optional<ImportValue> GraphImporter::lookup(const Scope &inner,
                                                 StringRef name) {
  for (const Scope *scope = &inner; scope; scope = scope->parent) {
    auto value = scope->values.find(name);
    if (value != scope->values.end())
      return value->second;
    if (const onnx::TensorProto *t = scope->initializers.lookup(name)) {
      LayerBuilder b(builder_,
                     NameLoc::get(builder_.getStringAttr(name), fileLoc_),
                     path_ + ": initialiser '" + name.str() + "': ",
                     options_.maxTensorBytes);
      Value value = tensorConstant(*t, b);
      undecoded_ |= b.failed();
      return ImportValue(value);
    }
    if (const onnx::SparseTensorProto *t = scope->sparse.lookup(name)) {
      Value &value = decoded_[t];
      LayerBuilder b = report("initialiser '" + name + "': ");
      if (!value)
        value = b.constant(decodeSparse(*t, external_, b));
      undecoded_ |= b.failed();
      return ImportValue(value);
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

bool GraphImporter::importNodes(const Nodes &nodes, ArrayRef<StringRef> outputs,
                                Scope &scope, const Frame &frame) {
  SmallVector<int> order;
  if (!sortNodes(nodes, scope, outputs, order))
    return false;
  for (int i : order)
    if (!importNode(nodes[i], i, scope, frame))
      return false;
  return true;
}

bool GraphImporter::importNode(const onnx::NodeProto &proto, int index,
                               Scope &scope, const Frame &frame) {
  if (++nodeCount_ > options_.maxNodes)
    return reportNode(proto, index)
        .refuse("more than " + Twine(options_.maxNodes) +
                    " nodes after inlining and unrolling",
                "fewer");
  StringRef domain = canonicalDomain(proto.domain());
  auto opset = frame.opsets.find(domain);
  if (opset == frame.opsets.end()) {
    auto fault = reportNode(proto, index);
    if (domain.empty())
      fault.fail("no operator set of ai.onnx imported",
                 "one, up to " + Twine(latestOpset));
    else
      fault.fail("domain '" + domain + "', which the model does not import",
                 "an imported one");
    return false;
  }

  SmallVector<ImportValue> inputs;
  for (const std::string &name : proto.input()) {
    inputs.emplace_back();
    if (name.empty())
      continue;
    std::optional<ImportValue> value = lookup(scope, name);
    if (!value)
      return reportNode(proto, index)
          .refuse("input '" + name + "', which nothing defines",
                  "a graph input, an initialiser or a node's output");
    if (undecoded_)
      return false;
    inputs.back() = std::move(*value);
  }

  Attributes attributes;
  for (const onnx::AttributeProto &a : proto.attribute()) {
    if (a.ref_attr_name().empty())
      attributes[a.name()] = &a;
    else if (const auto *actual = frame.attributes.lookup(a.ref_attr_name()))
      attributes[a.name()] = actual;
  }

  Node node(*this, reportNode(proto, index), proto, attributes,
            std::move(inputs), opset->second);
  llvm::SaveAndRestore scopeHere(current_, const_cast<const Scope *>(&scope));
  llvm::SaveAndRestore frameHere(currentFrame_, &frame);
  std::string key =
      functionKey(domain, proto.op_type(), textField(proto, nodeOverloadField));
  bool ok = functions_.count(key)
                ? importCall(node, *functions_.lookup(key), attributes)
                : importOperator(node, domain);
  if (!ok || node.failed())
    return false;
  for (int i = 0; i < proto.output_size(); ++i) {
    const ImportValue &result = node.results()[i];
    if (proto.output(i).empty())
      continue;
    if (result.isAbsent()) {
      if (functions_.count(key)) // an optional output that the body left out
        continue;
      return node.refuse("output '" + proto.output(i) + "'",
                         "only its other outputs");
    }
    scope.values[proto.output(i)] = result;
  }
  return true;
}

bool GraphImporter::importOperator(Node &node, StringRef domain) {
  ArrayRef<const OpRow *> rows = findOp(
      domain.empty() ? node.op().str() : (domain + "." + node.op()).str());
  if (rows.empty())
    return node.refuse(domain.empty()
                           ? std::string("an unknown operator")
                           : ("an operator of domain '" + domain + "'").str(),
                       adviceFor(domain, node.op()));
  for (const OpRow *row : rows) {
    if (node.opset() < row->since || node.opset() > row->until)
      continue;
    if (row->types) {
      for (unsigned i = 0; i < node.inputs(); ++i) {
        const ImportValue &value = node.value(i);
        Value elements = value.tensor ? value.tensor : value.all;
        if (!elements)
          continue;
        Type element = node.elem(elements);
        if (!(row->types & typeSetOf(element)))
          return node.refuse("input '" + node.inputName(i) + "' of " +
                                 typeName(element),
                             typeSetNames(row->types));
        break;
      }
    }
    bool isCounted =
        llvm::any_of(llvm::seq<unsigned>(0, node.inputs()), [&](unsigned i) {
          return node.value(i).hasRunTimeSize();
        });
    if (!isCounted || !importCounted(node, *row))
      row->handler(node);
    return !node.failed();
  }
  return node.refuse("it in operator set " + Twine(node.opset()),
                     Twine(rows.front()->since) + " to " +
                         Twine(rows.back()->until));
}

SmallVector<ImportValue>
GraphImporter::importSubgraph(Node &node, const onnx::GraphProto &graph,
                              ArrayRef<ImportValue> inputs) {
  assert(current_ && currentFrame_ && "a node is being imported");
  llvm::SaveAndRestore deeper(depth_, depth_ + 1);
  if (depth_ > maxDepth) {
    node.fail("nesting deeper than " + Twine(maxDepth), "less");
    return {};
  }
  if (graph.input_size() != int(inputs.size())) {
    node.fail("a body of " + Twine(graph.input_size()) + " inputs",
              Twine(inputs.size()));
    return {};
  }
  Scope scope;
  scope.parent = current_;
  bool ok = addInitializers(graph, scope);
  for (auto [info, value] : llvm::zip(graph.input(), inputs))
    scope.values[info.name()] = value;
  SmallVector<ImportValue> results;
  ok = ok &&
       importNodes(graph.node(), outputNames(graph), scope, *currentFrame_);
  for (int i = 0; ok && i < graph.output_size(); ++i) {
    std::optional<ImportValue> value = lookup(scope, graph.output(i).name());
    if (!value) {
      node.fail("output '" + graph.output(i).name() +
                    "' of its body, which nothing defines",
                "a name in the body");
      return {};
    }
    ok = !undecoded_;
    results.push_back(std::move(*value));
  }
  if (ok)
    return results;
  node.abandon();
  return {};
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

bool GraphImporter::importFunctions() {
  for (const onnx::FunctionProto &f : model_.functions()) {
    std::string key = functionKey(canonicalDomain(f.domain()), f.name(),
                                  textField(f, functionOverloadField));
    if (!functions_.try_emplace(key, &f).second)
      return report("function '" + f.name() + "': ")
          .refuse("it twice", "each function once");
  }
  return true;
}

bool GraphImporter::importCall(Node &node, const onnx::FunctionProto &function,
                               const Attributes &attributes) {
  llvm::SaveAndRestore deeper(depth_, depth_ + 1);
  if (depth_ > maxDepth)
    return node.refuse("nesting deeper than " + Twine(maxDepth), "less");
  if (int(node.inputs()) > function.input_size() ||
      int(node.outputs()) > function.output_size())
    return node.refuse("a call with " + Twine(node.inputs()) + " inputs and " +
                           Twine(node.outputs()) + " outputs",
                       "at most " + Twine(function.input_size()) + " and " +
                           Twine(function.output_size()));
  Frame frame;
  frame.attributes = attributes;
  for (const onnx::OperatorSetIdProto &set : function.opset_import())
    frame.opsets[canonicalDomain(set.domain())] = set.version();
  if (frame.opsets.empty())
    frame.opsets = modelFrame_.opsets;
  for (StringRef bytes : fieldsOf(function, attributeProtoField)) {
    auto attribute = std::make_unique<onnx::AttributeProto>();
    if (attribute->ParseFromArray(bytes.data(), int(bytes.size())) &&
        frame.attributes.try_emplace(attribute->name(), attribute.get()).second)
      defaults_.push_back(std::move(attribute));
  }

  Scope scope;
  for (int i = 0; i < function.input_size(); ++i)
    scope.values[function.input(i)] =
        node.has(i) ? node.value(i) : ImportValue();
  SmallVector<StringRef> outputs(function.output().begin(),
                                 function.output().end());
  if (!importNodes(function.node(), outputs, scope, frame))
    return false;
  for (unsigned i = 0; i < node.outputs(); ++i) {
    std::optional<ImportValue> value = lookup(scope, function.output(i));
    if (!value)
      return node.refuse("output '" + function.output(i) +
                             "' of the function, which nothing defines",
                         "a name in its body");
    node.out(i, std::move(*value));
  }
  return true;
}
