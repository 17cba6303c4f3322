//===- SampleSet.cpp - The inputs that a model is tried with --------------===//
#include "tools/nnv12-observe/SampleSet.h"

#include "artifact/Escape.h"
#include "tools/common/Files.h"
#include "tools/common/Npy.h"
#include "tools/common/Report.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <filesystem>
#include <random>

namespace nnv12::observe {

using tools::fail;
using tools::Tensor;

namespace fs = std::filesystem;

static unsigned countFrames(const std::string &path) {
  tools::Clip clip;
  tools::Frame frame;
  std::string error = clip.open(path);
  unsigned count = 0;
  while (error.empty() && clip.next(frame, error))
    ++count;
  tools::failIf(error);
  return count;
}

/// Those in the folder, by name; the file itself if it is none.
static std::vector<std::string> entriesOf(const std::string &path) {
  std::error_code error;
  if (!fs::exists(path, error))
    fail("--set: " + path + ": found nothing there, expected a folder");
  if (!fs::is_directory(path, error))
    return {path};
  std::vector<std::string> entries;
  if (std::string fault = tools::listFolder(path, entries); !fault.empty())
    fail("--set: " + fault);
  return entries;
}

SampleSet::SampleSet(const SetOptions &how,
                     std::vector<nnv12_tensor_info> tensors)
    : options(how), inputs(std::move(tensors)) {
  if (options.random) {
    samples.resize(options.random);
    for (unsigned i = 0; i < options.random; ++i)
      samples[i].part = i;
  } else {
    size_t number = 0;
    for (const std::string &path : entriesOf(options.path)) {
      bool isSecond = number++ % 2 == 1;
      bool isTaken = options.half == Half::All || tools::isClip(path) ||
                     isSecond == (options.half == Half::Second);
      if (isTaken)
        addFile(path);
    }
  }
  if (samples.empty() && options.half == Half::Second && files == 0)
    fail("--set: " + options.path +
         ": found one sample at most, expected two at least: ranges come from "
         "one half of the set, errors from the other one");
  if (samples.empty())
    fail("--set: " + options.path +
         ": found no sample, expected photos, .npy files, clips (.y4m), or "
         "folders with input_0.npy");
  if (options.most && samples.size() > options.most) {
    std::vector<Sample> some;
    for (unsigned i = 0; i < options.most; ++i)
      some.push_back(samples[samples.size() * i / options.most]);
    samples = std::move(some);
  }
}

/// The file of an input, in a folder that is a sample.
static std::string arrayOf(const std::string &folder, size_t input) {
  return folder + "/input_" + std::to_string(input) + ".npy";
}

void SampleSet::addFile(const std::string &path) {
  Sample sample;
  sample.path = path;
  std::error_code error;
  sample.isFolder = fs::is_directory(path, error);
  if (!sample.isFolder && inputs.size() != 1)
    fail(path + ": found a file for a model of " +
         std::to_string(inputs.size()) +
         " inputs, expected folders with input_0.npy, input_1.npy, one a "
         "sample");
  ++files;
  tools::noteInput(path);
  if (sample.isFolder)
    for (size_t i = 0; i < inputs.size(); ++i)
      tools::noteInput(arrayOf(path, i));
  sample.isClip = !sample.isFolder && tools::isClip(path);
  unsigned begin = 0, end = 1;
  if (sample.isClip) {
    end = countFrames(path);
    if (options.half == Half::First)
      end = (end + 1) / 2;
    if (options.half == Half::Second)
      begin = (end + 1) / 2;
  } else if (!sample.isFolder && !tools::isNpy(path)) {
    end = options.crops;
  }
  for (unsigned part = begin; part < end; ++part) {
    sample.part = part;
    samples.push_back(sample);
  }
}

/// Reads a .npy file of the input's type and shape.
static Tensor readArray(const std::string &path,
                        const nnv12_tensor_info &input) {
  Tensor tensor;
  std::string error = tools::readNpy(path, input.type, tensor);
  std::vector<int64_t> shape(input.shape, input.shape + input.rank);
  if (error.empty() && tensor.type != input.type)
    error = path + ": type: found " + nnv12_type_name(tensor.type) +
            ", expected " + nnv12_type_name(input.type);
  if (error.empty() && tensor.shape != shape)
    error = path + ": shape: found " + tools::shapeText(tensor.shape) +
            ", expected " + tools::shapeText(shape);
  if (!error.empty())
    fail(error);
  return tensor;
}

/// A part of the photo with the same proportions, of half of its sides to all
/// of them. The first one is all.
Tensor SampleSet::readCrop(const Sample &sample) const {
  tools::Frame photo, part;
  std::string error = tools::readPicture(sample.path, options.image.mostPixels,
                                         photo, ".npy, ");
  if (!error.empty())
    fail(error);
  if (sample.part == 0) {
    part = std::move(photo);
  } else {
    std::mt19937 random(sample.part);
    auto draw = [&] { return double(random()) / double(std::mt19937::max()); };
    double side = 0.5 + 0.5 * draw();
    part.width = std::max(1, int(std::lround(photo.width * side)));
    part.height = std::max(1, int(std::lround(photo.height * side)));
    int x = int(std::lround((photo.width - part.width) * draw())),
        y = int(std::lround((photo.height - part.height) * draw()));
    for (int row = 0; row < part.height; ++row) {
      auto from =
          photo.pixels.begin() + 3 * (ptrdiff_t(y + row) * photo.width + x);
      part.pixels.insert(part.pixels.end(), from, from + 3 * part.width);
    }
  }
  Tensor tensor;
  error = tools::readFrame(sample.path, part, inputs[0], options.image, tensor);
  if (!error.empty())
    fail(error);
  return tensor;
}

Tensor SampleSet::readFrame(const Sample &sample) {
  std::string error;
  if (clipPath != sample.path || sample.part < nextFrame || !clip) {
    clip = std::make_unique<tools::Clip>();
    clipPath = sample.path;
    nextFrame = 0;
    error = clip->open(clipPath);
  }
  tools::Frame frame;
  for (; error.empty() && nextFrame <= sample.part; ++nextFrame)
    if (!clip->next(frame, error) && error.empty())
      error = clipPath + ": found fewer frames than before";
  Tensor tensor;
  if (error.empty())
    error = tools::readFrame(clipPath, frame, inputs[0], options.image, tensor);
  if (!error.empty())
    fail(error);
  return tensor;
}

/// Floats and integers alike: of a normal distribution, the same on each
/// machine.
std::vector<Tensor> SampleSet::makeNoise(size_t number) const {
  // Halves have other numbers.
  unsigned seed = unsigned(number) + 1;
  if (options.half == Half::Second)
    seed += 1u << 31;
  std::mt19937 random(seed);
  std::vector<Tensor> result;
  for (const nnv12_tensor_info &input : inputs) {
    Tensor &tensor = result.emplace_back(input);
    size_t count = tensor.data.size() / tools::elementSize(input.type);
    for (size_t i = 0; i < count; ++i) {
      // The sum of twelve uniform numbers: exact, unlike a library's.
      double sum = 0;
      for (int k = 0; k < 12; ++k)
        sum += double(random() >> 8) / double(1 << 24);
      tools::setElement(input.type, tensor.data.data(), i, sum - 6);
    }
  }
  return result;
}

std::vector<Tensor> SampleSet::read(size_t number) {
  assert(number < samples.size() && "a sample");
  const Sample &sample = samples[number];
  if (options.random)
    return makeNoise(number);
  std::vector<Tensor> result;
  if (sample.isFolder)
    for (size_t i = 0; i < inputs.size(); ++i)
      result.push_back(readArray(arrayOf(sample.path, i), inputs[i]));
  else if (sample.isClip)
    result.push_back(readFrame(sample));
  else if (tools::isNpy(sample.path))
    result.push_back(readArray(sample.path, inputs[0]));
  else
    result.push_back(readCrop(sample));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!tools::isFloat(inputs[i].type))
      continue;
    size_t count = result[i].data.size() / tools::elementSize(inputs[i].type);
    for (size_t k = 0; k < count; ++k)
      if (!std::isfinite(
              tools::elementAt(inputs[i].type, result[i].data.data(), k)))
        fail(sample.path + ": element " + std::to_string(k) +
             ": found NaN or infinity, expected finite numbers");
  }
  return result;
}

} // namespace nnv12::observe
