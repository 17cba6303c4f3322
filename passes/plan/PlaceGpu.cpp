//===- PlaceGpu.cpp - What a GPU takes over, and when ---------------------===//

#include "compiler/search/Gpu.h"
#include "compiler/select/GpuCandidates.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/IR/Builders.h"
#include "passes/plan/PlanningPass.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace nnv12 {
#define GEN_PASS_DEF_PLACEGPU
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;

/// Points of hand-over behind the planned one, at most: each costs commands of
/// all that comes after it.
static constexpr unsigned mostLaterPoints = 3;

namespace {
/// A stretch as the plan dialect has it.
struct PlacedStretch {
  search::Stretch range;
  /// Of each of its layers.
  std::vector<unsigned> choice;
  /// Of each layer: its tensors in f16, and the keys of its kernels.
  std::vector<codegen::HalfTensors> half = {};
  std::vector<std::vector<std::string>> kernels = {};
  bool cold = false, warm = false;

  bool isLike(const PlacedStretch &other) const {
    return range == other.range && choice == other.choice;
  }
};

/// All stretches of a plan, by the first layer, the longest first.
class Stretches {
public:
  void add(const std::vector<search::Stretch> &ranges,
           const search::GpuChoice &choice, bool cold, bool warm) {
    for (const search::Stretch &range : ranges) {
      PlacedStretch added{
          range, {choice.begin() + range.first, choice.begin() + range.end()},
          {},    {},
          cold,  warm};
      auto same = llvm::find_if(
          all_, [&](const PlacedStretch &s) { return s.isLike(added); });
      if (same == all_.end()) {
        all_.push_back(std::move(added));
      } else {
        same->cold |= cold;
        same->warm |= warm;
      }
    }
    llvm::stable_sort(all_, [](const PlacedStretch &a, const PlacedStretch &b) {
      if (a.range.first != b.range.first)
        return a.range.first < b.range.first;
      return a.range.count > b.range.count;
    });
  }

  ArrayRef<PlacedStretch> all() const { return all_; }
  MutableArrayRef<PlacedStretch> all() { return all_; }

private:
  std::vector<PlacedStretch> all_;
};

/// Writes what was found as a plan.gpu at the end of a program.
class StretchWriter {
public:
  StretchWriter(plan::ProgramOp program, const search::Problem &problem,
                const GpuCandidates &candidates)
      : program(program), problem(problem), candidates(candidates),
        b(program.getContext()), location(program.getLoc()),
        done(plan::DoneType::get(program.getContext())) {}

  plan::GpuOp write(const search::GpuPlan &found, const Stretches &stretches,
                    StringRef target, StringRef profile, double start,
                    const search::Timeline &timeline) {
    findReadyWeights();
    findKernels(stretches.all());
    b.setInsertionPointToEnd(&program.getBody().front());
    auto startKind = found.start == search::GpuStart::AtOpen
                         ? plan::GpuStart::at_open
                         : plan::GpuStart::after_first;
    auto overlay = plan::GpuOp::create(
        b, location, target, profile, startKind,
        b.getI64IntegerAttr(nanoseconds(found.finishCached + start)),
        b.getI64IntegerAttr(nanoseconds(found.warm.time)));
    b.createBlock(&overlay.getBody());
    prepare(found.cold.lanes, &timeline, start);
    size_t coldEnd = queues.empty() ? 0 : queues.front().size();
    prepare(found.later, nullptr, 0);
    record(stretches.all(), coldEnd);
    for (auto [i, stretch] : llvm::enumerate(stretches.all()))
      write(stretch, records[i]);
    for (const SmallVector<Value> &queue : queues)
      plan::GpuLaneOp::create(b, location, queue);
    return overlay;
  }

private:
  /// What of the program's preparations the GPU's uploads wait for: what makes
  /// the weights that executes read.
  void findReadyWeights() {
    for (auto execute : program.getBody().getOps<plan::ExecuteOp>())
      for (Value token : execute.getAfter())
        ready[execute.getLayer()].push_back(token);
  }

  /// The kernels of stretches by those of candidates: where a stretch ends they
  /// have fewer tensors in f16 than where all layers are on the GPU.
  void findKernels(ArrayRef<PlacedStretch> stretches) {
    auto plain = [](StringRef key) {
      return key.split(codegen::halfSuffix).first;
    };
    for (const PlacedStretch &stretch : stretches)
      for (uint32_t i = 0; i < stretch.range.count; ++i)
        for (const std::string &key : stretch.kernels[i])
          for (const std::string &planned : wayOf(stretch, i).kernels)
            if (plain(planned) == plain(key))
              kernelsOfCandidates[planned].push_back(key);
  }

  void prepare(const search::GpuLanes &lanes, const search::Timeline *timeline,
               double start) {
    queues.resize(std::max(queues.size(), lanes.size()));
    size_t cpuLanes = problem.device.preparationLanes.size() + 1;
    for (auto [l, lane] : llvm::enumerate(lanes)) {
      SmallVector<const search::Event *> events;
      if (timeline)
        for (const search::Event &event : timeline->events)
          if (event.lane == cpuLanes + l)
            events.push_back(&event);
      for (auto [j, preparation] : llvm::enumerate(lane)) {
        Operation *op = write(preparation);
        if (!op)
          continue; // there already, for another routine or kernel
        queues[l].push_back(op->getResult(0));
        if (j >= events.size())
          continue;
        op->setAttr("start",
                    b.getI64IntegerAttr(nanoseconds(events[j]->start + start)));
        op->setAttr("end",
                    b.getI64IntegerAttr(nanoseconds(events[j]->end + start)));
      }
    }
  }

  Operation *write(const search::GpuPreparation &preparation) {
    switch (preparation.stage) {
    case search::Stage::Device:
      device = plan::DeviceOp::create(b, location, done);
      return device.getDefiningOp();
    case search::Stage::Pipeline: {
      SmallVector<StringRef> keys;
      for (uint32_t p : preparation.items)
        for (const std::string &key :
             kernelsOfCandidates[candidates.kernels()[p]])
          if (!makerOf.contains(key) && !llvm::is_contained(keys, key))
            keys.push_back(key);
      if (keys.empty())
        return nullptr;
      auto op = plan::PipelineOp::create(b, location, done, device,
                                         b.getStrArrayAttr(keys));
      for (StringRef key : keys)
        makerOf[key] = op.getDone();
      return op;
    }
    default: {
      uint32_t layer = preparation.items.front();
      if (uploadOf.contains(layer))
        return nullptr;
      SmallVector<Value> after = {device};
      llvm::append_range(after, ready[layer]);
      auto op = plan::UploadOp::create(b, location, done, after, layer);
      uploadOf[layer] = op.getDone();
      return op;
    }
    }
  }

  /// Commands are recorded on the first lane, the first run's as soon as their
  /// pipelines are there.
  void record(ArrayRef<PlacedStretch> stretches, size_t coldEnd) {
    records.resize(stretches.size());
    llvm::DenseMap<Value, size_t> position;
    for (auto [i, token] : llvm::enumerate(queues.front()))
      position[token] = i;
    std::multimap<size_t, Value> behind;
    for (auto [i, stretch] : llvm::enumerate(stretches)) {
      SmallVector<Value> after = {device};
      size_t last = 0;
      for (const std::string &key : kernelsOf(stretch)) {
        Value maker = makerOf.lookup(key);
        assert(maker && "the plan makes all pipelines");
        if (llvm::is_contained(after, maker))
          continue;
        after.push_back(maker);
        auto it = position.find(maker);
        if (it != position.end())
          last = std::max(last, it->second);
      }
      records[i] = plan::RecordOp::create(b, location, done, after, i);
      // What only later runs need is behind all that the first one does.
      if (!stretch.cold && coldEnd)
        last = std::max(last, coldEnd - 1);
      behind.insert({last, records[i]});
    }
    SmallVector<Value> queue;
    for (auto [i, token] : llvm::enumerate(queues.front())) {
      queue.push_back(token);
      auto [begin, end] = behind.equal_range(i);
      for (auto it = begin; it != end; ++it)
        queue.push_back(it->second);
    }
    queues.front() = std::move(queue);
  }

  const GpuCandidate &wayOf(const PlacedStretch &stretch, uint32_t i) const {
    return candidates.of(stretch.range.first + i)[stretch.choice[i]];
  }

  std::vector<std::string> kernelsOf(const PlacedStretch &stretch) const {
    std::vector<std::string> result;
    for (uint32_t i = 0; i < stretch.range.count; ++i)
      for (const std::string &key : stretch.kernels[i])
        result.push_back(key);
    return result;
  }

  void write(const PlacedStretch &stretch, Value record) {
    SmallVector<Value> after = {record};
    search::GpuChoice choice(problem.layers.size(), 0);
    for (uint32_t i = 0; i < stretch.range.count; ++i) {
      uint32_t layer = stretch.range.first + i;
      choice[layer] = stretch.choice[i];
      if (Value upload = uploadOf.lookup(layer))
        after.push_back(upload);
    }
    double time = search::stretchTime(problem, choice, stretch.range).sum();
    auto op = plan::StretchOp::create(
        b, location, after, stretch.range.first, stretch.range.count,
        stretch.cold, stretch.warm, b.getI64IntegerAttr(nanoseconds(time)));
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&op.getBody());
    for (uint32_t i = 0; i < stretch.range.count; ++i) {
      const GpuCandidate &way = wayOf(stretch, i);
      SmallVector<int64_t> times;
      for (double time : way.stepTimes)
        times.push_back(nanoseconds(time));
      SmallVector<StringRef> keys(stretch.kernels[i].begin(),
                                  stretch.kernels[i].end());
      IntegerAttr half;
      if (!stretch.half[i].empty())
        half = b.getI64IntegerAttr(int64_t(stretch.half[i].bits));
      plan::DispatchOp::create(b, location, stretch.range.first + i,
                               way.routine->name(), b.getStrArrayAttr(keys),
                               b.getDenseI64ArrayAttr(times), half);
    }
  }

  plan::ProgramOp program;
  const search::Problem &problem;
  const GpuCandidates &candidates;
  OpBuilder b;
  Location location;
  Type done;
  Value device;
  std::map<uint64_t, SmallVector<Value>> ready; ///< by layer
  llvm::StringMap<Value> makerOf;
  llvm::StringMap<std::vector<std::string>> kernelsOfCandidates;
  llvm::DenseMap<uint32_t, Value> uploadOf;
  SmallVector<Value> records;
  std::vector<SmallVector<Value>> queues; ///< by lane
};

struct PlaceGpu : PlanningPass<nnv12::impl::PlaceGpuBase<PlaceGpu>> {
  using PlanningPass::PlanningPass;

  LogicalResult run(ModuleOp module, func::FuncOp main) override {
    if (module.getOps<plan::ProgramOp>().empty())
      return module.emitError(
          "found no plan.program, expected plan-weights to have run");
    auto gpu = codegen::GpuTarget::byName(target);
    if (!gpu)
      return module.emitError("GPU target: found '")
             << target << "', expected " << codegen::GpuTarget::choices();
    auto layers = chosenCandidates(main);
    if (failed(layers))
      return failure();
    for (auto program : module.getOps<plan::ProgramOp>())
      if (failed(place(program, main, *layers, *gpu)))
        return failure();
    return success();
  }

private:
  LogicalResult place(plan::ProgramOp program, func::FuncOp main,
                      ArrayRef<ChosenCandidate> layers,
                      const codegen::GpuTarget &gpu) {
    auto device = this->device(program.getLoc(), program.getTarget());
    if (failed(device))
      return failure();
    if (plan::GpuOp old = program.gpu())
      old.erase();
    device::GpuProfile profile = device->profile->gpu
                                     ? *device->profile->gpu
                                     : device::builtinGpuProfile();
    PlanOptions options;
    options.threads = program.getThreads();
    options.lanes = lanesOf(lanes);
    options.parts = parts;
    CostTable costs(*device->profile, device->target, program.getThreads());
    auto chosen = chosenPlan(layers, *device->profile, costs, options);
    if (failed(chosen))
      return failure();
    search::Problem &problem = chosen->problem;
    GpuCandidates candidates(main, layers, profile, gpu, problem, half);

    search::GpuOptions how;
    how.pipelineCache = pipelineCache;
    how.warmCpu = chosen->warm;
    if (!force)
      search::leaveToCpus(problem, chosen->warm);
    search::Plan cpu;
    cpu.choice = chosen->cold;
    cpu.schedule = chosen->schedule;
    search::GpuPlan found =
        force ? search::forcedGpuPlan(problem, cpu, how, forceFrom)
              : search::planGpu(problem, cpu, how);
    if (found.start == search::GpuStart::Never) {
      sayWhyNot(program, profile, candidates, found);
      return success();
    }
    search::Timeline timeline;
    Stretches stretches;
    if (found.start == search::GpuStart::AtOpen) {
      timeline = search::simulateGpu(problem, cpu.choice, cpu.schedule,
                                     found.cold, pipelineCache);
      stretches.add(found.cold.stretches, found.cold.choice, true, false);
      addLaterPoints(problem, cpu, found, stretches);
    }
    stretches.add(found.warm.stretches, found.warm.choice, true, true);
    GpuHalf halves(candidates.executionOrder(), layers);
    for (PlacedStretch &stretch : stretches.all())
      findKernels(stretch, layers, candidates, half ? &halves : nullptr);
    StretchWriter(program, problem, candidates)
        .write(found, stretches, gpu.name, profile.name, chosen->start,
               timeline);
    for (const PlacedStretch &stretch : stretches.all())
      if (stretch.warm)
        onGpu += stretch.range.count;
    return success();
  }

  /// Fills in what a stretch has in f16, with `halves`, and its kernels.
  static void findKernels(PlacedStretch &stretch,
                          ArrayRef<ChosenCandidate> layers,
                          const GpuCandidates &candidates, GpuHalf *halves) {
    size_t first = stretch.range.first;
    std::vector<const codegen::GpuRoutine *> routines;
    for (auto [i, choice] : llvm::enumerate(stretch.choice))
      routines.push_back(candidates.of(first + i)[choice].routine);
    stretch.half = halves ? halves->of(first, routines)
                          : std::vector<codegen::HalfTensors>(routines.size());
    for (auto [i, routine] : llvm::enumerate(routines)) {
      if (!halves) {
        const GpuCandidate &way = candidates.of(first + i)[stretch.choice[i]];
        stretch.kernels.push_back(way.kernels);
        continue;
      }
      SmallVector<codegen::HalfKernel> kernels;
      stretch.kernels.push_back(stepsInHalf(layers[first + i].layer.op,
                                            *routine, stretch.half[i], kernels)
                                    .kernels);
    }
  }

  /// One line, for people.
  static void sayWhyNot(plan::ProgramOp program,
                        const device::GpuProfile &profile,
                        const GpuCandidates &candidates,
                        const search::GpuPlan &found) {
    std::string why;
    if (candidates.kernels().empty())
      why = "computes no layer of it";
    else
      why = llvm::formatv("would take over nothing that it is faster at: CPUs "
                          "alone, warm, {0:f2} ms",
                          found.warm.cpuOnly);
    emitRemark(program.getLoc()) << "CPU only: " << profile.name << " " << why;
  }

  /// Behind the planned point of hand-over the first run goes on to others,
  /// where the CPUs have a half, a quarter… of the rest before them.
  static void addLaterPoints(const search::Problem &problem,
                             const search::Plan &cpu,
                             const search::GpuPlan &found,
                             Stretches &stretches) {
    std::vector<double> rest(problem.layers.size() + 1, 0);
    for (size_t i = problem.layers.size(); i-- > 0;)
      rest[i] =
          rest[i + 1] + problem.layers[i].candidates[cpu.choice[i]].execute;
    auto suffixes =
        search::planWarmSuffixes(problem, cpu.choice, found.cold.choice);
    double least = rest[found.handOvers.front()] / 2;
    unsigned points = 0;
    for (uint32_t k : ArrayRef(found.handOvers).drop_front()) {
      if (rest[k] > least || points == mostLaterPoints)
        continue;
      search::GpuSchedule schedule = found.cold;
      schedule.stretches = suffixes[k].stretches;
      // Only what is prepared can be taken.
      if (!search::checkGpuSchedule(problem, schedule).empty())
        continue;
      stretches.add(schedule.stretches, found.cold.choice, true, false);
      least = rest[k] / 2;
      ++points;
    }
  }
};
} // namespace

std::unique_ptr<Pass> nnv12::createPlaceGpu(PlaceGpuOptions options,
                                            SharedProfile profile) {
  return std::make_unique<PlaceGpu>(std::move(options), std::move(profile));
}
