//===- SpirvChecks.cpp - The base of checks of SPIR-V ---------------------===//
#include "artifact/SpirvChecks.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace nnv12::artifact {

using spv::Op;

void SpirvChecks::fail(uint32_t i, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  refuse({nullptr, "word", at() + i}, "found %s", text);
}

uint32_t SpirvChecks::idAt(uint32_t i) {
  if (word(i) == 0 || word(i) >= bound)
    fail(i, "id %u|1 to %u", word(i), bound - 1);
  return word(i);
}

SpirvId &SpirvChecks::define(uint32_t i, uint32_t type, uint32_t decorations) {
  SpirvId &id = ids[idAt(i)];
  if (id.at)
    fail(i, "id %u again|it defined once, at word %u", word(i), id.at);
  if (uint32_t wrong = id.marks & allDecorations & ~decorations)
    fail(i, "id %u with decorations 0x%x|none of them", word(i), wrong);
  constexpr uint32_t ofBlocks = MarkMerge | MarkContinue | MarkEntered;
  if ((id.marks & ofBlocks) && opcode() != Op::OpLabel)
    fail(i, "id %u, which is branched to|a label", word(i));
  if ((id.marks & MarkListed) && opcode() != Op::OpVariable)
    fail(i, "id %u in the interface|a variable", word(i));
  if ((id.marks & MarkMember) && opcode() != Op::OpTypeStruct)
    fail(i, "id %u, whose member has a name|a struct", word(i));
  if (word(i) == entryPoint && opcode() != Op::OpFunction)
    fail(i, "the entry point, id %u|a function", word(i));
  id.at = at();
  id.opcode = uint16_t(opcode());
  id.type = uint16_t(type);
  return id;
}

uint32_t SpirvChecks::idOf(uint32_t i, Op opcode, const char *what) {
  if (!is(idAt(i), opcode))
    fail(i, "id %u|%s", word(i), what);
  return word(i);
}

uint32_t SpirvChecks::resultPointer() {
  return idOf(1, Op::OpTypePointer, "a type of pointers");
}

uint32_t SpirvChecks::typeOf(uint32_t id) const {
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

bool SpirvChecks::isConstant(uint32_t id) const {
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

bool SpirvChecks::constantValue(uint32_t id, uint32_t &value) const {
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

const char *SpirvChecks::string(uint32_t i) const {
  const char *text = reinterpret_cast<const char *>(here + i);
  size_t size = size_t(count - i) * sizeof(uint32_t);
  const void *end = memchr(text, 0, size);
  size_t length = end ? size_t(static_cast<const char *>(end) - text) : size;
  return length < size && length / sizeof(uint32_t) + 1 == count - i ? text
                                                                     : nullptr;
}

} // namespace nnv12::artifact
