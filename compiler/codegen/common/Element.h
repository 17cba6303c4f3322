//===- Element.h - One element of a tensor, computed in place ---*- C++ -*-===//
//
// The generic way to compute a layer, or the layers of a nn.fuse: `element`
// gives the value of a tensor at a logical index, for one element or for some
// lanes along a dimension, by recursion through the layers down to memory. It
// works for every layout, since only leaves and the result know theirs.
//
// A layer is a function in a table (elementFunctions) that calls `element` for
// its operands at other indices.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_ELEMENT_H
#define NNV12_COMPILER_CODEGEN_COMMON_ELEMENT_H

#include "compiler/codegen/common/Coord.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace nnv12::codegen {

/// A tensor's logical shape and, if it lies in memory, its layout. A kernel may
/// work with a simpler view of the tensor than its type (dimensions merged).
struct TensorView {
  SmallVector<int64_t> shape;
  SmallVector<nn::Layout::Axis> axes;
  static TensorView of(mlir::RankedTensorType type);
  int64_t elements() const;
  /// Whether memory has more than the elements: whole blocks.
  bool isPadded() const;
  int64_t block(unsigned dim) const;
  /// Whether equal indices are equal offsets.
  bool isLike(const TensorView &other) const;
};

class ElementEmitter {
public:
  ElementEmitter(BuilderBase &k, Type laneType) : k(k), at(k, laneType) {}

  BuilderBase &k;
  CoordMath at; ///< coordinate arithmetic; holds the number of lanes
  Value mask;   ///< lanes that may touch memory; null means all
  /// A lane that is not active is past the end of a vector known now.
  bool hasStaticTail() const { return at.active < at.lanes; }

  /// Tells that `tensor` is to be read from `memory`.
  void addLeaf(Value tensor, Value memory) { leaves[tensor] = memory; }
  /// Tells the elements of `tensor` themselves, in the compute type: a scalar
  /// or a vector of all lanes. They count at every index that is asked for.
  void addValue(Value tensor, Value elements) { values[tensor] = elements; }
  /// Whether the tensor is read from memory, not computed by this kernel.
  bool isLeaf(Value tensor) const { return leaves.count(tensor); }
  void setView(Value tensor, TensorView view) {
    views[tensor] = std::make_unique<TensorView>(std::move(view));
  }
  const TensorView &view(Value tensor);
  static Type elementType(Value tensor) {
    return nn::typeOf(tensor).getElementType();
  }
  static bool isUnsigned(Value tensor) {
    return elementType(tensor).isUnsignedInteger();
  }

  /// The tensor's elements at `index`, in the compute type: a scalar if the
  /// index is uniform, else a scalar (all lanes equal) or a vector.
  Value element(Value tensor, ArrayRef<Coord> index);
  /// As a vector of all lanes (or as it is, if there is one lane).
  Value allLanes(Value x);
  /// Makes both vectors if one of them is.
  void unify(Value &x, Value &y);
  /// emitBinary() of scalars or vectors.
  Value binary(nn::BinaryKind kind, Value x, Value y, bool isUnsigned = false);
  Value select(Value condition, Value x, Value y);
  Value select(const Condition &condition, Value x, Value y);

  /// inside ? then() : otherwise. then() is emitted so that memory is touched
  /// only where the condition holds.
  Value guarded(const Condition &inside, Value otherwise,
                function_ref<Value()> then);
  /// condition (one for all lanes) ? then() : otherwise(), both of `type`.
  Value choose(Value condition, Type type, function_ref<Value()> then,
               function_ref<Value()> otherwise);
  /// A nest of loops over `extents`, outermost first, with carried values.
  Values accumulate(ArrayRef<int64_t> extents, const Values &init,
                    function_ref<Values(ArrayRef<Coord>, ValueRange)> body);
  /// One loop from lo to hi with carried values.
  Values loop(Index lo, Index hi, Index step, const Values &init,
              function_ref<Values(Value, ValueRange)> body);
  /// Runs `body` with `lanes` lanes, of which `active` count, where there was
  /// one.
  void withLanes(int64_t lanes, int64_t active, function_ref<void()> body);
  /// The dimension of `tensor` along which elements follow each other in
  /// memory, or -1.
  int contiguousDim(Value tensor);

  /// Row-major position of an index, and the reverse.
  Coord linearize(ArrayRef<Coord> index, ArrayRef<int64_t> shape);
  Coords delinearize(Coord linear, ArrayRef<int64_t> shape);
  /// Index of an operand that broadcasts to a result of rank index.size().
  Coords broadcastIndex(ArrayRef<Coord> index, ArrayRef<int64_t> shape);
  /// An index read from an integer tensor, as ONNX: negative ones count from
  /// the end, and any is clamped into [0, size).
  Coord indexFrom(Value tensor, ArrayRef<Coord> index, int64_t size);

  /// Offset in memory; the coordinates' structure decides how to load.
  Coord offset(const TensorView &view, ArrayRef<Coord> index);
  /// Stored elements at an offset, a scalar if it is uniform.
  Value load(Value memory, const Coord &offset);
  /// A constant table in the code segment, as memory.
  Value table(ArrayRef<double> values, Type element);

  /// Marks the result's index, for the analysis of operands that may share its
  /// memory. A leaf that lies in memory as the result does is read at `offset`,
  /// too.
  void setRoot(Coords index, const TensorView &memory, Coord offset) {
    root = std::move(index);
    rootMemory = &memory;
    rootOffset = offset;
  }
  /// Whether every access to the leaf so far was at the root index.
  bool isReadInPlace(Value tensor) const {
    return !readElsewhere.count(tensor);
  }

  /// Instructions so far, roughly, weighted by the loops around them.
  double cost = 0;
  void addCost(double c) { cost += c * weight; }

private:
  struct Memo {
    Value tensor, mask;
    Coords index;
    int64_t lanes, active;
    Value result;
  };
  /// Values emitted in a region are not seen after it.
  struct Scope {
    ElementEmitter &e;
    size_t size;
    double weight;
    Scope(ElementEmitter &e, double times = 1)
        : e(e), size(e.memos.size()), weight(e.weight) {
      e.weight *= times;
    }
    ~Scope() {
      e.memos.resize(size);
      e.weight = weight;
    }
  };

  Value computeElement(Value tensor, ArrayRef<Coord> index);

  llvm::DenseMap<Value, Value> leaves, values;
  llvm::DenseMap<Value, std::unique_ptr<TensorView>> views;
  llvm::DenseMap<Value, char> readElsewhere;
  std::vector<Memo> memos;
  Coords root;
  const TensorView *rootMemory = nullptr;
  Coord rootOffset;
  double weight = 1;
};

class ElementTypes;

/// How a kind of layer computes an element. `index` has the result's rank.
struct ElementFunction {
  StringRef layer; ///< name of the operation
  Value (*emit)(ElementEmitter &e, Operation *op, ArrayRef<Coord> index);
  /// Declares the types of emit()'s values, and the operands that it reads.
  void (*types)(ElementTypes &t, Operation *op);
};

/// Null for a layer that has no element function.
const ElementFunction *elementFunction(Operation *op);

/// The tables, by file.
ArrayRef<ElementFunction> pointwiseFunctions();
ArrayRef<ElementFunction> movementFunctions();
ArrayRef<ElementFunction> quantizedFunctions();
ArrayRef<ElementFunction> reductionFunctions();
ArrayRef<ElementFunction> resamplingFunctions();

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_ELEMENT_H
