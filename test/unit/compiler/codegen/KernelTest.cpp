//===- KernelTest.cpp - Compiles and runs the kernel of one layer ---------===//

#include "KernelTest.h"

#include "artifact/Bundle.h"
#include "compiler/codegen/cpu/Backend.h"
#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/TileCheck.h"
#include "compiler/weights/Narrow.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/xxhash.h"

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;
using codegen::KernelBuilder;
using codegen::Target;
using mlir::RankedTensorType;

static RankedTensorType tensor(mlir::Type type) {
  return llvm::cast<RankedTensorType>(type);
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static const codegen::CpuRoutine *pick(mlir::Operation *layer,
                                       llvm::StringRef name) {
  if (name.empty())
    return &codegen::CpuRoutine::of(*codegen::cpuRoutines().preferred(layer));
  const Routine *named = codegen::cpuRoutines().named(name);
  return named && named->matches(layer) ? &codegen::CpuRoutine::of(*named)
                                        : nullptr;
}

std::unique_ptr<LayerKernel> LayerKernel::compile(llvm::StringRef text,
                                                  llvm::StringRef targetName,
                                                  std::string &error,
                                                  llvm::StringRef routineName,
                                                  std::optional<Cells> cells) {
  if (auto target = Target::byName(targetName))
    return compile(text, *target, error, routineName, cells);
  return error += "no such target", nullptr;
}

std::unique_ptr<LayerKernel> LayerKernel::compile(llvm::StringRef text,
                                                  const Target &target,
                                                  std::string &error,
                                                  llvm::StringRef routineName,
                                                  std::optional<Cells> cells) {
  std::unique_ptr<LayerKernel> result(new LayerKernel);
  result->context_ = std::make_unique<mlir::MLIRContext>(
      mlir::MLIRContext::Threading::DISABLED);
  mlir::MLIRContext &context = *result->context_;
  context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    error += d.str() + "\n";
    return mlir::success();
  });
  result->target_ = target;
  result->source_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!result->source_)
    return nullptr;
  result->layer_ = findLayer(*result->source_);
  if (!result->layer_)
    return error += "no layer in the text", nullptr;
  result->routine_ = pick(result->layer_, routineName);
  if (!result->routine_)
    return error += "no routine matches", nullptr;
  setLayouts(*result->routine_, result->layer_);

  const codegen::CpuRoutine &routine = result->routine();
  result->form_ = routine.weightForm(result->layer_);
  result->findSizes();

  KernelBuilder builder(context, result->target_);
  mlir::OwningOpRef<mlir::ModuleOp> module(builder.module);
  builder.use(routine.extension(result->layer_));
  if (cells && !routine.hasCellsOfAnyDim() &&
      !routine.cellsAlong(result->layer_, cells->rowDim, cells->colDim))
    return error += "the routine has no cells", nullptr;
  result->kernel_.info =
      cells ? routine.emitCells(builder, result->layer_, "kernel", *cells)
            : routine.emit(builder, result->layer_, "kernel");
  builder.use(codegen::Extension::None);
  if (result->computesForm())
    result->transform_.info =
        routine.emitTransform(builder, result->layer_, "transform");
  return result->load(*module, error) ? std::move(result) : nullptr;
}

/// Kernels of one program share micro-kernels by their names. So a name stands
/// for one function, in all layers of the process. "" or the fault.
static std::string checkMicroKernels(mlir::ModuleOp module,
                                     const Target &target) {
  static std::map<std::string, uint64_t> known;
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    if (function->hasAttr(codegen::kernelEntryAttribute))
      continue;
    std::string text, name = (target.name + " " + function.getName()).str();
    llvm::raw_string_ostream os(text);
    function.print(os, mlir::OpPrintingFlags().useLocalScope());
    uint64_t hash = llvm::xxh3_64bits(text);
    if (known.try_emplace(name, hash).first->second != hash)
      return "micro-kernel '" + name +
             "' is another one in an earlier layer: its name lacks something "
             "that it depends on";
  }
  return "";
}

bool LayerKernel::load(mlir::ModuleOp module, std::string &error) {
  if (mlir::failed(mlir::verify(module)))
    return error += "emitted module is invalid", false;
  std::string fault = checkMicroKernels(module, target_);
  if (!fault.empty())
    return error += fault, false;
  auto blob = codegen::compileModule(module, target_);
  if (mlir::failed(blob))
    return false;
  auto find = [&](llvm::StringRef name, Entry &entry) {
    auto found = blob->entries.find(name.str());
    if (found == blob->entries.end())
      return false;
    entry.offset = found->second;
    return true;
  };
  if (!find("kernel", kernel_) ||
      (computesForm() && !find("transform", transform_)))
    return error += "no entry point", false;
  code_ = std::move(blob->bytes);
  size_t size = code_.size();
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return error += "no memory", false;
  std::memcpy(memory, code_.data(), size);
  mprotect(memory, size, PROT_READ | PROT_EXEC);
  mapped_ = memory;
  return true;
}

Bytes LayerKernel::runLone(llvm::StringRef targetName,
                           llvm::function_ref<Lone(KernelBuilder &)> emit,
                           const std::vector<Bytes> &operands) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  LayerKernel kernel;
  kernel.target_ = *Target::byName(targetName);
  KernelBuilder builder(context, kernel.target_);
  mlir::OwningOpRef<mlir::ModuleOp> module(builder.module);
  Lone lone = emit(builder);
  std::string error;
  if (kernel.load(*module, error)) {
    codegen::TileCheck check{"lone", kernel.kernel_.offset, 1, lone.info, {}};
    kernel.kernel_.info = lone.info;
    for (const codegen::TileCheck::Operand &operand : lone.operands) {
      check.operands.push_back(operand);
      kernel.kernel_.sizes.push_back(operand.bytes);
    }
    if (kernel.target_.architecture != "aarch64")
      error = codegen::runTileChecks(check, kernel.code_, kernel.target_);
  }
  if (!error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    std::exit(1);
  }
  return kernel.run(kernel.kernel_, operands)[0];
}

void LayerKernel::findSizes() {
  auto size = [](mlir::Value v) {
    return nn::storageSize(tensor(v.getType()));
  };
  kernel_.results = layer_->getNumResults();
  for (mlir::Value result : layer_->getResults())
    kernel_.sizes.push_back(size(result));
  for (mlir::Value operand : layer_->getOperands())
    kernel_.sizes.push_back(size(operand));
  if (!form_)
    return;
  int64_t &weights = kernel_.sizes[kernel_.results + form_->operand];
  if (computesForm())
    transform_.sizes = {form_->bytes, weights};
  weights = form_->bytes;
}

LayerKernel::~LayerKernel() {
  if (mapped_)
    munmap(mapped_, code_.size());
}

std::string LayerKernel::assembly(llvm::StringRef text, const Target &target,
                                  llvm::StringRef routineName) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  auto source = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!source)
    return "";
  mlir::Operation *layer = findLayer(*source);
  const codegen::CpuRoutine *routine = pick(layer, routineName);
  if (!routine)
    return "";
  setLayouts(*routine, layer);
  KernelBuilder builder(context, target);
  mlir::OwningOpRef<mlir::ModuleOp> module(builder.module);
  builder.use(routine->extension(layer));
  (void)routine->emit(builder, layer, "kernel");
  builder.use(codegen::Extension::None);
  std::optional<WeightForm> form = routine->weightForm(layer);
  if (form && !form->narrow)
    (void)routine->emitTransform(builder, layer, "transform");
  std::string result;
  llvm::raw_string_ostream os(result);
  (void)codegen::printModule(*module, target, codegen::CodeText::Assembly, os);
  return result;
}

static std::string qemu() {
  auto path = llvm::sys::findProgramByName("qemu-aarch64");
  return path && *NNV12_AARCH64_LOADER &&
                 llvm::sys::fs::exists(NNV12_AARCH64_LOADER)
             ? *path
             : "";
}

bool LayerKernel::canRun() const {
  if (target_.architecture == "aarch64")
    return !qemu().empty();
  return target_.runsHere();
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

namespace {

/// Memory whose last byte is followed by an unreadable page.
class Guarded {
public:
  /// Where `aligned`, the address is a multiple of 64 and up to 63 bytes beyond
  /// the end can be touched.
  Guarded(size_t size, bool aligned, int fill) : size(size) {
    size_t page = sysconf(_SC_PAGESIZE);
    size_t used = aligned ? (size + 63) / 64 * 64 : size;
    size_t pages = (used + page - 1) / page * page;
    total = pages + page;
    base = static_cast<char *>(mmap(nullptr, total, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base == MAP_FAILED) {
      std::perror("mmap");
      std::exit(1);
    }
    mprotect(base + pages, page, PROT_NONE);
    data = base + pages - used;
    std::memset(base, fill, pages);
  }
  Guarded(Guarded &&other)
      : data(other.data), size(other.size), base(other.base),
        total(other.total) {
    other.base = nullptr;
  }
  ~Guarded() {
    if (base)
      munmap(base, total);
  }
  char *data;
  size_t size;

private:
  char *base;
  size_t total;
};

} // namespace

void LayerKernel::checkTiles() {
  if (areTilesChecked_ || target_.architecture == "aarch64")
    return;
  areTilesChecked_ = true;
  auto describe = [&](const char *name, const Entry &entry,
                      const std::vector<mlir::Type> &elements) {
    codegen::TileCheck check;
    check.name = name;
    check.entry = entry.offset;
    check.results = entry.results;
    check.info = entry.info;
    for (size_t i = 0; i < entry.sizes.size(); ++i)
      check.operands.push_back({entry.sizes[i], elements[i]});
    return check;
  };
  std::vector<mlir::Type> elements;
  for (mlir::Type type : layer_->getResultTypes())
    elements.push_back(tensor(type).getElementType());
  for (mlir::Type type : layer_->getOperandTypes())
    elements.push_back(tensor(type).getElementType());
  if (form_ && form_->narrow)
    elements[kernel_.results + form_->operand] =
        narrowElementType(context_.get(), *form_->narrow);
  std::vector<codegen::TileCheck> checks = {
      describe(routine_->name().data(), kernel_, elements)};
  if (computesForm()) {
    mlir::Type element = elements[kernel_.results + form_->operand];
    checks.push_back(describe("transform", transform_, {element, element}));
  }
  std::string fault = codegen::runTileChecks(checks, code_, target_);
  if (fault.empty())
    return;
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::exit(1);
}

std::vector<Bytes> LayerKernel::packed(const std::vector<Bytes> &operands) {
  std::vector<Bytes> packed = packOperands(layer_, operands);
  if (computesForm())
    packed[form_->operand] = run(transform_, {packed[form_->operand]})[0];
  else if (form_)
    packed[form_->operand] = narrowOperand(operands);
  return packed;
}

Bytes LayerKernel::runTiles(const std::vector<Bytes> &operands,
                            llvm::ArrayRef<int64_t> tiles, char poison) {
  std::vector<Guarded> memory;
  std::vector<void *> table;
  std::vector<Bytes> inputs = packed(operands);
  for (auto [i, size] : llvm::enumerate(kernel_.sizes)) {
    memory.emplace_back(size, false, poison);
    if (i >= kernel_.results)
      llvm::copy(inputs[i - kernel_.results], memory.back().data);
    table.push_back(memory.back().data);
  }
  Guarded scratch(kernel_.info.scratchBytes, true, 0xff);
  auto kernel = reinterpret_cast<artifact::KernelFn>(
      static_cast<char *>(mapped_) + kernel_.offset);
  for (int64_t tile : tiles)
    kernel(table.data(), tile, tile + 1, scratch.data);
  return Bytes(memory[0].data, memory[0].data + memory[0].size);
}

std::vector<Bytes> LayerKernel::run(const std::vector<Bytes> &operands) {
  checkTiles();
  std::vector<Bytes> results = run(kernel_, packed(operands));
  for (auto [i, result] : llvm::enumerate(results))
    result = unpackTensor(layer_->getResult(i), result.data());
  return results;
}

std::vector<std::vector<float>> LayerKernel::randomOperands() const {
  std::vector<std::vector<float>> operands;
  for (auto [i, type] : llvm::enumerate(layer_->getOperandTypes()))
    operands.push_back(
        form_ && form_->narrow && i == form_->operand
            ? narrowFloats(tensor(type), *form_->narrow)
            : randomFloats(tensor(type).getNumElements(), i + 1));
  return operands;
}

Bytes LayerKernel::narrowOperand(const std::vector<Bytes> &operands) const {
  unsigned number = form_->operand;
  return narrowedWeights(tensor(layer_->getOperand(number).getType()),
                         *form_->narrow, operands[number]);
}

Bytes LayerKernel::transformed(const std::vector<Bytes> &operands) {
  return run(transform_, {packOperands(layer_, operands)[form_->operand]})[0];
}

Bytes LayerKernel::transformedHere(const std::vector<Bytes> &operands) const {
  Bytes packed = packOperands(layer_, operands)[form_->operand];
  Guarded from(packed.size(), true, 0), to(form_->bytes, true, 0xff);
  llvm::copy(packed, from.data);
  routine_->transform(layer_, from.data, to.data);
  return Bytes(to.data, to.data + to.size);
}

std::vector<Bytes> LayerKernel::run(const Entry &entry,
                                    const std::vector<Bytes> &packed) {
  if (target_.architecture == "aarch64")
    return runQemu(entry, packed);
  std::vector<Guarded> memory;
  std::vector<void *> table;
  for (auto [i, size] : llvm::enumerate(entry.sizes)) {
    memory.emplace_back(size, false, 0x7f);
    if (i >= entry.results) {
      assert(packed[i - entry.results].size() == size_t(size));
      llvm::copy(packed[i - entry.results], memory.back().data);
    }
    table.push_back(memory.back().data);
  }
  Guarded scratch(entry.info.scratchBytes, true, 0xff); // NaN
  auto kernel = reinterpret_cast<artifact::KernelFn>(
      static_cast<char *>(mapped_) + entry.offset);
  int64_t tiles = entry.info.tiles, cut = tiles / 3;
  kernel(table.data(), cut, tiles, scratch.data);
  kernel(table.data(), 0, cut, scratch.data);
  std::vector<Bytes> results;
  for (size_t i = 0; i < entry.results; ++i)
    results.emplace_back(memory[i].data, memory[i].data + memory[i].size);
  return results;
}

/// The file that aarch64_loader.c reads: header, operand sizes, code, operands;
/// it writes the result operands to another file.
std::vector<Bytes> LayerKernel::runQemu(const Entry &entry,
                                        const std::vector<Bytes> &packed) {
  llvm::SmallString<128> in, out;
  if (llvm::sys::fs::createTemporaryFile("kernel", "in", in) ||
      llvm::sys::fs::createTemporaryFile("kernel", "out", out))
    std::exit(1);
  {
    std::error_code error;
    llvm::raw_fd_ostream os(in, error);
    int64_t header[] = {int64_t(code_.size()),  entry.offset,
                        entry.info.tiles,       entry.info.scratchBytes,
                        int64_t(entry.results), int64_t(entry.sizes.size())};
    os.write(reinterpret_cast<char *>(header), sizeof header);
    os.write(reinterpret_cast<const char *>(entry.sizes.data()),
             entry.sizes.size() * 8);
    os.write(code_.data(), code_.size());
    for (const Bytes &bytes : packed)
      os.write(bytes.data(), bytes.size());
  }
  std::string program = qemu();
  int rc = llvm::sys::ExecuteAndWait(program,
                                     {program, NNV12_AARCH64_LOADER, in, out});
  if (rc != 0) {
    std::fprintf(stderr, "qemu-aarch64 loader: exit code %d\n", rc);
    std::exit(1);
  }
  auto buffer = llvm::MemoryBuffer::getFile(out, false, false);
  llvm::sys::fs::remove(in);
  llvm::sys::fs::remove(out);
  std::vector<Bytes> results;
  const char *at = (*buffer)->getBufferStart();
  for (size_t i = 0; i < entry.results; at += entry.sizes[i++])
    results.emplace_back(at, at + entry.sizes[i]);
  return results;
}

std::function<double()>
LayerKernel::stopwatch(const std::vector<Bytes> &operands, int threads,
                       bool transform) {
  struct State {
    std::vector<Guarded> memory, scratch;
    std::vector<void *> table;
    artifact::KernelFn kernel;
    int64_t tiles;
  };
  const Entry &entry = transform ? transform_ : kernel_;
  std::vector<Bytes> packed = packOperands(layer_, operands);
  if (form_)
    packed = transform ? std::vector<Bytes>{packed[form_->operand]} : packed;
  if (form_ && !transform)
    packed[form_->operand] =
        computesForm() ? transformedHere(operands) : narrowOperand(operands);
  auto state = std::make_shared<State>();
  for (auto [i, size] : llvm::enumerate(entry.sizes)) {
    state->memory.emplace_back(size, true, 0);
    if (i >= entry.results)
      llvm::copy(packed[i - entry.results], state->memory.back().data);
    state->table.push_back(state->memory.back().data);
  }
  for (int t = 0; t < threads; ++t)
    state->scratch.emplace_back(entry.info.scratchBytes + 64, true, 0);
  state->kernel = reinterpret_cast<artifact::KernelFn>(
      static_cast<char *>(mapped_) + entry.offset);
  state->tiles = entry.info.tiles;
  return [state, threads] {
    // One thread's own time leaves out that of other processes.
    auto now = [&] {
      timespec t;
      clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC,
                    &t);
      return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
    };
    double start = now();
    int64_t tiles = state->tiles;
    std::vector<std::thread> workers;
    for (int t = 1; t < threads; ++t)
      workers.emplace_back([&, t] {
        state->kernel(state->table.data(), tiles * t / threads,
                      tiles * (t + 1) / threads, state->scratch[t].data);
      });
    state->kernel(state->table.data(), 0, tiles / threads,
                  state->scratch[0].data);
    for (std::thread &worker : workers)
      worker.join();
    return now() - start;
  };
}

std::vector<Bytes> test::runLayer(llvm::StringRef text,
                                  const std::vector<Bytes> &inputs,
                                  llvm::StringRef target,
                                  llvm::StringRef routine) {
  std::string error;
  auto kernel = LayerKernel::compile(text, target, error, routine);
  if (!kernel) {
    std::fprintf(stderr, "%s\nin %s\n", error.c_str(), text.str().c_str());
    std::exit(1);
  }
  return kernel->run(inputs);
}

bool test::isTier(llvm::StringRef name) {
  const char *tier = std::getenv("NNV12_TIER");
  return tier && tier == name;
}

std::vector<std::string> test::testTargets() {
  std::vector<std::string> result;
  for (llvm::StringRef name : {"x86-64-v4", "x86-64-v3", "aarch64"}) {
    if (!isTier("full") && !result.empty())
      break;
    auto target = Target::byName(name);
    bool runs = target->architecture == "aarch64" ? !qemu().empty()
                                                  : target->runsHere();
    if (runs)
      result.push_back(name.str());
  }
  return result;
}

bool test::emulatesArm() { return !qemu().empty(); }
