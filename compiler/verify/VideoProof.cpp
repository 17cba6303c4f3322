//===- VideoProof.cpp - Proves that frames reuse values rightly -----------===//

#include "compiler/verify/VideoProof.h"

#include "compiler/processors/Processor.h"
#include "compiler/verify/ProgramImage.h"
#include "compiler/verify/VideoPixels.h"
#include "compiler/video/Dependence.h"
#include "dialects/nn/Box.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using artifact::Space;
using artifact::VideoExecute;
using artifact::VideoPart;
using artifact::VideoRead;
using artifact::VideoReuse;
using artifact::VideoSet;
using artifact::VideoTiles;
using artifact::VideoWindow;
using llvm::formatv;
using video::Plane;

namespace {

/// The positions of an operand's rows (or columns) that each position of a
/// result depends on; none where the last one is before the first one.
struct Needs {
  struct Range {
    int64_t first, last;
  };
  const char *name; ///< of a position
  std::vector<Range> ranges;
};

class VideoProver : ProgramImage {
public:
  VideoProver(const PlanClaim &claim, const artifact::Program &program)
      : ProgramImage(claim, program), main(claim.main), video(*program.video),
        planes(claim.main) {
    for (auto [i, layer] : llvm::enumerate(claim.layers))
      executeOf[layer] = i;
    for (auto [i, change] : llvm::enumerate(program.switches))
      switchOf[change.operation] = i;
  }

  LogicalResult run() {
    return success(succeeded(checkBounds()) && succeeded(numberSets()) &&
                   succeeded(followInputs()) && succeeded(followLayers()) &&
                   succeeded(followExecutes()) && succeeded(checkOutputs()) &&
                   succeeded(followChecks()));
  }

private:
  static InFlightDiagnostic fault(Location location) {
    return emitError(location, "fault of the compiler: video: ");
  }
  static InFlightDiagnostic fault(Location location, const Twine &what) {
    return fault(location) << what << ": ";
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  LogicalResult checkPlace(uint64_t place, uint64_t size, Fault fault) {
    if (place <= video.arenaSize && size <= video.arenaSize - place)
      return success();
    return fault() << "found " << size << " bytes at " << place
                   << ", expected them within " << video.arenaSize << " bytes";
  }

  /// Whether no value stays at a place.
  LogicalResult checkFree(uint64_t place, uint64_t size, Fault fault) {
    if (failed(checkPlace(place, size, fault)))
      return failure();
    Runs kept = arena.read(place, place + size);
    if (kept.empty())
      return success();
    return fault() << "byte " << place + kept[0].begin << ": found "
                   << values.describe(kept[0].content,
                                      kept[0].end - kept[0].begin)
                   << ", which stay for the next frame, expected nothing";
  }

  /// Whether the bytes of a value lie at a place.
  LogicalResult checkRead(Value value, uint64_t place, Fault fault) {
    auto size = static_cast<uint64_t>(nn::storageSize(value));
    return success(succeeded(checkPlace(place, size, fault)) &&
                   succeeded(expect(arena.read(place, place + size),
                                    values.of(value), size, place, fault)));
  }

  /// A value is at this place from now on, for good: it is the only one there.
  LogicalResult keep(Value value, uint64_t place, Fault fault) {
    auto size = static_cast<uint64_t>(nn::storageSize(value));
    if (failed(checkFree(place, size, fault)))
      return failure();
    arena.write(place, place + size, values.computed(value));
    return success();
  }

  LogicalResult checkOutputs() {
    Operation *ret = main.getBody().front().getTerminator();
    for (unsigned i = 0; i < ret->getNumOperands(); ++i)
      if (failed(checkRead(ret->getOperand(i), video.outputs[i], [&] {
            return fault(main.getLoc(), "output " + Twine(i));
          })))
        return failure();
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Sets
  //===--------------------------------------------------------------------===//

  /// Each input and each layer has a set. Where there are less sets, layers
  /// from some one on share the last set.
  LogicalResult numberSets() {
    uint32_t count = 0, found = video.sets.size();
    for (Value input : main.getArguments())
      setOf[input] = count++;
    uint32_t last = std::max(found, count + 1) - 1;
    for (Operation &op : main.getBody().front()) {
      if (!op.getNumResults() || isa<nn::ConstantOp>(op))
        continue;
      for (Value result : op.getResults())
        setOf[result] = std::min(count, last);
      ++count;
    }
    if (count > last + 1)
      sharedSet = last;
    auto check = [&](const char *what, size_t found,
                     size_t expected) -> LogicalResult {
      if (found == expected)
        return success();
      return fault(main.getLoc(), what)
             << "found " << found << ", expected " << expected;
    };
    FunctionType type = main.getFunctionType();
    return success(
        succeeded(check("sets", found, std::min(count, last + 1))) &&
        succeeded(checkSharedSet()) &&
        succeeded(check("inputs", video.inputs.size(), type.getNumInputs())) &&
        succeeded(
            check("outputs", video.outputs.size(), type.getNumResults())) &&
        succeeded(
            check("executes", video.executes.size(), claim.layers.size())) &&
        succeeded(
            check("switches", video.switches.size(), program.switches.size())));
  }

  /// Layers that share a set run together, or not at all.
  LogicalResult checkSharedSet() {
    if (!sharedSet)
      return success();
    const VideoSet &set = video.sets[*sharedSet];
    if (set.rows == 1 && set.columns == 1)
      return success();
    return fault(main.getLoc(), "set " + Twine(*sharedSet))
           << "found " << set.rows << " rows of " << set.columns
           << " that layers share, expected one pixel";
  }

  /// The plane of a value whose set has one. Several results share a set, of
  /// one pixel.
  std::optional<Plane> planeOf(Value value) const {
    const VideoSet &set = video.sets[setOf.lookup(value)];
    Operation *layer = value.getDefiningOp();
    bool isPoint = (set.rows == 1 && set.columns == 1) ||
                   (layer && layer->getNumResults() != 1);
    return isPoint ? std::nullopt : planes.of(value);
  }

  LogicalResult checkExtents(Value value, Location location) {
    VideoSet expected = {1, 1};
    if (std::optional<Plane> plane = planeOf(value)) {
      ArrayRef<int64_t> shape = nn::typeOf(value).getShape();
      assert(plane->row != plane->column && "two dimensions");
      expected = {static_cast<uint32_t>(shape[plane->row]),
                  static_cast<uint32_t>(shape[plane->column])};
    }
    uint32_t number = setOf[value];
    const VideoSet &found = video.sets[number];
    if (found.rows == expected.rows && found.columns == expected.columns)
      return success();
    return fault(location, "set " + Twine(number))
           << "found " << found.rows << " rows of " << found.columns
           << ", expected " << expected.rows << " of " << expected.columns;
  }

  LogicalResult followInputs() {
    for (auto [i, input] : llvm::enumerate(main.getArguments())) {
      const artifact::VideoInput &found = video.inputs[i];
      auto wrong = [this, number = i] {
        return fault(main.getLoc(), "input " + Twine(number));
      };
      if (found.set != setOf[input])
        return wrong() << "found set " << found.set << ", expected "
                       << setOf[input];
      if (!video.sets[found.set].reads.empty())
        return wrong() << "found a set that reads others, expected none";
      if (failed(checkExtents(input, main.getLoc())) ||
          failed(keep(input, found.place, wrong)))
        return failure();
      std::string pixels =
          findWrongPixels(found.pixels, nn::typeOf(input), planeOf(input));
      if (!pixels.empty())
        return wrong() << pixels;
    }
    return success();
  }

  LogicalResult followLayers() {
    for (Operation &layer : main.getBody().front()) {
      if (!layer.getNumResults() || isa<nn::ConstantOp>(layer))
        continue;
      if (failed(checkExtents(layer.getResult(0), layer.getLoc())))
        return failure();
      uint32_t number = setOf[layer.getResult(0)];
      for (const VideoRead &read : video.sets[number].reads)
        if (read.set >= number)
          return fault(layer.getLoc(), "set " + Twine(number))
                 << "found a read of set " << read.set
                 << ", expected an earlier one";
      for (OpOperand &operand : layer.getOpOperands())
        for (unsigned result = 0; result < layer.getNumResults(); ++result)
          if (failed(checkReads(operand, result)))
            return failure();
    }
    return success();
  }

  static Needs needsOf(OpOperand &operand, unsigned result, const char *name,
                       unsigned dim, unsigned operandDim, int64_t together) {
    Needs needs = {name, {}};
    nn::Box part = nn::Box::whole(
        nn::typeOf(operand.getOwner()->getResult(result)).getShape());
    for (int64_t i = 0, count = part.hi[dim]; i < count; i += together) {
      nn::Box group = part;
      group.lo[dim] = i;
      group.hi[dim] = std::min(i + together, count);
      nn::Box box = nn::neededPart(operand, group, result);
      Needs::Range range = {0, -1};
      if (!box.isEmpty())
        range = {box.lo[operandDim], box.hi[operandDim] - 1};
      needs.ranges.insert(needs.ranges.end(), group.hi[dim] - i, range);
    }
    return needs;
  }

  /// Neighbouring rows and columns that kernels of a layer compute together.
  SmallVector<int64_t, 2> groupsOf(Operation *layer) const {
    auto it = executeOf.find(layer);
    if (it == executeOf.end())
      return {1};
    auto groupOf = [&](const artifact::Operation &operation) {
      const Routine *routine =
          hostRoutines().named(claim.kernels[operation.kernel].name);
      assert(routine && "the plan is proven");
      return codegen::CpuRoutine::of(*routine).together(layer);
    };
    SmallVector<int64_t, 2> groups = {groupOf(program.operations[it->second])};
    if (auto change = switchOf.find(it->second); change != switchOf.end()) {
      int64_t group = groupOf(program.switches[change->second].replacement);
      if (group != groups[0])
        groups.push_back(group);
    }
    return groups;
  }

  /// Compares a window with the positions that are needed. Returns the first
  /// fault, or "".
  static std::string findMissing(const VideoWindow &window,
                                 const Needs &needs) {
    if (window.den == 0)
      return "found a divisor of 0, expected 1 at least";
    auto at = [&](size_t i, int32_t offset) {
      return llvm::divideFloorSigned(
          static_cast<int64_t>(i) * int64_t(window.num) + offset,
          int64_t(window.den));
    };
    for (auto [i, range] : llvm::enumerate(needs.ranges)) {
      int64_t first = at(i, window.low), last = at(i, window.high);
      if (range.first <= range.last &&
          (first > range.first || last < range.last))
        return formatv("{0} {1}: found {0}s {2} to {3}, expected {4} to {5}",
                       needs.name, i, first, last, range.first, range.last);
    }
    return "";
  }

  /// Whether the set of a layer's result reads all pixels of an operand that
  /// its pixels depend on.
  LogicalResult checkReads(OpOperand &operand, unsigned result) {
    Operation *layer = operand.getOwner();
    Value value = operand.get(), to = layer->getResult(result);
    nn::Box whole = nn::Box::whole(nn::typeOf(to).getShape());
    if (value.getDefiningOp<nn::ConstantOp>() ||
        nn::neededPart(operand, whole, result).isEmpty())
      return success();
    uint32_t number = setOf[to], source = setOf[value];
    if (source == number) // they share it
      return success();
    SmallVector<const VideoRead *> reads;
    for (const VideoRead &read : video.sets[number].reads)
      if (read.set == source)
        reads.push_back(&read);
    if (llvm::any_of(reads, [](auto *read) { return read->all; }))
      return success();
    std::string found = "found no read of it, expected one";
    if (!reads.empty())
      found = findMissing(reads, operand, result);
    if (found.empty())
      return success();
    return fault(layer->getLoc(), "set " + Twine(number))
           << "operand " << operand.getOperandNumber() << ", of set " << source
           << ": " << found;
  }

  /// Compares reads with windows in the same way. Returns the fault of the last
  /// one, or "" where one of them has all pixels.
  std::string findMissing(ArrayRef<const VideoRead *> reads, OpOperand &operand,
                          unsigned result) const {
    Operation *layer = operand.getOwner();
    std::optional<Plane> to = planeOf(layer->getResult(result)),
                         from = planeOf(operand.get());
    if (!to || !from)
      return "found windows, expected all pixels";
    SmallVector<Needs, 2> rows, columns;
    for (int64_t group : groupsOf(layer)) {
      rows.push_back(
          needsOf(operand, result, "row", to->row, from->row, group));
      columns.push_back(
          needsOf(operand, result, "column", to->column, from->column, group));
    }
    std::string found;
    for (const VideoRead *read : reads) {
      found.clear();
      for (auto [window, needs] :
           {std::pair(&read->rows, &rows), {&read->columns, &columns}})
        for (const Needs &group : *needs)
          if (found.empty())
            found = findMissing(*window, group);
      if (found.empty())
        break;
    }
    return found;
  }

  //===--------------------------------------------------------------------===//
  // Executes
  //===--------------------------------------------------------------------===//

  LogicalResult followExecutes() {
    for (auto [i, layer] : llvm::enumerate(claim.layers)) {
      std::string name = formatv("execute {0}", i);
      if (failed(followExecute(i, layer, name)) ||
          failed(checkPart(video.executes[i].part, program.operations[i], layer,
                           name)))
        return failure();
      if (auto it = switchOf.find(i);
          it != switchOf.end() &&
          failed(checkSwitch(it->second, layer, video.executes[i])))
        return failure();
    }
    return success();
  }

  LogicalResult followExecute(size_t number, Operation *layer, StringRef name) {
    const VideoExecute &execute = video.executes[number];
    unsigned results = layer->getNumResults(),
             count = results + layer->getNumOperands();
    if (execute.places.size() != count)
      return fault(layer->getLoc(), name) << "found " << execute.places.size()
                                          << " places, expected " << count;
    uint32_t set = setOf[layer->getResult(0)];
    if (execute.set != set)
      return fault(layer->getLoc(), name)
             << "found set " << execute.set << ", expected " << set;
    const artifact::Operation &operation = program.operations[number];
    auto placeOf = [&](unsigned i) -> std::optional<uint64_t> {
      if (execute.places[i] == VideoExecute::asInProgram)
        return std::nullopt;
      return execute.places[i];
    };
    for (unsigned i = results; i < count; ++i) {
      Value value = layer->getOperand(i - results);
      auto wrong = [&] {
        return fault(layer->getLoc(), name + ": operand " + Twine(i));
      };
      std::optional<uint64_t> place = placeOf(i);
      if (failed(place
                     ? checkRead(value, *place, wrong)
                     : checkUnmoved(value, operation.operands[i], set, wrong)))
        return failure();
    }
    for (unsigned r = 0; r < results; ++r) {
      Value value = layer->getResult(r);
      auto wrong = [&] {
        return fault(layer->getLoc(), name + ": result " + Twine(r));
      };
      std::optional<uint64_t> place = placeOf(r);
      if (failed(place ? keep(value, *place, wrong)
                       : pass(value, operation.operands[r], set, wrong)))
        return failure();
    }
    return success();
  }

  static bool isWeights(const artifact::Operand &operand) {
    return operand.space == Space::Weights || operand.space == Space::Prepared;
  }

  /// An operand that lies where the program has it is weights: the plan is
  /// proven, and nothing changes them. Or a layer with the same set has left
  /// it in the program's arena in this frame.
  LogicalResult checkUnmoved(Value value, const artifact::Operand &operand,
                             uint32_t set, Fault fault) {
    if (isWeights(operand))
      return success();
    if (failed(checkPassing(operand, set, fault)))
      return failure();
    return expect(read(operand), values.of(value), operand.size, operand.offset,
                  fault);
  }

  /// A result is in the program's arena for layers with the same set.
  LogicalResult pass(Value value, const artifact::Operand &operand,
                     uint32_t set, Fault fault) {
    if (failed(checkPassing(operand, set, fault)))
      return failure();
    of(operand).write(operand.offset, operand.offset + operand.size,
                      values.computed(value));
    return success();
  }

  /// No other layers, and no runs between frames, may come between.
  LogicalResult checkPassing(const artifact::Operand &operand, uint32_t set,
                             Fault fault) {
    if (operand.space == Space::Arena && sharedSet == set)
      return success();
    return fault() << "found it where the program has it, expected a place "
                      "that no other run writes";
  }

  /// The operands that move lie where those of the execute do. They are of the
  /// same layer, so they are proven with it.
  LogicalResult checkSwitch(size_t number, Operation *layer,
                            const VideoExecute &execute) {
    std::string name = formatv("switch {0}", number);
    const artifact::Operation &replacement =
        program.switches[number].replacement;
    const artifact::Operation &own =
        program.operations[program.switches[number].operation];
    for (auto [i, place] : llvm::enumerate(execute.places)) {
      const artifact::Operand &operand = replacement.operands[i],
                              &expected = own.operands[i];
      if (place != VideoExecute::asInProgram || isWeights(operand))
        continue;
      if (operand.space != Space::Arena || expected.space != Space::Arena ||
          operand.offset != expected.offset)
        return fault(layer->getLoc(), name)
               << "operand " << i << ": found it elsewhere in the program, "
               << "expected the execute's place";
    }
    return checkPart(video.switches[number], replacement, layer, name);
  }

  /// The kernel that computes a part of an operation's result: its own, or one
  /// of `claim.cells` with the id of this layer by the same routine. So it
  /// rounds alike, and has the same weight form, operands and results.
  FailureOr<const KernelTable::Kernel *>
  kernelOf(const VideoPart &part, const artifact::Operation &operation,
           Operation *layer, Fault fault) {
    const KernelTable::Kernel &own = claim.kernels[operation.kernel];
    if (part.kernel == VideoPart::ownKernel)
      return &own;
    if (!claim.cells || part.kernel >= claim.cells->kernels().size())
      return fault() << "found kernel " << part.kernel
                     << " for parts, expected one of "
                     << (claim.cells ? claim.cells->kernels().size() : 0);
    const KernelTable::Kernel &other = (*claim.cells)[part.kernel];
    if (other.id !=
        claim.cells->cellsId(layer, *hostRoutines().named(own.name)))
      return fault() << "found kernel " << part.kernel << " (" << other.name
                     << ") for parts, expected one of the same layer by "
                     << own.name;
    return &other;
  }

  LogicalResult checkPart(const VideoPart &part,
                          const artifact::Operation &operation,
                          Operation *layer, StringRef name) {
    auto wrong = [&] { return fault(layer->getLoc(), name); };
    auto kernel = kernelOf(part, operation, layer, wrong);
    if (failed(kernel))
      return failure();
    if (part.tiles == VideoTiles::All)
      return success();
    Value result = layer->getResult(0);
    std::optional<Plane> plane = planeOf(result);
    const codegen::KernelInfo &info = (*kernel)->info;
    if (!plane || info.maps.size() != 1)
      return wrong() << "found parts of a result "
                     << (plane ? "whose tiles are no boxes"
                               : "without rows and columns")
                     << ", expected all of it";
    if (info.maps[0].tiles() != info.tiles)
      return wrong() << "found boxes of " << info.maps[0].tiles()
                     << " tiles, expected the kernel's " << info.tiles;
    std::string tiles =
        findWrongTiles(part, info.maps[0], nn::typeOf(result), *plane);
    return tiles.empty() ? success() : LogicalResult(wrong() << tiles);
  }

  //===--------------------------------------------------------------------===//
  // Check points
  //===--------------------------------------------------------------------===//

  /// Exact reuse has no bounds. Streams take them as they are.
  LogicalResult checkBounds() {
    bool isExact = video.reuse == VideoReuse::Exact;
    for (auto [name, found] : {std::pair("tolerance", video.tolerance),
                               {"input tolerance", video.inputTolerance}})
      if (!(found >= 0 && found <= (isExact ? 0 : 1)))
        return fault(main.getLoc(), name)
               << "found " << double(found) << ", expected "
               << (isExact ? "0, as reuse is exact" : "a number from 0 to 1");
    if (isExact && video.refresh)
      return fault(main.getLoc(), "refresh")
             << "found " << video.refresh << ", expected 0, as reuse is exact";
    return success();
  }

  /// All kept values are in the arena by now.
  LogicalResult followChecks() {
    for (auto [i, layer] : llvm::enumerate(claim.layers))
      if (const auto &check = video.executes[i].check)
        if (failed(
                followCheck(*check, layer, [number = i, at = layer->getLoc()] {
                  return fault(at, formatv("execute {0}: check point", number));
                })))
          return failure();
    return success();
  }

  LogicalResult followCheck(const artifact::VideoCheck &check, Operation *layer,
                            Fault fault) {
    if (video.reuse == VideoReuse::Exact)
      return fault() << "found one, expected none, as reuse is exact";
    if (layer->getNumResults() != 1)
      return fault() << "found " << layer->getNumResults()
                     << " results, expected one";
    Value result = layer->getResult(0);
    RankedTensorType type = nn::typeOf(result);
    if (!type.getElementType().isF32())
      return fault() << "found a result of " << type.getElementType()
                     << ", expected f32";
    std::optional<Plane> plane = planeOf(result);
    if (!plane)
      return fault() << "found a result without rows and columns, expected one "
                        "that has them";
    std::string pixels = findWrongPixels(check.pixels, type, plane);
    if (!pixels.empty())
      return fault() << pixels;
    return checkFree(check.place, static_cast<uint64_t>(nn::storageSize(type)),
                     fault);
  }

  func::FuncOp main;
  const artifact::ProgramVideo &video;
  const video::Planes planes;
  MemoryImage arena;
  llvm::DenseMap<Value, uint32_t> setOf;
  std::optional<uint32_t> sharedSet; ///< of the layers of the tail
  llvm::DenseMap<Operation *, size_t> executeOf;
  llvm::DenseMap<size_t, size_t> switchOf; ///< by execute
};

} // namespace

LogicalResult nnv12::proveVideo(const PlanClaim &claim,
                                const artifact::Program &program) {
  assert(program.video && "there is something to prove");
  return VideoProver(claim, program).run();
}
