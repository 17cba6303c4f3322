//===- MediaApi.cpp - Images and sound as tensors, for Python -------------===//
#include "tools/media/nnv12_media.h"

#include "artifact/Escape.h"
#include "tools/media/Elements.h"
#include "tools/media/ImageTensor.h"
#include "tools/media/Picture.h"
#include "tools/media/Wav.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace nnv12;
using namespace nnv12::tools;

/// Returns 0, or 1 with the error as the message.
static int report(const std::string &error, char *message, size_t size) {
  if (error.empty())
    return 0;
  if (size) {
    size_t length = std::min(error.size(), size - 1);
    memcpy(message, error.data(), length);
    message[length] = 0;
  }
  return 1;
}

/// Calls `work`, which returns nothing or one line. Memory may end: a picture
/// may be large, and no exception may reach C.
template <typename Work>
static int guarded(char *message, size_t size, const Work &work) {
  try {
    return report(artifact::escaped(work()), message, size);
  } catch (const std::bad_alloc &) {
    if (size)
      snprintf(message, size, "out of memory");
    return 1;
  }
}

static std::string checkBytes(const nnv12_tensor_info &input,
                              const ImageGeometry &geometry) {
  uint64_t expected = uint64_t(geometry.height) * uint64_t(geometry.width) *
                      uint64_t(geometry.channels) * elementSize(input.type);
  if (input.byte_size == expected)
    return {};
  return "found " + std::to_string(input.byte_size) +
         " bytes for the tensor, expected " + std::to_string(expected);
}

/// `fit` fits a picture to the geometry, as far as levels.
template <typename Fit>
static std::string makeImage(const nnv12_tensor_info &input,
                             const nnv12_media_image_options &texts, void *data,
                             const Fit &fit) {
  ImageOptions options;
  ImageGeometry geometry;
  Levels levels;
  std::string error = parseImageOptions({texts.scale, texts.mean, texts.std,
                                         texts.color, texts.layout, texts.fit},
                                        options);
  if (error.empty())
    error = findImageGeometry(input, options, geometry);
  if (error.empty())
    error = checkImageOptions(input, geometry, options);
  if (error.empty())
    error = checkBytes(input, geometry);
  if (error.empty())
    error = fit(geometry, options, levels);
  if (error.empty())
    fillImage(levels, geometry, options, input.type, data);
  return error;
}

extern "C" {

uint32_t nnv12_media_interface(void) { return NNV12_MEDIA_INTERFACE; }

int nnv12_media_read_image(const void *file, size_t file_size,
                           const nnv12_tensor_info *input,
                           const nnv12_media_image_options *options, void *data,
                           char *message, size_t message_size) {
  auto fit = [&](const ImageGeometry &geometry, const ImageOptions &known,
                 Levels &levels) {
    Pixels picture;
    std::string error =
        decodePicture(static_cast<const uint8_t *>(file), file_size,
                      geometry.channels, known.mostPixels, "", picture);
    return error.empty() ? fitPixels(picture.bytes.data(), picture.width,
                                     picture.height, geometry, known, levels)
                         : error;
  };
  return guarded(message, message_size,
                 [&] { return makeImage(*input, *options, data, fit); });
}

int nnv12_media_read_pixels(const uint8_t *pixels, int64_t height,
                            int64_t width, const nnv12_tensor_info *input,
                            const nnv12_media_image_options *options,
                            void *data, char *message, size_t message_size) {
  auto fit = [&](const ImageGeometry &geometry, const ImageOptions &known,
                 Levels &levels) -> std::string {
    if (height < 1 || width < 1 || height > known.mostPixels / width)
      return "found an array of " + std::to_string(height) + "x" +
             std::to_string(width) + " pixels, expected 1 to " +
             std::to_string(known.mostPixels);
    return fitColors(pixels, int(width), int(height), geometry, known, levels);
  };
  return guarded(message, message_size,
                 [&] { return makeImage(*input, *options, data, fit); });
}

/// Finds a sound that fits the options.
static std::string openSound(const void *file, size_t size,
                             const SoundOptions &options, Sound &sound) {
  std::string error =
      findSound(static_cast<const uint8_t *>(file), size, sound);
  return error.empty() ? checkSound(sound, options) : error;
}

int nnv12_media_measure_sound(const void *file, size_t file_size, uint32_t rate,
                              int32_t channel, uint64_t *num_samples,
                              char *message, size_t message_size) {
  return guarded(message, message_size, [&] {
    Sound sound;
    std::string error = openSound(file, file_size, {rate, channel}, sound);
    *num_samples = sound.numSamples;
    return error;
  });
}

int nnv12_media_read_sound(const void *file, size_t file_size, uint32_t rate,
                           int32_t channel, float *samples,
                           uint64_t num_samples, char *message,
                           size_t message_size) {
  return guarded(message, message_size, [&] {
    Sound sound;
    SoundOptions options = {rate, channel};
    std::string error = openSound(file, file_size, options, sound);
    return error.empty() ? readSamples(sound, options, samples, num_samples)
                         : error;
  });
}

} // extern "C"
