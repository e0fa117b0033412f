// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "base/planted_fault.h"

#include <algorithm>
#include <array>

namespace castellan {
namespace {

using enum Fault;

constexpr std::array faults = std::to_array<PlantedFault>({
    {vote_not_saved, "vote-not-saved", "A granted vote, with the epoch that it belongs to, is not written to quorum-state, so a voter that restarts votes again."},
    {answer_before_saved, "answer-before-saved", "Votes and requests leave before the election state that they rest on is on disk."},
    {vote_granted_twice, "vote-granted-twice", "A voter grants its vote to everybody who asks in an epoch."},
    {vote_for_shorter_log, "vote-for-shorter-log", "A vote is granted without a look at the candidate's log."},
    {vote_by_offset_alone, "vote-by-offset-alone", "Two logs are compared by their end offset, not by their last epoch first."},
    {vote_kept_in_later_epoch, "vote-kept-in-later-epoch", "A vote stays when a later epoch is seen, and is granted there again without a look at the log (P19)."},
    {candidacy_not_saved, "candidacy-not-saved", "A candidate does not write its vote for itself to quorum-state."},
    {pre_vote_by_follower, "pre-vote-by-follower", "A voter that hears from its leader grants pre-votes all the same, so leadership is not stable (P5, KAFKA-18439)."},
    {half_is_a_majority, "half-is-a-majority", "Half of an even number of voters is taken for a majority."},
    {pre_vote_counted_as_vote, "pre-vote-counted-as-vote", "Answers to an earlier role's questions still count, so a late pre-vote becomes a vote (P25)."},
    {candidate_keeps_epoch, "candidate-keeps-epoch", "A candidate stands in the epoch that it is in, not in the next one."},
    {leader_restarts_as_leader, "leader-restarts-as-leader", "A leader that was restarted goes on leading in its epoch, with a log that may have lost its end (P11)."},
    {resigned_stays_in_epoch, "resigned-stays-in-epoch", "A leader that has resigned takes part in its own epoch again, with a vote to give (P4, P12, KAFKA-18379)."},
    {directory_id_ignored, "directory-id-ignored", "A node whose disk was replaced passes for the voter that had its id (KIP-853)."},

    {commit_of_earlier_epoch, "commit-of-earlier-epoch", "A leader commits records of earlier epochs by counting, before one of its own epoch (Raft, 5.4.2)."},
    {leader_counts_unsynced, "leader-counts-unsynced", "A leader counts itself for the high watermark before its own sync (P58)."},
    {fetch_before_sync, "fetch-before-sync", "A follower fetches on, and so acknowledges, before what it has is on disk."},
    {high_watermark_goes_back, "high-watermark-goes-back", "A lower high watermark is believed and published (P3, P14, KAFKA-14825)."},
    {high_watermark_beyond_log, "high-watermark-beyond-log", "A follower takes the leader's high watermark although its own log ends before it."},
    {truncates_too_far, "truncates-too-far", "A follower whose log diverges cuts the whole epoch, below what is committed."},
    {divergence_not_checked, "divergence-not-checked", "A leader does not compare the epoch of a follower's last record with its own log."},
    {diverging_fetch_counted, "diverging-fetch-counted", "A fetch at a position that is not in the leader's log counts as an acknowledgement."},
    {later_epoch_appended, "later-epoch-appended", "A slow Fetch answer brings batches of a later epoch than it was asked in, and they are appended (P1, KAFKA-18723)."},
    {synced_of_any_id, "synced-of-any-id", "Whatever was synced last, a running sync of the log counts as done."},
    {observer_counted, "observer-counted", "Replicas that are no voters count for the high watermark."},
    {leader_takes_log_for_committed, "leader-takes-log-for-committed", "A new leader takes everything in its log for committed (P13)."},
    {restart_takes_log_for_committed, "restart-takes-log-for-committed", "A node that restarts takes everything in its log for committed."},
    {leader_change_not_written, "leader-change-not-written", "A new leader does not begin its epoch with a record of its own, so nothing is committed until a client writes."},
    {large_batch_refused, "large-batch-refused", "A follower refuses a batch above a limit of its own, which the leader took (P8, KAFKA-17375, KAFKA-9617)."},

    {two_voter_changes, "two-voter-changes", "A voter change begins although the one before is not committed (P2, KAFKA-17147)."},
    {voter_change_after_commit, "voter-change-after-commit", "A new voter set is in force when it is committed, not when it is appended (P15)."},
    {voter_change_survives_truncation, "voter-change-survives-truncation", "A voter set stays in force when its record is truncated away (P15)."},
    {old_voters_commit, "old-voters-commit", "A leader goes on counting the voters that were before the change."},
    {removed_leader_counts_itself, "removed-leader-counts-itself", "A leader that is no voter any more counts itself for the high watermark (P16)."},

    {snapshot_without_voters, "snapshot-without-voters", "A log that begins anew at a snapshot forgets who the voters are."},
    {snapshot_of_wrong_epoch, "snapshot-of-wrong-epoch", "A snapshot is named after the current epoch, not after that of its last record."},
    {snapshot_inside_a_batch, "snapshot-inside-a-batch", "A snapshot ends one record before the end of a batch (P35)."},
    {snapshot_of_the_tip, "snapshot-of-the-tip", "The active controller snapshots what it has proposed, committed or not."},
    {snapshot_not_synced, "snapshot-not-synced", "A snapshot gets its name before its bytes are on disk."},
    {cleaned_beyond_snapshot, "cleaned-beyond-snapshot", "The log is deleted up to what is committed, not up to what a snapshot covers."},
    {download_not_finished, "download-not-finished", "A crash between a snapshot's download and the log's new beginning is not made good at the next start (P37)."},

    {failed_sync_ignored, "failed-sync-ignored", "A sync of the log that failed counts as done."},
    {quorum_state_not_synced, "quorum-state-not-synced", "quorum-state is replaced without a sync of the new file."},
    {directory_not_synced, "directory-not-synced", "The directory is not synced after a file was put into its place (P9, KAFKA-13391)."},
    {torn_tail_kept, "torn-tail-kept", "A batch that a power cut has torn is not cut off the log."},
    {truncated_tail_served, "truncated-tail-served", "Batches that were truncated away are still served from memory."},

    {answer_before_commit, "answer-before-commit", "The controller answers when it has decided, not when that is committed."},
    {answer_on_lost_leadership, "answer-on-lost-leadership", "A controller that loses its leadership answers what waits as if it were committed."},
    {applied_before_commit, "applied-before-commit", "Standby controllers and brokers apply records before they are committed."},
    {claims_before_replay, "claims-before-replay", "A new leader's controller is active before it has applied everything before its epoch."},
    {decides_on_committed_image, "decides-on-committed-image", "The controller decides on what is committed, not on what it has already proposed, so one topic is created twice."},
    {reads_do_not_wait, "reads-do-not-wait", "An answer that rests on records which are not committed does not wait for them."},
    {producer_ids_twice, "producer-ids-twice", "Two brokers are given the same block of producer ids."},
    {broker_epoch_reused, "broker-epoch-reused", "A broker that registers anew gets the epoch that it had before."},
});

// Name by name, so that the enumeration and the table cannot drift apart.
constexpr bool in_order() {
  for (size_t i = 0; i < faults.size(); ++i) {
    if (static_cast<size_t>(faults[i].fault) != i + 1) return false;
  }
  return faults.size() + 1 == static_cast<size_t>(count_);
}
static_assert(in_order());

}  // namespace

std::span<const PlantedFault> planted_faults() { return faults; }

std::optional<Fault> find_planted_fault(std::string_view name) {
  const auto found = std::ranges::find(faults, name, &PlantedFault::name);
  if (found == faults.end()) return std::nullopt;
  return found->fault;
}

std::string_view name_of(Fault fault) {
  const auto index = static_cast<size_t>(fault);
  return index == 0 || index > faults.size() ? "none" : faults[index - 1].name;
}

}  // namespace castellan
