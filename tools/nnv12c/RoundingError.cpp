//===- RoundingError.cpp - Error of f16 on a GPU --------------------------===//

#include "tools/nnv12c/RoundingError.h"

#include "compiler/codegen/gpu/HalfMemory.h"
#include "compiler/layers/ExecutionOrder.h"
#include "compiler/weights/Exact.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "tools/common/Compare.h"
#include "tools/common/Npy.h"
#include "tools/nnv12c/Subprogram.h"
#include "llvm/ADT/DenseSet.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace nnv12;
using codegen::HalfTensors;

namespace {
/// Puts roundings into a model.
class Rounding {
public:
  explicit Rounding(MLIRContext *context) : b(context) {}

  void add(Operation *layer, HalfTensors half) {
    for (unsigned i = 0; i < layer->getNumResults(); ++i)
      if (half.has(HalfTensors::result(i)))
        round(layer->getResult(i));
    for (OpOperand &operand : layer->getOpOperands())
      if (half.has(HalfTensors::operand(layer, operand.getOperandNumber())))
        if (auto constant = operand.get().getDefiningOp<nn::ConstantOp>())
          operand.set(rounded(constant));
  }

private:
  /// As kernels store it: the largest numbers stand for larger ones.
  void round(Value result) {
    if (!done.insert(result).second)
      return;
    b.setInsertionPointAfterValue(result);
    Location loc = result.getLoc();
    auto wide = cast<RankedTensorType>(result.getType());
    Type narrow = RankedTensorType::get(wide.getShape(), b.getF16Type(),
                                        wide.getEncoding());
    auto clip = nn::FunctionAttr::get(b.getContext(), nn::UnaryKind::clip,
                                      {-largestHalf, largestHalf});
    auto inside = nn::UnaryOp::create(b, loc, wide, result, clip);
    Value half = nn::CastOp::create(b, loc, narrow, inside.getOutput());
    Value back = nn::CastOp::create(b, loc, wide, half);
    result.replaceAllUsesExcept(back, inside);
  }

  Value rounded(nn::ConstantOp constant) {
    Value &known = constants[constant];
    if (known)
      return known;
    auto data = nn::ConstantData::get(constant.getResult());
    std::vector<char> bytes(data->bytes().begin(), data->bytes().end());
    for (size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
      float value;
      std::memcpy(&value, &bytes[i], sizeof(value));
      uint16_t half = nearestHalf(value);
      value = float(tools::elementAt(NNV12_F16, &half, 0));
      std::memcpy(&bytes[i], &value, sizeof(value));
    }
    b.setInsertionPointAfter(constant);
    known = nn::ConstantOp::create(b, constant.getLoc(), constant.getType(),
                                   nn::makeConstant(data->type(), bytes));
    return known;
  }

  OpBuilder b;
  llvm::DenseSet<Value> done;
  llvm::DenseMap<Operation *, Value> constants;
};
} // namespace

OwningOpRef<ModuleOp> nnv12::roundedAsOnGpu(ModuleOp planned) {
  OwningOpRef<ModuleOp> copy(planned.clone());
  auto main = copy->lookupSymbol<func::FuncOp>("main");
  ExecutionOrder order(main);
  Rounding rounding(copy->getContext());
  copy->walk([&](plan::StretchOp stretch) {
    if (!stretch.getWarm())
      return;
    for (auto dispatch : stretch.getBody().getOps<plan::DispatchOp>())
      if (auto half = dispatch.getHalf())
        rounding.add(order.layers()[dispatch.getLayer()], {uint64_t(*half)});
  });
  for (auto program :
       llvm::make_early_inc_range(copy->getOps<plan::ProgramOp>()))
    program.erase();
  return copy;
}

std::string nnv12::compareRounded(const std::string &rounded,
                                  const std::string &exact,
                                  const std::vector<bool> &isF32,
                                  const TemporaryFolder &folder,
                                  RoundingError &error) {
  std::string dirs[] = {folder.inside("rounded"), folder.inside("exact")};
  const std::string *bundles[] = {&rounded, &exact};
  for (size_t i = 0; i < 2; ++i) {
    std::string fault = runSubprogram(
        "nnv12-run", {*bundles[i], "--random", "--output-dir", dirs[i]});
    if (!fault.empty())
      return fault;
  }
  double sum = 0;
  size_t count = 0;
  for (auto [i, isOfF32] : llvm::enumerate(isF32)) {
    if (!isOfF32)
      continue;
    tools::Tensor outputs[2];
    for (auto [dir, output] : llvm::zip(dirs, outputs)) {
      std::string fault = tools::readNpy(
          dir + "/output_" + std::to_string(i) + ".npy", NNV12_F32, output);
      if (!fault.empty())
        return fault;
    }
    tools::Difference found = tools::compare(outputs[0], outputs[1], {});
    error.largest = std::max(error.largest, found.absolute);
    error.magnitude = std::max(error.magnitude, found.magnitude);
    sum += found.sum;
    count += outputs[1].data.size() / sizeof(float);
  }
  if (count == 0)
    return "found no output of f32";
  error.mean = sum / double(count);
  return "";
}
