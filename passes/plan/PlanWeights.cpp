//===- PlanWeights.cpp - The stages that make weights ready ---------------===//

#include "compiler/select/Annotations.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/IR/Builders.h"
#include "passes/plan/PlanningPass.h"

#include <cassert>

namespace nnv12 {
#define GEN_PASS_DEF_PLANWEIGHTS
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;

namespace {
/// Writes the stages of one layer behind the other.
class StageWriter {
public:
  StageWriter(OpBuilder &b, int64_t number, const ChosenCandidate &chosen)
      : b(b), number(number), chosen(chosen), op(chosen.layer.op),
        location(op->getLoc()), done(plan::DoneType::get(op->getContext())) {}

  void write() {
    const Routine &routine = *chosen.candidate.routine;
    if (chosen.layer.mainOperand)
      prepare();
    SmallVector<Value> after = weightsFor(routine);
    plan::ExecuteOp::create(b, location, done, after, number, routine.name());
    if (!chosen.warm)
      return;
    after = weightsFor(*chosen.warm);
    plan::SwitchOp::create(b, location, after, number, chosen.warm->name());
  }

private:
  /// From the file to packed weights, or to transformed ones.
  void prepare() {
    auto [storage, codec, narrow] = chosen.candidate.storage;
    plan::NarrowingAttr narrowing;
    if (narrow)
      narrowing = plan::NarrowingAttr::get(b.getContext(), *narrow);
    Value last = plan::ReadOp::create(b, location, done, number,
                                      *chosen.layer.mainOperand, storage, codec,
                                      narrowing);
    if (codec == plan::Codec::zstd)
      last = plan::DecodeOp::create(b, location, done, last, number);
    if (storage == plan::Storage::raw || narrow)
      last = transform(last, "packed", *chosen.candidate.routine);
    std::string form;
    if (storage == plan::Storage::transformed)
      form = formName(op, *chosen.candidate.routine);
    assert((!form.empty() || storage != plan::Storage::transformed) &&
           "weights are stored in a form that the routine has");
    ready[form] = last;
  }

  /// What a routine waits for: its form of the weights, made if it is not
  /// there.
  SmallVector<Value> weightsFor(const Routine &routine) {
    if (!chosen.layer.mainOperand)
      return {};
    std::string form = formName(op, routine);
    auto it = ready.find(form);
    if (it == ready.end()) {
      assert(ready.count("") && "a form is made of the packed weights");
      it = ready.try_emplace(form, transform(ready.lookup(""), form, routine))
               .first;
    }
    return {it->second};
  }

  Value transform(Value after, StringRef form, const Routine &routine) {
    return plan::TransformOp::create(b, location, done, after, number, form,
                                     routine.name());
  }

  OpBuilder &b;
  int64_t number;
  const ChosenCandidate &chosen;
  Operation *op;
  Location location;
  Type done;
  /// By form; "" is packed.
  llvm::StringMap<Value> ready;
};

struct PlanWeights : PlanningPass<nnv12::impl::PlanWeightsBase<PlanWeights>> {
  using PlanningPass::PlanningPass;

  LogicalResult run(ModuleOp module, func::FuncOp main) override {
    auto device = this->device(module.getLoc(), target);
    if (failed(device))
      return failure();
    auto layers = chosenCandidates(main);
    if (failed(layers))
      return failure();

    for (auto old :
         llvm::make_early_inc_range(module.getOps<plan::ProgramOp>()))
      if (old.getTarget() == device->target.name)
        old.erase();
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    bool waits = laterWaits && llvm::any_of(*layers, [](auto &layer) {
                   return layer.warm != nullptr;
                 });
    auto program = plan::ProgramOp::create(
        b, main.getLoc(), device->target.name,
        threads ? threads : defaultThreads(*device->profile),
        /*cold=*/IntegerAttr(), /*warm=*/IntegerAttr(), waits);
    b.createBlock(&program.getBody());
    for (auto [number, layer] : llvm::enumerate(*layers)) {
      StageWriter(b, number, layer).write();
      if (!layer.layer.mainOperand)
        continue;
      bypassed += layer.candidate.storage.storage == plan::Storage::transformed;
      compressed += layer.candidate.storage.codec == plan::Codec::zstd;
      narrowed += layer.candidate.storage.narrow.has_value();
    }
    for (Operation &op : program.getBody().front())
      preparations += isa<plan::ReadOp, plan::DecodeOp, plan::TransformOp>(op);
    return success();
  }
};
} // namespace

std::unique_ptr<Pass> nnv12::createPlanWeights(PlanWeightsOptions options,
                                               SharedProfile profile) {
  return std::make_unique<PlanWeights>(std::move(options), std::move(profile));
}
