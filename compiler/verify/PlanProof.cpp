//===- PlanProof.cpp - Proves that a program computes its layers ----------===//

#include "compiler/verify/PlanProof.h"

#include "compiler/processors/Processor.h"
#include "compiler/verify/ProgramImage.h"
#include "compiler/verify/StretchProof.h"
#include "compiler/weights/StoredBytes.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/Support/FormatVariadic.h"

#include <utility>

using namespace mlir;
using namespace nnv12;
using artifact::Operand;
using artifact::OperationKind;
using artifact::Space;

static uint64_t bytes(Value v) { return nn::storageSize(v); }

static std::string text(const Operand &operand) {
  static constexpr const char *spaces[] = {"arena", "weights", "input",
                                           "output", "prepared memory"};
  std::string index;
  if (operand.space == Space::Input || operand.space == Space::Output)
    index = " " + std::to_string(operand.index);
  return llvm::formatv("{0}{1} [{2}, {3})",
                       spaces[static_cast<unsigned>(operand.space)], index,
                       operand.offset, operand.offset + operand.size);
}

namespace {

/// One operation while it is looked at, as messages name it.
struct Subject {
  const char *kind; ///< "operation", "preparation", "switch"
  size_t number;
  const artifact::Operation &operation;
  Location location;
};

class Prover : ProgramImage {
public:
  Prover(const PlanClaim &claim, const artifact::Program &program)
      : ProgramImage(claim, program), main(claim.main),
        waited(program.preparations.size()) {
    if (claim.gpu && program.gpu)
      gpu = StretchProof::of(*this);
    for (Operation *layer : claim.layers)
      for (OpOperand &operand : layer->getOpOperands())
        if (const WeightsKey *key = wholeWeights(operand.get()))
          uses[key->elements].push_back(&operand);
  }

  LogicalResult run() {
    if (claim.gpu.has_value() != program.gpu.has_value())
      return fault(main.getLoc())
             << "expected a part for a GPU and a claim about it, found one";
    auto isPrepared = [&](size_t number) {
      return succeeded(prepare(preparation(number)));
    };
    return success(succeeded(fill()) && succeeded(orderPreparations()) &&
                   llvm::all_of(order, isPrepared) && succeeded(execute()) &&
                   succeeded(checkOutputs()));
  }

private:
  using ProgramImage::fault;
  static InFlightDiagnostic fault(const Subject &subject) {
    return fault(subject.location)
           << subject.kind << " " << subject.number << ": ";
  }
  static InFlightDiagnostic fault(const Subject &subject, unsigned operand) {
    return fault(subject) << "operand " << operand << ": "
                          << text(subject.operation.operands[operand]) << ": ";
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  LogicalResult checkPlace(const Subject &subject, unsigned number) {
    const Operand &operand = subject.operation.operands[number];
    uint64_t size = sizeOf(operand);
    if (operand.offset <= size && operand.size <= size - operand.offset)
      return success();
    return fault(subject, number) << "expected it within " << size << " bytes";
  }

  /// Whether the operand's bytes are `expected`, and nothing is missing.
  LogicalResult checkRead(const Subject &subject, unsigned number,
                          const Runs &expected, uint64_t size) {
    const Operand &operand = subject.operation.operands[number];
    if (operand.size != size)
      return fault(subject, number)
             << "found " << operand.size << " bytes, expected " << size;
    return success(
        succeeded(expect(read(operand), expected, size, operand.offset,
                         [&] { return fault(subject, number); })) &&
        succeeded(checkWaited(subject, number)));
  }

  //===--------------------------------------------------------------------===//
  // Preparations
  //===--------------------------------------------------------------------===//

  Subject preparation(size_t number) {
    return {"preparation", number, program.preparations[number], main.getLoc()};
  }

  LogicalResult checkAfter(const Subject &subject) {
    for (artifact::OperationId before : subject.operation.after)
      if (before.kind != artifact::LaneKind::Prepare ||
          before.index >= program.preparations.size())
        return fault(subject)
               << "after: found "
               << (before.kind == artifact::LaneKind::Prepare ? "preparation "
                                                              : "execute ")
               << before.index << ", expected one of "
               << program.preparations.size() << " preparations";
    return success();
  }

  /// Fills in `order`, in which all that a preparation waits for comes before
  /// it, and `before`.
  LogicalResult orderPreparations() {
    size_t count = program.preparations.size();
    before.assign(count, llvm::BitVector(count));
    std::vector<size_t> pending(count);
    std::vector<SmallVector<size_t, 2>> users(count);
    for (size_t i = 0; i < count; ++i) {
      if (failed(checkAfter(preparation(i))))
        return failure();
      pending[i] = program.preparations[i].after.size();
      for (artifact::OperationId first : program.preparations[i].after)
        users[first.index].push_back(i);
      if (pending[i] == 0)
        order.push_back(i);
    }
    for (size_t next = 0; next < order.size(); ++next)
      for (size_t user : users[order[next]]) {
        before[user] |= before[order[next]];
        before[user].set(order[next]);
        if (--pending[user] == 0)
          order.push_back(user);
      }
    for (size_t i = 0; i < count; ++i)
      if (pending[i])
        return fault(preparation(i)) << "found it waiting for itself";
    return success();
  }

  /// Whether all operations that write the prepared bytes which the operand
  /// reads have finished before: by `after` and, for executes, because earlier
  /// ones have waited. Preparations that nobody has waited for may run at any
  /// time.
  LogicalResult checkWaited(const Subject &subject, unsigned number) {
    const Operand &operand = subject.operation.operands[number];
    const llvm::BitVector &done =
        subject.operation.kind == OperationKind::Execute
            ? waited
            : before[subject.number];
    return ProgramImage::checkWaited(operand, done,
                                     [&] { return fault(subject, number); });
  }

  LogicalResult checkOperands(const Subject &subject, size_t count) {
    if (subject.operation.operands.size() != count)
      return fault(subject) << "found " << subject.operation.operands.size()
                            << " operands, expected " << count;
    for (size_t i = 0; i < count; ++i)
      if (failed(checkPlace(subject, i)))
        return failure();
    return success();
  }

  /// Operand 0 of a preparation holds `content` from now on, for good: nobody
  /// else writes there.
  LogicalResult writePrepared(const Subject &subject, Content content) {
    const Operand &operand = subject.operation.operands[0];
    if (operand.space != Space::Prepared)
      return fault(subject, 0) << "expected prepared memory";
    uint64_t end = operand.offset + operand.size;
    Runs others = writers.read(operand.offset, end);
    if (!others.empty())
      return fault(subject, 0)
             << "byte " << operand.offset + others[0].begin
             << ": expected no other writer, found preparation "
             << others[0].content.id;
    writers.write(operand.offset, end,
                  {uint32_t(subject.number), operand.offset});
    of(operand).write(operand.offset, end, content);
    return success();
  }

  LogicalResult prepare(const Subject &subject) {
    switch (subject.operation.kind) {
    case OperationKind::Read:
      return checkOperands(subject, 1);
    case OperationKind::Decode:
      return decode(subject);
    case OperationKind::Transform:
      return transform(subject);
    case OperationKind::Execute:
      return fault(subject) << "found an execute";
    }
    llvm_unreachable("all kinds are there");
  }

  /// The content that a preparation reads: one piece of one thing, from its
  /// first byte.
  FailureOr<Content> source(const Subject &subject) {
    const Operand &operand = subject.operation.operands[1];
    std::optional<Content> content = contentOf(operand);
    if (!content)
      return fault(subject, 1) << "expected weights of one kind, found "
                               << read(operand).size() << " kinds";
    if (failed(checkWaited(subject, 1)))
      return failure();
    return *content;
  }

  LogicalResult decode(const Subject &subject) {
    if (failed(checkOperands(subject, 2)))
      return failure();
    FailureOr<Content> content = source(subject);
    if (failed(content))
      return failure();
    const artifact::Operation &operation = subject.operation;
    FailureOr<Content> result = decoded(
        *content, operation.operands[1], operation.operands[0].size,
        operation.codec, operation.planes, [&] { return fault(subject, 1); });
    return failed(result) ? failure() : writePrepared(subject, *result);
  }

  LogicalResult transform(const Subject &subject) {
    if (failed(checkOperands(subject, 2)) || failed(checkKernel(subject)))
      return failure();
    FailureOr<Content> content = source(subject);
    if (failed(content))
      return failure();
    const artifact::Operation &operation = subject.operation;
    const WeightsKey *from = values.weightsOf(*content);
    if (!from || from->form.storage != plan::Storage::packed)
      return fault(subject, 1)
             << "expected weights to transform, found "
             << values.describe(*content, operation.operands[1].size);
    uint64_t size = storedSize(cast<RankedTensorType>(from->type), from->form);
    if (operation.operands[1].size != size)
      return fault(subject, 1) << "found " << operation.operands[1].size
                               << " bytes of weights, expected " << size;
    const KernelTable::Kernel &kernel = claim.kernels[operation.kernel];
    auto result = transformed(*from, kernel);
    if (!result)
      return fault(subject)
             << "kernel '" << kernel.name << "': found weights " << from->type
             << ", which it makes nothing of that a layer reads";
    if (operation.operands[0].size != result->second)
      return fault(subject, 0) << "expected " << result->second << " bytes";
    return writePrepared(subject, values.weights(result->first));
  }

  /// The form that a kernel makes of weights, and its number of bytes.
  std::optional<std::pair<WeightsKey, uint64_t>>
  transformed(const WeightsKey &from, const KernelTable::Kernel &kernel) {
    if (from.form.narrow) {
      auto type = cast<RankedTensorType>(from.type);
      if (kernel.id != KernelTable::widenId(type, *from.form.narrow))
        return std::nullopt;
      return std::pair(WeightsKey{from.elements, type, {}},
                       uint64_t(nn::storageSize(type)));
    }
    for (OpOperand *use : uses[from.elements]) {
      Operation *layer = use->getOwner();
      auto type = cast<RankedTensorType>(wholeWeights(use->get())->type);
      if (from.type == nn::withLayout(type, "") &&
          kernel.id == KernelTable::packId(type))
        return std::pair(WeightsKey{from.elements, type, {}},
                         uint64_t(nn::storageSize(type)));
      if (from.type != type)
        continue;
      for (const Routine *routine : hostRoutines().agreeing(layer))
        if (auto form = routine->weightForm(layer);
            form && !form->narrow && form->operand == use->getOperandNumber() &&
            kernel.id == claim.kernels.transformId(layer, *routine))
          return std::pair(
              WeightsKey{from.elements, type, plan::transformed(form->name)},
              uint64_t(form->bytes));
    }
    return std::nullopt;
  }

  LogicalResult checkKernel(const Subject &subject) {
    unsigned kernel = subject.operation.kernel;
    if (kernel >= claim.kernels.kernels().size())
      return fault(subject) << "found kernel " << kernel << ", expected one of "
                            << claim.kernels.kernels().size();
    uint64_t tiles = claim.kernels[kernel].info.tiles;
    if (subject.operation.tiles != tiles)
      return fault(subject)
             << "found " << subject.operation.tiles << " tiles, expected the "
             << tiles << " of kernel '" << claim.kernels[kernel].name << "'";
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Executes
  //===--------------------------------------------------------------------===//

  LogicalResult execute() {
    if (program.operations.size() != claim.layers.size())
      return fault(main.getLoc())
             << "found " << program.operations.size()
             << " operations, expected " << claim.layers.size();
    for (auto [i, change] : llvm::enumerate(program.switches)) {
      if (change.operation >= program.operations.size() ||
          !switchOf.try_emplace(change.operation, i).second)
        return fault(main.getLoc())
               << "switch " << i << ": found operation " << change.operation
               << ", expected one of " << program.operations.size()
               << " that no other switch replaces";
    }
    llvm::BitVector afterRun = waited;
    for (auto [i, operation] : llvm::enumerate(program.operations)) {
      if (failed(
              checkForm({"operation", i, operation, claim.layers[i]->getLoc()},
                        claim.layers[i])))
        return failure();
      waitFor(operation.after, afterRun);
    }
    for (auto [i, change] : llvm::enumerate(program.switches))
      if (failed(checkForm({"switch", i, change.replacement,
                            claim.layers[change.operation]->getLoc()},
                           claim.layers[change.operation])))
        return failure();
    if (gpu && failed(gpu->begin()))
      return failure();
    for (auto [i, operation] : llvm::enumerate(program.operations)) {
      Operation *layer = claim.layers[i];
      Subject subject = {"operation", i, operation, layer->getLoc()};
      waitFor(operation.after, waited);
      if (gpu && failed(gpu->reach(i)))
        return failure();
      if (failed(check(subject, layer)))
        return failure();
      if (auto it = switchOf.find(i);
          it != switchOf.end() &&
          failed(checkReplacement(subject, it->second, layer, afterRun)))
        return failure();
      for (unsigned r = 0; r < layer->getNumResults(); ++r) {
        const Operand &operand = subject.operation.operands[r];
        of(operand).write(operand.offset, operand.offset + operand.size,
                          values.computed(layer->getResult(r)));
      }
    }
    return gpu ? gpu->reach(program.operations.size()) : success();
  }

  /// Whether it is an execute with the operands of the layer, whatever these
  /// hold. So those who look ahead find all that they ask for.
  LogicalResult checkForm(const Subject &subject, Operation *layer) {
    if (failed(checkAfter(subject)))
      return failure();
    if (subject.operation.kind != OperationKind::Execute)
      return fault(subject) << "expected an execute";
    return success(
        succeeded(checkKernel(subject)) &&
        succeeded(checkOperands(subject, layer->getNumResults() +
                                             layer->getNumOperands())));
  }

  /// Checks an execute of `layer`, but not its waits.
  LogicalResult check(const Subject &subject, Operation *layer) {
    const KernelTable::Kernel &kernel = claim.kernels[subject.operation.kernel];
    const Routine *routine = hostRoutines().named(kernel.name);
    if (!routine || kernel.id != claim.kernels.executeId(layer, *routine))
      return fault(subject) << "kernel '" << kernel.name
                            << "': expected one that computes this layer";
    unsigned results = layer->getNumResults();
    for (OpOperand &operand : layer->getOpOperands()) {
      unsigned number = results + operand.getOperandNumber();
      std::optional<Contents> expected = contentsFor(operand, *routine);
      if (!expected)
        return fault(subject, number) << "expected weights";
      if (failed(checkRead(subject, number, expected->runs, expected->size)))
        return failure();
    }
    for (unsigned r = 0; r < results; ++r)
      if (failed(checkWrite(subject, layer, r, kernel.info)))
        return failure();
    return success();
  }

  LogicalResult checkWrite(const Subject &subject, Operation *layer,
                           unsigned result, const codegen::KernelInfo &info) {
    const std::vector<Operand> &operands = subject.operation.operands;
    const Operand &target = operands[result];
    uint64_t size = bytes(layer->getResult(result));
    if (target.size != size)
      return fault(subject, result)
             << "found " << target.size << " bytes, expected " << size;
    if (target.space != Space::Arena && target.space != Space::Output)
      return fault(subject, result) << "expected arena or output";
    for (unsigned other = 0; other < operands.size(); ++other) {
      if (other == result || !overlap(target, operands[other]))
        continue;
      bool mayBe = result == 0 && other >= layer->getNumResults() &&
                   isSame(target, operands[other]) &&
                   llvm::is_contained(info.inPlaceOperands,
                                      other - layer->getNumResults());
      if (!mayBe)
        return fault(subject, result)
               << "expected no bytes of operand " << other << ", found "
               << text(operands[other]);
    }
    return success();
  }

  LogicalResult checkOutputs() {
    Operation *ret = main.getBody().front().getTerminator();
    for (OpOperand &operand : ret->getOpOperands()) {
      uint32_t number = operand.getOperandNumber();
      if (!nn::layoutTag(operand.get().getType()).empty())
        return fault(main.getLoc()) << "output " << number << ": found layout "
                                    << nn::layoutTag(operand.get().getType())
                                    << ", expected a dense one";
      uint64_t size = bytes(operand.get());
      if (failed(expect(read({Space::Output, number, 0, size}),
                        values.of(operand.get()), size, 0, [&] {
                          return fault(main.getLoc())
                                 << "output " << number << " at the end: ";
                        })))
        return failure();
    }
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Switches
  //===--------------------------------------------------------------------===//

  /// The replacement of an operation reads the same values, and leaves the same
  /// behind: so any of the others may have been replaced or not. `afterRun`:
  /// the preparations that have finished after a whole run, the earliest time
  /// for a replacement.
  LogicalResult checkReplacement(const Subject &original, size_t number,
                                 Operation *layer,
                                 const llvm::BitVector &afterRun) {
    Subject subject = {"switch", number, program.switches[number].replacement,
                       layer->getLoc()};
    for (unsigned r = 0; r < layer->getNumResults(); ++r)
      if (!isSame(subject.operation.operands[r],
                  original.operation.operands[r]))
        return fault(subject)
               << "result " << r << ": expected it where operation "
               << original.number << " has it, in "
               << text(original.operation.operands[r]);
    llvm::BitVector saved = std::exchange(waited, afterRun);
    waitFor(subject.operation.after, waited);
    LogicalResult result = check(subject, layer);
    waited = std::move(saved);
    return result;
  }

  func::FuncOp main;
  std::unique_ptr<StretchProof> gpu;
  /// By elements: operands of layers that are these constants.
  llvm::DenseMap<Attribute, SmallVector<OpOperand *>> uses;
  std::vector<size_t> order; ///< of preparations
  /// Preparations that have finished when the present execute starts.
  llvm::BitVector waited;
  llvm::DenseMap<size_t, size_t> switchOf; ///< by operation
};

} // namespace

LogicalResult nnv12::provePlan(const PlanClaim &claim,
                               const artifact::Program &program) {
  return Prover(claim, program).run();
}
