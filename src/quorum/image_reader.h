// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// How a thread gets the metadata: a slot with the latest image, and a call that says there is a newer one. Nobody queues images:
// a slow reader skips steps and compares with what it had.
//
//   ImageReader reader([&] { loop.post([&] { on_news(); }); });
//   node.add_reader(&reader);
//   void on_news() { if (auto image = reader.take()) { apply(*image); reader.applied(*image); } }
//
// `applied` is what lets replies go: an answer that says "done" leaves this node only when its readers have applied it.
// Thread: take and applied on the reader's; the rest is the metadata loop's.

#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "base/ids.h"

namespace castellan::image {
struct Image;
}

namespace castellan::quorum {

using ImagePtr = std::shared_ptr<const image::Image>;

class ImageReader {
 public:
  // `news` may be called on any thread, must not block, and is called at most once between two takes.
  explicit ImageReader(std::function<void()> news) : news_(std::move(news)) {}

  // The latest image, or nothing when it was taken already.
  ImagePtr take();
  void applied(const image::Image& image);

 private:
  friend class ImagePublisher;
  void set(ImagePtr image);

  std::function<void()> news_;
  std::function<void(Offset)> on_applied_;  // set while the reader is added
  std::mutex mutex_;
  ImagePtr latest_;
  bool told_ = false;
};

}  // namespace castellan::quorum
