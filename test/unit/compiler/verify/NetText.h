//===- NetText.h - Text of small nets of pictures ---------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_VERIFY_NETTEXT_H
#define NNV12_TEST_UNIT_COMPILER_VERIFY_NETTEXT_H

#include <cstdint>
#include <string>
#include <vector>

namespace nnv12::test {

/// The text of a model in MLIR, layer by layer. Layers are located by name.
class NetText {
public:
  /// A square picture.
  struct Picture {
    std::string value;
    int64_t channels, size;
  };

  /// The model reads `batch` pictures at once.
  NetText(int64_t batch, int64_t channels, int64_t size)
      : batch(batch), input{"%x", channels, size} {}

  Picture conv(const std::string &name, const Picture &from, int64_t channels,
               int64_t kernel, int64_t stride = 1, int64_t groups = 1) {
    Picture to = next(channels, (from.size - 1) / stride + 1);
    int64_t pad = kernel / 2,
            behind = (to.size - 1) * stride + kernel - pad - from.size;
    std::string weights =
        tensor({channels, from.channels / groups, kernel, kernel});
    body += "%w" + to.value.substr(1) + " = nn.constant dense<0.0" +
            std::to_string(number) + "5> : " + weights + " -> " + weights +
            "\n" + to.value + " = nn.conv " + from.value + ", %w" +
            to.value.substr(1) + " strides " + pair(stride) + " dilations " +
            pair(1) + " pads " + pair(pad) + ", " + pair(behind) +
            " {groups = " + std::to_string(groups) + " : i64} : " + type(from) +
            ", " + weights + " -> " + type(to) + at(name);
    return to;
  }
  /// The greatest of 3 x 3.
  Picture pool(const std::string &name, const Picture &from) {
    Picture to = next(from.channels, from.size);
    body += to.value + " = nn.pool max " + from.value + " kernel " + pair(3) +
            " strides " + pair(1) + " dilations " + pair(1) + " pads " +
            pair(1) + ", " + pair(1) + " : " + type(from) + " -> " + type(to) +
            at(name);
    return to;
  }
  Picture exp(const std::string &name, const Picture &from) {
    Picture to = next(from.channels, from.size);
    body += to.value + " = nn.unary " + from.value + " <exp> : " + type(from) +
            " -> " + type(to) + at(name);
    return to;
  }
  Picture add(const std::string &name, const Picture &a, const Picture &b) {
    Picture to = next(a.channels, a.size);
    body += to.value + " = nn.binary add " + a.value + ", " + b.value + " : " +
            type(a) + ", " + type(b) + " -> " + type(to) + at(name);
    return to;
  }
  Picture concat(const std::string &name, const Picture &a, const Picture &b) {
    Picture to = next(a.channels + b.channels, a.size);
    body += to.value + " = nn.concat " + a.value + ", " + b.value +
            " axis 1 : " + type(a) + ", " + type(b) + " -> " + type(to) +
            at(name);
    return to;
  }
  /// Along each row.
  Picture softmax(const std::string &name, const Picture &from) {
    Picture to = next(from.channels, from.size);
    body += to.value + " = nn.softmax " + from.value +
            " axis 3 : " + type(from) + " -> " + type(to) + at(name);
    return to;
  }

  /// The model with these outputs.
  std::string text(const std::vector<Picture> &outputs) const {
    std::string values, types;
    for (const Picture &output : outputs) {
      const char *separator = values.empty() ? "" : ", ";
      values += separator + output.value;
      types += separator + type(output);
    }
    return "func.func @main(%x: " + type(input) + ") -> (" + types + ") {\n" +
           body + "return " + values + " : " + types + "\n}\n";
  }

private:
  Picture next(int64_t channels, int64_t size) {
    return {"%v" + std::to_string(number++), channels, size};
  }
  static std::string tensor(const std::vector<int64_t> &shape) {
    std::string text = "tensor<";
    for (int64_t d : shape)
      text += std::to_string(d) + "x";
    return text + "f32>";
  }
  std::string type(const Picture &p) const {
    return tensor({batch, p.channels, p.size, p.size});
  }
  static std::string pair(int64_t n) {
    return "[" + std::to_string(n) + ", " + std::to_string(n) + "]";
  }
  static std::string at(const std::string &name) {
    return " loc(\"" + name + "\")\n";
  }

  const int64_t batch;
  std::string body;
  unsigned number = 0;

public:
  const Picture input;
};

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_VERIFY_NETTEXT_H
