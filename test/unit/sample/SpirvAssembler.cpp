//===- SpirvAssembler.cpp - Words of SPIR-V from text ---------------------===//
#include "test/unit/sample/SpirvAssembler.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <spirv/unified1/GLSL.std.450.h>
#define SPV_ENABLE_UTILITY_CODE
#include <spirv/unified1/spirv.hpp11>
#include <sstream>

namespace nnv12::test {

#define OP(NAME) {"Op" #NAME, uint32_t(spv::Op::Op##NAME)}
#define ENUM(KIND, NAME) {#NAME, uint32_t(spv::KIND::NAME)}
#define GLSL(NAME) {#NAME, uint32_t(GLSLstd450##NAME)}
static const std::map<std::string, uint32_t> numbers = {
    OP(AccessChain),
    OP(AtomicIAdd),
    OP(Bitcast),
    OP(BitwiseAnd),
    OP(BitwiseOr),
    OP(BitwiseXor),
    OP(Branch),
    OP(BranchConditional),
    OP(Capability),
    OP(CompositeConstruct),
    OP(CompositeExtract),
    OP(CompositeInsert),
    OP(Constant),
    OP(ConstantComposite),
    OP(ConstantFalse),
    OP(ConstantNull),
    OP(ConstantTrue),
    OP(ControlBarrier),
    OP(ConvertFToS),
    OP(ConvertFToU),
    OP(ConvertSToF),
    OP(ConvertUToF),
    OP(CopyObject),
    OP(Decorate),
    OP(Dot),
    OP(EntryPoint),
    OP(ExecutionMode),
    OP(ExtInst),
    OP(ExtInstImport),
    OP(Extension),
    OP(FAdd),
    OP(FConvert),
    OP(FDiv),
    OP(FMod),
    OP(FMul),
    OP(FNegate),
    OP(FOrdEqual),
    OP(FOrdGreaterThan),
    OP(FOrdGreaterThanEqual),
    OP(FOrdLessThan),
    OP(FOrdLessThanEqual),
    OP(FOrdNotEqual),
    OP(FRem),
    OP(FSub),
    OP(FUnordEqual),
    OP(FUnordGreaterThan),
    OP(FUnordGreaterThanEqual),
    OP(FUnordLessThan),
    OP(FUnordLessThanEqual),
    OP(FUnordNotEqual),
    OP(Function),
    OP(FunctionCall),
    OP(FunctionEnd),
    OP(FunctionParameter),
    OP(IAdd),
    OP(IEqual),
    OP(IMul),
    OP(INotEqual),
    OP(ISub),
    OP(InBoundsAccessChain),
    OP(IsInf),
    OP(IsNan),
    OP(Kill),
    OP(Label),
    OP(Load),
    OP(LogicalAnd),
    OP(LogicalEqual),
    OP(LogicalNot),
    OP(LogicalNotEqual),
    OP(LogicalOr),
    OP(LoopMerge),
    OP(MemberDecorate),
    OP(MemberName),
    OP(MemoryModel),
    OP(Name),
    OP(Nop),
    OP(Not),
    OP(Phi),
    OP(Return),
    OP(ReturnValue),
    OP(SConvert),
    OP(SDiv),
    OP(SGreaterThan),
    OP(SGreaterThanEqual),
    OP(SLessThan),
    OP(SLessThanEqual),
    OP(SMod),
    OP(SNegate),
    OP(SRem),
    OP(Select),
    OP(SelectionMerge),
    OP(ShiftLeftLogical),
    OP(ShiftRightArithmetic),
    OP(ShiftRightLogical),
    OP(SpecConstant),
    OP(SpecConstantComposite),
    OP(Store),
    OP(TypeArray),
    OP(TypeBool),
    OP(TypeFloat),
    OP(TypeFunction),
    OP(TypeImage),
    OP(TypeInt),
    OP(TypePointer),
    OP(TypeRuntimeArray),
    OP(TypeStruct),
    OP(TypeVector),
    OP(TypeVoid),
    OP(UConvert),
    OP(UDiv),
    OP(UGreaterThan),
    OP(UGreaterThanEqual),
    OP(ULessThan),
    OP(ULessThanEqual),
    OP(UMod),
    OP(Undef),
    OP(Unreachable),
    OP(Variable),
    OP(VectorExtractDynamic),
    OP(VectorInsertDynamic),
    OP(VectorShuffle),
    OP(VectorTimesScalar),
    ENUM(Capability, Matrix),
    ENUM(Capability, Shader),
    ENUM(Capability, Int64),
    ENUM(Capability, Float64),
    ENUM(Capability, Int8),
    ENUM(Capability, Int16),
    ENUM(Capability, Float16),
    ENUM(Capability, StorageBuffer8BitAccess),
    ENUM(Capability, StorageBuffer16BitAccess),
    ENUM(Capability, UniformAndStorageBuffer8BitAccess),
    ENUM(Capability, UniformAndStorageBuffer16BitAccess),
    ENUM(Capability, VariablePointers),
    ENUM(Capability, Kernel),
    ENUM(Capability, Linkage),
    ENUM(AddressingModel, Logical),
    ENUM(AddressingModel, PhysicalStorageBuffer64),
    ENUM(MemoryModel, GLSL450),
    ENUM(MemoryModel, Vulkan),
    ENUM(ExecutionModel, GLCompute),
    ENUM(ExecutionModel, Vertex),
    ENUM(ExecutionMode, LocalSize),
    ENUM(ExecutionMode, LocalSizeHint),
    ENUM(Decoration, SpecId),
    ENUM(Decoration, Block),
    ENUM(Decoration, BufferBlock),
    ENUM(Decoration, ArrayStride),
    ENUM(Decoration, BuiltIn),
    ENUM(Decoration, NonWritable),
    ENUM(Decoration, Binding),
    ENUM(Decoration, DescriptorSet),
    ENUM(Decoration, Offset),
    ENUM(Decoration, NoContraction),
    ENUM(Decoration, Aliased),
    ENUM(BuiltIn, NumWorkgroups),
    ENUM(BuiltIn, WorkgroupSize),
    ENUM(BuiltIn, WorkgroupId),
    ENUM(BuiltIn, LocalInvocationId),
    ENUM(BuiltIn, GlobalInvocationId),
    ENUM(BuiltIn, LocalInvocationIndex),
    ENUM(BuiltIn, SubgroupSize),
    ENUM(StorageClass, StorageBuffer),
    ENUM(StorageClass, Input),
    ENUM(StorageClass, Workgroup),
    ENUM(StorageClass, PushConstant),
    ENUM(StorageClass, Function),
    ENUM(StorageClass, Private),
    ENUM(StorageClass, Uniform),
    ENUM(StorageClass, UniformConstant),
    ENUM(StorageClass, PhysicalStorageBuffer),
    GLSL(Fma),
    GLSL(FAbs),
    GLSL(FMax),
    GLSL(SAbs),
    GLSL(UMin),
    GLSL(Exp),
    GLSL(FClamp),
    GLSL(Sqrt),
    {"None", 0},
    {"Aligned", uint32_t(spv::MemoryAccessMask::Aligned)}};
#undef OP
#undef ENUM
#undef GLSL

[[noreturn]] static void stop(const std::string &what,
                              const std::string &line) {
  fprintf(stderr, "SPIR-V: %s in '%s'\n", what.c_str(), line.c_str());
  exit(1);
}

namespace {
class Assembler {
public:
  void line(const std::string &text);
  std::vector<uint32_t> words{spv::MagicNumber, 0, 0, 1, 0};

private:
  void word(const std::string &token, const std::string &line);
  void string(const std::string &token);
  std::map<std::string, uint32_t> ids;
};
} // namespace

void Assembler::string(const std::string &token) {
  // Between the quotes, and at least one byte that is zero.
  std::string text = token.substr(1, token.size() - 2);
  size_t begin = words.size();
  words.resize(begin + text.size() / sizeof(uint32_t) + 1);
  memcpy(&words[begin], text.data(), text.size());
}

void Assembler::word(const std::string &token, const std::string &line) {
  if (token[0] == '%') {
    uint32_t &id = ids[token];
    if (!id)
      id = words[3]++;
    words.push_back(id);
  } else if (token[0] == '"') {
    string(token);
  } else if (token[0] >= '0' && token[0] <= '9') {
    words.push_back(uint32_t(strtoul(token.c_str(), nullptr, 0)));
  } else {
    auto found = numbers.find(token);
    if (found == numbers.end())
      stop("found " + token, line);
    words.push_back(found->second);
  }
}

void Assembler::line(const std::string &text) {
  std::istringstream stream(text);
  std::vector<std::string> tokens;
  for (std::string token; stream >> token;)
    tokens.push_back(token);
  if (tokens.empty() || tokens[0][0] == ';')
    return;
  std::string result;
  if (tokens.size() > 1 && tokens[1] == "=") {
    result = tokens[0];
    tokens.erase(tokens.begin(), tokens.begin() + 2);
  }
  size_t begin = words.size();
  word(tokens[0], text);
  bool hasResult, hasType;
  spv::HasResultAndType(spv::Op(words[begin]), &hasResult, &hasType);
  if (hasResult == result.empty())
    stop("found a result or none", text);
  if (hasResult)
    tokens.insert(tokens.begin() + (hasType ? 2 : 1), result);
  for (size_t i = 1; i < tokens.size(); ++i)
    word(tokens[i], text);
  words[begin] |= uint32_t(words.size() - begin) << 16;
}

std::vector<uint32_t> assembleSpirv(const std::string &text, uint32_t version) {
  Assembler assembler;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    assembler.line(line);
  assembler.words[1] = version;
  return assembler.words;
}

} // namespace nnv12::test
