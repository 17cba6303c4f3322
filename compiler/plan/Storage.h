//===- Storage.h - How a layer's main weights are kept ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_STORAGE_H
#define NNV12_COMPILER_PLAN_STORAGE_H

#include "dialects/plan/PlanDialect.h"

#include <optional>
#include <string>

namespace nnv12 {

/// The form in the file, whether its elements are of fewer bits (packed ones
/// alone), and whether it is compressed. As text: "packed", "transformed+zstd",
/// "packed+q8".
struct StorageForm {
  plan::Storage storage = plan::Storage::packed;
  plan::Codec codec = plan::Codec::stored;
  std::optional<plan::Narrowing> narrow = std::nullopt;

  bool operator==(const StorageForm &other) const {
    return storage == other.storage && codec == other.codec &&
           narrow == other.narrow;
  }
  std::string text() const {
    std::string text = plan::stringifyStorage(storage).str();
    if (narrow)
      text += "+" + plan::stringifyNarrowing(*narrow).str();
    return text + (codec == plan::Codec::zstd ? "+zstd" : "");
  }
  static std::optional<StorageForm> parse(llvm::StringRef text) {
    StorageForm form;
    if (text.consume_back("+zstd"))
      form.codec = plan::Codec::zstd;
    auto [name, narrow] = text.split('+');
    if (name.size() != text.size()) {
      form.narrow = plan::symbolizeNarrowing(narrow);
      if (!form.narrow)
        return std::nullopt;
    }
    std::optional<plan::Storage> storage = plan::symbolizeStorage(name);
    if (!storage || (form.narrow && *storage != plan::Storage::packed))
      return std::nullopt;
    form.storage = *storage;
    return form;
  }
};

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_STORAGE_H
