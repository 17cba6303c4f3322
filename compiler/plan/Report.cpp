//===- Report.cpp - Plans for people --------------------------------------===//

#include "compiler/plan/Report.h"

#include "compiler/processors/Processor.h"
#include "compiler/routines/Cut.h"
#include "compiler/routines/Descriptor.h"
#include "compiler/search/SplitStretches.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using plan::Codec;
using plan::Storage;

std::string nnv12::costSource(const device::DeviceProfile &profile) {
  if (profile.measured)
    return "measured: " + profile.name;
  if (profile.identity.empty() &&
      StringRef(profile.name).starts_with("ordinary "))
    return "predicted: no profile given; run with --target host or --profile";
  return "predicted: from the data of " + profile.name;
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

namespace {
/// Left-justified text and right-justified numbers under each other.
class Table {
public:
  using Row = std::vector<std::string>;
  explicit Table(Row header, size_t textColumns)
      : rows{std::move(header)}, textColumns(textColumns) {}
  void add(Row row) {
    assert(row.size() == rows.front().size() && "a cell for each column");
    rows.push_back(std::move(row));
  }
  void print(llvm::raw_ostream &os) const {
    std::vector<size_t> width(rows.front().size());
    for (const Row &row : rows)
      for (auto [w, cell] : llvm::zip(width, row))
        w = std::max(w, cell.size());
    for (const Row &row : rows) {
      std::string line;
      llvm::raw_string_ostream text(line);
      for (auto [i, cell] : llvm::enumerate(row)) {
        bool isText = i < textColumns || i + 1 == row.size();
        text << (i ? "  " : "")
             << (isText ? llvm::left_justify(cell, width[i])
                        : llvm::right_justify(cell, width[i]));
      }
      os << StringRef(line).rtrim() << "\n";
    }
  }

private:
  std::vector<Row> rows;
  size_t textColumns;
};
} // namespace

/// "3 reads", "1 read".
static std::string counted(size_t number, StringRef what) {
  return llvm::formatv("{0} {1}{2}", number, what, number == 1 ? "" : "s");
}

static std::string milliseconds(double value) {
  return value > 0 ? llvm::formatv("{0:f3}", value).str() : "-";
}

/// The candidate of a routine that is stored so, if there is one.
static const CostedCandidate *find(const PlannedLayer &layer,
                                   const Routine *routine,
                                   const plan::StoredForm &form) {
  for (const CostedCandidate &candidate : layer.candidates)
    if (candidate.routine == routine && candidate.storage == form)
      return &candidate;
  return nullptr;
}

/// The one that is stored in fewer bits, uncompressed.
static const CostedCandidate *findNarrow(const PlannedLayer &layer,
                                         const Routine *routine) {
  for (plan::Narrowing bits :
       {plan::Narrowing::q8, plan::Narrowing::f16, plan::Narrowing::f16Outputs,
        plan::Narrowing::f16Inputs})
    if (const CostedCandidate *found =
            find(layer, routine, {Storage::packed, bits}))
      return found;
  return nullptr;
}

void nnv12::printRoutines(const ModelPlan &plan, const LayerNotes &layouts,
                          llvm::raw_ostream &os) {
  const device::DeviceProfile &profile = *plan.device.profile;
  bool little = profile.little.count > 0;
  auto core = little ? search::Core::Little : search::Core::Big;
  os << "times in ms; execute with " << counted(plan.threads, "thread")
     << ", other stages on one " << (little ? "little" : "big")
     << " core\ncosts: " << costSource(profile) << "\n\n";
  auto read = [&](const CostedCandidate *candidate) {
    return candidate && candidate->costs.bytes > 0
               ? milliseconds(profile.readLatencyUs / 1e3 +
                              candidate->costs.bytes / (profile.readMBps * 1e3))
               : std::string("-");
  };
  Table::Row header = {"layer",       "routine",   "read raw", "transform",
                       "read cached", "read zstd", "decode",   "read narrow",
                       "widen",       "execute",   "costs",    "chosen"};
  auto addLayouts = [&](Table::Row row, const std::string &note) {
    if (!layouts.empty())
      row.insert(row.begin() + 1, note);
    return row;
  };
  Table table(addLayouts(std::move(header), "layouts"),
              layouts.empty() ? 2 : 3);
  for (auto [number, layer] : llvm::enumerate(plan.layers)) {
    const Candidate &chosen = layer.first();
    const Routine *later = layer.laterRoutine();
    std::string name = llvm::formatv("{0} {1}", number, layer.layer.name);
    std::string note = layouts.lookup(layer.layer.op);
    const Routine *last = nullptr;
    for (const CostedCandidate &candidate : layer.candidates) {
      const Routine *routine = candidate.routine;
      if (routine == last)
        continue; // options of a routine stand together
      last = routine;
      bool hasForm = !candidate.costs.form.empty();
      Storage ready = hasForm ? Storage::transformed : Storage::packed;
      const CostedCandidate *raw = find(layer, routine, {Storage::raw});
      const CostedCandidate *packed = find(layer, routine, {Storage::packed});
      const CostedCandidate *narrow = findNarrow(layer, routine);
      const CostedCandidate *zstd =
          find(layer, routine, {ready, std::nullopt, Codec::zstd});
      if (!raw)
        raw = packed; // dense: packed as in the model
      std::string mark;
      if (routine == chosen.routine)
        mark = "* " + (layer.layer.mainOperand ? chosen.storage.text() : "");
      if (routine == later)
        mark = "  from the second inference on";
      table.add(addLayouts(
          {name, descriptorOf(layer.layer.op, *routine), read(raw),
           raw ? milliseconds(raw->costs.transform.on(core)) : "-",
           read(find(layer, routine, {ready})), read(zstd),
           zstd ? milliseconds(zstd->costs.decode.on(core)) : "-", read(narrow),
           narrow ? milliseconds(narrow->costs.transform.on(core)) : "-",
           milliseconds(candidate.costs.execute),
           candidate.measured ? "measured" : "predicted", mark},
          note));
      name.clear();
      note.clear();
    }
  }
  table.print(os);
}

void nnv12::printSplits(const ModelPlan &plan, llvm::raw_ostream &os) {
  const search::Problem &problem = plan.problem;
  if (llvm::all_of(problem.layers, [](const search::Layer &layer) {
        return layer.backs.empty();
      }))
    return;
  search::WarmStretches warm;
  if (plan.overlay)
    warm = plan.overlay->found.warm;
  else
    warm.choice =
        search::withFewPipelines(problem, search::fastestInStretches(problem));
  auto time = [](std::optional<double> ms) {
    return milliseconds(ms.value_or(0));
  };
  os << "\nlayers on CPU and GPU; times in ms, with hand-overs\n\n";
  Table table({"layer", "cpu", "gpu", "both", "split"}, 1);
  for (auto [i, layer] :
       llvm::enumerate(search::splitReport(problem, plan.later, warm))) {
    std::string how;
    if (layer.both)
      how = llvm::formatv("{0} at {1}: ", dimName(layer.split.dim),
                          layer.split.at);
    how += layer.why == search::WhyWhole::IsSplit ? "" : "not split: ";
    how += search::nameOf(layer.why);
    table.add({llvm::formatv("{0} {1}", i, problem.layers[i].name),
               milliseconds(layer.cpu), time(layer.gpu), time(layer.both),
               how});
  }
  table.print(os);
}

//===----------------------------------------------------------------------===//
// Summary
//===----------------------------------------------------------------------===//

/// The common name of routines that differ in parameters: "conv.winograd4",
/// "conv.direct".
static StringRef family(StringRef routine) {
  auto [first, rest] = routine.split('.');
  size_t end = rest.find('.');
  return end == StringRef::npos ? routine
                                : routine.take_front(first.size() + 1 + end);
}

/// Numbers of things by their names.
using Counts =
    llvm::MapVector<std::string, unsigned, std::map<std::string, unsigned>>;

/// "40 conv.gemm, 16 pool", the most frequent first.
static std::string textOf(const Counts &counts) {
  auto sorted = llvm::to_vector(counts);
  llvm::stable_sort(sorted,
                    [](auto &a, auto &b) { return a.second > b.second; });
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(sorted, os, [&](auto &count) {
    os << count.second << " " << count.first;
  });
  return text;
}

/// Prints the routines that take over after the first inference, apart for
/// layers that later inferences leave to the CPUs and for layers of a stretch
/// that a GPU takes over in them, for which a session prepares nothing unless
/// it has no such GPU.
static void printLater(const ExecutionOrder &order, plan::ProgramOp program,
                       llvm::raw_ostream &os) {
  /// Layers whose routine changes, and bytes of the weights that are prepared
  /// for that alone.
  struct LaterMemory {
    unsigned layers = 0;
    uint64_t bytes = 0;
  } cpu, gpu;
  llvm::DenseSet<uint64_t> onGpu;
  if (plan::GpuOp overlay = program.gpu())
    for (plan::StretchOp stretch : overlay.stretches())
      for (uint64_t i = 0; stretch.getWarm() && i < stretch.getCount(); ++i)
        onGpu.insert(stretch.getFirst() + i);
  auto of = [&](uint64_t layer) -> LaterMemory & {
    return onGpu.contains(layer) ? gpu : cpu;
  };
  llvm::DenseSet<Operation *> first = program.firstOperations();
  llvm::DenseMap<uint64_t, uint64_t> mainOperand; ///< by layer
  for (Operation &op : program.getBody().front()) {
    if (auto read = dyn_cast<plan::ReadOp>(op))
      mainOperand[read.getLayer()] = read.getOperand();
    if (auto change = dyn_cast<plan::SwitchOp>(op))
      ++of(change.getLayer()).layers;
    auto transform = dyn_cast<plan::TransformOp>(op);
    if (!transform || first.contains(&op))
      continue;
    const Routine *routine = hostRoutines().named(transform.getRoutine());
    assert(routine && transform.getLayer() < order.layers().size() &&
           "the program is of these layers");
    Operation *layer = order.layers()[transform.getLayer()];
    std::optional<WeightForm> form = routine->weightForm(layer);
    if (transform.getForm() == "packed")
      of(transform.getLayer()).bytes += nn::storageSize(
          layer->getOperand(mainOperand.lookup(transform.getLayer())));
    else if (form)
      of(transform.getLayer()).bytes += form->bytes;
  }
  auto text = [](const LaterMemory &later) {
    return llvm::formatv(
               "{0} {1} after the first result, {2:f1} MB more memory",
               later.layers,
               later.layers == 1 ? "layer switches" : "layers switch",
               later.bytes / 1e6)
        .str();
  };
  if (cpu.layers)
    os << "  later      " << text(cpu) << "\n";
  if (gpu.layers)
    os << "  " << (cpu.layers ? "          " : "later     ")
       << " where no GPU takes them over, " << text(gpu) << "\n";
}

double nnv12::modelWeightBytes(func::FuncOp main) {
  double sum = 0;
  llvm::DenseSet<Attribute> seen;
  for (auto constant : main.getBody().front().getOps<nn::ConstantOp>())
    if (seen.insert(constant.getValue()).second)
      sum += nn::storageSize(
          nn::withLayout(cast<RankedTensorType>(constant.getType()), ""));
  return sum;
}

void nnv12::printSummary(func::FuncOp main, const ModelPlan &plan,
                         plan::ProgramOp program, double fileBytes,
                         llvm::raw_ostream &os) {
  Counts storages;
  llvm::MapVector<std::string, Counts, std::map<std::string, unsigned>>
      routines; // by schema
  for (const PlannedLayer &layer : plan.layers) {
    Operation *op = layer.layer.op;
    StringRef name =
        isa<nn::AdaptOp>(op) ? "adapt" : family(layer.first().routine->name());
    ++routines[schemaText(op)][name.str()];
    if (layer.layer.mainOperand)
      ++storages[layer.first().storage.text()];
  }

  os << "plan for " << program.getTarget() << ", "
     << counted(program.getThreads(), "thread") << "\n  layers     "
     << plan.layers.size() << ": ";
  llvm::interleave(
      routines, os,
      [&](auto &of) { os << of.first << " " << textOf(of.second); }, "; ");
  os << "\n";
  os << llvm::formatv(
      "  weights    {0:f1} MB as in the model, {1:f1} MB in the file",
      modelWeightBytes(main) / 1e6, fileBytes / 1e6);
  if (!storages.empty())
    os << ": " << textOf(storages);
  os << "\n";
  SmallVector<plan::LaneOp> lanes = program.lanes();
  if (!lanes.empty()) {
    SmallVector<std::string> stages;
    auto count = [&](auto kind, StringRef what) {
      auto ops = program.getBody().getOps<decltype(kind)>();
      if (!ops.empty())
        stages.push_back(counted(llvm::range_size(ops), what));
    };
    count(plan::ReadOp(), "read");
    count(plan::DecodeOp(), "decode");
    count(plan::TransformOp(), "transform");
    unsigned here = 0, there = 0, later = 0;
    for (plan::LaneOp lane : lanes) {
      later += lane.getBackground().size();
      for (Value token : lane.getQueue())
        if (!token.getDefiningOp<plan::ExecuteOp>())
          ++(lane.getKind() == plan::LaneKind::execute ? here : there);
    }
    os << "  prepared   "
       << (stages.empty() ? "nothing" : llvm::join(stages, ", ")) << "; "
       << here << " on the execute lane, " << there << " on "
       << counted(lanes.size() - 1, "preparation lane");
    if (later)
      os << ", " << later << " in the background";
    os << "\n";
  }
  printLater(plan.order, program, os);
  if (program.getCold() && program.getWarm())
    os << llvm::formatv("  predicted  cold {0:f2} ms, warm {1:f2} ms\n",
                        *program.getCold() / 1e6, *program.getWarm() / 1e6);
  os << "  costs      " << costSource(*plan.device.profile) << "\n";
}

void nnv12::printGpuSummary(plan::GpuOp overlay,
                            const device::DeviceProfile &profile,
                            size_t pipelines, uint64_t bytes,
                            llvm::raw_ostream &os) {
  auto program = overlay->getParentOfType<plan::ProgramOp>();
  size_t layers = llvm::range_size(program.getBody().getOps<plan::ExecuteOp>());
  uint64_t onGpu = 0, stretches = 0, shared = 0, splits = 0;
  for (plan::StretchOp stretch : overlay.stretches())
    if (stretch.getWarm()) {
      ++stretches;
      onGpu += stretch.getCount();
      splits += stretch.getDim().has_value();
      shared += stretch.getDim() ? stretch.getCount() : 0;
    }
  os << llvm::formatv(
      "  gpu        {0} of {1} layers in {2}, {3} pipelines, {4:f1} KB of "
      "SPIR-V\n",
      onGpu, layers,
      stretches == 1 ? "one stretch" : std::to_string(stretches) + " stretches",
      pipelines, bytes / 1e3);
  if (splits)
    os << "             " << counted(shared, "layer")
       << " of them together with the CPU, in " << counted(splits, "split")
       << "\n";
  os << llvm::formatv(
      "             prepares {0}; predicted cold {1:f2} ms, warm {2:f2} ms\n",
      overlay.getStart() == plan::GpuStart::at_open ? "at open"
                                                    : "after the first result",
      overlay.getCold().value_or(0) / 1e6, overlay.getWarm().value_or(0) / 1e6);
  bool measured = profile.gpu && profile.gpu->measured;
  os << "             costs " << (measured ? "measured: " : "predicted: from ")
     << (measured ? "" : "the data of ") << overlay.getProfile() << "\n";
}
