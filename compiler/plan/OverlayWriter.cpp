//===- OverlayWriter.cpp - Writes a GPU's part as a plan.gpu --------------===//

#include "compiler/plan/ProgramWriter.h"

#include "dialects/nn/Layout.h"
#include "mlir/IR/Builders.h"

#include <cassert>
#include <map>

using namespace mlir;
using namespace nnv12;

namespace {
class OverlayWriter {
public:
  OverlayWriter(const ModelPlan &plan, plan::ProgramOp program)
      : plan(plan), overlay(*plan.overlay), program(program),
        b(program.getContext()), location(program.getLoc()),
        done(plan::DoneType::get(program.getContext())) {}

  void write() {
    const search::Overlay &found = overlay.found;
    findReadyWeights();
    findKernels();
    b.setInsertionPointToEnd(&program.getBody().front());
    auto start = found.start == search::OverlayStart::AtOpen
                     ? plan::GpuStart::at_open
                     : plan::GpuStart::after_first;
    auto op = plan::GpuOp::create(
        b, location, overlay.target, overlay.profile, start,
        b.getI64IntegerAttr(planTime(found.finishCached + plan.start)),
        b.getI64IntegerAttr(planTime(found.warm.time)));
    b.createBlock(&op.getBody());
    prepare(found.cold.lanes, /*isCold=*/true);
    size_t coldEnd = queues.empty() ? 0 : queues.front().size();
    prepare(found.later, /*isCold=*/false);
    record(coldEnd);
    for (auto [i, stretch] : llvm::enumerate(overlay.stretches))
      write(stretch, records[i]);
    for (const SmallVector<Value> &queue : queues)
      plan::GpuLaneOp::create(b, location, queue);
  }

private:
  /// The program's preparations that the GPU's uploads wait for: those that
  /// make the weights that executes read.
  void findReadyWeights() {
    for (auto execute : program.getBody().getOps<plan::ExecuteOp>())
      for (Value token : execute.getAfter())
        ready[execute.getLayer()].push_back(token);
  }

  /// The kernels of stretches by those of candidates: where a stretch ends they
  /// have fewer tensors in f16 than where all layers are on the GPU.
  void findKernels() {
    auto plain = [](StringRef key) {
      return key.split(codegen::halfSuffix).first;
    };
    for (const PlacedStretch &stretch : overlay.stretches)
      for (uint32_t i = 0; i < stretch.range.count; ++i)
        for (const std::string &key : stretch.kernels[i])
          for (const std::string &planned : overlay.wayOf(stretch, i).kernels)
            if (plain(planned) == plain(key))
              kernelsOfCandidates[planned].push_back(key);
  }

  /// `isCold`: with the times of the first run.
  void prepare(const search::HostLanes &lanes, bool isCold) {
    queues.resize(std::max(queues.size(), lanes.size()));
    size_t cpuLanes = plan.problem.device.preparationLanes.size() + 1;
    for (auto [l, lane] : llvm::enumerate(lanes)) {
      SmallVector<const search::Event *> events;
      if (isCold)
        for (const search::Event &event : overlay.timeline.events)
          if (event.lane == cpuLanes + l)
            events.push_back(&event);
      for (auto [j, preparation] : llvm::enumerate(lane)) {
        Operation *op = write(preparation);
        if (!op)
          continue; // there already, for another routine or kernel
        queues[l].push_back(op->getResult(0));
        if (j < events.size())
          plan::setTimes(op, planTime(events[j]->start + plan.start),
                         planTime(events[j]->end + plan.start));
      }
    }
  }

  Operation *write(const search::StretchPreparation &preparation) {
    switch (preparation.stage) {
    case search::Stage::Device:
      device = plan::DeviceOp::create(b, location, done);
      return device.getDefiningOp();
    case search::Stage::Pipeline: {
      SmallVector<StringRef> keys;
      for (uint32_t p : preparation.items)
        for (const std::string &key :
             kernelsOfCandidates[overlay.candidates.kernels[p]])
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
  void record(size_t coldEnd) {
    records.resize(overlay.stretches.size());
    llvm::DenseMap<Value, size_t> position;
    for (auto [i, token] : llvm::enumerate(queues.front()))
      position[token] = i;
    std::vector<size_t> behind(records.size());
    for (auto [i, stretch] : llvm::enumerate(overlay.stretches)) {
      SmallVector<Value> after = {device};
      size_t &last = behind[i];
      for (const std::vector<std::string> &keys : stretch.kernels)
        for (const std::string &key : keys) {
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
      // A record that only later runs need is behind all of the first one's.
      if (!stretch.cold && coldEnd)
        last = std::max(last, coldEnd - 1);
    }
    SmallVector<Value> queue;
    for (auto [i, token] : llvm::enumerate(queues.front())) {
      queue.push_back(token);
      for (auto [record, last] : llvm::zip(records, behind))
        if (last == i)
          queue.push_back(record);
    }
    queues.front() = std::move(queue);
  }

  void write(const PlacedStretch &stretch, Value record) {
    SmallVector<Value> after = {record};
    search::StretchChoice choice(plan.problem.layers.size(), 0);
    for (uint32_t i = 0; i < stretch.range.count; ++i) {
      uint32_t layer = stretch.range.first + i;
      choice[layer] = stretch.choice[i];
      if (Value upload = uploadOf.lookup(layer))
        after.push_back(upload);
    }
    double time =
        search::stretchTime(plan.problem, choice, stretch.range).sum();
    IntegerAttr dim, at;
    if (const std::optional<search::Split> &split = stretch.range.split) {
      dim = b.getI64IntegerAttr(split->dim);
      at = b.getI64IntegerAttr(split->at);
    }
    auto op =
        plan::StretchOp::create(b, location, after, stretch.range.first,
                                stretch.range.count, stretch.cold, stretch.warm,
                                b.getI64IntegerAttr(planTime(time)), dim, at);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&op.getBody());
    for (uint32_t i = 0; i < stretch.range.count; ++i) {
      const StretchCandidate &way = overlay.wayOf(stretch, i);
      double share = 1;
      if (dim) {
        Value result =
            plan.layers[stretch.range.first + i].layer.op->getResult(0);
        share = double(stretch.fronts[i]) /
                double(nn::typeOf(result).getDimSize(stretch.range.split->dim));
      }
      SmallVector<int64_t> times;
      for (double time : way.stepTimes)
        times.push_back(planTime(time * share));
      SmallVector<StringRef> keys(stretch.kernels[i].begin(),
                                  stretch.kernels[i].end());
      IntegerAttr half;
      if (!stretch.half[i].empty())
        half = b.getI64IntegerAttr(int64_t(stretch.half[i].bits));
      IntegerAttr front;
      if (dim)
        front = b.getI64IntegerAttr(stretch.fronts[i]);
      plan::DispatchOp::create(b, location, stretch.range.first + i,
                               way.routine->name(), b.getStrArrayAttr(keys),
                               b.getDenseI64ArrayAttr(times), half, front);
    }
    for (uint32_t i = 0; dim && i < stretch.range.count; ++i) {
      uint32_t layer = stretch.range.first + i;
      const PlannedLayer &planned = plan.layers[layer];
      plan::PartOp::create(b, location, layer,
                           planned.candidates[planned.later].routine->name(),
                           stretch.backs[i]);
    }
  }

  const ModelPlan &plan;
  const OverlayPlan &overlay;
  plan::ProgramOp program;
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
} // namespace

void nnv12::writeOverlay(const ModelPlan &plan, plan::ProgramOp program) {
  OverlayWriter(plan, program).write();
}
