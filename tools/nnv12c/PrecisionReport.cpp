//===- PrecisionReport.cpp - Layers in fewer bits, for people -------------===//

#include "tools/nnv12c/PrecisionReport.h"

#include "tools/common/Json.h"
#include "tools/common/TextFormat.h"

#include <algorithm>
#include <cmath>

using namespace nnv12;
using tools::format;

using quantize::PrecisionNet;

/// By PrecisionNet::Form. The last two are floats with weights of so many bits.
static constexpr const char *formNames[] = {"f32", "8 bits", "f16", "q8"};

bool PrecisionReport::hasForm(unsigned form) const {
  return std::any_of(layers.begin(), layers.end(), [&](const Layer &layer) {
    return layer.costs[form].has_value();
  });
}

/// Zeros where the layer lacks the form.
static PrecisionNet::Costs costsIn(const PrecisionReport::Layer &layer,
                                   unsigned form) {
  return layer.costs[form].value_or(PrecisionNet::Costs());
}

std::string PrecisionReport::text() const {
  std::vector<unsigned> forms;
  for (unsigned form = 0; form < PrecisionNet::forms; ++form)
    if (hasForm(form))
      forms.push_back(form);
  std::string text = "Each layer alone in 8 bits: its part of the model's time "
                     "in floats, and the error of the outputs\n";
  if (hasForm(PrecisionNet::F16Weights) || hasForm(PrecisionNet::Q8Weights))
    text = "Each layer alone in 8 bits, or with weights alone in f16 or q8: "
           "its part of the model's time in floats, and the error of the "
           "outputs\n";
  text += format("%-7s", "chosen");
  for (unsigned form : forms)
    text += format(" %8s", formNames[form]);
  for (unsigned form : forms)
    text += format(" %10s", (formNames[form] + std::string(", kB")).c_str());
  for (unsigned form : forms)
    if (form != PrecisionNet::F32)
      text += format(" %10s",
                     form == PrecisionNet::U8
                         ? "rmse"
                         : (std::string("rmse ") + formNames[form]).c_str());
  text += "  layer\n";
  for (const Layer &of : layers) {
    text += format("%-7s", formNames[of.chosen]);
    auto add = [&](unsigned form, int width, const char *number, double value) {
      text += format(" %*s", width,
                     of.costs[form] ? format(number, value).c_str() : "");
    };
    for (unsigned form : forms)
      add(form, 8, "%.4f", costsIn(of, form).time);
    for (unsigned form : forms)
      add(form, 10, "%.1f", costsIn(of, form).storage / 1e3);
    for (unsigned form : forms)
      if (form != PrecisionNet::F32)
        add(form, 10, of.isProduct ? "%.2g" : "", costsIn(of, form).error);
    text += "  " + of.name + "\n";
  }
  auto add = [&](const char *title, const std::vector<Point> &points) {
    text += format("\n%s\n%-8s %8s %10s %10s\n", title, "layers", "time",
                   "rmse", "MB");
    for (const Point &point : points)
      text += format("%-8u %8.3f %10.2g %10.2f%s\n", point.layers, point.time,
                     point.rmse, point.bytes / 1e6,
                     point.isChosen ? "  chosen" : "");
  };
  add(isOfWeights
          ? "The front, predicted: layers with rounded weights, time as a "
            "part of f32's"
          : "The front, predicted: products in 8 bits, time as a part of f32's",
      front);
  add("Choices with their plans and measured errors", tried);
  if (!isOfWeights)
    text +=
        format("\nPredicted without bounds: by the net %.3f, layer by layer "
               "%.3f, all in 8 bits %.3f\n",
               net, greedy, uniform);
  return text;
}

/// The sides of the picture's plot, in pixels.
static constexpr double left = 70, top = 20, width = 520, height = 300;

std::string PrecisionReport::svg() const {
  std::vector<Point> all = front;
  all.insert(all.end(), tried.begin(), tried.end());
  // Parts of the floats' time or bytes. The front starts with floats.
  auto valueOf = [&](const Point &point) {
    double floats = front.empty() ? 0 : front.front().bytes;
    return !isOfWeights ? point.time : floats > 0 ? point.bytes / floats : 1;
  };
  double mostError = 1e-6, leastTime = 1, mostTime = 1;
  for (const Point &point : all) {
    mostError = std::max(mostError, point.rmse);
    leastTime = std::min(leastTime, valueOf(point));
    mostTime = std::max(mostTime, valueOf(point));
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
                 "text-anchor=\"middle\">%s, as a part of f32's</text>\n",
                 top + height / 2, isOfWeights ? "bytes" : "time");
  std::string line;
  for (const Point &point : front)
    line += format("%g,%g ", x(point.rmse), y(valueOf(point)));
  text +=
      "<polyline fill=\"none\" stroke=\"#4477aa\" points=\"" + line + "\"/>\n";
  auto add = [&](const Point &point, const char *kind, const char *color) {
    text += format(
        "<circle cx=\"%g\" cy=\"%g\" r=\"%d\" fill=\"%s\"><title>%s: %u "
        "%s, time %.3f, rmse %.2g, %.2f MB</title></circle>\n",
        x(point.rmse), y(valueOf(point)), point.isChosen ? 6 : 4, color, kind,
        point.layers,
        isOfWeights ? "layers with rounded weights" : "products in 8 bits",
        point.time, point.rmse, point.bytes / 1e6);
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
      .member("weights", isOfWeights)
      .key("layers")
      .beginArray();
  for (const Layer &of : layers) {
    json.beginObject()
        .member("name", of.name)
        .member("product", of.isProduct)
        .member("in8", of.chosen == PrecisionNet::U8)
        .member("form", std::string(formNames[of.chosen]))
        .member("time", of.costs[PrecisionNet::F32]->time)
        .member("bytes", of.costs[PrecisionNet::F32]->storage);
    if (const auto &costs = of.costs[PrecisionNet::U8])
      json.member("time8", costs->time)
          .member("bytes8", costs->storage)
          .member("rmse", costs->error);
    for (unsigned form : {PrecisionNet::F16Weights, PrecisionNet::Q8Weights})
      if (const auto &costs = of.costs[form])
        json.key(formNames[form])
            .beginObject()
            .member("time", costs->time)
            .member("bytes", costs->storage)
            .member("rmse", costs->error)
            .endObject();
    json.endObject();
  }
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
