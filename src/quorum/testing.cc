// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/testing.h"

#include <algorithm>

#include "base/check.h"
#include "config/properties.h"
#include "controller/activation.h"
#include "image/metadata_record.h"
#include "image/metadata_version.h"
#include "log/metadata_snapshot.h"
#include "raft/control_records.h"
#include "record/builder.h"
#include "wire/messages/kraft_version_record.h"
#include "wire/messages/voters_record.h"

namespace castellan::quorum {

void World::Lane::post(std::function<void()> work) {
  const auto range = (delays_.last - delays_.first).count();
  const auto delay = delays_.first + Duration(range > 0 ? static_cast<int64_t>(world_.random_.below(static_cast<uint64_t>(range))) : 0);
  last_due_ = std::max(last_due_, world_.now_ + delay);
  work_.emplace_back(last_due_, std::move(work));
}

World::Lane& World::lane(Delays delays) { return *lanes_.emplace_back(std::make_unique<Lane>(*this, delays)); }

void World::drop(std::span<Lane* const> lanes) {
  std::erase_if(lanes_, [&](const auto& lane) { return std::ranges::find(lanes, lane.get()) != lanes.end(); });
}

void World::after(Duration delay, std::function<void()> work) { timers_.emplace(now_ + delay, std::move(work)); }

bool World::run_one(MonotonicTime until) {
  Lane* next = nullptr;
  bool is_deadline = false;
  MonotonicTime due = MonotonicTime::never();
  for (const auto& lane : lanes_) {
    if (lane->next_ < lane->work_.size() && lane->work_[lane->next_].first < due) {
      due = lane->work_[lane->next_].first;
      next = lane.get();
      is_deadline = false;
    }
    if (!lane->loop_) continue;
    const MonotonicTime deadline = std::max(lane->loop_->next_deadline(), now_);
    if (deadline < due) {
      due = deadline;
      next = lane.get();
      is_deadline = true;
    }
  }
  const bool is_timer = !timers_.empty() && timers_.begin()->first <= due;
  if (is_timer) due = std::max(timers_.begin()->first, now_);
  if ((!next && !is_timer) || due > until) return false;
  // A loop that asks for the same moment again and again would never let time go on.
  still_ = due > now_ ? 0 : still_ + 1;
  CHECK(still_ < 100'000, "time stands still at {} ns", now_.nanoseconds);
  now_ = std::max(now_, due);
  if (is_timer) {
    const auto timer = timers_.extract(timers_.begin());
    timer.mapped()();
    return true;
  }
  if (is_deadline) {
    next->loop_->wake();
    return true;
  }
  const auto work = std::move(next->work_[next->next_].second);
  if (++next->next_ == next->work_.size()) {
    next->work_.clear();
    next->next_ = 0;
  }
  work();
  return true;
}

bool World::run_until(const std::function<bool()>& done, Duration patience) {
  const MonotonicTime until = now_ + patience;
  while (!done()) {
    if (!run_one(until)) return false;
  }
  return true;
}

void World::run_for(Duration time) {
  const MonotonicTime until = now_ + time;
  while (run_one(until)) {
  }
  now_ = until;
}

TestNode::TestNode(World& world, io::MemoryFileSystem& files, Setup setup)
    : directory_id(directory_of(setup.id)), world_(world), files_(files), setup_(std::move(setup)) {
  const std::string host = host_of(setup_.id);
  std::string text = fmt::format(
      "process.roles=broker,controller\nnode.id={}\nlisteners=PLAINTEXT://{}:9092,CONTROLLER://{}:9093\n"
      "controller.listener.names=CONTROLLER\nlog.dirs=/metadata\n",
      setup_.id, host, host);
  std::string addresses;
  for (const int id : setup_.voters) {
    addresses += fmt::format("{}{}{}:9093", addresses.empty() ? "" : ",", setup_.static_voters ? std::to_string(id) + "@" : "", host_of(id));
  }
  text += fmt::format("controller.quorum.{}={}\n", setup_.static_voters ? "voters" : "bootstrap.servers", addresses);
  auto properties = config::parse_properties(text + setup_.extra_properties, "server.properties");
  CHECK(properties.has_value(), "{}", properties ? "" : properties.error().message);
  auto config = config::ServerConfig::parse(*properties);
  CHECK(config.has_value(), "{}", config ? "" : config.error().message);
  config_ = std::make_shared<const config::ServerConfig>(std::move(*config));
}

TestNode::~TestNode() { drop_lanes(); }

void TestNode::drop_lanes() {
  world_.drop(lanes_);
  lanes_.clear();
  node_.reset();
}

void TestNode::format() {
  const auto write = [&]() -> Result<void> {
    TRY_VOID(files_.make_directories(folder));
    TRY_VOID(files_.sync_directory("/"));
    TRY_VOID(files_.sync_directory(directory));
    const log::SnapshotId id = log::bootstrap_snapshot;
    TRY(const auto writer, log::SnapshotWriter::create(files_, folder, id));
    const wire::KRaftVersionRecord version{.kraft_version = 1};
    std::vector<raft::Voter> voters;
    for (const int id : setup_.voters) {
      voters.push_back({.key = {NodeId{id}, directory_of(id)}, .endpoints = {{"CONTROLLER", {host_of(id), 9093}}}, .kraft_version = raft::kraft_versions});
    }
    const auto voters_record = raft::voters_to_wire(raft::VoterSet(voters));
    const bool dynamic = !setup_.static_voters;
    TRY_VOID(writer->append(log::snapshot_header_batch(id, 0, dynamic ? &version : nullptr, dynamic ? &voters_record : nullptr, 0)));
    int64_t offset = dynamic ? 3 : 1;
    record::BatchBuilder builder({.base_offset = offset, .leader_epoch = 0});
    const auto levels = image::default_feature_levels(*image::MetadataVersion::from_level(image::MetadataVersion::level_latest_production));
    for (const auto& record : controller::bootstrap_records(levels)) {
      builder.append(0, std::nullopt, image::encode_metadata_record(record));
      ++offset;
    }
    TRY_VOID(writer->append(builder.finish()));
    TRY_VOID(writer->append(log::snapshot_footer_batch(id, offset, 0)));
    return writer->freeze();
  };
  const auto written = write();
  CHECK(written.has_value(), "{}", written ? "" : written.error().message);
}

Result<void> TestNode::start() {
  using std::chrono::microseconds;
  auto& raft = world_.lane({microseconds(1), microseconds(30)});
  auto& metadata = world_.lane({microseconds(1), microseconds(100)});
  auto& log_sync = world_.lane({microseconds(50), microseconds(3000)});
  auto& workers = world_.lane({microseconds(100), microseconds(10'000)});
  Surroundings surroundings{.files = files_, .clock = world_, .channel = setup_.channel, .raft = raft, .metadata = metadata, .log_sync = log_sync, .workers = workers};
  Options options{.config = config_, .cluster_id = cluster_id, .directory = directory, .directory_id = directory_id,
                  .controller_listeners = {{"CONTROLLER", {host_of(setup_.id), 9093}}}, .seed = world_.random().next()};
  // As a controller without a broker has it; every other node, so that both kinds meet.
  if (setup_.id % 2 == 0) options.standby_patience = std::chrono::milliseconds(5);
  options.print = [this](int level, const std::string& line) {
    if (level >= 2) lines.push_back(line);
  };
  options.fatal = [this](const std::string& reason) { fatal.push_back(reason); };
  lanes_ = {&raft, &metadata, &log_sync, &workers};
  ++life_;
  auto opened = MetadataNode::open(surroundings, std::move(options));
  if (!opened) {
    drop_lanes();
    return unexpected(opened.error());
  }
  node_ = std::move(*opened);
  raft.attach(&node_->raft_loop());
  metadata.attach(&node_->metadata_loop());
  node_->start();
  return {};
}

void TestNode::kill(Prng* random) {
  drop_lanes();
  files_.crash(random);
}

bool TestNode::stop() {
  bool done = false;
  node_->stop([&] { done = true; });
  const bool ended = world_.run_until([&] { return done; });
  drop_lanes();
  return ended;
}

Result<Bytes> TestNode::call(int16_t api_key, int16_t version, Bytes body) {
  std::optional<Result<Bytes>> answer;
  node_->handle({.api_key = api_key, .api_version = version, .body = std::move(body), .listener = "CONTROLLER"},
                [&](Result<Bytes> result) { answer = std::move(result); });
  if (!world_.run_until([&] { return answer.has_value(); })) return fail(ErrorCode::REQUEST_TIMED_OUT, "no answer to API {}", api_key);
  return std::move(*answer);
}

}  // namespace castellan::quorum
