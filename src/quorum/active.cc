// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The metadata loop while this node leads: requests become proposals, commits become answers.

#include <algorithm>

#include "base/planted_fault.h"
#include "image/metadata_record.h"
#include "quorum/metadata_loop.h"
#include "record/builder.h"
#include "wire/api.h"
#include "wire/codec.h"
#include "wire/messages/broker_heartbeat_request.h"

namespace castellan::quorum {
namespace {

// Kafka's limit for a batch of the metadata log is 8 MiB; a little is left for the header and the records' own framing.
constexpr size_t batch_bytes_max = (8 << 20) - (64 << 10);
// From here on what is decided goes into another batch.
constexpr size_t burst_bytes_max = 256 << 10;

}  // namespace

void MetadataLoop::maybe_activate() {
  if (!controller_ || !leading_ || active() || failed_ || stopping_) return;
  if (planted(Fault::claims_before_replay)) next_ = std::max(next_, leading_->epoch_end);
  if (next_ < leading_->epoch_end) return;
  steps_.clear();
  controller_->claim(committed_replay_->tip(), now().monotonic);
  const bool in_transaction = committed_replay_->in_transaction();
  auto records = controller_->activate(controller_->context(committed_replay_->stable(), now(), next_), in_transaction, bootstrap_records_);
  if (!records) return fail_node(records.error().message);
  append(std::move(*records), nullptr);
  register_controller();
  change_view([&](QuorumView& view) { view.active = true; });
  print_(1, fmt::format("controller {} is active in epoch {}", config_->node_id, leading_->epoch));
}

void MetadataLoop::renounce() {
  leading_.reset();
  open_.reset();
  proposal_.reset();
  if (!active()) return;
  controller_->renounce();
  // Some of it may yet be committed, by this node or another: who asked must look.
  for (Step& step : std::exchange(steps_, {})) {
    for (const WorkPtr& work : step.works) planted(Fault::answer_on_lost_leadership) ? answer(work) : refuse(work);
  }
  for (const Parked& parked : std::exchange(parked_, {})) answer(parked.work);
  change_view([](QuorumView& view) { view.active = false; });
}

void MetadataLoop::post_request(MetadataRequest request, MetadataNode::Reply reply) {
  auto work = std::make_shared<Work>();
  work->request = std::move(request);
  work->reply = std::move(reply);
  note_contact(work->request);
  surroundings_.metadata.post([this, work] {
    take_contacts();
    const auto api = static_cast<wire::ApiKey>(work->request.api_key);
    const wire::ApiInfo* info = wire::find_api(api);
    if (!info || !info->valid.contains(work->request.api_version)) {
      return work->reply(fail(ErrorCode::UNSUPPORTED_VERSION, "API {} version {}", work->request.api_key, work->request.api_version));
    }
    if (!active()) return refuse(work);
    auto message = info->request->create();
    wire::Reader reader(work->request.body);
    if (auto decoded = wire::decode_message(*info->request, message.get(), work->request.api_version, reader); !decoded) {
      return work->reply(unexpected(decoded.error()));
    }
    work->decoded = {.api = api, .version = work->request.api_version, .message = std::move(message)};
    decide(work);
  });
}

void MetadataLoop::decide(WorkPtr work) {
  const image::Replay& base = planted(Fault::decides_on_committed_image) ? *committed_replay_ : tip();
  auto context = controller_->context(base.tip(), now(), tip_end());
  if (!work->request.principal.empty()) context.principal = work->request.principal;
  context.from_this_process = work->request.principal.empty();
  context.client_id = work->request.client_id;
  context.forwarded = work->request.forwarded;
  context.voters = voters_;
  context.kraft_version = kraft_version_;
  // kraft.version lives in the quorum's own records, so the quorum is asked once everything else is found right; then this is decided again.
  std::optional<std::pair<int16_t, bool>> wanted;
  const std::function<Result<void>(int16_t, bool)> change_kraft_version = [&](int16_t level, bool validate_only) -> Result<void> {
    if (work->kraft_upgrade) return *work->kraft_upgrade;
    wanted = {level, validate_only};
    return {};
  };
  context.change_kraft_version = &change_kraft_version;
  auto result = controller_->handle(work->decoded, context);
  if (wanted && (wanted->second || !result.records.empty())) return ask_quorum_to_upgrade(std::move(work), wanted->first, wanted->second);
  for (const std::string& note : result.notes) print_(1, note);
  if (result.reply.info) {
    wire::Writer writer;
    auto encoded = wire::encode_message(*result.reply.info, result.reply.message.get(), work->request.api_version, writer);
    work->answer = encoded ? Result<Bytes>(writer.take_bytes()) : unexpected(encoded.error());
  } else {
    work->answer = fail(ErrorCode::UNKNOWN_SERVER_ERROR, "API {} has no answer", work->request.api_key);
  }
  append(std::move(result), std::move(work));
}

void MetadataLoop::ask_quorum_to_upgrade(WorkPtr work, int16_t level, bool validate_only) {
  raft_.post_upgrade_kraft_version(leading_->epoch, level, validate_only, [this, work](Result<void> answer) {
    surroundings_.metadata.post([this, work, answer = std::move(answer)] {
      if (!active()) return refuse(work);
      work->kraft_upgrade = answer;
      decide(work);
    });
  });
}

void MetadataLoop::append(controller::ControllerResult result, WorkPtr work) {
  if (result.records.empty()) {
    if (!work) return;
    // It may rest on what is not committed yet.
    if (!steps_.empty() && !planted(Fault::reads_do_not_wait)) steps_.back().works.push_back(std::move(work));
    else answer(work);
    return;
  }
  wire::Writer writer;
  std::vector<size_t> ends{0};  // of the records' values
  ends.reserve(result.records.size() + 1);
  for (const auto& record : result.records) {
    image::encode_metadata_record(record, writer);
    ends.push_back(writer.size());
  }
  const Bytes values = writer.take_bytes();

  const size_t count = result.records.size();
  size_t begin = 0;
  while (begin < count) {
    size_t end = begin, bytes = 0;
    while (end < count && (end == begin || bytes + (ends[end + 1] - ends[end]) + 32 <= batch_bytes_max)) {
      bytes += ends[end + 1] - ends[end] + 32;
      ++end;
    }
    CHECK(!result.atomic || (begin == 0 && end == count), "{} records that belong together do not fit into a batch", count);
    const bool last = end == count;
    propose(std::span(result.records).subspan(begin, end - begin), values, std::span(ends).subspan(begin, end - begin + 1), last ? work : nullptr,
            begin == 0 && last);
    begin = end;
  }
}

// What is decided while requests are waiting goes into one step: one batch, one image, one write. `whole`: these are all records
// of their work; others stand in batches of their own. Record i lies in `values` from ends[i] to ends[i + 1].
void MetadataLoop::propose(std::span<const image::MetadataRecord> records, BytesView values, std::span<const size_t> ends, WorkPtr work, bool whole) {
  if (!whole || (open_ && open_->builder.size() > burst_bytes_max)) close_step();
  if (!open_) open_step(whole);
  Step& step = steps_.back();
  for (size_t i = 0; i < records.size(); ++i) {
    // The controller has decided against this very image, so what does not fit it is a fault of this program.
    const auto applied = open_->replay->apply(records[i], step.end);
    CHECK(applied.has_value(), "{}: {}", image::record_name(records[i]), applied ? "" : applied.error().message);
    open_->builder.append(open_->timestamp, std::nullopt, values.subspan(ends[i], ends[i + 1] - ends[i]));
    step.end = step.end + 1;
  }
  if (work && planted(Fault::answer_before_commit)) answer(work);
  if (work) step.works.push_back(std::move(work));
  if (!whole) close_step();
}

void MetadataLoop::open_step(bool whole) {
  const Offset base = tip_end();
  auto replay = std::make_shared<image::Replay>(tip());
  steps_.push_back({.end = base, .replay = replay, .epoch = leading_->epoch, .works = {}, .whole = whole});
  const WallTime timestamp = now().wall;
  replay->set_provenance(leading_->epoch, timestamp);
  open_.emplace(OpenStep{.base = base,
                         .replay = std::move(replay),
                         .builder = record::BatchBuilder({.base_offset = base.value, .leader_epoch = leading_->epoch.value}),
                         .timestamp = timestamp.milliseconds});
  // Behind the requests that are waiting already.
  if (!std::exchange(sending_proposals_, true)) surroundings_.metadata.post([this] { send_proposals(); });
}

void MetadataLoop::close_step() {
  if (!open_) return;
  Bytes batch = open_->builder.finish();
  Step& step = steps_.back();
  step.bytes = batch.size();
  if (proposal_) {
    proposal_->end = step.end;
    proposal_->batch.insert(proposal_->batch.end(), batch.begin(), batch.end());
  } else {
    proposal_ = {.epoch = leading_->epoch, .base = open_->base, .end = step.end, .batch = std::move(batch)};
  }
  open_.reset();
}

void MetadataLoop::send_proposals() {
  sending_proposals_ = false;
  close_step();
  if (!proposal_) return;
  raft_.post_proposal(leading_->generation, std::move(*proposal_));
  proposal_.reset();
}

void MetadataLoop::commit_steps() {
  std::shared_ptr<const image::Replay> committed;
  while (!steps_.empty() && steps_.front().end <= committed_) {
    Step step = std::move(steps_.front());
    steps_.pop_front();
    next_ = step.end;
    last_epoch_ = step.epoch;
    bytes_since_snapshot_ += step.bytes;
    const Offset image_offset = step.replay->stable().last_offset;
    for (WorkPtr& work : step.works) parked_.push_back({image_offset, std::move(work)});
    committed = std::move(step.replay);
  }
  if (!committed) return;
  committed_replay_ = std::make_shared<image::Replay>(*committed);
  publish(std::move(committed));
  release_replies();
}

void MetadataLoop::release_replies() {
  while (!parked_.empty() && publisher_.all_at(parked_.front().image_offset)) {
    const WorkPtr work = std::move(parked_.front().work);
    parked_.pop_front();
    answer(work);
  }
}

void MetadataLoop::on_control_records(Offset base, Offset end, uint64_t generation, int16_t kraft_version, std::vector<NodeId> voters) {
  voters_ = std::move(voters);
  kraft_version_ = kraft_version;
  change_view([&](QuorumView& view) { view.kraft_version = kraft_version; });
  if (!leading_) return;
  leading_->generation = generation;
  if (!active()) {
    leading_->epoch_end = std::max(leading_->epoch_end, end);
    return;
  }
  // What was proposed for this place or behind it was dropped with the generation before, or has not left yet.
  open_.reset();
  proposal_.reset();
  std::vector<WorkPtr> again;
  while (!steps_.empty() && steps_.back().end > base) {
    Step step = std::move(steps_.back());
    steps_.pop_back();
    for (WorkPtr& work : step.works) {
      if (step.whole) again.push_back(std::move(work));
      else refuse(work);
    }
  }
  CHECK(tip_end() == base, "the quorum's records stand at {}, the tip ends at {}", base, tip_end());
  auto replay = std::make_shared<image::Replay>(tip());
  steps_.push_back({.end = end, .replay = std::move(replay), .epoch = leading_->epoch, .works = {}});
  std::ranges::reverse(again);
  for (WorkPtr& work : again) decide(std::move(work));
}

void MetadataLoop::note_contact(const MetadataRequest& request) {
  if (request.api_key != wire::BrokerHeartbeatRequest::info().key) return;
  wire::Reader reader(request.body);
  const auto heartbeat = wire::decode_as<wire::BrokerHeartbeatRequest>(request.api_version, reader);
  if (!heartbeat) return;  // its answer says so
  const std::lock_guard lock(contacts_mutex_);
  contacts_.push_back({NodeId{heartbeat->broker_id}, BrokerEpoch{heartbeat->broker_epoch}, surroundings_.clock.monotonic()});
}

void MetadataLoop::take_contacts() {
  std::vector<Contact> contacts;
  {
    const std::lock_guard lock(contacts_mutex_);
    contacts.swap(contacts_);
  }
  if (!active()) return;
  for (const Contact& contact : contacts) {
    const auto last = controller_->heartbeats().last_contact(contact.broker, contact.epoch);
    // Only of sessions that there are: a stranger's heartbeat begins none.
    if (last && *last < contact.at) controller_->touch_session(contact.broker, contact.epoch, contact.at);
  }
}

void MetadataLoop::run_controller_timers() {
  take_contacts();
  // Each is decided against what the one before has changed.
  for (;;) {
    auto context = controller_->context(tip().tip(), now(), tip_end());
    context.voters = voters_;
    context.kraft_version = kraft_version_;
    auto result = controller_->tick(context);
    if (!result) return;
    for (const std::string& note : result->notes) print_(1, note);
    append(std::move(*result), nullptr);
  }
}

void MetadataLoop::answer(const WorkPtr& work) {
  if (work && work->reply) std::exchange(work->reply, nullptr)(std::move(work->answer));
}

void MetadataLoop::refuse(const WorkPtr& work) {
  if (work && work->reply) std::exchange(work->reply, nullptr)(fail(ErrorCode::NOT_CONTROLLER, "this node is not the active controller"));
}

void MetadataLoop::post_stop(std::function<void()> done) {
  surroundings_.metadata.post([this, done = std::move(done)] {
    stopping_ = true;
    renounce();
    done();
  });
}

}  // namespace castellan::quorum
