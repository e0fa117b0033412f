// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The metadata loop: follows the committed log into the image, and runs the controller while this node leads.
//
//   standby   asks the raft loop for committed batches, applies them, publishes, asks again
//   active    decides against the tip; each batch is proposed and, with the image after it, put into a short ring; when it is
//             committed its image is published, and its reply leaves once this node's readers have applied that image
//
//   standby --leads, and has applied everything before its epoch's own records--> active
//   active  --somebody else may lead--> standby: the tip is dropped, what was not committed is refused
//
// When the quorum puts records of its own between proposals (a voter change), what was proposed for their place is decided anew.
//
// Threads: everything but post_* runs on the metadata executor; post_*, readers, image and view on any.

#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "controller/controller.h"
#include "image/apply.h"
#include "quorum/image_publisher.h"
#include "quorum/raft_loop.h"
#include "record/builder.h"

namespace castellan::quorum {

class MetadataLoop final : public Loop, public QuorumListener {
 public:
  MetadataLoop(Surroundings surroundings, const Options& options, RaftLoop& raft, std::optional<raft::SnapshotId> snapshot,
               std::vector<image::MetadataRecord> bootstrap_records);
  ~MetadataLoop() override;

  void post_start();
  void post_request(MetadataRequest request, MetadataNode::Reply reply);
  // Renounces, then `done`.
  void post_stop(std::function<void()> done);

  MonotonicTime next_deadline() const override;
  void wake() override;

  ImagePublisher& publisher() { return publisher_; }
  QuorumView view() const;
  void on_view_changed(std::function<void(const QuorumView&)> changed);

  // QuorumListener
  void on_leader(const LeaderNews& news) override;
  void on_committed(Offset end) override;
  void on_control_records(Offset base, Offset end, uint64_t generation, int16_t kraft_version, std::vector<NodeId> voters) override;
  void on_batches(SharedBytes batches) override;
  void on_snapshot_needed(raft::SnapshotId id) override;
  void on_snapshot_allowed(raft::SnapshotId id, const raft::ControlRecords& control) override;
  void on_snapshot_refused(raft::SnapshotId id, const std::string& reason) override;

 private:
  // One request on its way through the controller. Kept until its records are committed, since it may have to be decided anew.
  struct Work {
    MetadataRequest request;
    MetadataNode::Reply reply;
    controller::Request decoded;
    Result<Bytes> answer = Bytes{};  // released when the time has come
    std::optional<Result<void>> kraft_upgrade;  // what the quorum said to a change of kraft.version that this asks for
  };
  using WorkPtr = std::shared_ptr<Work>;
  // One batch that was proposed, and the image with it. The last one may still be open.
  struct Step {
    Offset end;
    std::shared_ptr<const image::Replay> replay;
    Epoch epoch;
    std::vector<WorkPtr> works;  // answered when this is committed
    bool whole = true;           // holds all records of its work; a part cannot be decided anew by itself
    uint64_t bytes = 0;
  };
  struct Leading {
    Epoch epoch;
    Offset epoch_end;
    uint64_t generation = 0;
  };

  Now now() const { return surroundings_.clock.now(); }
  bool active() const { return controller_ && controller_->active(); }
  Offset tip_end() const { return steps_.empty() ? next_ : steps_.back().end; }
  const image::Replay& tip() const { return steps_.empty() ? *committed_replay_ : *steps_.back().replay; }

  // metadata_loop.cc: following
  void request_batches();
  void apply_batches(BytesView batches);
  Result<void> load_snapshot(raft::SnapshotId id);
  void publish(std::shared_ptr<const image::Replay> replay);
  void fail_node(const std::string& reason);

  // active.cc: leading
  void maybe_activate();
  void renounce();
  void decide(WorkPtr work);
  void ask_quorum_to_upgrade(WorkPtr work, int16_t level, bool validate_only);
  void append(controller::ControllerResult result, WorkPtr work);
  void propose(std::span<const image::MetadataRecord> records, BytesView values, std::span<const size_t> ends, WorkPtr work, bool whole);
  void open_step(bool whole);
  void close_step();
  void send_proposals();
  void commit_steps();
  void release_replies();
  void run_controller_timers();
  // Heartbeats that wait in the queue: their brokers are alive all the same (controller.md, C228 and C936).
  void note_contact(const MetadataRequest& request);
  void take_contacts();
  void answer(const WorkPtr& work);
  void refuse(const WorkPtr& work);

  // controller_registration.cc
  void register_controller();
  void maybe_register_with_leader();

  // snapshots.cc
  void maybe_snapshot();
  void write_snapshot(raft::SnapshotId id, const raft::ControlRecords& control);

  void note_progress();
  void change_view(const std::function<void(QuorumView&)>& change);

  Surroundings surroundings_;
  std::function<void(int, const std::string&)> print_;
  std::function<void(const std::string&)> fatal_;
  config::ServerConfigPtr config_;
  raft::Endpoints controller_listeners_;
  RaftLoop& raft_;
  std::unique_ptr<controller::Controller> controller_;
  Uuid incarnation_;
  std::optional<raft::SnapshotId> first_snapshot_;
  std::vector<image::MetadataRecord> bootstrap_records_;

  // Everything before next_ is in the image.
  std::shared_ptr<image::Replay> committed_replay_ = std::make_shared<image::Replay>();
  Offset next_;
  Epoch last_epoch_;
  Offset committed_{-1};
  Offset published_{-1};
  bool reading_ = false;
  bool failed_ = false;
  bool stopping_ = false;
  ImagePublisher publisher_;

  std::optional<Leading> leading_;
  std::deque<Step> steps_;             // proposed and not committed
  // The last of steps_ while more may be decided into it.
  struct OpenStep {
    Offset base;
    std::shared_ptr<image::Replay> replay;
    record::BatchBuilder builder;
    int64_t timestamp = 0;  // of all its records: Apache Kafka reads no metadata batch in which they differ
  };
  std::optional<OpenStep> open_;
  // Closed, and on its way to the raft loop behind the requests that are waiting already: what those become is one write with it.
  std::optional<raft::Proposal> proposal_;
  bool sending_proposals_ = false;
  struct Parked {
    Offset image_offset;               // the reply waits for readers to have this
    WorkPtr work;
  };
  std::deque<Parked> parked_;          // committed
  std::vector<NodeId> voters_;
  int16_t kraft_version_ = 0;
  bool registering_ = false;           // with another node that leads
  MonotonicTime next_registration_;    // not before

  uint64_t bytes_since_snapshot_ = 0;
  MonotonicTime last_snapshot_;
  bool snapshotting_ = false;
  ImagePtr snapshot_image_;

  struct Contact {
    NodeId broker;
    BrokerEpoch epoch;
    MonotonicTime at;
  };
  std::mutex contacts_mutex_;
  std::vector<Contact> contacts_;      // by any thread, until the loop has taken them

  mutable std::mutex view_mutex_;
  QuorumView view_;
  std::function<void(const QuorumView&)> view_changed_;
};

}  // namespace castellan::quorum
