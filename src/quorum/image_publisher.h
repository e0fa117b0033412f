// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Hands the latest image to the readers, and knows how far all of them are. The last owner of a large image should be the metadata
// thread, since freeing one takes a while: images that readers have let go come back here with their `applied`.
//
// Thread: the metadata loop's; add and remove any.

#pragma once

#include <deque>
#include <map>
#include <mutex>

#include "image/image.h"
#include "quorum/executor.h"
#include "quorum/image_reader.h"

namespace castellan::quorum {

class ImagePublisher {
 public:
  // `applied` is called on the executor whenever a reader has moved on or has gone.
  ImagePublisher(Executor& executor, std::function<void()> applied);

  void publish(ImagePtr image);
  ImagePtr latest() const;
  void add(ImageReader* reader);
  void remove(ImageReader* reader);
  // Every reader has applied an image that is at this offset or later.
  bool all_at(Offset last_offset) const;

 private:
  void on_applied(ImageReader* reader, Offset last_offset);

  Executor& executor_;
  std::function<void()> applied_;
  mutable std::mutex mutex_;
  ImagePtr latest_ = std::make_shared<image::Image>();
  std::map<ImageReader*, Offset> readers_;  // to the last offset applied
  std::deque<ImagePtr> held_;               // images that readers may still have, oldest first
};

}  // namespace castellan::quorum
