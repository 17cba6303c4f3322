//===- Files.cpp - Files that a tool reads and writes ---------------------===//
#include "tools/common/Files.h"

#include "artifact/AtomicFile.h"
#include "artifact/FileKind.h"
#include "artifact/InputFiles.h"
#include "tools/common/Report.h"

#include <algorithm>
#include <filesystem>

namespace nnv12::tools {

namespace fs = std::filesystem;

static artifact::InputFiles inputs;

void noteInput(const std::string &path) { inputs.add(path); }

void checkOutput(const std::string &path) {
  artifact::Fault fault;
  if (path != "-" && !inputs.allowsWriting(path, fault))
    fail(path + ": " + fault.text);
}

std::string openInput(const std::string &path, artifact::MappedFile &file) {
  noteInput(path);
  artifact::Fault fault;
  return file.open(path.c_str(), fault) ? "" : path + ": " + fault.text;
}

std::string readText(const std::string &path) {
  artifact::MappedFile file;
  failIf(openInput(path, file));
  return {reinterpret_cast<const char *>(file.data()), file.size()};
}

std::string listFolder(const std::string &path,
                       std::vector<std::string> &entries) {
  std::error_code error;
  entries.clear();
  for (fs::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    fs::path extension = it->path().extension();
    bool isNote =
        extension == ".txt" || extension == ".md" || extension == ".json";
    if (!isNote && it->path().filename().native()[0] != '.')
      entries.push_back(it->path().native());
  }
  std::sort(entries.begin(), entries.end());
  return error ? path + ": cannot read: " + error.message() : "";
}

std::string explainBundle(const std::string &path, const std::string &fault) {
  static constexpr char foreign[] = "magic: ";
  artifact::MappedFile file;
  artifact::Fault ignored;
  if (fault.find(foreign) == std::string::npos ||
      !file.open(path.c_str(), ignored))
    return fault;
  const char *kind = artifact::fileKind(file.data(), file.size());
  return kind ? path + ": " + foreign + "found " + kind +
                    ", expected a bundle, as nnv12c makes of an ONNX model"
              : fault;
}

void writeText(const std::string &path, const std::string &text) {
  if (path == "-") {
    fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  artifact::AtomicFile file;
  artifact::Fault fault;
  if (!file.open(path.c_str(), fault) ||
      !file.write(text.data(), text.size(), fault) ||
      !file.commit(fault, artifact::AtomicFile::Durability::None))
    fail(path + ": " + fault.text);
}

} // namespace nnv12::tools
