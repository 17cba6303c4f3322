//===- SpirvVerifier.cpp - Checks SPIR-V before a driver sees it ----------===//
#include "artifact/SpirvVerifier.h"

#include "artifact/SpirvFunctions.h"
#include "artifact/SpirvInstructions.h"

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
  uint32_t feature;
};
constexpr CapabilityRule capabilityRules[] = {
    // Shader implies it, and MLIR's serializer writes implied capabilities,
    // too.
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
  char name[40];
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

class SpirvVerifier : public SpirvFunctions {
public:
  SpirvVerifier(const SpirvInterface &facts, SpirvId *ids, Fault &fault)
      : SpirvFunctions(facts, ids, fault) {}

  bool verify() {
    return hold([this] {
      verifySections();
      end();
    });
  }

private:
  void verifySections() {
    SpirvSection section = SpirvSection::Capabilities;
    for (here += headerWords; here < words + facts.numWords; here += count) {
      next();
      SpirvSection found = instruction->section;
      // Both are in functions, too.
      bool isAnywhere = opcode() == Op::OpVariable || opcode() == Op::OpUndef;
      if (section == SpirvSection::Functions && isAnywhere)
        found = section;
      if (found < section)
        fail(0, "opcode %u|it in an earlier section", unsigned(opcode()));
      section = found;
      if (section > SpirvSection::MemoryModel && !hasMemoryModel_)
        fail(0, "opcode %u|the memory model first", unsigned(opcode()));
      if (section == SpirvSection::Functions)
        compute();
      else
        prepare();
    }
  }

  void next() {
    count = word(0) >> 16;
    uint32_t opcode = word(0) & 0xffff, left = uint32_t(facts.numWords) - at();
    if (count == 0 || count > left)
      fail(0, "an instruction of %u words|1 to %u", count, left);
    instruction = findSpirvInstruction(opcode);
    if (!instruction)
      fail(0, "opcode %u|one that kernels use", opcode);
    uint32_t most = instruction->mostWords;
    if (most == SpirvInstruction::any)
      most = 0xffff;
    if (count < instruction->fewestWords || count > most)
      fail(0, "%u words for opcode %u|%u to %u", count, opcode,
           instruction->fewestWords, most);
  }

  void prepare() {
    switch (opcode()) {
    case Op::OpCapability:
      return capability();
    case Op::OpExtension:
      return extension();
    case Op::OpExtInstImport:
      return extendedInstructions();
    case Op::OpMemoryModel:
      return memoryModel();
    case Op::OpEntryPoint:
      return onlyEntryPoint();
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
      return declare();
    }
  }

  void end() {
    count = 0;
    if (!hasMemoryModel_ || !entryPoint || !localSizeMode_)
      fail(0, "the end of the module|a memory model, an entry point and its "
              "LocalSize");
    finishFunctions();
    for (uint32_t id = 1; id < bound; ++id)
      if (!ids[id].at && ids[id].marks)
        fail(0, "no definition of id %u|one as it is mentioned", id);
    finishDeclarations();
    if (!hasWorkgroupSize)
      localSize();
  }

  void capability() {
    for (const CapabilityRule &rule : capabilityRules)
      if (uint32_t(rule.capability) == word(1) &&
          (rule.feature & ~facts.features) == 0) {
        declared |= rule.feature;
        hasShader_ |= rule.capability == Capability::Shader;
        return;
      }
    fail(1, "capability %u|Shader or one of the features 0x%llx", word(1),
         static_cast<unsigned long long>(facts.features));
  }

  void extension() {
    const char *found = string(1);
    for (const ExtensionRule &rule : extensionRules)
      if (found && strcmp(rule.name, found) == 0) {
        extensions |= rule.extension;
        return;
      }
    fail(1, "an extension other than those of storage classes");
  }

  void extendedInstructions() {
    const char *found = string(2);
    if (!found || strcmp(found, "GLSL.std.450") != 0 || glsl)
      fail(2,
           "another set of instructions than GLSL.std.450, or twice|that once");
    define(1, 0);
    glsl = uint16_t(word(1));
  }

  /// It comes behind all capabilities and extensions, so this is the place to
  /// check their needs of one another.
  void memoryModel() {
    if (hasMemoryModel_ || word(1) != uint32_t(spv::AddressingModel::Logical) ||
        word(2) != uint32_t(spv::MemoryModel::GLSL450))
      fail(0, "addressing %u and memory model %u|Logical and GLSL450, once",
           word(1), word(2));
    hasMemoryModel_ = true;
    if (!hasShader_)
      fail(0, "no capability Shader|it");
    bool is13 = version >= spirvVersion13;
    uint32_t needed =
        (declared & storage8 ? uint32_t(Storage8) : 0u) |
        (declared & storage16 && !is13 ? uint32_t(Storage16) : 0u);
    if (needed & ~extensions)
      fail(0, "capabilities without their extensions 0x%x",
           needed & ~extensions);
  }

  void onlyEntryPoint() {
    static constexpr char name[8] = "main";
    if (entryPoint)
      fail(0, "a second entry point|one");
    if (word(1) != uint32_t(spv::ExecutionModel::GLCompute))
      fail(1, "execution model %u|GLCompute", word(1));
    if (ids[idAt(2)].at)
      fail(2, "id %u|a function", word(2));
    if (memcmp(here + 3, name, sizeof name) != 0)
      fail(3, "an entry point of another name|main");
    for (uint32_t i = 5; i < count; ++i)
      mark(i, MarkListed);
    entryPoint = uint16_t(word(2));
  }

  void executionMode() {
    if (localSizeMode_ || word(1) != entryPoint ||
        word(2) != uint32_t(spv::ExecutionMode::LocalSize) || count != 6)
      fail(0, "execution mode %u of id %u|LocalSize of the entry point, once",
           word(2), word(1));
    localSizeMode_ = here;
    for (uint32_t i = 3; i < 6; ++i)
      if (word(i) == 0)
        fail(i, "a local size of 0|1 at least");
  }

  /// A constant WorkgroupSize would be in force instead.
  void localSize() {
    here = localSizeMode_;
    uint32_t invocations = 1;
    for (uint32_t i = 3; i < 6; ++i) {
      if (word(i) != facts.local[i - 3])
        fail(i, "a local size of %u|%u", word(i), facts.local[i - 3]);
      // No overflow: the interface's are few.
      invocations *= word(i);
    }
    if (invocations > mostSpirvInvocations)
      fail(3, "%u invocations|%u at most", invocations, mostSpirvInvocations);
  }

  void name() {
    SpirvId &id = ids[idAt(1)];
    bool isMember = opcode() == Op::OpMemberName;
    id.marks |= MarkMentioned | (isMember ? uint32_t(MarkMember) : 0u);
    uint32_t text = isMember ? 3 : 2;
    // Only GLSL.std.450 comes before names.
    if (isMember && id.at)
      fail(1, "id %u, whose member has a name|a struct", word(1));
    if (isMember && word(2) != 0)
      fail(2, "member %u|0", word(2));
    if (!string(text))
      fail(text,
           "a name that does not end|its end in the instruction's last word");
  }

  /// Once, and before the definition.
  SpirvId &mark(uint32_t i, SpirvMark mark) {
    SpirvId &id = ids[idAt(i)];
    if (id.at || (id.marks & mark))
      fail(i, "id %u marked twice or late|once and before its definition",
           word(i));
    id.marks |= mark | MarkMentioned;
    return id;
  }

  void decorate() {
    for (const DecorationRule &rule : decorationRules) {
      if (uint32_t(rule.decoration) != word(2))
        continue;
      SpirvId &id = mark(1, rule.mark);
      if (count != (rule.hasNumber ? 4u : 3u))
        fail(0, "%u words for decoration %u|%u", count, word(2),
             rule.hasNumber ? 4 : 3);
      if (rule.mark == MarkSet && word(3) != 0)
        fail(3, "descriptor set %u|0", word(3));
      if (rule.mark & numbered) {
        if (id.marks & numbered & ~rule.mark)
          fail(2, "decoration %u beside others that exclude it", word(2));
        id.number = word(3);
      }
      return;
    }
    fail(2, "decoration %u|one that kernels use", word(2));
  }

  void decorateMember() {
    if (word(2) != 0)
      fail(2, "member %u|0", word(2));
    bool isNonWritable =
        word(3) == uint32_t(Decoration::NonWritable) && count == 4;
    bool isOffset0 =
        word(3) == uint32_t(Decoration::Offset) && count == 5 && word(4) == 0;
    if (!isNonWritable && !isOffset0)
      fail(3, "decoration %u of a member|Offset 0 or NonWritable", word(3));
    mark(1, isOffset0 ? MarkOffset : MarkNonWritable);
  }

  bool hasShader_ = false, hasMemoryModel_ = false;
  const uint32_t *localSizeMode_ = nullptr; ///< the instruction
};

} // namespace

static bool isAtMost(const char *what, uint64_t found, uint64_t most,
                     Fault &fault) {
  return found <= most ||
         fault.set(Fault::BadBundle, "%s: found %llu, expected at most %llu",
                   what, static_cast<unsigned long long>(found),
                   static_cast<unsigned long long>(most));
}

static bool verifyInterface(const SpirvInterface &facts, Fault &fault) {
  if (!isAtMost("bindings", facts.bindings, maxBindings, fault) ||
      !isAtMost("written", facts.written, (uint64_t(1) << facts.bindings) - 1,
                fault) ||
      !isAtMost("push words", facts.pushWords, maxPushWords, fault) ||
      !isAtMost("shared bytes", facts.shared, maxShared, fault) ||
      !isAtMost("specialization constants", facts.numConstants, maxConstants,
                fault))
    return false;
  uint64_t most = facts.numConstants ? maxInvocations : mostSpirvInvocations;
  uint64_t invocations = 1;
  for (uint32_t size : facts.local) {
    if (size == 0 || size > most)
      return fault.set(Fault::BadBundle,
                       "local size: found %u, expected 1 to %u", size,
                       uint32_t(most));
    invocations *= size;
  }
  return isAtMost("invocations of a workgroup", invocations, most, fault);
}

static bool verifyHeader(const SpirvInterface &facts, Fault &fault) {
  if (facts.numWords < headerWords || facts.numWords > maxModuleWords)
    return fault.set(Fault::BadBundle, "found %zu words, expected %u to %u",
                     facts.numWords, headerWords, maxModuleWords);
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
