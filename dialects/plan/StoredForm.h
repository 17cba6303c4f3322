//===- StoredForm.h - How the bytes of weights lie --------------*- C++ -*-===//
//
// The one type that says how the bytes of a constant lie, in the file or in
// memory: in which arrangement, in how many bits, compressed or not. Plans
// choose among such forms, the plan dialect writes them down, and the weights
// of a bundle are stored and found by them. Pure: no MLIR.
// compiler/weights/PackedBytes.h has the bytes.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_DIALECTS_PLAN_STOREDFORM_H
#define NNV12_DIALECTS_PLAN_STOREDFORM_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace nnv12::plan {

enum class Storage : uint8_t {
  raw,        ///< as in the model: dense, row-major
  packed,     ///< in the layout of the layer's operand
  transformed ///< in the weight form of a routine
};

/// The elements of packed weights, where they are not the model's f32.
enum class Narrowing : uint8_t {
  q8,         ///< the same numbers: an int8 times a scale of the channel
  f16,        ///< the same numbers as halves
  f16Outputs, ///< the same: a half times a scale of the output channel
  f16Inputs,  ///< the same: a half times a scale of the input channel
  rounded     ///< the nearest halves, which a GPU reads
};

enum class Codec : uint8_t { stored, zstd };

/// "q8", "f16", "f16o", "f16i", "rounded".
const char *text(Narrowing narrowing);
/// Whether no bit of a number is lost.
inline bool isExact(Narrowing narrowing) {
  return narrowing != Narrowing::rounded;
}
/// Whether the elements are halves.
inline bool areHalves(Narrowing narrowing) {
  return narrowing != Narrowing::q8;
}

struct StoredForm {
  Storage storage = Storage::packed;
  std::optional<Narrowing> narrow = std::nullopt; ///< packed ones alone
  Codec codec = Codec::stored;
  /// The name of the weight form, for `transformed`, where it is known. It says
  /// how the form's bytes are computed from the packed ones.
  std::string name = {};

  /// The form whose bytes a kernel may read as they are: packed, for some
  /// routines in fewer bits, or transformed.
  bool isReady() const {
    return storage != Storage::raw && codec == Codec::stored;
  }

  /// "packed", "packed+q8", "transformed+zstd"; without the name.
  std::string text() const;
  /// The reverse; nothing for a text that is none.
  static std::optional<StoredForm> parse(std::string_view text);
  /// All texts without a codec, for messages.
  static const char *choices();

  bool operator==(const StoredForm &o) const { return key() == o.key(); }
  bool operator!=(const StoredForm &o) const { return key() != o.key(); }
  bool operator<(const StoredForm &o) const { return key() < o.key(); }

private:
  std::tuple<Storage, std::optional<Narrowing>, Codec, const std::string &>
  key() const {
    return {storage, narrow, codec, name};
  }
};

/// The weight form of this name, as it is computed.
inline StoredForm transformed(std::string name) {
  return {Storage::transformed, std::nullopt, Codec::stored, std::move(name)};
}

} // namespace nnv12::plan

#endif // NNV12_DIALECTS_PLAN_STOREDFORM_H
