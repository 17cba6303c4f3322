//===- ProgramImage.h - The contents of a program's memories ----*- C++ -*-===//
#ifndef NNV12_COMPILER_VERIFY_PROGRAMIMAGE_H
#define NNV12_COMPILER_VERIFY_PROGRAMIMAGE_H

#include "compiler/verify/PlanClaim.h"
#include "compiler/verify/Values.h"
#include "llvm/ADT/BitVector.h"

namespace nnv12 {

/// The contents of all memories that a program's operations touch, and of the
/// values that they must find there. Proofs read and write them as they follow
/// the operations.
class ProgramImage {
public:
  ProgramImage(const PlanClaim &claim, const artifact::Program &program)
      : claim(claim), program(program),
        values(claim.main, {claim.layers.begin(), claim.layers.end()}) {}

  /// Fills in weights and inputs. Fails if two lie at one place.
  mlir::LogicalResult fill();

  static mlir::InFlightDiagnostic fault(mlir::Location location) {
    return emitError(location, "fault of the compiler: memory plan: ");
  }
  using Fault = llvm::function_ref<mlir::InFlightDiagnostic()>;

  static bool isSame(const artifact::Operand &a, const artifact::Operand &b) {
    return a.space == b.space && a.index == b.index && a.offset == b.offset &&
           a.size == b.size;
  }
  /// Whether they have bytes in common.
  static bool overlap(const artifact::Operand &a, const artifact::Operand &b) {
    return a.space == b.space && a.index == b.index && a.size && b.size &&
           a.offset < b.offset + b.size && b.offset < a.offset + a.size;
  }

  MemoryImage &of(const artifact::Operand &operand) {
    return images[{operand.space, operand.index}];
  }
  Runs read(const artifact::Operand &operand) {
    return of(operand).read(operand.offset, operand.offset + operand.size);
  }
  /// Bytes of the memory that an operand is in; 0 where there is none.
  uint64_t sizeOf(const artifact::Operand &operand) const;

  /// Compares the contents of `size` bytes from byte `at` of a memory on.
  mlir::LogicalResult expect(const Runs &found, const Runs &expected,
                             uint64_t size, uint64_t at, Fault fault) const;

  /// The contents that a routine reads as an operand of its layer.
  struct Contents {
    Runs runs;
    uint64_t size;
  };
  /// The operand's value; of weights with a form, these. Nothing where the
  /// routine has a form of an operand that is no constant.
  std::optional<Contents> contentsFor(mlir::OpOperand &operand,
                                      const Routine &routine);
  /// The constant that a value is, perhaps through a reshape.
  const WeightsKey *wholeWeights(mlir::Value value) const;
  /// The only content of these bytes, from its first byte; none where they have
  /// several.
  std::optional<Content> contentOf(const artifact::Operand &operand);
  /// The content that a decoder makes of `source`, whose content is `found`.
  mlir::FailureOr<Content> decoded(Content found,
                                   const artifact::Operand &source,
                                   uint64_t bytes, artifact::Codec codec,
                                   unsigned planes, Fault fault);

  /// Adds the preparations that have finished once those of `after` have. A
  /// GPU's preparations, behind the program's, are passed over.
  void waitFor(llvm::ArrayRef<artifact::OperationId> after,
               llvm::BitVector &done) const;
  /// Whether the preparations in `done` have all writers of the prepared bytes
  /// that the operand reads.
  mlir::LogicalResult checkWaited(const artifact::Operand &operand,
                                  const llvm::BitVector &done,
                                  Fault fault) const;

  const PlanClaim &claim;
  const artifact::Program &program;
  Values values;
  /// The writers of prepared memory: contents are preparations.
  MemoryImage writers;
  /// By preparation: those that have finished when it starts.
  std::vector<llvm::BitVector> before;

private:
  mlir::LogicalResult placeWeights();

  std::map<std::pair<artifact::Space, uint32_t>, MemoryImage> images;
  /// The place of the weights of a frame, by content.
  llvm::DenseMap<uint32_t, const WeightTable::Place *> frames;
};

} // namespace nnv12

#endif // NNV12_COMPILER_VERIFY_PROGRAMIMAGE_H
