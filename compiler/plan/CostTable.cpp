//===- CostTable.cpp - Cost of each way to run a layer --------------------===//

#include "compiler/plan/CostTable.h"

#include "artifact/RuntimePolicy.h"
#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/codegen/cpu/Widen.h"
#include "compiler/processors/Processor.h"
#include "compiler/routines/KernelKey.h"
#include "compiler/search/Simulator.h"
#include "compiler/weights/Narrow.h"
#include "compiler/weights/StoredBytes.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using plan::Codec;
using plan::Storage;
using plan::StoredForm;

// A codec costs a call and a piece of memory, and must win something.
static constexpr double leastCodecBytes = 16 << 10;
static constexpr double worstCodecRatio = 0.97;

static search::CoreTime operator+(search::CoreTime a, search::CoreTime b) {
  return {a.big + b.big, a.little + b.little};
}

unsigned nnv12::defaultThreads(const device::DeviceProfile &profile) {
  return std::max(1u, profile.big.count);
}

std::string nnv12::formName(Operation *layer, const Routine &routine) {
  std::optional<WeightForm> form = routine.weightForm(layer);
  return form ? form->name : "";
}

bool nnv12::readsNarrow(Operation *layer, const Routine &routine) {
  std::optional<WeightForm> form = routine.weightForm(layer);
  return form && form->narrow;
}

CostTable::CostTable(const device::DeviceProfile &profile,
                     const codegen::Target &target, unsigned threads)
    : profile(profile), target(target), threads(threads) {
  assert(threads >= 1 && "the execute lane has a thread");
  if (profile.little.count && profile.little.memoryGBps > 0)
    littleMemory =
        std::max(1.0, profile.big.memoryGBps / profile.little.memoryGBps);
}

search::CoreTime CostTable::firstTouch(double bytes) const {
  double big = bytes / 1e6 * profile.firstTouchUsPerMB / 1e3;
  return {big, big * littleMemory};
}

search::CoreTime CostTable::decodeTime(double bytes, bool repeats) const {
  if (repeats)
    return {bytes / 1e3 / profile.zstdRepeatsMBps,
            bytes / 1e3 / profile.zstdRepeatsLittleMBps};
  return {bytes / 1e3 / profile.zstdMBps, bytes / 1e3 / profile.zstdLittleMBps};
}

/// The constant in the layout of `type`, for estimate(): rows of the first
/// dimension, which lie together in `dense`, packed a few at a time.
static std::vector<char> packedRows(RankedTensorType type, const char *dense) {
  assert(type.getRank() > 0 && type.getNumElements() > 0);
  int64_t rows = type.getDimSize(0);
  int64_t rowBytes = nn::storageSize(nn::withLayout(type, "")) / rows;
  int64_t piece = llvm::alignTo(llvm::divideCeil(estimatePieceBytes, rowBytes),
                                nn::Layout::of(type).block(0));
  int64_t count = estimatePieces;
  if (piece * count >= rows) {
    piece = rows;
    count = 1;
  }
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape[0] = piece;
  auto pieceType =
      RankedTensorType::get(shape, type.getElementType(), type.getEncoding());
  int64_t pieceSize = nn::storageSize(pieceType);
  std::vector<char> result(pieceSize * count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t row = count > 1 ? (rows - piece) * i / (count - 1) : 0;
    nn::pack(pieceType, dense + row * rowBytes, result.data() + i * pieceSize);
  }
  return result;
}

Estimate CostTable::estimate(Value constant,
                             std::optional<plan::Narrowing> narrow) {
  RankedTensorType type = nn::typeOf(constant);
  StoredForm form = {Storage::packed, narrow};
  auto [it, isNew] = estimates.try_emplace(WeightsKey::of(constant, form));
  if (!isNew)
    return it->second;
  unsigned elementSize = storedElementSize(type, form);
  auto data = nn::ConstantData::get(constant);
  if (!narrow && !nn::layoutTag(type).empty() && !data->bytes().empty()) {
    std::vector<char> rows = packedRows(type, data->bytes().data());
    return it->second = nnv12::estimate(rows.data(), rows.size(), elementSize);
  }
  StoredBytes bytes = storedBytes(constant, form);
  return it->second =
             nnv12::estimate(bytes.data.get(), bytes.size, elementSize);
}

CostTable::Time CostTable::oneCore(KernelFacts kernel) {
  device::Cost big = device::cost(profile, kernel, 1);
  device::Cost little = device::littleCost(profile, kernel);
  kernels_.push_back(std::move(kernel));
  return {{big.milliseconds, little.milliseconds}, big.measured};
}

double CostTable::laterTransform(const ExecutedLayer &layer,
                                 const Candidate &first, const Routine &later) {
  search::CoreTime sum;
  std::optional<WeightForm> form = later.weightForm(layer.op);
  if (form && form->narrow)
    return 0;
  if (readsNarrow(layer.op, *first.routine))
    sum = sum + widen(layer, *first.storage.narrow).core;
  if (form)
    sum = sum + oneCore(transformFacts(layer.op, later, target.base)).core;
  return sum.on(profile.little.count ? search::Core::Little
                                     : search::Core::Big);
}

CostTable::Time CostTable::widen(const ExecutedLayer &layer,
                                 plan::Narrowing narrow) {
  return oneCore(
      codegen::widenFacts(nn::typeOf(layer.weights()), narrow, target.base));
}

CostedCandidate CostTable::cost(const ExecutedLayer &layer,
                                const Candidate &candidate) {
  CostedCandidate result{candidate, {}, false};
  search::Candidate &costs = result.costs;
  const Routine &routine = *candidate.routine;
  costs.routine = routine.name().str();
  costs.storage = candidate.storage;
  costs.form = formName(layer.op, routine);
  costs.readsNarrow = readsNarrow(layer.op, routine);
  costs.bytes = layer.otherBytes;
  KernelFacts &kernel = kernels_.emplace_back(
      kernelFacts(layer.op, routine,
                  codegen::CpuRoutine::of(routine).targetOf(layer.op, target)));
  kernel.tiles = threads; // grids are made for several threads
  device::Cost execute = hostOf(routine).cost(profile, kernel, threads);
  costs.execute = execute.milliseconds;
  result.measured = execute.measured;
  if (!layer.mainOperand)
    return result;

  RankedTensorType packed = nn::typeOf(layer.weights());
  std::optional<WeightForm> form = routine.weightForm(layer.op);
  const StoredForm &stored = candidate.storage;
  assert((form || stored.storage != Storage::transformed) &&
         (!form || !form->narrow || form->narrow == stored.narrow) &&
         "weights are stored in a form that the routine has");
  double packedBytes = nn::storageSize(packed);
  bool isTransformed = stored.storage == Storage::transformed;
  double bytes = isTransformed ? form->bytes : storedSize(packed, stored);
  if (stored.codec == Codec::zstd) {
    // A form is computed from the packed weights: it has about as much to
    // win. Raw ones lack the padding, which costs next to nothing when
    // compressed.
    Estimate encoded = estimate(layer.weights(), stored.narrow);
    double content = stored.narrow || isTransformed ? bytes : packedBytes;
    costs.bytes += std::min(bytes, content * encoded.ratio);
    costs.decode = decodeTime(bytes, encoded.repeats) + firstTouch(bytes);
    costs.memory += bytes;
    costs.prepared += bytes;
  } else {
    costs.bytes += bytes;
  }
  if (stored.storage == Storage::raw || (stored.narrow && !costs.readsNarrow)) {
    Time time = stored.narrow
                    ? widen(layer, *stored.narrow)
                    : oneCore(packFacts(packed, hostRoutines(), target.base));
    costs.transform = time.core + firstTouch(packedBytes);
    costs.prepared += packedBytes;
    // Packed ones would be in the file, and so in memory: those made of narrow
    // ones are there instead of them, not beside them.
    if (!stored.narrow)
      costs.memory += packedBytes;
    result.measured &= time.measured;
  }
  if (form && !costs.readsNarrow && !isTransformed) {
    Time time = oneCore(transformFacts(layer.op, routine, target.base));
    costs.transform = costs.transform + time.core + firstTouch(form->bytes);
    costs.memory += form->bytes;
    costs.prepared += form->bytes;
    result.measured &= time.measured;
  }
  // The source of the form leaves the process's memory then.
  double source = costs.bytes - layer.otherBytes;
  if (!stored.narrow && costs.memory > 0 && source >= leastForgotten)
    costs.memory -= source;
  return result;
}

/// Drops raw and packed weights where those in fewer bits are ready sooner:
/// where storage idles anyway they would be no better, and the file larger.
/// No wider ones stay if the model's own are halves, or with `all`.
static void dropWide(std::vector<CostedCandidate> &candidates,
                     const search::Device &device, bool all) {
  auto ready = [&](const CostedCandidate &c) {
    return search::preparationTime(device, c.costs, search::Core::Big);
  };
  std::vector<CostedCandidate> narrow;
  llvm::copy_if(candidates, std::back_inserter(narrow),
                [](const CostedCandidate &c) { return c.storage.narrow; });
  bool keepsNarrow = !narrow.empty() &&
                     (all || plan::areHalves(*narrow.front().storage.narrow));
  llvm::erase_if(candidates, [&](const CostedCandidate &wide) {
    if (keepsNarrow)
      return !wide.storage.narrow;
    return !wide.storage.narrow &&
           wide.storage.storage != Storage::transformed &&
           llvm::any_of(narrow, [&](const CostedCandidate &c) {
             return c.routine == wide.routine && ready(c) < ready(wide) &&
                    c.costs.bytes < wide.costs.bytes;
           });
  });
}

/// Leaves to later inferences the routines that want narrow weights widened,
/// where another reads them as they are and takes hardly longer: it reads half
/// the bytes and fills no memory. A transform that seems to cost nothing takes
/// the time of other cores.
static void preferNarrow(std::vector<CostedCandidate> &candidates) {
  constexpr double worthWidening = 0.8;
  double narrow = 0;
  for (const CostedCandidate &c : candidates)
    if (c.costs.readsNarrow)
      narrow = narrow ? std::min(narrow, c.costs.execute) : c.costs.execute;
  for (CostedCandidate &c : candidates)
    c.costs.onlyLater = c.storage.narrow && !c.costs.readsNarrow &&
                        c.costs.execute > worthWidening * narrow && narrow > 0;
}

std::vector<CostedCandidate>
CostTable::candidates(const ExecutedLayer &layer, bool storedForms,
                      bool mappedWeights, bool readNarrow, bool keepsNarrow) {
  std::vector<CostedCandidate> result;
  bool isDense =
      layer.mainOperand && nn::layoutTag(layer.weights().getType()).empty();
  std::optional<plan::Narrowing> narrow;
  if (storedForms && layer.mainOperand)
    narrow = worthNarrowing(layer.weights());
  auto canCompress = [&](std::optional<plan::Narrowing> narrow) {
    if (!storedForms || !layer.mainOperand || profile.zstdMBps <= 1)
      return false;
    RankedTensorType type = nn::typeOf(layer.weights());
    return storedSize(type, {Storage::packed, narrow}) >= leastCodecBytes &&
           estimate(layer.weights(), narrow).ratio <= worstCodecRatio;
  };
  bool isCompressed = canCompress(std::nullopt);
  bool isNarrowCompressed = narrow && canCompress(narrow);
  auto addForm = [&](const Routine *routine, plan::StoredForm form,
                     bool isCompressed) {
    result.push_back(cost(layer, {routine, form}));
    form.codec = Codec::zstd;
    if (isCompressed)
      result.push_back(cost(layer, {routine, form}));
  };
  auto addNarrow = [&](const Routine *routine) {
    addForm(routine, {Storage::packed, narrow}, isNarrowCompressed);
  };
  auto add = [&](const Routine *routine, Storage storage) {
    addForm(routine, {storage}, isCompressed);
    if (storage == Storage::packed && narrow)
      addNarrow(routine);
  };
  llvm::SmallVector<const Routine *> routines =
      hostRoutines().agreeing(layer.op);
  llvm::erase_if(routines, [&](const Routine *routine) {
    return !codegen::CpuRoutine::of(*routine).isFor(layer.op, target);
  });
  // A form belongs to one layer's plan: it cannot be made of weights that
  // another layer's plan has in the form that that one wants.
  llvm::erase_if(routines, [&](const Routine *routine) {
    std::optional<WeightForm> form = routine->weightForm(layer.op);
    return form && (!layer.mainOperand || *layer.mainOperand != form->operand ||
                    layer.isShared ||
                    (form->narrow && (!readNarrow || form->narrow != narrow)) ||
                    (form->narrow == plan::Narrowing::q8 && !keepsNarrow));
  });
  if (layer.isComparedForEquality && !routines.empty())
    routines.resize(1);
  for (const Routine *routine : routines) {
    std::optional<WeightForm> form = routine->weightForm(layer.op);
    if (!layer.mainOperand) {
      add(routine, Storage::packed);
      continue;
    }
    if (form && form->narrow) {
      addNarrow(routine);
      continue;
    }
    if (!isDense)
      add(routine, Storage::raw);
    if (isDense || storedForms)
      add(routine, Storage::packed);
    if (form && storedForms)
      add(routine, Storage::transformed);
  }
  bool mapsNarrow = llvm::any_of(
      result, [](const CostedCandidate &c) { return c.costs.readsNarrow; });
  if (!mappedWeights || mapsNarrow)
    dropWide(result, device({}), keepsNarrow);
  if (result.empty())
    add(hostRoutines().preferred(layer.op), Storage::packed);
  preferNarrow(result);
  return result;
}

std::vector<CostedCandidate> CostTable::candidates(const ExecutedLayer &layer,
                                                   const PlanOptions &options) {
  search::Options how = searchOptions(options);
  return candidates(layer, how.storedForms, how.mappedWeights,
                    /*readNarrow=*/options.gpu.empty(), options.keepsNarrow);
}

/// Whether another thread than the one that executes first touches memory
/// before it: it gains nothing where all CPUs compute, since two threads that
/// ask the system for memory at once wait for each other. See
/// runtime/FirstTouch.h.
static bool hasHelper(const search::Device &device) {
  return device.cpus > device.executeThreads &&
         (device.executeThreads > 1 || !device.preparationLanes.empty());
}

double CostTable::fresh(double bytes, double smallBytes) const {
  return firstTouch(bytes).big +
         smallBytes * profile.firstTouchSmallUsPerMB * 1e-9;
}

void CostTable::add(search::Problem &problem, const ExecutedLayer &layer,
                    llvm::ArrayRef<CostedCandidate> candidates) const {
  search::Device &device = problem.device;
  search::Layer added;
  added.name = layer.name;
  for (const CostedCandidate &candidate : candidates) {
    added.candidates.push_back(candidate.costs);
    added.candidates.back().execute *= profile.firstRun;
  }
  double atOnce = fresh(layer.freshAtOnceBytes, layer.freshSmallAtOnceBytes);
  double all = fresh(layer.freshBytes, layer.freshSmallBytes);
  added.firstTouch = hasHelper(device) ? atOnce : all;
  if (hasHelper(device) && device.executeThreads == 1)
    device.aloneStart += all - atOnce;
  if (profile.big.memoryGBps > 0)
    added.firstTouch += layer.uncachedBytes / (profile.big.memoryGBps * 1e6);
  problem.layers.push_back(std::move(added));
}

search::Device CostTable::device(const PlanOptions &options) const {
  return device::searchDevice(
      profile, threads,
      searchOptions(options).pipeline ? options.lanes : std::optional(0u));
}
