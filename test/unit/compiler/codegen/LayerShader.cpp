//===- LayerShader.cpp - Compiles and runs a layer on a GPU ---------------===//

#include "LayerShader.h"

#include "compiler/codegen/common/ElementViews.h"
#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/codegen/gpu/GpuKernelTable.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/ArrayRef.h"
#include "gtest/gtest.h"

#include <cstddef>
#include <cstring>

using namespace nnv12;
using namespace nnv12::test;
using codegen::GpuRoutine;
using codegen::GpuTarget;

static std::unique_ptr<mlir::MLIRContext> newContext() {
  auto context = std::make_unique<mlir::MLIRContext>(
      mlir::MLIRContext::Threading::DISABLED);
  context->loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  return context;
}

const GpuRoutine *test::chooseGpuRoutine(mlir::Operation *layer,
                                         const GpuTarget &target,
                                         std::string &reason) {
  for (const Routine *routine : codegen::gpuRoutines().all()) {
    const GpuRoutine &own = GpuRoutine::of(*routine);
    reason = own.refusal(layer, target);
    if (reason.empty())
      return &own;
  }
  return nullptr;
}

std::unique_ptr<LayerShader> LayerShader::compile(llvm::StringRef text,
                                                  std::string &error,
                                                  llvm::StringRef routineName,
                                                  llvm::StringRef targetName,
                                                  codegen::HalfTensors half) {
  std::unique_ptr<LayerShader> result(new LayerShader);
  result->context = newContext();
  mlir::MLIRContext &context = *result->context;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    error += d.str() + "\n";
    return mlir::success();
  });
  auto target = GpuTarget::byName(targetName);
  if (!target)
    return error += "no such target", nullptr;
  result->source = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!result->source)
    return nullptr;
  result->layer_ = findLayer(*result->source);
  if (!result->layer_)
    return error += "no layer in the text", nullptr;
  if (routineName.empty()) {
    result->routine_ = chooseGpuRoutine(result->layer_, *target, error);
    if (!result->routine_)
      return nullptr;
  } else {
    const Routine *named = codegen::gpuRoutines().named(routineName);
    if (!named)
      return error += "no such routine", nullptr;
    result->routine_ = &GpuRoutine::of(*named);
  }
  setLayouts(*result->routine_, result->layer_);
  codegen::GpuKernelTable table(*target, /*comparesTwins=*/false);
  result->half = half;
  auto steps = table.add(result->layer_, *result->routine_, half);
  if (mlir::failed(steps))
    return nullptr;
  result->steps_ = std::move(*steps);
  for (const auto &kernel : table.kernels()) {
    error += validate(kernel.module);
    result->keys.push_back(kernel.key);
    result->modules_.push_back(kernel.module);
  }
  return error.empty() ? std::move(result) : nullptr;
}

Bytes LayerShader::transformed(const WeightForm &form,
                               const Bytes &packed) const {
  // Forms are the CPUs'.
  Bytes result;
  for (const Routine *routine : codegen::cpuRoutines().all()) {
    if (!routine->matches(layer_))
      continue;
    auto same = routine->weightForm(layer_);
    if (!same || same->name != form.name || same->bytes != form.bytes)
      continue;
    // Aligned as weights in bundles are.
    llvm::OwningArrayRef<std::max_align_t> from(
        packed.size() / sizeof(std::max_align_t) + 1),
        to(size_t(form.bytes) / sizeof(std::max_align_t) + 1);
    std::memcpy(from.data(), packed.data(), packed.size());
    codegen::CpuRoutine::of(*routine).transform(layer_, from.data(), to.data());
    auto *bytes = reinterpret_cast<const char *>(to.data());
    result.assign(bytes, bytes + form.bytes);
    break;
  }
  EXPECT_EQ(result.size(), size_t(form.bytes)) << form.name;
  return result;
}

std::vector<Bytes>
LayerShader::memories(const std::vector<Bytes> &operands) const {
  std::vector<Bytes> memories;
  for (mlir::Value result : layer_->getResults()) {
    bool isHalf =
        half.has(codegen::HalfTensors::result(unsigned(memories.size())));
    memories.push_back(garbage(nn::storageSize(result) / (isHalf ? 2 : 1)));
  }
  std::vector<Bytes> packed = packOperands(layer_, operands);
  if (auto form = routine_->weightForm(layer_))
    packed[form->operand] = transformed(*form, packed[form->operand]);
  for (auto [i, bytes] : llvm::enumerate(packed))
    memories.push_back(half.has(codegen::HalfTensors::operand(layer_, i))
                           ? toHalf(bytes)
                           : std::move(bytes));
  for (int64_t bytes : steps_.temporaries)
    memories.push_back(garbage(bytes));
  return memories;
}

size_t LayerShader::memoryOf(const codegen::GpuStepOperand &operand) const {
  using Kind = codegen::GpuStepOperand::Kind;
  size_t before = operand.kind == Kind::Result ? 0 : layer_->getNumResults();
  if (operand.kind == Kind::Temporary)
    before += layer_->getNumOperands();
  return before + operand.index;
}

codegen::GpuSteps LayerShader::front(Cut cut) const {
  llvm::SmallVector<codegen::HalfKernel> made;
  codegen::GpuSteps result = codegen::stepsInHalf(
      routine_->front(layer_, cut), layer_, *routine_, half, made);
  EXPECT_EQ(result.kernels, keys);
  result.kernels.clear();
  return result;
}

std::string LayerShader::run(const codegen::GpuSteps &steps,
                             std::vector<Bytes> &memories) const {
  using Kind = codegen::GpuStepOperand::Kind;
  size_t firstTemporary = layer_->getNumResults() + layer_->getNumOperands();
  for (auto [i, bytes] : llvm::enumerate(steps.temporaries))
    memories[firstTemporary + i] = garbage(bytes);
  for (const codegen::GpuStep &step : steps.steps) {
    std::vector<size_t> bindings;
    std::vector<Bytes> all = memories;
    for (const codegen::GpuStepOperand &operand : step.operands) {
      bindings.push_back(memoryOf(operand));
      if (operand.size == 0 || operand.pieces > 1 ||
          operand.kind == Kind::Result)
        continue;
      // Parts of a memory are read, and become memories.
      const Bytes &whole = memories[bindings.back()];
      bool isHalf =
          operand.kind == Kind::Operand &&
          half.has(codegen::HalfTensors::operand(layer_, operand.index));
      auto first = whole.begin() + operand.offset / (isHalf ? 2 : 1);
      bindings.back() = all.size();
      all.push_back(Bytes(first, first + operand.size / (isHalf ? 2 : 1)));
    }
    std::string error = ShaderRunner::instance().run(modules_[step.kernel],
                                                     step, bindings, all);
    if (!error.empty())
      return error;
    all.resize(memories.size());
    memories = std::move(all);
  }
  return "";
}

std::vector<Bytes> LayerShader::run(const std::vector<Bytes> &operands,
                                    std::string &error) const {
  std::vector<Bytes> results = memories(operands);
  error = run(steps_, results);
  if (!error.empty())
    return {};
  results.resize(layer_->getNumResults());
  for (auto [i, result] : llvm::enumerate(results)) {
    if (half.has(codegen::HalfTensors::result(i)))
      result = fromHalf(result);
    result = unpackTensor(layer_->getResult(i), result.data());
  }
  return results;
}

std::vector<std::string> test::gpuRoutinesOf(llvm::StringRef text) {
  std::vector<std::string> names;
  if (!ShaderRunner::instance().isAvailable())
    return names;
  auto context = newContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  mlir::Operation *layer = module ? findLayer(*module) : nullptr;
  if (!layer)
    return names;
  for (const Routine *routine : codegen::gpuRoutines().all())
    if (routine->matches(layer))
      names.push_back(routine->name().str());
  // A layer with an element function must not be refused.
  if (names.empty() && codegen::hasElementKernel(layer))
    names.push_back("gpu.element");
  return names;
}
