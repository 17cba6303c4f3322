//===- SpirvFunctions.cpp - Checks functions of a SPIR-V module -----------===//
//
// A block's id holds, beside its definition:
//   marks         whether a merge instruction names it, or a branch alone
//   number        before it begins: the region that the branch to it is in;
//                 afterwards: the last phi that named it
//   targets       the blocks that its end branches to
//   predecessors  the number of those that were seen
//   depth         its place in the list of dominators
//   first, last   numbers of blocks, in order, that it dominates: itself and
//                 all those until the list of dominators lost it
//
//===----------------------------------------------------------------------===//
#include "artifact/SpirvFunctions.h"

#include <algorithm>

namespace nnv12::artifact {

using spv::Op;

void SpirvFunctions::compute() {
  Op found = opcode();
  switch (found) {
  case Op::OpFunction:
    return function();
  case Op::OpFunctionParameter:
    return parameter();
  case Op::OpFunctionEnd:
    return functionEnd();
  case Op::OpLabel:
    return label();
  default:
    break;
  }
  if (state_ != State::Inside)
    fail(0, "opcode %u outside of blocks|a label", unsigned(found));
  bool isBranch = found == Op::OpBranch || found == Op::OpBranchConditional;
  if (isMerged_ && !isBranch)
    fail(0, "opcode %u behind a merge|a branch", unsigned(found));
  isAtPhis_ = isAtPhis_ && found == Op::OpPhi;
  isAtVariables_ = isAtVariables_ && found == Op::OpVariable;
  if (instruction->signature[0])
    return withSignature(instruction->signature, 3);
  switch (found) {
  case Op::OpUndef:
    resultType();
    result();
    return;
  case Op::OpVariable:
    return localVariable();
  case Op::OpFunctionCall:
    return call();
  case Op::OpLoad:
    return load();
  case Op::OpStore:
    return store();
  case Op::OpAccessChain:
    return accessChain();
  case Op::OpCompositeConstruct:
    return compositeConstruct();
  case Op::OpCompositeExtract:
    return compositeExtract();
  case Op::OpCompositeInsert:
    return compositeInsert();
  case Op::OpVectorShuffle:
    return vectorShuffle();
  case Op::OpExtInst:
    return extendedInstruction();
  case Op::OpControlBarrier:
    return controlBarrier();
  case Op::OpPhi:
    return phi();
  case Op::OpSelectionMerge:
  case Op::OpLoopMerge:
    return merge();
  case Op::OpBranch:
  case Op::OpBranchConditional:
    return branch();
  case Op::OpReturn:
  case Op::OpReturnValue:
    return functionReturn();
  default:
    fail(0, "opcode %u|one of functions", unsigned(found));
  }
}

void SpirvFunctions::finishFunctions() {
  if (state_ != State::Outside)
    fail(0, "the end of the module|that of function %u", current_);
  if (!ids[entryPoint].at)
    fail(0, "the end of the module|the entry point, function %u", entryPoint);
}

// Functions.

void SpirvFunctions::function() {
  if (state_ != State::Outside)
    fail(0, "a function inside of function %u", current_);
  uint32_t returned = idAt(1);
  uint32_t type = idOf(4, Op::OpTypeFunction, "a type of functions");
  returns(ids[type].type);
  if (word(3) > 0xf)
    fail(3, "the function control 0x%x|at most 0xf", word(3));
  if (word(2) == entryPoint &&
      (part(type, 0) >> 16 != 3 || !is(returned, Op::OpTypeVoid)))
    fail(4, "an entry point with parameters or a result|none");
  define(2, returned);
  state_ = State::Parameters;
  current_ = word(2);
  numParameters_ = 0;
  isFirstBlock_ = true;
  hasReturned_ = false;
  // Stands for all that is known before the first block.
  enter(current_);
}

void SpirvFunctions::returns(uint32_t type) {
  if (word(1) != type)
    fail(1, "a result of type %u|type %u", word(1), type);
}

void SpirvFunctions::parameter() {
  if (state_ != State::Parameters)
    fail(0, "a parameter|it behind a function");
  uint32_t type = part(current_, 4);
  if (numParameters_ == parametersOf(type))
    fail(0, "another parameter|%u of them", numParameters_);
  uint32_t expected = part(type, 3 + numParameters_++);
  if (word(1) != expected)
    fail(1, "a parameter of type %u|type %u", word(1), expected);
  define(2, expected).block = uint16_t(current_);
}

void SpirvFunctions::functionEnd() {
  if (state_ != State::Between || nesting_ || numEntered_)
    fail(0,
         "the end of function %u|the end of its block, %u merge blocks and %u "
         "others that are branched to",
         current_, nesting_, numEntered_);
  if (!hasReturned_)
    fail(0, "the end of function %u|a return", current_);
  leave(0);
  state_ = State::Outside;
}

/// Arguments are compared with parameters of functions that came before: so
/// there is no recursion.
void SpirvFunctions::call() {
  idAt(1);
  uint32_t function = idAt(3);
  if (!is(function, Op::OpFunction) || function == current_ ||
      function == entryPoint)
    fail(3,
         "a call of id %u|a function that ended before this one, and not the "
         "entry point",
         function);
  returns(ids[function].type);
  uint32_t type = part(function, 4), expected = parametersOf(type);
  if (count - 4 != expected)
    fail(0, "a call with %u arguments|%u", count - 4, expected);
  for (uint32_t i = 0; i < expected; ++i)
    valueOf(4 + i, part(type, 3 + i));
  result();
}

void SpirvFunctions::functionReturn() {
  if (nesting_)
    fail(
        0,
        "a return inside of a selection or loop|it at the end of the function");
  uint32_t expected = ids[current_].type;
  bool hasValue = opcode() == Op::OpReturnValue;
  if (hasValue == is(expected, Op::OpTypeVoid))
    fail(0, "a return %s a value|a result of type %u",
         hasValue ? "with" : "without", expected);
  if (hasValue)
    valueOf(1, expected);
  if (pendingPhis_)
    fail(0, "a return|the merge of a loop, for its phis");
  state_ = State::Between;
  isFirstBlock_ = false;
  hasReturned_ = true;
}

// Control flow.

/// Appends `newBlock` to the list of dominators.
void SpirvFunctions::enter(uint32_t block) {
  ids[block].first = numBlocks_++;
  ids[block].last = nowhere;
  ids[block].depth = depth_;
  ids[depth_++].dominator = uint16_t(block);
}

/// Shortens the list of dominators.
void SpirvFunctions::leave(uint16_t newDepth) {
  while (depth_ > newDepth)
    ids[ids[--depth_].dominator].last = uint16_t(numBlocks_ - 1);
  for (uint32_t i = 0; i < nesting_; ++i) {
    Construct &construct = constructs_[i];
    if (construct.mergeDepth != nowhere)
      construct.mergeDepth = std::min(construct.mergeDepth, depth_);
    if (construct.continueDepth != nowhere)
      construct.continueDepth = std::min(construct.continueDepth, depth_);
  }
}

/// A region lies between a merge instruction and its merge block or continue
/// target, or between that and the merge block, and not in a region inside of
/// it. Blocks lie in the region in which they are branched to.
void SpirvFunctions::label() {
  if (state_ != State::Between &&
      (state_ != State::Parameters ||
       numParameters_ != parametersOf(part(current_, 4))))
    fail(0, "a label|it behind a function, all of its parameters, or the end "
            "of a block");
  block_ = idAt(1);
  SpirvId &id = ids[block_];
  Construct *inner = nesting_ ? &constructs_[nesting_ - 1] : nullptr;
  if (isFirstBlock_) {
    if (id.predecessors || id.marks & (MarkMerge | MarkContinue))
      fail(1, "block %u|one that nothing names", block_);
  } else if (!id.predecessors) {
    fail(1, "block %u|one that a block before branches to", block_);
  } else if (inner && inner->merge == block_ &&
             (inner->isClosed || !inner->continueTarget)) {
    region_ = inner->outerRegion;
    uint16_t newDepth = inner->mergeDepth;
    --nesting_;
    leave(newDepth);
  } else if (inner && inner->continueTarget == block_) {
    region_ = ++lastRegion_;
    inner->isContinued = true;
    leave(inner->continueDepth);
  } else if ((id.marks & MarkEntered) && id.number == region_ &&
             ids[id.targets[0]].last == nowhere) {
    // Its only predecessor dominates it, and is in the list still.
    leave(uint16_t(ids[id.targets[0]].depth + 1));
    --numEntered_;
  } else {
    fail(1,
         "block %u|one of the innermost selection or loop under way, or its "
         "merge block",
         block_);
  }
  define(1, 0);
  enter(block_);
  id.number = 0;
  id.targets[0] = id.targets[1] = 0;
  state_ = State::Inside;
  isAtPhis_ = true;
  isAtVariables_ = isFirstBlock_;
}

void SpirvFunctions::merge() {
  bool isLoop = opcode() == Op::OpLoopMerge;
  if (nesting_ == mostNesting)
    fail(0, "constructs nested deeper than %u", mostNesting);
  if (isLoop && (isFirstBlock_ || ids[block_].marks & MarkContinue))
    fail(0, "a loop that begins in the first block or in a continue target");
  uint32_t control = isLoop ? 3 : 2;
  if (word(control) > 2)
    fail(control, "the control 0x%x|0 to 2", word(control));
  for (uint32_t i = 1; i < control; ++i) {
    SpirvId &id = ids[idAt(i)];
    if (id.at || id.predecessors || id.marks & (MarkMerge | MarkContinue))
      fail(i, "block %u|one that comes later and that nothing names yet",
           word(i));
    id.marks |= i == 1 ? MarkMerge : MarkContinue;
  }
  Construct &inner = constructs_[nesting_++];
  inner = {};
  inner.header = uint16_t(block_);
  inner.merge = uint16_t(word(1));
  inner.continueTarget = isLoop ? uint16_t(word(2)) : 0;
  inner.mergeDepth = inner.continueDepth = nowhere;
  inner.outerRegion = region_;
  region_ = ++lastRegion_;
  if (isLoop) {
    inner.phis = pendingPhis_;
    inner.back = pendingBack_;
    pendingPhis_ = 0;
  }
  isMerged_ = true;
}

void SpirvFunctions::branch() {
  bool isConditional = opcode() == Op::OpBranchConditional;
  bool isSelection = isMerged_ && !constructs_[nesting_ - 1].continueTarget;
  if (pendingPhis_)
    fail(0, "a branch|the merge of a loop, for the block's phis");
  if (isConditional ? !isMerged_ : isSelection)
    fail(0, "a conditional branch without a merge, or the merge of a selection "
            "without one");
  isMerged_ = false;
  state_ = State::Between;
  isFirstBlock_ = false;
  if (!isConditional)
    return branchTo(1);
  uint32_t condition = value(1);
  if (!is(condition, Op::OpTypeBool))
    fail(1, "a condition of type %u|a bool", condition);
  if (word(2) == word(3))
    fail(3, "block %u twice|two blocks", word(3));
  branchTo(2);
  branchTo(3);
}

/// Out of a construct lead branches to its merge block, or to the merge block
/// or continue target of the innermost loop, unless from behind the latter.
void SpirvFunctions::branchTo(uint32_t i) {
  uint32_t target = idAt(i);
  SpirvId &id = ids[target];
  if (id.at)
    return branchBack(i);
  if (id.marks & (MarkMerge | MarkContinue)) {
    uint32_t n = nesting_;
    Construct *construct = n ? &constructs_[n - 1] : nullptr;
    if (construct && construct->merge != target)
      while (n && !(construct = &constructs_[n - 1])->continueTarget)
        --n;
    if (!n || construct->isContinued ||
        (construct->merge != target && construct->continueTarget != target))
      fail(i,
           "a branch to block %u|the merge block of the innermost construct, "
           "or the merge block or the continue target of the innermost loop",
           target);
    uint16_t &common = construct->merge == target ? construct->mergeDepth
                                                  : construct->continueDepth;
    common = std::min(common, depth_);
  } else {
    if (id.predecessors)
      fail(i, "a second branch to block %u, which no merge names|one", target);
    id.marks |= MarkEntered;
    id.number = region_;
    id.targets[0] = uint16_t(block_);
    ++numEntered_;
  }
  ++id.predecessors;
  ids[block_].targets[i == 3] = uint16_t(target);
}

/// From the continue target on, all ways lead back to the header, by one
/// branch.
void SpirvFunctions::branchBack(uint32_t i) {
  Construct *inner = nesting_ ? &constructs_[nesting_ - 1] : nullptr;
  if (!inner || inner->header != word(i) || !inner->isContinued ||
      inner->isClosed || opcode() != Op::OpBranch)
    fail(i,
         "a branch back to id %u|it to the header of the innermost loop, from "
         "behind its continue target, once",
         word(i));
  if (inner->phis && inner->back != block_)
    fail(i, "a branch back from block %u|it from block %u, as the phis have it",
         block_, inner->back);
  for (uint32_t phi = inner->phis; phi; phi = ids[phi].targets[0]) {
    uint32_t value = ids[phi].number;
    if (typeOf(value) != ids[phi].type || !isKnown(value, block_))
      fail(i,
           "a branch back with id %u for phi %u|a value of type %u that is "
           "known here",
           value, phi, ids[phi].type);
  }
  ++ids[word(i)].predecessors;
  inner->isClosed = true;
  region_ = ++lastRegion_;
}

void SpirvFunctions::phi() {
  if (!isAtPhis_)
    fail(0, "a phi|it at the begin of a block");
  resultType();
  uint32_t parents = (count - 3) / 2, before = ids[block_].predecessors;
  if (count % 2 == 0 || parents < before || parents > before + 1 || !before)
    fail(0, "a phi of %u words|a value and a block for each of %u predecessors",
         count, before);
  uint32_t unknown = 0;
  for (uint32_t i = 3; i < count; i += 2)
    phiParent(i, unknown);
  if ((unknown != 0) != (parents > before))
    fail(0, "a phi with %u blocks|all predecessors", parents);
  SpirvId &id = result();
  if (unknown) {
    if (pendingPhis_ && pendingBack_ != word(unknown + 1))
      fail(unknown + 1, "block %u|block %u", word(unknown + 1), pendingBack_);
    pendingBack_ = uint16_t(word(unknown + 1));
    id.number = word(unknown);
    id.targets[0] = pendingPhis_;
    pendingPhis_ = uint16_t(word(2));
  }
}

/// Checks value and block in words `i` and `i` + 1. One block may come later or
/// be this one: `unknown` becomes its `i`.
void SpirvFunctions::phiParent(uint32_t i, uint32_t &unknown) {
  uint32_t id = idAt(i), parent = idAt(i + 1);
  if (!ids[parent].at || parent == block_) {
    if (unknown)
      fail(i + 1, "block %u|one other that comes later at most", parent);
    unknown = i;
    return;
  }
  SpirvId &from = ids[parent];
  if (!is(parent, Op::OpLabel) ||
      (from.targets[0] != block_ && from.targets[1] != block_))
    fail(i + 1, "block %u|a predecessor", parent);
  if (from.number == word(2))
    fail(i + 1, "block %u twice|it once", parent);
  from.number = word(2);
  if (typeOf(id) != word(1) || !isKnown(id, parent))
    fail(i, "id %u|a value of type %u that is known at the end of block %u", id,
         word(1), parent);
}

} // namespace nnv12::artifact
