//===- SpirvModule.cpp - A module of SPIR-V while it is checked -----------===//
#include "artifact/SpirvModule.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace nnv12::artifact {

using spv::Op;

bool SpirvModule::fail(uint32_t i, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return fault.set(Fault::BadBundle, "word %u: %s", at + i, text);
}

bool SpirvModule::isId(uint32_t i) {
  if (word(i) == 0 || word(i) >= bound)
    return fail(i, "found id %u, expected 1 to %u", word(i), bound - 1);
  return true;
}

bool SpirvModule::define(uint32_t i, uint32_t type, uint32_t decorations) {
  if (!isId(i))
    return false;
  SpirvId &id = ids[word(i)];
  if (id.at)
    return fail(i, "found id %u again, expected it defined once, at word %u",
                word(i), id.at);
  if (uint32_t wrong = id.marks & allDecorations & ~decorations)
    return fail(i, "found id %u with decorations 0x%x, expected none of them",
                word(i), wrong);
  constexpr uint32_t ofBlocks = MarkMerge | MarkContinue | MarkEntered;
  if ((id.marks & ofBlocks) && opcode() != Op::OpLabel)
    return fail(i, "found id %u, which is branched to, expected a label",
                word(i));
  if ((id.marks & MarkListed) && opcode() != Op::OpVariable)
    return fail(i, "found id %u in the interface, expected a variable",
                word(i));
  if ((id.marks & MarkMember) && opcode() != Op::OpTypeStruct)
    return fail(i, "found id %u, whose member has a name, expected a struct",
                word(i));
  if (word(i) == entryPoint && opcode() != Op::OpFunction)
    return fail(i, "found the entry point, id %u, expected a function",
                word(i));
  id.at = at;
  id.opcode = uint16_t(opcode());
  id.type = uint16_t(type);
  return true;
}

bool SpirvModule::isDefined(uint32_t i, Op opcode, const char *what) {
  if (!isId(i))
    return false;
  if (!is(word(i), opcode))
    return fail(i, "found id %u, expected %s", word(i), what);
  return true;
}

uint32_t SpirvModule::typeOf(uint32_t id) const {
  if (!ids[id].at)
    return 0;
  switch (Op(ids[id].opcode)) {
  case Op::OpTypeVector:
  case Op::OpTypeArray:
  case Op::OpTypeRuntimeArray:
  case Op::OpTypeStruct:
  case Op::OpTypePointer:
  case Op::OpTypeFunction:
  case Op::OpFunction:
    return 0;
  default:
    return ids[id].type; // Void, Bool, Int, Float and labels have none.
  }
}

bool SpirvModule::isConstant(uint32_t id) const {
  switch (Op(ids[id].opcode)) {
  case Op::OpConstantTrue:
  case Op::OpConstantFalse:
  case Op::OpConstant:
  case Op::OpConstantComposite:
  case Op::OpConstantNull:
    return true;
  default:
    return false;
  }
}

bool SpirvModule::constantValue(uint32_t id, uint32_t &value) const {
  if (!isInt32(typeOf(id)))
    return false;
  if (is(id, Op::OpConstant))
    value = part(id, 3);
  else if (is(id, Op::OpConstantNull))
    value = 0;
  else if (is(id, Op::OpSpecConstant))
    value = facts.constants[ids[id].number];
  else
    return false;
  return true;
}

const char *SpirvModule::string(uint32_t i) const {
  const char *text = reinterpret_cast<const char *>(words + at + i);
  size_t size = size_t(count - i) * sizeof(uint32_t);
  const void *end = memchr(text, 0, size);
  size_t length = end ? size_t(static_cast<const char *>(end) - text) : size;
  return length < size && length / sizeof(uint32_t) + 1 == count - i ? text
                                                                     : nullptr;
}

} // namespace nnv12::artifact
