//===- WeightTable.h - The constants of a model in the file -----*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_WEIGHTTABLE_H
#define NNV12_COMPILER_EMIT_WEIGHTTABLE_H

#include "artifact/Bundle.h"
#include "compiler/routines/Routine.h"
#include "compiler/weights/WeightsKey.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cassert>
#include <map>
#include <memory>

namespace nnv12 {

/// The maker of a transformed form: a routine, of the weights of a layer.
struct FormMaker {
  const Routine *routine = nullptr;
  mlir::Operation *layer = nullptr;
};

/// The constants of all programs of a bundle, in the order in which they are
/// added, as they will lie in the weights segment.
class WeightTable {
public:
  /// `segment` is the number of the bundle's segment that it becomes.
  explicit WeightTable(uint32_t segment) : segment_(segment) {}

  /// A part that is compressed for itself, so that several threads can decode.
  struct Frame {
    uint64_t offset; ///< in the segment
    uint64_t size;   ///< bytes in the file
    uint64_t bytes;  ///< decompressed
    uint8_t planes;  ///< see artifact::Operation::planes
  };
  struct Place {
    uint64_t offset = 0;       ///< in the segment
    uint64_t size = 0;         ///< bytes in the file
    uint64_t bytes = 0;        ///< of the form, decompressed
    std::vector<Frame> frames; ///< in order; none where it is not compressed
  };
  /// Adds `constant` in a form, if it is not there yet; a transformed one gets
  /// its bytes and its name from `maker`.
  Place add(mlir::Value constant, plan::StoredForm form = {},
            FormMaker maker = {});
  /// Adds bytes that a kernel reads, if they are not there yet.
  Place add(llvm::StringRef table);

  /// The added constants, and where they are. Raw ones are packed in a dense
  /// type.
  const std::map<WeightsKey, Place> &entries() const { return places; }
  /// Tables by their bytes, with their places.
  const std::map<std::string, Place> &tables() const { return tables_; }

  uint32_t segment() const { return segment_; }
  uint64_t size() const { return size_; }
  artifact::Operand operand(uint64_t offset, uint64_t size) const {
    return {artifact::Space::Weights, segment_, offset, size};
  }
  artifact::Operand operand(const Place &place) const {
    return operand(place.offset, place.size);
  }
  /// The bytes; valid as long as the table and the constants' module.
  const std::vector<artifact::Segment::Piece> &pieces() const {
    return pieces_;
  }

  static constexpr uint64_t alignment = 64;
  /// Each constant lies at a multiple of it.
  uint64_t pieceAlignment() const { return pieceAlignment_; }
  /// For weights that a GPU reads where they lie. Before anything is added.
  void alignPieces(uint64_t to) {
    assert(to % alignment == 0 && size_ == 0 && "nothing lies otherwise");
    pieceAlignment_ = to;
  }
  /// Decompressed bytes of a frame, but for the last.
  static constexpr uint64_t frameBytes = 1 << 20;

private:
  /// Appends bytes that `owner` keeps alive.
  void append(std::shared_ptr<const void> owner, const void *data,
              uint64_t size);

  uint32_t segment_;
  std::map<WeightsKey, Place> places;
  std::vector<artifact::Segment::Piece> pieces_;
  std::vector<std::shared_ptr<const void>> owned;
  std::map<std::string, Place> tables_;
  uint64_t size_ = 0;
  uint64_t pieceAlignment_ = alignment;
};

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_WEIGHTTABLE_H
