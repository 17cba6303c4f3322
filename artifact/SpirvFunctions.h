//===- SpirvFunctions.h - Checks functions of a SPIR-V module ---*- C++ -*-===//
//
// Follows the instructions of functions once, in their order. Constructs nest
// as blocks lie: a merge instruction opens one, its merge block closes it, and
// only those blocks that merge instructions name have several predecessors. So
// the immediate dominator of a block is known where it begins, and blocks come
// in the order of a walk over the tree of dominators.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_SPIRVFUNCTIONS_H
#define NNV12_ARTIFACT_SPIRVFUNCTIONS_H

#include "artifact/SpirvDeclarations.h"

#include <cstdint>
#include <spirv/unified1/spirv.hpp11>

namespace nnv12::artifact {

class SpirvFunctions : public SpirvDeclarations {
protected:
  using SpirvDeclarations::SpirvDeclarations;

  /// Checks the instruction under way.
  void compute();
  /// Checks that nothing is missing behind the last one.
  void finishFunctions();

private:
  enum class State { Outside, Parameters, Between, Inside };

  /// A selection or a loop whose merge block did not come yet.
  struct Construct {
    uint16_t header, merge;
    uint16_t continueTarget; ///< 0: a selection
    bool isContinued;        ///< the continue target came
    bool isClosed;           ///< the branch back to the header came
    /// Depth of the nearest common dominator of the blocks that branch to the
    /// merge block and the continue target, or `nowhere`.
    uint16_t mergeDepth, continueDepth;
    uint16_t phis, back; ///< see pendingPhis
    uint32_t outerRegion;
  };

  void function();
  void parameter();
  void functionEnd();
  void label();
  void merge();
  void branch();
  void branchTo(uint32_t i);
  void branchBack(uint32_t i);
  void functionReturn();
  void phi();
  void phiParent(uint32_t i, uint32_t &unknown);
  void call();
  void localVariable();
  void load();
  void store();
  void accessChain();
  void memoryOperands(uint32_t i);
  void compositeConstruct();
  void compositeExtract();
  void compositeInsert();
  void component(uint32_t i, uint32_t components);
  void vectorShuffle();
  void extendedInstruction();
  void controlBarrier();
  void withSignature(const char *signature, uint32_t firstOperand);
  bool isResult(char letter, uint32_t type) const;
  bool isOperand(char letter, uint32_t type, uint32_t first) const;

  // These check word `i`, and return its type.
  /// A value that is known here.
  uint32_t value(uint32_t i);
  void valueOf(uint32_t i, uint32_t expected);
  uint32_t vector(uint32_t i, uint32_t component);
  uint32_t pointer(uint32_t i);

  /// Checks that word 1 is that type.
  void returns(uint32_t type);
  /// Word 1, which has to be a type to compute with.
  uint32_t resultType();
  /// Defines word 2 as a value of the type in word 1.
  SpirvId &result(uint32_t decorations = 0);

  uint32_t parametersOf(uint32_t type) const {
    return (part(type, 0) >> 16) - 3;
  }
  /// Whether a value is known at the end of the block.
  bool isKnown(uint32_t id, uint32_t at) const {
    return !ids[id].block || dominates(ids[id].block, at);
  }
  bool dominates(uint32_t block, uint32_t other) const {
    return ids[block].first <= ids[other].first &&
           ids[other].first <= ids[block].last;
  }
  void enter(uint32_t block);
  void leave(uint16_t newDepth);

  static constexpr uint32_t mostNesting = 64;
  static constexpr uint16_t nowhere = 0xffff;

  State state_ = State::Outside;
  uint32_t current_ = 0; ///< function
  uint32_t numParameters_ = 0;
  bool isFirstBlock_ = false, hasReturned_ = false;
  uint32_t block_ = 0;
  bool isAtPhis_ = false, isAtVariables_ = false;
  bool isMerged_ = false; ///< behind a merge instruction
  /// Phis of the block whose operand of the loop's last block, `pendingBack`,
  /// is not known yet: the first one, which leads to the next by its
  /// targets[0].
  uint16_t pendingPhis_ = 0, pendingBack_ = 0;

  uint32_t nesting_ = 0;
  uint32_t region_ = 0, lastRegion_ = 0; ///< see label()
  uint32_t numEntered_ = 0; ///< blocks branched to that did not come yet

  uint16_t depth_ = 0; ///< of the list of dominators, in ids[].dominator
  uint16_t numBlocks_ = 0;

  Construct constructs_[mostNesting]; ///< as many as `nesting`
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_SPIRVFUNCTIONS_H
