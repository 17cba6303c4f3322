//===- LayerBuilder.h - Builds layers with a latched error ------*- C++ -*-===//
//
// Handlers of ONNX operators are sequences of calls to this. After the first
// fault everything does nothing: values are null, shapes empty, and dimensions
// one, so that a handler need not test after each step.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_IMPORT_LAYERBUILDER_H
#define NNV12_COMPILER_IMPORT_LAYERBUILDER_H

#include "dialects/nn/NNBuild.h"
#include "llvm/ADT/Sequence.h"

namespace nnv12::importer {

using mlir::Type;
using mlir::Value;
using Ints = llvm::SmallVector<int64_t>;
using Doubles = llvm::SmallVector<double>;
using Values = llvm::SmallVector<Value>;
using nn::BinaryKind;
using nn::ReduceKind;
using nn::str;
using nn::UnaryKind;

/// The value of a function after a fault: null, nothing, or false.
struct Refusal {
  operator bool() const { return false; }
  operator Value() const { return {}; }
  operator Values() const { return {}; }
  operator Type() const { return {}; }
  operator mlir::RankedTensorType() const { return {}; }
  operator mlir::ElementsAttr() const { return {}; }
};

class LayerBuilder {
public:
  /// `prefix` starts every message, e.g. "model.onnx: node 'x' (Add): ".
  LayerBuilder(mlir::OpBuilder &builder, mlir::Location loc, std::string prefix,
               uint64_t maxTensorBytes)
      : b(builder), loc_(loc), prefix_(std::move(prefix)),
        maxTensorBytes_(maxTensorBytes) {}

  //===--- Errors ---------------------------------------------------------===//

  bool failed() const { return failed_; }
  /// Reports the first fault, and nothing after it.
  void fail(const llvm::Twine &message);
  /// "found X, expected Y".
  void fail(const llvm::Twine &found, const llvm::Twine &expected);
  /// The same where a result is due.
  Refusal refuse(const llvm::Twine &found, const llvm::Twine &expected) {
    fail(found, expected);
    return {};
  }
  /// After a fault that has been reported elsewhere.
  void abandon() { failed_ = true; }
  mlir::Location loc() const { return loc_; }
  mlir::MLIRContext *context() const { return b.getContext(); }

  //===--- Types ----------------------------------------------------------===//

  Ints shape(Value v) const;
  int64_t rank(Value v) const;
  int64_t dim(Value v, int64_t i) const; ///< 1 if there is none
  int64_t size(Value v) const;           ///< number of elements
  Type elem(Value v) const;              ///< f32 for a null value
  bool isFloat(Value v) const;
  bool isConstant(Value v) const;
  Type f32() { return b.getF32Type(); }
  Type i64() { return b.getI64Type(); }
  Type i32() { return b.getI32Type(); }
  Type i1() { return b.getI1Type(); }
  /// Null after a fault: a negative dimension, or a size beyond the limit.
  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape, Type element);
  /// Makes room for a constant that the compiler computes; a fault if there is
  /// none (nn::ConstantBudget).
  bool reserve(mlir::RankedTensorType type);
  /// In [0, rank), counting from the end if negative.
  int64_t axis(int64_t axis, int64_t rank);
  Ints axes(llvm::ArrayRef<int64_t> axes, int64_t rank);
  /// All of v's dimensions from `first` on.
  Ints axesFrom(int64_t first, Value v) const {
    return llvm::to_vector(llvm::seq(first, std::max(first, rank(v))));
  }
  /// Whether the value has a rank in [low, high], else a fault.
  bool expectRank(Value v, int64_t low, int64_t high, const char *what);
  /// Whether the value, unless it is null, has this shape, else a fault.
  bool expectShape(Value v, llvm::ArrayRef<int64_t> expected, const char *what);
  /// The shape to which both broadcast.
  Ints broadcastShape(llvm::ArrayRef<int64_t> lhs, llvm::ArrayRef<int64_t> rhs);

  //===--- Constants ------------------------------------------------------===//

  Value constant(mlir::ElementsAttr value);
  Value scalar(Type element, double value); ///< rank 0
  Value splat(llvm::ArrayRef<int64_t> shape, Type element, double value);
  Value ints(llvm::ArrayRef<int64_t> values); ///< i64, rank 1
  Value ints(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> values);
  Value doubles(llvm::ArrayRef<int64_t> shape, Type element,
                llvm::ArrayRef<double> values);
  /// Elements by their row-major index.
  Value generate(llvm::ArrayRef<int64_t> shape, Type element,
                 llvm::function_ref<double(int64_t)> value);
  /// The elements of a constant value; nullopt (no fault) for any other.
  std::optional<nn::ConstantData> data(Value v) const {
    return nn::ConstantData::get(v);
  }

  //===--- Layers ---------------------------------------------------------===//

  Value unary(UnaryKind kind, Value x, llvm::ArrayRef<double> params = {});
  Value binary(BinaryKind kind, Value x, Value y);
  Value add(Value x, Value y) { return binary(BinaryKind::add, x, y); }
  Value sub(Value x, Value y) { return binary(BinaryKind::sub, x, y); }
  Value mul(Value x, Value y) { return binary(BinaryKind::mul, x, y); }
  Value div(Value x, Value y) { return binary(BinaryKind::div, x, y); }
  /// The same with a number of x's type.
  Value binary(BinaryKind kind, Value x, double y);
  Value add(Value x, double y) { return binary(BinaryKind::add, x, y); }
  Value sub(Value x, double y) { return binary(BinaryKind::sub, x, y); }
  Value mul(Value x, double y) { return binary(BinaryKind::mul, x, y); }
  Value div(Value x, double y) { return binary(BinaryKind::div, x, y); }
  Value square(Value x) { return mul(x, x); }
  Value logicalNot(Value x) { return unary(UnaryKind::logical_not, x); }
  Value select(Value condition, Value x, Value y);
  /// To bool means: is not zero. `saturate` and `rounding` as in nn.cast.
  Value cast(Value x, Type element, bool saturate = true,
             nn::Rounding rounding = nn::Rounding::nearest);
  /// One size may be -1: the rest of the elements.
  Value reshape(Value x, llvm::ArrayRef<int64_t> shape);
  /// Inserts dimensions of size one; `axes` count in the result.
  Value unsqueeze(Value x, llvm::ArrayRef<int64_t> axes);
  Value transpose(Value x, llvm::ArrayRef<int64_t> perm);
  Value broadcast(Value x, llvm::ArrayRef<int64_t> shape);
  Value slice(Value x, llvm::ArrayRef<int64_t> starts,
              llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> steps);
  /// Elements [start, start + size) along one axis.
  Value slice(Value x, int64_t axis, int64_t start, int64_t size,
              int64_t step = 1);
  /// Element `index` of one axis, without that dimension.
  Value sliceAt(Value x, int64_t axis, int64_t index);
  Value concat(llvm::ArrayRef<Value> values, int64_t axis);
  /// Negative pads cut. A null `value` is zero.
  Value pad(Value x, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
            nn::PadMode mode = nn::PadMode::constant, Value value = Value());
  Value gather(Value x, Value indices, int64_t axis);
  Value reduce(ReduceKind kind, Value x, llvm::ArrayRef<int64_t> axes,
               bool keepDims);
  Value argReduce(ReduceKind kind, Value x, int64_t axis, bool keepDims,
                  bool selectLast);
  Value softmax(Value x, int64_t axis, bool log = false);
  Value normalize(Value x, int64_t axis, double epsilon);
  Value matmul(Value lhs, Value rhs, Value bias = Value(),
               bool transposeLhs = false, bool transposeRhs = false);

  /// Any layer by its name, for layers without a helper above. Results are null
  /// after a fault; there are as many as `count`.
  Values create(llvm::StringRef name, llvm::ArrayRef<Value> operands,
                llvm::ArrayRef<mlir::NamedAttribute> attributes,
                mlir::TypeRange types = {}, unsigned count = 1);
  template <typename OpTy>
  Value create(llvm::ArrayRef<Value> operands,
               llvm::ArrayRef<mlir::NamedAttribute> attributes,
               mlir::TypeRange types = {}) {
    return create(OpTy::getOperationName(), operands, attributes, types)[0];
  }

  //===--- Attributes of layers -------------------------------------------===//

  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Attribute value) {
    return b.getNamedAttr(name, value);
  }
  mlir::NamedAttribute attr(llvm::StringRef name, int64_t value) {
    return attr(name, b.getI64IntegerAttr(value));
  }
  mlir::NamedAttribute flag(llvm::StringRef name, bool value) {
    return attr(name, b.getBoolAttr(value));
  }
  mlir::NamedAttribute number(llvm::StringRef name, double value) {
    return attr(name, b.getF64FloatAttr(value));
  }
  mlir::NamedAttribute list(llvm::StringRef name,
                            llvm::ArrayRef<int64_t> values) {
    return attr(name, b.getDenseI64ArrayAttr(values));
  }
  template <typename AttrTy, typename Enum>
  mlir::NamedAttribute kind(llvm::StringRef name, Enum value) {
    return attr(name, AttrTy::get(context(), value));
  }
  nn::FunctionAttr function(UnaryKind kind,
                            llvm::ArrayRef<double> params = {}) {
    return nn::FunctionAttr::get(context(), kind, params);
  }

protected:
  mlir::OpBuilder &b;

private:
  mlir::Location loc_;
  std::string prefix_;
  uint64_t maxTensorBytes_;
  bool failed_ = false;
};

/// The sizes of a matrix with the dimensions before `axis` as its rows.
inline Ints outerInner(llvm::ArrayRef<int64_t> shape, int64_t axis) {
  return {llvm::product_of(shape.take_front(axis)),
          llvm::product_of(shape.drop_front(axis))};
}

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_LAYERBUILDER_H
