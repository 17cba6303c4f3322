//===- nnv12-inspect.cpp - Shows what is in a bundle ----------------------===//
#include "artifact/Compatibility.h"
#include "artifact/CpuFeatures.h"
#include "artifact/Escape.h"
#include "artifact/GpuVerifier.h"
#include "artifact/Hexadecimal.h"
#include "artifact/KeyFile.h"
#include "artifact/ProgramView.h"
#include "artifact/TileState.h"
#include "artifact/Verifier.h"
#include "tools/common/Files.h"
#include "tools/common/Json.h"
#include "tools/common/Options.h"
#include "tools/common/Report.h"
#include "tools/common/Tensor.h"
#include "tools/common/TextFormat.h"
#include "tools/nnv12-inspect/GpuText.h"
#include "tools/nnv12-inspect/MemoryText.h"
#include "tools/nnv12-inspect/PlanText.h"
#include "tools/nnv12-inspect/TraceFile.h"
#include "tools/nnv12-inspect/VideoText.h"
#include "tools/page/PlanPage.h"

#include <cinttypes>
#include <cstdio>

using namespace nnv12;
using namespace nnv12::tools;
using artifact::Fault;

static constexpr char overview[] =
    "shows what is in a bundle: inputs, outputs, segments and, for each "
    "target, kernels, layers, the memory plan and the plan of a cold start: "
    "lanes, their queues, and predicted times. Runs nothing, so bundles for "
    "other CPUs can be looked at as well";

static constexpr char examples[] =
    R"(  nnv12-inspect model.nnv
      everything, for people
  nnv12-inspect model.nnv --target aarch64 --json | jq '.programs[0].arena_size'
      one program, for scripts
  nnv12-inspect model.nnv --summary --public-key release.pub
      check the signature and all digests
  nnv12-run model.nnv --random --trace trace.json
  nnv12-inspect model.nnv --html plan.html --trace trace.json
      a page that draws the plan's lanes over time, as predicted and as measured
)";

namespace {
struct InspectOptions {
  std::string bundle;
  std::string target;
  std::string publicKey;
  std::string html;
  std::string trace;
  bool json = false;
  bool summary = false;
  bool verify = false;
};

/// A bundle whose header and metadata are verified.
struct Image {
  artifact::MappedFile file;
  const bundle::Bundle *bundle = nullptr;
  const bundle::GpuOverlays *overlays = nullptr; ///< null: none
  const bundle::VideoOverlays *videos = nullptr; ///< null: none
  artifact::Header header = {};
};

/// A program that is to be shown.
struct Selected {
  const bundle::Target *target;
  const bundle::Program *program;
  /// Why this version does not understand it, and nothing of it but its target
  /// may be looked at; empty: it does.
  std::string newer;
};
} // namespace

static InspectOptions parseOptions(int argc, char **argv) {
  InspectOptions result;
  Options options("nnv12-inspect", overview, examples);
  options.positional("BUNDLE.nnv", result.bundle);
  options.text("target", "NAME", result.target,
               "Show this target's program alone.");
  options.flag("summary", result.summary,
               "Leave out the lists of kernels and layers.");
  options.flag("json", result.json, "Print JSON.");
  options.flag("verify", result.verify,
               "Check the digest of every segment. Header and metadata are "
               "always checked.");
  options.text("public-key", "FILE", result.publicKey,
               "Check, before anything else, that the bundle is signed by this "
               "key, a .pub file of nnv12-keygen, and then all digests: the "
               "signature covers metadata, code and weights. Needs libsodium.");
  options.text(
      "html", "FILE", result.html,
      "Write a page to FILE that draws the plan of one program, the "
      "first that is not for newer readers, or that of --target: lanes over "
      "time, as predicted. The page needs no other file and no network. - is "
      "standard output.");
  options.text("trace", "FILE", result.trace,
               "For --html: draw beside it, on the same time axis, the times "
               "that nnv12-run --trace FILE measured.");
  options.parse(argc, argv);
  if (!result.trace.empty() && result.html.empty())
    fail("--trace: found no --html, expected the page to draw it in");
  return result;
}

static void load(const InspectOptions &options, Image &image) {
  Fault fault;
  auto check = [&](bool good) {
    if (!good)
      fail(explainBundle(options.bundle, options.bundle + ": " + fault.text));
  };
  uint8_t key[32];
  bool isTrusted = !options.publicKey.empty();
  if (isTrusted) {
    noteInput(options.publicKey);
    if (!artifact::readKeyFile(options.publicKey.c_str(),
                               artifact::KeyKind::Public, key, fault))
      fail(options.publicKey + ": " + fault.text);
  }
  failIf(openInput(options.bundle, image.file));
  check(artifact::verifyHeader(image.file.data(), image.file.size(),
                               isTrusted ? key : nullptr, image.header, fault));
  image.bundle = artifact::verifyMetadata(
      image.header, image.file.data() + image.header.metadataOffset, fault);
  check(image.bundle != nullptr);
  check(artifact::verifyOverlaysIn(image.bundle, image.file.data(), fault));
  image.overlays = artifact::gpuOverlaysIn(image.bundle, image.file.data());
  check(artifact::verifyVideoIn(image.bundle, image.file.data(), fault));
  image.videos = artifact::videoOverlaysIn(image.bundle, image.file.data());
  // The signature covers all segments by way of their digests.
  if (options.verify || isTrusted)
    for (uint32_t i = 0; i < image.bundle->segments()->size(); ++i)
      check(artifact::verifySegment(
          image.bundle, i,
          image.file.data() + image.bundle->segments()->Get(i)->offset(),
          fault));
  if (image.overlays && (options.verify || isTrusted)) {
    const bundle::Gpu *gpu = image.overlays->gpu();
    for (uint32_t i = 0; i < gpu->modules()->size(); ++i)
      check(artifact::verifyModule(
          gpu, i,
          image.file.data() +
              image.bundle->segments()->Get(gpu->code())->offset() +
              gpu->modules()->Get(i)->offset(),
          fault));
  }
}

static bool runsHere(const bundle::Processor *processor) {
  if (processor->architecture()->str() != artifact::hostArchitecture())
    return false;
  artifact::CpuFeatures cpu;
  for (const bundle::Feature *feature : *processor->features()) {
    const char *name = feature->name()->c_str();
    size_t length = feature->name()->size();
    if (!cpu.has(name, length) || !artifact::mayUse(name, length))
      return false;
  }
  return true;
}

static const char *typeName(const bundle::Tensor *tensor) {
  return nnv12_type_name(static_cast<nnv12_type>(tensor->type()));
}

static std::vector<std::string> featuresOf(const bundle::Processor *processor) {
  std::vector<std::string> features;
  for (const bundle::Feature *feature : *processor->features())
    features.push_back(feature->name()->str());
  return features;
}

/// Segments and processors of kinds that this version does not know, for which
/// there is no name, are no fault.
static std::string kindName(const char *name, unsigned kind) {
  return *name ? lowered(name) : "kind " + std::to_string(kind);
}

/// Why this version does not understand a program of the bundle; empty: it
/// does. The line that says so stands behind the program's name.
static std::string findNewer(const bundle::Bundle *bundle, unsigned number) {
  Fault why;
  return artifact::isUnderstood(bundle, number, why)
             ? ""
             : reasonOf(why, "program " + std::to_string(number) + ": ");
}

static std::vector<Selected> selectPrograms(const InspectOptions &options,
                                            const bundle::Bundle *bundle) {
  std::vector<Selected> selected;
  std::string known;
  for (unsigned i = 0; i < bundle->programs()->size(); ++i) {
    const bundle::Program *program = bundle->programs()->Get(i);
    const bundle::Target *target = artifact::targetOf(bundle, program);
    known += (known.empty() ? "" : ", ") + target->name()->str();
    if (options.target.empty() || target->name()->str() == options.target)
      selected.push_back({target, program, findNewer(bundle, i)});
  }
  if (selected.empty())
    fail(options.bundle + ": target: found no " + options.target +
         ", expected one of " + known);
  return selected;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

using TensorList = flatbuffers::Vector<flatbuffers::Offset<bundle::Tensor>>;

static void printTensors(const char *title, const TensorList *tensors) {
  printf("\n%s\n", title);
  for (uint32_t i = 0; i < tensors->size(); ++i) {
    const bundle::Tensor *tensor = tensors->Get(i);
    printf("  %u  '%s' %s %s, %" PRIu64 " bytes\n", i, tensor->name()->c_str(),
           typeName(tensor),
           shapeText(tensor->shape()->data(), tensor->shape()->size()).c_str(),
           artifact::byteSize(tensor));
  }
}

/// The beginnings of long ones.
static void printProperties(const bundle::Bundle *bundle) {
  static constexpr size_t mostBytes = 120;
  if (!bundle->properties())
    return;
  printf("\nproperties\n");
  for (const bundle::Property *property : *bundle->properties()) {
    std::string value = property->value()->str();
    size_t size = value.size();
    std::string rest;
    if (size > mostBytes) {
      // Not in the middle of a letter.
      size = mostBytes;
      while (size && (value[size] & 0xc0) == 0x80)
        --size;
      rest = "... (" + std::to_string(value.size()) + " bytes)";
    }
    printf("  %s = '%s'%s\n", property->key()->c_str(),
           artifact::escaped(value.substr(0, size)).c_str(), rest.c_str());
  }
}

/// How many executes, transforms and replacements call each kernel.
static std::vector<uint32_t> countUses(const bundle::Target *target,
                                       const bundle::Program *program) {
  std::vector<uint32_t> uses(target->kernels()->size());
  for (const bundle::Operation *operation : *program->operations())
    if (artifact::hasKernel(operation))
      ++uses[operation->kernel()];
  for (uint32_t i = 0; i < artifact::numSwitches(program); ++i)
    ++uses[program->switches()->Get(i)->replacement()->kernel()];
  return uses;
}

static void printProgram(const Image &image, const bundle::Target *target,
                         const bundle::Program *program, bool summary) {
  const bundle::Bundle *bundle = image.bundle;
  const bundle::Processor *processor = artifact::cpuOf(target);
  std::string features = join(featuresOf(processor), " ");
  printf("\nprogram %s: %s, %s%s\n", target->name()->c_str(),
         processor->architecture()->c_str(),
         features.empty() ? "no special features" : features.c_str(),
         runsHere(processor) ? "" : " (does not run on this CPU)");
  printf("  code %" PRIu64 " bytes, arena %" PRIu64 " bytes, scratch %" PRIu64
         " bytes a thread, %u kernels, %u operations\n",
         bundle->segments()->Get(processor->code())->size(),
         artifact::memorySize(program, bundle::MemoryKind_Arena),
         artifact::scratchSize(target), target->kernels()->size(),
         artifact::numExecutes(program));
  printMemory(
      memoryUse(bundle, image.overlays, program, image.header.metadataSize));
  printPlan(target, program, summary);
  printOverlay(bundle, image.overlays, program, summary);
  printVideo(bundle, image.videos, program, summary);
  if (summary)
    return;
  std::vector<uint32_t> uses = countUses(target, program);
  printf("\n  kernels\n    %10s %8s %5s  %s\n", "entry", "scratch", "uses",
         "name");
  for (uint32_t i = 0; i < target->kernels()->size(); ++i) {
    const bundle::Kernel *kernel = target->kernels()->Get(i);
    printf("    %10u %8" PRIu64 " %5u  %s\n", kernel->entry(),
           kernel->scratch(), uses[i], kernel->name()->c_str());
  }
  printf("\n  layers, in execution order\n");
  for (uint32_t i = 0; i < artifact::numExecutes(program); ++i) {
    const bundle::Operation *operation = program->operations()->Get(i);
    const bundle::Kernel *kernel = artifact::kernelOf(target, operation);
    std::string reads, writes;
    for (uint32_t k = 0; k < operation->operands()->size(); ++k)
      (k < kernel->outputs() ? writes : reads) +=
          " " + rangeText(program, operation->operands()->Get(k));
    std::string from = operation->tile_begin()
                           ? " from " + std::to_string(operation->tile_begin())
                           : "";
    printf("    %u  %s\n         %s, %" PRIu64 " tiles%s:%s <-%s\n", i,
           operation->layer()->c_str(), kernel->name()->c_str(),
           artifact::numTiles(operation), from.c_str(), writes.c_str(),
           reads.c_str());
  }
}

static void printText(const InspectOptions &options, const Image &image) {
  const bundle::Bundle *bundle = image.bundle;
  printf("%s: %sbundle of format %u, %zu bytes, %s\n", options.bundle.c_str(),
         bundle->kind() == bundle::BundleKind_Model ? "" : "tuning ",
         image.header.version, image.file.size(),
         image.header.isSigned ? "signed by" : "not signed");
  if (image.header.isSigned)
    printf("  public key %s (%s)\n",
           artifact::hexadecimal(image.header.publicKey, 32).c_str(),
           options.publicKey.empty() ? "not checked" : "checked");
  printf("  digest %s\n",
         artifact::hexadecimal(image.header.metadataDigest.bytes, 32).c_str());
  printf("model '%s', written by %s\n", textOf(bundle->model()).c_str(),
         textOf(bundle->producer()).c_str());
  const bundle::Program *model = artifact::firstUnderstood(bundle);
  printTensors("inputs", model->inputs());
  printTensors("outputs", model->outputs());
  printProperties(bundle);
  printf("\nsegments%s\n  #  %-8s %12s %12s  BLAKE2bp-256\n",
         options.verify ? " (digests checked)" : "", "kind", "offset", "size");
  printf("  -  %-8s %12" PRIu64 " %12" PRIu64 "  %s\n", "metadata",
         image.header.metadataOffset, image.header.metadataSize,
         artifact::hexadecimal(image.header.metadataDigest.bytes, 32).c_str());
  for (uint32_t i = 0; i < bundle->segments()->size(); ++i) {
    const bundle::Segment *segment = bundle->segments()->Get(i);
    printf(
        "  %u  %-8s %12" PRIu64 " %12" PRIu64 "  %s\n", i,
        kindName(bundle::EnumNameSegmentKind(segment->kind()), segment->kind())
            .c_str(),
        segment->offset(), segment->size(),
        artifact::hexadecimal(segment->digest()->data(), 32).c_str());
  }
  printGpu(image.overlays, options.summary);
  printVideos(bundle, image.videos);
  for (const auto &[target, program, newer] : selectPrograms(options, bundle))
    if (newer.empty())
      printProgram(image, target, program, options.summary);
    else
      printf("\nprogram %s: for newer readers: %s\n", target->name()->c_str(),
             newer.c_str());
  if (options.verify && options.publicKey.empty())
    printf(
        "\nAll digests are right. They tell damage, not malice: a bundle whose "
        "signature nobody\nchecked is a program. Opening it checks it, "
        "running it trusts it.\n");
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void addTensors(Json &json, const char *name,
                       const TensorList *tensors) {
  json.objects(name, *tensors, [&](const bundle::Tensor *tensor) {
    json.member("name", tensor->name()->str()).member("type", typeName(tensor));
    json.array("shape", *tensor->shape());
    json.member("bytes", artifact::byteSize(tensor));
  });
}

static void addProcessors(Json &json, const bundle::Target *target) {
  json.objects("processors", *target->processors(), [&](const auto *of) {
    json.member("kind", kindName(bundle::EnumNameProcessorKind(of->kind()),
                                 of->kind()));
    json.member("architecture", of->architecture()->str());
    json.member("tune", textOf(of->tune()));
    json.array("features", featuresOf(of));
    json.member("code_segment", of->code());
  });
}

static void addMemories(Json &json, const bundle::Program *program) {
  json.objects("memories", *program->memories(), [&](const auto *memory) {
    json.member("kind", memoryName(memory->kind()));
    json.member("size", memory->size());
    json.member("alignment", memory->alignment());
  });
}

/// Which box of a result each tile computes.
static void addTileMap(Json &json, const bundle::TileMap *map) {
  json.objects("axes", *map->axes(), [&](const bundle::TileAxis *axis) {
    json.member("extent", axis->extent()).member("stride", axis->stride());
  });
  json.objects("parts", *map->parts(), [&](const bundle::TilePart *part) {
    json.array("lo", *part->lo()).array("hi", *part->hi());
    json.objects("cuts", *part->cuts(), [&](const bundle::TileCut *cut) {
      json.member("axis", cut->axis());
      json.member("count", cut->count()).member("size", cut->size());
    });
  });
}

static void addKernel(Json &json, const bundle::Kernel *kernel) {
  json.member("name", kernel->name()->str());
  json.member("entry", kernel->entry()).member("operands", kernel->operands());
  json.member("outputs", kernel->outputs());
  json.member("scratch", kernel->scratch()).member("tiles", kernel->tiles());
  json.member("routine", textOf(kernel->routine()));
  json.member("multiply_adds", kernel->multiply_adds());
  json.member("bytes", kernel->bytes()).member("key", textOf(kernel->key()));
  const auto *fingerprint = kernel->fingerprint();
  json.member("fingerprint", fingerprint
                                 ? artifact::hexadecimal(fingerprint->data(),
                                                         fingerprint->size())
                                 : "");
  json.objects("maps", artifact::elementsOf(kernel->maps()),
               [&](const auto *map) { addTileMap(json, map); });
}

static void addExecute(Json &json, const bundle::Target *target,
                       const bundle::Program *program, uint32_t number) {
  const bundle::Operation *operation = program->operations()->Get(number);
  const bundle::Kernel *kernel = artifact::kernelOf(target, operation);
  json.beginObject().member("id", operationName(program, number));
  json.member("layer", operation->layer()->str());
  json.member("kernel", kernel->name()->str())
      .member("kernel_index", operation->kernel());
  addSchedule(json, program, operation);
  json.member("live_arena", operation->live_arena());
  uint32_t place = 0;
  json.objects("operands", *operation->operands(), [&](const auto *operand) {
    json.member("written", place++ < kernel->outputs());
    addOperand(json, program, operand);
  });
  json.endObject();
}

static void addProgram(Json &json, const Image &image,
                       const bundle::Target *target,
                       const bundle::Program *program, bool summary) {
  const bundle::Bundle *bundle = image.bundle;
  json.beginObject().member("target", target->name()->str());
  json.member("revision", textOf(target->revision()));
  const bundle::Processor *processor = artifact::cpuOf(target);
  json.member("architecture", processor->architecture()->str());
  json.array("features", featuresOf(processor));
  json.member("runs_here", runsHere(processor));
  addProcessors(json, target);
  addMemories(json, program);
  addMemory(json, memoryUse(bundle, image.overlays, program,
                            image.header.metadataSize));
  json.member("code_segment", processor->code());
  json.member("code_size", bundle->segments()->Get(processor->code())->size());
  json.member("arena_size",
              artifact::memorySize(program, bundle::MemoryKind_Arena));
  json.member("scratch_size", artifact::scratchSize(target));
  json.member("num_kernels", target->kernels()->size());
  json.member("num_operations", artifact::numExecutes(program));
  addPlan(json, target, program, summary);
  addOverlay(json, bundle, image.overlays, program, summary);
  addVideo(json, bundle, image.videos, program, summary);
  if (!summary) {
    json.objects("kernels", *target->kernels(),
                 [&](const auto *kernel) { addKernel(json, kernel); });
    json.key("operations").beginArray();
    for (uint32_t i = 0; i < artifact::numExecutes(program); ++i)
      addExecute(json, target, program, i);
    json.endArray();
  }
  json.endObject();
}

static void printJson(const InspectOptions &options, const Image &image) {
  const bundle::Bundle *bundle = image.bundle;
  Json json;
  json.beginObject().member("file", options.bundle);
  json.member("format_version", image.header.version);
  json.member("kind", lowered(bundle::EnumNameBundleKind(bundle->kind())));
  json.member("file_size", uint64_t(image.file.size()));
  json.member("signed", image.header.isSigned != 0);
  if (image.header.isSigned)
    json.member("public_key",
                artifact::hexadecimal(image.header.publicKey, 32));
  json.member("digest",
              artifact::hexadecimal(image.header.metadataDigest.bytes, 32));
  json.member("model", textOf(bundle->model()));
  json.member("producer", textOf(bundle->producer()));
  json.member("metadata_offset", image.header.metadataOffset);
  json.member("metadata_size", image.header.metadataSize);
  const bundle::Program *model = artifact::firstUnderstood(bundle);
  addTensors(json, "inputs", model->inputs());
  addTensors(json, "outputs", model->outputs());
  json.key("properties").beginObject();
  for (const bundle::Property *property :
       artifact::elementsOf(bundle->properties()))
    json.member(property->key()->c_str(), property->value()->str());
  json.endObject();
  json.objects("segments", *bundle->segments(), [&](const auto *segment) {
    json.member("kind", kindName(bundle::EnumNameSegmentKind(segment->kind()),
                                 segment->kind()));
    json.member("offset", segment->offset()).member("size", segment->size());
    json.member("digest", artifact::hexadecimal(segment->digest()->data(), 32));
  });
  addGpu(json, image.overlays);
  addVideos(json, bundle, image.videos);
  std::vector<Selected> selected = selectPrograms(options, bundle);
  json.key("programs").beginArray();
  for (const auto &[target, program, newer] : selected)
    if (newer.empty())
      addProgram(json, image, target, program, options.summary);
  json.endArray().key("newer_programs").beginArray();
  for (const auto &[target, program, newer] : selected)
    if (!newer.empty())
      json.value(target->name()->str());
  json.endArray().endObject();
  writeText("-", json.text());
}

/// The first of those that are selected and understood.
static Selected selectProgram(const InspectOptions &options,
                              const bundle::Bundle *bundle) {
  std::vector<Selected> selected = selectPrograms(options, bundle);
  for (const Selected &one : selected)
    if (one.newer.empty())
      return one;
  fail(options.bundle + ": target: " + options.target +
       " is for newer readers: " + selected[0].newer);
}

static void writePage(const InspectOptions &options, const Image &image) {
  noteInput(options.trace);
  checkOutput(options.html);
  Selected one = selectProgram(options, image.bundle);
  Plan plan(one.target, one.program);
  bool hasOverlay =
      artifact::gpuOf(image.bundle, image.overlays, one.program) != nullptr;
  PlanPage page = {options.bundle,
                   image.file.size(),
                   textOf(image.bundle->model()),
                   hasOverlay ? image.overlays : nullptr,
                   one.program,
                   plan};
  for (const bundle::Property *property :
       artifact::elementsOf(image.bundle->properties()))
    if (property->key()->str() == "nnv12.precision")
      page.precision = property->value()->str();
  page.tracePath = options.trace;
  if (!options.trace.empty())
    page.trace = readTrace(options.trace, plan, options.bundle);
  writeText(options.html, makePage(page));
}

int main(int argc, char **argv) {
  InspectOptions options = parseOptions(argc, argv);
  Image image;
  load(options, image);
  if (!options.html.empty())
    writePage(options, image);
  else if (options.json)
    printJson(options, image);
  else
    printText(options, image);
  finishOutput();
}
