//===- WavFuzzer.cpp - Sound of any bytes ---------------------------------===//
#include "test/fuzz/FileOfBytes.h"
#include "tools/common/SoundInput.h"

using namespace nnv12;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  test::FileOfBytes file(data, size);
  int64_t shape[] = {1, 7};
  nnv12_tensor_info info = {"x", NNV12_F32, 2, shape, 28};
  for (int channel : {tools::SoundOptions::allChannels, 0, 1}) {
    tools::Tensor tensor;
    uint64_t unread;
    test::expectOneLine(
        tools::readSound(file.path(), info, {16000, channel}, tensor, unread),
        file);
  }
  return 0;
}
