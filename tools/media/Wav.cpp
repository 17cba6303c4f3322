//===- Wav.cpp - Sound of WAV files ---------------------------------------===//
#include "tools/media/Wav.h"

#include "artifact/FileKind.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

namespace nnv12::tools {

/// A little-endian number of `size` bytes.
static uint32_t readNumber(const uint8_t *bytes, size_t size) {
  uint32_t value = 0;
  for (size_t i = size; i > 0; --i)
    value = value << 8 | bytes[i - 1];
  return value;
}

static bool isTag(const uint8_t *bytes, const char *tag) {
  return memcmp(bytes, tag, 4) == 0;
}

static constexpr size_t headerSize = 12, chunkHeaderSize = 8;

bool isWav(const uint8_t *file, size_t size) {
  return size >= headerSize && isTag(file, "RIFF") && isTag(file + 8, "WAVE");
}

static constexpr uint32_t codingPcm = 1, codingFloat = 3,
                          codingExtensible = 0xfffe;

/// The name of a coding that is not read, for messages.
static const char *nameOfCoding(uint32_t coding) {
  switch (coding) {
  case 2:
  case 0x11:
    return " (ADPCM)";
  case 6:
    return " (A-law)";
  case 7:
    return " (mu-law)";
  case 0x55:
    return " (MP3)";
  default:
    return "";
  }
}

/// Reads a chunk `fmt `.
static std::string parseFormat(const uint8_t *chunk, size_t size,
                               Sound &sound) {
  constexpr size_t least = 16, extensible = 40;
  if (size < least)
    return "found a fmt chunk of " + std::to_string(size) +
           " bytes, expected at least " + std::to_string(least);
  uint32_t coding = readNumber(chunk, 2);
  if (coding == codingExtensible && size >= extensible) {
    // The coding is the beginning of a GUID, of which the rest is always this.
    static constexpr uint8_t rest[] = {0, 0, 0,    0, 0x10, 0,    0x80,
                                       0, 0, 0xaa, 0, 0x38, 0x9b, 0x71};
    if (memcmp(chunk + extensible - sizeof rest, rest, sizeof rest) == 0)
      coding = readNumber(chunk + 24, 2);
  }
  sound.channels = readNumber(chunk + 2, 2);
  sound.rate = readNumber(chunk + 4, 4);
  unsigned frame = readNumber(chunk + 12, 2);
  sound.bits = readNumber(chunk + 14, 2);
  sound.isFloat = coding == codingFloat;
  bool isPcm = coding == codingPcm && sound.bits % 8 == 0 && sound.bits >= 8 &&
               sound.bits <= 32;
  if (!isPcm && !(sound.isFloat && sound.bits == 32))
    return "found coding " + std::to_string(coding) + nameOfCoding(coding) +
           " of " + std::to_string(sound.bits) +
           " bits, expected PCM (1) of 8, 16, 24 or 32 or floats (3) of 32";
  if (sound.channels == 0 || sound.rate == 0)
    return "found " + std::to_string(sound.channels) + " channels and " +
           std::to_string(sound.rate) +
           " samples a second, expected one of each at least";
  if (frame != sound.channels * (sound.bits / 8))
    return "found " + std::to_string(frame) + " bytes for " +
           std::to_string(sound.channels) + " channels of " +
           std::to_string(sound.bits) + " bits, expected " +
           std::to_string(sound.channels * (sound.bits / 8));
  return {};
}

static std::string findChunks(const uint8_t *file, size_t size, Sound &sound) {
  bool hasFormat = false;
  for (size_t at = headerSize; size - at >= chunkHeaderSize;) {
    const uint8_t *chunk = file + at + chunkHeaderSize;
    size_t length = readNumber(chunk - 4, 4), left = size - at - 8;
    bool isFormat = isTag(chunk - 8, "fmt "), isData = isTag(chunk - 8, "data");
    // A program that wrote into a pipe did not know the size.
    constexpr uint32_t unknown = 0xffffffff;
    if (isData && length == unknown)
      length = left;
    if (length > left && (isFormat || isData))
      return "found " + std::to_string(left) + " bytes of a chunk of " +
             std::to_string(length) + " (truncated)";
    if (isFormat) {
      std::string error = parseFormat(chunk, length, sound);
      if (!error.empty())
        return error;
      hasFormat = true;
    }
    if (isData && !hasFormat)
      return "found no fmt chunk before the data";
    if (isData) {
      size_t frame = size_t(sound.channels) * (sound.bits / 8);
      if (length % frame)
        return "found " + std::to_string(length) +
               " bytes of data, expected a multiple of " +
               std::to_string(frame);
      if (length == 0)
        return "found no sample, expected some";
      sound.bytes = chunk;
      sound.numSamples = length / frame;
      return {};
    }
    // Chunks begin at even places.
    at += chunkHeaderSize + std::min(left, length + length % 2);
  }
  return "found no data chunk";
}

std::string findSound(const uint8_t *file, size_t size, Sound &sound) {
  if (!isWav(file, size)) {
    const char *kind = artifact::fileKind(file, size);
    return std::string("format: found ") + (kind ? kind : "no WAV sound") +
           ", expected a WAV sound";
  }
  sound = {};
  std::string error = findChunks(file, size, sound);
  return error.empty() ? error : "format: " + error;
}

std::string checkSound(const Sound &sound, const SoundOptions &options) {
  if (sound.rate != options.rate) {
    std::string wanted = std::to_string(options.rate);
    return "found " + std::to_string(sound.rate) +
           " samples a second, expected " + wanted +
           " (as of ffmpeg -i IN -ar " + wanted + " OUT.wav)";
  }
  if (options.channel >= 0 && unsigned(options.channel) >= sound.channels)
    return "channel: found " + std::to_string(options.channel) +
           ", expected less than the " + std::to_string(sound.channels) +
           " of the file";
  return {};
}

/// A stored sample as a number. 8 bits are stored from 0 to 255, all others
/// with a sign.
static double sampleAt(const Sound &sound, const uint8_t *bytes) {
  uint32_t code = readNumber(bytes, sound.bits / 8);
  if (sound.isFloat) {
    float value;
    memcpy(&value, &code, sizeof value);
    return value;
  }
  if (sound.bits == 8)
    code ^= 0x80;
  auto wide = static_cast<int32_t>(code << (32 - sound.bits));
  return wide * 0x1p-31;
}

std::string readSamples(const Sound &sound, const SoundOptions &options,
                        float *samples, uint64_t count) {
  assert(checkSound(sound, options).empty() && "the caller has looked");
  bool isMean = options.channel == SoundOptions::allChannels;
  unsigned first = isMean ? 0 : unsigned(options.channel);
  unsigned end = isMean ? sound.channels : first + 1;
  size_t sampleSize = sound.bits / 8;
  uint64_t stored = std::min(count, sound.numSamples);
  for (uint64_t i = 0; i < stored; ++i) {
    const uint8_t *frame = sound.bytes + i * sound.channels * sampleSize;
    double sum = 0;
    for (unsigned channel = first; channel < end; ++channel)
      sum += sampleAt(sound, frame + channel * sampleSize);
    samples[i] = static_cast<float>(sum / (end - first));
    if (!std::isfinite(samples[i]))
      return "found no finite number as sample " + std::to_string(i);
  }
  std::fill(samples + stored, samples + count, 0.0f);
  return {};
}

} // namespace nnv12::tools
