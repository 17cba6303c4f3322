//===- NpyFuzzer.cpp - Arrays of any bytes --------------------------------===//
#include "test/fuzz/FileOfBytes.h"
#include "tools/common/Npy.h"

using namespace nnv12;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  test::FileOfBytes file(data, size);
  for (nnv12_type type : {NNV12_F32, NNV12_BF16, NNV12_I4, NNV12_U8}) {
    tools::Tensor tensor;
    test::expectOneLine(tools::readNpy(file.path(), type, tensor), file);
  }
  return 0;
}
