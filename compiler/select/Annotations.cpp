//===- Annotations.cpp - A selection, written onto layers -----------------===//

#include "compiler/select/Annotations.h"

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/narrow/Narrow.h"
#include "dialects/nn/Layout.h"
#include "mlir/IR/Builders.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using plan::Storage;

static constexpr StringLiteral layerAttr = "nn.layer";
static constexpr StringLiteral routineAttr = "nn.routine";
static constexpr StringLiteral storageAttr = "nn.storage";
static constexpr StringLiteral placeAttr = "nn.place";
static constexpr StringLiteral warmAttr = "nn.warm_routine";

void nnv12::annotate(const Selection &selection) {
  search::Places places =
      search::placesOf(selection.plan.schedule, selection.layers.size());
  assert(places.size() == selection.layers.size() && "a place for each layer");
  for (auto [number, layer] : llvm::enumerate(selection.layers)) {
    Operation *op = layer.layer.op;
    Builder b(op->getContext());
    const Candidate &chosen = layer.candidates[layer.chosen];
    op->setAttr(layerAttr, b.getI64IntegerAttr(number));
    op->setAttr(routineAttr, b.getStringAttr(chosen.routine->name()));
    if (layer.layer.mainOperand)
      op->setAttr(storageAttr, b.getStringAttr(chosen.storage.text()));
    if (const std::optional<search::Place> &place = places[number])
      op->setAttr(placeAttr,
                  b.getDenseI64ArrayAttr({place->lane, place->index}));
    const Routine *warm = layer.candidates[layer.warm].routine;
    if (warm != chosen.routine)
      op->setAttr(warmAttr, b.getStringAttr(warm->name()));
  }
}

void nnv12::clearAnnotations(func::FuncOp main) {
  for (Operation &op : main.getBody().front())
    for (StringRef name :
         {layerAttr, routineAttr, storageAttr, placeAttr, warmAttr})
      op.removeAttr(name);
}

/// The routine that an attribute names, if it computes the layer in its
/// layouts.
static FailureOr<const Routine *> routineOf(Operation *op,
                                            StringRef attribute) {
  auto name = op->getAttrOfType<StringAttr>(attribute);
  if (!name)
    return op->emitOpError("has no ")
           << attribute << ", expected select-routines to have run";
  const Routine *routine = codegen::cpuRoutines().named(name);
  if (!routine)
    return op->emitOpError(attribute) << ": found '" << name.getValue()
                                      << "', expected the name of a routine";
  if (!llvm::is_contained(codegen::cpuRoutines().agreeing(op), routine))
    return op->emitOpError(attribute)
           << ": found '" << name.getValue()
           << "', which does not compute this layer in its layouts";
  return routine;
}

/// A routine's form must be made of weights that are the layer's to prepare.
static LogicalResult checkForm(const ExecutedLayer &layer,
                               const Routine &routine, StringRef attribute) {
  std::optional<WeightForm> form = routine.weightForm(layer.op);
  if (!form || (layer.mainOperand && *layer.mainOperand == form->operand))
    return success();
  return layer.op->emitOpError(attribute)
         << ": found '" << routine.name() << "', which reads operand "
         << form->operand << " in form '" << form->name
         << "', expected it to be the layer's main weights";
}

/// Leaves `place` alone where nn.place is absent.
static LogicalResult readPlace(Operation *op,
                               std::optional<search::Place> &place) {
  Attribute attribute = op->getAttr(placeAttr);
  if (!attribute)
    return success();
  auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute);
  if (!numbers || numbers.size() != 2 ||
      !llvm::all_of(numbers.asArrayRef(),
                    [](int64_t n) { return llvm::isUInt<32>(n); }))
    return op->emitOpError(placeAttr)
           << ": found " << attribute << ", expected array<i64: LANE, INDEX>";
  place = {uint32_t(numbers[0]), uint32_t(numbers[1])};
  return success();
}

FailureOr<std::vector<ChosenCandidate>>
nnv12::chosenCandidates(func::FuncOp main) {
  std::vector<ChosenCandidate> result;
  for (ExecutedLayer &layer : executedLayers(main)) {
    Operation *op = layer.op;
    auto number = op->getAttrOfType<IntegerAttr>(layerAttr);
    if (!number || number.getInt() != static_cast<int64_t>(result.size()))
      return op->emitOpError(number ? "has another nn.layer than its number in "
                                      "execution order, "
                                    : "has no nn.layer, number ")
             << result.size() << ", expected select-routines to have run";
    auto routine = routineOf(op, routineAttr);
    if (failed(routine) || failed(checkForm(layer, **routine, routineAttr)))
      return failure();
    ChosenCandidate chosen;
    chosen.layer = layer;
    chosen.candidate.routine = *routine;
    if (op->hasAttr(warmAttr)) {
      auto warm = routineOf(op, warmAttr);
      if (failed(warm) || failed(checkForm(layer, **warm, warmAttr)))
        return failure();
      chosen.warm = *warm;
    }
    if (failed(readPlace(op, chosen.place)))
      return failure();
    if (layer.mainOperand) {
      auto text = op->getAttrOfType<StringAttr>(storageAttr);
      std::optional<StorageForm> storage =
          text ? StorageForm::parse(text) : std::nullopt;
      if (!storage)
        return op->emitOpError("nn.storage: ")
               << (text ? "found '" + text.getValue() + "'"
                        : llvm::Twine("found nothing"))
               << ", expected raw, packed, packed+q8, packed+f16 or "
                  "transformed, or one of them with +zstd";
      if (storage->narrow && !canNarrow(layer.weights(), *storage->narrow))
        return op->emitOpError("nn.storage: found '")
               << text.getValue() << "', but not all weights are exactly "
               << plan::stringifyNarrowing(*storage->narrow);
      std::string form = formName(op, **routine);
      if (storage->storage == Storage::transformed && form.empty())
        return op->emitOpError("nn.storage: found '")
               << text.getValue() << "', but " << (*routine)->name()
               << " reads packed weights";
      if (storage->storage == Storage::transformed && layer.isShared)
        return op->emitOpError("nn.storage: found '")
               << text.getValue()
               << "', but a later layer reads the weights as packed";
      if (storage->storage == Storage::raw &&
          nn::layoutTag(layer.weights().getType()).empty())
        return op->emitOpError("nn.storage: found '")
               << text.getValue()
               << "', but the weights' layout is dense: expected packed";
      if (chosen.warm && storage->storage == Storage::transformed &&
          formName(op, *chosen.warm) != form)
        return op->emitOpError("nn.warm_routine: found '")
               << chosen.warm->name() << "', whose weights cannot be made from "
               << "those of " << (*routine)->name();
      chosen.candidate.storage = *storage;
    }
    result.push_back(std::move(chosen));
  }
  return result;
}
