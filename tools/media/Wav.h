//===- Wav.h - Sound of WAV files -------------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_MEDIA_WAV_H
#define NNV12_TOOLS_MEDIA_WAV_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace nnv12::tools {

/// Whether a file begins as WAV files do.
bool isWav(const uint8_t *file, size_t size);

/// The sound in a WAV file, as the file stores it.
struct Sound {
  uint32_t rate = 0; ///< samples a second, of each channel
  unsigned channels = 0;
  unsigned bits = 0; ///< of a stored sample
  bool isFloat = false;
  uint64_t numSamples = 0;        ///< of each channel
  const uint8_t *bytes = nullptr; ///< in the file: sample by sample
};

/// Finds the sound in the bytes of a file: PCM of 8, 16, 24 or 32 bits, or
/// floats of 32 (WAVE_FORMAT_PCM, _IEEE_FLOAT and _EXTENSIBLE). Touches nothing
/// outside of the file. Empty, or one line.
std::string findSound(const uint8_t *file, size_t size, Sound &sound);

/// How samples become numbers. A file of another rate is refused.
struct SoundOptions {
  uint32_t rate = 0; ///< samples a second that the model takes
  static constexpr int allChannels = -1;
  int channel = allChannels; ///< one of them, or the mean of all
};

/// Compares a sound with the options. Empty, or one line.
std::string checkSound(const Sound &sound, const SoundOptions &options);

/// Writes the first `count` samples: integers as -1 up to 1, without 1; floats
/// as they are; zeros behind the last sample of the sound. checkSound() has
/// looked. Empty, or one line where a sample is no finite number.
std::string readSamples(const Sound &sound, const SoundOptions &options,
                        float *samples, uint64_t count);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_MEDIA_WAV_H
