//===- VideoEmitter.cpp - Emits reuse between frames of a video -----------===//

#include "compiler/emit/VideoEmitter.h"

#include "artifact/Limits.h"
#include "compiler/processors/Processor.h"
#include "compiler/video/Dependence.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using video::Dependence;
using video::Plane;

namespace {

class VideoEmitter {
public:
  VideoEmitter(func::FuncOp main, artifact::VideoReuse reuse,
               const ExecutionOrder &order, const KernelTable &kernels,
               KernelTable &cells, EmittedProgram &emitted, double checkedWork,
               ChooseTail chooseTail)
      : main(main), checkedWork(checkedWork), chooseTail(chooseTail),
        order(order), kernels(kernels), cells(cells), emitted(emitted),
        program(emitted.program), planes(main) {
    result.reuse = reuse;
  }

  LogicalResult run() {
    for (auto [i, number] : llvm::enumerate(emitted.layers))
      executeOf[order.layers()[number]] = i;
    for (const artifact::Switch &change : program.switches)
      replacementOf[change.operation] = change.replacement.kernel;
    result.executes.resize(program.operations.size());
    addInputs();
    for (Operation &op : main.getBody().front())
      if (op.getNumResults() && !isa<nn::ConstantOp>(op))
        addLayer(&op);
    if (!reusesParts)
      return main.emitError()
             << "--video: found no layer with rows and columns that depends on "
                "a part of an input, expected a convolution or a pooling";
    tail = chooseTail ? chooseTail(result) : result.executes.size();
    if (tail < result.executes.size())
      joinTail();
    placeValues();
    for (auto [i, input] : llvm::enumerate(main.getArguments()))
      result.inputs[i].place = *placeOf(input);
    for (size_t i = 0; i < result.executes.size(); ++i)
      addExecute(i);
    for (const artifact::Switch &change : program.switches)
      result.switches.push_back(change.operation < tail
                                    ? partInCells(change.replacement.kernel,
                                                  layerOf(change.operation))
                                    : artifact::VideoPart());
    placeChecks();
    for (Value output : main.getBody().front().getTerminator()->getOperands())
      result.outputs.push_back(*placeOf(output));
    program.video = std::move(result);
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// Every value has a place of its own, behind those that are made before.
  /// Those that the tail makes for itself lie in the program's memory.
  void placeValues() {
    for (Value input : main.getArguments())
      place(input);
    for (const ExecutionOrder::Tensor &tensor : order.tensors())
      if (tail == result.executes.size() || tensor.first < emitted.layers[tail])
        place(tensor.value);
    for (Value output : main.getBody().front().getTerminator()->getOperands())
      place(order.baseOf(output));
  }

  void place(Value base) {
    auto [it, isNew] = places.try_emplace(base, result.arenaSize);
    if (isNew)
      result.arenaSize +=
          llvm::alignTo(static_cast<uint64_t>(nn::storageSize(base)),
                        artifact::memoryAlignment);
  }

  /// Where a value lies in the arena; none for constants, and for values that
  /// stay within the tail.
  std::optional<uint64_t> placeOf(Value value) const {
    Aliases::Place place = order.placeOf(value);
    auto it = places.find(place.base);
    if (it == places.end())
      return std::nullopt;
    return it->second + static_cast<uint64_t>(place.offset);
  }

  //===--------------------------------------------------------------------===//
  // Sets
  //===--------------------------------------------------------------------===//

  /// A set for the pixels of a value, which may be one alone.
  uint32_t addSet(std::optional<Plane> plane, Value value) {
    artifact::VideoSet set = {1, 1};
    if (plane) {
      ArrayRef<int64_t> shape = nn::typeOf(value).getShape();
      set.rows = static_cast<uint32_t>(shape[plane->row]);
      set.columns = static_cast<uint32_t>(shape[plane->column]);
    }
    result.sets.push_back(set);
    return static_cast<uint32_t>(result.sets.size() - 1);
  }

  void addInputs() {
    for (Value input : main.getArguments()) {
      std::optional<Plane> plane = planes.of(input);
      auto pixels = pixelLayout(nn::typeOf(input), plane);
      if (!pixels) {
        // Elements at unequal distances: the input is compared as a whole.
        plane = std::nullopt;
        pixels = pixelLayout(nn::typeOf(input), plane);
      }
      uint32_t set = addSet(plane, input);
      setOf[input] = set;
      result.inputs.push_back({set, /*place=*/0, *pixels});
    }
  }

  static std::optional<artifact::VideoWindow>
  windowOf(const video::Window &window) {
    auto isSmall = [](int64_t number) {
      return std::abs(number) <= int64_t(artifact::maxReach);
    };
    if (window.num < 0 || !isSmall(window.num) || !isSmall(window.den) ||
        !isSmall(window.low) || !isSmall(window.high))
      return std::nullopt;
    return artifact::VideoWindow{
        static_cast<uint32_t>(window.num), static_cast<uint32_t>(window.den),
        static_cast<int32_t>(window.low), static_cast<int32_t>(window.high)};
  }

  /// Adds a set's dependence on that of an operand.
  void addRead(artifact::VideoSet &set, OpOperand &operand, int64_t together) {
    auto it = setOf.find(operand.get());
    if (it == setOf.end())
      return;
    artifact::VideoRead read = {it->second, /*all=*/true};
    Dependence found = video::dependence(operand, 0, planes, together);
    if (found.kind == Dependence::Kind::None)
      return;
    auto hasPixels = [](const artifact::VideoSet &of) {
      return of.rows * of.columns > 1;
    };
    if (found.kind == Dependence::Kind::Window && hasPixels(set) &&
        hasPixels(result.sets[it->second])) {
      auto rows = windowOf(found.rows), columns = windowOf(found.columns);
      if (rows && columns)
        read = {it->second, /*all=*/false, *rows, *columns};
    }
    auto isSame = [&](const artifact::VideoRead &other) {
      auto same = [](const artifact::VideoWindow &a,
                     const artifact::VideoWindow &b) {
        return a.num == b.num && a.den == b.den && a.low == b.low &&
               a.high == b.high;
      };
      return other.set == read.set && other.all == read.all &&
             same(other.rows, read.rows) && same(other.columns, read.columns);
    };
    if (llvm::none_of(set.reads, isSame))
      set.reads.push_back(read);
  }

  /// Neighbouring pixels that a layer's kernels compute together.
  int64_t togetherIn(Operation *op, std::optional<uint32_t> execute) {
    int64_t together = 1;
    auto include = [&](unsigned kernel) {
      const Routine *routine = hostRoutines().named(kernels[kernel].name);
      assert(routine && "executes are of routines");
      together =
          std::lcm(together, codegen::CpuRoutine::of(*routine).together(op));
    };
    if (!execute)
      return together;
    include(program.operations[*execute].kernel);
    if (auto it = replacementOf.find(*execute); it != replacementOf.end())
      include(it->second);
    return together;
  }

  void addLayer(Operation *op) {
    Value first = op->getResult(0);
    std::optional<uint32_t> execute;
    if (auto it = executeOf.find(op); it != executeOf.end())
      execute = it->second;
    // Results of several tensors, such as values with their indices, are no
    // pictures.
    std::optional<Plane> plane;
    if (op->getNumResults() == 1)
      plane = planes.of(first);
    uint32_t number = addSet(plane, first);
    artifact::VideoSet &set = result.sets[number];
    int64_t together = togetherIn(op, execute);
    for (OpOperand &operand : op->getOpOperands())
      addRead(set, operand, together);
    for (const artifact::VideoRead &read : set.reads)
      reusesParts |= !read.all;
    for (Value value : op->getResults())
      setOf[value] = number;
    if (!execute)
      return;
    artifact::VideoExecute &out = result.executes[*execute];
    out.set = number;
    addCheck(out, op);
  }

  /// Layers of the tail share one set: a pixel that changes with any pixel that
  /// one of them reads from outside. So they run together, or not at all.
  void joinTail() {
    uint32_t number = result.executes[tail].set;
    artifact::VideoSet joined = {1, 1};
    for (size_t i = number; i < result.sets.size(); ++i)
      for (const artifact::VideoRead &read : result.sets[i].reads) {
        auto isSame = [&](const artifact::VideoRead &other) {
          return other.set == read.set;
        };
        if (read.set < number && llvm::none_of(joined.reads, isSame))
          joined.reads.push_back({read.set, /*all=*/true});
      }
    result.sets.resize(number);
    result.sets.push_back(std::move(joined));
    for (artifact::VideoExecute &execute :
         MutableArrayRef(result.executes).drop_front(tail)) {
      execute.set = number;
      execute.check.reset();
    }
  }

  void addExecute(size_t number) {
    Operation *op = layerOf(number);
    artifact::VideoExecute &execute = result.executes[number];
    auto add = [&](Value value) {
      execute.places.push_back(
          placeOf(value).value_or(artifact::VideoExecute::asInProgram));
    };
    for (Value value : op->getResults())
      add(value);
    for (Value value : op->getOperands())
      add(value);
    if (number >= tail)
      return;
    // Cells of the routine that computes most frames: others take code.
    unsigned kernel = program.operations[number].kernel;
    execute.part = replacementOf.contains(static_cast<uint32_t>(number))
                       ? partOf(kernels[kernel].info, op)
                       : partInCells(kernel, op);
  }

  Operation *layerOf(size_t execute) const {
    return order.layers()[emitted.layers[execute]];
  }

  //===--------------------------------------------------------------------===//
  // Check points
  //===--------------------------------------------------------------------===//

  /// Adds a check point where comparing a pixel takes little beside computing
  /// it. Its place comes later.
  void addCheck(artifact::VideoExecute &execute, Operation *op) {
    if (result.reuse == artifact::VideoReuse::Exact || !isa<nn::Weighted>(op) ||
        op->getNumResults() != 1)
      return;
    RankedTensorType type = nn::typeOf(op->getResult(0));
    std::optional<Plane> plane = planes.of(op->getResult(0));
    double work =
        kernels[program.operations[executeOf[op]].kernel].facts.multiplyAdds;
    if (!plane || !type.getElementType().isF32() || !type.getNumElements() ||
        work < checkedWork * double(type.getNumElements()))
      return;
    if (auto pixels = pixelLayout(type, plane))
      execute.check = {0, *pixels};
  }

  /// All results lie at one place until they are compared.
  void placeChecks() {
    uint64_t size = 0;
    for (auto [i, execute] : llvm::enumerate(result.executes))
      if (execute.check) {
        execute.check->place = result.arenaSize;
        size = std::max(size, program.operations[i].operands[0].size);
      }
    result.arenaSize += llvm::alignTo(size, artifact::memoryAlignment);
  }

  //===--------------------------------------------------------------------===//
  // Pixels in memory
  //===--------------------------------------------------------------------===//

  /// The axis of a layout that goes along a dimension which is not blocked.
  static const nn::Layout::Axis *axisOf(const nn::Layout &layout,
                                        unsigned dim) {
    for (const nn::Layout::Axis &axis : layout.axes())
      if (axis.dim == dim)
        return axis.step == 1 ? &axis : nullptr;
    return nullptr;
  }

  /// Pixels of a tensor: all of it is one where it has no plane. None where
  /// they are not runs at equal distances.
  static std::optional<artifact::PixelLayout>
  pixelLayout(RankedTensorType type, std::optional<Plane> plane) {
    auto element =
        static_cast<uint64_t>(nn::storageElementSize(type.getElementType()));
    artifact::PixelLayout pixels = {
        0, 0, 1, 0, static_cast<uint64_t>(nn::storageSize(type))};
    if (!plane)
      return pixels;
    nn::Layout layout = nn::Layout::of(type);
    const nn::Layout::Axis *row = axisOf(layout, plane->row),
                           *column = axisOf(layout, plane->column);
    if (!row || !column)
      return std::nullopt;
    pixels.row = static_cast<uint64_t>(row->stride) * element;
    pixels.column = static_cast<uint64_t>(column->stride) * element;
    uint64_t piece = 1, pieces = 1, distance = 0;
    for (const nn::Layout::Axis &axis : llvm::reverse(layout.axes())) {
      if (&axis == row || &axis == column || axis.extent == 1)
        continue;
      auto extent = static_cast<uint64_t>(axis.extent),
           stride = static_cast<uint64_t>(axis.stride);
      if (pieces == 1 && stride == piece)
        piece *= extent;
      else if (pieces == 1 || stride == pieces * distance) {
        distance = pieces == 1 ? stride : distance;
        pieces *= extent;
      } else {
        return std::nullopt;
      }
    }
    pixels.pieces = pieces;
    pixels.distance = distance * element;
    pixels.piece = piece * element;
    return pixels;
  }

  /// The tiles of a kernel, as parts of the plane of its layer's result.
  artifact::VideoPart partOf(const codegen::KernelInfo &info,
                             Operation *op) const {
    artifact::VideoPart part;
    Value value = op->getResult(0);
    std::optional<Plane> plane = planes.of(value);
    ArrayRef<TileMap> maps = info.maps;
    if (!plane || op->getNumResults() != 1 || maps.size() != 1 ||
        maps[0].parts.size() != 1)
      return part;
    const TileMap &map = maps[0];
    nn::Layout layout = nn::Layout::of(nn::typeOf(value));
    const nn::Layout::Axis *row = axisOf(layout, plane->row),
                           *column = axisOf(layout, plane->column);
    if (!row || !column)
      return part;
    auto find = [&](int64_t extent, int64_t stride) -> std::optional<uint32_t> {
      for (const TileMap::Cut &cut : map.parts[0].cuts)
        if (cut.count > 1 && map.axes[cut.axis].extent == extent &&
            map.axes[cut.axis].stride == stride)
          return cut.axis;
      return std::nullopt;
    };
    auto rows = find(row->extent, row->stride),
         columns = find(column->extent, column->stride),
         runs = find(row->extent * column->extent, column->stride);
    if (row->stride != column->extent * column->stride)
      runs = std::nullopt;
    if (rows && columns)
      return {artifact::VideoTiles::Cells, *rows, *columns};
    if (rows)
      return {artifact::VideoTiles::Rows, *rows};
    if (runs)
      return {artifact::VideoTiles::Runs, *runs};
    return part;
  }

  /// The same in cells, where the kernel's routine has some for the layer. A
  /// single cell would be the kernel again.
  artifact::VideoPart partInCells(unsigned kernel, Operation *op) {
    const Routine *routine = hostRoutines().named(kernels[kernel].name);
    std::optional<Plane> plane = planes.of(op->getResult(0));
    std::optional<Cells> size;
    if (plane && op->getNumResults() == 1)
      size = codegen::CpuRoutine::of(*routine).cellsAlong(op, plane->row,
                                                          plane->column);
    ArrayRef<int64_t> shape = nn::typeOf(op->getResult(0)).getShape();
    if (!size ||
        (size->rows >= shape[plane->row] && size->cols >= shape[plane->column]))
      return partOf(kernels[kernel].info, op);
    unsigned number = cells.cells(op, *routine, *size);
    artifact::VideoPart part = partOf(cells[number].info, op);
    part.kernel = number;
    return part;
  }

  func::FuncOp main;
  const double checkedWork; ///< multiply-adds of a value
  const ChooseTail chooseTail;
  const ExecutionOrder &order;
  const KernelTable &kernels;
  KernelTable &cells;
  EmittedProgram &emitted;
  artifact::Program &program;
  const video::Planes planes;
  artifact::ProgramVideo result;
  llvm::DenseMap<Value, uint64_t> places; ///< of bases
  llvm::DenseMap<Value, uint32_t> setOf;
  llvm::DenseMap<Operation *, uint32_t> executeOf;
  /// By execute: the kernel that a switch takes over with.
  llvm::DenseMap<uint32_t, unsigned> replacementOf;
  size_t tail = 0; ///< the first execute of it
  bool reusesParts = false;
};

} // namespace

LogicalResult nnv12::emitVideo(func::FuncOp main, artifact::VideoReuse reuse,
                               const ExecutionOrder &order,
                               const KernelTable &kernels, KernelTable &cells,
                               EmittedProgram &emitted, double checkedWork,
                               ChooseTail chooseTail) {
  return VideoEmitter(main, reuse, order, kernels, cells, emitted, checkedWork,
                      chooseTail)
      .run();
}

void nnv12::printVideoSummary(const artifact::Program &program,
                              llvm::raw_ostream &os) {
  const artifact::ProgramVideo &video = *program.video;
  std::vector<artifact::VideoTiles> tiles;
  for (const artifact::VideoExecute &execute : video.executes)
    tiles.push_back(execute.part.tiles);
  for (auto [change, part] : llvm::zip(program.switches, video.switches))
    tiles[change.operation] = part.tiles;
  // Executes of the tail share a set.
  uint32_t last = video.executes.back().set;
  auto numTail = llvm::count_if(
      video.executes, [&](const auto &execute) { return execute.set == last; });
  if (numTail == 1)
    numTail = 0;
  auto numCells = llvm::count(tiles, artifact::VideoTiles::Cells),
       numWhole = llvm::count(tiles, artifact::VideoTiles::All) - numTail;
  os << "  video      "
     << (video.reuse == artifact::VideoReuse::Exact ? "exact: " : "bounded: ")
     << llvm::format("%.2f MB of values", double(video.arenaSize) * 1e-6)
     << "; of " << tiles.size() << " layers " << numCells << " in cells, "
     << static_cast<int64_t>(tiles.size()) - numCells - numWhole - numTail
     << " in rows, " << numWhole << " whole";
  if (numTail)
    os << ", the last " << numTail << " whole with any change";
  os << "\n";
}
