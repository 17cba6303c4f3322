//===- GpuMutantsTest.cpp - No fault in a GPU's part goes unnoticed -------===//
//
// Plans of models are given one fault each, at random. The proof finds it, or
// the verifiers do when the bundle is written. If neither does, the bundle must
// give the same bits, whichever stretch a device of Vulkan computes, and
// whether that works in the session's arena or copies.
//
// NNV12_TIER=full tries 1,000 faults, also in models beside the repository.
// NNV12_MUTANTS and NNV12_SEED say how many, and which.
//
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/verify/GpuMutants.h"
#include "dialects/nn/Layout.h"
#include "runtime/include/nnv12.h"
#include "test/unit/compiler/verify/PlannedModel.h"
#include "test/unit/compiler/verify/SmallModels.h"
#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>

#include <cstdlib>
#include <unistd.h>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::test;

namespace nnv12::runtime {
extern bool copiesAlways;
} // namespace nnv12::runtime

namespace {

using Bytes = std::vector<std::vector<uint8_t>>; ///< by output

/// A model and the results of its plan, by stretch and kind of device.
struct Subject {
  std::string name;
  std::unique_ptr<PlannedModel> model;
  std::map<std::pair<uint32_t, bool>, Bytes> expected = {};
};

uint64_t number(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// How the GPU takes part.
struct Way {
  const char *name;
  bool isHalf;
  std::optional<unsigned> splitDim = {}; ///< it shares layers, cut there
};

class GpuMutants : public testing::Test {
protected:
  GpuMutants() : context(MLIRContext::Threading::DISABLED) {
    const char *tier = std::getenv("NNV12_TIER");
    isFull = tier && StringRef(tier) == "full";
    path = testing::TempDir() + "gpu-mutant-" + std::to_string(::getpid()) +
           ".nnv";
  }
  ~GpuMutants() override {
    llvm::sys::fs::remove(path);
    runtime::copiesAlways = false;
  }

  /// Plans a model, if it is there.
  void add(const std::string &model, const Way &way) {
    bool isFile = StringRef(model).ends_with(".onnx");
    if (isFile && !llvm::sys::fs::exists(model))
      return;
    PlanOptions options;
    options.threads = 1;
    options.gpu = codegen::GpuTarget::everything().name;
    options.gpuHalf = way.isHalf;
    options.splitDim = way.splitDim;
    if (way.splitDim)
      options.split = Split::Force;
    else
      options.gpuForce = true;
    // Only whole stretches have their ends where they may be in f16, and parts
    // of one that is split are none.
    auto planned = std::make_unique<PlannedModel>(
        context, model, options,
        /*alternatives=*/!way.isHalf && !way.splitDim);
    ASSERT_EQ(planned->error, "") << model;
    ASSERT_EQ(planned->prove(planned->program), "") << model;
    subjects.push_back(
        {(isFile ? model : std::string("small model")) + way.name,
         std::move(planned)});
  }

  /// The outputs where the GPU computes stretch `number` alone. Adds failures
  /// to `fault`.
  Bytes run(Subject &subject, artifact::Program program, uint32_t number,
            bool copies, std::string &fault);
  /// Whether a mutant that nothing finds computes the same; "" or why not.
  std::string compare(Subject &subject, const artifact::Program &mutant);

  MLIRContext context;
  bool isFull = false;
  std::string skipped; ///< why no bundle can be run on a GPU
  std::string path;
  std::vector<Subject> subjects;
};

Bytes GpuMutants::run(Subject &subject, artifact::Program program,
                      uint32_t number, bool copies, std::string &fault) {
  runtime::copiesAlways = copies;
  program.gpu->warm = {number};
  fault += subject.model->write(program, path);
  nnv12_bundle *bundle = nullptr;
  nnv12_session *session = nullptr;
  nnv12_error error = {};
  nnv12_gpu_options gpu = NNV12_GPU_OPTIONS_INIT;
  gpu.mode = NNV12_GPU_WAIT;
  gpu.cache_dir = "";
  gpu.allow_software = 1;
  nnv12_session_options options = NNV12_SESSION_OPTIONS_INIT;
  options.gpu = &gpu;
  options.mode = NNV12_MODE_COLD; // the same kernels of the CPU in each run
  options.threads = 1;
  Bytes inputs, outputs;
  if (fault.empty() &&
      !nnv12_bundle_open(path.c_str(), nullptr, &bundle, &error) &&
      !nnv12_session_create(bundle, &options, &session, &error)) {
    std::vector<nnv12_input> in;
    std::vector<nnv12_output> out;
    func::FuncOp main = subject.model->main;
    for (Type type : main.getArgumentTypes()) {
      inputs.emplace_back(nn::storageSize(cast<RankedTensorType>(type)));
      auto *x = reinterpret_cast<float *>(inputs.back().data());
      for (size_t i = 0; i < inputs.back().size() / sizeof(float); ++i)
        x[i] = float(i * 31 % 97) / 97 - 0.3f;
      in.push_back(NNV12_INPUT(inputs.back().data(), inputs.back().size()));
    }
    for (Type type : main.getResultTypes()) {
      outputs.emplace_back(nn::storageSize(cast<RankedTensorType>(type)), 0xee);
      out.push_back(NNV12_OUTPUT(outputs.back().data(), outputs.back().size()));
    }
    // The first run splits nothing.
    bool isSplit = !program.gpu->stretches[number].parts.empty();
    bool hasRun = true;
    for (int i = 0; i < 1 + isSplit && hasRun; ++i)
      hasRun = !nnv12_session_run(session, in.data(), in.size(), out.data(),
                                  out.size(), &error);
    if (hasRun) {
      nnv12_session_info info = {};
      info.struct_size = sizeof info;
      nnv12_session_get_info(session, &info);
      if (info.gpu_stretches_taken != 1)
        fault += info.gpu_reason;
    }
  }
  fault += error.message;
  nnv12_session_close(session);
  nnv12_bundle_close(bundle);
  return outputs;
}

std::string GpuMutants::compare(Subject &subject,
                                const artifact::Program &mutant) {
  std::string fault;
  for (uint32_t i = 0; i < mutant.gpu->stretches.size(); ++i)
    for (bool copies : {false, true}) {
      auto [it, isNew] = subject.expected.try_emplace({i, copies});
      if (isNew)
        it->second = run(subject, subject.model->program, i, copies, fault);
      if (isNew && !fault.empty()) {
        skipped = fault;
        subject.expected.erase(it);
        return "";
      }
      if (run(subject, mutant, i, copies, fault) != it->second ||
          !fault.empty())
        return fault + " stretch " + std::to_string(i) + " gives other bits" +
               (copies ? " where it copies" : "");
    }
  return "";
}

TEST_F(GpuMutants, AreFoundOrHarmless) {
  std::string here = NNV12_MODELS, shared = NNV12_SHARED;
  for (const Way &way :
       {Way{"", false}, Way{" in f16", true}, Way{" cut at rows", false, 2},
        Way{" cut at channels", false, 1}}) {
    add(everyForm, way);
    add(here + "/mnist/model.onnx", way);
    if (isFull) {
      add(here + "/blazeface/model.onnx", way);
      if (!way.splitDim)
        add(shared + "/dtln_1/model.onnx", way);
      add(shared + "/squeezenet/model.onnx", way);
      add(shared + "/mobilenetv2/model.onnx", way);
    }
  }
  ASSERT_FALSE(HasFatalFailure());
  struct Count {
    unsigned proof = 0, verifiers = 0, harmless = 0;
  } all;
  std::map<std::string, Count> byKind;
  uint64_t count = number("NNV12_MUTANTS", isFull ? 1000 : 200),
           seed = number("NNV12_SEED", 1);
  for (uint64_t i = 0; i < count; ++i) {
    Chance chance(seed << 32 | i);
    Subject &subject = subjects[i % subjects.size()];
    artifact::Program mutant;
    MutantKind kind;
    do { // some change nothing
      mutant = subject.model->program;
      kind = mutantKinds()[chance.below(mutantKinds().size())];
    } while (!kind.apply(*mutant.gpu, chance));
    Count &ofKind = byKind[kind.name];
    if (!subject.model->prove(mutant).empty()) {
      ++all.proof, ++ofKind.proof;
    } else if (!subject.model->write(mutant, path).empty()) {
      ++all.verifiers, ++ofKind.verifiers;
    } else {
      std::string why = compare(subject, mutant);
      EXPECT_EQ(why, "") << subject.name << ", mutant " << i << ": "
                         << kind.name;
      if (why.empty() && skipped.empty())
        ++all.harmless, ++ofKind.harmless;
    }
  }
  auto print = [](const char *name, const Count &count) {
    printf("%-32s %4u found by the proof, %3u by the verifiers, %3u harmless\n",
           name, count.proof, count.verifiers, count.harmless);
  };
  for (const auto &[name, count] : byKind)
    print(name.c_str(), count);
  print("all", all);
  if (!skipped.empty())
    printf("SKIPPED: nothing shown to be harmless: %s\n", skipped.c_str());
}

} // namespace
