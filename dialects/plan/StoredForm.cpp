//===- StoredForm.cpp - How the bytes of weights lie ----------------------===//

#include "dialects/plan/StoredForm.h"

#include <array>

namespace nnv12::plan {

static constexpr std::array storages = {"raw", "packed", "transformed"};
static constexpr std::array narrowings = {"q8", "f16", "f16o", "f16i",
                                          "rounded"};
static constexpr std::string_view zstd = "+zstd";

template <typename Enum, size_t count>
static std::optional<Enum> find(const std::array<const char *, count> &names,
                                std::string_view text) {
  for (size_t i = 0; i < names.size(); ++i)
    if (text == names[i])
      return static_cast<Enum>(i);
  return std::nullopt;
}

const char *text(Narrowing narrowing) { return narrowings[size_t(narrowing)]; }

std::string StoredForm::text() const {
  std::string result = storages[size_t(storage)];
  if (narrow)
    result += std::string("+") + plan::text(*narrow);
  if (codec == Codec::zstd)
    result += zstd;
  return result;
}

std::optional<StoredForm> StoredForm::parse(std::string_view text) {
  StoredForm form;
  if (text.size() >= zstd.size() &&
      text.substr(text.size() - zstd.size()) == zstd) {
    form.codec = Codec::zstd;
    text.remove_suffix(zstd.size());
  }
  size_t plus = text.find('+');
  if (plus != std::string_view::npos) {
    form.narrow = find<Narrowing>(narrowings, text.substr(plus + 1));
    if (!form.narrow)
      return std::nullopt;
  }
  std::optional<Storage> storage =
      find<Storage>(storages, text.substr(0, plus));
  if (!storage || (form.narrow && *storage != Storage::packed))
    return std::nullopt;
  form.storage = *storage;
  return form;
}

const char *StoredForm::choices() {
  return "raw, packed, packed+q8, packed+f16, packed+f16o, packed+f16i or "
         "transformed, or one of them with +zstd";
}

} // namespace nnv12::plan
