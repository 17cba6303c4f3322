//===- Loading.h - Opens bundles and gathers their inputs -------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_LOADING_H
#define NNV12_TOOLS_COMMON_LOADING_H

#include "runtime/include/nnv12.hpp"
#include "tools/common/ImageInput.h"
#include "tools/common/Options.h"
#include "tools/common/SoundInput.h"
#include "tools/common/Tensor.h"

namespace nnv12::tools {

/// The options that every tool has for opening a bundle.
struct LoadOptions {
  std::string target;
  std::string publicKey;
  std::string digest;
  OpenOptions open; ///< but for these

  void addTo(Options &options);
  /// Whether one signer's bundles or one bundle are taken alone.
  bool takesNoOther() const { return !publicKey.empty() || !digest.empty(); }
};

/// Ends the process when the bundle cannot be opened.
Bundle openBundle(const std::string &path, const LoadOptions &options);
/// Takes bundles of any kind.
Bundle openTuningBundle(const std::string &path);
/// `recorder`: to record by, or null.
Session openSession(const std::string &path, const Bundle &bundle,
                    SessionOptions options, const Recorder *recorder = nullptr);
/// Ends the process when the run fails, or takes longer than so many
/// milliseconds; 0: it may take any time.
void runSession(const std::string &path, Session &session,
                const std::vector<Input> &in, const std::vector<Output> &out,
                unsigned deadline = 0);
/// Waits until all is prepared that later runs want. Ends the process when that
/// fails, or takes longer than so many milliseconds.
void prepareSession(const std::string &path, Session &session,
                    unsigned milliseconds);

/// The options that tools have for a session. The result of session() points to
/// strings of these.
struct RunOptions {
  unsigned waitFor = 0; ///< milliseconds, before the first run

  void addTo(Options &options);
  SessionOptions session() const;
  /// Says on standard error why the GPU computed nothing in the session's last
  /// run, where the bundle has a part for one or one was asked for. Also says
  /// where a folder does not keep the driver's compiled code.
  void explainGpu(const char *tool, const Session &session,
                  const LoadOptions &load) const;

private:
  static constexpr unsigned asPlanned = 1000;
  unsigned preparationThreads_ = asPlanned;
  std::string gpuCache_;
  std::string vulkanLibrary_;
  bool allowSoftwareGpu_ = false;
  SessionOptions session_; ///< but for these
};

/// Where inputs come from.
struct InputOptions {
  std::vector<std::string> inputs; ///< NAME=FILE, or FILE for the only one
  bool random = false;
  unsigned seed = 1;
  ImageArguments image;
  SoundArguments sound;

  void addTo(Options &options);
};

/// One tensor an input, in the model's order. An input that --input does not
/// name is read from `caseDir`/input_I.npy when `caseDir` is not empty. Ends
/// the process when one is missing or does not fit.
std::vector<Tensor> loadInputs(const std::string &bundlePath,
                               const Bundle &bundle,
                               const InputOptions &options,
                               const std::string &caseDir);

/// The buffers as the runtime takes them.
std::vector<Input> asInputs(const std::vector<Tensor> &tensors);
std::vector<Tensor> makeOutputs(const Bundle &bundle);
std::vector<Output> asOutputs(std::vector<Tensor> &tensors);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_LOADING_H
