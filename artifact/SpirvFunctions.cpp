//===- SpirvFunctions.cpp - Checks functions of a SPIR-V module -----------===//
//
// Of a block's id, beside its definition:
//   marks         whether a merge instruction names it, or a branch alone
//   number        before it begins: the region that the branch to it is in;
//                 afterwards: the last phi that named it
//   targets       where its end branches to
//   predecessors  that were seen
//   depth         its place in the list of dominators
//   first, last   numbers of blocks, in order, that it dominates: itself and
//                 all those until the list of dominators lost it
//
//===----------------------------------------------------------------------===//
#include "artifact/SpirvFunctions.h"

#include <algorithm>

namespace nnv12::artifact {

using spv::Op;

bool SpirvFunctions::verify() {
  Op opcode = m.opcode();
  switch (opcode) {
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
  if (state != State::Inside)
    return m.fail(0, "found opcode %u outside of blocks, expected a label",
                  unsigned(opcode));
  bool isBranch = opcode == Op::OpBranch || opcode == Op::OpBranchConditional;
  if (isMerged && !isBranch)
    return m.fail(0, "found opcode %u behind a merge, expected a branch",
                  unsigned(opcode));
  isAtPhis = isAtPhis && opcode == Op::OpPhi;
  isAtVariables = isAtVariables && opcode == Op::OpVariable;
  if (m.instruction->signature[0])
    return withSignature(m.instruction->signature, 3);
  switch (opcode) {
  case Op::OpUndef:
    return resultType() && result();
  case Op::OpVariable:
    return variable();
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
    return m.fail(0, "found opcode %u, expected one of functions",
                  unsigned(opcode));
  }
}

bool SpirvFunctions::finish() {
  if (state != State::Outside)
    return m.fail(0,
                  "found the end of the module, expected that of function "
                  "%u",
                  current);
  if (!ids[m.entryPoint].at)
    return m.fail(0,
                  "found the end of the module, expected the entry point, "
                  "function %u",
                  m.entryPoint);
  return true;
}

// Functions.

bool SpirvFunctions::function() {
  if (state != State::Outside)
    return m.fail(0, "found a function inside of function %u", current);
  if (!m.isId(1) || !m.isDefined(4, Op::OpTypeFunction, "a type of functions"))
    return false;
  uint32_t type = m.word(4);
  if (ids[type].type != m.word(1))
    return m.fail(1, "found a result of type %u, expected type %u", m.word(1),
                  ids[type].type);
  if (m.word(3) > 0xf)
    return m.fail(3, "found the function control 0x%x, expected at most 0xf",
                  m.word(3));
  if (m.word(2) == m.entryPoint &&
      (m.part(type, 0) >> 16 != 3 || !m.is(m.word(1), Op::OpTypeVoid)))
    return m.fail(4, "found an entry point with parameters or a result, "
                     "expected none");
  if (!m.define(2, m.word(1)))
    return false;
  state = State::Parameters;
  current = m.word(2);
  numParameters = 0;
  isFirstBlock = true;
  hasReturned = false;
  // Stands for all that is known before the first block.
  enter(current);
  return true;
}

bool SpirvFunctions::parameter() {
  if (state != State::Parameters)
    return m.fail(0, "found a parameter, expected it behind a function");
  uint32_t type = m.part(current, 4);
  if (numParameters + 3 >= m.part(type, 0) >> 16)
    return m.fail(0, "found another parameter, expected %u of them",
                  numParameters);
  if (m.word(1) != m.part(type, 3 + numParameters))
    return m.fail(1, "found a parameter of type %u, expected type %u",
                  m.word(1), m.part(type, 3 + numParameters));
  ++numParameters;
  if (!m.define(2, m.word(1)))
    return false;
  ids[m.word(2)].block = uint16_t(current);
  return true;
}

bool SpirvFunctions::functionEnd() {
  if (state != State::Between || nesting || numEntered)
    return m.fail(0,
                  "found the end of function %u, expected the end of its "
                  "block, %u merge blocks and %u others that are branched "
                  "to",
                  current, nesting, numEntered);
  if (!hasReturned)
    return m.fail(0, "found the end of function %u, expected a return",
                  current);
  leave(0);
  state = State::Outside;
  return true;
}

/// Arguments are compared with parameters of functions that came before: so
/// there is no recursion.
bool SpirvFunctions::call() {
  if (!m.isId(1) || !m.isId(3))
    return false;
  uint32_t function = m.word(3);
  if (!m.is(function, Op::OpFunction) || function == current ||
      function == m.entryPoint)
    return m.fail(3,
                  "found a call of id %u, expected a function that ended "
                  "before this one, and not the entry point",
                  function);
  if (m.word(1) != ids[function].type)
    return m.fail(1, "found a result of type %u, expected type %u", m.word(1),
                  ids[function].type);
  uint32_t type = m.part(function, 4);
  uint32_t expected = (m.part(type, 0) >> 16) - 3;
  if (m.count - 4 != expected)
    return m.fail(0, "found a call with %u arguments, expected %u", m.count - 4,
                  expected);
  for (uint32_t i = 0; i < expected; ++i)
    if (!valueOf(4 + i, m.part(type, 3 + i)))
      return false;
  return result();
}

bool SpirvFunctions::functionReturn() {
  if (nesting)
    return m.fail(0, "found a return inside of a selection or loop, expected "
                     "it at the end of the function");
  uint32_t expected = ids[current].type;
  bool hasValue = m.opcode() == Op::OpReturnValue;
  if (hasValue == m.is(expected, Op::OpTypeVoid))
    return m.fail(0, "found a return %s a value, expected a result of type %u",
                  hasValue ? "with" : "without", expected);
  if (hasValue && !valueOf(1, expected))
    return false;
  if (pendingPhis)
    return m.fail(0, "found a return, expected the merge of a loop, for its "
                     "phis");
  state = State::Between;
  isFirstBlock = false;
  hasReturned = true;
  return true;
}

// Control flow.

/// Appends `newBlock` to the list of dominators.
void SpirvFunctions::enter(uint32_t newBlock) {
  ids[newBlock].first = numBlocks++;
  ids[newBlock].last = nowhere;
  ids[newBlock].depth = depth;
  ids[depth++].dominator = uint16_t(newBlock);
}

/// Shortens the list of dominators.
void SpirvFunctions::leave(uint16_t newDepth) {
  while (depth > newDepth)
    ids[ids[--depth].dominator].last = uint16_t(numBlocks - 1);
  for (uint32_t i = 0; i < nesting; ++i) {
    Construct &construct = constructs[i];
    if (construct.mergeDepth != nowhere)
      construct.mergeDepth = std::min(construct.mergeDepth, depth);
    if (construct.continueDepth != nowhere)
      construct.continueDepth = std::min(construct.continueDepth, depth);
  }
}

/// A region is what lies between a merge instruction and its merge block or
/// continue target, or between that and the merge block, and not in a region
/// inside of it. Blocks lie in the region in which they are branched to.
bool SpirvFunctions::label() {
  if (state != State::Between &&
      (state != State::Parameters ||
       numParameters + 3 != m.part(m.part(current, 4), 0) >> 16))
    return m.fail(0, "found a label, expected it behind a function, all of its "
                     "parameters, or the end of a block");
  if (!m.isId(1))
    return false;
  block = m.word(1);
  SpirvId &id = ids[block];
  Construct *inner = nesting ? &constructs[nesting - 1] : nullptr;
  if (isFirstBlock) {
    if (id.predecessors || id.marks & (MarkMerge | MarkContinue))
      return m.fail(1, "found block %u, expected one that nothing names",
                    block);
  } else if (!id.predecessors) {
    return m.fail(1,
                  "found block %u, expected one that a block before "
                  "branches to",
                  block);
  } else if (inner && inner->merge == block &&
             (inner->isClosed || !inner->continueTarget)) {
    region = inner->outerRegion;
    uint16_t newDepth = inner->mergeDepth;
    --nesting;
    leave(newDepth);
  } else if (inner && inner->continueTarget == block) {
    region = ++lastRegion;
    inner->isContinued = true;
    leave(inner->continueDepth);
  } else if ((id.marks & MarkEntered) && id.number == region &&
             ids[id.targets[0]].last == nowhere) {
    // Its only predecessor dominates it, and is in the list still.
    leave(uint16_t(ids[id.targets[0]].depth + 1));
    --numEntered;
  } else {
    return m.fail(1,
                  "found block %u, expected one of the innermost selection "
                  "or loop under way, or its merge block",
                  block);
  }
  if (!m.define(1, 0))
    return false;
  enter(block);
  id.number = 0;
  id.targets[0] = id.targets[1] = 0;
  state = State::Inside;
  isAtPhis = true;
  isAtVariables = isFirstBlock;
  return true;
}

bool SpirvFunctions::merge() {
  bool isLoop = m.opcode() == Op::OpLoopMerge;
  if (nesting == mostNesting)
    return m.fail(0, "found constructs nested deeper than %u", mostNesting);
  if (isLoop && (isFirstBlock || ids[block].marks & MarkContinue))
    return m.fail(0, "found a loop that begins in the first block or in a "
                     "continue target");
  uint32_t control = isLoop ? 3 : 2;
  if (m.word(control) > 2)
    return m.fail(control, "found the control 0x%x, expected 0 to 2",
                  m.word(control));
  for (uint32_t i = 1; i < control; ++i) {
    if (!m.isId(i))
      return false;
    SpirvId &id = ids[m.word(i)];
    if (id.at || id.predecessors || id.marks & (MarkMerge | MarkContinue))
      return m.fail(i,
                    "found block %u, expected one that comes later and that "
                    "nothing names yet",
                    m.word(i));
    id.marks |= i == 1 ? MarkMerge : MarkContinue;
  }
  Construct &inner = constructs[nesting++];
  inner = {};
  inner.header = uint16_t(block);
  inner.merge = uint16_t(m.word(1));
  inner.continueTarget = isLoop ? uint16_t(m.word(2)) : 0;
  inner.mergeDepth = inner.continueDepth = nowhere;
  inner.outerRegion = region;
  region = ++lastRegion;
  if (isLoop) {
    inner.phis = pendingPhis;
    inner.back = pendingBack;
    pendingPhis = 0;
  }
  isMerged = true;
  return true;
}

bool SpirvFunctions::branch() {
  bool isConditional = m.opcode() == Op::OpBranchConditional;
  bool isSelection = isMerged && !constructs[nesting - 1].continueTarget;
  if (pendingPhis)
    return m.fail(0, "found a branch, expected the merge of a loop, for the "
                     "block's phis");
  if (isConditional ? !isMerged : isSelection)
    return m.fail(0, "found a conditional branch without a merge, or the merge "
                     "of a selection without one");
  isMerged = false;
  state = State::Between;
  isFirstBlock = false;
  if (!isConditional)
    return branchTo(1);
  if (!value(1))
    return false;
  if (!m.is(type(1), Op::OpTypeBool))
    return m.fail(1, "found a condition of type %u, expected a bool", type(1));
  if (m.word(2) == m.word(3))
    return m.fail(3, "found block %u twice, expected two blocks", m.word(3));
  return branchTo(2) && branchTo(3);
}

/// Out of a construct lead branches to its merge block, or to the merge block
/// or continue target of the innermost loop, unless from behind the latter.
bool SpirvFunctions::branchTo(uint32_t i) {
  if (!m.isId(i))
    return false;
  uint32_t target = m.word(i);
  SpirvId &id = ids[target];
  if (id.at)
    return branchBack(i);
  if (id.marks & (MarkMerge | MarkContinue)) {
    uint32_t n = nesting;
    Construct *construct = n ? &constructs[n - 1] : nullptr;
    if (construct && construct->merge != target)
      while (n && !(construct = &constructs[n - 1])->continueTarget)
        --n;
    if (!n || construct->isContinued ||
        (construct->merge != target && construct->continueTarget != target))
      return m.fail(i,
                    "found a branch to block %u, expected the merge block "
                    "of the innermost construct, or the merge block or the "
                    "continue target of the innermost loop",
                    target);
    uint16_t &common = construct->merge == target ? construct->mergeDepth
                                                  : construct->continueDepth;
    common = std::min(common, depth);
  } else {
    if (id.predecessors)
      return m.fail(i,
                    "found a second branch to block %u, which no merge "
                    "names, expected one",
                    target);
    id.marks |= MarkEntered;
    id.number = region;
    id.targets[0] = uint16_t(block);
    ++numEntered;
  }
  ++id.predecessors;
  ids[block].targets[i == 3] = uint16_t(target);
  return true;
}

/// From the continue target on, all ways lead back to the header, by one
/// branch.
bool SpirvFunctions::branchBack(uint32_t i) {
  Construct *inner = nesting ? &constructs[nesting - 1] : nullptr;
  if (!inner || inner->header != m.word(i) || !inner->isContinued ||
      inner->isClosed || m.opcode() != Op::OpBranch)
    return m.fail(i,
                  "found a branch back to id %u, expected it to the header "
                  "of the innermost loop, from behind its continue target, "
                  "once",
                  m.word(i));
  if (inner->phis && inner->back != block)
    return m.fail(i,
                  "found a branch back from block %u, expected it from "
                  "block %u, as the phis have it",
                  block, inner->back);
  for (uint32_t phi = inner->phis; phi; phi = ids[phi].targets[0]) {
    uint32_t value = ids[phi].number;
    if (m.typeOf(value) != ids[phi].type ||
        (ids[value].block && !dominates(ids[value].block, block)))
      return m.fail(i,
                    "found a branch back with id %u for phi %u, expected a "
                    "value of type %u that is known here",
                    value, phi, ids[phi].type);
  }
  ++ids[m.word(i)].predecessors;
  inner->isClosed = true;
  region = ++lastRegion;
  return true;
}

bool SpirvFunctions::phi() {
  if (!isAtPhis)
    return m.fail(0, "found a phi, expected it at the begin of a block");
  if (!resultType())
    return false;
  uint32_t parents = (m.count - 3) / 2, before = ids[block].predecessors;
  if (m.count % 2 == 0 || parents < before || parents > before + 1 || !before)
    return m.fail(0,
                  "found a phi of %u words, expected a value and a block "
                  "for each of %u predecessors",
                  m.count, before);
  uint32_t unknown = 0;
  for (uint32_t i = 3; i < m.count; i += 2)
    if (!phiParent(i, unknown))
      return false;
  if ((unknown != 0) != (parents > before))
    return m.fail(0, "found a phi with %u blocks, expected all predecessors",
                  parents);
  if (!result())
    return false;
  uint16_t id = uint16_t(m.word(2));
  if (unknown) {
    if (pendingPhis && pendingBack != m.word(unknown + 1))
      return m.fail(unknown + 1, "found block %u, expected block %u",
                    m.word(unknown + 1), pendingBack);
    pendingBack = uint16_t(m.word(unknown + 1));
    ids[id].number = m.word(unknown);
    ids[id].targets[0] = pendingPhis;
    pendingPhis = id;
  }
  return true;
}

/// Checks value and block in words `i` and `i` + 1. Of a block that comes later
/// or is this one, there may be one: `unknown` becomes `i`.
bool SpirvFunctions::phiParent(uint32_t i, uint32_t &unknown) {
  if (!m.isId(i) || !m.isId(i + 1))
    return false;
  uint32_t id = m.word(i), parent = m.word(i + 1);
  if (!ids[parent].at || parent == block) {
    if (unknown)
      return m.fail(i + 1,
                    "found block %u, expected one other that comes "
                    "later at most",
                    parent);
    unknown = i;
    return true;
  }
  const SpirvId &from = ids[parent];
  if (!m.is(parent, Op::OpLabel) ||
      (from.targets[0] != block && from.targets[1] != block))
    return m.fail(i + 1, "found block %u, expected a predecessor", parent);
  if (from.number == m.word(2))
    return m.fail(i + 1, "found block %u twice, expected it once", parent);
  ids[parent].number = m.word(2);
  if (m.typeOf(id) != m.word(1) ||
      (ids[id].block && !dominates(ids[id].block, parent)))
    return m.fail(i,
                  "found id %u, expected a value of type %u that is known "
                  "at the end of block %u",
                  id, m.word(1), parent);
  return true;
}

} // namespace nnv12::artifact
