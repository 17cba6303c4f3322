//===- HostTuning.cpp - Measures this machine while compiling -------------===//

#include "tools/nnv12c/HostTuning.h"

#include "artifact/Hexadecimal.h"
#include "compiler/codegen/common/TemporaryFolder.h"
#include "compiler/codegen/cpu/Backend.h"
#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/device/CacheFolder.h"
#include "compiler/device/ProfileCache.h"
#include "compiler/emit/TuningKernels.h"
#include "compiler/select/OtherLayouts.h"
#include "tools/nnv12c/CodeRevision.h"
#include "tools/nnv12c/Forks.h"
#include "tools/nnv12c/Subprogram.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"

using namespace mlir;
using namespace nnv12;

static void warn(const llvm::Twine &message) {
  llvm::errs() << "nnv12c: warning: " << message << "\n";
}

void nnv12::warnOfHost(const llvm::Twine &message) {
  warn("--target host: " + message);
}

/// Writes the bundle of `program`. Fails with a diagnostic where kernels cannot
/// be compiled; "" or a line that says why the file cannot be written, which is
/// no fault of the model.
static FailureOr<std::string> writeBundle(func::FuncOp main,
                                          const TuningProgram &program,
                                          const std::string &file) {
  std::string error;
  ScopedDiagnosticHandler handler(main.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    std::string text = diagnostic.str();
                                    if (!StringRef(text).starts_with(file))
                                      return failure();
                                    error = std::move(text);
                                    return success();
                                  });
  if (failed(writeTuningBundle(main, program, file)) && error.empty())
    return failure();
  return error;
}

/// The kernels in parts, to be compiled at the same time: those of one layer
/// stay together, for they race.
static std::vector<TuningProgram> partsOf(const TuningProgram &program) {
  // A process for fewer is not worth its start.
  constexpr size_t leastKernels = 16;
  size_t count = std::clamp<size_t>(program.kernels.size() / leastKernels, 1,
                                    std::min(usableCpus(), 8u));
  std::vector<TuningProgram> parts(count,
                                   {program.target, {}, program.revision});
  llvm::StringMap<size_t> partOf;
  for (const TuningKernel &kernel : program.kernels) {
    size_t next = partOf.size() % count;
    size_t part = partOf.try_emplace(kernel.layer, next).first->second;
    parts[part].kernels.push_back(kernel);
  }
  llvm::erase_if(
      parts, [](const TuningProgram &part) { return part.kernels.empty(); });
  return parts;
}

/// Measures `program` and returns a profile of this machine with its kernels,
/// which builds on `known` if there is one. Storage is measured in folder
/// `storage`, or where temporary files go if that is "".
static FailureOr<std::optional<device::DeviceProfile>>
measure(func::FuncOp main, const TuningProgram &program,
        const std::optional<device::DeviceProfile> &known,
        const std::string &storage) {
  TemporaryFolder folder;
  auto give = [](const llvm::Twine &reason) {
    warnOfHost(reason + "; costs are predicted");
    return std::optional<device::DeviceProfile>();
  };
  if (!folder.error.empty())
    return give("no folder for temporary files: " + folder.error);
  std::string profile = folder.file("profile.json"), error;
  std::vector<TuningProgram> parts = partsOf(program);
  std::vector<std::string> bundles;
  for (size_t i = 0; i < parts.size(); ++i)
    bundles.push_back(folder.file("tuning" + std::to_string(i) + ".nnv"));
  std::vector<std::string> arguments = bundles;
  arguments.insert(arguments.end(), {"-o", profile});
  if (known) {
    std::string base = folder.file("base.json");
    error = device::writeProfile(*known, base);
    if (!error.empty())
      return give(error);
    arguments.insert(arguments.end(), {"--base", base});
  }
  if (!storage.empty())
    arguments.insert(arguments.end(), {"--storage", storage});
  if (!llvm::sys::Process::StandardErrIsDisplayed())
    llvm::errs() << "nnv12c: measuring " << program.kernels.size()
                 << " kernels on this machine\n";
  auto fault = writeInForks(parts.size(), [&](unsigned i) {
    return writeBundle(main, parts[i], bundles[i]);
  });
  if (failed(fault))
    return failure();
  if (!fault->empty())
    return give(*fault);
  error = runSubprogram("nnv12-tune", arguments, /*showsProgress=*/true);
  if (!error.empty())
    return give(error);
  auto measured = device::readProfile(profile, error);
  if (!measured)
    return give(error);
  return measured;
}

device::DeviceProfile nnv12::hostBuiltin(const codegen::Target &target) {
  device::DeviceProfile profile =
      device::builtinProfile(target.architecture, target.name);
  profile.big.count = usableCpus();
  return profile;
}

/// Without looking whether it exists.
static std::string cacheFolder(const TuneOptions &options) {
  if (!options.useCache)
    return "";
  return options.cacheFolder.empty() ? device::defaultCacheFolder()
                                     : options.cacheFolder;
}

std::string nnv12::usableCacheFolder(const TuneOptions &options) {
  std::string folder = cacheFolder(options);
  bool usable =
      !folder.empty() && device::makeCacheFolder(folder).empty() &&
      !llvm::sys::fs::access(folder, llvm::sys::fs::AccessMode::Write);
  return usable ? folder : "";
}

void nnv12::remember(const std::string &folder, const codegen::Target &target,
                     device::DeviceProfile &profile) {
  if (folder.empty())
    return;
  device::ProfileCache cache(folder, device::hostIdentity(), target.name);
  std::string error = cache.add(profile);
  if (!error.empty())
    warn(error + "; what was measured is forgotten (see --cache-dir)");
}

FailureOr<device::DeviceProfile> nnv12::tuneHost(func::FuncOp main,
                                                 const codegen::Target &target,
                                                 const TuneOptions &options) {
  std::string folder = cacheFolder(options);
  if (options.useCache && folder.empty())
    warn("found neither XDG_CACHE_HOME nor HOME: what is measured is forgotten "
         "(see --cache-dir)");
  std::string error = folder.empty() ? "" : device::makeCacheFolder(folder);
  if (!error.empty()) {
    folder.clear();
    warn(error + "; what is measured is forgotten (see --cache-dir)");
    error.clear();
  }
  device::ProfileCache cache(folder, device::hostIdentity(), target.name);
  std::optional<device::DeviceProfile> known;
  if (!folder.empty())
    known = cache.read(error);
  if (!error.empty())
    warn(error + "; this machine is measured anew");
  // Kernels that have changed since are measured again.
  if (known &&
      failed(dropStaleTimes(main, target, *known, options.otherLayouts)))
    return failure();
  OtherLayouts others =
      options.otherLayouts ? OtherLayouts(main) : OtherLayouts();
  TuningProgram missing{target, tuningKernels(main, target, others.layers()),
                        codeRevision()};
  llvm::erase_if(missing.kernels, [&](const TuningKernel &kernel) {
    return known && known->kernels.count(kernel.facts.key);
  });
  auto withoutMeasuring = [&] {
    return known ? std::move(*known) : hostBuiltin(target);
  };
  if (missing.kernels.empty())
    return withoutMeasuring();

  // The cache is on a disk; temporary files often are in memory.
  auto measured = measure(main, missing, known, usableCacheFolder(options));
  if (failed(measured))
    return failure();
  if (!*measured)
    return withoutMeasuring();
  remember(folder, target, **measured);
  return std::move(**measured);
}

FailureOr<size_t> nnv12::dropStaleTimes(func::FuncOp main,
                                        const codegen::Target &target,
                                        device::DeviceProfile &profile,
                                        bool otherLayouts) {
  if (!profile.measured ||
      (profile.revision == codeRevision() && profile.tune == target.tuneCpu))
    return 0;
  codegen::KernelBuilder builder(*main.getContext(), target);
  OwningOpRef<ModuleOp> module(builder.module);
  KernelTable table(builder);
  std::vector<unsigned> numbers;
  OtherLayouts others = otherLayouts ? OtherLayouts(main) : OtherLayouts();
  for (const TuningKernel &kernel :
       tuningKernels(main, target, others.layers()))
    if (profile.kernels.count(kernel.facts.key))
      numbers.push_back(kernel.emit(table));
  auto fingerprints = codegen::fingerprintModule(*module, target);
  if (failed(fingerprints))
    return failure();
  std::map<std::string, device::KernelTime> good;
  for (unsigned number : numbers) {
    const KernelTable::Kernel &kernel = table[number];
    const std::vector<uint8_t> &code = fingerprints->at(kernel.symbol);
    device::KernelTime &time = profile.kernels[kernel.facts.key];
    if (time.code == artifact::hexadecimal(code.data(), code.size()))
      good[kernel.facts.key] = std::move(time);
  }
  size_t dropped = numbers.size() - good.size();
  profile.kernels = std::move(good);
  profile.revision = codeRevision();
  profile.tune = target.tuneCpu;
  return dropped;
}
