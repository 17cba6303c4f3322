//===- ExternalData.cpp - Elements of tensors in other files --------------===//

#include "compiler/import/ExternalData.h"

#include "artifact/InputFiles.h"
#include "compiler/import/Onnx.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// Tensors may share elements, but not so that a small file fills the memory.
static constexpr uint64_t sharedBytes = 64 << 20;
static constexpr uint64_t usesOfAByte = 4;

std::unique_ptr<artifact::MappedFile>
ExternalData::open(const std::string &location, LayerBuilder &b) {
  // A model must not read files outside of its folder.
  bool outside = location.empty() || llvm::sys::path::is_absolute(location) ||
                 location.find('\0') != std::string::npos;
  for (auto part = llvm::sys::path::begin(location),
            end = llvm::sys::path::end(location);
       part != end; ++part)
    outside |= *part == "..";
  if (outside) {
    b.fail("external data at '" + location + "'",
           "a relative path below the model's folder");
    return nullptr;
  }
  SmallString<128> path(directory);
  llvm::sys::path::append(path, location);
  artifact::Fault fault;
  auto file = std::make_unique<artifact::MappedFile>();
  if (!file->open(path.c_str(), fault)) {
    b.fail("no external data file '" + path.str() + "' (" + fault.text + ")",
           "it beside the model");
    return nullptr;
  }
  if (inputs)
    inputs->add(path.str().str());
  return file;
}

ExternalData::Slice ExternalData::find(const onnx::TensorProto &tensor,
                                       uint64_t bytes, LayerBuilder &b) {
  std::string location;
  uint64_t offset = 0, length = bytes;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef value(entry.value());
    if (entry.key() == "location") {
      location = value.str();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      uint64_t number;
      if (value.getAsInteger(10, number)) {
        b.fail("external data " + entry.key() + " '" + value + "'",
               "a number of bytes");
        return {};
      }
      (entry.key() == "offset" ? offset : length) = number;
    }
  }
  std::unique_ptr<artifact::MappedFile> file = open(location, b);
  if (!file)
    return {};
  uint64_t size = file->size();
  auto refuse = [&](const Twine &found, const Twine &expected) {
    b.fail("external data file '" + location + "' of " + Twine(size) +
               " bytes" + found,
           expected);
    return Slice();
  };
  if (length != bytes) {
    b.fail("external data of " + Twine(length) + " bytes",
           Twine(bytes) + " bytes");
    return {};
  }
  if (offset > size || bytes > size - offset)
    return refuse("", Twine(bytes) + " bytes at offset " + Twine(offset));
  // Each slice lies inside of the file: no sum overflows before it is refused.
  uint64_t &sum = used[location];
  sum += bytes;
  uint64_t limit = std::max(sharedBytes, usesOfAByte * size);
  if (sum > limit)
    return refuse(" for more than " + Twine(limit) + " bytes of tensors",
                  "tensors that share less of it");
  auto *data = reinterpret_cast<const char *>(file->data());
  return {std::move(file), ArrayRef(data + offset, bytes)};
}
