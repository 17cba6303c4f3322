//===- Storage.h - How a layer's main weights are kept ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_STORAGE_H
#define NNV12_COMPILER_PLAN_STORAGE_H

#include "dialects/plan/PlanDialect.h"

#include <optional>
#include <string>

namespace nnv12::plan {

/// The form in the file, and whether it is compressed. As text, which is also
/// what attribute `nn.storage` holds: "packed", "transformed+zstd".
struct StorageForm {
  Storage storage = Storage::packed;
  Codec codec = Codec::stored;

  std::string text() const {
    return stringifyStorage(storage).str() +
           (codec == Codec::zstd ? "+zstd" : "");
  }
  static std::optional<StorageForm> parse(llvm::StringRef text) {
    StorageForm form;
    if (text.consume_back("+zstd"))
      form.codec = Codec::zstd;
    std::optional<Storage> storage = symbolizeStorage(text);
    if (!storage)
      return std::nullopt;
    form.storage = *storage;
    return form;
  }
};

} // namespace nnv12::plan

#endif // NNV12_COMPILER_PLAN_STORAGE_H
