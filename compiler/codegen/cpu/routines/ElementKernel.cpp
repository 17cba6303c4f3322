//===- ElementKernel.cpp - Any layer, element by element ------------------===//

#include "compiler/codegen/common/ElementViews.h"
#include "compiler/codegen/common/Math.h"
#include "compiler/codegen/cpu/UnitGrid.h"
#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/Work.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using Axis = nn::Layout::Axis;

namespace {

/// How the lanes lie in the result.
enum class LaneOrder {
  Rows,  ///< along the innermost axis in memory
  Flat,  ///< along memory, across axes (rows would be short)
  Scalar ///< one element at a time; vectors run over the axis of a sum
};

using Box = TileMap::Box;

} // namespace

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// Operations of the whole kernel for an element of its result.
static double workPerElement(const ElementProgram &program) {
  double work = 1, size = std::max<int64_t>(elementsOf(program.root), 1);
  for (Operation *op : program.ops)
    work += elementSteps(op) * elementsOf(op->getResult(0)) / size;
  return work;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// Where along each dimension of the result the computation changes, so that
/// each part between is free of questions: starts of concatenated tensors. Only
/// this kernel's layers count: the layer of an operand does not matter, and its
/// dimensions are not those of the views here.
static void collectCuts(ElementEmitter &e, Value tensor,
                        std::vector<std::vector<int64_t>> &cuts) {
  if (e.isLeaf(tensor))
    return;
  Operation *op = tensor.getDefiningOp();
  if (!elementFunction(op))
    return;
  if (auto concat = dyn_cast<nn::ConcatOp>(op)) {
    assert(e.view(tensor).shape.size() == cuts.size() &&
           "views around a concatenation keep their dimensions");
    int64_t start = 0;
    for (Value input : concat.getInputs()) {
      if (start)
        cuts[concat.getAxis()].push_back(start);
      start += e.view(input).shape[concat.getAxis()];
    }
    return;
  }
  if (isa<nn::Elementwise>(op))
    for (Value operand : op->getOperands())
      if (e.view(operand).shape == e.view(tensor).shape)
        collectCuts(e, operand, cuts);
}

/// Cuts the result's memory, `whole`, into parts: where the computation changes
/// and before a last block that is partly padding, but along no dimension that
/// stays whole.
static std::vector<Box> boxesOf(ElementEmitter &e,
                                const ElementProgram &program, const Box &whole,
                                ArrayRef<unsigned> wholeDims) {
  const TensorView &out = program.output;
  std::vector<std::vector<int64_t>> cuts(out.shape.size());
  if (e.view(program.root).shape == out.shape &&
      !llvm::is_contained(program.leaves, program.root))
    collectCuts(e, program.root, cuts);
  std::vector<Box> boxes = {whole};
  SmallVector<bool> seen(out.shape.size(), false);
  for (size_t a = 0; a < out.axes.size(); ++a) {
    const Axis &axis = out.axes[a];
    if (seen[axis.dim] || llvm::is_contained(wholeDims, axis.dim))
      continue; // inside a block, or whole
    seen[axis.dim] = true;
    std::vector<int64_t> places;
    for (int64_t cut : cuts[axis.dim])
      if (cut % axis.step == 0)
        places.push_back(cut / axis.step);
    assert(llvm::all_of(places, [&](int64_t p) { return p <= axis.extent; }) &&
           "a cut lies in the result");
    if (places.size() > 24)
      places.clear();
    if (axis.step > 1 && out.shape[axis.dim] % axis.step)
      places.push_back(axis.extent - 1);
    llvm::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    std::vector<Box> next;
    for (const Box &box : boxes) {
      int64_t lo = 0;
      places.push_back(axis.extent);
      for (int64_t place : places) {
        if (place <= lo)
          continue;
        Box part = box;
        part.lo[a] = lo;
        part.hi[a] = place;
        next.push_back(part);
        lo = place;
      }
      places.pop_back();
    }
    boxes = std::move(next);
    if (boxes.size() > 64)
      break;
  }
  return boxes;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Moves invariant operations out of the loop, reads of operands included: a
/// kernel writes to no operand but where it has just read (in place).
static void hoistInvariants(Operation *loop) {
  auto op = dyn_cast<scf::ForOp>(loop);
  if (!op)
    return;
  for (Operation &inner :
       llvm::make_early_inc_range(op.getBody()->without_terminator())) {
    bool reads = isa<memref::LoadOp, vector::LoadOp, vector::MaskedLoadOp,
                     vector::GatherOp>(inner);
    if (inner.getNumRegions() || !(reads || isMemoryEffectFree(&inner)))
      continue;
    if (llvm::all_of(inner.getOperands(),
                     [&](Value v) { return op.isDefinedOutsideOfLoop(v); }))
      inner.moveBefore(op);
  }
}

static void hoistedLoop(KernelBuilder &k, Index lo, Index hi, Index step,
                        llvm::function_ref<void(Value)> body) {
  k.loop(lo, hi, step, body);
  hoistInvariants(&k.b.getInsertionBlock()->back());
}

namespace {

/// One candidate kernel of a layer.
class KernelEmitter {
public:
  KernelEmitter(KernelBuilder &k, Operation *layer, LaneOrder order,
                Type laneType, const std::optional<Cells> &cells = std::nullopt)
      : k(k), layer(layer), order(order), cells(cells), e(k, laneType),
        program(ElementProgram::of(layer)) {
    if (cells)
      plane = {cells->rowDim, cells->colDim};
    simplifyViews(e, program, plane);
  }

  KernelInfo emit(StringRef symbol);
  /// Instructions of the whole kernel, roughly.
  double cost() const { return total; }

private:
  struct Shape;
  void emitBox(const Box &box, int64_t firstTile, Value begin, Value end);
  Shape shapeOf(const Box &box) const;
  /// How the tiles of a box share it out.
  TileMap::Part partOf(const Box &box) const;
  int64_t emitCells(TileMap &map, ArrayRef<Box> boxes, Value begin, Value end);
  SmallVector<TileMap::Cut> cutsOfPlane(const Shape &shape) const;

  /// Emits the elements at physical position `position` (per axis, `vectorAxis`
  /// included) and stores them.
  /// `offset` is that in memory, if it is known.
  void emitElements(ArrayRef<Coord> position, std::optional<Coord> offset = {});

  KernelBuilder &k;
  Operation *layer;
  LaneOrder order;
  std::optional<Cells> cells;
  SmallVector<unsigned, 2> plane; ///< of the result's view, in cells
  /// In cells, the positions of a tile along axes of the plane.
  std::map<int, std::pair<Index, Index>> tileOf;
  /// In cells of vectors, the distance in memory of the results of the next
  /// step of the outermost loop, which are fetched meanwhile. 0 where none are.
  int64_t nextResults = 0;
  ElementEmitter e;
  ElementProgram program;
  Value output;
  bool singleTile = false;
  double work = 1, total = 0, weight = 1;
};

/// How a box is looped over.
struct KernelEmitter::Shape {
  int64_t lanes = 1;
  int vectorAxis = -1;      ///< none in scalar code
  bool inBlock = false;     ///< the vector axis is the inside of a block
  int innerAxis = -1;       ///< of the innermost loop; -1 if there is none
  SmallVector<int> rowAxes; ///< the others that are longer than one
  int64_t rows = 1;
  int64_t innerElements = 1; ///< along innerAxis
  /// Vectors or elements along innerAxis, tail included.
  int64_t innerSteps = 1;
  /// The rows in tiles; where a row is more than a tile, a tile has `chunk`
  /// steps of one row.
  UnitGrid grid = UnitGrid::single({});
  int64_t chunk = 1, chunks = 1;
  int64_t tiles() const { return grid.tiles() * chunks; }
};

} // namespace

KernelEmitter::Shape KernelEmitter::shapeOf(const Box &box) const {
  ArrayRef<Axis> axes = program.output.axes;
  Shape s;
  auto extent = [&](int a) { return box.hi[a] - box.lo[a]; };
  if (order == LaneOrder::Flat) {
    s.lanes = k.VL;
    s.innerElements = program.output.elements();
    s.innerSteps = (s.innerElements + s.lanes - 1) / s.lanes;
  } else {
    if (order == LaneOrder::Rows)
      for (int a = 0; a < int(axes.size()); ++a)
        if (axes[a].extent > 1)
          s.vectorAxis = a;
    if (s.vectorAxis >= 0) {
      const Axis &axis = axes[s.vectorAxis];
      s.inBlock = program.output.block(axis.dim) > 1 && axis.step == 1;
      // A block that is cut once more has its inner part side by side.
      s.lanes = s.inBlock ? std::gcd<int64_t>(axis.extent, k.VL) : k.VL;
    }
    for (int a = 0; a < int(axes.size()); ++a)
      if (extent(a) > 1 && a != s.vectorAxis)
        s.rowAxes.push_back(a);
    if (s.vectorAxis >= 0 && !s.inBlock) {
      s.innerAxis = s.vectorAxis;
    } else if (!s.rowAxes.empty()) {
      s.innerAxis = s.rowAxes.pop_back_val();
    }
    if (s.innerAxis >= 0) {
      s.innerElements = extent(s.innerAxis);
      int64_t step = s.innerAxis == s.vectorAxis ? s.lanes : 1;
      s.innerSteps = (s.innerElements + step - 1) / step;
    }
    for (int a : s.rowAxes)
      s.rows *= extent(a);
  }
  double elementsPerStep =
      s.inBlock ? double(axes[s.vectorAxis].extent) : s.lanes;
  double rowWork = work * s.innerSteps * elementsPerStep;
  SmallVector<int64_t> rowExtents;
  for (int a : s.rowAxes)
    rowExtents.push_back(extent(a));
  s.chunk = s.innerSteps;
  if (singleTile) {
    s.grid = UnitGrid::single(rowExtents);
    return s;
  }
  s.grid = UnitGrid(rowExtents, rowWork);
  if (rowWork > tileWork) {
    s.chunks =
        std::min<int64_t>(s.innerSteps, std::llround(rowWork / tileWork));
    s.chunks = std::max<int64_t>(s.chunks, 1);
    s.chunk = (s.innerSteps + s.chunks - 1) / s.chunks;
    s.chunks = (s.innerSteps + s.chunk - 1) / s.chunk;
  }
  assert((s.chunks == 1 || s.grid.tiles() == s.rows) &&
         "a row that is cut is more than a tile");
  return s;
}

TileMap::Part KernelEmitter::partOf(const Box &box) const {
  Shape s = shapeOf(box);
  TileMap::Part part;
  if (order == LaneOrder::Flat) {
    part.box.lo = {0};
    part.box.hi = {s.innerElements};
    part.cuts.push_back({0, s.chunks, s.chunk * s.lanes});
    return part;
  }
  part.box = box;
  SmallVector<unsigned> axes(s.rowAxes.begin(), s.rowAxes.end());
  part.cuts = s.grid.cuts(axes, SmallVector<int64_t>(axes.size(), 1));
  if (s.chunks > 1) {
    int64_t step = s.innerAxis == s.vectorAxis ? s.lanes : 1;
    part.cuts.push_back({unsigned(s.innerAxis), s.chunks, s.chunk * step});
  }
  return part;
}

void KernelEmitter::emitElements(ArrayRef<Coord> position,
                                 std::optional<Coord> known) {
  const TensorView &out = program.output;
  assert(position.size() == out.axes.size() && "a position along each axis");
  Coords index(out.shape.size(), Coord(0));
  for (size_t a = 0; a < out.axes.size(); ++a)
    index[out.axes[a].dim] = e.at.add(index[out.axes[a].dim],
                                      e.at.mul(position[a], out.axes[a].step));
  Coord offset = known.value_or(Coord(0));
  for (size_t a = 0; !known && a < out.axes.size(); ++a)
    offset = e.at.add(offset, e.at.mul(position[a], out.axes[a].stride));

  assert(!offset.vector && (e.at.lanes == 1 || offset.stride == 1) &&
         "lanes lie side by side in the result");

  // Padding becomes zero.
  Condition inside;
  for (size_t d = 0; d < out.shape.size(); ++d) {
    if (index[d].hi < out.shape[d])
      continue;
    inside = e.at.both(inside, e.at.less(index[d], out.shape[d]));
    if (out.shape[d] > 1 || !index[d].isUniform())
      index[d].hi = std::min(index[d].hi, out.shape[d] - 1);
  }
  e.setRoot(index, out, offset);
  double before = e.cost;
  Type element =
      cast<RankedTensorType>(layer->getResult(0).getType()).getElementType();
  Value x = e.guarded(inside, k.number(0, computeType(element)),
                      [&] { return e.element(program.root, index); });
  x = toStorage(k, e.allLanes(x), element);
  if (e.hasStaticTail() && e.at.active == 1)
    k.storePart(x, output, offset.base, 1);
  else if (e.hasStaticTail())
    vector::MaskedStoreOp::create(k.b, output, ValueRange{k.val(offset.base)},
                                  e.mask, x);
  else
    k.store(x, output, offset.base);
  if (nextResults)
    k.prefetchForStore(output, k.add(offset.base, nextResults));
  total += (e.cost - before + 1) * weight;
}

void KernelEmitter::emitBox(const Box &box, int64_t firstTile, Value begin,
                            Value end) {
  ArrayRef<Axis> axes = program.output.axes;
  Shape s = shapeOf(box);
  auto extent = [&](int a) { return box.hi[a] - box.lo[a]; };
  Coords position;
  for (size_t a = 0; a < axes.size(); ++a)
    position.push_back(Coord(box.lo[a]));
  assert((!s.inBlock || axes[s.vectorAxis].extent % s.lanes == 0) &&
         "a block is whole vectors");
  int64_t inBlockSteps = s.inBlock ? axes[s.vectorAxis].extent / s.lanes : 1;
  total += double(s.rows) * (2 + 6 * s.rowAxes.size());

  // The elements at `step` of the inner loop.
  auto elements = [&](Index step, int64_t active) {
    bool vectorInner = s.innerAxis >= 0 && s.innerAxis == s.vectorAxis;
    auto coordOf = [&](Index i, int64_t scale, int64_t last) {
      if (i.isConstant())
        return Coord(i.constant * scale);
      return Coord(k.val(k.mul(i, scale)), 0, last, scale);
    };
    auto body = [&] {
      if (order == LaneOrder::Flat) {
        Coord linear =
            coordOf(step, s.lanes, (s.innerElements - 1) / s.lanes * s.lanes);
        linear.stride = 1;
        linear.hi = std::min(linear.hi + s.lanes - 1, s.innerElements - 1);
        int64_t stride = 1;
        for (size_t a = axes.size(); a-- > 0;) {
          position[a] = e.at.rem(e.at.div(linear, stride), axes[a].extent);
          stride *= axes[a].extent;
        }
        return emitElements(position, linear);
      }
      if (vectorInner) {
        Coord c =
            coordOf(step, s.lanes, (s.innerElements - 1) / s.lanes * s.lanes);
        c.stride = 1;
        c.hi = std::min(c.hi + active - 1, s.innerElements - 1);
        position[s.innerAxis] = e.at.add(c, Coord(box.lo[s.innerAxis]));
        return emitElements(position);
      }
      if (s.innerAxis >= 0)
        position[s.innerAxis] = e.at.add(coordOf(step, 1, s.innerElements - 1),
                                         Coord(box.lo[s.innerAxis]));
      if (!s.inBlock)
        return emitElements(position);
      auto piece = [&](Index j) {
        Coord c = coordOf(j, s.lanes, axes[s.vectorAxis].extent - s.lanes);
        c.stride = 1;
        c.hi += s.lanes - 1;
        position[s.vectorAxis] = c;
        emitElements(position);
      };
      if (inBlockSteps <= 2) {
        for (int64_t j = 0; j < inBlockSteps; ++j)
          piece(Index(j));
        return;
      }
      double old = weight;
      weight *= inBlockSteps;
      k.repeat(inBlockSteps, piece);
      weight = old;
    };
    e.withLanes(s.lanes, active, body);
  };

  // The steps of a row whose position is set.
  auto steps = [&](Index from, Index to, Value isLast) {
    bool vectors = s.lanes > 1 && !s.inBlock;
    int64_t whole = vectors ? s.innerElements / s.lanes : s.innerSteps;
    int64_t tail = vectors ? s.innerElements % s.lanes : 0;
    double old = weight;
    if (whole == 1 && s.chunks == 1 && !tileOf.count(s.innerAxis)) {
      elements(Index(0), s.lanes);
    } else if (whole > 0) {
      weight = old * whole;
      Index limit = tail ? k.min(to, whole) : to;
      hoistedLoop(k, from, limit, 1,
                  [&](Value i) { elements(Index(i), s.lanes); });
      weight = old;
    }
    if (tail) {
      auto last = [&] { elements(Index(whole), tail); };
      if (isLast)
        k.ifThen(isLast, last);
      else
        last();
    }
  };
  auto row = [&](Index r, Index from, Index to, Value isLast) {
    int64_t below = 1;
    for (int a : llvm::reverse(s.rowAxes)) {
      Coord c =
          r.isConstant() ? Coord(r.constant) : Coord(k.val(r), 0, s.rows - 1);
      c = e.at.div(c, below);
      if (below * extent(a) < s.rows)
        c = e.at.rem(c, extent(a));
      position[a] = e.at.add(c, Coord(box.lo[a]));
      below *= extent(a);
    }
    steps(from, to, isLast);
  };
  if (cells) {
    // The rows of a tile, by a loop for each axis.
    std::function<void(ArrayRef<int>)> rows = [&](ArrayRef<int> rowAxes) {
      if (rowAxes.empty()) {
        auto inner = tileOf.find(s.innerAxis);
        if (inner == tileOf.end())
          return steps(0, s.innerSteps, Value());
        int64_t step = s.innerAxis == s.vectorAxis ? s.lanes : 1;
        auto [first, last] = inner->second;
        Index to = k.div(k.add(last, step - 1), step);
        return steps(k.div(first, step), to, k.less(s.innerSteps - 1, to));
      }
      int axis = rowAxes.front();
      auto part = tileOf.find(axis);
      Index first = 0, last = extent(axis);
      if (part != tileOf.end())
        std::tie(first, last) = part->second;
      hoistedLoop(k, first, last, 1, [&](Value v) {
        position[axis] =
            e.at.add(Coord(v, 0, extent(axis) - 1), Coord(box.lo[axis]));
        rows(rowAxes.drop_front());
      });
    };
    if (order == LaneOrder::Rows && !s.rowAxes.empty())
      nextResults = axes[s.rowAxes.front()].stride;
    rows(s.rowAxes);
    nextResults = 0;
    return;
  }

  double old = weight;
  weight *= s.rows;
  // The tiles [lo, hi) of this box.
  auto emitTiles = [&](Index lo, Index hi) {
    if (s.chunks == 1)
      return s.grid.forRanges(k, lo, hi, [&](Index first, Index last) {
        if (s.rows == 1)
          return k.loop(first, last, 1, [&](Value) {
            row(Index(0), 0, s.innerSteps, Value());
          });
        hoistedLoop(k, first, last, 1,
                    [&](Value r) { row(Index(r), 0, s.innerSteps, Value()); });
      });
    k.loop(lo, hi, 1, [&](Value t) {
      Index from = k.mul(k.rem(Index(t), s.chunks), s.chunk);
      Index to = k.min(k.add(from, s.chunk), s.innerSteps);
      row(k.div(Index(t), s.chunks), from, to, k.less(s.innerSteps - 1, to));
    });
  };
  if (singleTile) {
    if (s.rows == 1)
      row(Index(0), 0, s.innerSteps, Value());
    else
      emitTiles(Index(0), Index(1));
  } else if (firstTile) {
    emitTiles(k.sub(k.max(begin, firstTile), firstTile),
              k.min(k.sub(end, firstTile), s.tiles()));
  } else {
    emitTiles(begin, k.min(end, s.tiles()));
  }
  weight = old;
}

/// The cuts of the plane's axes: rows and columns, or runs of pixels where both
/// are one axis. Vectors along an axis and blocks are not cut.
SmallVector<TileMap::Cut> KernelEmitter::cutsOfPlane(const Shape &shape) const {
  SmallVector<TileMap::Cut> cuts;
  auto cut = [&](unsigned dim, int64_t size) {
    ArrayRef<Axis> axes = program.output.axes;
    for (int a = 0; a < int(axes.size()); ++a) {
      if (axes[a].dim != dim)
        continue;
      size = llvm::divideCeil(size, axes[a].step);
      if (a == shape.vectorAxis)
        size = int64_t(llvm::alignTo(size, shape.lanes));
      int64_t count = llvm::divideCeil(axes[a].extent, size);
      if (count > 1)
        cuts.push_back({unsigned(a), count, size});
      return; // the others are inside of a block
    }
  };
  if (plane[0] != plane[1])
    cut(plane[0], cells->rows);
  cut(plane[1], cells->cols);
  return cuts;
}

/// Emits the tiles of a kernel in cells, each of which has its part of all
/// boxes, and tells the map. Returns how many tiles there are.
int64_t KernelEmitter::emitCells(TileMap &map, ArrayRef<Box> boxes, Value begin,
                                 Value end) {
  SmallVector<TileMap::Cut> cuts = cutsOfPlane(shapeOf(map.whole()));
  map = TileMap::grid(map.axes, cuts);
  k.loop(begin, end, 1, [&](Value tile) {
    Index rest = tile;
    for (const TileMap::Cut &cut : llvm::reverse(cuts)) {
      Index first = k.mul(k.rem(rest, cut.count), cut.size);
      Index last =
          k.min(k.add(first, cut.size), program.output.axes[cut.axis].extent);
      rest = k.div(rest, cut.count);
      tileOf[int(cut.axis)] = {first, last};
    }
    for (const Box &box : boxes)
      emitBox(box, 0, begin, end);
  });
  return map.tiles();
}

KernelInfo KernelEmitter::emit(StringRef symbol) {
  KernelInfo info;
  info.tiles = 0;
  auto body = [&](ValueRange operands, Value, Value begin, Value end) {
    output = operands[0];
    if (program.output.elements() == 0)
      return;
    assert(program.leaves.size() + 1 == operands.size() &&
           "a leaf for each operand of the layer");
    for (auto [leaf, memory] : llvm::zip(program.leaves, operands.drop_front()))
      e.addLeaf(leaf, memory);
    work = workPerElement(program);
    singleTile = cells || work * program.output.elements() < 2 * tileWork;
    TileMap map;
    for (const Axis &axis : program.output.axes)
      map.axes.push_back({axis.extent, axis.stride});
    std::vector<Box> boxes = boxesOf(e, program, map.whole(), plane);
    if (cells) {
      info.tiles = emitCells(map, boxes, begin, end);
      info.maps.push_back(std::move(map));
      return;
    }
    // Such boxes are cut from memory.
    if (order == LaneOrder::Flat) {
      map.axes.assign(1, {program.output.elements(), 1});
      boxes.resize(1);
    }
    if (singleTile) {
      info.tiles = 1;
      info.maps.push_back(TileMap::grid(map.axes, {}));
      k.loop(begin, end, 1, [&](Value) {
        for (const Box &box : boxes)
          emitBox(box, 0, begin, end);
      });
      return;
    }
    for (const Box &box : boxes) {
      emitBox(box, info.tiles, begin, end);
      map.parts.push_back(partOf(box));
      info.tiles += shapeOf(box).tiles();
    }
    info.maps.push_back(std::move(map));
  };
  k.kernel(symbol, layer, body);
  if (info.tiles == 0)
    return info;
  auto resultType = cast<RankedTensorType>(layer->getResult(0).getType());
  for (auto [i, leaf] : llvm::enumerate(program.leaves)) {
    auto type = cast<RankedTensorType>(layer->getOperand(i).getType());
    if (type.getShape() == resultType.getShape() &&
        type.getEncoding() == resultType.getEncoding() &&
        nn::storageElementSize(type.getElementType()) ==
            nn::storageElementSize(resultType.getElementType()) &&
        e.isReadInPlace(leaf))
      info.inPlaceOperands.push_back(i);
  }
  return info;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// Emits a kernel that computes the result of `layer` element by element: loops
/// over the result's memory, in whichever of a few ways promises to cost least.
/// In cells it is the same way, but for lanes across axes, which go along rows
/// then: each lane computes its element all the same.
static KernelInfo
emitElementKernel(KernelBuilder &k, Operation *layer, StringRef symbol,
                  const std::optional<Cells> &cells = std::nullopt) {
  ElementProgram program = ElementProgram::of(layer);
  // Vectors of indices are i32 unless a tensor is too large for that.
  int64_t largest = llvm::product_of(program.output.shape);
  auto look = [&](Value v) {
    largest = std::max(
        largest, nn::Layout::of(cast<RankedTensorType>(v.getType())).size());
  };
  llvm::for_each(program.leaves, look);
  bool scalarOnly = false;
  for (Operation *op : program.ops) {
    look(op->getResult(0));
    scalarOnly |= isa<nn::RoiAlignOp>(op);
  }
  bool wide = largest >= std::numeric_limits<int32_t>::max() / 2;
  Type laneType = wide ? k.b.getI64Type() : k.b.getI32Type();

  struct Candidate {
    OwningOpRef<func::FuncOp> function;
    KernelInfo info;
    double cost = std::numeric_limits<double>::infinity();
    LaneOrder order = LaneOrder::Rows;
  };
  Candidate best;
  auto attempt = [&](LaneOrder order) {
    KernelEmitter emitter(k, layer, order, laneType);
    KernelInfo info = emitter.emit(symbol);
    auto function =
        k.module.lookupSymbol<func::FuncOp>((symbol + kernelBodySuffix).str());
    function->remove();
    OwningOpRef<func::FuncOp> owner(function);
    if (emitter.cost() < best.cost)
      best = {std::move(owner), info, emitter.cost(), order};
    return emitter.cost();
  };
  // Weighs plans against the cost of one instruction for every access.
  bool flatPossible = !scalarOnly;
  int64_t innermost = 1;
  {
    ElementEmitter views(k, laneType);
    simplifyViews(views, program);
    for (const Axis &axis : program.output.axes) {
      flatPossible &= program.output.block(axis.dim) == 1;
      if (axis.extent > 1)
        innermost = axis.extent;
    }
  }
  if (scalarOnly) {
    attempt(LaneOrder::Scalar);
  } else {
    double cost = attempt(LaneOrder::Rows);
    if (flatPossible && innermost < k.VL &&
        innermost < program.output.elements())
      attempt(LaneOrder::Flat);
    // Sums along contiguous elements are vectors even where results come
    // singly.
    bool sums = llvm::any_of(program.ops, [](Operation *op) {
      return isa<nn::ReduceOp, nn::MatMulOp>(op);
    });
    double perfect = double(program.output.elements()) / k.VL *
                     (workPerElement(program) + program.ops.size() + 4);
    if (sums && cost > perfect)
      attempt(LaneOrder::Scalar);
  }
  if (cells) {
    LaneOrder order =
        best.order == LaneOrder::Scalar ? LaneOrder::Scalar : LaneOrder::Rows;
    return KernelEmitter(k, layer, order, laneType, cells).emit(symbol);
  }
  k.module.push_back(best.function.release());
  return best.info;
}

namespace {

/// The routine of last resort, and the right one for layers that only move
/// elements or compute them singly.
class ElementRoutine : public CpuRoutine {
public:
  ElementRoutine()
      : CpuRoutine(
            "element",
            "any layer of one result, element by element; chains of layers in "
            "one pass") {}
  std::string misfit(Operation *layer) const override {
    return hasElementKernel(layer) ? "" : noElementKernel;
  }
  bool isFallback() const override { return true; }
  LayoutRequest layouts(Operation *layer) const override {
    return anyLayouts(layer);
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    return emitElementKernel(k, layer, symbol);
  }
  std::optional<Cells> cellsAlong(Operation *layer, unsigned rowDim,
                                  unsigned colDim) const override {
    RankedTensorType type = nn::typeOf(layer->getResult(0));
    int64_t rows = type.getDimSize(rowDim), cols = type.getDimSize(colDim);
    // Others are not worth their code.
    constexpr int64_t leastPixels = 256;
    TensorView view = TensorView::of(type);
    if (rows * cols < leastPixels || view.block(rowDim) > 1 ||
        view.block(colDim) > 1)
      return std::nullopt;
    // Short pieces of rows that lie in memory one behind the other are parts of
    // vectors and of cache lines.
    constexpr int64_t runRows = 2, runCols = 32;
    bool isRun = view.axes.back().dim == colDim;
    Cells cells = isRun ? Cells{pieceOf(rows, runRows), pieceOf(cols, runCols)}
                        : cellsOf(rows, cols, cellCols, CellGrain::Fine);
    cells.rowDim = rowDim, cells.colDim = colDim;
    return cells;
  }
  KernelInfo emitCells(KernelBuilder &k, Operation *layer, StringRef symbol,
                       const Cells &size) const override {
    return emitElementKernel(k, layer, symbol, size);
  }
  bool hasCellsOfAnyDim() const override { return true; }
  Work work(Operation *layer) const override { return elementWork(layer); }
};

} // namespace

Variants codegen::elementRoutine() { return onlyRoutine<ElementRoutine>(); }
