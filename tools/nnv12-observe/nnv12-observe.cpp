//===- nnv12-observe.cpp - The values of a model over a set ---------------===//
#include "compiler/calibrate/ChannelMeans.h"
#include "compiler/calibrate/Error.h"
#include "compiler/calibrate/Histogram.h"
#include "compiler/quantize/Switches.h"
#include "tools/common/Files.h"
#include "tools/common/Json.h"
#include "tools/common/Loading.h"
#include "tools/common/Properties.h"
#include "tools/common/Report.h"
#include "tools/nnv12-observe/SampleSet.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::observe;
using namespace nnv12::tools;
using calibrate::ErrorMeter;
using calibrate::Histogram;
using calibrate::Measure;
using quantize::switchInput;

static constexpr char overview[] =
    "runs a bundle over a set of samples, and reports the values of its "
    "outputs "
    "and how far those of other bundles are from them";
static constexpr char examples[] =
    "  nnv12-observe model.nnv --set photos -o values.json\n"
    "  nnv12-observe model.nnv --against model8.nnv --set photos --half second "
    "-o errors.json\n";

namespace {

struct ObserveOptions {
  std::string bundle, output, switched, purpose;
  std::vector<std::string> against;
  std::string measure; ///< one of modelMeasures that has to be there
  SetOptions set;
  LoadOptions load;
  ImageArguments image;
  unsigned threads = 0;
};

/// A bundle whose facts are read. It does not run: a Session touches all of its
/// weights.
struct Model {
  Model(const std::string &path, const ObserveOptions &options)
      : path(path), bundle(openBundle(path, options.load)) {}

  std::string path;
  Bundle bundle;
};

/// A model that runs, with the memory of its outputs.
class RunningModel {
public:
  RunningModel(const Model &model, const ObserveOptions &options)
      : path(model.path), bundle(openBundle(path, options.load)),
        session(openSession(path, bundle, sessionOptions(options))) {
    for (uint32_t i = 0; i < bundle.numOutputs(); ++i)
      results.emplace_back(bundle.output(i));
    // Later routines round in another way. They compute all samples, so that a
    // report does not depend on the moment when they are ready.
    prepareSession(path, session, mostPreparing);
  }

  /// `more` is a last input. The outputs are valid until the next run.
  const std::vector<Tensor> &run(const std::vector<Tensor> &sample,
                                 const Input *more = nullptr) {
    std::vector<Input> inputs;
    for (const Tensor &tensor : sample)
      inputs.push_back({tensor.data.data(), tensor.data.size()});
    if (more)
      inputs.push_back(*more);
    std::vector<Output> outputs;
    for (Tensor &tensor : results)
      outputs.push_back({tensor.data.data(), tensor.data.size()});
    runSession(path, session, inputs, outputs);
    return results;
  }

private:
  /// Milliseconds: a longer wait does not come to an end.
  static constexpr unsigned mostPreparing = 600000;

  static SessionOptions sessionOptions(const ObserveOptions &options) {
    SessionOptions session;
    session.threads = options.threads;
    return session;
  }

  std::string path;
  Bundle bundle;
  Session session;
  std::vector<Tensor> results;
};

/// A sample, and the outputs of the first model for it.
struct Sample {
  std::vector<Tensor> inputs, outputs;

  size_t bytes() const {
    size_t sum = 0;
    for (const auto *tensors : {&inputs, &outputs})
      for (const Tensor &tensor : *tensors)
        sum += tensor.data.size();
    return sum;
  }
};

/// Counts of a tensor.
struct Values {
  Histogram histogram;
  calibrate::ChannelMeans means;
};

/// The errors of a bundle.
struct Errors {
  std::vector<ErrorMeter> outputs;
  /// In the order of modelMeasures; null where the outputs are of another kind.
  std::vector<std::unique_ptr<calibrate::ModelMeter>> model;
};

} // namespace

/// The elements as floats; those of f32 where they are.
static const float *floatsOf(const Tensor &tensor, std::vector<float> &memory) {
  if (tensor.type == NNV12_F32)
    return reinterpret_cast<const float *>(tensor.data.data());
  size_t count = tensor.data.size() / elementSize(tensor.type);
  memory.resize(count);
  for (size_t i = 0; i < count; ++i)
    memory[i] = float(elementAt(tensor.type, tensor.data.data(), i));
  return memory.data();
}

static std::vector<Tensor> copyOf(const std::vector<Tensor> &tensors) {
  std::vector<Tensor> copies(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    copies[i].type = tensors[i].type;
    copies[i].shape = tensors[i].shape;
    copies[i].data = Buffer(tensors[i].data.size());
    std::copy_n(tensors[i].data.data(), tensors[i].data.size(),
                copies[i].data.data());
  }
  return copies;
}

static void addTo(Values &values, const Tensor &tensor) {
  std::vector<float> memory;
  const float *floats = floatsOf(tensor, memory);
  values.histogram.add(floats, tensor.data.size() / elementSize(tensor.type));
  values.means.add(floats, tensor.shape);
}

static void addErrors(const std::vector<Tensor> &exact,
                      const std::vector<Tensor> &found, Errors &errors) {
  std::vector<std::vector<float>> memory(2 * exact.size());
  calibrate::Results ours, theirs;
  errors.outputs.resize(exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    ours.push_back(floatsOf(exact[i], memory[2 * i]));
    theirs.push_back(floatsOf(found[i], memory[2 * i + 1]));
    size_t count = exact[i].data.size() / elementSize(exact[i].type);
    if (!count)
      continue;
    // Classes are in the last dimension that there is.
    size_t row = 1;
    for (size_t d = exact[i].shape.size(); d-- > 0 && row == 1;)
      row = size_t(exact[i].shape[d]);
    errors.outputs[i].add(ours[i], theirs[i], count / row, row);
  }
  for (auto &meter : errors.model)
    if (meter)
      meter->add(ours, theirs);
}

/// The meaning of the outputs, as far as the bundle tells.
static calibrate::ModelOutputs
modelOutputs(const Bundle &bundle,
             const std::vector<nnv12_tensor_info> &outputs) {
  calibrate::ModelOutputs result;
  for (const nnv12_tensor_info &output : outputs)
    result.outputs.push_back({output.name,
                              {output.shape, output.shape + output.rank},
                              isFloat(output.type)});
  result.labels = labelsOf(bundle);
  return result;
}

/// Ends the process where a measure that was asked for is none of this model.
static void addMeters(const ObserveOptions &options,
                      const calibrate::ModelOutputs &outputs, Errors &errors) {
  for (Measure measure : calibrate::modelMeasures) {
    std::string refusal;
    errors.model.push_back(calibrate::makerOf(measure)(outputs, refusal));
    if (!errors.model.back() &&
        options.measure == calibrate::measureName(measure))
      fail("--measure " + options.measure + ": " + refusal);
  }
}

static void write(Json &json, const ObserveOptions &options,
                  const Bundle &bundle, const Errors &errors) {
  for (size_t i = 0; i < errors.model.size(); ++i) {
    if (!errors.model[i])
      continue;
    const char *name = calibrate::measureName(calibrate::modelMeasures[i]);
    std::string refusal = errors.model[i]->refusal();
    if (refusal.empty())
      json.member(name, errors.model[i]->value());
    else if (options.measure == name)
      fail("--measure " + options.measure + ": " + refusal);
  }
  json.key("outputs").beginArray();
  for (uint32_t i = 0; i < errors.outputs.size(); ++i) {
    json.beginObject().member("name", bundle.output(i).name);
    for (Measure measure : calibrate::measures)
      json.member(calibrate::measureName(measure),
                  errors.outputs[i].of(measure));
    json.endObject();
  }
  json.endArray();
}

static void write(Json &json, const char *list,
                  const std::vector<nnv12_tensor_info> &tensors,
                  const std::vector<Values> &values) {
  json.key(list).beginArray();
  for (size_t i = 0; i < values.size(); ++i) {
    const Histogram &of = values[i].histogram;
    json.beginObject()
        .member("name", tensors[i].name)
        .member("count", of.count())
        .member("least", double(of.least()))
        .member("most", double(of.most()))
        .member("not_finite", of.notFinite())
        .member("limit", of.limit());
    // From the first bin that has some to the last one.
    const std::vector<uint64_t> &counts = of.counts();
    size_t begin = 0, end = counts.size();
    while (begin < end && !counts[begin])
      ++begin;
    while (end > begin && !counts[end - 1])
      --end;
    json.member("first", uint64_t(begin));
    json.array("counts",
               std::vector<uint64_t>(counts.begin() + ptrdiff_t(begin),
                                     counts.begin() + ptrdiff_t(end)));
    json.array("means", values[i].means.means());
    const std::vector<float> &largest = values[i].means.largest();
    json.array("largest", std::vector<double>(largest.begin(), largest.end()));
    json.endObject();
  }
  json.endArray();
}

static Words modelMeasureNames() {
  Words names;
  for (Measure measure : calibrate::modelMeasures)
    names.push_back(calibrate::measureName(measure));
  return names;
}

static ObserveOptions parseOptions(int argc, char **argv) {
  ObserveOptions result;
  Options options("nnv12-observe", overview, examples);
  options.positional("BUNDLE.nnv", result.bundle);
  options.text("set", "PATH", result.set.path,
               "A folder of photos, .npy files, clips (.y4m), or folders with "
               "input_0.npy, input_1.npy, one a sample; or one file.");
  options.choice("half", {"all", "first", "second"}, result.set.half,
                 "Which samples: all, or one half of the files by turns, of a "
                 "clip one half of the frames. Default: all.");
  options.number("crops", "N", result.set.crops, 1, 10000,
                 "So many parts of each photo are samples; the first one is "
                 "all of it. Default: 1.");
  options.number("samples", "N", result.set.most, 1, 1000000,
                 "So many samples at most, spread over all.");
  options.number("random", "N", result.set.random, 1, 1000000,
                 "So many samples of random numbers in place of a set.");
  options.list("against", "BUNDLE.nnv", result.against,
               "Report how far its outputs are from those of the first one. "
               "May be given several times.");
  options.text("switched", "BUNDLE.nnv", result.switched,
               "Report how far its outputs are from those of the first one "
               "with each of its switches on: elements of its last input, "
               "nnv12.switches.");
  options.text("purpose", "TEXT", result.purpose,
               "The purpose of the run, for the line of progress.");
  options.choice("measure", modelMeasureNames(), result.measure,
                 "Refuse bundles whose outputs this measure is not for. "
                 "Measures that outputs allow are in the report anyway.");
  options.number("threads", "N", result.threads, 1, 64,
                 "Threads that compute. Default: as the bundle says.");
  result.image.addTo(options);
  result.load.addTo(options);
  options.output("o", "FILE", result.output,
                 "Where to write the report, JSON.");
  options.parse(argc, argv);
  if (result.set.path.empty() == (result.set.random == 0))
    fail("--set, --random: found " +
         std::string(result.set.random ? "both" : "neither") +
         ", expected one of them");
  if (result.output.empty())
    fail("-o: found nothing, expected where to write the report");
  return result;
}

static bool areAlike(const nnv12_tensor_info &a, const nnv12_tensor_info &b) {
  return a.type == b.type && a.rank == b.rank &&
         std::equal(a.shape, a.shape + a.rank, b.shape);
}

/// Ends the process where the other one has not the inputs and outputs of the
/// first one, and `more` inputs behind these.
static void checkAlike(const char *option, const Model &first,
                       const Model &other, uint32_t more = 0) {
  const Bundle &a = first.bundle, &b = other.bundle;
  bool isAlike =
      a.numInputs() + more == b.numInputs() && a.numOutputs() == b.numOutputs();
  for (uint32_t i = 0; isAlike && i < a.numInputs(); ++i)
    isAlike = areAlike(a.input(i), b.input(i));
  for (uint32_t i = 0; isAlike && i < a.numOutputs(); ++i)
    isAlike = areAlike(a.output(i), b.output(i));
  if (!isAlike)
    fail(std::string(option) + ": " + other.path +
         ": found other inputs or outputs, expected those of " + first.path);
}

namespace {
/// A line on a terminal: how many runs are done.
class ProgressLine {
public:
  ProgressLine(const std::string &purpose, size_t all)
      : purpose(purpose.empty() ? "" : purpose + ": "), all(all),
        isTerminal(isatty(STDERR_FILENO) == 1) {}

  void showNext() {
    constexpr int width = 24;
    ++done;
    if (isTerminal)
      fprintf(stderr, "\r\x1b[Knnv12-observe: %s[%-*.*s] run %zu of %zu",
              purpose.c_str(), width, int(done * width / all),
              "########################", done, all);
  }
  void end() const {
    if (isTerminal)
      fputs("\r\x1b[K", stderr);
  }

private:
  std::string purpose;
  size_t done = 0, all;
  bool isTerminal;
};

/// A bundle that is compared with the first one.
class Compared {
public:
  Compared(const Model &first, const std::string &path,
           const ObserveOptions &options)
      : model(path, options) {
    checkAlike("--against", first, model);
  }

  void add(const std::vector<Sample> &samples, const ObserveOptions &options,
           ProgressLine &progress) {
    RunningModel running(model, options);
    for (const Sample &sample : samples) {
      progress.showNext();
      addErrors(sample.outputs, running.run(sample.inputs), errors);
    }
  }

  Model model;
  Errors errors;
};

/// A bundle of which parts are switched on.
class Switched {
public:
  Switched(const Model &first, const ObserveOptions &options)
      : model(options.switched, options) {
    uint32_t count = model.bundle.numInputs();
    if (!count || strcmp(model.bundle.input(count - 1).name, switchInput) != 0)
      fail("--switched: " + options.switched + ": found no last input '" +
           switchInput + "', expected one");
    checkAlike("--switched", first, model, 1);
    states.resize(Tensor(model.bundle.input(count - 1)).data.size());
    errors.resize(states.size());
  }

  void add(const std::vector<Sample> &samples, const ObserveOptions &options,
           ProgressLine &progress) {
    RunningModel running(model, options);
    Input switches = {states.data(), states.size()};
    for (const Sample &sample : samples)
      for (size_t i = 0; i < states.size(); ++i) {
        progress.showNext();
        states[i] = 1;
        addErrors(sample.outputs, running.run(sample.inputs, &switches),
                  errors[i]);
        states[i] = 0;
      }
  }

  Model model;
  std::vector<Errors> errors; ///< by switches

private:
  std::vector<uint8_t> states;
};
} // namespace

/// Samples that are compared wait for the other bundles in so much memory, so
/// that one bundle is open at a time.
static constexpr size_t mostWaiting = 8 << 20;

int main(int argc, char **argv) {
  ObserveOptions options = parseOptions(argc, argv);
  Model model(options.bundle, options);
  options.set.image = imageOptions(options.bundle, model.bundle, options.image);
  std::vector<nnv12_tensor_info> inputs, outputInfos;
  for (uint32_t i = 0; i < model.bundle.numInputs(); ++i)
    inputs.push_back(model.bundle.input(i));
  for (uint32_t i = 0; i < model.bundle.numOutputs(); ++i)
    outputInfos.push_back(model.bundle.output(i));
  std::vector<Compared> others;
  for (const std::string &path : options.against) {
    others.emplace_back(model, path, options);
    addMeters(options, modelOutputs(model.bundle, outputInfos),
              others.back().errors);
  }
  std::optional<Switched> switched;
  if (!options.switched.empty())
    switched.emplace(model, options);
  SampleSet set(options.set, inputs);
  checkOutput(options.output);

  std::vector<Values> ofOutputs(outputInfos.size()), ofInputs(inputs.size());
  bool isCompared = switched || !others.empty();
  ProgressLine progress(
      options.purpose, set.size() * (1 + others.size() +
                                     (switched ? switched->errors.size() : 0)));
  for (size_t number = 0; number < set.size();) {
    std::vector<Sample> waiting;
    {
      RunningModel running(model, options);
      for (size_t bytes = 0; number < set.size() && bytes < mostWaiting;
           ++number) {
        progress.showNext();
        std::vector<Tensor> sample = set.read(number);
        for (size_t i = 0; i < sample.size(); ++i)
          addTo(ofInputs[i], sample[i]);
        const std::vector<Tensor> &outputs = running.run(sample);
        for (size_t i = 0; i < outputs.size(); ++i)
          addTo(ofOutputs[i], outputs[i]);
        if (isCompared) {
          waiting.push_back({std::move(sample), copyOf(outputs)});
          bytes += waiting.back().bytes();
        }
      }
    }
    for (Compared &other : others)
      other.add(waiting, options, progress);
    if (switched)
      switched->add(waiting, options, progress);
  }
  progress.end();

  Json json;
  json.beginObject()
      .member("bundle", options.bundle)
      .member("samples", uint64_t(set.size()))
      .member("files", uint64_t(set.numFiles()));
  write(json, "inputs", inputs, ofInputs);
  write(json, "outputs", outputInfos, ofOutputs);
  json.key("against").beginArray();
  for (const Compared &other : others) {
    json.beginObject().member("bundle", other.model.path);
    write(json, options, model.bundle, other.errors);
    json.endObject();
  }
  json.endArray();
  if (switched) {
    json.key("switches").beginArray();
    for (const Errors &of : switched->errors) {
      json.beginObject();
      write(json, options, model.bundle, of);
      json.endObject();
    }
    json.endArray();
  }
  json.endObject();
  writeText(options.output, json.text());
  return 0;
}
