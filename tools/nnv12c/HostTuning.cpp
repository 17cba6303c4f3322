//===- HostTuning.cpp - Measures this machine while compiling -------------===//

#include "tools/nnv12c/HostTuning.h"

#include "compiler/codegen/common/TemporaryFolder.h"
#include "compiler/device/ProfileCache.h"
#include "compiler/emit/TuningBundle.h"
#include "tools/nnv12c/CodeRevision.h"
#include "tools/nnv12c/StaleTimes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace nnv12;

static void warn(const llvm::Twine &message) {
  llvm::errs() << "nnv12c: warning: " << message << "\n";
}

static std::string tunerPath() {
  static int here;
  llvm::SmallString<256> path(llvm::sys::path::parent_path(
      llvm::sys::fs::getMainExecutable(nullptr, &here)));
  llvm::sys::path::append(path, "nnv12-tune");
  return path.str().str();
}

/// The last line that the tuner said, which tells what went wrong.
static std::string lastLine(const std::string &file) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return "";
  StringRef text = (*buffer)->getBuffer().rtrim();
  return text.substr(text.rfind('\n') + 1).str();
}

/// Runs nnv12-tune on the bundle. "" or a line that says why there is no
/// profile.
static std::string runTuner(const TemporaryFolder &folder,
                            const std::string &bundle, const std::string &base,
                            const std::string &storage,
                            const std::string &profile) {
  std::string tuner = tunerPath();
  if (!llvm::sys::fs::can_execute(tuner))
    return tuner + ": found no such program, which measures";
  llvm::SmallVector<StringRef> arguments = {tuner, bundle, "-o", profile};
  if (!base.empty())
    arguments.append({"--base", base});
  if (!storage.empty())
    arguments.append({"--storage", storage});
  // On a terminal the tuner shows its progress there.
  bool terminal = llvm::sys::Process::StandardErrIsDisplayed();
  std::string log = folder.file("log");
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(),
                                          StringRef(log)};
  if (terminal)
    redirects[2] = std::nullopt;
  std::string error;
  int status = llvm::sys::ExecuteAndWait(tuner, arguments, std::nullopt,
                                         redirects, 0, 0, &error);
  if (status == 0)
    return "";
  // A negative status is the system's, and `error` says what it was.
  if (!terminal && status > 0)
    error = lastLine(log);
  if (error.empty())
    error = "exit status " + std::to_string(status);
  return StringRef(error).starts_with("nnv12-tune: ") ? error
                                                      : "nnv12-tune: " + error;
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
    warn("--target host: " + reason + "; costs are predicted");
    return std::optional<device::DeviceProfile>();
  };
  if (folder.error)
    return give("no folder for temporary files: " + folder.error.message());
  std::string bundle = folder.file("tuning.nnv"),
              profile = folder.file("profile.json"), base, error;
  if (known) {
    base = folder.file("base.json");
    error = device::writeProfile(*known, base);
    if (!error.empty())
      return give(error);
  }
  if (!llvm::sys::Process::StandardErrIsDisplayed())
    llvm::errs() << "nnv12c: measuring " << program.kernels.size()
                 << " kernels on this machine\n";
  if (failed(writeTuningBundle(main, program, bundle)))
    return failure();
  error = runTuner(folder, bundle, base, storage, profile);
  if (!error.empty())
    return give(error);
  auto measured = device::readProfile(profile, error);
  if (!measured)
    return give(error);
  return measured;
}

FailureOr<device::DeviceProfile> nnv12::tuneHost(func::FuncOp main,
                                                 const codegen::Target &target,
                                                 const TuneOptions &options) {
  std::string folder = options.cacheFolder.empty()
                           ? device::defaultCacheFolder()
                           : options.cacheFolder;
  bool useCache = options.useCache && !folder.empty();
  if (options.useCache && folder.empty())
    warn("found neither XDG_CACHE_HOME nor HOME: what is measured is forgotten "
         "(see --cache-dir)");
  device::ProfileCache cache(folder, device::hostIdentity(), target.name);
  std::optional<device::DeviceProfile> known;
  std::string error;
  if (useCache)
    known = cache.read(error);
  if (!error.empty())
    warn(error + "; this machine is measured anew");
  // What has changed since is measured again.
  if (known && failed(dropStaleTimes(main, target, *known)))
    return failure();
  TuningProgram missing{target, tuningKernels(main, target), codeRevision()};
  llvm::erase_if(missing.kernels, [&](const TuningKernel &kernel) {
    return known && known->kernels.count(kernel.key);
  });
  auto withoutMeasuring = [&] {
    return known ? std::move(*known)
                 : device::builtinProfile(target.architecture, target.name);
  };
  if (missing.kernels.empty())
    return withoutMeasuring();

  // The cache is on a disk; temporary files often are in memory.
  bool onDisk =
      useCache && !llvm::sys::fs::create_directories(folder) &&
      !llvm::sys::fs::access(folder, llvm::sys::fs::AccessMode::Write);
  auto measured = measure(main, missing, known, onDisk ? folder : "");
  if (failed(measured))
    return failure();
  if (!*measured)
    return withoutMeasuring();
  if (useCache)
    if (error = cache.add(**measured); !error.empty())
      warn(error + "; what was measured is forgotten (see --cache-dir)");
  return std::move(**measured);
}
