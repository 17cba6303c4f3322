//===- Storage.h - How a layer's main weights are kept ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_SELECT_STORAGE_H
#define NNV12_COMPILER_SELECT_STORAGE_H

#include "dialects/plan/PlanDialect.h"

#include <optional>
#include <string>

namespace nnv12 {

/// The form in the file, and whether it is compressed. As text, which is also
/// what attribute `nn.storage` holds: "packed", "transformed+zstd".
struct StorageForm {
  plan::Storage storage = plan::Storage::packed;
  plan::Codec codec = plan::Codec::stored;

  std::string text() const {
    return plan::stringifyStorage(storage).str() +
           (codec == plan::Codec::zstd ? "+zstd" : "");
  }
  static std::optional<StorageForm> parse(llvm::StringRef text) {
    StorageForm form;
    if (text.consume_back("+zstd"))
      form.codec = plan::Codec::zstd;
    std::optional<plan::Storage> storage = plan::symbolizeStorage(text);
    if (!storage)
      return std::nullopt;
    form.storage = *storage;
    return form;
  }
};

} // namespace nnv12

#endif // NNV12_COMPILER_SELECT_STORAGE_H
