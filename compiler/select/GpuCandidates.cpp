//===- GpuCandidates.cpp - How a GPU can compute layers -------------------===//

#include "compiler/select/GpuCandidates.h"

#include "artifact/Limits.h"
#include "compiler/device/GpuSearch.h"
#include "compiler/routines/KernelKey.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

using namespace mlir;
using namespace nnv12;
using codegen::GpuRoutine;

GpuCandidates::GpuCandidates(func::FuncOp main,
                             ArrayRef<ChosenCandidate> layers,
                             const device::GpuProfile &profile,
                             const codegen::GpuTarget &target,
                             search::Problem &problem, bool half)
    : order(main), profile(profile), target(target), problem(problem) {
  assert(problem.layers.size() == layers.size() && "of these layers");
  problem.device.gpu = device::searchGpu(profile);
  addTensors(layers);
  GpuHalf halves(order, layers);
  found.resize(layers.size());
  refusals.resize(layers.size());
  for (auto [i, layer] : llvm::enumerate(layers)) {
    refusals[i] = refusalOf(layer);
    if (refusals[i].empty())
      for (const GpuRoutine *routine :
           codegen::gpuCandidates(layer.layer.op, target))
        if (auto way = candidate(
                layer, half ? halves.of(i, *routine) : codegen::HalfTensors(),
                *routine, refusals[i]))
          found[i].push_back(std::move(*way));
  }
  // Of a network that is larger than the cache each weight has left it when
  // its layer's turn comes again: much else has been touched since.
  double touched = weightsOf(layers) + activations();
  bool fromMemory = touched / (half ? 2 : 1) > profile.cacheMB * 1e6;
  for (size_t i = 0; i < layers.size(); ++i) {
    for (GpuCandidate &way : found[i])
      price(way, fromMemory);
    // No second copy of weights where that can be helped.
    auto addsBytes = [](const GpuCandidate &c) { return c.costs.bytes > 0; };
    if (!llvm::all_of(found[i], addsBytes))
      llvm::erase_if(found[i], addsBytes);
    if (!found[i].empty())
      refusals[i].clear();
    else if (refusals[i].empty())
      refusals[i] = "no routine of GPUs computes it on " + target.name;
    for (const GpuCandidate &way : found[i])
      problem.layers[i].gpu.push_back(way.costs);
  }
}

/// Bytes of the constants that layers read, each once.
double GpuCandidates::weightsOf(ArrayRef<ChosenCandidate> layers) const {
  llvm::SmallPtrSet<const void *, 16> seen;
  double bytes = 0;
  for (const ChosenCandidate &layer : layers)
    for (Value v : layer.layer.op->getOperands())
      if (auto constant = order.baseOf(v).getDefiningOp<nn::ConstantOp>())
        if (seen.insert(constant.getValue().getAsOpaquePointer()).second)
          bytes += double(nn::storageSize(constant));
  return bytes;
}

/// Bytes of the memory that activations take, which those that are over leave
/// to others; with the most temporaries that a candidate of each layer has.
double GpuCandidates::activations() const {
  std::vector<double> live(found.size());
  for (auto [bytes, ways] : llvm::zip_equal(live, found))
    for (const GpuCandidate &way : ways)
      bytes = std::max(bytes, way.temporaries);
  for (const search::Tensor &tensor : problem.tensors) {
    size_t first =
               tensor.producer == search::Tensor::input ? 0 : tensor.producer,
           last = tensor.output            ? live.size() - 1
                  : tensor.readers.empty() ? first
                                           : tensor.readers.back();
    for (size_t i = first; i <= last; ++i)
      live[i] += tensor.bytes;
  }
  return live.empty() ? 0 : *llvm::max_element(live);
}

/// Whatever the routine.
std::string GpuCandidates::refusalOf(const ChosenCandidate &layer) const {
  if (layer.layer.isComparedForEquality)
    return "its result is compared for equality";
  Operation *op = layer.layer.op;
  for (Value v : llvm::concat<Value>(op->getOperands(), op->getResults())) {
    if (nn::storageSize(v) == 0)
      return "a tensor of it is empty";
    // Whole tensors are placed as a GPU needs it; what lies in one may not be.
    if (order.placeOf(v).offset % int64_t(artifact::gpuAlignment))
      return "a tensor of it lies in another one, not at a multiple of " +
             std::to_string(artifact::gpuAlignment) + " bytes";
  }
  return "";
}

uint32_t GpuCandidates::pipeline(const std::string &kernel) {
  auto [it, isNew] = numbers.try_emplace(kernel, kernels_.size());
  if (isNew) {
    kernels_.push_back(kernel);
    problem.pipelines.push_back(device::searchPipeline(profile));
  }
  return it->second;
}

std::optional<GpuCandidate>
GpuCandidates::candidate(const ChosenCandidate &layer,
                         codegen::HalfTensors half, const GpuRoutine &routine,
                         std::string &reason) {
  Operation *op = layer.layer.op;
  GpuCandidate result;
  result.routine = &routine;
  search::GpuCandidate &costs = result.costs;
  costs.routine = routine.name().str();
  costs.storage = "packed";
  // The CPU's form of the weights must be the GPU's.
  std::optional<WeightForm> form = routine.weightForm(op);
  if (form && (layer.layer.mainOperand != form->operand ||
               formName(op, *layer.candidate.routine) != form->name)) {
    reason = ("its weights are not there in form '" + form->name + "', which " +
              routine.name() + " reads")
                 .str();
    return std::nullopt;
  }
  llvm::SmallPtrSet<const void *, 4> seen;
  for (OpOperand &operand : op->getOpOperands()) {
    Value base = order.baseOf(operand.get());
    auto constant = base.getDefiningOp<nn::ConstantOp>();
    if (!constant ||
        !seen.insert(constant.getValue().getAsOpaquePointer()).second)
      continue;
    bool isForm = form && form->operand == operand.getOperandNumber();
    bool isHalf =
        half.has(codegen::HalfTensors::operand(op, operand.getOperandNumber()));
    double bytes = isForm ? double(form->bytes) : double(nn::storageSize(base));
    costs.upload += isHalf ? bytes / 2 : bytes;
    if (isHalf)
      continue; // there for the GPU alone, whatever the CPU reads
    // Packed ones beside those of a form, for the GPU alone.
    if (!isForm && layer.layer.mainOperand == operand.getOperandNumber() &&
        layer.candidate.storage.storage == plan::Storage::transformed)
      costs.bytes += bytes;
  }
  SmallVector<codegen::HalfKernel> kernels;
  codegen::GpuSteps plain = routine.steps(op),
                    steps = stepsInHalf(plain, op, routine, half, kernels);
  std::string key = kernelKey(op, routine, target.name);
  result.kernels = steps.kernels;
  for (int64_t bytes : steps.temporaries)
    result.temporaries += double(bytes);
  for (auto [i, step] : llvm::enumerate(steps.steps)) {
    device::GpuKernelFeatures &features = result.steps.emplace_back();
    features.routine = codegen::timedName(costs.routine, plain, i);
    features.key = i ? key + "." + std::to_string(i) : key;
    features.groups = double(step.groups[0]) * step.groups[1] * step.groups[2];
    features.steps = step.grid.steps;
    features.bytes = step.grid.bytes;
    features.barriers = step.grid.barriers + 1;
    features.multiplyAdds = step.grid.multiplyAdds;
    features.stepsInTurn = step.grid.stepsInTurn;
  }
  for (const std::string &kernel : result.kernels) {
    uint32_t number = pipeline(kernel);
    if (!llvm::is_contained(costs.pipelines, number))
      costs.pipelines.push_back(number);
  }
  return result;
}

void GpuCandidates::price(GpuCandidate &way, bool fromMemory) const {
  way.measured = true;
  for (device::GpuKernelFeatures &step : way.steps) {
    step.fromMemory = fromMemory;
    device::Cost cost = device::gpuCost(profile, step);
    way.stepTimes.push_back(cost.milliseconds);
    way.measured &= cost.measured;
    way.costs.execute += cost.milliseconds;
  }
}

void GpuCandidates::addTensors(ArrayRef<ChosenCandidate> layers) {
  // Values of a memory: of each its place and its tensor.
  struct Part {
    int64_t begin, end;
    uint32_t tensor;
  };
  llvm::DenseMap<Value, SmallVector<Part>> partsOf;
  auto add = [&](Value v, uint32_t producer) {
    Aliases::Place place = order.placeOf(v);
    int64_t size = nn::storageSize(v);
    search::Tensor tensor;
    tensor.bytes = double(size);
    tensor.producer = producer;
    tensor.output = order.outputOf(place.base).has_value();
    partsOf[place.base].push_back(
        {place.offset, place.offset + size, uint32_t(problem.tensors.size())});
    problem.tensors.push_back(std::move(tensor));
  };
  for (auto [i, layer] : llvm::enumerate(layers)) {
    for (Value v : layer.layer.op->getOperands()) {
      Aliases::Place place = order.placeOf(v);
      if (place.base.getDefiningOp<nn::ConstantOp>())
        continue;
      if (order.inputOf(place.base) && !partsOf.contains(place.base))
        add(place.base, search::Tensor::input);
      int64_t end = place.offset + nn::storageSize(v);
      for (const Part &part : partsOf[place.base]) {
        std::vector<uint32_t> &readers = problem.tensors[part.tensor].readers;
        if (part.begin < end && place.offset < part.end &&
            (readers.empty() || readers.back() != i))
          readers.push_back(uint32_t(i));
      }
    }
    for (Value v : layer.layer.op->getResults())
      add(v, uint32_t(i));
  }
}
