// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/checkers/votes.h"

#include <algorithm>

#include "raft/rpc.h"
#include "wire/api_key.h"

namespace castellan::sim {

void Votes::passes(const Network::Passing& message, raft::ReplicaKey sender) {
  if (message.key != static_cast<int16_t>(wire::ApiKey::VOTE)) return;
  const auto decoded = raft::decode_request(message.key, message.version, message.request);
  const auto* request = decoded ? std::get_if<raft::VoteRequest>(&*decoded) : nullptr;
  if (!request || request->pre_vote) return;
  if (!message.response) return vote(sender, request->epoch, request->replica);
  const auto answer = raft::decode_response(message.key, message.version, *message.response);
  const auto* response = answer ? std::get_if<raft::VoteResponse>(&*answer) : nullptr;
  if (response && response->granted) vote(sender, request->epoch, request->replica);
}

void Votes::vote(raft::ReplicaKey voter, Epoch epoch, raft::ReplicaKey candidate) {
  const auto [known, is_new] = votes_.emplace(std::pair(voter, epoch), candidate);
  if (known->second.id != candidate.id) report_.violate(name, "{} voted in epoch {} for {} and for {}", voter, epoch, known->second, candidate);
  monotone_.told(voter, epoch);
}

void Votes::elected(const Seen& leader) {
  const raft::VoterSet& voters = leader.core.voters();
  const Epoch epoch = leader.core.epoch();
  if (voters.size() > 1) monotone_.told(leader.key(), epoch);
  size_t votes = voters.contains(leader.key()) ? 1 : 0;
  for (const auto& [id, voter] : voters) {
    if (id == leader.key().id) continue;
    // Static voters have no directory in the set.
    const bool voted = std::ranges::any_of(votes_, [&](const auto& vote) {
      const auto& [who, when] = vote.first;
      return when == epoch && who.id == id && vote.second.id == leader.key().id && (!voter.key.has_directory() || who == voter.key);
    });
    votes += voted;
  }
  if (votes < voters.majority()) report_.violate(name, "node {} leads epoch {} with {} votes of {} voters", leader.node, epoch, votes, voters.size());
}

void Votes::forget(raft::ReplicaKey replica) {
  std::erase_if(votes_, [&](const auto& vote) { return vote.first.first == replica; });
  monotone_.forget(replica);
}

}  // namespace castellan::sim
