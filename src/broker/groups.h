// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The shell of the group coordinator: reads the partitions of __consumer_offsets that this broker leads into it, writes its
// records, tells it of the high watermark and of time, and sends its answers.
//
// Owner: Broker. One loop. A partition is read in slices, so that a large one does not keep others waiting.

#pragma once

#include <map>
#include <memory>

#include "broker/deadlines.h"
#include "broker/request.h"
#include "group/coordinator.h"

namespace castellan::image {
struct Image;
}

namespace castellan::broker {

class Broker;
class Partition;

class Groups {
 public:
  explicit Groups(Broker& broker);
  ~Groups();

  void handle(RequestPtr request, group::ApiRequestBody body);
  // A partition of __consumer_offsets: this broker begins or ceases to lead it.
  void on_leadership(Partition& partition, bool leads);
  void on_image(const image::Image* before, const image::Image& after);
  // Settings have changed.
  void configure();

 private:
  struct Load {
    int32_t leader_epoch = -1;
    int64_t next_offset = 0;
  };

  void step(group::CoordinatorInput input);
  void perform(group::AppendTo& append);
  void load_slice(int32_t partition);
  Result<bool> load_some(Partition& partition, Load& load, group::Shard& shard);
  void arm();

  Broker& broker_;
  std::unique_ptr<group::Coordinator> coordinator_;
  std::map<int32_t, Load> loading_;
  std::map<group::Token, RequestPtr> waiting_;
  group::Token last_token_ = 0;
  bool performing_ = false;
  Deadlines::Id alarm_{};
  MonotonicTime alarm_due_ = MonotonicTime::never();
};

}  // namespace castellan::broker
