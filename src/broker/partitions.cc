// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/partitions.h"

#include <spdlog/spdlog.h>

#include "broker/broker.h"
#include "broker/lifecycle.h"
#include "broker/metrics.h"
#include "broker/names.h"
#include "config/alter.h"
#include "image/image.h"
#include "log/partition_metadata.h"

namespace castellan::broker {

namespace {

log::TopicPartition log_name(const Partition& partition) { return {partition.topic(), partition.index()}; }

// A folder for a partition that has no records yet; not synced.
Result<void> prepare_folder(io::FileSystem& files, const std::string& folder, TopicId topic_id) {
  TRY_VOID(files.make_directories(folder));
  TRY(const auto file, files.open(io::join(folder, log::partition_metadata_name), io::OpenMode::create));
  return file->write_at(0, as_bytes(fmt::format("version: 0\ntopic_id: {}", topic_id)));
}

}  // namespace

Partition* Partitions::hosted(const PartitionId& id) {
  const auto found = partitions_.find(id);
  return found == partitions_.end() ? nullptr : found->second.get();
}

Partitions::Found Partitions::find(TopicId topic, int32_t index) {
  if (auto* partition = hosted({topic, index})) return {partition, ErrorCode::NONE};
  const auto* known = broker_.image().topics.topic(topic);
  if (!known) return {nullptr, ErrorCode::UNKNOWN_TOPIC_ID};
  return {nullptr, known->partition(index) ? ErrorCode::NOT_LEADER_OR_FOLLOWER : ErrorCode::UNKNOWN_TOPIC_OR_PARTITION};
}

Partitions::Found Partitions::find(std::string_view topic, int32_t index) {
  const auto* known = broker_.image().topics.by_name(topic);
  if (!known) return {nullptr, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION};
  return find(known->id, index);
}

void Partitions::on_image(const image::Image* before, const image::Image& after) {
  const NodeId self = broker_.node_id();
  if (!before) {
    set_strays_aside(after);
    for (const auto& [key, nothing] : after.topics.of_broker(self)) {
      const auto* topic = after.topics.topic(key.topic);
      const auto* metadata = topic->partition(key.partition);
      if (image::contains(metadata->replicas(), self)) update(*topic, key.partition, *metadata, true);
    }
    forget_departed();
    return;
  }
  diff_partitions(before->topics, after.topics, [&](const image::Topic& topic, const image::PartitionKey& key, const image::Partition*, const image::Partition* now) {
    if (now && image::contains(now->replicas(), self)) {
      update(topic, key.partition, *now, false);
    } else {
      remove({key.topic, key.partition});
    }
  });
  if (!before->configs.resources.same_version(after.configs.resources)) {
    diff(before->configs.resources, after.configs.resources, [&](const image::ConfigResource& resource, const image::ConfigSettings*, const image::ConfigSettings*) {
      if (resource.type != static_cast<int8_t>(config::ResourceType::TOPIC)) return;
      const auto* topic = after.topics.by_name(resource.name);
      if (!topic) return;
      for (const auto& [index, metadata] : topic->partitions) {
        if (auto* partition = hosted({topic->id, index})) apply_config(*partition);
      }
    });
  }
}

void Partitions::on_settings_changed() {
  for (auto& [id, partition] : partitions_) apply_config(*partition);
}

void Partitions::apply_config(Partition& partition) {
  const auto& server = broker_.server();
  partition.set_config(config::topic_config(server, broker_.image().configs.of_topic(partition.topic())),
                       server.values.integer("producer.id.expiration.ms"));
}

void Partitions::update(const image::Topic& topic, int32_t index, const image::Partition& metadata, bool old) {
  const PartitionId id{topic.id, index};
  auto& slot = partitions_[id];
  const bool fresh = !slot;
  if (fresh) {
    slot = std::make_unique<Partition>(id, topic.name);
    apply_config(*slot);
    open_or_create(*slot, metadata, old);
  }
  Partition& partition = *slot;
  if (!fresh && metadata.partition_epoch() <= partition.metadata().partition_epoch) return;  // B280
  const bool led = partition.leads();
  const int32_t epoch_before = partition.leader_epoch();
  const bool leads = metadata.leader() == broker_.node_id();
  partition.set_metadata(metadata.state(), leads);
  const bool new_epoch = leads && (fresh || epoch_before != partition.leader_epoch());
  if (auto* log = partition.log(); log && leads) {
    const auto latest = log->leader_epochs().latest();
    if (!latest || latest->epoch < partition.leader_epoch()) {
      if (auto started = log->start_leader_epoch(partition.leader_epoch()); !started) on_storage_error(partition, started.error());
    }
    if (partition.log()) partition.after_append();
  }
  if (partition.is_internal() && on_leadership && (new_epoch || led != leads)) on_leadership(partition, leads);
  partition.waiting.look();
}

void Partitions::open_or_create(Partition& partition, const image::Partition& metadata, bool old) {
  auto& files = broker_.surroundings().files;
  const auto name = log_name(partition);
  const WallTime now = broker_.now().wall;
  const auto open = [&](LogDirectories::Directory& directory, log::OpenOptions options) {
    ++directory.partitions;
    options.on_damage = metadata.replicas().size() <= 1 ? log::OnDamage::keep : log::OnDamage::cut;
    auto opened = log::Log::open(files, directory.state->folder_path(name), log_config(partition.config(), broker_.server().values.integer("producer.id.expiration.ms")), options);
    if (!opened) {
      spdlog::error("{} is offline: {}", partition.name(), opened.error().message);
      broker_.metrics().metadata_errors.add();
      return partition.set_offline(opened.error().message);
    }
    partition.set_log(std::move(*opened), directory.path);
    broker_.note_damage(partition);
    const auto assigned = metadata.directory_of(broker_.node_id());
    if (assigned != directory.id && !directory.id.value.is_zero() && broker_.image().features.version_or_minimum().directory_assignment_supported()) {
      assignments_.report(partition.id(), directory.id);
    }
  };
  const auto offline = [&](std::string reason) {
    spdlog::error("{} is offline: {}", partition.name(), reason);
    broker_.metrics().metadata_errors.add();
    partition.set_offline(std::move(reason));
  };

  for (auto& directory : directories_.all()) {
    if (!directory->online() || !files.is_directory(directory->state->folder_path(name))) continue;
    const auto folder = directory->state->folder_path(name);
    auto topic_id = log::read_partition_metadata(files, folder);
    if (topic_id && *topic_id && **topic_id != partition.id().topic) {
      return offline(fmt::format("{} says that it belongs to topic id {}, the metadata says {}; move the folder away or correct its {}", folder,
                                 **topic_id, partition.id().topic, log::partition_metadata_name));
    }
    if (!topic_id || !*topic_id) {
      // Lost or unreadable: the metadata tells the id, since the name fits and there is no other claim to it.
      spdlog::warn("{}/{} is {}; written anew with topic id {} of the metadata", folder, log::partition_metadata_name,
                   topic_id ? "missing" : "not readable", partition.id().topic);
      if (auto written = log::write_partition_metadata(files, folder, partition.id().topic); !written) return offline(written.error().message);
    }
    return open(*directory, directory->state->open_options(name, now));
  }
  for (auto& directory : directories_.all()) {
    if (directory->online() && directory->state->made(partition.id().topic, partition.index())) {
      return offline(fmt::format("its folder {} is lost. To go on without its records make the folder by hand and restart, or delete the topic",
                                 directory->state->folder_path(name)));
    }
  }
  const auto assigned = metadata.directory_of(broker_.node_id());
  auto* directory = directories_.by_id(assigned);
  const bool anywhere = assigned == directory_unassigned || assigned == directory_migrating || assigned == directory_lost;
  // While a directory is away, a partition without a folder may have it there: an empty one elsewhere would hide its records. The
  // assignment alone does not tell, since it is reported a while after the folder was made.
  const bool some_away = std::ranges::any_of(directories_.all(), [](const auto& one) { return !one->online(); });
  if (!directory && some_away && (old || !anywhere)) {
    return offline("no online log directory has it, and a log directory is offline");
  }
  if (directory && !directory->online()) return offline(fmt::format("log directory {} is offline", directory->path));
  if (!directory) directory = directories_.roomiest();
  if (!directory) return offline("no log directory is left");
  if (auto made = prepare_folder(files, directory->state->folder_path(name), partition.id().topic); !made) {
    offline(made.error().message);
    if (made.error().code == ErrorCode::KAFKA_STORAGE_ERROR) fail_directory(*directory, made.error().message);
    return;
  }
  open(*directory, {.clean_shutdown = true, .recovery_point = 0, .log_start_offset = 0, .high_watermark = -1, .on_damage = {}, .now = now});
}

void Partitions::remove(const PartitionId& id) {
  constexpr size_t deleted_remembered = 10'000;
  if (!broker_.image().topics.topic(id.topic)) {
    if (deleted_.size() >= deleted_remembered) deleted_.clear();
    deleted_.insert(id.topic);
  }
  auto found = partitions_.extract(id);
  if (found.empty()) return;
  auto partition = std::move(found.mapped());
  assignments_.forget(id);
  const bool led = partition->leads();
  partition->set_metadata({}, false);
  if (led && partition->is_internal() && on_leadership) on_leadership(*partition, false);
  partition->waiting.look();
  auto log = partition->take_log();
  auto* directory = directories_.by_path(partition->directory());
  if (!log || !directory || !directory->online()) return;
  --directory->partitions;
  directory->state->forget(log_name(*partition));
  if (auto forgotten = directory->state->forget_made(id.topic, id.index); !forgotten) spdlog::warn("{}", forgotten.error().message);
  auto renamed = log->rename_for_deletion(broker_.prng().uuid());
  if (!renamed) {
    spdlog::error("{} is deleted, but its folder could not be renamed: {}", partition->name(), renamed.error().message);
    return;
  }
  spdlog::info("{} is deleted; its folder is {} until its files are removed", partition->name(), *renamed);
  log.reset();
  remove_folder_later(*renamed, partition->config().file_delete_delay_ms);
}

void Partitions::remove_folder_later(std::string path, int64_t delay_ms) {
  broker_.deadlines().add(broker_.now().monotonic + std::chrono::milliseconds(std::max<int64_t>(delay_ms, 0)), [this, path = std::move(path)] {
    auto& files = broker_.surroundings().files;
    broker_.surroundings().workers.run([&files, path] {
      if (auto removed = files.remove_all(path); !removed) spdlog::warn("{}", removed.error().message);
    });
  });
}

void Partitions::set_strays_aside(const image::Image& image) {
  auto& files = broker_.surroundings().files;
  for (auto& directory : directories_.all()) {
    if (!directory->online()) continue;
    for (const auto& folder : directory->state->folders()) {
      const auto path = io::join(directory->path, folder.name);
      if (folder.kind == log::FolderKind::deleted) {
        remove_folder_later(path, broker_.server().values.integer("log.segment.delete.delay.ms"));
        continue;
      }
      if (folder.kind != log::FolderKind::live) continue;
      auto id = log::read_partition_metadata(files, path);
      const auto* topic = id && *id ? image.topics.topic(**id) : image.topics.by_name(folder.partition.topic);
      const auto* metadata = topic ? topic->partition(folder.partition.partition) : nullptr;
      // Another topic's id in a folder whose name the metadata knows: that is looked at when the partition is opened.
      const auto* named = image.topics.partition(folder.partition.topic, folder.partition.partition);
      if ((metadata && image::contains(metadata->replicas(), broker_.node_id())) ||
          (named && id && *id && image::contains(named->replicas(), broker_.node_id()))) {
        continue;
      }
      const auto stray = io::join(directory->path, log::folder_name(folder.partition, log::FolderKind::stray, broker_.prng().uuid()));
      spdlog::warn("{} belongs to no partition of this broker; it is kept as {}", path, stray);
      if (auto renamed = files.rename(path, stray); !renamed) spdlog::error("{}", renamed.error().message);
      if (auto synced = files.sync_directory(directory->path); !synced) spdlog::error("{}", synced.error().message);
      directory->state->forget(folder.partition);
    }
  }
}

void Partitions::forget_departed() {
  // Entries of partitions that went while this node was down: nothing is missing there.
  for (auto& directory : directories_.all()) {
    if (!directory->online()) continue;
    const auto made = directory->state->made_partitions();
    for (const auto& [topic, index] : made) {
      if (hosted({topic, index})) continue;
      if (auto forgotten = directory->state->forget_made(topic, index); !forgotten) spdlog::warn("{}", forgotten.error().message);
    }
  }
}

void Partitions::on_storage_error(Partition& partition, const Error& error) {
  auto* directory = directories_.by_path(partition.directory());
  if (!directory || !directory->online()) return;
  fail_directory(*directory, error.message);
}

void Partitions::fail_directory(LogDirectories::Directory& directory, const std::string& reason) {
  if (!directory.online()) return;
  directories_.set_offline(directory, reason);
  for (auto& [id, partition] : partitions_) {
    if (partition->directory() != directory.path || partition->offline()) continue;
    if (partition->leads() && partition->is_internal() && on_leadership) on_leadership(*partition, false);
    retired_logs_.push_back(partition->take_log());  // the caller may still stand in one of its functions
    partition->set_offline(fmt::format("log directory {} is offline: {}", directory.path, reason));
  }
  broker_.surroundings().loop.post([this] { retired_logs_.clear(); });
  if (!directories_.roomiest()) {
    CHECK(on_all_directories_failed, "every log directory has failed, the last one with {}", reason);
    return on_all_directories_failed(fmt::format("every log directory has failed, the last one {}: {}", directory.path, reason));
  }
  broker_.lifecycle().hurry();
}

void Partitions::note_offsets(LogDirectories::Directory& directory) {
  for (auto& [id, partition] : partitions_) {
    auto* log = partition->log();
    if (!log || partition->directory() != directory.path) continue;
    const auto name = log_name(*partition);
    directory.state->recovery_points[name] = log->recovery_point();
    directory.state->high_watermarks[name] = log->high_watermark();
    const auto segments = log->segments();
    if (!segments.empty() && log->log_start_offset() > segments.front().base_offset) {
      directory.state->log_starts[name] = log->log_start_offset();
    } else {
      directory.state->log_starts.erase(name);
    }
  }
}

Result<void> Partitions::seal(Partition& partition) {
  if (partition.sealed) return {};
  auto* directory = directories_.by_path(partition.directory());
  if (!directory || !directory->online()) return fail(ErrorCode::KAFKA_STORAGE_ERROR, "log directory {} is offline", partition.directory());
  if (!directory->state->made(partition.id().topic, partition.index())) {
    TRY_VOID(directory->state->make_partition(log_name(partition), partition.id().topic));
  }
  partition.sealed = true;
  return {};
}

Result<void> Partitions::store_log_start(Partition& partition) {
  auto* directory = directories_.by_path(partition.directory());
  if (!directory || !directory->online()) return fail(ErrorCode::KAFKA_STORAGE_ERROR, "log directory {} is offline", partition.directory());
  directory->state->log_starts[log_name(partition)] = partition.log()->log_start_offset();
  return directory->state->write_log_starts();
}

void Partitions::close(int64_t broker_epoch) {
  for (auto& directory : directories_.all()) {
    if (!directory->online()) continue;
    bool clean = true;
    for (auto& [id, partition] : partitions_) {
      auto* log = partition->log();
      if (!log || partition->directory() != directory->path) continue;
      if (auto closed = log->close(); !closed) {
        spdlog::error("{} was not closed cleanly: {}", partition->name(), closed.error().message);
        clean = false;
      }
    }
    note_offsets(*directory);
    const auto keep = [&](const Result<void>& written) {
      if (written) return;
      spdlog::error("{}", written.error().message);
      clean = false;
    };
    keep(directory->state->write_recovery_points());
    keep(directory->state->write_log_starts());
    keep(directory->state->write_high_watermarks());
    if (clean) keep(directory->state->end(broker_epoch));
  }
  partitions_.clear();
}

}  // namespace castellan::broker
