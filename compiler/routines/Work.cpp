//===- Work.cpp - The costs of a layer, counted ---------------------------===//

#include "compiler/routines/Work.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;

int64_t nnv12::elementsOf(Value tensor) {
  return llvm::product_of(shapeOf(tensor));
}

static double storageBytes(Value v) {
  return double(nn::storageSize(cast<RankedTensorType>(v.getType())));
}

static bool takesPart(OpOperand &operand) {
  auto layer = dyn_cast<nn::PartByPart>(operand.getOwner());
  return layer && layer.takesPart(operand.getOperandNumber());
}

/// Bytes of `v` that its users take.
static double takenBytes(Value v) {
  double all = storageBytes(v), taken = 0;
  for (OpOperand &use : v.getUses()) {
    if (!takesPart(use))
      return all;
    taken += storageBytes(use.getOwner()->getResult(0));
  }
  return std::min(all, taken);
}

double nnv12::bytesOf(Operation *layer) {
  double bytes = 0;
  auto fuse = dyn_cast<nn::FuseOp>(layer);
  for (OpOperand &operand : layer->getOpOperands()) {
    double all = storageBytes(operand.get());
    if (fuse)
      bytes += takenBytes(
          fuse->getRegion(0).getArgument(operand.getOperandNumber()));
    else if (takesPart(operand))
      bytes += std::min(all, storageBytes(layer->getResult(0)));
    else
      bytes += all;
  }
  for (Value result : layer->getResults())
    bytes += storageBytes(result);
  return bytes;
}

/// The length of a matmul's sums.
static int64_t depth(nn::MatMulOp op) {
  ArrayRef<int64_t> lhs = shapeOf(op.getLhs());
  return lhs[lhs.size() - (op.getTransposeLhs() && lhs.size() > 1 ? 2 : 1)];
}

double nnv12::definedMultiplyAdds(Operation *layer) {
  return llvm::TypeSwitch<Operation *, double>(layer)
      .Case<nn::ConvOp, nn::QConvOp>([](auto op) {
        return double(elementsOf(op.getOutput())) *
               double(llvm::product_of(shapeOf(op.getWeights()).drop_front()));
      })
      .Case<nn::ConvTransposeOp>([](auto op) {
        return double(elementsOf(op.getInput())) *
               double(llvm::product_of(shapeOf(op.getWeights()).drop_front()));
      })
      .Case<nn::MatMulOp>([](auto op) {
        return double(elementsOf(op.getOutput())) * double(depth(op));
      })
      .Case<nn::QMatMulOp, nn::BitsMatMulOp>([](auto op) {
        return double(elementsOf(op.getOutput())) *
               double(shapeOf(op.getLhs()).back());
      })
      .Case<nn::RecurrentOp>([](auto op) {
        return double(elementsOf(op.getGates())) *
               double(shapeOf(op.getRecurrentWeights())[1]);
      })
      .Default(0.0);
}

double nnv12::blockedMultiplyAdds(Operation *layer) {
  ArrayRef<int64_t> out = shapeOf(layer->getResult(0));
  bool isMatrix = isa<nn::MatMulOp, nn::QMatMulOp, nn::BitsMatMulOp>(layer);
  int64_t columns = isMatrix ? out.back() : out[1];
  llvm::TypeSwitch<Operation *>(layer)
      .Case<nn::ConvOp, nn::ConvTransposeOp, nn::QConvOp>([&](auto op) {
        assert(columns % op.getGroups() == 0 && "groups are of one size");
        columns /= op.getGroups();
      });
  return definedMultiplyAdds(layer) * double(llvm::alignTo(columns, 16)) /
         double(std::max<int64_t>(columns, 1));
}

static double functionSteps(nn::UnaryKind kind) {
  using K = nn::UnaryKind;
  switch (kind) {
  case K::identity:
  case K::abs:
  case K::neg:
  case K::relu:
  case K::leaky_relu:
  case K::clip:
  case K::affine:
  case K::hard_sigmoid:
  case K::hard_swish:
    return 1;
  default:
    return 10;
  }
}

double nnv12::elementSteps(Operation *layer) {
  if (auto fuse = dyn_cast<nn::FuseOp>(layer)) {
    double steps = 0;
    double size = std::max<int64_t>(elementsOf(fuse.getOutput()), 1);
    for (Operation &op : fuse->getRegion(0).front().without_terminator())
      steps += elementSteps(&op) * elementsOf(op.getResult(0)) / size;
    return steps;
  }
  return llvm::TypeSwitch<Operation *, double>(layer)
      .Case<nn::UnaryOp>(
          [](auto op) { return functionSteps(op.getFunction().getKind()); })
      .Case<nn::BinaryOp>(
          [](auto op) { return op.getKind() == nn::BinaryKind::pow ? 60 : 1; })
      .Case<nn::ReduceOp>([](auto op) {
        return double(elementsOf(op.getInput())) /
               std::max<int64_t>(elementsOf(op.getOutput()), 1);
      })
      .Case<nn::ArgReduceOp>(
          [](auto op) { return 2.0 * shapeOf(op.getInput())[op.getAxis()]; })
      .Case<nn::MatMulOp>([](auto op) { return 2.0 * depth(op); })
      .Case<nn::QMatMulOp, nn::BitsMatMulOp>(
          [](auto op) { return 2.0 * shapeOf(op.getLhs()).back() + 8; })
      .Case<nn::QuantizeOp>([](auto) { return 10; })
      .Case<nn::ConvOp, nn::QConvOp>([](auto op) {
        return 4.0 * llvm::product_of(shapeOf(op.getWeights()).drop_front());
      })
      .Case<nn::ConvTransposeOp>([](auto op) {
        return 6.0 * llvm::product_of(shapeOf(op.getWeights()).drop_front(2)) *
               shapeOf(op.getWeights())[0] / op.getGroups();
      })
      .Case<nn::PoolOp>(
          [](auto op) { return 4.0 * llvm::product_of(op.getKernel()); })
      .Case<nn::MaxPoolIndicesOp>(
          [](auto op) { return 6.0 * llvm::product_of(op.getKernel()); })
      .Case<nn::ResizeOp, nn::GridSampleOp>([](auto) { return 30; })
      .Case<nn::RoiAlignOp>([](auto) { return 200; })
      .Default(1.0);
}

Work nnv12::elementWork(Operation *layer) {
  return {elementSteps(layer) * double(elementsOf(layer->getResult(0))),
          bytesOf(layer)};
}

Work Routine::work(Operation *layer) const {
  return {definedMultiplyAdds(layer), bytesOf(layer)};
}
