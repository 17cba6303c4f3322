//===- StretchCandidates.cpp - How a GPU can compute layers ---------------===//

#include "compiler/plan/StretchCandidates.h"

#include "artifact/Limits.h"
#include "compiler/device/CostModel.h"
#include "compiler/plan/CostTable.h"
#include "compiler/processors/Processor.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

using namespace mlir;
using namespace nnv12;
using codegen::GpuRoutine;

namespace {
class Finder {
public:
  Finder(const ExecutionOrder &order, ArrayRef<PlannedLayer> layers,
         const device::DeviceProfile &profile, const codegen::GpuTarget &target,
         search::Problem &problem, bool rounds)
      : order(order), layers(layers), profile(profile), gpu(*profile.gpu),
        target(target), problem(problem), rounds(rounds) {}

  StretchCandidates run(HalfUse use) {
    assert(problem.layers.size() == layers.size() && "of these layers");
    problem.device.coprocessor = device::searchGpu(gpu);
    addTensors();
    StretchHalves halves(order, layers, use);
    found.layers.resize(layers.size());
    for (auto [i, layer] : llvm::enumerate(layers)) {
      if (!mayBeInStretch(layer))
        continue;
      for (const Routine *routine :
           processor.candidates(layer.layer.op, target.name)) {
        const GpuRoutine &own = GpuRoutine::of(*routine);
        if (auto way =
                candidate(layer, halves.of(i, own, 0, layers.size()), own))
          found.layers[i].push_back(std::move(*way));
      }
    }
    // If a network is larger than the cache, each weight has left the cache
    // when its layer's turn comes again: much else has been touched since.
    double touched = weights() + activations();
    bool fromMemory =
        touched / (use == HalfUse::All ? 2 : 1) > gpu.cacheMB * 1e6;
    for (auto [layer, ways] : llvm::zip(problem.layers, found.layers)) {
      for (StretchCandidate &way : ways)
        price(way, fromMemory);
      // No second copy of weights where that can be helped.
      auto addsBytes = [](const StretchCandidate &c) {
        return c.costs.bytes > 0;
      };
      if (!llvm::all_of(ways, addsBytes))
        llvm::erase_if(ways, addsBytes);
      for (const StretchCandidate &way : ways)
        layer.inStretch.push_back(way.costs);
    }
    return std::move(found);
  }

private:
  /// Bytes of the constants that layers read, each once.
  double weights() const {
    llvm::DenseSet<Attribute> seen;
    double bytes = 0;
    for (const PlannedLayer &layer : layers)
      for (Value v : layer.layer.op->getOperands())
        if (auto constant = order.baseOf(v).getDefiningOp<nn::ConstantOp>())
          if (seen.insert(constant.getValue()).second)
            bytes += double(nn::storageSize(constant));
    return bytes;
  }

  /// Bytes of the memory that activations take, which those that are over leave
  /// to others; with the most temporaries that a candidate of each layer has.
  double activations() const {
    std::vector<double> live(found.layers.size());
    for (auto [bytes, ways] : llvm::zip_equal(live, found.layers))
      for (const StretchCandidate &way : ways)
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

  /// Whether a routine may compute the layer. A GPU needs tensors that are not
  /// empty. Whole ones are placed as it needs it; parts of one may not be.
  bool mayBeInStretch(const PlannedLayer &layer) const {
    Operation *op = layer.layer.op;
    return !layer.layer.isComparedForEquality &&
           (rounds || !roundsNumbers(op)) &&
           llvm::all_of(
               llvm::concat<Value>(op->getOperands(), op->getResults()),
               [&](Value v) {
                 return nn::storageSize(v) > 0 &&
                        order.placeOf(v).offset %
                                int64_t(artifact::gpuAlignment) ==
                            0;
               });
  }

  uint32_t pipeline(const std::string &kernel) {
    auto [it, isNew] = numbers.try_emplace(kernel, found.kernels.size());
    if (isNew) {
      found.kernels.push_back(kernel);
      problem.pipelines.push_back(device::searchPipeline(gpu));
    }
    return it->second;
  }

  /// A candidate without its time.
  std::optional<StretchCandidate> candidate(const PlannedLayer &layer,
                                            codegen::HalfTensors half,
                                            const GpuRoutine &routine) {
    Operation *op = layer.layer.op;
    StretchCandidate result;
    result.routine = &routine;
    search::Candidate &costs = result.costs;
    costs.routine = routine.name().str();
    // The CPU's form of the weights must be the GPU's.
    std::optional<WeightForm> form = routine.weightForm(op);
    if (form && (layer.layer.mainOperand != form->operand ||
                 formName(op, *layer.first().routine) != form->name))
      return std::nullopt;
    llvm::SmallDenseSet<Attribute, 4> seen;
    for (OpOperand &operand : op->getOpOperands()) {
      Value base = order.baseOf(operand.get());
      auto constant = base.getDefiningOp<nn::ConstantOp>();
      if (!constant || !seen.insert(constant.getValue()).second)
        continue;
      bool isForm = form && form->operand == operand.getOperandNumber();
      bool isHalf = half.has(
          codegen::HalfTensors::operand(op, operand.getOperandNumber()));
      double bytes =
          isForm ? double(form->bytes) : double(nn::storageSize(base));
      costs.upload += isHalf ? bytes / 2 : bytes;
      if (isHalf)
        continue; // there for the GPU alone, whatever the CPU reads
      // Packed ones beside those of a form, for the GPU alone.
      if (!isForm && layer.layer.mainOperand == operand.getOperandNumber() &&
          layer.first().storage.storage == plan::Storage::transformed)
        costs.bytes += bytes;
    }
    SmallVector<codegen::HalfKernel> kernels;
    codegen::GpuSteps plain = routine.steps(op),
                      steps = stepsInHalf(plain, op, routine, half, kernels);
    result.steps = codegen::stepFacts(op, routine, plain, steps, target);
    result.kernels = steps.kernels;
    for (int64_t bytes : steps.temporaries)
      result.temporaries += double(bytes);
    for (const std::string &kernel : result.kernels) {
      uint32_t number = pipeline(kernel);
      if (!llvm::is_contained(costs.pipelines, number))
        costs.pipelines.push_back(number);
    }
    return result;
  }

  /// `fromMemory`: when a layer's turn comes its weights are no longer in the
  /// GPU's cache.
  void price(StretchCandidate &way, bool fromMemory) const {
    for (KernelFacts &step : way.steps) {
      step.fromMemory = fromMemory;
      way.stepTimes.push_back(
          processor.cost(profile, step, /*threads=*/1).milliseconds);
      way.costs.execute += way.stepTimes.back();
    }
  }

  void addTensors() {
    // Values of a memory: of each its place and its tensor.
    struct Part {
      int64_t begin, end;
      uint32_t tensor;
      Value value;
    };
    llvm::DenseMap<Value, SmallVector<Part>> partsOf;
    auto add = [&](Value v, uint32_t producer) {
      Aliases::Place place = order.placeOf(v);
      int64_t size = nn::storageSize(v);
      search::Tensor tensor;
      tensor.bytes = double(size);
      tensor.producer = producer;
      tensor.output = order.outputOf(place.base).has_value();
      partsOf[place.base].push_back({place.offset, place.offset + size,
                                     uint32_t(problem.tensors.size()), v});
      problem.tensors.push_back(std::move(tensor));
    };
    for (auto [i, layer] : llvm::enumerate(layers)) {
      for (OpOperand &operand : layer.layer.op->getOpOperands()) {
        Value v = operand.get();
        Aliases::Place place = order.placeOf(v);
        if (place.base.getDefiningOp<nn::ConstantOp>())
          continue;
        if (order.inputOf(place.base) && !partsOf.contains(place.base))
          add(place.base, search::Tensor::input);
        int64_t end = place.offset + nn::storageSize(v);
        for (const Part &part : partsOf[place.base]) {
          if (part.begin >= end || place.offset >= part.end)
            continue;
          found.reads.push_back({part.tensor, part.value, uint32_t(i),
                                 operand.getOperandNumber()});
          std::vector<uint32_t> &readers = problem.tensors[part.tensor].readers;
          if (readers.empty() || readers.back() != i)
            readers.push_back(uint32_t(i));
        }
      }
      for (Value v : layer.layer.op->getResults())
        add(v, uint32_t(i));
    }
    for (const auto &[base, parts] : partsOf)
      for (const Part &part : parts)
        problem.tensors[part.tensor].isShared = parts.size() > 1;
  }

  const ExecutionOrder &order;
  ArrayRef<PlannedLayer> layers;
  const Processor &processor = gpuProcessor();
  const device::DeviceProfile &profile;
  const device::GpuProfile &gpu;
  const codegen::GpuTarget &target;
  search::Problem &problem;
  const bool rounds;
  StretchCandidates found;
  llvm::StringMap<uint32_t> numbers; ///< of pipelines, by kernel
};
} // namespace

StretchCandidates nnv12::stretchCandidates(const ExecutionOrder &order,
                                           ArrayRef<PlannedLayer> layers,
                                           const device::DeviceProfile &profile,
                                           const codegen::GpuTarget &target,
                                           search::Problem &problem,
                                           HalfUse halves, bool rounds) {
  return Finder(order, layers, profile, target, problem, rounds).run(halves);
}

bool nnv12::roundsNumbers(Operation *layer) {
  auto isRounding = [](Operation *op) {
    return isa<nn::QuantizeOp, nn::QConvOp, nn::QMatMulOp>(op);
  };
  return layer
      ->walk([&](Operation *op) {
        return isRounding(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}
