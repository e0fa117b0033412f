// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Known mistakes, each of which can be planted on purpose, to show that the simulator and the explorer would find it. A hook stands
// where the mistake would be made:
//
//   if (planted(Fault::vote_not_saved)) ...            // in the code that it spoils
//   const ScopedFault fault(Fault::vote_not_saved);    // in the simulator, the explorer and tests, never in the server
//
// One variable for the whole process, set before the first thread that looks at it is started. In the server it is never set, so a
// hook costs a load and a branch that always goes the same way.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace castellan {

// In the order of the table in planted_fault.cc, which has a name and a sentence for each.
enum class Fault : uint8_t {
  none,
  // Elections
  vote_not_saved,
  answer_before_saved,
  vote_granted_twice,
  vote_for_shorter_log,
  vote_by_offset_alone,
  vote_kept_in_later_epoch,
  candidacy_not_saved,
  pre_vote_by_follower,
  half_is_a_majority,
  pre_vote_counted_as_vote,
  candidate_keeps_epoch,
  leader_restarts_as_leader,
  resigned_stays_in_epoch,
  directory_id_ignored,
  // Replication
  commit_of_earlier_epoch,
  leader_counts_unsynced,
  fetch_before_sync,
  high_watermark_goes_back,
  high_watermark_beyond_log,
  truncates_too_far,
  divergence_not_checked,
  diverging_fetch_counted,
  later_epoch_appended,
  synced_of_any_id,
  observer_counted,
  leader_takes_log_for_committed,
  restart_takes_log_for_committed,
  leader_change_not_written,
  large_batch_refused,
  // Changes of the voters
  two_voter_changes,
  voter_change_after_commit,
  voter_change_survives_truncation,
  old_voters_commit,
  removed_leader_counts_itself,
  // Snapshots
  snapshot_without_voters,
  snapshot_of_wrong_epoch,
  snapshot_inside_a_batch,
  snapshot_of_the_tip,
  snapshot_not_synced,
  cleaned_beyond_snapshot,
  download_not_finished,
  // The disk
  failed_sync_ignored,
  quorum_state_not_synced,
  directory_not_synced,
  torn_tail_kept,
  truncated_tail_served,
  // The controller
  answer_before_commit,
  answer_on_lost_leadership,
  applied_before_commit,
  claims_before_replay,
  decides_on_committed_image,
  reads_do_not_wait,
  producer_ids_twice,
  broker_epoch_reused,
  count_,
};

struct PlantedFault {
  Fault fault = Fault::none;
  std::string_view name;      // for the command line
  std::string_view sentence;  // what the program does wrong
};

// All but `none`.
std::span<const PlantedFault> planted_faults();
std::optional<Fault> find_planted_fault(std::string_view name);
std::string_view name_of(Fault fault);

namespace fault_internal {
inline Fault current = Fault::none;
}

inline bool planted(Fault fault) { return fault_internal::current == fault; }

// Planted while this lives.
class ScopedFault {
 public:
  explicit ScopedFault(Fault fault) : before_(fault_internal::current) { fault_internal::current = fault; }
  ~ScopedFault() { fault_internal::current = before_; }
  ScopedFault(const ScopedFault&) = delete;
  ScopedFault& operator=(const ScopedFault&) = delete;

 private:
  Fault before_;
};

}  // namespace castellan
