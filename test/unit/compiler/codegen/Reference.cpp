//===- Reference.cpp - Layers by brute force ------------------------------===//

#include "Reference.h"

#include "dialects/nn/NNDialect.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

using namespace nnv12;
using namespace nnv12::test;
using llvm::ArrayRef;

static ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

static double apply(std::optional<nn::FunctionAttr> function, double x) {
  if (!function || !*function)
    return x;
  ArrayRef<double> p = function->getParams();
  switch (function->getKind()) {
  case nn::UnaryKind::relu:
    return x > 0 ? x : 0;
  case nn::UnaryKind::clip:
    return std::min(std::max(x, p[0]), p[1]);
  case nn::UnaryKind::leaky_relu:
    return x >= 0 ? x : p[0] * x;
  case nn::UnaryKind::sigmoid:
    return 1 / (1 + std::exp(-x));
  case nn::UnaryKind::hard_swish:
    return x * std::max(0.0, std::min(1.0, p[0] * x + p[1]));
  default:
    std::fprintf(stderr, "reference: activation not written\n");
    std::exit(1);
  }
}

/// Offset in a tensor that broadcasts to `shape`, at an index of that shape.
static int64_t broadcastOffset(ArrayRef<int64_t> own, ArrayRef<int64_t> index) {
  int64_t offset = 0;
  size_t skip = index.size() - own.size();
  for (size_t d = 0; d < own.size(); ++d)
    offset = offset * own[d] + (own[d] == 1 ? 0 : index[skip + d]);
  return offset;
}

namespace {
/// Shapes of a 2-D (or, with a height of one, 1-D) window layer.
struct Window {
  int64_t n, c, h, w, o, oh, ow, kh, kw, sh, sw, dh, dw, top, left;
  template <typename Op> Window(Op op, ArrayRef<int64_t> kernel) {
    ArrayRef<int64_t> in = shapeOf(op->getOperand(0)),
                      out = shapeOf(op->getResult(0));
    bool flat = in.size() == 3;
    n = in[0], c = in[1], h = flat ? 1 : in[2], w = in.back();
    o = out[1], oh = flat ? 1 : out[2], ow = out.back();
    auto first = [&](ArrayRef<int64_t> v, int64_t none) {
      return flat ? none : v[0];
    };
    kh = first(kernel, 1), kw = kernel.back();
    sh = first(op.getStrides(), 1), sw = op.getStrides().back();
    dh = first(op.getDilations(), 1), dw = op.getDilations().back();
    top = first(op.getPadsLow(), 0), left = op.getPadsLow().back();
  }
};
} // namespace

template <typename Op>
static void epilogue(Op op, const std::vector<Floats> &x,
                     std::vector<double> &sum, int64_t plane, int64_t channels,
                     Floats &out) {
  size_t next = 2;
  const Floats *bias = op.getBias() ? &x[next++] : nullptr;
  const Floats *residual = op.getResidual() ? &x[next++] : nullptr;
  for (size_t i = 0; i < sum.size(); ++i) {
    double v = sum[i] + (bias ? (*bias)[i / plane % channels] : 0);
    v = apply(op.getActivation(), v);
    if (residual)
      v += (*residual)[i];
    out.push_back(float(apply(op.getResidualActivation(), v)));
  }
}

static Floats conv(nn::ConvOp op, const std::vector<Floats> &x) {
  Window q(op, shapeOf(op.getWeights()).drop_front(2));
  int64_t groups = op.getGroups(), cg = q.c / groups, og = q.o / groups;
  std::vector<double> sum(q.n * q.o * q.oh * q.ow);
  for (int64_t n = 0; n < q.n; ++n)
    for (int64_t o = 0; o < q.o; ++o)
      for (int64_t y = 0; y < q.oh; ++y)
        for (int64_t xx = 0; xx < q.ow; ++xx) {
          double s = 0;
          for (int64_t c = 0; c < cg; ++c)
            for (int64_t ky = 0; ky < q.kh; ++ky)
              for (int64_t kx = 0; kx < q.kw; ++kx) {
                int64_t iy = y * q.sh - q.top + ky * q.dh,
                        ix = xx * q.sw - q.left + kx * q.dw;
                if (iy < 0 || iy >= q.h || ix < 0 || ix >= q.w)
                  continue;
                s +=
                    double(x[0][((n * q.c + o / og * cg + c) * q.h + iy) * q.w +
                                ix]) *
                    x[1][((o * cg + c) * q.kh + ky) * q.kw + kx];
              }
          sum[((n * q.o + o) * q.oh + y) * q.ow + xx] = s;
        }
  Floats out;
  epilogue(op, x, sum, q.oh * q.ow, q.o, out);
  return out;
}

static Floats convTranspose(nn::ConvTransposeOp op,
                            const std::vector<Floats> &x) {
  Window q(op, shapeOf(op.getWeights()).drop_front(2));
  int64_t groups = op.getGroups(), cg = q.c / groups, og = q.o / groups;
  std::vector<double> sum(q.n * q.o * q.oh * q.ow);
  for (int64_t n = 0; n < q.n; ++n)
    for (int64_t c = 0; c < q.c; ++c)
      for (int64_t y = 0; y < q.h; ++y)
        for (int64_t xx = 0; xx < q.w; ++xx)
          for (int64_t o = 0; o < og; ++o)
            for (int64_t ky = 0; ky < q.kh; ++ky)
              for (int64_t kx = 0; kx < q.kw; ++kx) {
                int64_t oy = y * q.sh - q.top + ky * q.dh,
                        ox = xx * q.sw - q.left + kx * q.dw;
                if (oy < 0 || oy >= q.oh || ox < 0 || ox >= q.ow)
                  continue;
                sum[((n * q.o + c / cg * og + o) * q.oh + oy) * q.ow + ox] +=
                    double(x[0][((n * q.c + c) * q.h + y) * q.w + xx]) *
                    x[1][((c * og + o) * q.kh + ky) * q.kw + kx];
              }
  Floats out;
  epilogue(op, x, sum, q.oh * q.ow, q.o, out);
  return out;
}

static Floats pool(nn::PoolOp op, const std::vector<Floats> &x) {
  Window q(op, op.getKernel());
  bool max = op.getKind() == nn::PoolKind::max;
  ArrayRef<int64_t> high =
      op.getCountedPadsHigh() ? *op.getCountedPadsHigh() : op.getPadsHigh();
  int64_t bottom = high.size() == 1 ? 0 : high[0], right = high.back();
  Floats out;
  for (int64_t n = 0; n < q.n * q.c; ++n)
    for (int64_t y = 0; y < q.oh; ++y)
      for (int64_t xx = 0; xx < q.ow; ++xx) {
        double best = -std::numeric_limits<double>::infinity(), sum = 0,
               count = 0;
        for (int64_t ky = 0; ky < q.kh; ++ky)
          for (int64_t kx = 0; kx < q.kw; ++kx) {
            int64_t iy = y * q.sh - q.top + ky * q.dh,
                    ix = xx * q.sw - q.left + kx * q.dw;
            bool inside = iy >= 0 && iy < q.h && ix >= 0 && ix < q.w;
            if (inside || (op.getCountIncludePad() && iy < q.h + bottom &&
                           ix < q.w + right))
              count += 1;
            if (!inside)
              continue;
            float v = x[0][(n * q.h + iy) * q.w + ix];
            best = std::max(best, double(v));
            sum += v;
          }
        out.push_back(float(max ? best : sum / count));
      }
  return out;
}

static Floats matmul(nn::MatMulOp op, const std::vector<Floats> &x) {
  ArrayRef<int64_t> a = shapeOf(op.getLhs()), b = shapeOf(op.getRhs()),
                    r = shapeOf(op.getOutput());
  int64_t m = r[r.size() - 2], n = r.back(),
          k = a[a.size() - (op.getTransposeLhs() ? 2 : 1)];
  size_t next = 2;
  const Floats *bias = op.getBias() ? &x[next++] : nullptr;
  const Floats *residual = op.getResidual() ? &x[next++] : nullptr;
  int64_t batches = 1;
  for (int64_t d : r.drop_back(2))
    batches *= d;
  Floats out;
  std::vector<int64_t> index(r.size(), 0);
  for (int64_t i = 0; i < batches * m * n; ++i) {
    int64_t rest = i;
    for (int64_t d = r.size() - 1; d >= 0; --d)
      index[d] = rest % r[d], rest /= r[d];
    ArrayRef<int64_t> batch = ArrayRef<int64_t>(index).drop_back(2);
    auto base = [&](ArrayRef<int64_t> shape, int64_t matrix) {
      ArrayRef<int64_t> own = shape.drop_back(2);
      return broadcastOffset(
                 own, batch.take_back(std::max(own.size(), batch.size()))) *
             matrix;
    };
    int64_t row = index[index.size() - 2], col = index.back();
    const float *A = &x[0][base(a, m * k)], *B = &x[1][base(b, k * n)];
    double s = 0;
    for (int64_t q = 0; q < k; ++q)
      s += double(op.getTransposeLhs() ? A[q * m + row] : A[row * k + q]) *
           (op.getTransposeRhs() ? B[col * k + q] : B[q * n + col]);
    if (bias)
      s += (*bias)[broadcastOffset(shapeOf(op.getBias()), index)];
    s = apply(op.getActivation(), s);
    if (residual)
      s += (*residual)[i];
    out.push_back(float(apply(op.getResidualActivation(), s)));
  }
  return out;
}

Floats test::reference(mlir::Operation *layer,
                       const std::vector<Floats> &operands) {
  return llvm::TypeSwitch<mlir::Operation *, Floats>(layer)
      .Case([&](nn::ConvOp op) { return conv(op, operands); })
      .Case([&](nn::ConvTransposeOp op) { return convTranspose(op, operands); })
      .Case([&](nn::PoolOp op) { return pool(op, operands); })
      .Case([&](nn::MatMulOp op) { return matmul(op, operands); })
      .Default([](mlir::Operation *) -> Floats {
        std::fprintf(stderr, "reference: layer not written\n");
        std::exit(1);
      });
}

//===----------------------------------------------------------------------===//
// Cases as text
//===----------------------------------------------------------------------===//

static std::string type(ArrayRef<int64_t> shape) {
  std::string s = "tensor<";
  for (int64_t d : shape)
    s += std::to_string(d) + "x";
  return s + "f32>";
}

static std::string list(ArrayRef<int64_t> values) {
  std::string s = "[";
  for (size_t i = 0; i < values.size(); ++i)
    s += (i ? ", " : "") + std::to_string(values[i]);
  return s + "]";
}

namespace {
/// Collects operands, prints the function.
struct Writer {
  std::string args, constants;
  int count = 0;
  /// A constant; a test gives its values as it does for arguments.
  std::string addConstant(ArrayRef<int64_t> shape) {
    constants += "  %c = nn.constant dense<1.0> : " + type(shape) + "\n";
    return "%c";
  }
  std::string add(ArrayRef<int64_t> shape) {
    std::string name = "%" + std::to_string(count);
    args += (count++ ? ", " : "") + name + ": " + type(shape);
    return name;
  }
  std::string finish(const std::string &layer, const std::string &result) {
    return "func.func @main(" + args + ") -> " + result + " {\n" + constants +
           "  %r = " + layer + "\n  return %r : " + result + "\n}\n";
  }
};
} // namespace

static std::string functionAttributes(const std::string &activation,
                                      const std::string &residualActivation,
                                      std::string others = "") {
  if (!activation.empty())
    others += (others.empty() ? "" : ", ") +
              ("activation = #nn.fn<" + activation + ">");
  if (!residualActivation.empty())
    others += (others.empty() ? "" : ", ") +
              ("residual_activation = #nn.fn<" + residualActivation + ">");
  return others.empty() ? "" : " {" + others + "}";
}

std::string ConvCase::text() const {
  auto size = [&](int64_t in, int64_t k, int64_t s, int64_t d, int64_t p) {
    return transpose ? s * (in - 1) + outputPadding + d * (k - 1) + 1 - p
                     : (in + p - d * (k - 1) - 1) / s + 1;
  };
  int64_t oh = size(h, kh, strideH, dilationH, top + bottom),
          ow = size(w, kw, strideW, dilationW, left + right);
  std::vector<int64_t> in = {n, c, h, w}, out = {n, o, oh, ow};
  std::vector<int64_t> weights = {o, c / groups, kh, kw};
  if (transpose)
    weights = {c, o / groups, kh, kw};
  Writer writer;
  std::string layer = transpose ? "nn.conv_transpose " : "nn.conv ";
  std::string types = " : " + type(in) + ", " + type(weights);
  layer += writer.add(in) + ", ";
  layer += constant ? writer.addConstant(weights) : writer.add(weights);
  if (bias) {
    layer += " bias " + writer.add({o});
    types += " bias " + type({o});
  }
  if (residual) {
    layer += " residual " + writer.add(out);
    types += " residual " + type(out);
  }
  layer += " strides " + list({strideH, strideW}) + " dilations " +
           list({dilationH, dilationW}) + " pads " + list({top, left}) + ", " +
           list({bottom, right});
  if (transpose)
    layer += " output_padding " + list({outputPadding, outputPadding});
  layer += functionAttributes(
      activation, residualActivation,
      groups > 1 ? "groups = " + std::to_string(groups) + " : i64" : "");
  return writer.finish(layer + types + " -> " + type(out), type(out));
}

std::string PoolCase::text() const {
  int64_t oh = (h + low + high - dilation * (k - 1) - 1) / stride + 1,
          ow = (w + low + high - dilation * (k - 1) - 1) / stride + 1;
  Writer writer;
  std::string layer = std::string("nn.pool ") + (max ? "max " : "average ") +
                      writer.add({n, c, h, w}) + " kernel " + list({k, k}) +
                      " strides " + list({stride, stride}) + " dilations " +
                      list({dilation, dilation}) + " pads " + list({low, low}) +
                      ", " + list({high, high});
  if (countPad)
    layer += " {count_include_pad = true}";
  return writer.finish(layer + " : " + type({n, c, h, w}) + " -> " +
                           type({n, c, oh, ow}),
                       type({n, c, oh, ow}));
}

std::string MatMulCase::text() const {
  std::vector<int64_t> lhs = lhsBatch, rhs = rhsBatch,
                       out = lhsBatch.size() >= rhsBatch.size() ? lhsBatch
                                                                : rhsBatch;
  for (size_t i = 0; i < std::min(lhsBatch.size(), rhsBatch.size()); ++i)
    out[out.size() - 1 - i] = std::max(lhsBatch[lhsBatch.size() - 1 - i],
                                       rhsBatch[rhsBatch.size() - 1 - i]);
  auto push = [](std::vector<int64_t> &v, int64_t a, int64_t b, bool swap) {
    v.push_back(swap ? b : a);
    v.push_back(swap ? a : b);
  };
  push(lhs, m, k, transposeLhs);
  push(rhs, k, n, transposeRhs);
  push(out, m, n, false);
  Writer writer;
  std::string layer = "nn.matmul ",
              types = " : " + type(lhs) + ", " + type(rhs);
  layer += writer.add(lhs) + ", ";
  layer += constant ? writer.addConstant(rhs) : writer.add(rhs);
  if (bias) {
    layer += " bias " + writer.add({n});
    types += " bias " + type({n});
  }
  if (residual) {
    layer += " residual " + writer.add(out);
    types += " residual " + type(out);
  }
  std::string flags;
  if (transposeLhs)
    flags += "transpose_lhs = true";
  if (transposeRhs)
    flags += std::string(flags.empty() ? "" : ", ") + "transpose_rhs = true";
  layer += functionAttributes(activation, "", flags);
  return writer.finish(layer + types + " -> " + type(out), type(out));
}
