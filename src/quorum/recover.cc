// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/recover.h"

#include <algorithm>

#include "log/log.h"
#include "log/quorum_state_file.h"
#include "quorum/acknowledged.h"
#include "quorum/copy_file.h"
#include "quorum/metadata_directory.h"
#include "raft/control_records.h"
#include "wire/messages/quorum_state_data.h"

namespace castellan::quorum {
namespace {

// Other survivors may have stood for election after this one had stopped. Epochs are cheap: they have 31 bits.
constexpr int32_t epochs_skipped = 1000;

std::string voter_text(const raft::Voter& voter) {
  std::string text = voter.key.has_directory() ? fmt::format("{}", voter.key) : fmt::format("{}", voter.key.id);
  for (const auto& [name, endpoint] : voter.endpoints) {
    const bool brackets = endpoint.host.find(':') != std::string::npos;
    text += fmt::format(" {}://{}{}{}:{}", name, brackets ? "[" : "", endpoint.host, brackets ? "]" : "", endpoint.port);
  }
  return text;
}

std::string voters_text(const raft::VoterSet& voters) {
  std::vector<std::string> texts;
  for (const auto& [id, voter] : voters) texts.push_back(voter_text(voter));
  return texts.empty() ? "none known" : fmt::format("{}", fmt::join(texts, ", "));
}

// Inside the log's folder: in a data directory every other name would be taken for a partition.
Result<std::string> keep_copies(io::FileSystem& files, const RecoveryPlan& plan) {
  const Survey& survey = plan.survey;
  const std::string copies = io::join(survey.folder, fmt::format("before-recovery-{}", plan.epoch));
  TRY_VOID(files.make_directories(copies));
  std::vector<std::string> paths{io::join(survey.folder, log::quorum_state_name), io::join(survey.folder, "leader-epoch-checkpoint"),
                                 AcknowledgedFile(files, survey.directory).path()};
  if (survey.active_segment) paths.push_back(*survey.active_segment);
  for (const std::string& path : paths) {
    if (files.exists(path)) TRY_VOID(copy_file(files, path, io::join(copies, io::base_name(path))));
  }
  TRY_VOID(files.sync_directory(copies));
  TRY_VOID(files.sync_directory(survey.folder));
  return copies;
}

}  // namespace

std::string RecoveryPlan::text() const {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) { text += fmt::format("{:<24}{}\n", fmt::format("{}:", label), value); };
  line("Directory", survey.directory);
  line("Cluster", *survey.meta.cluster_id);
  line("Log", fmt::format("ends at offset {} in epoch {}", survey.end.offset, survey.end.epoch));
  line("Voters now", fmt::format("{} (kraft.version {})", voters_text(voters_before), survey.kraft_version));
  line("Voters then", fmt::format("{} (kraft.version 1)", voter_text(self)));
  line("Highest epoch seen", fmt::format("{}", survey.highest_epoch));
  line("New epoch", fmt::format("{}", epoch));
  for (const std::string& remark : survey.remarks) line("Note", remark);
  if (survey.lost_acknowledged()) {
    line("Warning", fmt::format("this replica once acknowledged up to offset {} in epoch {}, which its log no longer has: what lies in between is lost",
                                survey.acknowledged->offset, survey.acknowledged->epoch));
  }
  if (voters_before.size() > 1) {
    line("Warning", "records that only the other voters have are lost; `castellan quorum compare DIR...` says which survivor has the longest log");
  }
  return text;
}

Result<RecoveryPlan> plan_recovery(const Survey& survey, const RecoveryOptions& options) {
  const std::string meta = io::join(survey.directory, log::meta_properties_name);
  if (!survey.meta.cluster_id) return fail(ErrorCode::INVALID_CONFIG, "{} has no cluster.id", meta);
  if (survey.meta.node_id != options.node.value) {
    return fail(ErrorCode::INVALID_CONFIG, "{} belongs to node {}, but node.id is {}", meta, survey.meta.node_id.value_or(-1), options.node);
  }
  if (!survey.meta.directory_id) {
    return fail(ErrorCode::INVALID_CONFIG, "{} has no directory.id, by which a quorum with kraft.version 1 knows its voters; add the line directory.id=ID, with an id that "
                "`castellan storage random-uuid` makes", meta);
  }
  if (!survey.damage.empty()) {
    return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{}. What lies behind cannot be trusted. Recover another survivor, or bring the file back from a backup",
                fmt::join(survey.damage, "; "));
  }
  if (options.listeners.empty()) return fail(ErrorCode::INVALID_CONFIG, "the configuration names no controller listener");
  for (const auto& [name, endpoint] : options.listeners) {
    if (endpoint.host.empty() || endpoint.host == "0.0.0.0" || endpoint.host == "::" || endpoint.port == 0) {
      return fail(ErrorCode::INVALID_CONFIG, "{}://{}:{} is no address at which others can reach this controller; give it in advertised.listeners", name, endpoint.host,
                  endpoint.port);
    }
  }
  if (survey.highest_epoch.value > INT32_MAX - epochs_skipped - 1) {
    return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{}: epoch {} leaves no room for a higher one", survey.directory, survey.highest_epoch);
  }
  RecoveryPlan plan{.survey = survey, .self = {}, .voters_before = survey.voters.empty() ? options.static_voters : survey.voters, .epoch = survey.highest_epoch + epochs_skipped};
  plan.self = {.key = {options.node, DirectoryId{*survey.meta.directory_id}}, .endpoints = options.listeners, .kraft_version = raft::kraft_versions};
  return plan;
}

Result<std::string> recover(io::FileSystem& files, const RecoveryPlan& plan, WallTime now) {
  const Survey& survey = plan.survey;
  TRY(const std::string copies, keep_copies(files, plan));

  // As the node opens it: what a crash has left undone is done first.
  AcknowledgedFile acknowledged(files, survey.directory);
  TRY_VOID(files.remove(acknowledged.path()));  // what was promised to the quorum before is not owed to this one
  TRY_VOID(files.sync_directory(survey.directory));
  TRY(auto directory, open_metadata_directory(files, {.directory = survey.directory,
                                                      .cluster_id = *survey.meta.cluster_id,
                                                      .self = plan.self.key,
                                                      .is_controller = true,
                                                      .static_voters = plan.voters_before,
                                                      .log = {.retention_bytes = -1, .retention_ms = -1, .max_message_bytes = 8 << 20},
                                                      .now = now}));
  const Offset base = directory.recovered.log.end;
  if (base != survey.end.offset) {
    return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{}: the log ends at offset {}, not at {} as was found before", survey.folder, base, survey.end.offset);
  }
  raft::ControlRecords records{.leader_change = raft::LeaderChange{plan.self.key.id, {plan.self.key.id}, {plan.self.key.id}}};
  records.kraft_version = 1;
  records.voters = raft::VoterSet({plan.self});
  const Bytes batch = raft::encode_control_batch(base, plan.epoch, now, records);
  TRY_VOID(directory.log->append_as_follower(batch, now));
  TRY_VOID(directory.log->flush());
  TRY_VOID(directory.log->close());

  // As the leader of that epoch: nobody else may lead in it, and it does not write in it again (KIP-595).
  wire::QuorumStateData state;
  state.leader_id = plan.self.key.id.value;
  state.leader_epoch = plan.epoch.value;
  state.voted_id = -1;
  TRY_VOID(log::write_quorum_state(files, survey.folder, state, 1));
  return copies;
}

}  // namespace castellan::quorum
