//===- MergeGroups.cpp - Groups of whole blocks of channels ---------------===//
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNBuild.h"
#include "dialects/nn/NNDialect.h"
#include "passes/Passes.h"

#include <cassert>

namespace nnv12 {
#define GEN_PASS_DEF_MERGEGROUPS
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// Channels of a block: kernels of blocked layouts take whole ones.
static constexpr int64_t block = 16;

/// Whether kernels take groups of so many input and output channels.
static bool hasKernel(ConvOp op, int64_t inputs, int64_t outputs) {
  return op.getType().getRank() == 4 && inputs == outputs &&
         inputs <= block / 2 && llvm::isPowerOf2_64(inputs);
}
static bool hasKernel(QConvOp op, int64_t inputs, int64_t outputs) {
  return op.getType().getRank() == 4 && inputs == 1 && outputs == 1 &&
         !op.getRows();
}

static bool hasKernel(ConvTransposeOp op, int64_t inputs, int64_t outputs) {
  return op.getType().getRank() != 4 || (inputs == 1 && outputs == 1);
}

/// So many times as many products cost less than a kernel that computes one
/// element at a time.
static int64_t mostMerged(ConvOp) { return block / 2; }
static int64_t mostMerged(ConvTransposeOp) { return block / 2; }
static int64_t mostMerged(QConvOp) { return block; }

/// How many neighbouring groups fill whole blocks. 1: the layer is as it should
/// be, or no few do.
template <typename Op> static int64_t groupsOfBlocks(Op op) {
  ArrayRef<int64_t> weights = typeOf(op.getWeights()).getShape();
  // (Transposed convolutions have them the other way round.)
  int64_t groups = op.getGroups(), inputs = weights[1];
  int64_t outputs = groups ? weights[0] / groups : 0;
  bool hasKernels = weights.size() == 4 || weights.size() == 5;
  if (groups < 2 || !hasKernels || inputs == 0 || outputs == 0 ||
      hasKernel(op, inputs, outputs))
    return 1;
  for (int64_t count = 1; count <= mostMerged(op); ++count)
    if (count == groups ||
        (inputs * count % block == 0 && outputs * count % block == 0))
      return count;
  return 1;
}

/// Weights [O, count * C, kernel] of `count` groups each as one, or [C, count *
/// O, kernel] of a transposed convolution; elements that belong to another of
/// these groups are zero.
static ElementsAttr merged(const ConstantData &weights, RankedTensorType type,
                           int64_t groups, int64_t count) {
  ArrayRef<int64_t> shape = type.getShape();
  size_t rowBytes = weights.bytes().size() / shape[0];
  int64_t rows = shape[0] / groups;
  std::vector<char> bytes(rowBytes * shape[0] * count, 0);
  for (int64_t row = 0; row < shape[0]; ++row)
    llvm::copy(weights.bytes().slice(row * rowBytes, rowBytes),
               bytes.begin() + (row * count + row / rows % count) * rowBytes);
  SmallVector<int64_t> wide(shape);
  wide[1] *= count;
  return makeConstant(type.clone(wide), bytes);
}

namespace {
struct MergeGroups : nnv12::impl::MergeGroupsBase<MergeGroups> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (auto conv = dyn_cast<ConvOp>(op))
        merge(conv);
      else if (auto conv = dyn_cast<QConvOp>(op))
        merge(conv);
      else if (auto conv = dyn_cast<ConvTransposeOp>(op))
        merge(conv);
    });
  }

private:
  template <typename Op> void merge(Op op) {
    int64_t count = groupsOfBlocks(op), groups = op.getGroups();
    auto weights = ConstantData::get(op.getWeights());
    if (count == 1 || !weights || weights->bytes().empty())
      return;
    ++layers;
    int64_t rest = groups % count;
    if (rest == 0) {
      mergeAll(op, count);
      return;
    }
    OpBuilder b(op);
    Op first = part(b, op, 0, groups - rest),
       last = part(b, op, groups - rest, groups);
    mergeAll(first, count);
    mergeAll(last, rest);
    Value joined = ConcatOp::create(b, op.getLoc(), op.getType(),
                                    ValueRange{first, last}, 1);
    op.getOutput().replaceAllUsesWith(joined);
    op.erase();
  }

  /// A layer that computes groups [from, to) of the result.
  template <typename Op>
  static Op part(OpBuilder &b, Op op, int64_t from, int64_t to) {
    int64_t outputs = op.getType().getDimSize(1) / op.getGroups();
    Box box = Box::whole(op.getType().getShape());
    box.lo[1] = from * outputs;
    box.hi[1] = to * outputs;
    auto layer = cast<Op>(b.clone(*op));
    for (OpOperand &operand : layer->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      Box needed = op.neededPart(number, box, 0);
      RankedTensorType type = typeOf(operand.get());
      if (number == 0) // windows need all positions
        for (int64_t d = 2; d < type.getRank(); ++d) {
          needed.lo[d] = 0;
          needed.hi[d] = type.getDimSize(d);
        }
      SmallVector<int64_t> sizes, steps(type.getRank(), 1);
      for (auto [lo, hi] : llvm::zip(needed.lo, needed.hi))
        sizes.push_back(hi - lo);
      if (ArrayRef(sizes) != type.getShape())
        operand.set(b.createOrFold<SliceOp>(op.getLoc(), operand.get(),
                                            needed.lo, sizes, steps));
    }
    SmallVector<int64_t> shape(op.getType().getShape());
    shape[1] = (to - from) * outputs;
    layer.getOutput().setType(op.getType().clone(shape));
    layer.setGroups(to - from);
    layer->moveBefore(op); // behind the slices
    return layer;
  }

  template <typename Op> static void mergeAll(Op op, int64_t count) {
    if (count == 1)
      return;
    int64_t groups = op.getGroups();
    OpBuilder b(op);
    op.getWeightsMutable().assign(
        createConstant(b, op.getLoc(),
                       merged(*ConstantData::get(op.getWeights()),
                              typeOf(op.getWeights()), groups, count)));
    op.setGroups(groups / count);
    assert(succeeded(op.verify()) && "shapes fit");
  }
};
} // namespace
