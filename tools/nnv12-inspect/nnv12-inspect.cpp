//===- nnv12-inspect.cpp - Shows what is in a bundle ----------------------===//
#include "artifact/CpuFeatures.h"
#include "artifact/KeyFile.h"
#include "artifact/Verifier.h"
#include "tools/common/Files.h"
#include "tools/common/Json.h"
#include "tools/common/Options.h"
#include "tools/common/Report.h"
#include "tools/common/Tensor.h"
#include "tools/nnv12-inspect/PlanPage.h"
#include "tools/nnv12-inspect/PlanText.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iterator>

using namespace nnv12;
using namespace nnv12::tools;
using artifact::Fault;

static constexpr char overview[] =
    "shows what is in a bundle: inputs, outputs, segments and, for each "
    "target, kernels, layers, the memory plan and the plan of a cold start: "
    "lanes, their queues, and what is predicted. Runs nothing, so bundles for "
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
  artifact::Header header = {};
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
      "first or that of --target: lanes over time, as predicted. The "
      "page needs no other file and no network. - is standard output.");
  options.text("trace", "FILE", result.trace,
               "For --html: draw beside it, on the same time axis, what "
               "nnv12-run --trace FILE measured.");
  options.parse(argc, argv);
  if (!result.trace.empty() && result.html.empty())
    fail("--trace: found no --html, expected the page to draw it in");
  return result;
}

static void load(const InspectOptions &options, Image &image) {
  Fault fault;
  auto check = [&](bool good) {
    if (!good)
      fail(options.bundle + ": " + fault.text);
  };
  uint8_t key[32];
  bool isTrusted = !options.publicKey.empty();
  if (isTrusted) {
    noteInput(options.publicKey);
    if (!artifact::readKeyFile(options.publicKey.c_str(),
                               artifact::KeyKind::Public, key, fault))
      fail(options.publicKey + ": " + fault.text);
  }
  std::string error = openInput(options.bundle, image.file);
  if (!error.empty())
    fail(error);
  check(artifact::verifyHeader(image.file.data(), image.file.size(),
                               isTrusted ? key : nullptr, image.header, fault));
  image.bundle = artifact::verifyMetadata(
      image.header, image.file.data() + image.header.metadataOffset, fault);
  check(image.bundle != nullptr);
  // The signature covers all segments by way of their digests.
  if (options.verify || isTrusted)
    for (uint32_t i = 0; i < image.bundle->segments()->size(); ++i)
      check(artifact::verifySegment(
          image.bundle, i,
          image.file.data() + image.bundle->segments()->Get(i)->offset(),
          fault));
}

static bool runsHere(const bundle::Program *program) {
  if (program->architecture()->str() != artifact::hostArchitecture())
    return false;
  artifact::CpuFeatures cpu;
  for (const flatbuffers::String *feature : *program->features())
    if (!cpu.has(feature->c_str(), feature->size()))
      return false;
  return true;
}

static std::string hex(const uint8_t *bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

static const char *typeName(const bundle::Tensor *tensor) {
  return nnv12_type_name(static_cast<nnv12_type>(tensor->type()));
}

static std::string textOf(const flatbuffers::String *string) {
  return string ? string->str() : "";
}

/// Names of spaces as people and scripts read them.
static const char *spaceName(bundle::Space space) {
  static constexpr const char *names[] = {"arena", "weights", "input", "output",
                                          "prepared"};
  static_assert(std::size(names) == bundle::Space_MAX + 1);
  return names[space];
}

/// "arena[0, 4096)" or "weights2[64, 128)".
static std::string rangeText(const bundle::Operand *operand) {
  std::string text = spaceName(operand->space());
  if (operand->space() != bundle::Space_Arena &&
      operand->space() != bundle::Space_Prepared)
    text += std::to_string(operand->index());
  return text + "[" + std::to_string(operand->offset()) + ", " +
         std::to_string(operand->offset() + operand->size()) + ")";
}

static uint64_t scratchOf(const bundle::Program *program) {
  uint64_t largest = 0;
  for (const bundle::Kernel *kernel : *program->kernels())
    largest = std::max<uint64_t>(largest, kernel->scratch());
  return largest;
}

static std::vector<const bundle::Program *>
selectPrograms(const InspectOptions &options, const bundle::Bundle *bundle) {
  std::vector<const bundle::Program *> selected;
  std::string known;
  for (const bundle::Program *program : *bundle->programs()) {
    known += (known.empty() ? "" : ", ") + program->target()->str();
    if (options.target.empty() || program->target()->str() == options.target)
      selected.push_back(program);
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

/// How many executes, transforms and replacements call each kernel.
static std::vector<uint32_t> countUses(const bundle::Program *program) {
  std::vector<uint32_t> uses(program->kernels()->size());
  for (const bundle::Operation *operation : *program->operations())
    ++uses[operation->kernel()];
  if (program->preparations())
    for (const bundle::Operation *operation : *program->preparations())
      if (operation->kind() == bundle::OperationKind_Transform)
        ++uses[operation->kernel()];
  if (program->switches())
    for (const bundle::Switch *change : *program->switches())
      ++uses[change->replacement()->kernel()];
  return uses;
}

static void printProgram(const bundle::Bundle *bundle,
                         const bundle::Program *program, bool summary) {
  std::string features;
  for (const flatbuffers::String *feature : *program->features())
    features += " " + feature->str();
  printf("\nprogram %s: %s,%s%s\n", program->target()->c_str(),
         program->architecture()->c_str(),
         features.empty() ? " no special features" : features.c_str(),
         runsHere(program) ? "" : " (does not run on this CPU)");
  printf("  code %" PRIu64 " bytes, arena %" PRIu64 " bytes, scratch %" PRIu64
         " bytes a thread, %u kernels, %u operations\n",
         bundle->segments()->Get(program->code())->size(),
         program->arena_size(), scratchOf(program), program->kernels()->size(),
         program->operations()->size());
  printPlan(program, summary);
  if (summary)
    return;
  std::vector<uint32_t> uses = countUses(program);
  printf("\n  kernels\n    %10s %8s %5s  %s\n", "entry", "scratch", "uses",
         "name");
  for (uint32_t i = 0; i < program->kernels()->size(); ++i) {
    const bundle::Kernel *kernel = program->kernels()->Get(i);
    printf("    %10u %8" PRIu64 " %5u  %s\n", kernel->entry(),
           kernel->scratch(), uses[i], kernel->name()->c_str());
  }
  printf("\n  layers, in execution order\n");
  for (uint32_t i = 0; i < program->operations()->size(); ++i) {
    const bundle::Operation *operation = program->operations()->Get(i);
    const bundle::Kernel *kernel = program->kernels()->Get(operation->kernel());
    std::string reads, writes;
    for (uint32_t k = 0; k < operation->operands()->size(); ++k)
      (k < kernel->outputs() ? writes : reads) +=
          " " + rangeText(operation->operands()->Get(k));
    printf("    %u  %s\n         %s, %" PRIu64 " tiles:%s <-%s\n", i,
           operation->layer()->c_str(), kernel->name()->c_str(),
           operation->tiles(), writes.c_str(), reads.c_str());
  }
}

static void printText(const InspectOptions &options, const Image &image) {
  const bundle::Bundle *bundle = image.bundle;
  printf("%s: bundle of format %u, %zu bytes, %s\n", options.bundle.c_str(),
         image.header.version, image.file.size(),
         image.header.isSigned ? "signed by" : "not signed");
  if (image.header.isSigned)
    printf("  public key %s (%s)\n", hex(image.header.publicKey, 32).c_str(),
           options.publicKey.empty() ? "not checked" : "checked");
  printf("model '%s', written by %s\n", textOf(bundle->model()).c_str(),
         textOf(bundle->producer()).c_str());
  printTensors("inputs", bundle->inputs());
  printTensors("outputs", bundle->outputs());
  printf("\nsegments%s\n  #  %-8s %12s %12s  BLAKE2bp-256\n",
         options.verify ? " (digests checked)" : "", "kind", "offset", "size");
  printf("  -  %-8s %12" PRIu64 " %12" PRIu64 "  %s\n", "metadata",
         image.header.metadataOffset, image.header.metadataSize,
         hex(image.header.metadataDigest.bytes, 32).c_str());
  for (uint32_t i = 0; i < bundle->segments()->size(); ++i) {
    const bundle::Segment *segment = bundle->segments()->Get(i);
    printf("  %u  %-8s %12" PRIu64 " %12" PRIu64 "  %s\n", i,
           segment->kind() == bundle::SegmentKind_Code ? "code" : "weights",
           segment->offset(), segment->size(),
           hex(segment->digest()->data(), 32).c_str());
  }
  for (const bundle::Program *program : selectPrograms(options, bundle))
    printProgram(bundle, program, options.summary);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void addTensors(Json &json, const char *name,
                       const TensorList *tensors) {
  json.key(name).beginArray();
  for (const bundle::Tensor *tensor : *tensors) {
    json.beginObject();
    json.member("name", tensor->name()->str()).member("type", typeName(tensor));
    json.key("shape").beginArray();
    for (int64_t extent : *tensor->shape())
      json.value(extent);
    json.endArray().member("bytes", artifact::byteSize(tensor)).endObject();
  }
  json.endArray();
}

static void addOperation(Json &json, const bundle::Program *program,
                         const bundle::Operation *operation) {
  const bundle::Kernel *kernel = program->kernels()->Get(operation->kernel());
  json.beginObject().member("layer", operation->layer()->str());
  json.member("kernel", kernel->name()->str());
  json.member("tiles", operation->tiles());
  addSchedule(json, operation);
  json.key("operands").beginArray();
  for (uint32_t k = 0; k < operation->operands()->size(); ++k) {
    const bundle::Operand *operand = operation->operands()->Get(k);
    json.beginObject().member("written", k < kernel->outputs());
    json.member("space", spaceName(operand->space()));
    json.member("index", operand->index()).member("offset", operand->offset());
    json.member("size", operand->size()).endObject();
  }
  json.endArray().endObject();
}

static void addProgram(Json &json, const bundle::Bundle *bundle,
                       const bundle::Program *program, bool summary) {
  json.beginObject().member("target", program->target()->str());
  json.member("architecture", program->architecture()->str());
  json.key("features").beginArray();
  for (const flatbuffers::String *feature : *program->features())
    json.value(feature->str());
  json.endArray().member("runs_here", runsHere(program));
  json.member("code_segment", program->code());
  json.member("code_size", bundle->segments()->Get(program->code())->size());
  json.member("arena_size", program->arena_size());
  json.member("scratch_size", scratchOf(program));
  json.member("num_kernels", program->kernels()->size());
  json.member("num_operations", program->operations()->size());
  addPlan(json, program, summary);
  if (!summary) {
    json.key("kernels").beginArray();
    for (const bundle::Kernel *kernel : *program->kernels()) {
      json.beginObject().member("name", kernel->name()->str());
      json.member("entry", kernel->entry())
          .member("operands", kernel->operands());
      json.member("outputs", kernel->outputs());
      json.member("scratch", kernel->scratch()).endObject();
    }
    json.endArray().key("operations").beginArray();
    for (const bundle::Operation *operation : *program->operations())
      addOperation(json, program, operation);
    json.endArray();
  }
  json.endObject();
}

static void printJson(const InspectOptions &options, const Image &image) {
  const bundle::Bundle *bundle = image.bundle;
  Json json;
  json.beginObject().member("file", options.bundle);
  json.member("format_version", image.header.version);
  json.member("file_size", uint64_t(image.file.size()));
  json.member("signed", image.header.isSigned != 0);
  if (image.header.isSigned)
    json.member("public_key", hex(image.header.publicKey, 32));
  json.member("model", textOf(bundle->model()));
  json.member("producer", textOf(bundle->producer()));
  json.member("metadata_offset", image.header.metadataOffset);
  json.member("metadata_size", image.header.metadataSize);
  addTensors(json, "inputs", bundle->inputs());
  addTensors(json, "outputs", bundle->outputs());
  json.key("segments").beginArray();
  for (const bundle::Segment *segment : *bundle->segments()) {
    bool isCode = segment->kind() == bundle::SegmentKind_Code;
    json.beginObject().member("kind", isCode ? "code" : "weights");
    json.member("offset", segment->offset()).member("size", segment->size());
    json.member("digest", hex(segment->digest()->data(), 32)).endObject();
  }
  json.endArray().key("programs").beginArray();
  for (const bundle::Program *program : selectPrograms(options, bundle))
    addProgram(json, bundle, program, options.summary);
  json.endArray().endObject();
  writeText("-", json.text());
}

static void writePage(const InspectOptions &options, const Image &image) {
  noteInput(options.trace);
  checkOutput(options.html);
  const bundle::Program *program = selectPrograms(options, image.bundle)[0];
  Plan plan(program);
  PlanPage page = {options.bundle,
                   image.file.size(),
                   textOf(image.bundle->model()),
                   program,
                   plan,
                   options.trace,
                   {}};
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
