//===- PrecisionReport.cpp - Layers in 8 bits, for people -----------------===//

#include "tools/nnv12c/PrecisionReport.h"

#include "tools/common/Json.h"
#include "tools/common/TextFormat.h"

#include <algorithm>
#include <cmath>

using namespace nnv12;
using tools::format;

std::string PrecisionReport::text() const {
  std::string text = "Each layer alone in 8 bits: its part of the model's time "
                     "in floats, and the error of the outputs\n";
  text += format("%-7s %8s %8s %10s %10s %10s  %s\n", "chosen", "f32", "8 bits",
                 "f32, kB", "8 bits, kB", "rmse", "layer");
  for (const Layer &of : layers)
    text += format("%-7s %8.4f %8.4f %10.1f %10.1f %10s  %s\n",
                   of.isIn8Bits ? "8 bits" : "f32", of.time[0], of.time[1],
                   of.bytes[0] / 1e3, of.bytes[1] / 1e3,
                   of.isProduct ? format("%.2g", of.rmse).c_str() : "",
                   of.name.c_str());
  auto add = [&](const char *title, const std::vector<Point> &points) {
    text += format("\n%s\n%-8s %8s %10s %10s\n", title, "layers", "time",
                   "rmse", "MB");
    for (const Point &point : points)
      text += format("%-8u %8.3f %10.2g %10.2f%s\n", point.layers, point.time,
                     point.rmse, point.bytes / 1e6,
                     point.isChosen ? "  chosen" : "");
  };
  add("The front, predicted: products in 8 bits, time as a part of f32's",
      front);
  add("Choices with their plans and measured errors", tried);
  text += format("\nPredicted without bounds: by the net %.3f, layer by layer "
                 "%.3f, all in 8 bits %.3f\n",
                 net, greedy, uniform);
  return text;
}

/// The sides of the picture's plot, in pixels.
static constexpr double left = 70, top = 20, width = 520, height = 300;

std::string PrecisionReport::svg() const {
  std::vector<Point> all = front;
  all.insert(all.end(), tried.begin(), tried.end());
  double mostError = 1e-6, leastTime = 1, mostTime = 1;
  for (const Point &point : all) {
    mostError = std::max(mostError, point.rmse);
    leastTime = std::min(leastTime, point.time);
    mostTime = std::max(mostTime, point.time);
  }
  leastTime = std::floor(leastTime * 10) / 10;
  mostTime = std::max(std::ceil(mostTime * 10) / 10, leastTime + 0.1);
  auto x = [&](double error) { return left + width * error / mostError; };
  auto y = [&](double time) {
    return top + height * (mostTime - time) / (mostTime - leastTime);
  };
  std::string text =
      format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n"
             "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" "
             "stroke=\"#888\"/>\n",
             left + width + 20, top + height + 50, left, top, width, height);
  for (int i = 0; i <= 4; ++i) {
    double time = leastTime + (mostTime - leastTime) * i / 4,
           error = mostError * i / 4;
    text += format("<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%.2f</text>\n",
                   left - 6, y(time) + 4, time);
    text +=
        format("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%.2g</text>\n",
               x(error), top + height + 18, error);
  }
  text += format("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">rmse of the "
                 "outputs</text>\n",
                 left + width / 2, top + height + 38);
  text += format("<text transform=\"translate(16 %g) rotate(-90)\" "
                 "text-anchor=\"middle\">time, as a part of f32's</text>\n",
                 top + height / 2);
  std::string line;
  for (const Point &point : front)
    line += format("%g,%g ", x(point.rmse), y(point.time));
  text +=
      "<polyline fill=\"none\" stroke=\"#4477aa\" points=\"" + line + "\"/>\n";
  auto add = [&](const Point &point, const char *kind, const char *color) {
    text += format(
        "<circle cx=\"%g\" cy=\"%g\" r=\"%d\" fill=\"%s\"><title>%s: %u "
        "products in 8 bits, time %.3f, rmse %.2g, %.2f MB</title></circle>\n",
        x(point.rmse), y(point.time), point.isChosen ? 6 : 4, color, kind,
        point.layers, point.time, point.rmse, point.bytes / 1e6);
  };
  for (const Point &point : front)
    add(point, "predicted", "#4477aa");
  for (const Point &point : tried)
    add(point, point.isChosen ? "chosen" : "measured",
        point.isChosen ? "#cc3311" : "#ee7733");
  return text + "</svg>\n";
}

std::string PrecisionReport::json(bool isOneLine) const {
  tools::Json json;
  json.beginObject()
      .member("net", net)
      .member("greedy", greedy)
      .member("uniform", uniform)
      .key("layers")
      .beginArray();
  for (const Layer &of : layers)
    json.beginObject()
        .member("name", of.name)
        .member("product", of.isProduct)
        .member("in8", of.isIn8Bits)
        .member("time", of.time[0])
        .member("time8", of.time[1])
        .member("bytes", of.bytes[0])
        .member("bytes8", of.bytes[1])
        .member("rmse", of.rmse)
        .endObject();
  json.endArray();
  auto add = [&](const char *list, const std::vector<Point> &points) {
    json.key(list).beginArray();
    for (const Point &point : points)
      json.beginObject()
          .member("layers", uint64_t(point.layers))
          .member("time", point.time)
          .member("rmse", point.rmse)
          .member("bytes", point.bytes)
          .member("chosen", point.isChosen)
          .endObject();
    json.endArray();
  };
  add("front", front);
  add("tried", tried);
  json.endObject();
  return isOneLine ? json.line() : json.text();
}
