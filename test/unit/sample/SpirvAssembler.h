//===- SpirvAssembler.h - Words of SPIR-V from text -------------*- C++ -*-===//
//
// For modules that tests can change line by line. The text is that of spirv-as,
// without floats: `%sum = OpIAdd %u32 %a %b`. Ids get numbers in the order in
// which they are first met; enumerants may be numbers, instructions too.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_SAMPLE_SPIRVASSEMBLER_H
#define NNV12_TEST_UNIT_SAMPLE_SPIRVASSEMBLER_H

#include <cstdint>
#include <string>
#include <vector>

namespace nnv12::test {

/// The module's words; ends the program where the text is wrong.
std::vector<uint32_t> assembleSpirv(const std::string &text,
                                    uint32_t version = 0x00010300);

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_SAMPLE_SPIRVASSEMBLER_H
