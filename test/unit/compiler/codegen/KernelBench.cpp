//===- KernelBench.cpp - Times the kernel of a layer ----------------------===//
//
// Reads cases from a file or standard input, one a line, and prints the median
// time and GFLOP/s (of the plain algorithm) of each routine asked for, and its
// weights' transform:
//   conv NAME C O H W K STRIDE PAD [GROUPS]     (H, W of the input)
//   deconv NAME C O H W K STRIDE PAD
//   matmul NAME M N K [BATCH [TRANSPOSE_RHS]]   (without batch, rhs is a
//   constant) pool NAME C H W K STRIDE PAD
//   qconv NAME, qmatmul NAME: of 8-bit integers, numbers as of conv and matmul
//   text FILE: a function with one layer
//
// Routines of a case take turns, so that a disturbance of the machine disturbs
// all of them; ratios are those of the first one's time to the others'.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"
#include "Reference.h"

#include "compiler/codegen/cpu/PartGrid.h"
#include "compiler/routines/Cut.h"
#include "dialects/nn/Layout.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace nnv12::test;
namespace cl = llvm::cl;

static cl::opt<std::string> file(cl::Positional, cl::desc("<cases>"),
                                 cl::init("-"));
static cl::opt<std::string> targetName("for", cl::init("host"),
                                       cl::desc("target"));
static cl::list<std::string>
    routineNames("routine", cl::CommaSeparated,
                 cl::desc("routines to take, each if it matches"));
static cl::opt<int> threads("workers", cl::init(1), cl::desc("threads"));
static cl::opt<double> budget("budget", cl::init(0.3),
                              cl::desc("seconds a case"));
static cl::opt<std::string>
    cellSize("cells", cl::desc("ROWSxCOLS, or auto: each routine in cells of "
                               "that size, too, where it has them"));
static cl::list<std::string>
    partDims("parts", cl::CommaSeparated,
             cl::desc("batch, channels, rows: each routine in tiles for parts "
                      "along these, too, where they are not its own"));
static cl::opt<bool>
    isCold("cold", cl::desc("operands and results are in no cache of a core"));
static cl::opt<bool>
    measureErrors("errors", cl::desc("print rounding errors instead of times"));
static cl::opt<bool> printAssembly("S", cl::desc("print the assembly instead"));
static cl::opt<std::string>
    onlyTile("tile", cl::desc("POSITIONSxPANELS: the tile that kernels of "
                              "panels take, whatever the target says"));

namespace {

/// The largest error beside a sum in double, in units of the largest result.
/// Inputs are results of a ReLU.
void printErrors(const std::string &name, const std::string &text,
                 llvm::ArrayRef<std::string> routines,
                 const nnv12::codegen::Target &target) {
  Floats expected;
  for (const std::string &routine : routines) {
    std::string error;
    auto kernel = LayerKernel::compile(text, target, error, routine);
    if (!kernel) {
      llvm::errs() << name << ": " << routine << ": " << error << "\n";
      continue;
    }
    std::vector<Floats> operands;
    std::vector<Bytes> bytes;
    for (mlir::Value operand : kernel->layer()->getOperands()) {
      auto type = llvm::cast<mlir::RankedTensorType>(operand.getType());
      operands.push_back(
          randomFloats(type.getNumElements(), operands.size() + 1));
      if (operands.size() == 1)
        for (float &x : operands[0])
          x = std::max(x, 0.0f);
      bytes.push_back(toBytes(operands.back()));
    }
    if (expected.empty())
      expected = reference(kernel->layer(), operands);
    Floats found = toFloats(kernel->run(bytes)[0]);
    float largest = 0, worst = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      largest = std::max(largest, std::fabs(expected[i]));
      worst = std::max(worst, std::fabs(expected[i] - found[i]));
    }
    llvm::outs() << llvm::format("%-20s %-24s error %.1e\n", name.c_str(),
                                 kernel->routine().name().str().c_str(),
                                 worst / largest);
  }
}

/// Two numbers with an x between; false where it is something else.
bool parsePair(llvm::StringRef text, int64_t &first, int64_t &second) {
  auto [a, b] = text.split('x');
  return !a.getAsInteger(10, first) && !b.getAsInteger(10, second) &&
         first > 0 && second > 0;
}

/// The kernel in cells of a size that suits it, or of that in `text`; null
/// where there is none.
std::unique_ptr<LayerKernel> compileCells(const std::string &text,
                                          const LayerKernel &dense,
                                          const nnv12::codegen::Target &target,
                                          llvm::StringRef size) {
  unsigned rank = nnv12::nn::typeOf(dense.layer()->getResult(0)).getRank();
  std::optional<nnv12::Cells> cells;
  if (rank >= 2)
    cells = dense.routine().cellsAlong(dense.layer(), rank - 2, rank - 1);
  if (size.empty() || !cells)
    return nullptr;
  if (size != "auto")
    (void)parsePair(size, cells->rows, cells->cols);
  std::string error;
  return LayerKernel::compile(text, target, error, dense.routine().name(),
                              cells);
}

/// The kernel whose tiles are for parts along the dimension; null where that is
/// no other kernel.
std::unique_ptr<LayerKernel> compilePart(const std::string &text,
                                         const LayerKernel &own,
                                         const nnv12::codegen::Target &target,
                                         unsigned dim) {
  auto grid = nnv12::codegen::partGrid(own.layer(), own.routine(), dim, target);
  if (!grid || !grid->cells)
    return nullptr;
  std::string error;
  return LayerKernel::compile(text, target, error, own.routine().name(),
                              grid->cells);
}

/// Leaves the target one tile; those that remain at edges fit, but cost much.
bool takeOnly(llvm::StringRef text, nnv12::codegen::Target &target,
              nnv12::codegen::TileCosts &table) {
  int64_t positions, panels;
  if (!parsePair(text, positions, panels) || positions > table.mostPositions ||
      panels > table.mostPanels)
    return false;
  for (auto &row : table.costs)
    std::fill_n(row, positions, 1e9);
  table.costs[panels - 1][positions - 1] = 1;
  target.tileCosts = target.quadCosts = &table;
  return true;
}

/// One kernel whose time is taken in turn with others'.
struct Contestant {
  std::unique_ptr<LayerKernel> kernel;
  bool isTransform;
  std::function<double()> runOnce;
  std::string tiles = ""; ///< behind the routine's name, where not its own
  std::vector<double> times = {};

  double median() {
    std::nth_element(times.begin(), times.begin() + times.size() / 2,
                     times.end());
    return times[times.size() / 2];
  }
};

/// Writes more memory than the caches of a core hold.
void fillCaches() {
  static std::vector<char> memory(64 << 20);
  static char value = 0;
  std::fill(memory.begin(), memory.end(), ++value);
}

/// Floats at random, bytes of all kinds, and zeros of wider integers.
std::vector<Bytes> operandsOf(const LayerKernel &kernel) {
  std::vector<Bytes> operands;
  std::vector<Floats> floats = kernel.randomOperands();
  for (auto [i, value] : llvm::enumerate(kernel.layer()->getOperands())) {
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    if (type.getElementType().isF32()) {
      operands.push_back(toBytes(floats[i]));
      continue;
    }
    operands.emplace_back(type.getNumElements() *
                          (type.getElementTypeBitWidth() / 8));
    if (type.getElementType().isInteger(8))
      for (auto [j, byte] : llvm::enumerate(operands.back()))
        byte = char(j * 37 + j / 251);
  }
  return operands;
}

/// A quantised layer with bias, scale and zero point.
std::string quantizedText(const std::string &call,
                          const std::string &attributes, const std::string &x,
                          const std::string &w, const std::string &y,
                          int64_t columns) {
  std::string vector = "tensor<" + std::to_string(columns), scalar = "tensor<";
  std::string ints = vector + "xi32>", floats = vector + "xf32>";
  return "func.func @main(%x: " + x + ", %b: " + ints + ", %s: " + floats +
         ", %z: tensor<ui8>) -> " + y + " {\n%w = nn.constant dense<3> : " + w +
         "\n%y = " + call + " %x, %w" +
         (call == "nn.qconv" ? " padding %z" : "") +
         " bias %b scale %s out_zero %z " + attributes + " : " + x + ", " + w +
         (call == "nn.qconv" ? " padding tensor<ui8>" : "") + " bias " + ints +
         " scale " + floats + " out_zero tensor<ui8> -> " + y +
         "\nreturn %y : " + y + "\n}";
}

std::string tensorOf(std::initializer_list<int64_t> shape,
                     const std::string &element) {
  std::string text = "tensor<";
  for (int64_t d : shape)
    text += std::to_string(d) + "x";
  return text + element + ">";
}

void bench(const std::string &name, const std::string &text, double flops,
           llvm::ArrayRef<std::string> routines, double budget, int threads,
           const nnv12::codegen::Target &target, llvm::StringRef cells,
           llvm::ArrayRef<unsigned> parts, bool cold) {
  std::vector<Contestant> all;
  for (const std::string &routine : routines) {
    std::string error;
    auto kernel = LayerKernel::compile(text, target, error, routine);
    if (!kernel) {
      llvm::errs() << name << ": " << routine << ": " << error << "\n";
      continue;
    }
    std::vector<Bytes> operands = operandsOf(*kernel);
    std::function<double()> transform;
    if (auto form = kernel->weightForm(); form && !form->narrow)
      transform = kernel->stopwatch(operands, threads, true);
    auto execute = kernel->stopwatch(operands, threads);
    auto inCells = compileCells(text, *kernel, target, cells);
    size_t own = all.size();
    all.push_back({std::move(kernel), false, execute});
    if (inCells) {
      auto executeCells = inCells->stopwatch(operands, threads);
      all.push_back({std::move(inCells), false, executeCells, " cells"});
    }
    for (unsigned dim : parts) {
      auto part = compilePart(text, *all[own].kernel, target, dim);
      if (!part)
        continue;
      auto executePart = part->stopwatch(operands, threads);
      all.push_back({std::move(part), false, executePart,
                     " " + nnv12::dimName(dim).str()});
    }
    if (transform)
      all.push_back({nullptr, true, transform});
  }
  using clock = std::chrono::steady_clock;
  auto start = clock::now();
  for (int i = 0;
       i < 5 || std::chrono::duration<double>(clock::now() - start).count() <
                    budget * double(all.size());
       ++i)
    for (Contestant &c : all) {
      if (cold)
        fillCaches();
      else
        c.runOnce(); // the others' data in the caches is not its fault
      c.times.push_back(c.runOnce());
    }
  for (Contestant &c : all) {
    double t = c.median();
    if (c.isTransform) {
      llvm::outs() << llvm::format("%-20s   transform %51.1f us\n",
                                   name.c_str(), t * 1e6);
      continue;
    }
    llvm::outs() << llvm::format(
        "%-20s %-24s tiles %4lld scratch %8lld code %6lld %9.1f us %7.1f "
        "GFLOP/s %6.2f\n",
        name.c_str(), (c.kernel->routine().name() + c.tiles).str().c_str(),
        (long long)c.kernel->info().tiles,
        (long long)c.kernel->info().scratchBytes,
        (long long)c.kernel->codeBytes(), t * 1e6, flops / t * 1e-9,
        all[0].median() / t);
  }
  llvm::outs().flush();
}

} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "times kernels\n");
  // The linker in this process resets all options: keep them.
  std::vector<std::string> routines = {""}; // the preferred one
  if (!routineNames.empty())
    routines.assign(routineNames.begin(), routineNames.end());
  double seconds = budget;
  int workers = threads;
  std::string tile = onlyTile, cells = cellSize;
  std::vector<unsigned> dims;
  for (const std::string &name : partDims)
    if (std::optional<unsigned> dim = nnv12::dimNamed(name))
      dims.push_back(*dim);
  auto target = nnv12::codegen::Target::byName(targetName);
  nnv12::codegen::TileCosts table = {};
  if (!target || (!tile.empty() && !takeOnly(tile, *target, table))) {
    llvm::errs() << "kernel-bench: found --for " << targetName << " --tile "
                 << tile << ", expected one of "
                 << nnv12::codegen::Target::names() << ", and 1x1 to "
                 << table.mostPositions << "x" << table.mostPanels << "\n";
    return 1;
  }
  bool assembly = printAssembly, errors = measureErrors, cold = isCold;
  // Asks for what a process may not use of its own.
  if (!assembly && !target->runsHere()) {
    llvm::errs() << "kernel-bench: --for " << targetName
                 << ": this machine cannot run it\n";
    return 1;
  }
  std::ifstream in(file);
  std::istream &lines = file == "-" ? std::cin : in;
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream s(line);
    std::string kind, name, text;
    if (!(s >> kind >> name) || kind[0] == '#')
      continue;
    if (kind == "text") {
      std::ifstream file(name);
      text.assign(std::istreambuf_iterator<char>(file), {});
    }
    std::vector<int64_t> v;
    for (int64_t x; s >> x;)
      v.push_back(x);
    v.resize(9);
    double flops = 0;
    if (kind == "conv" || kind == "deconv") {
      ConvCase c;
      c.c = v[0], c.o = v[1], c.h = v[2], c.w = v[3], c.kh = c.kw = v[4];
      c.strideH = c.strideW = v[5];
      c.top = c.left = c.bottom = c.right = v[6];
      c.groups = std::max<int64_t>(1, v[7]);
      c.activation = "relu";
      c.transpose = kind == "deconv";
      c.constant = true;
      text = c.text();
      int64_t positions = c.transpose
                              ? c.h * c.w
                              : ((c.h + 2 * v[6] - c.kh) / c.strideH + 1) *
                                    ((c.w + 2 * v[6] - c.kw) / c.strideW + 1);
      flops = 2.0 * c.c * c.o * c.kh * c.kw * positions / c.groups;
    } else if (kind == "qconv") {
      int64_t stride = v[5], pad = v[6], groups = std::max<int64_t>(1, v[7]);
      int64_t h = (v[2] + 2 * pad - v[4]) / stride + 1,
              w = (v[3] + 2 * pad - v[4]) / stride + 1;
      auto pair = [](int64_t x) {
        return "[" + std::to_string(x) + ", " + std::to_string(x) + "]";
      };
      text =
          quantizedText("nn.qconv",
                        "strides " + pair(stride) + " dilations [1, 1] pads " +
                            pair(pad) + ", " + pair(pad) +
                            " {groups = " + std::to_string(groups) + " : i64}",
                        tensorOf({1, v[0], v[2], v[3]}, "ui8"),
                        tensorOf({v[1], v[0] / groups, v[4], v[4]}, "i8"),
                        tensorOf({1, v[1], h, w}, "ui8"), v[1]);
      flops = 2.0 * v[0] * v[1] * v[4] * v[4] * h * w / groups;
    } else if (kind == "qmatmul") {
      text = quantizedText("nn.qmatmul", "", tensorOf({v[0], v[2]}, "ui8"),
                           tensorOf({v[2], v[1]}, "i8"),
                           tensorOf({v[0], v[1]}, "ui8"), v[1]);
      flops = 2.0 * v[0] * v[1] * v[2];
    } else if (kind == "matmul") {
      MatMulCase c;
      c.m = v[0], c.n = v[1], c.k = v[2];
      if (v[3])
        c.lhsBatch = c.rhsBatch = {v[3]};
      c.constant = !v[3];
      c.transposeRhs = v[4];
      text = c.text();
      flops = 2.0 * v[0] * v[1] * v[2] * std::max<int64_t>(1, v[3]);
    } else if (kind == "pool") {
      PoolCase c;
      c.c = v[0], c.h = v[1], c.w = v[2], c.k = v[3], c.stride = v[4],
      c.low = c.high = v[5];
      text = c.text();
      flops = 1.0 * v[0] * v[1] * v[2] * v[3] * v[3] / (v[4] * v[4]);
    }
    if (assembly)
      llvm::outs() << LayerKernel::assembly(text, *target, routines[0]);
    else if (errors)
      printErrors(name, text, routines, *target);
    else
      bench(name, text, flops, routines, seconds, workers, *target, cells, dims,
            cold);
  }
}
