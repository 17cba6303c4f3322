//===- KernelBench.cpp - Times the kernel of a layer ----------------------===//
//
// Reads cases from a file or standard input, one a line, and prints GFLOP/s:
//   conv NAME C O H W K STRIDE PAD [GROUPS]     (H, W of the input)
//   deconv NAME C O H W K STRIDE PAD
//   matmul NAME M N K [BATCH [TRANSPOSE_RHS]]   (without batch, rhs is a
//   constant) pool NAME C H W K STRIDE PAD
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"
#include "Reference.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <fstream>
#include <iostream>
#include <sstream>

using namespace nnv12::test;
namespace cl = llvm::cl;

static cl::opt<std::string> file(cl::Positional, cl::desc("<cases>"),
                                 cl::init("-"));
static cl::opt<std::string> targetName("for", cl::init("host"),
                                       cl::desc("target"));
static cl::opt<std::string> routineName("routine", cl::desc("routine to take"));
static cl::opt<int> threads("workers", cl::init(1), cl::desc("threads"));
static cl::opt<double> budget("budget", cl::init(0.3),
                              cl::desc("seconds a case"));
static cl::opt<bool> printAssembly("S", cl::desc("print the assembly instead"));

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "times kernels\n");
  std::ifstream in(file);
  std::istream &lines = file == "-" ? std::cin : in;
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream s(line);
    std::string kind, name, text;
    if (!(s >> kind >> name) || kind[0] == '#')
      continue;
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
      text = c.text();
      int64_t positions = c.transpose
                              ? c.h * c.w
                              : ((c.h + 2 * v[6] - c.kh) / c.strideH + 1) *
                                    ((c.w + 2 * v[6] - c.kw) / c.strideW + 1);
      flops = 2.0 * c.c * c.o * c.kh * c.kw * positions / c.groups;
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
    if (printAssembly) {
      llvm::outs() << LayerKernel::assembly(text, targetName, routineName);
      continue;
    }
    std::string error;
    auto kernel = LayerKernel::compile(text, targetName, error, routineName);
    if (!kernel) {
      llvm::errs() << name << ": " << error << "\n" << text;
      continue;
    }
    std::vector<Bytes> operands;
    for (mlir::Value operand : kernel->layer()->getOperands())
      operands.push_back(toBytes(
          randomFloats(llvm::cast<mlir::RankedTensorType>(operand.getType())
                           .getNumElements(),
                       1)));
    double t = kernel->time(operands, threads, budget);
    llvm::outs() << llvm::format(
        "%-20s %-24s tiles %4lld scratch %7lld  %9.1f us %7.1f GFLOP/s\n",
        name.c_str(), kernel->routine().name().str().c_str(),
        (long long)kernel->info().tiles, (long long)kernel->info().scratchBytes,
        t * 1e6, flops / t * 1e-9);
    llvm::outs().flush();
  }
}
