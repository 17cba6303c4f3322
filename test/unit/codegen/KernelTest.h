//===- KernelTest.h - Compiles and runs the kernel of one layer -*- C++ -*-===//
//
// What the tests of routines share: from nn IR text with one layer to its
// kernel's code in executable memory (or under qemu-aarch64), run as the
// runtime would, only stricter: operands end at an unreadable page, scratch and
// outputs start as garbage, and the tiles come in several ranges in odd order.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_CODEGEN_KERNELTEST_H
#define NNV12_TEST_UNIT_CODEGEN_KERNELTEST_H

#include "compiler/codegen/cpu/Routine.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>
#include <vector>

namespace nnv12::test {

using Bytes = std::vector<char>;

Bytes toBytes(const std::vector<float> &values);
std::vector<float> toFloats(const Bytes &bytes);
/// Reproducible values in [-1, 1).
std::vector<float> randomFloats(size_t count, unsigned seed);

class LayerKernel {
public:
  /// Compiles the layer of `func.func @main` in `text`, which has exactly one,
  /// with dense types: layouts are those that the routine asks for. `target` as
  /// in --target; `routine` names one that must be taken, empty for the
  /// preferred one. On failure null and a message in `error`.
  static std::unique_ptr<LayerKernel> compile(llvm::StringRef text,
                                              llvm::StringRef target,
                                              std::string &error,
                                              llvm::StringRef routine = "");
  ~LayerKernel();

  mlir::Operation *layer() const { return layer_; }
  const codegen::Routine &routine() const { return *routine_; }
  const codegen::KernelInfo &info() const { return info_; }
  /// Whether this machine (with qemu) can run the target.
  bool canRun() const;

  /// Dense row-major operands in, dense row-major results out.
  std::vector<Bytes> run(const std::vector<Bytes> &operands);
  /// The best time of one run in seconds, tiles split over `threads`.
  double time(const std::vector<Bytes> &operands, int threads,
              double budget = 0.5);
  /// The assembly of the module, for a reader.
  static std::string assembly(llvm::StringRef text, llvm::StringRef target,
                              llvm::StringRef routine = "");

private:
  LayerKernel() = default;
  std::vector<Bytes> packOperands(const std::vector<Bytes> &operands) const;
  std::vector<Bytes> runQemu(std::vector<Bytes> packed);

  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> source_;
  mlir::Operation *layer_ = nullptr;
  const codegen::Routine *routine_ = nullptr;
  codegen::Target target_;
  codegen::KernelInfo info_;
  std::vector<char> code_;
  uint32_t entry_ = 0;
  void *mapped_ = nullptr;
};

/// compile + run; the error message ends the program (a test has nothing left).
std::vector<Bytes> runLayer(llvm::StringRef text,
                            const std::vector<Bytes> &inputs,
                            llvm::StringRef target = "host",
                            llvm::StringRef routine = "");

/// The targets that tests go through on this machine.
std::vector<std::string> testTargets();

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_CODEGEN_KERNELTEST_H
