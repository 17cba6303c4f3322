//===- InventedPlan.cpp - Plans that no compiler would make ---------------===//
#include "test/fuzz/InventedPlan.h"

#include "artifact/CpuFeatures.h"

#include <algorithm>

namespace nnv12::test {

using namespace artifact;

namespace {

/// Builds a program from its preparations up, each from earlier ones.
class Inventor {
public:
  Inventor(Choices &choices, const InventedWeights &weights, uint64_t codeSize,
           Bundle &bundle)
      : choices(choices), weights(weights), codeSize(codeSize), bundle(bundle) {
  }

  void run() {
    bundle.programs.emplace_back();
    program().target = "invented";
    program().architecture = hostArchitecture();
    program().code = codeSegment;
    program().arenaSize = arenaSize;
    for (unsigned i = choices.below(3); i-- > 0;)
      bundle.inputs.push_back(tensor());
    for (unsigned i = choices.below(3); i-- > 0;)
      bundle.outputs.push_back(tensor());
    addKernels();
    for (unsigned i = choices.below(40); i-- > 0;)
      addPreparation();
    for (unsigned i = choices.below(12); i-- > 0;)
      program().operations.push_back(execute(numOperations()));
    program().preparedSize = prepared + choices.below(2) * choices.below(9999);
    if (!program().preparations.empty() || !choices.oneIn(4))
      addLanes();
    if (choices.oneIn(8))
      addNewer();
  }

private:
  /// A kernel takes as many operands as its number and writes the first.
  static constexpr unsigned numKernels = 5;
  static constexpr uint64_t arenaSize = 64 << 10;

  Program &program() { return bundle.programs.back(); }
  uint32_t numOperations() {
    return static_cast<uint32_t>(program().operations.size());
  }
  uint32_t numPreparations() {
    return static_cast<uint32_t>(program().preparations.size());
  }

  Tensor tensor() {
    Tensor result{"t", ElementType(choices.below(23)), {}};
    for (unsigned i = choices.below(4); i-- > 0;)
      result.shape.push_back(int64_t(choices.below(9)));
    return result;
  }

  void addKernels() {
    for (uint32_t i = 0; i < numKernels; ++i) {
      Kernel kernel{"kernel", uint32_t(choices.below(codeSize / 4) * 4), i,
                    uint32_t(i > 0), choices.below(2) * choices.below(100000)};
      if (choices.oneIn(2))
        kernel.tiles = choices.from(1, choices.oneIn(8) ? mostTiles : 100);
      if (choices.oneIn(3)) {
        kernel.routine = "routine";
        kernel.key.assign(32, '7');
        kernel.fingerprint.assign(32, uint8_t(i));
        kernel.multiplyAdds = kernel.bytes = choices.number();
      }
      if (kernel.outputs && choices.oneIn(2))
        kernel.maps = {tileMap(kernel.tiles)};
      program().kernels.push_back(std::move(kernel));
    }
  }

  /// Rows, each a part, and the tiles of a row along another axis; the rest is
  /// one more part.
  TileMap tileMap(uint64_t tiles) {
    uint64_t rows = choices.from(1, 4), size = choices.from(1, 20);
    uint64_t columns = tiles / rows, rest = tiles % rows;
    uint64_t width = std::max(columns, rest) * size;
    TileMap map{{{rows + 1, width}, {std::max<uint64_t>(width, 1), 1}}, {}};
    for (uint64_t row = 0; columns && row < rows; ++row)
      map.parts.push_back(
          {{row, 0}, {row + 1, columns * size}, {{1, columns, size}}});
    if (rest)
      map.parts.push_back(
          {{rows, 0}, {rows + 1, rest * size}, {{0, 1, 1}, {1, rest, size}}});
    return map;
  }

  /// All tiles of the kernel, or some.
  void setTiles(Operation &operation) {
    uint64_t most = program().kernels[operation.kernel].tiles;
    if (most == 0)
      most = choices.below(choices.oneIn(8) ? mostTiles : 100);
    operation.tiles = most;
    if (most && choices.oneIn(3)) {
      operation.tileBegin = choices.below(most);
      operation.tiles = choices.below(most - operation.tileBegin + 1);
    }
  }

  /// Some of the weights, of `size` bytes at most.
  Operand someWeights(uint64_t size) {
    size = std::min(size, weights.size);
    return {Space::Weights, weightsSegment,
            choices.below(weights.size - size + 1), size};
  }

  /// Bytes that nobody has yet.
  Operand fresh(uint64_t size) {
    Operand result{Space::Prepared, 0, prepared, size};
    prepared += (size + 63) / 64 * 64;
    return result;
  }

  /// The result of an earlier preparation, which goes to `after`; weights where
  /// there is none.
  Operand source(std::vector<OperationId> &after, uint64_t size) {
    uint32_t writer = uint32_t(choices.below(numPreparations() + 1));
    if (writer == numPreparations() ||
        program().preparations[writer].kind == OperationKind::Read)
      return someWeights(size);
    after.push_back({LaneKind::Prepare, writer});
    return program().preparations[writer].operands[0];
  }

  void addPreparation() {
    Operation result;
    result.layer = "layer";
    result.kind = OperationKind(choices.from(1, 3));
    for (unsigned i = choices.below(3); numPreparations() && i-- > 0;)
      result.after.push_back(
          {LaneKind::Prepare, uint32_t(choices.below(numPreparations()))});
    uint64_t size = choices.below(64) * (choices.oneIn(4) ? 8192 : 8);
    if (result.kind == OperationKind::Read) {
      result.operands = {someWeights(size)};
    } else if (result.kind == OperationKind::Decode) {
      result.planes = uint8_t(1 << choices.below(4));
      if (choices.oneIn(3)) {
        // Good where it is the frame of the weights.
        result.codec = Codec::Zstd;
        uint64_t content =
            choices.oneIn(4) ? size / 8 * 8 : weights.contentSize;
        result.operands = {fresh(content),
                           choices.oneIn(4)
                               ? someWeights(size)
                               : Operand{Space::Weights, weightsSegment, 0,
                                         weights.frameSize}};
      } else {
        size = std::min(size, weights.size) / 8 * 8;
        result.operands = {fresh(size), someWeights(size)};
      }
    } else {
      result.kernel = uint32_t(choices.from(1, numKernels - 1));
      setTiles(result);
      result.operands = {fresh(size)};
      while (result.operands.size() < result.kernel)
        result.operands.push_back(source(result.after, size));
    }
    // Where others read them too, they are read from the file again.
    result.lastReader = result.operands.size() > 1 &&
                        result.operands[1].space == Space::Weights &&
                        choices.oneIn(2);
    program().preparations.push_back(std::move(result));
  }

  Operand written() {
    uint32_t outputs = uint32_t(bundle.outputs.size());
    uint32_t output = uint32_t(choices.below(outputs + 1));
    if (output < outputs)
      return {Space::Output, output, 0, 0};
    return {Space::Arena, 0, choices.below(512) * 64, 64};
  }

  /// One that runs behind the first `number` ones.
  Operation execute(uint32_t number) {
    Operation result;
    result.layer = "layer";
    result.kernel = uint32_t(choices.below(numKernels));
    result.liveArena = choices.below(arenaSize);
    setTiles(result);
    while (number && choices.oneIn(4))
      result.after.push_back(
          {LaneKind::Execute, uint32_t(choices.below(number))});
    if (result.kernel)
      result.operands = {written()};
    while (result.operands.size() < result.kernel) {
      uint32_t inputs = uint32_t(bundle.inputs.size());
      uint32_t input = uint32_t(choices.below(2 * inputs + 1));
      result.operands.push_back(input < inputs
                                    ? Operand{Space::Input, input, 0, 0}
                                    : source(result.after, 4096));
    }
    return result;
  }

  /// Deals all preparations out over the lanes, in an order in which they could
  /// run on one thread. Preparations that no execute needs may go to a
  /// background, or to a switch.
  void addLanes() {
    program().lanes.resize(choices.from(1, 5));
    for (size_t i = 0; i < program().lanes.size(); ++i) {
      program().lanes[i].kind = i ? LaneKind::Prepare : LaneKind::Execute;
      program().lanes[i].core = CoreKind(choices.below(3));
    }
    std::vector<bool> isNeeded(numPreparations());
    for (const Operation &operation : program().operations)
      for (OperationId before : operation.after)
        if (before.kind == LaneKind::Prepare)
          isNeeded[before.index] = true;
    for (uint32_t i = numPreparations(); i-- > 0;)
      for (OperationId before : program().preparations[i].after)
        if (isNeeded[i] || !choices.oneIn(2))
          isNeeded[before.index] = true;
    uint32_t executes = 0;
    for (uint32_t i = 0; i < numPreparations(); ++i) {
      while (executes < program().operations.size() && choices.oneIn(4) &&
             isReady(program().operations[executes], i))
        program().lanes[0].queue.push_back({LaneKind::Execute, executes++});
      Lane &lane = choices.of(program().lanes);
      if (!isNeeded[i] && mayWait(i) && choices.oneIn(2))
        lane.background.push_back({LaneKind::Prepare, i});
      else
        lane.queue.push_back({LaneKind::Prepare, i});
    }
    while (executes < program().operations.size())
      program().lanes[0].queue.push_back({LaneKind::Execute, executes++});
    for (uint32_t i = 0; i < numOperations() && choices.oneIn(2); ++i)
      program().switches.push_back({i, execute(i)});
  }

  /// Whether all that it waits for comes before preparation `next`.
  static bool isReady(const Operation &operation, uint32_t next) {
    return std::all_of(operation.after.begin(), operation.after.end(),
                       [&](OperationId before) {
                         return before.kind == LaneKind::Execute ||
                                before.index < next;
                       });
  }

  /// Whether nothing that must be in a queue waits for preparation `index`.
  bool mayWait(uint32_t index) {
    OperationId id = {LaneKind::Prepare, index};
    for (const Operation &other : program().preparations)
      if (std::count(other.after.begin(), other.after.end(), id))
        return false;
    return true;
  }

  /// A program in front that only newer readers understand.
  void addNewer() {
    Program newer = program();
    newer.target = "newer";
    Operation upload;
    upload.layer = "layer";
    upload.kind = OperationKind(choices.from(4, 255));
    newer.operations.insert(
        newer.operations.begin() +
            std::ptrdiff_t(choices.below(newer.operations.size() + 1)),
        std::move(upload));
    bundle.programs.insert(bundle.programs.begin(), std::move(newer));
  }

  static constexpr uint64_t mostTiles = 1 << 20;

  Choices &choices;
  const InventedWeights &weights;
  uint64_t codeSize;
  Bundle &bundle;
  uint64_t prepared = 0;
};

} // namespace

Bundle inventPlan(Choices &choices, const InventedWeights &weights,
                  uint64_t codeSize) {
  Bundle bundle;
  bundle.model = "invented";
  Inventor(choices, weights, codeSize, bundle).run();
  return bundle;
}

//===----------------------------------------------------------------------===//
// Damage
//===----------------------------------------------------------------------===//

template <typename T> static void changeNumber(Choices &choices, T &value) {
  value = T(choices.oneIn(2) ? choices.number()
                             : uint64_t(value) + choices.below(257) - 128);
}

/// Drops an element, doubles one, or swaps two.
template <typename T>
static void changeList(Choices &choices, std::vector<T> &list) {
  if (list.empty())
    return;
  size_t index = choices.below(list.size());
  switch (choices.below(3)) {
  case 0:
    list.erase(list.begin() + std::ptrdiff_t(index));
    break;
  case 1: {
    T copy = list[index];
    list.insert(list.begin() + std::ptrdiff_t(choices.below(list.size() + 1)),
                std::move(copy));
    break;
  }
  case 2:
    std::swap(list[index], choices.of(list));
  }
}

static void damageOperand(Choices &choices, Operand &operand) {
  switch (choices.below(4)) {
  case 0:
    operand.space = Space(choices.below(7));
    break;
  case 1:
    changeNumber(choices, operand.index);
    break;
  case 2:
    changeNumber(choices, operand.offset);
    break;
  case 3:
    changeNumber(choices, operand.size);
  }
}

static void damageOperation(Choices &choices, Operation &operation) {
  switch (choices.below(12)) {
  case 0:
    changeNumber(choices, operation.kernel);
    break;
  case 1:
    changeNumber(choices, operation.tiles);
    break;
  case 2:
    operation.kind = OperationKind(choices.below(6));
    break;
  case 3:
    operation.codec = Codec(choices.below(4));
    break;
  case 4:
    changeNumber(choices, operation.planes);
    break;
  case 5:
    changeList(choices, operation.operands);
    break;
  case 6:
    changeList(choices, operation.after);
    break;
  case 7:
    operation.after.push_back(
        {choices.oneIn(2) ? LaneKind::Execute : LaneKind::Prepare,
         uint32_t(choices.oneIn(4) ? choices.number() : choices.below(40))});
    break;
  case 8:
    if (!operation.operands.empty())
      damageOperand(choices, choices.of(operation.operands));
    break;
  case 9:
    changeNumber(choices, operation.tileBegin);
    break;
  case 10:
    operation.lastReader = !operation.lastReader;
    break;
  case 11:
    changeNumber(choices, operation.liveArena);
  }
}

static void damageLane(Choices &choices, Lane &lane) {
  switch (choices.below(6)) {
  case 0:
    lane.kind = LaneKind(choices.below(4));
    break;
  case 1:
    lane.core = CoreKind(choices.below(5));
    break;
  case 2:
    changeList(choices, lane.queue);
    break;
  case 3:
    changeList(choices, lane.background);
    break;
  case 4:
    if (!lane.queue.empty())
      changeNumber(choices, choices.of(lane.queue).index);
    break;
  case 5:
    if (!lane.background.empty())
      changeNumber(choices, choices.of(lane.background).index);
  }
}

static void damageMap(Choices &choices, TileMap &map) {
  switch (choices.below(6)) {
  case 0:
    return changeList(choices, map.axes);
  case 1:
    return changeList(choices, map.parts);
  case 2:
    if (map.axes.empty())
      return;
    if (choices.oneIn(2))
      changeNumber(choices, choices.of(map.axes).extent);
    else
      changeNumber(choices, choices.of(map.axes).stride);
    return;
  }
  if (map.parts.empty())
    return;
  TilePart &part = choices.of(map.parts);
  switch (choices.below(3)) {
  case 0: {
    std::vector<uint64_t> &corner = choices.oneIn(2) ? part.lo : part.hi;
    if (corner.empty() || choices.oneIn(4))
      corner.push_back(choices.number());
    else
      changeNumber(choices, choices.of(corner));
    return;
  }
  case 1:
    return changeList(choices, part.cuts);
  case 2:
    if (part.cuts.empty())
      return;
    TileCut &cut = choices.of(part.cuts);
    switch (choices.below(3)) {
    case 0:
      return changeNumber(choices, cut.axis);
    case 1:
      return changeNumber(choices, cut.count);
    case 2:
      return changeNumber(choices, cut.size);
    }
  }
}

static void damageKernel(Choices &choices, Kernel &kernel) {
  switch (choices.below(9)) {
  case 0:
    changeNumber(choices, kernel.entry);
    break;
  case 1:
    changeNumber(choices, kernel.operands);
    break;
  case 2:
    changeNumber(choices, kernel.outputs);
    break;
  case 3:
    changeNumber(choices, kernel.scratch);
    break;
  case 4:
    changeNumber(choices, kernel.tiles);
    break;
  case 5:
    kernel.fingerprint.resize(choices.below(70));
    break;
  case 6:
    kernel.key = kernel.routine = std::string(choices.below(2000), '%');
    break;
  case 7:
    kernel.maps.resize(choices.below(4));
    break;
  case 8:
    if (!kernel.maps.empty())
      damageMap(choices, choices.of(kernel.maps));
  }
}

static void damageTensor(Choices &choices, Tensor &tensor) {
  switch (choices.below(4)) {
  case 0:
    tensor.type = ElementType(choices.below(32));
    break;
  case 1:
    tensor.shape.push_back(int64_t(choices.number()));
    break;
  case 2:
    tensor.shape.assign(choices.below(80), 1);
    break;
  case 3:
    tensor.name.assign(choices.below(2000), '%');
  }
}

static void damageProgram(Choices &choices, Program &program) {
  switch (choices.below(9)) {
  case 0:
    changeNumber(choices, program.code);
    break;
  case 1:
    changeNumber(choices, program.arenaSize);
    break;
  case 2:
    changeNumber(choices, program.preparedSize);
    break;
  case 3:
    program.target.assign(choices.below(2000), '%');
    break;
  case 4:
    program.architecture = choices.oneIn(2) ? "aarch64" : "x86-64";
    break;
  case 5:
    program.features.assign(choices.below(70),
                            choices.oneIn(2) ? "sse2" : std::string(500, 'n'));
    break;
  case 6:
    changeList(choices, program.lanes);
    break;
  case 7:
    program.lanes.resize(choices.below(70),
                         Lane{LaneKind::Prepare, {}, {}, {}});
    break;
  case 8:
    program.revision.assign(choices.below(2000), '%');
  }
}

void damagePlan(Choices &choices, Bundle &bundle) {
  Program &program = choices.of(bundle.programs);
  auto any = [&](auto &list, auto damage) {
    if (!list.empty())
      damage(choices, choices.of(list));
  };
  switch (choices.below(13)) {
  case 0:
  case 1:
    return any(program.operations, damageOperation);
  case 2:
  case 3:
    return any(program.preparations, damageOperation);
  case 4:
    return any(program.switches, [](Choices &choices, Switch &change) {
      if (choices.oneIn(3))
        changeNumber(choices, change.operation);
      else
        damageOperation(choices, change.replacement);
    });
  case 5:
  case 6:
    return any(program.lanes, damageLane);
  case 7:
    return any(program.kernels, damageKernel);
  case 8:
    return any(choices.oneIn(2) ? bundle.inputs : bundle.outputs, damageTensor);
  case 9:
    return damageProgram(choices, program);
  case 10:
    switch (choices.below(4)) {
    case 0:
      return changeList(choices, program.operations);
    case 1:
      return changeList(choices, program.preparations);
    case 2:
      return changeList(choices, program.switches);
    case 3:
      return changeList(choices, program.kernels);
    }
    return;
  case 11:
    changeNumber(choices, bundle.threads);
    return;
  case 12:
    bundle.kind = BundleKind(choices.below(4));
  }
}

} // namespace nnv12::test
