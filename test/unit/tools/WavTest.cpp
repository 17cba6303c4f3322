//===- WavTest.cpp - Sound of WAV files -----------------------------------===//
#include "tools/media/Wav.h"
#include "test/unit/tools/TensorInfo.h"
#include "tools/common/SoundInput.h"

#include <gtest/gtest.h>

using namespace nnv12::test;
using namespace nnv12::tools;

using Bytes = std::vector<uint8_t>;
using Floats = std::vector<float>;

static void put(Bytes &bytes, uint64_t number, int size) {
  for (int i = 0; i < size; ++i)
    bytes.push_back(uint8_t(number >> 8 * i));
}

static void put(Bytes &bytes, const char *tag) {
  bytes.insert(bytes.end(), tag, tag + 4);
}

namespace {
/// The fields of a WAV file, and its data.
struct WavFile {
  uint32_t coding = 1, channels = 1, rate = 16000, bits = 16;
  uint32_t frame = 0;       ///< 0: as the others say
  uint32_t dataSize = 0;    ///< 0: as there is data
  uint32_t formatSize = 16; ///< 40: extensible
  bool hasList = false;     ///< a chunk of odd size before the data
  Bytes data = {0, 0};

  Bytes bytes() const {
    Bytes file;
    put(file, "RIFF");
    put(file, 36 + data.size(), 4);
    put(file, "WAVE");
    put(file, "fmt ");
    put(file, formatSize, 4);
    bool isExtensible = formatSize == 40;
    put(file, isExtensible ? 0xfffe : coding, 2);
    put(file, channels, 2);
    put(file, rate, 4);
    put(file, uint64_t(rate) * channels * bits / 8, 4);
    put(file, frame ? frame : channels * bits / 8, 2);
    put(file, bits, 2);
    if (isExtensible) {
      put(file, 22, 2);
      put(file, bits, 2);
      put(file, 0, 4);
      put(file, coding, 2);
      put(file, 0x0000001000000000, 6);
      put(file, 0x719b3800aa000080, 8);
    }
    if (hasList) {
      put(file, "LIST");
      put(file, 3, 4);
      put(file, 0x6162636400, 4);
    }
    put(file, "data");
    put(file, dataSize ? dataSize : data.size(), 4);
    file.insert(file.end(), data.begin(), data.end());
    return file;
  }
};
} // namespace

/// The samples, or the fault as one text.
static std::string read(const Bytes &file, const SoundOptions &options,
                        Floats &samples, size_t count = 0) {
  // On the heap in just this size, so that reads beyond it are seen.
  Bytes exact(file);
  exact.shrink_to_fit();
  Sound sound;
  std::string error = findSound(exact.data(), exact.size(), sound);
  if (error.empty())
    error = checkSound(sound, options);
  if (!error.empty())
    return error;
  samples.assign(count ? count : sound.numSamples, -7);
  return readSamples(sound, options, samples.data(), samples.size());
}

static Floats samplesOf(const WavFile &file, SoundOptions options = {16000},
                        size_t count = 0) {
  Floats samples;
  EXPECT_EQ(read(file.bytes(), options, samples, count), "");
  return samples;
}

static std::string faultOf(const WavFile &file,
                           SoundOptions options = {16000}) {
  Floats samples;
  return read(file.bytes(), options, samples);
}

/// Numbers whose parts are known.
TEST(Wav, Codings) {
  WavFile file;
  file.data = {0, 0x80, 0, 0, 0xff, 0x7f, 1, 0};
  EXPECT_EQ(samplesOf(file), (Floats{-1, 0, 1 - 0x1p-15f, 0x1p-15f}));
  file.bits = 8;
  file.data = {0, 0x80, 0xff, 0xc0};
  EXPECT_EQ(samplesOf(file), (Floats{-1, 0, 127 / 128.0f, 0.5}));
  file.bits = 24;
  file.data = {0, 0, 0x80, 1, 0, 0, 0xff, 0xff, 0xff};
  EXPECT_EQ(samplesOf(file), (Floats{-1, 0x1p-23f, -0x1p-23f}));
  file.bits = 32;
  file.data = {0, 0, 0, 0x80, 0, 0, 0, 0x40, 0xff, 0xff, 0xff, 0x7f};
  EXPECT_EQ(samplesOf(file), (Floats{-1, 0.5, 1})); // rounded to a float
  file.coding = 3;
  file.data = {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0};
  EXPECT_EQ(samplesOf(file), (Floats{1, -2}));
}

/// All 16-bit numbers, with another chunk and the extended head of formats.
TEST(Wav, AllOfSixteenBits) {
  WavFile file;
  file.data.clear();
  for (int i = 0; i < 65536; ++i)
    put(file.data, uint64_t(i), 2);
  Floats expected;
  for (int i = 0; i < 65536; ++i)
    expected.push_back(float(int16_t(i)) / 32768);
  EXPECT_EQ(samplesOf(file), expected);
  file.hasList = true;
  file.formatSize = 40;
  EXPECT_EQ(samplesOf(file), expected);
  file.dataSize = 0xffffffff; // of a pipe
  EXPECT_EQ(samplesOf(file), expected);
}

TEST(Wav, Channels) {
  WavFile file;
  file.channels = 3;
  file.data = {0, 0x40, 0, 0x20, 0, 0, 0, 0xc0, 0, 0, 0, 0x40};
  EXPECT_EQ(samplesOf(file), (Floats{0.25, 0}));
  EXPECT_EQ(samplesOf(file, {16000, 0}), (Floats{0.5, -0.5}));
  EXPECT_EQ(samplesOf(file, {16000, 1}), (Floats{0.25, 0}));
  EXPECT_EQ(samplesOf(file, {16000, 2}), (Floats{0, 0.5}));
  EXPECT_EQ(faultOf(file, {16000, 3}),
            "channel: found 3, expected less than the 3 of the file");
}

TEST(Wav, FewerAndMoreSamples) {
  WavFile file;
  file.data = {0, 0x40, 0, 0x20};
  EXPECT_EQ(samplesOf(file, {16000}, 1), (Floats{0.5}));
  EXPECT_EQ(samplesOf(file, {16000}, 4), (Floats{0.5, 0.25, 0, 0}));
}

TEST(Wav, Refuses) {
  WavFile file;
  EXPECT_EQ(faultOf(file, {8000}),
            "found 16000 samples a second, expected 8000 (as of ffmpeg -i IN "
            "-ar 8000 OUT.wav)");
  auto with = [](auto change) {
    WavFile changed;
    changed.data = Bytes(24);
    change(changed);
    return faultOf(changed);
  };
  std::string expected =
      ", expected PCM (1) of 8, 16, 24 or 32 or floats (3) of 32";
  EXPECT_EQ(with([](WavFile &f) {
              f.coding = 7;
              f.bits = 8;
            }),
            "format: found coding 7 (mu-law) of 8 bits" + expected);
  EXPECT_EQ(with([](WavFile &f) {
              f.bits = 12;
              f.frame = 2;
            }),
            "format: found coding 1 of 12 bits" + expected);
  EXPECT_EQ(with([](WavFile &f) {
              f.coding = 3;
              f.bits = 64;
            }),
            "format: found coding 3 of 64 bits" + expected);
  EXPECT_EQ(with([](WavFile &f) {
              f.formatSize = 40;
              f.coding = 85;
            }),
            "format: found coding 85 (MP3) of 16 bits" + expected);
  EXPECT_EQ(with([](WavFile &f) { f.channels = 0; }),
            "format: found 0 channels and 16000 samples a second, expected "
            "one of each at least");
  EXPECT_EQ(with([](WavFile &f) { f.frame = 4; }),
            "format: found 4 bytes for 1 channels of 16 bits, expected 2");
  EXPECT_EQ(with([](WavFile &f) { f.dataSize = 26; }),
            "format: found 24 bytes of a chunk of 26 (truncated)");
  EXPECT_EQ(with([](WavFile &f) { f.data.resize(23); }),
            "format: found 23 bytes of data, expected a multiple of 2");
  EXPECT_EQ(with([](WavFile &f) { f.data.clear(); }),
            "format: found no sample, expected some");
  EXPECT_EQ(with([](WavFile &f) {
              f.coding = 3;
              f.bits = 32;
              f.data = {0, 0, 0, 0, 0, 0, 0xc0, 0x7f};
            }),
            "found no finite number as sample 1");
  Sound sound;
  EXPECT_EQ(findSound(nullptr, 0, sound),
            "format: found no WAV sound, expected a WAV sound");
  Bytes flac = {'f', 'L', 'a', 'C'};
  EXPECT_EQ(findSound(flac.data(), flac.size(), sound),
            "format: found a FLAC sound, expected a WAV sound");
}

TEST(Wav, CutAndChangedAnywhere) {
  WavFile file;
  file.channels = 2;
  file.hasList = true;
  file.formatSize = 40;
  file.data = Bytes(8, 0x11);
  Bytes whole = file.bytes();
  Floats samples;
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(
        read(Bytes(whole.begin(), whole.begin() + size), {16000}, samples, 3),
        "")
        << size;
  for (size_t i = 0; i < whole.size(); ++i)
    for (int value : {0, 1, 0x7f, 0xff}) {
      Bytes changed = whole;
      changed[i] = uint8_t(value);
      std::string error = read(changed, {16000}, samples, 3);
      EXPECT_EQ(error.find('\n'), std::string::npos) << i;
    }
}

TEST(Wav, Input) {
  TemporaryFolder folder;
  std::string path = folder.file("a.wav");
  WavFile file;
  file.data = {0, 0x40, 0, 0xc0, 0, 0x20};
  Bytes bytes = file.bytes();
  writeFile(path, bytes.data(), bytes.size());
  Tensor tensor;
  uint64_t unread = 0;
  auto error = [&](nnv12_type type, std::vector<int64_t> shape) {
    std::string text =
        readSound(path, infoOf(type, shape), {16000}, tensor, unread);
    return text.substr(std::min(text.size(), path.size()));
  };
  for (nnv12_type type : {NNV12_F32, NNV12_F64, NNV12_F16, NNV12_BF16}) {
    EXPECT_EQ(error(type, {1, 2, 1}), "");
    EXPECT_EQ(unread, 1u);
    EXPECT_EQ(elementAt(type, tensor.data.data(), 0), 0.5);
    EXPECT_EQ(elementAt(type, tensor.data.data(), 1), -0.5);
    EXPECT_EQ(error(type, {4}), "");
    EXPECT_EQ(unread, 0u);
    EXPECT_EQ(elementAt(type, tensor.data.data(), 3), 0);
  }
  EXPECT_EQ(error(NNV12_F32, {2, 2}),
            ": shape: found 2x2, expected samples of one channel, such as "
            "1x16000");
  EXPECT_EQ(error(NNV12_F32, {0}),
            ": shape: found 0, expected samples of one channel, such as "
            "1x16000");
  EXPECT_EQ(error(NNV12_I16, {2}),
            ": type: found an input of i16, expected floats for sound");
  EXPECT_TRUE(isSound(path));
  EXPECT_TRUE(isSound("none.wav"));
  EXPECT_FALSE(isSound("none.png"));
}
