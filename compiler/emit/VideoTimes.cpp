//===- VideoTimes.cpp - Predicted times of frames with reuse --------------===//

#include "compiler/emit/VideoTimes.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cassert>

using namespace nnv12;
using artifact::VideoTiles;

// Measured with networks of tests on a CPU with AVX-512
// (docs/results/video.md).

/// Layers take longer in a stream than in a plain run: all values lie apart,
/// and fill more of the caches. And longer in cells, which are small and jump
/// about.
static constexpr double apart = 1.1, inCells = 1.25;
/// Layers with little work wait for memory: for so many tensors of each that
/// they read or write, and in cells for more.
static constexpr double perTensor = 0.7, perTensorInCells = 1;
/// Values of less bytes than that stay in caches that a core has for itself.
static constexpr uint64_t mostCached = 1 << 20;
/// Milliseconds of following the changes through a layer.
static constexpr double perSet = 0.002;
/// Memory traffic of a tensor that is compared with the kept one, in tensors.
/// At a check point the result is written to another place, and copied.
static constexpr double perMatch = 2, perMerge = 3.5;

namespace {
/// Sizes of tiles along the plane of an execute's result.
struct TileSize {
  uint32_t rows = 1, columns = 1;
};
} // namespace

static TileSize tileSizeOf(const artifact::VideoPart &part,
                           const artifact::Kernel &kernel) {
  TileSize size;
  assert(kernel.maps.size() == 1 && kernel.maps[0].parts.size() == 1 &&
         "parts of layers have one grid");
  for (const auto &cut : kernel.maps[0].parts[0].cuts) {
    if (cut.axis == part.rowAxis)
      size.rows = static_cast<uint32_t>(cut.size);
    else if (part.tiles == VideoTiles::Cells && cut.axis == part.columnAxis)
      size.columns = static_cast<uint32_t>(cut.size);
  }
  return size;
}

static search::FrameWindow windowOf(const artifact::VideoWindow &window) {
  return {window.num, window.den, window.low, window.high};
}

/// Whether an execute belongs to the tail: its result lies where the program
/// has it.
static bool isInTail(const artifact::VideoExecute &execute) {
  return !execute.places.empty() &&
         execute.places[0] == artifact::VideoExecute::asInProgram;
}

/// Bytes of values that an operation reads and writes.
static uint64_t bytesOf(const artifact::Operation &operation) {
  uint64_t bytes = 0;
  for (const artifact::Operand &operand : operation.operands)
    if (operand.space != artifact::Space::Weights &&
        operand.space != artifact::Space::Prepared)
      bytes += operand.size;
  return bytes;
}

/// Bytes of all results.
static uint64_t bytesOfResults(const artifact::Program &program) {
  uint64_t bytes = 0;
  for (const artifact::Operation &operation : program.operations)
    bytes += operation.operands[0].size;
  return bytes;
}

/// The costs of frames where each layer with pixels has tiles of one.
static search::FrameProblem problemOfPixels(const artifact::Program &program,
                                            const artifact::ProgramVideo &video,
                                            llvm::ArrayRef<double> times,
                                            double memoryGBps) {
  assert(times.size() == video.executes.size() && "a time for each execute");
  search::FrameProblem problem;
  for (const artifact::VideoSet &set : video.sets) {
    search::FrameSet &added =
        problem.sets.emplace_back(search::FrameSet{set.rows, set.columns});
    for (const artifact::VideoRead &read : set.reads)
      added.reads.push_back(
          {read.set, read.all, windowOf(read.rows), windowOf(read.columns)});
  }
  auto traffic = [&](const artifact::PixelLayout &pixels, uint32_t set) {
    const artifact::VideoSet &of = video.sets[set];
    return double(pixels.pieces * pixels.piece) * of.rows * of.columns /
           (memoryGBps * 1e6);
  };
  for (const artifact::VideoInput &input : video.inputs)
    problem.inputs.push_back(
        {input.set, perMatch * traffic(input.pixels, input.set)});
  bool isCached = bytesOfResults(program) <= mostCached;
  for (auto [from, time, operation] :
       llvm::zip(video.executes, times, program.operations)) {
    double read =
        isCached ? 0 : double(bytesOf(operation)) / (memoryGBps * 1e6);
    search::FrameExecute execute = {
        from.set,
        isInTail(from) ? time : std::max(apart * time, perTensor * read)};
    execute.tiles = std::max(inCells * time, perTensorInCells * read);
    if (problem.sets[from.set].numPixels() > 1)
      execute.tileRows = execute.tileColumns = 1;
    if (from.check)
      execute.merge = perMerge * traffic(from.check->pixels, from.set);
    execute.plain = time;
    problem.executes.push_back(execute);
    problem.plain += time;
  }
  problem.bookkeeping = perSet * double(video.sets.size());
  return problem;
}

size_t nnv12::chooseVideoTail(const artifact::Program &program,
                              const artifact::ProgramVideo &video,
                              llvm::ArrayRef<double> times, double memoryGBps) {
  return search::chooseTail(problemOfPixels(program, video, times, memoryGBps));
}

search::FrameProblem nnv12::frameProblemOf(const artifact::Program &program,
                                           llvm::ArrayRef<double> times,
                                           double memoryGBps) {
  const artifact::ProgramVideo &video = *program.video;
  search::FrameProblem problem =
      problemOfPixels(program, video, times, memoryGBps);
  // By execute: the switch that is taken by then.
  std::vector<std::optional<size_t>> switches(times.size());
  for (size_t k = 0; k < program.switches.size(); ++k)
    switches[program.switches[k].operation] = k;
  for (size_t i = 0; i < times.size(); ++i) {
    const artifact::VideoExecute &from = video.executes[i];
    const artifact::Operation *operation = &program.operations[i];
    const artifact::VideoPart *part = &from.part;
    if (switches[i]) {
      operation = &program.switches[*switches[i]].replacement;
      part = &video.switches[*switches[i]];
    }
    search::FrameExecute &execute = problem.executes[i];
    bool hasOwn = part->kernel == artifact::VideoPart::ownKernel;
    const artifact::Kernel &kernel = hasOwn ? program.kernels[operation->kernel]
                                            : video.kernels[part->kernel];
    if (hasOwn) // its tiles are larger
      execute.tiles = execute.whole;
    execute.tileRows = execute.tileColumns = 0;
    if (part->tiles != VideoTiles::All) {
      TileSize size = tileSizeOf(*part, kernel);
      execute.isFlat = part->tiles == VideoTiles::Runs;
      execute.tileRows = execute.isFlat ? 1 : size.rows;
      execute.tileColumns = execute.isFlat ? size.rows
                            : part->tiles == VideoTiles::Rows
                                ? video.sets[from.set].columns
                                : size.columns;
    }
  }
  return problem;
}

void nnv12::printVideoTimes(const search::FrameTimes &times, double plain,
                            std::optional<double> gpu, llvm::raw_ostream &os) {
  double most = times.paysBelow();
  os << "             ";
  if (times.at(0.01) >= 1)
    os << "does not pay where anything changes";
  else if (most >= 1)
    os << "pays for any change";
  else
    os << llvm::formatv("pays below {0:f0} % changed input", 100 * most);
  os << llvm::formatv(
      "; predicted for 0, 2 and {0:f0} %: {1:f2}, {2:f2} and {3:f2} of a run\n",
      100 * ordinaryShare, times.at(0), times.at(0.02),
      times.at(ordinaryShare));
  if (!gpu)
    return;
  double reuse = plain * times.at(ordinaryShare);
  os << llvm::formatv(
      "             with {0:f0} % changed, predicted: {1:f2} ms with reuse, "
      "{2:f2} ms of plain runs with the GPU, which are {3}\n",
      100 * ordinaryShare, reuse, *gpu, *gpu < reuse ? "better" : "worse");
}
