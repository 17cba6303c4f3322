//===- ExternalData.cpp - Elements of tensors in other files --------------===//

#include "compiler/import/ExternalData.h"

#include "artifact/InputFiles.h"
#include "compiler/import/Onnx.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace nnv12;
using namespace nnv12::importer;

/// Tensors may share elements, but not so that a small file fills the memory.
static constexpr uint64_t sharedBytes = 64 << 20;
static constexpr uint64_t usesOfAByte = 4;

using llvm::StringRef;
using llvm::Twine;

/// Without links and dots, "" where there is no such file.
static std::string canonical(const Twine &path) {
  llvm::SmallString<128> real;
  if (llvm::sys::fs::real_path(path, real))
    return "";
  return real.str().str();
}

ExternalData::ExternalData(StringRef model,
                           const std::vector<std::string> &allowed,
                           artifact::InputFiles *inputs)
    : directory_(llvm::sys::path::parent_path(model)), inputs_(inputs) {
  std::vector<std::string> folders = allowed;
  folders.push_back(directory_.empty() ? "." : directory_);
  if (std::string real = canonical(model); !real.empty())
    folders.push_back(llvm::sys::path::parent_path(real).str());
  for (const std::string &folder : folders)
    if (std::string real = canonical(folder); !real.empty())
      roots_.push_back(real);
}

bool ExternalData::isAllowed(StringRef path) const {
  return llvm::any_of(roots_, [&](StringRef root) {
    StringRef rest = path;
    return rest.consume_front(root) &&
           (root.ends_with("/") || rest.starts_with("/"));
  });
}

std::unique_ptr<artifact::MappedFile>
ExternalData::open(const std::string &location, Refuse fail) {
  auto refuse = [&](const Twine &found, const Twine &expected) {
    fail(found, expected);
    return nullptr;
  };
  if (location.empty() || location.find('\0') != std::string::npos)
    return refuse("external data at '" + location + "'",
                  "the path of a file beside the model");
  llvm::SmallString<128> path(directory_);
  if (llvm::sys::path::is_absolute(location))
    path = location;
  else
    llvm::sys::path::append(path, location);
  auto outside = [&] {
    return refuse("external data at '" + location +
                      "', which lies outside of the model's folder",
                  "it below that, or --external-data FOLDER");
  };
  // Opens no file outside: opening may have effects where the file is not a
  // plain one, and shows what exists there.
  bool leaves =
      llvm::sys::path::is_absolute(location) ||
      llvm::is_contained(llvm::make_range(llvm::sys::path::begin(location),
                                          llvm::sys::path::end(location)),
                         "..");
  std::string real = canonical(path);
  if (real.empty() ? leaves : !isAllowed(real))
    return outside();
  artifact::Fault fault;
  auto file = std::make_unique<artifact::MappedFile>();
  if (!file->open(path.c_str(), fault))
    return refuse("no external data file '" + path.str() + "' (" + fault.text +
                      ")",
                  "it beside the model");
  // The file that is open counts: its name may stand for another one by now.
  real = canonical("/proc/self/fd/" + Twine(file->descriptor()));
  if (!isAllowed(real))
    return outside();
  if (inputs_)
    inputs_->add(path.str().str());
  return file;
}

ExternalData::Slice ExternalData::find(const onnx::TensorProto &tensor,
                                       uint64_t bytes, Refuse fail) {
  std::string location;
  uint64_t offset = 0, length = bytes;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef value(entry.value());
    if (entry.key() == "location") {
      location = value.str();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      uint64_t number;
      if (value.getAsInteger(10, number)) {
        fail("external data " + entry.key() + " '" + value + "'",
             "a number of bytes");
        return {};
      }
      (entry.key() == "offset" ? offset : length) = number;
    }
  }
  std::unique_ptr<artifact::MappedFile> file = open(location, fail);
  if (!file)
    return {};
  uint64_t size = file->size();
  auto refuse = [&](const Twine &found, const Twine &expected) {
    fail("external data file '" + location + "' of " + Twine(size) + " bytes" +
             found,
         expected);
    return Slice();
  };
  if (length != bytes) {
    fail("external data of " + Twine(length) + " bytes",
         Twine(bytes) + " bytes");
    return {};
  }
  if (offset > size || bytes > size - offset)
    return refuse("", Twine(bytes) + " bytes at offset " + Twine(offset));
  // Each slice lies inside of the file: no sum overflows before it is refused.
  uint64_t &sum = used_[location];
  sum += bytes;
  uint64_t limit = std::max(sharedBytes, usesOfAByte * size);
  if (sum > limit)
    return refuse(" for more than " + Twine(limit) + " bytes of tensors",
                  "tensors that share less of it");
  auto *data = reinterpret_cast<const char *>(file->data());
  return {std::move(file), llvm::ArrayRef(data + offset, bytes)};
}
