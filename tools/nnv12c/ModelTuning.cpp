//===- ModelTuning.cpp - Times of kernels inside of their model -----------===//

#include "tools/nnv12c/ModelTuning.h"

#include "compiler/codegen/common/TemporaryFolder.h"
#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/routines/KernelKey.h"
#include "tools/nnv12c/Forks.h"
#include "tools/nnv12c/Subprogram.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace nnv12;

/// So many routines of each layer are measured.
static constexpr unsigned ranks = 3;
static constexpr unsigned warmRuns = 9;

namespace {
/// A candidate's kernel.
struct Kernel {
  std::string key;
  double milliseconds; ///< as measured by itself
};
} // namespace

/// By layer, the kernels of its routines, the fastest first.
static std::vector<std::vector<Kernel>> kernelsOf(const ModelPlan &plan) {
  std::vector<std::vector<Kernel>> layers;
  for (const PlannedLayer &layer : plan.layers) {
    std::vector<Kernel> &kernels = layers.emplace_back();
    for (const CostedCandidate *candidate :
         fastestOfRoutines(layer.candidates)) {
      Operation *op = layer.layer.op;
      auto &routine = codegen::CpuRoutine::of(*candidate->routine);
      kernels.push_back(
          {kernelKey(op, routine, routine.targetOf(op, plan.device.target)),
           candidate->costs.execute});
    }
  }
  return layers;
}

static void setTime(device::KernelTime &time, unsigned threads,
                    double milliseconds) {
  time.inModel.resize(std::max<size_t>(time.inModel.size(), threads));
  time.inModel[threads - 1] = milliseconds;
}

/// The times of nnv12-prof's table, in milliseconds, by key. Empty where it is
/// none.
static std::map<std::string, std::vector<double>>
readTable(const std::string &path) {
  std::map<std::string, std::vector<double>> times;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return times;
  SmallVector<StringRef> lines, names;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  if (lines.empty())
    return times;
  lines.front().split(names, ',');
  auto fromEnd = [&](StringRef name) {
    return names.end() - llvm::find(names, name);
  };
  // Names of layers may have commas; they stand in front of both.
  ptrdiff_t key = fromEnd("key"), median = fromEnd("median_us");
  for (StringRef line : llvm::drop_begin(lines)) {
    SmallVector<StringRef> cells;
    line.split(cells, ',');
    double microseconds;
    if (key > 0 && median > 0 && ptrdiff_t(cells.size()) >= key &&
        !cells[cells.size() - median].getAsDouble(microseconds) &&
        microseconds > 0)
      times[cells[cells.size() - key].str()].push_back(microseconds * 1e-3);
  }
  return times;
}

LogicalResult
nnv12::measureInModel(func::FuncOp main, const codegen::Target &target,
                      const PlanOptions &options, const TuneOptions &tuning,
                      device::DeviceProfile &profile, WriteRankedBundle write) {
  auto alone = std::make_shared<device::DeviceProfile>(profile);
  for (auto &[key, time] : alone->kernels)
    time.inModel.clear();
  auto plan = planModel(main, {target, alone, /*mayPredict=*/true}, options);
  if (failed(plan))
    return failure();
  unsigned threads = plan->threads;
  std::vector<std::vector<Kernel>> layers = kernelsOf(*plan);
  auto timeOf = [&](const Kernel &kernel) {
    auto time = profile.kernels.find(kernel.key);
    return time == profile.kernels.end() ? 0 : time->second.inModelOn(threads);
  };
  auto isKnown = [&](const Kernel &kernel) { return timeOf(kernel) > 0; };
  if (llvm::all_of(layers, [&](auto &kernels) {
        return llvm::all_of(kernels, isKnown);
      }))
    return success();

  auto give = [](const llvm::Twine &reason) {
    warnOfHost(reason + "; kernels are not measured inside of the model");
    return success();
  };
  TemporaryFolder folder;
  if (!folder.error.empty())
    return give("no folder for temporary files: " + folder.error);
  std::vector<std::string> files;
  for (unsigned rank = 0; rank < ranks; ++rank)
    files.push_back(folder.file(std::to_string(rank) + ".nnv"));
  auto fault = writeInForks(
      ranks, [&](unsigned rank) { return write(rank, alone, files[rank]); });
  if (failed(fault))
    return failure();
  if (!fault->empty())
    return give(*fault);
  for (const std::string &file : files) {
    std::string table = folder.file("table.csv");
    std::string error = runSubprogram(
        "nnv12-prof", {file, "--random", "--runs", std::to_string(warmRuns),
                       "--threads", std::to_string(threads), "--level",
                       "operation", "--counters", "none", "--table", table});
    if (!error.empty())
      return give(error);
    for (auto &[key, times] : readTable(table)) {
      auto known = profile.kernels.find(key);
      if (known == profile.kernels.end() ||
          known->second.inModelOn(threads) > 0)
        continue;
      llvm::sort(times);
      setTime(known->second, threads, times[times.size() / 2]);
    }
  }
  // A routine without a run is not to look better than those with one.
  for (const std::vector<Kernel> &kernels : layers) {
    double most = 1;
    for (const Kernel &kernel : kernels)
      if (isKnown(kernel))
        most = std::max(most, timeOf(kernel) / kernel.milliseconds);
    for (const Kernel &kernel : kernels)
      if (profile.kernels.count(kernel.key) && !isKnown(kernel))
        setTime(profile.kernels[kernel.key], threads,
                most * kernel.milliseconds);
  }
  remember(usableCacheFolder(tuning), target, profile);
  return success();
}
