//===- KernelTest.h - Compiles and runs one kernel --------------*- C++ -*-===//
//
// Shared by the tests of routines: from nn IR text with one layer to its
// kernel's code in executable memory (or under qemu-aarch64), run as the
// runtime would, only stricter: operands end at an unreadable page, scratch and
// outputs start as garbage, and the tiles come in several ranges in odd order.
// The bytes that each tile writes are compared with its TileMap.
// A routine with a weight form gets it from its transform kernel.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_COMPILER_CODEGEN_KERNELTEST_H
#define NNV12_TEST_UNIT_COMPILER_CODEGEN_KERNELTEST_H

#include "LayerOperands.h"

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/codegen/cpu/TileCheck.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nnv12::test {

class LayerKernel {
public:
  /// Compiles the layer of `func.func @main` in `text`, which has exactly one,
  /// with dense types: layouts are those that the routine asks for. `target` as
  /// in --target; `routine` names one that must be taken, empty for the
  /// preferred one; `cells`: in cells of that size. On failure null and a
  /// message in `error`.
  static std::unique_ptr<LayerKernel>
  compile(llvm::StringRef text, llvm::StringRef target, std::string &error,
          llvm::StringRef routine = "",
          std::optional<Cells> cells = std::nullopt);
  static std::unique_ptr<LayerKernel>
  compile(llvm::StringRef text, const codegen::Target &target,
          std::string &error, llvm::StringRef routine = "",
          std::optional<Cells> cells = std::nullopt);
  ~LayerKernel();

  /// A kernel that computes no layer: `emit` writes it as "kernel", to one
  /// result.
  struct Lone {
    codegen::KernelInfo info;
    std::vector<codegen::TileCheck::Operand> operands; ///< the result first
  };
  /// Compiles and checks it, and runs it with the operands behind the result,
  /// which is returned. A fault ends the program.
  static Bytes runLone(llvm::StringRef target,
                       llvm::function_ref<Lone(codegen::KernelBuilder &)> emit,
                       const std::vector<Bytes> &operands);

  mlir::Operation *layer() const { return layer_; }
  const codegen::CpuRoutine &routine() const { return *routine_; }
  const codegen::KernelInfo &info() const { return kernel_.info; }
  std::optional<WeightForm> weightForm() const { return form_; }
  /// The size of all code: a weight form's transform is a part of it.
  size_t codeBytes() const { return code_.size(); }
  /// Whether this machine (with qemu) can run the target.
  bool canRun() const;

  /// The operands of a layer, at random; weights that the kernel reads in fewer
  /// bits are such.
  std::vector<std::vector<float>> randomOperands() const;
  /// Dense row-major operands in, dense row-major results out.
  std::vector<Bytes> run(const std::vector<Bytes> &operands);
  /// The first result as it lies in memory, where each byte is `poison` before
  /// these tiles run one by one. On this machine.
  Bytes runTiles(const std::vector<Bytes> &operands,
                 llvm::ArrayRef<int64_t> tiles, char poison);
  /// The weight form of a routine that computes one, as the transform kernel
  /// and as the compiler computes it.
  Bytes transformed(const std::vector<Bytes> &operands);
  Bytes transformedHere(const std::vector<Bytes> &operands) const;
  const codegen::KernelInfo &transformInfo() const { return transform_.info; }
  /// Gets ready to run the kernel (or that of its weight form) on this machine,
  /// tiles split over `threads`: the result runs it once and returns the
  /// seconds that took.
  std::function<double()> stopwatch(const std::vector<Bytes> &operands,
                                    int threads, bool transform = false);
  /// The assembly of the module, for a reader.
  static std::string assembly(llvm::StringRef text,
                              const codegen::Target &target,
                              llvm::StringRef routine = "");

private:
  /// A kernel in the code, and its operands' sizes in bytes, results first.
  struct Entry {
    uint32_t offset = 0;
    codegen::KernelInfo info;
    std::vector<int64_t> sizes;
    size_t results = 1;
  };
  LayerKernel() = default;
  bool computesForm() const { return form_ && !form_->narrow; }
  /// The weights among the operands, packed in fewer bits.
  Bytes narrowOperand(const std::vector<Bytes> &operands) const;
  /// Makes machine code of the emitted module, and finds the kernels in it.
  bool load(mlir::ModuleOp module, std::string &error);
  void findSizes();
  /// Ends the program if the kernels' tiles break their declarations.
  /// Once; not for code that another machine runs.
  void checkTiles();
  /// Operands as the kernel reads them.
  std::vector<Bytes> packed(const std::vector<Bytes> &operands);
  /// Results as they lie in memory.
  std::vector<Bytes> run(const Entry &entry, const std::vector<Bytes> &packed);
  std::vector<Bytes> runQemu(const Entry &entry,
                             const std::vector<Bytes> &packed);

  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> source_;
  mlir::Operation *layer_ = nullptr;
  const codegen::CpuRoutine *routine_ = nullptr;
  codegen::Target target_;
  Entry kernel_, transform_;
  std::optional<WeightForm> form_;
  std::vector<char> code_;
  void *mapped_ = nullptr;
  bool areTilesChecked_ = false;
};

/// compile + run; the error message ends the program (a test has nothing left).
std::vector<Bytes> runLayer(llvm::StringRef text,
                            const std::vector<Bytes> &inputs,
                            llvm::StringRef target = "host",
                            llvm::StringRef routine = "");

/// Whether tests are to try as much as this tier of tools/check, "quick" or
/// "full", does: NNV12_TIER is it.
bool isTier(llvm::StringRef name);

/// The targets of CPUs that tests go through: the machine's own, and with
/// NNV12_TIER=full (tools/check --full) all that it runs.
std::vector<std::string> testTargets();
/// Whether qemu runs kernels of aarch64, with all extensions.
bool emulatesArm();

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_CODEGEN_KERNELTEST_H
