//===- PictureFuzzer.cpp - Pictures of any bytes --------------------------===//
#include "test/fuzz/FileOfBytes.h"
#include "tools/common/ImageInput.h"

using namespace nnv12;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  test::FileOfBytes file(data, size);
  for (int64_t channels : {1, 3}) {
    int64_t shape[] = {1, channels, 5, 7};
    nnv12_tensor_info info = {"x", NNV12_U8, 4, shape, size_t(channels * 35)};
    for (const char *fit : {"stretch", "crop", "pad"}) {
      tools::ImageOptions options;
      options.fit = fit;
      options.mostPixels = 1 << 16; // more take seconds, and show no more
      tools::Tensor tensor;
      test::expectOneLine(tools::readImage(file.path(), info, options, tensor),
                          file);
    }
  }
  return 0;
}
