//===- GpuSplitVerifier.cpp - Checks parts of split stretches -------------===//
#include "artifact/Checks.h"
#include "artifact/GpuVerifier.h"
#include "artifact/SplitParts.h"
#include "artifact/TilePieces.h"

#include <cinttypes>

namespace nnv12::artifact {

namespace {

/// Checks the tables of split stretches, one by one; GpuFlowVerifier.cpp checks
/// them together.
class SplitVerifier : public Checks {
public:
  SplitVerifier(const bundle::Bundle *bundle,
                const bundle::GpuOverlays *overlays,
                const bundle::Program *program, uint32_t number, Fault &fault)
      : Checks(fault), target_(targetOf(bundle, program)), program_(program),
        gpu_(overlayOf(overlays, program)), root_{nullptr, "program", number} {}

  bool verify() {
    SwitchTable switches;
    if (!switches.create(program_))
      return fault.set(Fault::OutOfMemory, "no memory to check the plan");
    switches_ = &switches;
    return hold([this] {
      forEach(&overlay_, "stretch", gpu_->stretches(), &Self::verifyStretch);
    });
  }

private:
  using Self = SplitVerifier;

  void verifyStretch(const Where &where, const bundle::Stretch *stretch) {
    bool isSplit = stretch->kind() == bundle::StretchKind_Split;
    uint32_t parts = elementsOf(stretch->parts()).size();
    if (isSplit != (parts != 0))
      refuse(where, "parts: found %u of a %s stretch|%s", parts,
             bundle::EnumNameStretchKind(stretch->kind()),
             isSplit ? "one at least" : "none");
    for (const bundle::Dispatch *dispatch : *stretch->dispatches())
      if (!isSplit && elementsOf(dispatch->touched()).size())
        refuse(where, "touched: found some of a Whole stretch|none");
    if (!isSplit)
      return;
    if (stretch->cold())
      refuse(where, "cold: found it set of a Split stretch|it for later runs");
    forEach(&where, "dispatch", stretch->dispatches(), &Self::verifyDispatch);
    PartFinder finder(program_, *switches_, stretch);
    forEach(&where, "part", stretch->parts(), &Self::verifyPart, &finder);
  }

  void verifyDispatch(const Where &where, const bundle::Dispatch *dispatch) {
    next_ = 0;
    forEach(&where, "touched", dispatch->touched(), &Self::verifyTouched,
            dispatch);
  }

  void verifyTouched(const Where &where, const bundle::Touched *touched,
                     const bundle::Dispatch *dispatch) {
    expect(where, "operand", touched->operand(), next_,
           dispatch->operands()->size());
    next_ = touched->operand() + 1;
    uint64_t size = dispatch->operands()->Get(touched->operand())->size(),
             stride = touched->stride(), bytes = touched->bytes();
    if (!bytes || bytes > stride || bytes > size || !touched->count() ||
        (touched->count() > 1 &&
         (size - bytes) / stride < touched->count() - 1))
      refuse(where,
             "found %u times %" PRIu64 " bytes, %" PRIu64
             " apart|pieces of the operand's %" PRIu64
             " bytes, one behind another",
             touched->count(), bytes, stride, size);
    count(where, touched->count());
  }

  /// The execute that it computes a part of has been checked: its operands, and
  /// with them the part's.
  void verifyPart(const Where &where, const bundle::Operation *part,
                  PartFinder *finder) {
    if (part->kind() != bundle::OperationKind_Execute ||
        elementsOf(part->after()).size() || part->last_reader())
      refuse(where,
             "found kind %u, %u in `after`, last_reader %u|%u (Execute), none "
             "and 0",
             part->kind(), elementsOf(part->after()).size(),
             part->last_reader(), bundle::OperationKind_Execute);
    if (!finder->find(part))
      refuse(where, "found the operands of no execute of the stretch|those of "
                    "one, and of no earlier one than the part before has");
    expect(where, "kernel", part->kernel(), 0, target_->kernels()->size());
    const bundle::Kernel *kernel = kernelOf(target_, part),
                         *own = kernelOf(target_, finder->whole());
    expect(where, "processor", kernel->processor(), 0, 1);
    if (kernel->operands() != own->operands() ||
        kernel->outputs() != own->outputs())
      refuse(where, "kernel: found %u operands, %u of them written|%u and %u",
             kernel->operands(), kernel->outputs(), own->operands(),
             own->outputs());
    if (part->tile_begin() >= part->tile_end() ||
        part->tile_end() > kernel->tiles())
      refuse(where,
             "tiles: found %" PRIu64 " to %" PRIu64
             "|one at least, of %" PRIu64,
             part->tile_begin(), part->tile_end(), kernel->tiles());
    if (elementsOf(kernel->maps()).size() != kernel->outputs())
      refuse(where, "found a kernel without tile maps|one with them");
    for (uint32_t k = 0; k < kernel->outputs(); ++k)
      verifyResult({&where, "operand", k}, part, kernel->maps()->Get(k));
  }

  /// A tile map counts in elements, and does not say how large these are.
  void verifyResult(const Where &where, const bundle::Operation *part,
                    const bundle::TileMap *map) {
    uint64_t size = part->operands()->Get(where.index)->size(),
             element = elementBytes(map, size);
    if (!element || element > 8)
      refuse(where, "found %" PRIu64 " bytes|all elements of its tile map",
             size);
    TilePieces pieces(map, part->tile_begin(), part->tile_end());
    for (uint64_t first, elements; pieces.next(first, elements);)
      count(where, 1);
  }

  /// Pieces take memory and time to check.
  void count(const Where &where, uint64_t pieces) {
    if (pieces > piecesLeft_)
      refuse(where, "found it with too many pieces to check");
    piecesLeft_ -= pieces;
  }

  /// All that the program's stretches may have together. A layer has as many as
  /// planes.
  static constexpr uint64_t mostPieces = uint64_t(1) << 20;

  const bundle::Target *target_;
  const bundle::Program *program_;
  const bundle::ProgramGpu *gpu_;
  Where root_, overlay_ = {&root_, "gpu"};
  const SwitchTable *switches_ = nullptr;
  uint64_t piecesLeft_ = mostPieces;
  uint64_t next_ = 0; ///< the least operand of the next `touched`
};

} // namespace

bool verifySplits(const bundle::Bundle *bundle,
                  const bundle::GpuOverlays *overlays,
                  const bundle::Program *program, uint32_t number,
                  Fault &fault) {
  return SplitVerifier(bundle, overlays, program, number, fault).verify();
}

} // namespace nnv12::artifact
