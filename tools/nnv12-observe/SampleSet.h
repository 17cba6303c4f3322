//===- SampleSet.h - The inputs that a model is tried with ------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_OBSERVE_SAMPLESET_H
#define NNV12_TOOLS_NNV12_OBSERVE_SAMPLESET_H

#include "runtime/include/nnv12.hpp"
#include "tools/common/Clip.h"
#include "tools/common/ImageInput.h"

#include <memory>

namespace nnv12::observe {

/// Which samples of a set are taken.
enum class Half {
  All,
  /// Files by turns, so that both halves are alike and share no photo. A clip
  /// gives its first half of frames to one and its last half to the other.
  First,
  Second
};

struct SetOptions {
  /// A folder, or a file of one that it may have.
  std::string path;
  tools::ImageOptions image;
  /// So many parts of each photo are samples; 1: the photo.
  unsigned crops = 1;
  Half half = Half::All;
  /// So many samples at most, spread over all; 0: all.
  unsigned most = 0;
  /// So many samples of random numbers instead of files; 0: files.
  unsigned random = 0;
};

/// Samples of a folder, in the order of names:
/// - a photo, a .npy file, or the frames of a clip (.y4m), for a model with one
///   input;
/// - a folder with input_0.npy, input_1.npy... for any model.
class SampleSet {
public:
  /// `inputs` are the first ones of the bundle, which samples are for. Ends the
  /// process where there is no sample.
  SampleSet(const SetOptions &options, std::vector<nnv12_tensor_info> inputs);

  size_t size() const { return samples.size(); }
  /// Files that samples come from.
  size_t numFiles() const { return files; }
  /// Reads a sample's inputs. Ends the process where it is none. Quick if
  /// samples are read in order.
  std::vector<tools::Tensor> read(size_t number);

private:
  struct Sample {
    std::string path;
    bool isFolder = false, isClip = false;
    unsigned part = 0; ///< a crop, or a frame
  };
  void addFile(const std::string &path);
  tools::Tensor readCrop(const Sample &sample) const;
  tools::Tensor readFrame(const Sample &sample);
  std::vector<tools::Tensor> makeNoise(size_t number) const;

  SetOptions options;
  std::vector<nnv12_tensor_info> inputs;
  std::vector<Sample> samples;
  size_t files = 0;
  std::unique_ptr<tools::Clip> clip; ///< that is being read
  std::string clipPath;
  unsigned nextFrame = 0;
};

} // namespace nnv12::observe

#endif // NNV12_TOOLS_NNV12_OBSERVE_SAMPLESET_H
