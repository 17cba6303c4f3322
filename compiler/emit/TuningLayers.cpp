//===- TuningLayers.cpp - Layers that tell what a GPU takes ---------------===//

#include "compiler/emit/TuningLayers.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <string>
#include <vector>

using namespace mlir;
using namespace nnv12;
using llvm::formatv;

namespace {

/// A convolution of square images with square windows.
struct Conv {
  int64_t in, out, size, kernel, stride = 1, groups = 1;
};
// The padding keeps the size where the stride is 1.

constexpr Conv pointConvs[] = {
    {64, 64, 56, 1},      {512, 512, 7, 1},     {32, 64, 112, 1},
    {256, 64, 28, 1},     {1024, 256, 14, 1},   {64, 256, 56, 1},
    {320, 1280, 7, 1},    {128, 128, 28, 1},    {16, 96, 112, 1},
    {512, 128, 28, 1},    {96, 32, 56, 1},      {2048, 512, 7, 1},
    {256, 512, 14, 1},    {192, 64, 14, 1},     {128, 512, 28, 1},
    {64, 16, 28, 1},      {256, 1024, 14, 1},   {960, 160, 7, 1},
    {480, 112, 14, 1},    {256, 256, 56, 1},    {832, 384, 7, 1},
    {512, 1000, 13, 1},   {64, 128, 28, 1},     {144, 32, 28, 1},
    {128, 32, 14, 1},     {512, 2048, 7, 1},    {1024, 1024, 14, 1},
    {32, 32, 56, 1},      {384, 64, 14, 1},     {256, 512, 28, 1},
    {128, 256, 56, 1, 2}, {256, 512, 28, 1, 2}, {1024, 2048, 14, 1, 2},
    {64, 64, 7, 1},       {2048, 1024, 1, 1},   {512, 256, 1, 1},
};
constexpr Conv windowConvs[] = {
    {64, 64, 56, 3},      {512, 512, 7, 3},        {128, 128, 28, 3},
    {256, 256, 14, 3},    {32, 32, 112, 3},        {128, 192, 28, 3},
    {16, 64, 56, 3},      {512, 512, 14, 3},       {64, 128, 112, 3},
    {48, 192, 13, 3},     {64, 256, 13, 3},        {192, 384, 13, 3},
    {256, 256, 28, 3},    {32, 128, 28, 3},        {160, 320, 7, 3},
    {64, 64, 28, 3},      {128, 256, 56, 3},       {64, 32, 14, 3},
    {96, 96, 35, 3},      {32, 64, 7, 3},          {64, 128, 56, 3, 2},
    {128, 256, 28, 3, 2}, {256, 512, 14, 3, 2},    {32, 64, 112, 3, 2},
    {512, 512, 14, 3, 2}, {16, 32, 28, 5},         {32, 96, 28, 5},
    {64, 192, 27, 5},     {32, 64, 14, 5},         {48, 128, 7, 5},
    {64, 64, 17, 7},      {80, 96, 71, 3},         {512, 256, 10, 3},
    {256, 384, 20, 3},    {24, 48, 40, 3},         {384, 256, 13, 3},
    {128, 64, 80, 3},     {128, 128, 28, 3, 1, 4},
};
/// Few input channels.
constexpr Conv fewInputConvs[] = {
    {3, 64, 224, 7, 2}, {3, 32, 224, 3, 2}, {3, 64, 224, 3},
    {3, 96, 112, 7, 2}, {3, 16, 64, 3},     {3, 64, 224, 11, 4},
    {1, 32, 28, 5},     {1, 16, 112, 3, 2}, {3, 32, 299, 3, 2},
    {4, 64, 56, 3},     {3, 24, 160, 3, 2}, {3, 48, 32, 5},
};
/// Few output channels.
constexpr Conv fewOutputConvs[] = {
    {64, 3, 224, 3}, {16, 1, 112, 1}, {64, 1, 56, 3},  {32, 3, 112, 9},
    {128, 2, 28, 1}, {24, 1, 224, 3}, {256, 3, 14, 3}, {32, 2, 56, 3, 2},
};
/// A channel each.
constexpr Conv depthwiseConvs[] = {
    {32, 32, 112, 3, 1, 32},     {96, 96, 112, 3, 2, 96},
    {144, 144, 56, 3, 1, 144},   {192, 192, 28, 3, 1, 192},
    {384, 384, 14, 3, 1, 384},   {576, 576, 14, 3, 2, 576},
    {960, 960, 7, 3, 1, 960},    {144, 144, 56, 3, 2, 144},
    {64, 64, 112, 3, 2, 64},     {512, 512, 14, 3, 1, 512},
    {128, 128, 56, 3, 1, 128},   {240, 240, 28, 5, 2, 240},
    {672, 672, 14, 5, 1, 672},   {16, 16, 28, 3, 1, 16},
    {1024, 1024, 7, 3, 1, 1024}, {256, 256, 28, 3, 1, 256},
};

/// The transposed convolutions of networks that make images larger. The
/// padding gives the size times the stride where the kernel is even. The last
/// six have few output channels.
constexpr Conv convTransposes[] = {
    {64, 32, 56, 2, 2},   {512, 256, 14, 2, 2}, {256, 128, 28, 2, 2},
    {128, 64, 28, 4, 2},  {256, 256, 7, 4, 2},  {64, 64, 56, 3},
    {512, 512, 4, 4, 2},  {128, 128, 28, 3, 2}, {32, 32, 56, 4, 2},
    {1024, 512, 7, 2, 2}, {64, 32, 14, 8, 4},   {32, 16, 112, 2, 2},
    {128, 128, 14, 3},    {256, 64, 14, 5, 2},  {64, 64, 28, 4, 2, 4},
    {16, 16, 28, 16, 8},  {24, 1, 112, 2, 2},   {64, 3, 56, 4, 2},
    {16, 1, 128, 2, 2},   {128, 3, 28, 3},      {32, 2, 28, 8, 4},
    {64, 1, 14, 2, 2},
};

struct Pool {
  const char *kind;
  int64_t channels, size, kernel, stride;
};
constexpr Pool pools[] = {
    {"max", 64, 112, 3, 2},     {"max", 96, 54, 3, 2},
    {"max", 192, 27, 3, 2},     {"max", 256, 13, 3, 2},
    {"max", 64, 112, 2, 2},     {"max", 512, 14, 2, 2},
    {"max", 128, 56, 2, 2},     {"max", 480, 14, 3, 1},
    {"average", 32, 56, 2, 2},  {"average", 256, 28, 3, 1},
    {"average", 128, 28, 2, 2}, {"average", 512, 14, 7, 7},
    {"max", 832, 7, 3, 1},      {"max", 64, 224, 2, 2},
    {"average", 64, 35, 3, 1},  {"max", 16, 28, 2, 2},
    {"average", 192, 28, 3, 1}, {"average", 256, 35, 3, 1},
    {"average", 384, 14, 3, 1}, {"average", 480, 7, 5, 1},
    {"average", 96, 56, 3, 2},  {"average", 64, 112, 2, 2},
    {"average", 256, 56, 2, 2}, {"average", 2048, 7, 7, 7},
    {"average", 1280, 8, 8, 8}, {"average", 512, 28, 3, 2},
    {"max", 192, 28, 3, 1},     {"max", 256, 28, 3, 1},
    {"max", 512, 14, 3, 1},     {"max", 512, 13, 5, 1},
    {"max", 128, 35, 3, 1},     {"max", 64, 147, 3, 2},
    {"max", 480, 28, 3, 2},     {"max", 256, 28, 2, 2},
    {"max", 832, 14, 2, 2},     {"max", 32, 160, 2, 2},
};

struct MatMul {
  int64_t rows, depth, columns, batch = 1;
};
/// The right factor is constant.
constexpr MatMul constantMatmuls[] = {
    {1, 2048, 1000},    {1, 4096, 4096},  {1, 1280, 1000},  {1, 512, 10},
    {1, 25088, 1024},   {4, 768, 768},    {8, 1024, 4096},  {16, 256, 1024},
    {1, 9216, 2048},    {1, 1024, 1000},  {1, 4096, 1000},  {1, 4096, 1536},
    {1, 4096, 2048},    {1, 4096, 2560},  {1, 4096, 3072},  {1, 256, 256},
    {1, 768, 3072},     {1, 2048, 512},   {1, 3072, 768},   {4, 512, 512},
    {8, 256, 256},      {2, 1024, 1024},  {4, 2048, 2048},  {2, 64, 512},
    {128, 768, 768},    {128, 768, 3072}, {128, 3072, 768}, {256, 512, 512},
    {49, 768, 768},     {256, 256, 1024}, {64, 1024, 1024}, {784, 256, 128},
    {384, 1024, 1024},  {196, 512, 2048}, {64, 64, 256},    {512, 512, 512},
    {1024, 1024, 1024}, {197, 384, 1536}, {32, 2048, 128},  {1024, 128, 64},
};
constexpr MatMul matmuls[] = {
    {128, 64, 128, 12}, {128, 128, 64, 12}, {256, 64, 256, 8},
    {64, 32, 64, 4},    {512, 512, 512, 1}, {197, 64, 197, 6},
    {1, 64, 256, 8},    {8, 128, 512, 4},   {1, 128, 128, 12},
    {1, 64, 1024, 12},  {4, 64, 64, 8},     {1, 512, 64, 16},
    {49, 32, 49, 24},   {384, 64, 384, 12}, {64, 256, 64, 2},
    {300, 300, 300, 2}, {2048, 64, 64, 1},
};

/// Rows of so many elements.
struct Rows {
  int64_t rows, length;
};
constexpr Rows rows[] = {
    {1, 1000},    {128, 768}, {1536, 128}, {64, 64},    {4096, 32},  {197, 384},
    {1024, 1024}, {16, 4096}, {8, 65536},  {3152, 197}, {2048, 256}, {12, 128},
    {384, 384},   {49, 1024}, {784, 128},  {3136, 96},  {512, 512},  {8, 1000},
    {196, 768},   {64, 2048}, {6144, 128}, {32, 1000},  {1, 4096},   {577, 577},
};

/// A layer of one or two inputs of one type.
struct ElementLayer {
  /// {0} and {1} are its inputs, {2} is their type, {3} the result's.
  const char *text;
  int reducedAxis = -1; ///< along which the result has one element; -1: none
  const char *element = "f32"; ///< of the result
};
constexpr ElementLayer rowLayers[] = {
    {"nn.softmax {0} axis 1 : {2} -> {3}"},
    {"nn.normalize {0} axis 1 epsilon 1.0e-5 : {2} -> {3}"},
    {"nn.reduce mean {0} axes [1] keep_dims true : {2} -> {3}", 1},
    {"nn.reduce mean {0} axes [0] keep_dims true : {2} -> {3}", 0},
    {"nn.softmax {0} axis 0 : {2} -> {3}"},
    {"nn.arg_reduce max {0} axis 1 keep_dims true select_last false : {2} -> "
     "{3}",
     1, "i64"},
    {"nn.arg_reduce max {0} axis 0 keep_dims true select_last false : {2} -> "
     "{3}",
     0, "i64"},
};

constexpr int64_t counts[] = {1024,   4096,    8192,    25088,
                              50176,  100352,  200704,  401408,
                              802816, 1605632, 3211264, 6422528};
constexpr ElementLayer mapLayers[] = {
    {"nn.unary {0} <sigmoid> : {2} -> {3}"},
    {"nn.unary {0} <relu> : {2} -> {3}"},
    {"nn.binary add {0}, {1} : {2}, {2} -> {3}"},
    {"nn.unary {0} <tanh> : {2} -> {3}"},
};

struct Transpose {
  int64_t a, b, c;
};
constexpr Transpose transposes[] = {
    {8, 64, 49},   {12, 128, 64},   {4, 256, 784},   {16, 512, 196},
    {2, 32, 3136}, {1, 1000, 1000}, {3, 1024, 1024}, {8, 49, 768},
    {12, 64, 197}, {1, 512, 512},
};

struct Concat {
  int64_t first, second, size;
};
constexpr Concat concats[] = {
    {64, 64, 55},  {128, 128, 27}, {256, 256, 13}, {192, 64, 28},
    {512, 32, 14}, {64, 32, 56},   {256, 256, 56}, {16, 16, 7},
    {128, 32, 28}, {384, 128, 14}, {64, 64, 112},  {48, 16, 20},
    {832, 256, 7}, {128, 128, 56}, {32, 96, 35},   {512, 512, 28},
};

/// Writes the model down. Layers are lines that read and define values.
class Text {
public:
  std::string argument(const std::string &type) {
    std::string name = "%x" + std::to_string(arguments.size());
    arguments.push_back(name + ": " + type);
    return name;
  }
  std::string constant(const std::string &type) {
    return value("nn.constant dense<0.5> : " + type);
  }
  std::string value(const std::string &layer) {
    std::string name = "%" + std::to_string(numValues++);
    body += "  " + name + " = " + layer + "\n";
    return name;
  }
  /// A layer whose result is one of the model's.
  void add(const std::string &layer, const std::string &type) {
    results.push_back(value(layer));
    resultTypes.push_back(type);
  }
  std::string module() const {
    std::string types = llvm::join(resultTypes, ", ");
    return "module attributes {nn.model = \"layers\"} {\nfunc.func @main(" +
           llvm::join(arguments, ", ") + ") -> (" + types + ") {\n" + body +
           "  return " + llvm::join(results, ", ") + " : " + types + "\n}\n}\n";
  }

private:
  std::string body;
  std::vector<std::string> arguments, results, resultTypes;
  unsigned numValues = 0;
};

} // namespace

static std::string tensor(ArrayRef<int64_t> shape, StringRef element = "f32") {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element.str() + ">";
}

static int64_t outputSize(int64_t size, int64_t kernel, int64_t stride,
                          int64_t pad) {
  return (size + 2 * pad - kernel) / stride + 1;
}

static void add(const Conv &conv, bool isTransposed, Text &text) {
  auto [in, out, size, kernel, stride, groups] = conv;
  int64_t pad = isTransposed ? (kernel - stride) / 2 : kernel / 2,
          result = isTransposed ? stride * (size - 1) + kernel - 2 * pad
                                : outputSize(size, kernel, stride, pad);
  std::string x = tensor({1, in, size, size}),
              w = isTransposed ? tensor({in, out / groups, kernel, kernel})
                               : tensor({out, in / groups, kernel, kernel}),
              b = tensor({out}), y = tensor({1, out, result, result});
  std::string image = text.argument(x), weights = text.constant(w),
              bias = text.constant(b);
  std::string sum = formatv(
      "nn.{0} {1}, {2} bias {3} strides [{4}, {4}] dilations [1, 1] pads [{5}, "
      "{5}], [{5}, {5}] {6}{{groups = {7} : i64} : {8}, {9} bias {10} -> {11}",
      isTransposed ? "conv_transpose" : "conv", image, weights, bias, stride,
      pad, isTransposed ? "output_padding [0, 0] " : "", groups, x, w, b, y);
  if (!isTransposed)
    sum = "nn.unary " + text.value(sum) + " <relu> : " + y + " -> " + y;
  text.add(sum, y);
}

static void add(const Pool &pool, Text &text) {
  int64_t pad = pool.stride == 1 ? pool.kernel / 2 : 0,
          size = outputSize(pool.size, pool.kernel, pool.stride, pad);
  std::string x = tensor({1, pool.channels, pool.size, pool.size}),
              y = tensor({1, pool.channels, size, size});
  text.add(formatv("nn.pool {0} {1} kernel [{2}, {2}] strides [{3}, {3}] "
                   "dilations [1, 1] pads [{4}, {4}], [{4}, {4}] : {5} -> {6}",
                   pool.kind, text.argument(x), pool.kernel, pool.stride, pad,
                   x, y),
           y);
}

static void add(const MatMul &matmul, bool isConstant, Text &text) {
  auto [rows, depth, columns, batch] = matmul;
  SmallVector<int64_t> left, right, out;
  if (batch > 1)
    left = right = out = {batch};
  left.append({rows, depth});
  right.append({depth, columns});
  out.append({rows, columns});
  std::string a = tensor(left), b = tensor(right), y = tensor(out);
  std::string lhs = text.argument(a),
              rhs = isConstant ? text.constant(b) : text.argument(b);
  text.add(formatv("nn.matmul {0}, {1} : {2}, {3} -> {4}", lhs, rhs, a, b, y),
           y);
}

static void add(const ElementLayer &layer, ArrayRef<int64_t> shape,
                Text &text) {
  SmallVector<int64_t> result(shape);
  if (layer.reducedAxis >= 0)
    result[layer.reducedAxis] = 1;
  std::string x = tensor(shape), y = tensor(result, layer.element);
  std::string first = text.argument(x), second;
  if (StringRef(layer.text).contains("{1}"))
    second = text.argument(x);
  text.add(formatv(/*Validate=*/false, layer.text, first, second, x, y), y);
}

static void add(const Transpose &transpose, Text &text) {
  std::string x = tensor({transpose.a, transpose.b, transpose.c}),
              y = tensor({transpose.a, transpose.c, transpose.b});
  text.add(
      "nn.transpose " + text.argument(x) + " [0, 2, 1] : " + x + " -> " + y, y);
}

static void add(const Concat &concat, Text &text) {
  std::string a = tensor({1, concat.first, concat.size, concat.size}),
              b = tensor({1, concat.second, concat.size, concat.size}),
              y = tensor(
                  {1, concat.first + concat.second, concat.size, concat.size});
  text.add(formatv("nn.concat {0}, {1} axis 1 : {2}, {3} -> {4}",
                   text.argument(a), text.argument(b), a, b, y),
           y);
}

OwningOpRef<ModuleOp> nnv12::tuningLayers(MLIRContext &context) {
  Text text;
  // The kinds of the element-wise ones and of others in turns: where there is
  // no room for all of a routine, every size is there.
  for (const Transpose &transpose : transposes)
    add(transpose, text);
  for (ArrayRef<Conv> convs :
       {ArrayRef(pointConvs), ArrayRef(windowConvs), ArrayRef(fewInputConvs),
        ArrayRef(fewOutputConvs), ArrayRef(depthwiseConvs)})
    for (const Conv &conv : convs)
      add(conv, /*isTransposed=*/false, text);
  for (const Conv &conv : convTransposes)
    add(conv, /*isTransposed=*/true, text);
  for (const Pool &pool : pools)
    add(pool, text);
  for (const MatMul &matmul : constantMatmuls)
    add(matmul, /*isConstant=*/true, text);
  for (const MatMul &matmul : matmuls)
    add(matmul, /*isConstant=*/false, text);
  for (const ElementLayer &layer : rowLayers)
    for (const Rows &of : rows)
      add(layer, {of.rows, of.length}, text);
  for (const ElementLayer &layer : mapLayers)
    for (int64_t count : counts)
      add(layer, {count}, text);
  for (const Concat &concat : concats)
    add(concat, text);
  return parseSourceString<ModuleOp>(text.module(), &context);
}
