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

#include "artifact/SpirvModule.h"

#include <cstdint>
#include <spirv/unified1/spirv.hpp11>

namespace nnv12::artifact {

class SpirvFunctions {
public:
  explicit SpirvFunctions(SpirvModule &module) : m(module), ids(module.ids) {}
  SpirvFunctions(const SpirvFunctions &) = delete;

  /// Checks the module's instruction under way.
  bool verify();
  /// Checks that nothing is missing behind the last one.
  bool finish();

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

  bool function();
  bool parameter();
  bool functionEnd();
  bool label();
  bool merge();
  bool branch();
  bool branchTo(uint32_t i);
  bool branchBack(uint32_t i);
  bool functionReturn();
  bool phi();
  bool phiParent(uint32_t i, uint32_t &unknown);
  bool call();
  bool variable();
  bool load();
  bool store();
  bool accessChain();
  bool memoryOperands(uint32_t i);
  bool compositeConstruct();
  bool compositeExtract();
  bool compositeInsert();
  bool vectorShuffle();
  bool extendedInstruction();
  bool controlBarrier();
  bool withSignature(const char *signature, uint32_t firstOperand);
  bool isOperand(char letter, uint32_t type, uint32_t first) const;

  /// Whether word `i` is a value that is known here.
  bool value(uint32_t i);
  bool valueOf(uint32_t i, uint32_t type);
  bool vector(uint32_t i, uint32_t component);
  bool pointer(uint32_t i);
  bool resultType();
  bool result(uint32_t decorations = 0);
  uint32_t type(uint32_t i) const { return m.typeOf(m.word(i)); }

  bool dominates(uint32_t block, uint32_t other) const {
    return ids[block].first <= ids[other].first &&
           ids[other].first <= ids[block].last;
  }
  void enter(uint32_t block);
  void leave(uint16_t newDepth);

  static constexpr uint32_t mostNesting = 64;
  static constexpr uint16_t nowhere = 0xffff;

  SpirvModule &m;
  SpirvId *ids;

  State state = State::Outside;
  uint32_t current = 0; ///< function
  uint32_t numParameters = 0;
  bool isFirstBlock = false, hasReturned = false;
  uint32_t block = 0;
  bool isAtPhis = false, isAtVariables = false;
  bool isMerged = false; ///< behind a merge instruction
  /// Phis of the block whose operand of the loop's last block, `pendingBack`,
  /// is not known yet: the first one, which leads to the next by its
  /// targets[0].
  uint16_t pendingPhis = 0, pendingBack = 0;

  Construct constructs[mostNesting];
  uint32_t nesting = 0;
  uint32_t region = 0, lastRegion = 0; ///< see label()
  uint32_t numEntered = 0; ///< blocks branched to that did not come yet

  uint16_t depth = 0; ///< of the list of dominators, in ids[].dominator
  uint16_t numBlocks = 0;
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_SPIRVFUNCTIONS_H
