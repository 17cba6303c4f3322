//===- Nchwc.cpp - Operators of ONNX Runtime's layout optimiser -----------===//
//
// Files that are optimised at level "all" hold operators of domain
// com.microsoft.nchwc. Their tensors have the shapes of others, [batch,
// channels, height, width], but lie in blocks of channels, and their channels
// are padded to whole blocks. Here tensors keep the usual order, and so do
// operators between that are not of the domain: they compute each element, or
// each channel, on its own. Only filters are stored in blocks.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Onnx.h"
#include "compiler/import/OpTable.h"
#include "compiler/import/ops/Products.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// Whether a filter's last output channel is zero, thus padding, if output
/// channels come in blocks of `block`.
static bool endsInPadding(const nn::ConstantData &filter, int64_t outputs,
                          int64_t block) {
  if (outputs % block)
    return false;
  int64_t size = filter.size(), last = size / outputs * block;
  for (int64_t i = size - last + block - 1; i < size; i += block)
    if (filter.asDouble(i) != 0)
      return false;
  return true;
}

/// A Reshape that splits channels into blocks, so that elements are not
/// computed on their own any more: to [batch, blocks, height, width, block].
static bool splitsChannels(Node &n, const onnx::TensorProto &shape) {
  auto to = n.data(n.graph().tensorConstant(shape, n));
  return to && to->size() == 5 && to->asInt(0) == 0 && to->asInt(2) == 0 &&
         to->asInt(3) == 0 && to->asInt(4) % 8 == 0;
}

/// The block that a ReorderOutput tells which leaves `channels` of `stored`
/// ones: the others are padding. 0 if either fits.
static int64_t blockOfOutput(int64_t channels, int64_t stored) {
  bool by8 = int64_t(llvm::alignTo(channels, 8)) == stored,
       by16 = int64_t(llvm::alignTo(channels, 16)) == stored;
  return by8 == by16 ? 0 : by8 ? 8 : 16;
}

static int64_t channelsOf(const onnx::NodeProto &reorder) {
  for (const onnx::AttributeProto &attribute : reorder.attribute())
    if (attribute.name() == "channels")
      return attribute.i();
  return 0;
}

/// How many channels a block has: 8 or 16, as the CPU had that wrote the file.
/// No attribute says it, but the sizes and padding of filters do: one filter of
/// the model tells it for all. Where none does, the user has to.
static int64_t channelBlock(Node &n) {
  const onnx::GraphProto &graph = n.graph().mainGraph();
  llvm::StringMap<const onnx::TensorProto *> constants;
  for (const onnx::TensorProto &tensor : graph.initializer())
    constants[tensor.name()] = &tensor;
  const char *remedy = "a file optimised at level \"extended\" "
                       "(ORT_ENABLE_EXTENDED)";
  int64_t given = n.graph().options().nchwcBlock;
  if (given != 0 && given != 8 && given != 16)
    return n.fail("--nchwc-block " + Twine(given), "8 or 16"), 0;
  int64_t block = 0;
  llvm::StringMap<int64_t> stored; ///< channels of convolutions' results
  for (const onnx::NodeProto &node : graph.node()) {
    if (!block && node.op_type() == "ReorderOutput" && node.input_size() > 0)
      if (int64_t channels = stored.lookup(node.input(0)))
        block = blockOfOutput(channelsOf(node), channels);
    const onnx::TensorProto *second =
        node.input_size() > 1 ? constants.lookup(node.input(1)) : nullptr;
    if (!second || n.failed())
      continue;
    if (node.op_type() == "Reshape" && second->dims_size() == 1 &&
        second->dims(0) == 5 && splitsChannels(n, *second))
      return n.fail("a Reshape that splits blocks of channels", remedy), 0;
    if (block || node.domain() != n.proto().domain() ||
        node.op_type() != "Conv" || second->dims_size() != 4)
      continue;
    auto filter = n.data(n.graph().tensorConstant(*second, n));
    if (!filter || filter->size() == 0)
      continue;
    int64_t outputs = filter->shape()[0];
    if (node.output_size() > 0)
      stored[node.output(0)] = outputs;
    bool by8 = endsInPadding(*filter, outputs, 8);
    bool by16 = endsInPadding(*filter, outputs, 16);
    if (outputs % 16 == 8 || by8 != by16)
      block = outputs % 16 == 8 || by8 ? 8 : 16;
  }
  if (!block && !given)
    n.fail(
        "filters in blocks of 8 or 16 channels, whose sizes do not tell "
        "which",
        Twine("--nchwc-block (16 if a CPU with AVX-512 wrote the file), or ") +
            remedy);
  else if (block && given && block != given)
    n.fail("filters in blocks of " + Twine(block) + " channels",
           "those of --nchwc-block " + Twine(given));
  return n.failed() ? 0 : block ? block : given;
}

/// A filter [outputs, inputs, height, width] in its usual order. Blocks of
/// outputs are innermost; outside of them are blocks of inputs, unless inputs
/// are few or a group has one.
static Value unblocked(Node &n, Value w, int64_t block, int64_t groups) {
  if (!n.expectRank(w, 4, 4, "a filter"))
    return {};
  Ints s = n.shape(w);
  bool blocksInputs = groups == 1 ? s[1] >= block : s[1] > 1;
  int64_t inner = blocksInputs ? block : 1;
  if (s[0] % block || s[1] % inner)
    return n.refuse("a filter of shape " + str(s),
                    "channels in blocks of " + Twine(block));
  w = n.reshape(w, {s[0] / block, s[1] / inner, s[2], s[3], inner, block});
  return n.reshape(n.transpose(w, {0, 5, 1, 4, 2, 3}), s);
}

static void nchwcConv(Node &n) {
  int64_t block = channelBlock(n), groups = n.intAttr("group", 1);
  if (!n.failed())
    n.out(
        activatedConvolution(n, n.in(0), unblocked(n, n.in(1), block, groups)));
}

static void reorderInput(Node &n) {
  Value x = n.in(0);
  if (!n.expectRank(x, 4, 4, "an input"))
    return;
  if (n.intAttr("channels_last", 0) != 0)
    x = n.transpose(x, {0, 3, 1, 2});
  int64_t channels = n.dim(x, 1);
  if (channels % 16 == 0)
    return n.out(x);
  int64_t block = channelBlock(n);
  if (!n.failed())
    n.out(
        n.pad(x, {0, 0, 0, 0}, {0, (block - channels % block) % block, 0, 0}));
}

static void reorderOutput(Node &n) {
  Value x = n.in(0);
  int64_t channels = n.intAttr("channels");
  if (!n.expectRank(x, 4, 4, "an input"))
    return;
  if (channels < 1 || channels > n.dim(x, 1))
    return n.fail("channels " + Twine(channels),
                  "1 to the " + Twine(n.dim(x, 1)) + " of the input");
  x = n.slice(x, 1, 0, channels);
  bool isLast = n.intAttr("channels_last", 0) != 0;
  n.out(isLast ? n.transpose(x, {0, 2, 3, 1}) : x);
}

OpRows importer::nchwcOps() {
  static const OpRow rows[] = {
      nchwcOp("Conv", nchwcConv, "blocks as the file or `--nchwc-block` tells"),
      nchwcOp("ReorderInput", reorderInput),
      nchwcOp("ReorderOutput", reorderOutput),
  };
  return rows;
}
