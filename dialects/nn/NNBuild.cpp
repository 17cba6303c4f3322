//===- NNBuild.cpp - Builds and folds layers, with errors -----------------===//

#include "dialects/nn/NNBuild.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace nnv12;

Value nn::createConstant(OpBuilder &b, Location loc, ElementsAttr value) {
  return ConstantOp::create(b, loc, value.getShapedType(), value);
}

FailureOr<SmallVector<Value>>
nn::tryCreate(OpBuilder &b, Location loc, StringRef opName, ValueRange operands,
              ArrayRef<NamedAttribute> attributes, TypeRange types) {
  MLIRContext *context = b.getContext();
  RegisteredOperationName name =
      *RegisteredOperationName::lookup(opName, context);
  NamedAttrList complete(attributes);
  name.populateDefaultAttrs(complete);

  // Absent optional operands are null values.
  SmallVector<Value> present;
  SmallVector<int32_t> segments;
  for (Value operand : operands) {
    segments.push_back(operand ? 1 : 0);
    if (operand)
      present.push_back(operand);
  }
  if (name.hasTrait<OpTrait::AttrSizedOperandSegments>())
    complete.set("operandSegmentSizes", b.getDenseI32ArrayAttr(segments));
  DictionaryAttr dictionary = complete.getDictionary(context);

  OperationState state(loc, name);
  state.addOperands(present);
  bool hasProperties = name.getOpPropertyByteSize() != 0;
  if (hasProperties)
    state.propertiesAttr = dictionary;
  if (types.empty()) {
    // Properties in their native form, for inference.
    std::unique_ptr<char[]> storage(new char[name.getOpPropertyByteSize()]());
    OpaqueProperties properties(storage.get());
    name.initOpProperties(properties, OpaqueProperties(nullptr));
    auto error = [&] { return emitError(loc); };
    LogicalResult set = success();
    if (hasProperties)
      set = name.setOpPropertiesFromAttribute(name, properties, dictionary,
                                              error);
    SmallVector<Type> inferred;
    LogicalResult result = failure();
    if (succeeded(set))
      result = name.getInterface<InferTypeOpInterface>()->inferReturnTypes(
          context, loc, present, dictionary, properties, {}, inferred);
    name.destroyOpProperties(properties);
    if (failed(result))
      return failure();
    state.addTypes(inferred);
  } else {
    state.addTypes(types);
  }
  Operation *op = b.create(state);
  if (failed(verify(op))) {
    op->erase();
    return failure();
  }
  SmallVector<Value> folded;
  SmallVector<Operation *> constants;
  // A fold without results changed the layer in place: it stays.
  if (succeeded(b.tryFold(op, folded, &constants)) && !folded.empty()) {
    op->erase();
    return folded;
  }
  return SmallVector<Value>(op->getResults());
}
