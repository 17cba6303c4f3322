//===- nnv12c.cpp - The compiler's command line ---------------------------===//

#include "artifact/Escape.h"
#include "artifact/KeyFile.h"
#include "compiler/codegen/cpu/RoutineTable.h"
#include "compiler/codegen/gpu/GpuRoutine.h"
#include "compiler/import/OpTable.h"
#include "compiler/routines/Cut.h"
#include "tools/nnv12c/Compiler.h"
#include "tools/nnv12c/EarlyEnd.h"
#include "tools/nnv12c/OptionErrors.h"
#include "tools/nnv12c/VideoClip.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"

#include <csignal>

using namespace mlir;
using namespace nnv12;
namespace cl = llvm::cl;

static cl::OptionCategory category("nnv12c options");
static CompileOptions given;

namespace {
/// The text of --help for an option. All options have one category.
struct Help {
  const char *text;
  const char *value = ""; ///< the name of its value, if it takes one

  template <typename Option> void apply(Option &option) const {
    option.setDescription(text);
    option.setValueStr(value);
    option.addCategory(category);
  }
};
} // namespace

static cl::opt<std::string, true>
    input(cl::Positional, cl::location(given.input), Help{"MODEL.onnx"});
static cl::opt<std::string, true> output(
    "o", cl::location(given.output),
    Help{"Where to write (default: the model's name with .nnv)", "OUT.nnv"});
static cl::list<std::string> shapes(
    "shape",
    Help{"Shape of a model input with dynamic dimensions, or the size of a "
         "named "
         "dimension (NAME=SIZE). A batch left open, the first dimension, is 1",
         "NAME=1x3x224x224"});
static cl::list<std::string> constants(
    "constant",
    Help{
        "Value of a model input, known now; it is then no input of the bundle. "
        "For inputs that determine shapes",
        "NAME=FILE.npy"});
static cl::list<std::string, std::vector<std::string>> outputNames(
    "output", cl::location(given.import.outputs),
    Help{"A tensor of the model that is an output, by its name there; once or "
         "several times, in place of the model's own outputs. Nodes that lead "
         "to none of them are left out",
         "NAME"});
static cl::opt<RandomNumbers, true> randomNumbers(
    "random", cl::location(given.import.random),
    Help{"How to replace numbers that the model draws at random, since a "
         "bundle draws none"},
    cl::values(clEnumValN(RandomNumbers::Zero, "zero", "zeros"),
               clEnumValN(RandomNumbers::Input, "input",
                          "inputs of the bundle, named like the tensors")));
static cl::opt<int64_t, true> limitBoxes(
    "limit-boxes", cl::location(given.import.mostBoxes),
    cl::init(ImportOptions().mostBoxes),
    Help{"How many boxes NonMaxSuppression may give at most, over all images "
         "and classes; a model that may give more is refused (default 1000000)",
         "N"});
static cl::opt<int64_t, true> nchwcBlock(
    "nchwc-block", cl::location(given.import.nchwcBlock), cl::init(0),
    Help{"How many channels a block has of a file that ONNX Runtime optimised "
         "at level \"all\", where the file does not tell: 16 as on CPUs with "
         "AVX-512, 8 as on others of x86-64",
         "8|16"});
static cl::list<std::string, std::vector<std::string>> externalData(
    "external-data", cl::location(given.import.externalData),
    Help{"A folder beside the model's own in which external data of its "
         "tensors may lie",
         "FOLDER"});
static cl::list<std::string, std::vector<std::string>>
    targets("target", cl::CommaSeparated, cl::location(given.targets),
            Help{"CPUs to compile for: host, x86-64-v4, x86-64-v3, aarch64, "
                 "these with an extension (x86-64-v4+vnni, x86-64-v4+amx, "
                 "x86-64-v3+vnni, aarch64+dotprod, aarch64+i8mm), or all of "
                 "an architecture: x86-64, aarch64; "
                 "several give one bundle with code for each, best first; "
                 "weights that all store in the same form are stored once. "
                 "`host`, said so, also measures kernels on this machine",
                 "LIST"});
static cl::opt<std::string, true>
    cacheDir("cache-dir", cl::location(given.tuning.cacheFolder),
             Help{"Where --target host remembers what it measured (default: "
                  "$XDG_CACHE_HOME/nnv12 or ~/.cache/nnv12)",
                  "FOLDER"});
static cl::opt<bool> noCache("no-cache",
                             Help{"Measure anew, and remember nothing"});
static cl::opt<bool, true> inModel(
    "in-model", cl::location(given.tuning.inModel),
    Help{"With --target host: measure the fastest kernels inside of the model "
         "as well, and plan with these times"});
static cl::opt<Mode, true> mode(
    "mode", cl::location(given.plan.mode), cl::init(Mode::Auto),
    Help{"What inferences the plan is for"},
    cl::values(clEnumValN(Mode::Auto, "auto",
                          "the first as with cold; then routines take over "
                          "that are worth their memory (default)"),
               clEnumValN(Mode::Cold, "cold", "one after start"),
               clEnumValN(Mode::Continuous, "continuous",
                          "many: whatever is faster later takes over, and "
                          "weights are kept so that it can; the first as fast "
                          "as it can be so")));
static cl::opt<Memory, true> memory(
    "memory", cl::location(given.plan.memory), cl::init(Memory::Default),
    Help{"What a session may take of memory that no other process shares"},
    cl::values(
        clEnumValN(Memory::Least, "least",
                   "activations alone: weights lie in the file as they are "
                   "used, where processes share them, and no routine takes "
                   "over later; not with --mode continuous"),
        clEnumValN(Memory::Default, "default",
                   "also weights that gain enough time, as the device profile "
                   "says (default)"),
        clEnumValN(Memory::Most, "most",
                   "routines take over later wherever they gain; not with "
                   "--mode cold")));
static cl::opt<Parts, true> parts(
    "plan", cl::location(given.plan.parts), cl::init(Parts::KCP),
    Help{"What a cold plan may do, to see what each part is worth"},
    cl::values(clEnumValN(Parts::None, "none",
                          "routines for later inferences, weights as in "
                          "the model, all prepared first"),
               clEnumValN(Parts::K, "K",
                          "choose routines for the first inference"),
               clEnumValN(Parts::KC, "K+C", "and store weights in any form"),
               clEnumValN(Parts::KCP, "K+C+P",
                          "and prepare beside execution (default)")));
static cl::opt<Layouts, true> layouts(
    "layouts", cl::location(given.plan.layouts), cl::init(Layouts::First),
    Help{"How the layouts of layers are selected"},
    cl::values(
        clEnumValN(Layouts::First, "first",
                   "those of each layer's preferred routine (default)"),
        clEnumValN(Layouts::Net, "net",
                   "those of the cheapest net, where they gain 5 % by "
                   "predicted times, or 2 % by measured ones"),
        clEnumValN(
            Layouts::Greedy, "greedy",
            "for comparison: each layer in turn takes its cheapest ones"),
        clEnumValN(Layouts::Uniform, "uniform",
                   "for comparison: one layout wherever layers can have it"),
        clEnumValN(Layouts::Random, "random",
                   "for tests: by chance; see --layout-seed")));
static cl::opt<unsigned, true>
    layoutSeed("layout-seed", cl::location(given.plan.layoutSeed),
               Help{"For tests: the seed of --layouts random", "N"});
static cl::opt<double>
    layoutMargin("layout-margin",
                 Help{"For tests: the least gain for which --layouts net takes "
                      "layouts, a part of the time from 0 to 1",
                      "PART"});
static cl::opt<unsigned>
    layoutTable("layout-table",
                Help{"For tests: --layouts net is exact while its tables have "
                     "at most N entries",
                     "N"});
static cl::opt<unsigned>
    lanes("lanes",
          Help{"Preparation lanes of a cold plan, at most (default: one "
               "for each little core of the device, or for each CPU that "
               "does not compute, at least one)",
               "N"});
static cl::opt<std::string, true>
    profile("profile", cl::location(given.profile),
            Help{"Device profile with the costs to plan with; its target is "
                 "the default of --target. Without one costs are predicted",
                 "FILE"});
static cl::opt<std::string>
    gpu("gpu", cl::ValueOptional,
        Help{"Plan for a GPU beside the CPUs, too: what it is faster at. "
             "TARGET: vulkan1.1 (default), or that with features that the "
             "device has: vulkan1.1+int64",
             "TARGET"});
static cl::opt<std::string, true> gpuProfile(
    "gpu-profile", cl::location(given.gpuProfile),
    Help{"Device profile with the costs of the GPU (default: those of "
         "--profile, else an ordinary GPU's)",
         "FILE"});
static cl::opt<bool> gpuForce(
    "gpu-force",
    Help{"For tests: all layers on the GPU that it can compute, from the "
         "first inference on, whatever that costs"});
static cl::opt<unsigned, true> gpuForceFrom(
    "gpu-force-from", cl::location(given.plan.gpuForceFrom),
    Help{"For tests: as --gpu-force, of the layers from the N-th on", "N"});
static cl::opt<std::string> splitLayers(
    "split", cl::init("auto"),
    Help{"Layers that GPU and CPU compute together. auto (default): where the "
         "profile knows how much both lose by it, and later inferences gain 5 "
         "percent. off: none. force, for tests: in later inferences all that "
         "can be cut; AXIS: along batch, channels or rows alone; PERCENT is "
         "the GPU's part, by default 50",
         "auto|off|force[=AXIS:PERCENT]"});
static cl::opt<std::string> objective(
    "objective", cl::init("latency"),
    Help{"Later inferences with a GPU shall take little time (latency, the "
         "default), little energy by the profile's gpu.power (energy), or "
         "little of both, where a millijoule is worth N milliseconds",
         "latency|energy|N"});
static cl::opt<bool, true> tuningParts(
    "tuning-parts", cl::location(given.tuning.parts),
    Help{"With --emit tuning: also parts of up to 60 layers, whose times tell "
         "how long each side of a split takes"});
enum class GpuPrecision { F32, F16 };
static cl::opt<GpuPrecision> gpuPrecision(
    "gpu-precision", cl::init(GpuPrecision::F32),
    Help{"How the GPU stores tensors of f32, which it computes in f32"},
    cl::values(clEnumValN(GpuPrecision::F32, "f32", "as they are (default)"),
               clEnumValN(GpuPrecision::F16, "f16",
                          "weights and what no CPU touches in half precision; "
                          "results differ. TARGET must have storage16, and "
                          "does by default then")));
enum class GpuCache { Full, Empty };
static cl::opt<GpuCache> gpuCache(
    "gpu-cache", cl::init(GpuCache::Full),
    Help{"What the plan expects of the driver's cache of pipelines"},
    cl::values(clEnumValN(GpuCache::Full, "full",
                          "a run before has filled it (default)"),
               clEnumValN(GpuCache::Empty, "empty", "each process makes all")));
static cl::opt<VideoMode, true> videoMode(
    "video", cl::location(given.video), cl::init(VideoMode::Off),
    Help{"Let sessions that are asked to compute again what changed since the "
         "last frame alone"},
    cl::values(clEnumValN(VideoMode::Exact, "exact",
                          "no result differs in any bit"),
               clEnumValN(VideoMode::Bounded, "bounded",
                          "sessions may also keep values that would differ "
                          "little")));
static cl::opt<std::string, true> videoClip(
    "video-clip", cl::location(given.clip.path),
    Help{"With --video bounded: a clip (.y4m) or a folder of images. "
         "Tolerances are tried on its first half, and those taken that save "
         "most work within --max-age",
         "CLIP"});
static cl::opt<double, true> maxAge(
    "max-age", cl::location(given.clip.maxAge), cl::init(ClipOptions().maxAge),
    Help{"With --video-clip: how old answers may be on average, in frames "
         "(default 0.5); 1.3 times the age of answers to noise of one level is "
         "allowed always",
         "AGE"});
static cl::opt<double, true>
    storageMBps("storage-mbps", cl::location(given.storageMBps),
                Help{"Plan for storage that reads N MB a second, whatever the "
                     "costs say: the slower, the more is compressed",
                     "N"});
static cl::opt<Emit, true> emitKind(
    "emit", cl::location(given.emit), cl::init(Emit::Bundle),
    Help{"What to write"},
    cl::values(
        clEnumValN(Emit::Imported, "import",
                   "layers as imported, as MLIR, and the tensors' names"),
        clEnumValN(Emit::NN, "nn", "layers after all passes, as MLIR"),
        clEnumValN(Emit::Plan, "plan",
                   "layers and the plan of the first target, as MLIR"),
        clEnumValN(Emit::Kernels, "kernels",
                   "kernels before they are lowered, as MLIR"),
        clEnumValN(Emit::LLVM, "llvm", "LLVM IR of the kernels"),
        clEnumValN(Emit::Assembly, "asm", "assembly of the kernels"),
        clEnumValN(Emit::Spirv, "spirv",
                   "kernels of GPUs, with --gpu, as MLIR"),
        clEnumValN(Emit::Tuning, "tuning",
                   "a bundle of all candidate kernels, for nnv12-tune; "
                   "with --gpu, of those of GPUs, and without MODEL of "
                   "layers that come with nnv12c"),
        clEnumValN(Emit::Qdq, "qdq",
                   "with --precision, the quantised model, as ONNX"),
        clEnumValN(Emit::Bundle, "bundle", "the bundle (default)")));
static cl::list<std::string> properties(
    "property",
    Help{
        "Something that the bundle says of the model, for applications; counts "
        "more than the model's own (metadata_props). nnv12-run looks at "
        "labels, scale, mean, std, color (rgb or bgr), layout (nchw or nhwc) "
        "and fit (stretch, crop or pad)",
        "KEY=VALUE"});
static cl::opt<std::string, true>
    labels("labels", cl::location(given.labels),
           Help{"Property labels: the names of classes, one a line", "FILE"});
static cl::opt<std::string, true> signingKey(
    "sign", cl::location(given.signingKey),
    Help{"Sign the bundle with this Ed25519 key: its header and, by way of "
         "their digests, its metadata, all code and all weights",
         "KEY"});
static cl::opt<std::string, true> calibrateSet(
    "calibrate", cl::location(given.precision.calibration.path),
    Help{"With --precision or --weights: the samples that the model is tried "
         "with: a folder "
         "of photos, .npy files, clips (.y4m), or folders with input_0.npy, "
         "input_1.npy",
         "FOLDER"});
static cl::opt<unsigned, true>
    calibrateRandom("calibrate-random",
                    cl::location(given.precision.calibration.random),
                    Help{"Instead of --calibrate: so many samples of random "
                         "numbers, where there is "
                         "no set",
                         "N"});
static cl::opt<unsigned, true> calibrateCrops(
    "calibrate-crops", cl::location(given.precision.calibration.crops),
    cl::init(1),
    Help{"So many parts of each photo are samples (default: 1, all of it)",
         "N"});
static cl::opt<unsigned, true> calibrateSamples(
    "calibrate-samples", cl::location(given.precision.calibration.samples),
    Help{"So many samples of each half of the set at most", "N"});
static cl::opt<Precision, true> precision(
    "precision", cl::location(given.precision.precision),
    cl::init(Precision::F32), Help{"In which precision products are computed"},
    cl::values(clEnumValN(Precision::F32, "f32", "as the model says (default)"),
               clEnumValN(Precision::Int8, "int8",
                          "8 bits, with ranges that --calibrate finds"),
               clEnumValN(Precision::Hybrid, "hybrid",
                          "8 bits where that is faster, as far as --max-error "
                          "allows")));
static cl::opt<std::string, true> precisionReport(
    "precision-report", cl::location(given.precision.report),
    Help{"With --calibrate: write each layer's times and error, and the front "
         "of time and error: a picture (.svg), .json, or text",
         "FILE"});
static cl::opt<unsigned> maxMemory(
    "max-memory",
    Help{"With --precision hybrid: weights take so many kB at most", "KB"});
static cl::opt<WeightBits, true> weights(
    "weights", cl::location(given.weights.bits), cl::init(WeightBits::F32),
    Help{"How weights of products are stored that compute in f32"},
    cl::values(clEnumValN(WeightBits::F32, "f32", "with no bit lost (default)"),
               clEnumValN(WeightBits::F16, "f16",
                          "rounded to halves: half the bytes; results differ"),
               clEnumValN(WeightBits::Q8, "q8",
                          "rounded to 8 bits times a scale of the channel: a "
                          "quarter of the bytes; results differ more"),
               clEnumValN(WeightBits::Auto, "auto",
                          "for each layer the fewest of these bits that have a "
                          "small error")));
static cl::opt<std::string>
    ranges("ranges",
           Help{"Which values of a set 8 bits stand for: min-max (default), "
                "percentile:P, which leaves out the rest at both ends, "
                "entropy, or mse, of the least squared error",
                "METHOD"});
static cl::opt<bool, true> equalize(
    "equalize", cl::location(given.precision.equalize),
    Help{"Before ranges are found, scale channels between neighbouring "
         "products so that their largest values are alike; helps some models "
         "and harms others"});
static cl::opt<std::string> maxError(
    "max-error",
    Help{"The error on the other half of the set at most: rmse:0.01, "
         "cos:0.995, top1:1%, snr:30, boxes:99% or wer:1%. int8 is refused "
         "with a larger one, hybrid takes fewer layers in 8 bits, --weights "
         "rounds fewer weights",
         "MEASURE:VALUE"});
enum class Quantized { Bytes, Float };
static cl::opt<Quantized> quantized(
    "quantized", cl::init(Quantized::Bytes),
    Help{"How products between QuantizeLinear and DequantizeLinear are "
         "computed"},
    cl::values(clEnumValN(Quantized::Bytes, "bytes",
                          "products of 8-bit integers, the same on every CPU; "
                          "no GPU computes them (default)"),
               clEnumValN(Quantized::Float, "float",
                          "products of floats, as the model spells them, for "
                          "GPUs")));
static cl::opt<bool, true>
    whyFloat("why-float", cl::location(given.quantized.why),
             Help{"Print why layers of a quantised model compute with floats"});
static cl::opt<bool, true> timing("timing", cl::location(given.timing),
                                  Help{"Print the time of each stage"});
static cl::opt<bool> quiet("quiet", Help{"Print no summary of the plan"});
static cl::opt<bool> routines("routines",
                              Help{"Print every routine of every layer "
                                   "with what its stages cost and which "
                                   "is chosen, write no bundle"});
static cl::opt<bool, true>
    checkBounds("check-bounds", cl::location(given.checkBounds),
                Help{"For developers: kernels compare every access with "
                     "the size of its operand; "
                     "one outside ends the run, and nnv12-run says which"});
static cl::opt<bool, true> checkTiles(
    "check-tiles", cl::location(given.checkTiles),
    Help{"For developers: run the tiles of each kernel one by one on this "
         "machine, and "
         "compare what each writes with what the kernel declares"});
static cl::opt<bool>
    listOps("list-ops", Help{"Print the supported ONNX operators and exit"});
static cl::opt<bool> listRoutines(
    "list-routines",
    Help{"Print the routines, and which fits which layer, and exit"});

/// The word on the command line that an option's value is.
static std::string wordOf(const cl::opt<Layouts, true> &option) {
  const auto &parser = const_cast<cl::opt<Layouts, true> &>(option).getParser();
  for (unsigned i = 0; i < parser.getNumOptions(); ++i)
    if (static_cast<const cl::OptionValue<Layouts> &>(parser.getOptionValue(i))
            .getValue() == option.getValue())
      return parser.getOption(i).str();
  llvm_unreachable("each value has a word");
}

static int fail(const llvm::Twine &message) {
  llvm::errs() << "nnv12c: " << artifact::escaped(message.str()) << "\n";
  return 1;
}

/// Reads the options on precision. "" or the fault.
static std::string setPrecision(PrecisionOptions &options) {
  bool isFloat = precision == Precision::F32, isTried = !isFloat;
  for (const cl::Option *other : std::initializer_list<const cl::Option *>{
           &ranges, &equalize, &maxMemory})
    if (isFloat && other->getNumOccurrences())
      return "--" + other->ArgStr.str() +
             ": found --precision f32, expected int8 or hybrid";
  for (const cl::Option *other : std::initializer_list<const cl::Option *>{
           &calibrateSet, &calibrateRandom, &calibrateCrops, &calibrateSamples,
           &maxError, &precisionReport}) {
    if (!other->getNumOccurrences())
      continue;
    isTried = true;
    if (isFloat && weights == WeightBits::F32)
      return "--" + other->ArgStr.str() +
             ": found --precision f32, expected int8, hybrid, or --weights";
  }
  if (!isTried)
    return "";
  bool hasSet = calibrateSet.getNumOccurrences(),
       isRandom = calibrateRandom.getNumOccurrences();
  if (hasSet == isRandom)
    return std::string(isFloat ? "--weights: found " : "--precision: found ") +
           (hasSet ? "both --calibrate and --calibrate-random, expected one "
                     "of them"
                   : "no --calibrate, expected a folder of samples, or "
                     "--calibrate-random N");
  if (isRandom && !calibrateRandom)
    return "--calibrate-random: found 0, expected 1 or more";
  if (maxMemory.getNumOccurrences() && precision != Precision::Hybrid)
    return "--max-memory: found --precision int8, expected hybrid";
  options.mostBytes = uint64_t(maxMemory) * 1000;
  if (ranges.getNumOccurrences()) {
    auto method = calibrate::RangeMethod::parse(ranges);
    if (!method)
      return "--ranges: found '" + ranges + "', expected " +
             calibrate::RangeMethod::expected;
    options.ranges = *method;
  }
  if (maxError.getNumOccurrences()) {
    options.bound = calibrate::ErrorBound::parse(maxError);
    if (!options.bound)
      return "--max-error: found '" + maxError + "', expected " +
             calibrate::ErrorBound::expected;
  }
  return "";
}

/// Checks the options on a clip. "" or the fault.
static std::string findClipFault(const CompileOptions &options) {
  if (!videoClip.getNumOccurrences())
    return maxAge.getNumOccurrences()
               ? "--max-age: found no --video-clip, which it is for"
               : "";
  if (options.video != VideoMode::Bounded)
    return std::string("--video-clip: found ") +
           (options.video == VideoMode::Off ? "no --video" : "--video exact") +
           ", expected --video bounded";
  if (options.emit != Emit::Bundle)
    return "--video-clip: found --emit of something else, expected a bundle";
  if (!(options.clip.maxAge >= 0 && options.clip.maxAge < 1e6))
    return "--max-age: found " + std::to_string(options.clip.maxAge) +
           ", expected a number, at least 0";
  if (options.clip.path.empty())
    return "--video-clip: found '', expected a file or a folder";
  return checkClip(options.clip.path);
}

/// NAME=REST, at the last '=' so that names may hold one.
static bool split(StringRef text, StringRef &name, StringRef &rest) {
  std::tie(name, rest) = text.rsplit('=');
  return text.contains('=') && !name.empty() && !rest.empty();
}

/// The file and, if the location tells, the node.
static std::string place(Location location, const std::string &file) {
  std::string text = file;
  location->walk([&](Location part) {
    if (auto named = dyn_cast<NameLoc>(part)) {
      text += ": node '" + named.getName().str() + "'";
      return WalkResult::interrupt();
    }
    if (auto line = dyn_cast<FileLineColLoc>(part)) {
      if (line.getLine())
        text += ":" + std::to_string(line.getLine());
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return text;
}

/// Sets the fields of `plan` that --split says. False where it says nothing
/// that is known.
static bool setSplit(StringRef text, PlanOptions &plan) {
  auto [how, where] = text.split('=');
  if (how == "auto" || how == "off") {
    plan.split = how == "auto" ? Split::Auto : Split::Off;
    return !text.contains('=');
  }
  if (how != "force")
    return false;
  plan.split = Split::Force;
  if (!text.contains('='))
    return true;
  auto [axis, percent] = where.split(':');
  plan.splitDim = dimNamed(axis);
  return plan.splitDim && !percent.getAsDouble(plan.splitPercent) &&
         plan.splitPercent >= 1 && plan.splitPercent <= 99;
}

/// The same for --objective.
static bool setObjective(StringRef text, PlanOptions &plan) {
  search::Objective &objective = plan.objective;
  if (text == "latency")
    return true;
  if (text == "energy")
    return objective = {0, 1}, true;
  return !text.getAsDouble(objective.energy) && objective.energy >= 0 &&
         objective.energy <= 1e6;
}

int main(int argc, char **argv) {
  Interruption interruption;
  llvm::InitLLVM init(argc, argv);
  interruption.handle();
  // A limit on file sizes is a fault like a full disk, no crash.
  std::signal(SIGXFSZ, SIG_IGN);
  // libLLVM registers an option of this name for itself.
  if (cl::Option *other = cl::getRegisteredOptions().lookup("threads"))
    other->removeArgument();
  cl::opt<unsigned, true> threads("threads", cl::location(given.plan.threads),
                                  cl::init(0),
                                  Help{"Threads of a session that is not told "
                                       "otherwise (default: one a CPU)",
                                       "N"});
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(
      [](llvm::raw_ostream &os) { os << "nnv12c " << NNV12_VERSION << "\n"; });
  std::string error = findOptionError({argv + 1, argv + argc}, category,
                                      {mode,
                                       memory,
                                       parts,
                                       gpuPrecision,
                                       gpuCache,
                                       emitKind,
                                       lanes,
                                       gpuForceFrom,
                                       threads,
                                       storageMBps,
                                       noCache,
                                       gpuForce,
                                       whyFloat,
                                       timing,
                                       quiet,
                                       quantized,
                                       routines,
                                       checkBounds,
                                       checkTiles,
                                       listOps,
                                       layouts,
                                       layoutSeed,
                                       layoutMargin,
                                       layoutTable,
                                       listRoutines,
                                       inModel,
                                       tuningParts,
                                       precision,
                                       calibrateRandom,
                                       calibrateCrops,
                                       calibrateSamples,
                                       maxMemory,
                                       weights,
                                       videoMode,
                                       maxAge},
                                      "MODEL.onnx");
  if (!error.empty())
    return fail(error);
  cl::ParseCommandLineOptions(argc, argv,
                              "Compiles an ONNX model into one bundle of "
                              "native code and packed weights.\n\n"
                              "  nnv12c model.onnx -o model.nnv\n"
                              "  nnv12c model.onnx --shape x=1x3x48x192 "
                              "--target x86-64-v3,aarch64 -o model.nnv\n"
                              "  nnv12c model.onnx --emit nn -o -\n");
  if (listOps) {
    importer::printOpsTable(llvm::outs());
    return 0;
  }
  if (listRoutines) {
    codegen::printRoutineTable(llvm::outs());
    codegen::printGpuRoutines(llvm::outs());
    return 0;
  }
  // A copy: lld, which is called later, sets all options of the process back.
  CompileOptions options = given;
  if (routines)
    options.emit = Emit::Routines;
  // For GPUs there are layers that come with the program.
  if (options.input.empty() &&
      !(options.emit == Emit::Tuning && gpu.getNumOccurrences()))
    return fail("found no model, expected MODEL.onnx (see --help)");
  handleOutOfMemory(options.input);
  bool isText = options.emit != Emit::Bundle && options.emit != Emit::Tuning &&
                options.emit != Emit::Qdq;
  if (!output.getNumOccurrences()) {
    llvm::SmallString<128> beside(options.input.empty() ? "gpu"
                                                        : options.input);
    llvm::sys::path::replace_extension(
        beside, options.emit == Emit::Tuning ? ".tune.nnv"
                : options.emit == Emit::Qdq  ? ".int8.onnx"
                                             : ".nnv");
    options.output = isText ? "-" : beside.str().str();
  } else if (options.output.empty() || (options.output == "-" && !isText)) {
    return fail("-o: found '" + options.output + "', expected a file" +
                (isText ? " or -" : ""));
  }
  if (memory == Memory::Least && mode == Mode::Continuous)
    return fail("--memory least: found --mode continuous, which keeps weights "
                "for later routines; expected auto or cold");
  if (memory == Memory::Least && (parts == Parts::None || parts == Parts::K))
    return fail("--memory least: found --plan " +
                llvm::Twine(parts == Parts::K ? "K" : "none") +
                ", which keeps weights as in the model; expected K+C or K+C+P");
  if (memory == Memory::Most && mode == Mode::Cold)
    return fail("--memory most: found --mode cold, which has no later "
                "routines; expected auto or continuous");
  if (layouts != Layouts::First && gpu.getNumOccurrences())
    return fail("--layouts " + wordOf(layouts) +
                ": found --gpu, which shares the layouts of preferred "
                "routines; expected first");
  if (layoutSeed.getNumOccurrences() && layouts != Layouts::Random)
    return fail("--layout-seed: found --layouts " + wordOf(layouts) +
                ", expected random");
  for (const cl::Option *other :
       std::initializer_list<const cl::Option *>{&layoutMargin, &layoutTable})
    if (other->getNumOccurrences() && layouts != Layouts::Net)
      return fail("--" + other->ArgStr + ": found --layouts " +
                  wordOf(layouts) + ", expected net");
  if (layoutMargin.getNumOccurrences()) {
    if (!(layoutMargin >= 0 && layoutMargin <= 1))
      return fail("--layout-margin: found " +
                  llvm::Twine(std::to_string(layoutMargin)) +
                  ", expected a number from 0 to 1");
    options.plan.layoutMargin = layoutMargin;
  }
  if (layoutTable.getNumOccurrences())
    options.plan.layoutLimits.table = layoutTable;
  std::string fault = setPrecision(options.precision);
  if (!fault.empty())
    return fail(fault);
  fault = findClipFault(options);
  if (!fault.empty())
    return fail(fault);
  if (options.emit == Emit::Qdq && precision == Precision::F32)
    return fail("--emit qdq: found --precision f32, expected int8 or hybrid");
  if (tuningParts && options.emit != Emit::Tuning)
    return fail("--tuning-parts: found no --emit tuning, which it is for");
  if (inModel && !llvm::is_contained(options.targets, "host"))
    return fail("--in-model: found no --target host, which it is for");
  options.tuning.otherLayouts = layouts != Layouts::First;
  if (lanes.getNumOccurrences())
    options.plan.lanes = lanes;
  // The bounds of a profile's rates.
  if (storageMBps.getNumOccurrences() &&
      !(storageMBps >= 1e-6 && storageMBps < 1e9))
    return fail("--storage-mbps: found " +
                llvm::Twine(std::to_string(storageMBps)) +
                ", expected a number, at least 1e-6");
  if (gpu.getNumOccurrences()) {
    options.plan.gpuHalf = gpuPrecision == GpuPrecision::F16;
    const char *ordinary =
        options.plan.gpuHalf ? "vulkan1.1+storage16" : "vulkan1.1";
    auto target =
        codegen::GpuTarget::byName(gpu.empty() ? ordinary : gpu.getValue());
    if (!target)
      return fail("--gpu: found '" + gpu + "', expected " +
                  codegen::GpuTarget::choices());
    if (options.plan.gpuHalf &&
        !target->features.has(codegen::GpuFeature::Storage16))
      return fail("--gpu-precision f16: found --gpu=" + target->name +
                  ", expected a target with storage16 (" + target->name +
                  "+storage16)");
    options.plan.gpu = target->name;
    options.gpuIsOrdinary = gpu.empty();
  } else {
    for (const cl::Option *other : std::initializer_list<const cl::Option *>{
             &gpuProfile, &gpuForce, &gpuForceFrom, &gpuCache, &gpuPrecision,
             &splitLayers, &objective})
      if (other->getNumOccurrences())
        return fail("--" + other->ArgStr + ": found no --gpu, which it is for");
    if (options.emit == Emit::Spirv)
      return fail("--emit spirv: found no --gpu, which it is for");
  }
  options.quantized.stayFloat = quantized == Quantized::Float;
  options.plan.gpuRounds = options.quantized.stayFloat;
  options.plan.gpuForce = gpuForce || gpuForceFrom.getNumOccurrences();
  options.plan.gpuCache = gpuCache == GpuCache::Full;
  if (!setSplit(splitLayers.getValue(), options.plan))
    return fail("--split: found '" + splitLayers +
                "', expected auto, off, force or force=AXIS:PERCENT with AXIS "
                "batch, channels or rows and PERCENT from 1 to 99");
  if (!setObjective(objective.getValue(), options.plan))
    return fail("--objective: found '" + objective +
                "', expected latency, energy or a number from 0 to 1e6");
  if (options.plan.gpuForce && options.plan.split == Split::Force)
    return fail("--split force: found --gpu-force, expected one of both");
  options.summary = !quiet;
  if ((checkBounds || checkTiles) && options.emit != Emit::Bundle)
    return fail("--check-bounds, --check-tiles: found --emit of a text or a "
                "tuning bundle, expected a bundle");
  options.tuning.useCache = !noCache;

  StringRef name, rest;
  for (const std::string &shape : shapes) {
    std::vector<int64_t> dims;
    bool isGood = split(shape, name, rest);
    SmallVector<StringRef> parts;
    if (rest != "scalar")
      rest.split(parts, 'x');
    for (StringRef part : parts)
      isGood &= !part.getAsInteger(10, dims.emplace_back()) && dims.back() >= 0;
    if (!isGood)
      return fail("--shape: found '" + shape + "', expected NAME=1x3x224x224");
    options.import.shapes.push_back({name.str(), dims});
  }
  for (const std::string &constant : constants) {
    if (!split(constant, name, rest))
      return fail("--constant: found '" + constant +
                  "', expected NAME=FILE.npy");
    options.import.constants.push_back({name.str(), rest.str()});
  }
  llvm::StringSet<> wanted;
  for (const std::string &name : options.import.outputs)
    if (name.empty() || !wanted.insert(name).second)
      return fail("--output: found '" + name +
                  "', expected the name of a tensor, each once");
  for (const std::string &folder : options.import.externalData)
    if (!llvm::sys::fs::is_directory(folder))
      return fail("--external-data: found '" + folder +
                  "', expected a folder that exists");

  if (artifact::othersCanRead(options.signingKey.c_str()))
    llvm::errs() << "nnv12c: warning: " << options.signingKey
                 << ": others can read this secret key, expected mode 0600\n";

  for (const std::string &property : properties) {
    auto [key, value] = StringRef(property).split('=');
    if (key.empty() || !StringRef(property).contains('='))
      return fail("--property: found '" + property + "', expected KEY=VALUE");
    options.properties.push_back({key.str(), value.str()});
  }
  if (labels.getNumOccurrences() && options.labels.empty())
    return fail("--labels: found '', expected a file");

  MLIRContext context(MLIRContext::Threading::DISABLED);
  // The first error is one line, and a remark a note; others are left out.
  bool reported = false;
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Remark && !quiet)
      llvm::errs() << "nnv12c: note: "
                   << artifact::escaped(
                          place(diagnostic.getLocation(), options.input) +
                          ": " + diagnostic.str())
                   << "\n";
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error || reported)
      return success();
    reported = true;
    std::string text = diagnostic.str();
    if (!StringRef(text).contains(options.input) &&
        !isa<UnknownLoc>(diagnostic.getLocation()))
      text = place(diagnostic.getLocation(), options.input) + ": " + text;
    std::replace(text.begin(), text.end(), '\n', ' ');
    fail(text);
    return success();
  });
  if (succeeded(compile(options, context)))
    return 0;
  if (!reported)
    fail(options.input + ": could not be compiled");
  return 1;
}
