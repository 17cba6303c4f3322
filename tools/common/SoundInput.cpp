//===- SoundInput.cpp - Sound as model inputs -----------------------------===//
#include "tools/common/SoundInput.h"

#include "tools/common/Files.h"

namespace nnv12::tools {

void SoundArguments::addTo(Options &options) {
  options.number("sample-rate", "N", rate, 1, 1000000000,
                 "Sound: how many samples a second the model takes. A file "
                 "with another number is refused. Default: as the bundle "
                 "says.");
  options.text("channel", "N|mean", channel,
               "Sound: which channel of a file the model takes, from 0 on. "
               "mean, the default: the mean of all.");
}

bool isSound(const std::string &path) {
  static constexpr char ending[] = ".wav";
  size_t length = sizeof ending - 1;
  if (path.size() > length &&
      path.compare(path.size() - length, length, ending) == 0)
    return true;
  artifact::MappedFile file;
  artifact::Fault fault;
  return file.open(path.c_str(), fault) && isWav(file.data(), file.size());
}

/// The number of samples that an input takes; 0: it takes no sound.
static uint64_t samplesOf(const nnv12_tensor_info &input) {
  uint64_t samples = 1;
  for (uint32_t i = 0; i < input.rank; ++i) {
    if (samples > 1 && input.shape[i] != 1)
      return 0;
    samples *= uint64_t(input.shape[i]);
  }
  return samples;
}

static std::string fillSound(const artifact::MappedFile &file,
                             const nnv12_tensor_info &input,
                             const SoundOptions &options, Tensor &tensor,
                             uint64_t &unread) {
  if (input.type > NNV12_BF16)
    return std::string("type: found an input of ") +
           nnv12_type_name(input.type) + ", expected floats for sound";
  uint64_t count = samplesOf(input);
  if (count == 0)
    return "shape: found " + shapeText(input.shape, input.rank) +
           ", expected samples of one channel, such as 1x16000";
  Sound sound;
  std::string error = findSound(file.data(), file.size(), sound);
  if (error.empty())
    error = checkSound(sound, options);
  if (!error.empty())
    return error;
  std::vector<float> samples(count);
  error = readSamples(sound, options, samples.data(), count);
  if (!error.empty())
    return error;
  unread = sound.numSamples > count ? sound.numSamples - count : 0;
  tensor = Tensor(input);
  for (uint64_t i = 0; i < count; ++i)
    setElement(input.type, tensor.data.data(), i, samples[i]);
  return {};
}

std::string readSound(const std::string &path, const nnv12_tensor_info &input,
                      const SoundOptions &options, Tensor &tensor,
                      uint64_t &unread) {
  artifact::MappedFile file;
  std::string error = openInput(path, file);
  if (!error.empty())
    return error;
  error = fillSound(file, input, options, tensor, unread);
  return error.empty() ? error : path + ": " + error;
}

} // namespace nnv12::tools
