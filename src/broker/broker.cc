// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/broker.h"

#include <spdlog/spdlog.h>

#include "broker/api_table.h"
#include "broker/compaction.h"
#include "broker/groups.h"
#include "broker/lifecycle.h"
#include "broker/maintenance.h"
#include "broker/metrics.h"
#include "broker/names.h"
#include "broker/partitions.h"
#include "broker/producer_ids.h"
#include "broker/topic_creation.h"
#include "broker/verification.h"
#include "image/image.h"
#include "partition/fetch_session.h"

namespace castellan::broker {

Broker::Broker(Surroundings surroundings, Options options)
    : surroundings_(surroundings),
      options_(std::move(options)),
      image_(std::make_shared<image::Image>()),
      effective_(options_.server),
      prng_(options_.seed),
      own_registry_(options_.metrics ? nullptr : std::make_unique<metrics::Registry>()),
      metrics_(std::make_unique<Metrics>(options_.metrics ? *options_.metrics : *own_registry_)),
      partitions_(std::make_unique<Partitions>(*this)),
      groups_(std::make_unique<Groups>(*this)),
      fetch_sessions_(std::make_unique<partition::FetchSessions>(
          static_cast<size_t>(options_.server->values.integer("max.incremental.fetch.session.cache.slots")), prng_.next())),
      lifecycle_(std::make_unique<Lifecycle>(*this)),
      maintenance_(std::make_unique<Maintenance>(*this)),
      compaction_(std::make_unique<Compaction>(*this)),
      producer_ids_(std::make_unique<ProducerIds>(*this)),
      topic_creation_(std::make_unique<TopicCreation>(*this)),
      verification_(std::make_unique<Verification>(*this)) {
  deadlines_.on_earlier = [this](MonotonicTime due) { surroundings_.loop.wake_at(due); };
  partitions_->on_leadership = [this](Partition& partition, bool leads) {
    if (partition.topic() == offsets_topic) groups_->on_leadership(partition, leads);
  };
}

Broker::~Broker() = default;

Result<void> Broker::open_directories() { return partitions_->open_directories(); }

void Broker::start(std::function<void()> ready, std::function<void(std::string)> failed) {
  partitions_->on_all_directories_failed = failed;
  groups_->configure();
  lifecycle_->start(std::move(ready), std::move(failed));
}

void Broker::on_image(ImagePtr image) {
  if (stopped_ || image->last_offset < image_->last_offset) return;
  const ImagePtr before = std::exchange(image_, std::move(image));
  const bool settings_changed = apply_dynamic_settings(*before);
  // Until this node's registration is in it, the metadata says nothing about what this broker keeps.
  const auto* self = image_->cluster.broker(node_id());
  if (!following_ && (!self || self->incarnation_id != options_.incarnation)) return;
  const bool first = !std::exchange(following_, true);
  groups_->on_image(first ? nullptr : before.get(), *image_);
  partitions_->on_image(first ? nullptr : before.get(), *image_);
  if (settings_changed) partitions_->on_settings_changed();
  if (first) {
    maintenance_->start();
    compaction_->start();
    verification_->start();
  }
  lifecycle_->on_image();
}

bool Broker::apply_dynamic_settings(const image::Image& before) {
  const auto& cluster = image_->configs.of_cluster();
  const auto& own = image_->configs.of_broker(node_id());
  if (cluster == before.configs.of_cluster() && own == before.configs.of_broker(node_id())) return false;
  effective_ = std::make_shared<config::ServerConfig>(options_.server->with_dynamic(cluster, own));
  for (size_t i = options_.server->warnings.size(); i < effective_->warnings.size(); ++i) {
    metrics_->metadata_errors.add();
    spdlog::warn("{}", effective_->warnings[i]);
  }
  groups_->configure();
  if (options_.settings_changed) options_.settings_changed(*effective_);
  return true;
}

void Broker::handle(RequestPtr request) {
  if (stopped_) return dropped_.push_back(std::move(request));
  const auto* api = find_api(static_cast<int16_t>(request->start().api->key));
  if (!api) return request->close(fmt::format("{} is not served here", request->start().api->name));
  if (request->start().version_supported && !api->served.contains(request->version())) {
    return request->close(fmt::format("{} version {} is not served, {} to {} are", request->start().api->name, request->version(),
                                      api->served.first, api->served.last));
  }
  api->handle(*this, std::move(request));
}

void Broker::tick() {
  if (!stopped_) deadlines_.run_due(now().monotonic);
}

void Broker::update_metrics() { metrics_->update(*this); }

std::string Broker::not_ready_because() const { return stopped_ ? "the broker has stopped" : lifecycle_->not_ready_because(); }

void Broker::begin_shutdown(std::function<void()> done) {
  lifecycle_->leave(
      [this, done = std::move(done)] {
        stopped_ = true;
        compaction_->stop();
        verification_->stop();
        // What the workers were given is done before the logs are closed under it.
        surroundings_.workers.run([this, done] {
          surroundings_.loop.post([this, done] {
            partitions_->close(lifecycle_->broker_epoch());
            done();
          });
        });
      },
      server().milliseconds("controller.quorum.request.timeout.ms") * 2);
}

void Broker::complain(std::string line) {
  if (auto admitted = complaints_.admit(now().monotonic, std::move(line)); !admitted.empty()) spdlog::error("{}", admitted);
}

void Broker::note_damage(Partition& partition) {
  if (partition.offline()) return;
  print(partition.log()->take_notices());
  const size_t found = partition.log()->damaged_ranges().size();
  if (found > partition.damage_noted) metrics_->damage_found.add(found - partition.damage_noted);
  partition.damage_noted = found;
}

void Broker::print(const std::vector<log::Notice>& notices) {
  for (const auto& notice : notices) {
    if (notice.level == log::Notice::Level::error) {
      complain(notice.text);
      continue;
    }
    const auto level = notice.level == log::Notice::Level::info      ? spdlog::level::info
                       : notice.level == log::Notice::Level::warning ? spdlog::level::warn
                                                                     : spdlog::level::debug;
    spdlog::log(level, "{}", notice.text);
  }
}

}  // namespace castellan::broker
