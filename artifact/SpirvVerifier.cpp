//===- SpirvVerifier.cpp - Checks SPIR-V before a driver sees it ----------===//
#include "artifact/SpirvVerifier.h"

#include "artifact/SpirvDeclarations.h"
#include "artifact/SpirvFunctions.h"
#include "artifact/SpirvInstructions.h"
#include "artifact/SpirvModule.h"

#include <cstring>
#include <spirv/unified1/spirv.hpp11>

namespace nnv12::artifact {

using spv::Capability;
using spv::Decoration;
using spv::Op;

static constexpr uint32_t headerWords = 5;

namespace {

struct CapabilityRule {
  Capability capability;
  uint64_t feature;
};
constexpr CapabilityRule capabilityRules[] = {
    // Shader implies it, and MLIR's serializer writes what is implied, too.
    {Capability::Matrix, 0},
    {Capability::Shader, 0},
    {Capability::Int64, SpirvInt64},
    {Capability::Float64, SpirvFloat64},
    {Capability::Int8, SpirvInt8},
    {Capability::Int16, SpirvInt16},
    {Capability::Float16, SpirvFloat16},
    {Capability::StorageBuffer8BitAccess, SpirvStorageBuffer8},
    {Capability::StorageBuffer16BitAccess, SpirvStorageBuffer16},
    {Capability::UniformAndStorageBuffer8BitAccess,
     SpirvUniformAndStorageBuffer8},
    {Capability::UniformAndStorageBuffer16BitAccess,
     SpirvUniformAndStorageBuffer16}};

struct ExtensionRule {
  const char *name;
  SpirvExtension extension;
};
constexpr ExtensionRule extensionRules[] = {
    {"SPV_KHR_storage_buffer_storage_class", StorageBufferClass},
    {"SPV_KHR_8bit_storage", Storage8},
    {"SPV_KHR_16bit_storage", Storage16}};

/// How a decoration is remembered, and whether it comes with a number.
struct DecorationRule {
  Decoration decoration;
  SpirvMark mark;
  bool hasNumber;
};
constexpr DecorationRule decorationRules[] = {
    {Decoration::SpecId, MarkSpecId, true},
    {Decoration::Block, MarkBlock, false},
    {Decoration::ArrayStride, MarkStride, true},
    {Decoration::BuiltIn, MarkBuiltIn, true},
    {Decoration::NonWritable, MarkNonWritable, false},
    {Decoration::Binding, MarkBinding, true},
    {Decoration::DescriptorSet, MarkSet, true},
    {Decoration::NoContraction, MarkNoContraction, false}};
/// The decorations whose number is kept: one of them an id.
constexpr uint32_t numbered =
    MarkSpecId | MarkStride | MarkBuiltIn | MarkBinding;

class SpirvVerifier {
public:
  SpirvVerifier(const SpirvInterface &facts, SpirvId *ids, Fault &fault)
      : facts(facts), m(facts, ids, facts.words[3], fault), declarations(m),
        functions(m) {}
  SpirvVerifier(const SpirvVerifier &) = delete;

  bool verify();

private:
  bool next(uint32_t numWords);
  bool instruction();
  bool capability();
  bool extension();
  bool extendedInstructions();
  bool memoryModel();
  bool entryPoint();
  bool executionMode();
  bool localSize();
  bool name();
  bool decorate();
  bool decorateMember();
  bool mark(uint32_t i, SpirvMark mark);
  bool end();

  const SpirvInterface &facts;
  SpirvModule m;
  SpirvDeclarations declarations;
  SpirvFunctions functions;

  bool hasShader = false, hasMemoryModel = false;
  uint32_t localSizeAt = 0; ///< the instruction, or 0
};

} // namespace

// The module.

bool SpirvVerifier::verify() {
  uint32_t numWords = uint32_t(facts.numWords);
  SpirvSection section = SpirvSection::Capabilities;
  for (m.at = headerWords; m.at < numWords; m.at += m.count) {
    if (!next(numWords))
      return false;
    SpirvSection found = m.instruction->section;
    // Both are in functions, too.
    bool isAnywhere = m.opcode() == Op::OpVariable || m.opcode() == Op::OpUndef;
    if (section == SpirvSection::Functions && isAnywhere)
      found = section;
    if (found < section)
      return m.fail(0, "found opcode %u, expected it in an earlier section",
                    unsigned(m.opcode()));
    section = found;
    if (section > SpirvSection::MemoryModel && !hasMemoryModel)
      return m.fail(0, "found opcode %u, expected the memory model first",
                    unsigned(m.opcode()));
    if (section == SpirvSection::Functions ? !functions.verify()
                                           : !instruction())
      return false;
  }
  return end();
}

bool SpirvVerifier::next(uint32_t numWords) {
  m.count = m.word(0) >> 16;
  uint32_t opcode = m.word(0) & 0xffff;
  if (m.count == 0 || m.count > numWords - m.at)
    return m.fail(0, "found an instruction of %u words, expected 1 to %u",
                  m.count, numWords - m.at);
  m.instruction = findSpirvInstruction(opcode);
  if (!m.instruction)
    return m.fail(0, "found opcode %u, expected one that kernels use", opcode);
  if (m.count < m.instruction->fewestWords ||
      m.count > m.instruction->mostWords)
    return m.fail(0, "found %u words for opcode %u, expected %u to %u", m.count,
                  opcode, m.instruction->fewestWords, m.instruction->mostWords);
  return true;
}

bool SpirvVerifier::instruction() {
  switch (m.opcode()) {
  case Op::OpCapability:
    return capability();
  case Op::OpExtension:
    return extension();
  case Op::OpExtInstImport:
    return extendedInstructions();
  case Op::OpMemoryModel:
    return memoryModel();
  case Op::OpEntryPoint:
    return entryPoint();
  case Op::OpExecutionMode:
    return executionMode();
  case Op::OpName:
  case Op::OpMemberName:
    return name();
  case Op::OpDecorate:
    return decorate();
  case Op::OpMemberDecorate:
    return decorateMember();
  default:
    return declarations.verify();
  }
}

bool SpirvVerifier::end() {
  m.count = 0;
  if (!hasMemoryModel || !m.entryPoint || !localSizeAt)
    return m.fail(0, "found the end of the module, expected a memory model, an "
                     "entry point and its LocalSize");
  if (!functions.finish())
    return false;
  for (uint32_t id = 1; id < m.bound; ++id)
    if (!m.ids[id].at && m.ids[id].marks)
      return m.fail(0,
                    "found no definition of id %u, expected one as it is "
                    "mentioned",
                    id);
  return declarations.finish() &&
         (declarations.hasWorkgroupSize() || localSize());
}

// What comes before types.

bool SpirvVerifier::capability() {
  for (const CapabilityRule &rule : capabilityRules)
    if (uint32_t(rule.capability) == m.word(1) &&
        (rule.feature & ~facts.features) == 0) {
      m.declared |= rule.feature;
      hasShader |= rule.capability == Capability::Shader;
      return true;
    }
  return m.fail(1,
                "found capability %u, expected Shader or one of the "
                "features 0x%llx",
                m.word(1), static_cast<unsigned long long>(facts.features));
}

bool SpirvVerifier::extension() {
  const char *found = m.string(1);
  for (const ExtensionRule &rule : extensionRules)
    if (found && strcmp(rule.name, found) == 0) {
      m.extensions |= rule.extension;
      return true;
    }
  return m.fail(1, "found an extension other than those of storage classes");
}

bool SpirvVerifier::extendedInstructions() {
  const char *found = m.string(2);
  if (!found || strcmp(found, "GLSL.std.450") != 0 || m.glsl)
    return m.fail(2, "found another set of instructions than GLSL.std.450, or "
                     "twice, expected that once");
  if (!m.define(1, 0))
    return false;
  m.glsl = uint16_t(m.word(1));
  return true;
}

/// Behind all capabilities and extensions, so what they need of one another is
/// checked here.
bool SpirvVerifier::memoryModel() {
  if (hasMemoryModel || m.word(1) != uint32_t(spv::AddressingModel::Logical) ||
      m.word(2) != uint32_t(spv::MemoryModel::GLSL450))
    return m.fail(0,
                  "found addressing %u and memory model %u, expected "
                  "Logical and GLSL450, once",
                  m.word(1), m.word(2));
  hasMemoryModel = true;
  if (!hasShader)
    return m.fail(0, "found no capability Shader, expected it");
  bool is13 = m.version >= spirvVersion13;
  uint32_t needed =
      (m.declared & storage8 ? uint32_t(Storage8) : 0u) |
      (m.declared & storage16 && !is13 ? uint32_t(Storage16) : 0u);
  if (needed & ~m.extensions)
    return m.fail(0, "found capabilities without their extensions 0x%x",
                  needed & ~m.extensions);
  return true;
}

bool SpirvVerifier::entryPoint() {
  static constexpr char name[8] = "main";
  if (m.entryPoint)
    return m.fail(0, "found a second entry point, expected one");
  if (m.word(1) != uint32_t(spv::ExecutionModel::GLCompute))
    return m.fail(1, "found execution model %u, expected GLCompute", m.word(1));
  if (!m.isId(2) || m.ids[m.word(2)].at)
    return m.fail(2, "found id %u, expected a function", m.word(2));
  if (memcmp(m.words + m.at + 3, name, sizeof name) != 0)
    return m.fail(3, "found an entry point of another name, expected main");
  for (uint32_t i = 5; i < m.count; ++i)
    if (!mark(i, MarkListed))
      return false;
  m.entryPoint = uint16_t(m.word(2));
  return true;
}

bool SpirvVerifier::executionMode() {
  if (localSizeAt || m.word(1) != m.entryPoint ||
      m.word(2) != uint32_t(spv::ExecutionMode::LocalSize) || m.count != 6)
    return m.fail(0,
                  "found execution mode %u of id %u, expected LocalSize of "
                  "the entry point, once",
                  m.word(2), m.word(1));
  localSizeAt = m.at;
  for (uint32_t i = 3; i < 6; ++i)
    if (m.word(i) == 0)
      return m.fail(i, "found a local size of 0, expected 1 at least");
  return true;
}

/// A constant WorkgroupSize would be in force instead.
bool SpirvVerifier::localSize() {
  m.at = localSizeAt;
  uint32_t invocations = 1;
  for (uint32_t i = 3; i < 6; ++i) {
    if (m.word(i) != facts.local[i - 3])
      return m.fail(i, "found a local size of %u, expected %u", m.word(i),
                    facts.local[i - 3]);
    // No overflow: the interface's are few.
    invocations *= m.word(i);
  }
  if (invocations > mostSpirvInvocations)
    return m.fail(3, "found %u invocations, expected %u at most", invocations,
                  mostSpirvInvocations);
  return true;
}

bool SpirvVerifier::name() {
  if (!m.isId(1))
    return false;
  bool isMember = m.opcode() == Op::OpMemberName;
  m.ids[m.word(1)].marks |=
      MarkMentioned | (isMember ? uint32_t(MarkMember) : 0u);
  uint32_t text = isMember ? 3 : 2;
  // Only GLSL.std.450 comes before names.
  if (isMember && m.ids[m.word(1)].at)
    return m.fail(1, "found id %u, whose member has a name, expected a struct",
                  m.word(1));
  if (isMember && m.word(2) != 0)
    return m.fail(2, "found member %u, expected 0", m.word(2));
  return m.string(text) ||
         m.fail(text, "found a name that does not end, expected its end in "
                      "the instruction's last word");
}

/// Once, and before the definition.
bool SpirvVerifier::mark(uint32_t i, SpirvMark mark) {
  if (!m.isId(i))
    return false;
  SpirvId &id = m.ids[m.word(i)];
  if (id.at || (id.marks & mark))
    return m.fail(i,
                  "found id %u marked twice or late, expected once and "
                  "before its definition",
                  m.word(i));
  id.marks |= mark | MarkMentioned;
  return true;
}

bool SpirvVerifier::decorate() {
  for (const DecorationRule &rule : decorationRules) {
    if (uint32_t(rule.decoration) != m.word(2))
      continue;
    if (!mark(1, rule.mark))
      return false;
    if (m.count != (rule.hasNumber ? 4u : 3u))
      return m.fail(0, "found %u words for decoration %u, expected %u", m.count,
                    m.word(2), rule.hasNumber ? 4 : 3);
    SpirvId &id = m.ids[m.word(1)];
    if (rule.mark == MarkSet && m.word(3) != 0)
      return m.fail(3, "found descriptor set %u, expected 0", m.word(3));
    if (rule.mark & numbered) {
      if (id.marks & numbered & ~rule.mark)
        return m.fail(2, "found decoration %u beside others that exclude it",
                      m.word(2));
      id.number = m.word(3);
    }
    return true;
  }
  return m.fail(2, "found decoration %u, expected one that kernels use",
                m.word(2));
}

bool SpirvVerifier::decorateMember() {
  if (m.word(2) != 0)
    return m.fail(2, "found member %u, expected 0", m.word(2));
  if (m.word(3) == uint32_t(Decoration::NonWritable) && m.count == 4)
    return mark(1, MarkNonWritable);
  if (m.word(3) != uint32_t(Decoration::Offset) || m.count != 5 ||
      m.word(4) != 0)
    return m.fail(3,
                  "found decoration %u of a member, expected Offset 0 or "
                  "NonWritable",
                  m.word(3));
  return mark(1, MarkOffset);
}

// The interface.

static bool failOf(Fault &fault, const char *what, uint64_t found,
                   uint64_t most) {
  return fault.set(Fault::BadBundle, "%s: found %llu, expected at most %llu",
                   what, static_cast<unsigned long long>(found),
                   static_cast<unsigned long long>(most));
}

static bool verifyInterface(const SpirvInterface &facts, Fault &fault) {
  if (facts.bindings > mostSpirvBindings)
    return failOf(fault, "bindings", facts.bindings, mostSpirvBindings);
  uint64_t mostWritten = (uint64_t(1) << facts.bindings) - 1;
  if (facts.written > mostWritten)
    return failOf(fault, "written", facts.written, mostWritten);
  if (facts.pushWords > mostSpirvPushWords)
    return failOf(fault, "push words", facts.pushWords, mostSpirvPushWords);
  if (facts.shared > mostSpirvSharedBytes)
    return failOf(fault, "shared bytes", facts.shared, mostSpirvSharedBytes);
  if (facts.numConstants > mostSpirvConstants)
    return failOf(fault, "specialization constants", facts.numConstants,
                  mostSpirvConstants);
  uint64_t most =
      facts.numConstants ? mostSpecialisedInvocations : mostSpirvInvocations;
  uint64_t invocations = 1;
  for (uint32_t size : facts.local) {
    if (size == 0 || size > most)
      return fault.set(Fault::BadBundle,
                       "local size: found %u, expected 1 to %u", size,
                       uint32_t(most));
    invocations *= size;
  }
  if (invocations > most)
    return failOf(fault, "invocations of a workgroup", invocations, most);
  return true;
}

static bool verifyHeader(const SpirvInterface &facts, Fault &fault) {
  if (facts.numWords < headerWords || facts.numWords > mostSpirvWords)
    return fault.set(Fault::BadBundle, "found %zu words, expected %u to %u",
                     facts.numWords, headerWords, mostSpirvWords);
  const uint32_t *words = facts.words;
  if (words[0] != spv::MagicNumber)
    return fault.set(Fault::BadBundle, "word 0: found 0x%08x, expected 0x%08x",
                     words[0], spv::MagicNumber);
  if (words[1] < 0x00010000 || words[1] > spirvVersion13 || words[1] & 0xff)
    return fault.set(Fault::BadBundle,
                     "word 1: found version 0x%08x, expected 1.0 to 1.3",
                     words[1]);
  if (words[3] == 0 || words[3] > 0xffff)
    return fault.set(Fault::BadBundle,
                     "word 3: found a bound of %u, expected 1 to 65535",
                     words[3]);
  if (words[4] != 0)
    return fault.set(Fault::BadBundle, "word 4: found schema %u, expected 0",
                     words[4]);
  return true;
}

size_t spirvScratchSize(const SpirvInterface &module) {
  Fault fault;
  return verifyHeader(module, fault) ? module.words[3] * sizeof(SpirvId) : 0;
}

bool verifySpirv(const SpirvInterface &module, void *scratch,
                 size_t scratchSize, Fault &fault) {
  if (!verifyInterface(module, fault) || !verifyHeader(module, fault))
    return false;
  size_t needed = spirvScratchSize(module);
  if (scratchSize < needed)
    return fault.set(Fault::InvalidArgument,
                     "scratch: found %zu bytes, expected %zu", scratchSize,
                     needed);
  memset(scratch, 0, needed);
  return SpirvVerifier(module, static_cast<SpirvId *>(scratch), fault).verify();
}

} // namespace nnv12::artifact
