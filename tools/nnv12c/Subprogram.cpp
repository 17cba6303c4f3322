//===- Subprogram.cpp - Runs the programs beside this one -----------------===//

#include "tools/nnv12c/Subprogram.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

#include <optional>

using namespace nnv12;
using llvm::StringRef;

static std::string pathOf(const std::string &name) {
  static int here;
  llvm::SmallString<256> path(llvm::sys::path::parent_path(
      llvm::sys::fs::getMainExecutable(nullptr, &here)));
  llvm::sys::path::append(path, name);
  return path.str().str();
}

/// The last line that it said, which tells what went wrong.
static std::string lastLine(const std::string &file) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return "";
  StringRef text = (*buffer)->getBuffer().rtrim();
  return text.substr(text.rfind('\n') + 1).str();
}

std::string nnv12::runSubprogram(const std::string &name,
                                 const std::vector<std::string> &arguments,
                                 const std::string &log, bool showsProgress) {
  std::string path = pathOf(name);
  if (!llvm::sys::fs::can_execute(path))
    return path + ": found no such program, which measures";
  llvm::SmallVector<StringRef> all = {path};
  all.append(arguments.begin(), arguments.end());
  bool shown = showsProgress && llvm::sys::Process::StandardErrIsDisplayed();
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(),
                                          StringRef(log)};
  if (shown)
    redirects[2] = std::nullopt;
  std::string error;
  int status = llvm::sys::ExecuteAndWait(path, all, std::nullopt, redirects, 0,
                                         0, &error);
  if (status == 0)
    return "";
  // A negative status is the system's, and `error` says what it was.
  if (!shown && status > 0)
    error = lastLine(log);
  if (error.empty())
    error = "exit status " + std::to_string(status);
  std::string prefix = name + ": ";
  return StringRef(error).starts_with(prefix) ? error : prefix + error;
}
