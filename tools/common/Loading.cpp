//===- Loading.cpp - Opens bundles and gathers their inputs ---------------===//
#include "tools/common/Loading.h"

#include "artifact/Hexadecimal.h"
#include "artifact/KeyFile.h"
#include "tools/common/Clock.h"
#include "tools/common/Files.h"
#include "tools/common/Npy.h"
#include "tools/common/Properties.h"
#include "tools/common/Report.h"

#include <algorithm>
#include <cstdio>

namespace nnv12::tools {

void LoadOptions::addTo(Options &options) {
  options.text("target", "NAME", target,
               "Run this target's program of the bundle (as given to nnv12c "
               "--target) instead of the best one for this CPU.");
  options.text("public-key", "FILE", publicKey,
               "Refuse the bundle unless it is signed by this key, a .pub file "
               "of nnv12-keygen. The signature covers header, metadata, code "
               "and weights; it is checked before anything else. Needs "
               "libsodium.");
  options.text("digest", "HEX", digest,
               "Refuse the bundle unless this is its digest, the 64 "
               "hexadecimal digits that nnv12-inspect --summary tells. It "
               "covers metadata, code and weights.");
  options.flag("verify-weights", open.verifyWeights,
               "Check the digest of the weights too, which reads all of them. "
               "With --public-key or --digest that is done anyway.");
  options.flag("trust-weights", open.trustWeights,
               "With --public-key or --digest: take the weights unchecked. A "
               "cold start does not wait for all of them then.");
  options.choice("copy", {"signed", "always", "never"}, open.copying,
                 "Whether metadata and code are copied before they are "
                 "checked, so that nobody can change them behind the check by "
                 "writing into the file: signed, the default, with "
                 "--public-key or --digest alone; always; never.");
}

static Bundle openOrFail(const std::string &path, const OpenOptions &options) {
  noteInput(path);
  try {
    return Bundle(path, options);
  } catch (const Error &error) {
    fail(explainBundle(path, error.what()));
  }
}

Bundle openBundle(const std::string &path, const LoadOptions &options) {
  OpenOptions open = options.open;
  uint8_t key[32];
  if (!options.publicKey.empty()) {
    noteInput(options.publicKey);
    artifact::Fault fault;
    if (!artifact::readKeyFile(options.publicKey.c_str(),
                               artifact::KeyKind::Public, key, fault))
      fail(options.publicKey + ": " + fault.text);
    open.publicKey = key;
  }
  uint8_t digest[32];
  if (!options.digest.empty()) {
    if (options.digest.size() != 64 ||
        !artifact::readHexadecimal(options.digest.c_str(), digest, 32))
      fail("--digest: found '" + options.digest +
           "', expected 64 hexadecimal digits");
    open.digest = digest;
  }
  open.target = options.target.empty() ? nullptr : options.target.c_str();
  return openOrFail(path, open);
}

Bundle openTuningBundle(const std::string &path) {
  OpenOptions open;
  open.takeTuning = true;
  return openOrFail(path, open);
}

Session openSession(const std::string &path, const Bundle &bundle,
                    SessionOptions options, const Recorder *recorder) {
  if (recorder)
    options.recorder = recorder->get();
  try {
    return Session(bundle, options);
  } catch (const Error &error) {
    fail(path + ": " + error.what());
  }
}

void runSession(const std::string &path, Session &session,
                const std::vector<Input> &in, const std::vector<Output> &out,
                unsigned deadline) {
  uint64_t until = NNV12_NO_DEADLINE;
  if (deadline)
    until = nanoseconds() + deadline * uint64_t(1000000);
  nnv12_error error;
  if (nnv12_session_run_until(session.get(), in.data(), uint32_t(in.size()),
                              out.data(), uint32_t(out.size()), until, &error))
    fail(path + ": " + error.message);
}

void prepareSession(const std::string &path, Session &session,
                    unsigned milliseconds) {
  nnv12_error error;
  if (nnv12_session_prepare(session.get(), milliseconds, &error))
    fail(path + ": " + error.message);
}

void RunOptions::addTo(Options &options) {
  options.number("threads", "N", session_.threads, 0, 64,
                 "How many threads compute; 0, the default: as many as the "
                 "bundle was compiled for, or one for each CPU.");
  options.number("preparation-threads", "N", preparationThreads_, 0, 64,
                 "How many threads prepare weights beside those that compute, "
                 "at most; 0: none. Default: as the bundle's plan says.");
  options.choice("mode", {"plan", "cold", "continuous"}, session_.mode,
                 "Whether later runs change to kernels that are faster once "
                 "their weights are prepared. plan, the default, and "
                 "continuous: where the bundle has such; cold: never.");
  options.number("wait-ms", "N", waitFor, 1, 86400000,
                 "Before the first run wait until all is prepared that later "
                 "runs want, a GPU's part too, so that the first one is as "
                 "they are. An error after N ms. Default: do not wait.");
  options.flag("no-stealing", session_.noStealing,
               "Lanes leave each other's work alone. For measurements.");
  options.flag("pin", session_.pinThreads, "Pin threads to CPUs.");
  options.flag("oversubscribe", session_.oversubscribe,
               "As many threads as asked for, even on fewer CPUs. For tests.");
  options.choice(
      "gpu", {"auto", "off", "after-first", "wait"}, session_.gpu.mode,
      "Whether a GPU computes a part, where the bundle has one for it. auto, "
      "the default: as the bundle's plan says; off: never; after-first: not "
      "in the first run; wait: in each run, the first of which waits until it "
      "is ready.");
  options.flag("allow-software-gpu", allowSoftwareGpu_,
               "Take a device that is software for a GPU. For tests.");
  options.text("vulkan-library", "FILE", vulkanLibrary_,
               "Vulkan's library. Default libvulkan.so.1.");
  options.text("gpu-cache", "DIR", gpuCache_,
               "Where to keep the GPU driver's compiled code for the next "
               "time; none: nowhere. Default ~/.cache/nnv12, and nowhere with "
               "--public-key or --digest.");
  options.number("gpu-threads", "N", session_.gpu.threads, 0, 64,
                 "How many threads prepare for the GPU; 0, the default: one of "
                 "two CPUs, or of each where the first run waits for them, as "
                 "far as the bundle's plan has work for them.");
}

SessionOptions RunOptions::session() const {
  SessionOptions result = session_;
  if (preparationThreads_ == 0)
    result.preparationThreads = NNV12_NO_PREPARATION_THREADS;
  else if (preparationThreads_ != asPlanned)
    result.preparationThreads = preparationThreads_;
  if (gpuCache_ == "none")
    result.gpu.cache_dir = "";
  else if (!gpuCache_.empty())
    result.gpu.cache_dir = gpuCache_.c_str();
  if (!vulkanLibrary_.empty())
    result.gpu.vulkan_library = vulkanLibrary_.c_str();
  result.gpu.allow_software = allowSoftwareGpu_;
  return result;
}

void RunOptions::explainGpu(const char *tool, const Session &session,
                            const LoadOptions &load) const {
  nnv12_session_info info = session.info();
  bool keeps = gpuCache_.empty() ? !load.takesNoOther() : gpuCache_ != "none";
  if (keeps && info.gpu_open_ns && info.gpu_cache == NNV12_GPU_CACHE_OFF)
    std::fprintf(stderr,
                 "%s: %s: found a folder that others can write or that cannot "
                 "be made; what the driver compiles is kept nowhere\n",
                 tool,
                 gpuCache_.empty() ? "~/.cache/nnv12" : gpuCache_.c_str());
  nnv12_gpu_mode mode = session_.gpu.mode;
  bool isAsked = mode == NNV12_GPU_AFTER_FIRST || mode == NNV12_GPU_WAIT;
  if (info.gpu_stretches_taken || mode == NNV12_GPU_OFF ||
      (info.gpu_state == NNV12_GPU_NONE && !isAsked))
    return;
  const char *reason =
      *info.gpu_reason ? info.gpu_reason : "it was ready too late";
  std::fprintf(stderr, "%s: the GPU computed nothing: %s\n", tool, reason);
}

void InputOptions::addTo(Options &options) {
  options.list("input", "NAME=FILE", inputs,
               std::string("The file of input NAME: a .npy file of its type "
                           "and shape, sound as a .wav file, or an image: ")
                   .append(imageKinds)
                   .append(". NAME= may be left out when there is one input.")
                   .c_str());
  options.flag("random", random,
               "Fill the inputs that have no file with random numbers: 0 to 1 "
               "for floats, 0 and 1 for others.");
  options.number("seed", "N", seed, 0, ~0u,
                 "Where random numbers start; the same ones for the same N. "
                 "Default 1.");
  image.addTo(options);
  sound.addTo(options);
}

namespace {
/// splitmix64: cheap, so that cold measurements see the model and not this.
struct Generator {
  uint64_t state;
  /// 0 to 1, without 1.
  double next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return double((z ^ z >> 31) >> 11) * 0x1p-53;
  }
};
} // namespace

static Tensor makeRandom(const nnv12_tensor_info &info, Generator &generator) {
  Tensor tensor(info);
  bool real = isFloat(info.type);
  for (size_t i = 0; i < info.byte_size / elementSize(info.type); ++i) {
    double value = generator.next();
    setElement(info.type, tensor.data.data(), i, real ? value : value >= 0.5);
  }
  return tensor;
}

static void loadFile(const std::string &bundlePath, const Bundle &bundle,
                     const std::string &file, const nnv12_tensor_info &info,
                     const InputOptions &options, Tensor &tensor) {
  bool npy = isNpy(file) ||
             (file.size() > 4 && file.compare(file.size() - 4, 4, ".npy") == 0);
  uint64_t unread = 0;
  if (npy)
    failIf(readNpy(file, info.type, tensor));
  else if (isSound(file))
    failIf(readSound(file, info,
                     soundOptions(bundlePath, bundle, options.sound), tensor,
                     unread));
  else
    failIf(readImage(file, info,
                     imageOptions(bundlePath, bundle, options.image), tensor));
  if (unread)
    std::fprintf(stderr,
                 "%s: %s: %llu samples beyond the %zu of input '%s' are left "
                 "out\n",
                 toolName(), file.c_str(),
                 static_cast<unsigned long long>(unread),
                 info.byte_size / elementSize(info.type), info.name);
  std::string input = std::string(" of input '") + info.name + "'";
  if (tensor.type != info.type)
    fail(file + ": type: found " + nnv12_type_name(tensor.type) +
         ", expected " + nnv12_type_name(info.type) + input);
  if (tensor.shape.size() != info.rank ||
      !std::equal(tensor.shape.begin(), tensor.shape.end(), info.shape))
    fail(file + ": shape: found " + shapeText(tensor.shape) + ", expected " +
         shapeText(info.shape, info.rank) + input);
}

static std::string listInputs(const Bundle &bundle) {
  std::string text;
  for (uint32_t i = 0; i < bundle.numInputs(); ++i)
    text += std::string(i ? ", '" : "'") + bundle.input(i).name + "' (" +
            describe(bundle.input(i)) + ")";
  return text.empty() ? "none" : text;
}

/// Splits NAME=FILE. Names may hold '=' as well, so the model's names decide.
static uint32_t findInput(const Bundle &bundle, const std::string &bundlePath,
                          const std::string &argument, std::string &file) {
  for (uint32_t i = 0; i < bundle.numInputs(); ++i) {
    std::string prefix = std::string(bundle.input(i).name) + "=";
    if (argument.compare(0, prefix.size(), prefix) == 0) {
      file = argument.substr(prefix.size());
      if (file.empty())
        fail(bundlePath + ": --input: found '" + argument +
             "' without a file, expected " + prefix + "FILE");
      return i;
    }
  }
  if (bundle.numInputs() == 1 && argument.find('=') == std::string::npos) {
    file = argument;
    return 0;
  }
  fail(bundlePath + ": --input: found '" + argument +
       "', expected NAME=FILE with one of the inputs " + listInputs(bundle));
}

std::vector<Tensor> loadInputs(const std::string &bundlePath,
                               const Bundle &bundle,
                               const InputOptions &options,
                               const std::string &caseDir) {
  std::vector<std::string> files(bundle.numInputs());
  for (const std::string &argument : options.inputs) {
    std::string file;
    uint32_t index = findInput(bundle, bundlePath, argument, file);
    if (!files[index].empty())
      fail(bundlePath + ": --input: found '" + bundle.input(index).name +
           "' twice");
    files[index] = file;
  }
  Generator generator{options.seed};
  std::vector<Tensor> tensors(bundle.numInputs());
  for (uint32_t i = 0; i < bundle.numInputs(); ++i) {
    const nnv12_tensor_info &info = bundle.input(i);
    if (files[i].empty() && !caseDir.empty() && !options.random)
      files[i] = caseDir + "/input_" + std::to_string(i) + ".npy";
    if (!files[i].empty())
      loadFile(bundlePath, bundle, files[i], info, options, tensors[i]);
    else if (options.random)
      tensors[i] = makeRandom(info, generator);
    else
      fail(bundlePath + ": input '" + info.name + "': found no --input " +
           "for it, expected one for each of " + listInputs(bundle) +
           " (or --random)");
  }
  return tensors;
}

std::vector<Input> asInputs(const std::vector<Tensor> &tensors) {
  std::vector<Input> inputs;
  for (const Tensor &tensor : tensors)
    inputs.push_back({tensor.data.data(), tensor.data.size()});
  return inputs;
}

std::vector<Tensor> makeOutputs(const Bundle &bundle) {
  std::vector<Tensor> tensors;
  for (uint32_t i = 0; i < bundle.numOutputs(); ++i)
    tensors.emplace_back(bundle.output(i));
  return tensors;
}

std::vector<Output> asOutputs(std::vector<Tensor> &tensors) {
  std::vector<Output> outputs;
  for (Tensor &tensor : tensors)
    outputs.push_back({tensor.data.data(), tensor.data.size()});
  return outputs;
}

} // namespace nnv12::tools
