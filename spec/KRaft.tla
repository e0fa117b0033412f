------------------------------- MODULE KRaft -------------------------------
(***************************************************************************)
(* The quorum protocol of KRaft with voter changes (KIP-595, KIP-853), as  *)
(* Castellan runs it.  Read it top to bottom: it is meant to be the        *)
(* shortest explanation of why the protocol is safe.                       *)
(*                                                                         *)
(* KRaft is Raft turned round: followers fetch.  A fetch at offset n says  *)
(* "all below n is on my disk, and the last of it is of epoch e", so it is *)
(* request, acknowledgement and consistency check in one.                  *)
(*                                                                         *)
(* The network needs no variable.  A vote request is the fact that         *)
(* somebody once was a candidate (candidacies); a granted vote is the fact *)
(* that somebody once granted it (ballots); the news of a leader is the    *)
(* fact that there was one (leaders).  Facts do not go away, so a message  *)
(* may arrive late, twice or never.  A fetch whose answer is late is       *)
(* dropped by the follower, which is as if it had been lost.               *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
  Servers,      \* all nodes there may ever be
  Initial,      \* the voters at the beginning
  MaxEpoch, MaxLog, MaxCrashes, MaxChanges,   \* bounds for the model checker
  Nobody

VARIABLES
  epoch,        \* durable: the latest epoch that the node has heard of
  voted,        \* durable: for whom it voted in that epoch
  log,          \* records [epoch, voters]; voters = {} is any other record
  synced,       \* how long a prefix of the log is durable
  role,         \* "unattached", "candidate", "leader", "follower"
  leaderOf,     \* whom a follower follows
  acked,        \* at a leader: the end of each node's log as its fetches told
  hw,           \* the high watermark that the node knows
  candidacies,  \* facts: [epoch, node, lastEpoch, end]
  ballots,      \* facts: <<epoch, voter, candidate>>
  leaders,      \* facts: <<epoch, node>>
  committed,    \* history: the longest prefix that was ever committed
  crashes, changes

durable == <<epoch, voted>>
facts   == <<candidacies, ballots, leaders>>
bounds  == <<crashes, changes>>
vars    == <<epoch, voted, log, synced, role, leaderOf, acked, hw, candidacies, ballots, leaders, committed, crashes, changes>>

Max(S)       == CHOOSE x \in S : \A y \in S : y <= x
Min(a, b)    == IF a < b THEN a ELSE b
Prefix(s, n) == SubSeq(s, 1, n)
LastEpoch(l) == IF l = <<>> THEN 0 ELSE l[Len(l)].epoch

(* The voters are those of the latest record that names them, committed or  *)
(* not: a change is in force as soon as it is in the log.                   *)
VotersIn(l) == LET named == {i \in 1..Len(l) : l[i].voters # {}}
               IN  IF named = {} THEN Initial ELSE l[Max(named)].voters
Voters(n)    == VotersIn(log[n])
IsMajority(S, voters) == 2 * Cardinality(S \cap voters) > Cardinality(voters)

Init ==
  /\ epoch = [n \in Servers |-> 0]     /\ voted = [n \in Servers |-> Nobody]
  /\ log = [n \in Servers |-> <<>>]    /\ synced = [n \in Servers |-> 0]
  /\ role = [n \in Servers |-> "unattached"]
  /\ leaderOf = [n \in Servers |-> Nobody]
  /\ acked = [n \in Servers |-> [m \in Servers |-> 0]]
  /\ hw = [n \in Servers |-> 0]
  /\ candidacies = {} /\ ballots = {} /\ leaders = {} /\ committed = <<>>
  /\ crashes = 0 /\ changes = 0

-----------------------------------------------------------------------------
(* Elections.  The pre-vote round of KIP-996 only decides whether somebody  *)
(* becomes a candidate, so that it is left out: here anybody may, any time. *)

BecomeCandidate(n) ==
  /\ role[n] # "leader" /\ n \in Voters(n) /\ epoch[n] < MaxEpoch
  /\ epoch' = [epoch EXCEPT ![n] = @ + 1]
  /\ voted' = [voted EXCEPT ![n] = n]              \* on disk before a request leaves
  /\ role' = [role EXCEPT ![n] = "candidate"]
  /\ leaderOf' = [leaderOf EXCEPT ![n] = Nobody]
  /\ candidacies' = candidacies \cup {[epoch |-> epoch[n] + 1, node |-> n, lastEpoch |-> LastEpoch(log[n]), end |-> Len(log[n])]}
  /\ ballots' = ballots \cup {<<epoch[n] + 1, n, n>>}
  /\ UNCHANGED <<log, synced, acked, hw, leaders, committed, bounds>>

(* A node may vote for one that its own log does not count among the voters: *)
(* its log may be behind.                                                    *)
Grant(n, c) ==
  /\ c.node # n /\ c.epoch >= epoch[n]
  /\ \/ c.epoch > epoch[n]
     \/ role[n] = "unattached" /\ voted[n] \in {Nobody, c.node}
  /\ \/ c.lastEpoch > LastEpoch(log[n])
     \/ c.lastEpoch = LastEpoch(log[n]) /\ c.end >= Len(log[n])
  /\ <<c.epoch, n, c.node>> \notin ballots
  /\ epoch' = [epoch EXCEPT ![n] = c.epoch]
  /\ voted' = [voted EXCEPT ![n] = c.node]         \* on disk before the answer leaves
  /\ role' = [role EXCEPT ![n] = "unattached"]
  /\ leaderOf' = [leaderOf EXCEPT ![n] = Nobody]
  /\ ballots' = ballots \cup {<<c.epoch, n, c.node>>}
  /\ UNCHANGED <<log, synced, acked, hw, candidacies, leaders, committed, bounds>>

(* A later epoch moves a node even when it does not grant.                   *)
SeeEpoch(n, c) ==
  /\ c.epoch > epoch[n]
  /\ epoch' = [epoch EXCEPT ![n] = c.epoch]
  /\ voted' = [voted EXCEPT ![n] = Nobody]
  /\ role' = [role EXCEPT ![n] = "unattached"]
  /\ leaderOf' = [leaderOf EXCEPT ![n] = Nobody]
  /\ UNCHANGED <<log, synced, acked, hw, facts, committed, bounds>>

(* The new leader's first record is of its own epoch: what an earlier leader *)
(* left behind commits only together with it.                                *)
BecomeLeader(n) ==
  /\ role[n] = "candidate" /\ Len(log[n]) < MaxLog
  /\ IsMajority({m \in Servers : <<epoch[n], m, n>> \in ballots}, Voters(n))
  /\ role' = [role EXCEPT ![n] = "leader"]
  /\ log' = [log EXCEPT ![n] = Append(@, [epoch |-> epoch[n], voters |-> {}])]
  /\ acked' = [acked EXCEPT ![n] = [m \in Servers |-> 0]]
  /\ leaders' = leaders \cup {<<epoch[n], n>>}
  /\ UNCHANGED <<durable, synced, leaderOf, hw, candidacies, ballots, committed, bounds>>

(* BeginQuorumEpoch, or any answer that names the leader.                    *)
Follow(n, l) ==
  /\ l[2] # n
  /\ \/ l[1] > epoch[n]
     \/ l[1] = epoch[n] /\ role[n] \in {"unattached", "candidate"}
  /\ epoch' = [epoch EXCEPT ![n] = l[1]]
  /\ voted' = [voted EXCEPT ![n] = IF l[1] > epoch[n] THEN Nobody ELSE @]
  /\ role' = [role EXCEPT ![n] = "follower"]
  /\ leaderOf' = [leaderOf EXCEPT ![n] = l[2]]
  /\ UNCHANGED <<log, synced, acked, hw, facts, committed, bounds>>

-----------------------------------------------------------------------------
(* Replication.                                                              *)

AppendRecord(n) ==
  /\ role[n] = "leader" /\ Len(log[n]) < MaxLog
  /\ log' = [log EXCEPT ![n] = Append(@, [epoch |-> epoch[n], voters |-> {}])]
  /\ UNCHANGED <<durable, synced, role, leaderOf, acked, hw, facts, committed, bounds>>

Sync(n) ==
  /\ synced[n] < Len(log[n])
  /\ synced' = [synced EXCEPT ![n] = Len(log[n])]
  /\ UNCHANGED <<durable, log, role, leaderOf, acked, hw, facts, committed, bounds>>

(* Where the leader's log parts from a log that ends at `end` with `last`:   *)
(* the end of the leader's latest epoch that is not above `last`.            *)
EndOfEpoch(l, e) == LET upTo == {i \in 1..Len(l) : l[i].epoch <= e} IN IF upTo = {} THEN 0 ELSE Max(upTo)
Agrees(l, end, last) == end = 0 \/ (end <= Len(l) /\ l[end].epoch = last)

(* A follower asks only for what comes after what it has synced.  The answer *)
(* may get lost after the leader has taken the acknowledgement.              *)
Fetch(n, answered) ==
  LET l == leaderOf[n]
      end == Len(log[n])
  IN /\ role[n] = "follower" /\ role[l] = "leader" /\ epoch[l] = epoch[n]
     /\ synced[n] = end
     /\ IF Agrees(log[l], end, LastEpoch(log[n]))
        THEN /\ acked' = [acked EXCEPT ![l][n] = end]
             /\ IF answered
                THEN /\ log' = [log EXCEPT ![n] = IF end < Len(log[l]) THEN Append(@, log[l][end + 1]) ELSE @]
                     /\ hw' = [hw EXCEPT ![n] = LET known == Min(hw[l], Len(log'[n])) IN IF known > @ THEN known ELSE @]
                ELSE UNCHANGED <<log, hw>>
             /\ UNCHANGED synced
        ELSE LET theirs == EndOfEpoch(log[l], LastEpoch(log[n]))
                 theirEpoch == IF theirs = 0 THEN 0 ELSE log[l][theirs].epoch
                 cut == Min(theirs, EndOfEpoch(log[n], theirEpoch))
             IN /\ answered
                /\ log' = [log EXCEPT ![n] = Prefix(@, cut)]
                /\ synced' = [synced EXCEPT ![n] = cut]
                /\ UNCHANGED <<acked, hw>>
     /\ UNCHANGED <<durable, role, leaderOf, facts, committed, bounds>>

(* A leader counts what a majority of the latest voters has on disk, itself  *)
(* by its own sync and only when it is a voter; and only a record of its own *)
(* epoch commits by counting.                                                *)
Holders(n, i) == {m \in Servers : IF m = n THEN synced[n] >= i ELSE acked[n][m] >= i}
AdvanceHighWatermark(n) ==
  /\ role[n] = "leader"
  /\ \E i \in (hw[n] + 1)..Len(log[n]) :
       /\ log[n][i].epoch = epoch[n]
       /\ IsMajority(Holders(n, i), Voters(n))
       /\ hw' = [hw EXCEPT ![n] = i]
       /\ committed' = IF i > Len(committed) THEN Prefix(log[n], i) ELSE committed
  /\ UNCHANGED <<durable, log, synced, role, leaderOf, acked, facts, bounds>>

-----------------------------------------------------------------------------
(* One voter at a time, by a leader that has committed in its own epoch, and *)
(* never while an earlier change is not committed.                           *)
ChangeVoters(n, m) ==
  /\ role[n] = "leader" /\ Len(log[n]) < MaxLog /\ changes < MaxChanges
  /\ hw[n] > 0 /\ log[n][hw[n]].epoch = epoch[n]
  /\ \A i \in (hw[n] + 1)..Len(log[n]) : log[n][i].voters = {}
  /\ LET next == IF m \in Voters(n) THEN Voters(n) \ {m} ELSE Voters(n) \cup {m}
     IN /\ next # {}
        /\ log' = [log EXCEPT ![n] = Append(@, [epoch |-> epoch[n], voters |-> next])]
  /\ changes' = changes + 1
  /\ UNCHANGED <<durable, synced, role, leaderOf, acked, hw, facts, committed, crashes>>

(* A leader that removed itself leads until that is committed.               *)
Resign(n) ==
  /\ role[n] = "leader" /\ n \notin Voters(n) /\ n \notin VotersIn(Prefix(log[n], hw[n]))
  /\ role' = [role EXCEPT ![n] = "unattached"]
  /\ UNCHANGED <<durable, log, synced, leaderOf, acked, hw, facts, committed, bounds>>

Crash(n) ==
  /\ crashes < MaxCrashes
  /\ crashes' = crashes + 1
  /\ log' = [log EXCEPT ![n] = Prefix(@, synced[n])]
  /\ role' = [role EXCEPT ![n] = "unattached"]
  /\ leaderOf' = [leaderOf EXCEPT ![n] = Nobody]
  /\ hw' = [hw EXCEPT ![n] = 0]
  /\ UNCHANGED <<durable, synced, acked, facts, committed, changes>>

Next == \E n \in Servers :
  \/ BecomeCandidate(n) \/ BecomeLeader(n) \/ AppendRecord(n) \/ Sync(n)
  \/ AdvanceHighWatermark(n) \/ Resign(n) \/ Crash(n)
  \/ \E c \in candidacies : Grant(n, c) \/ SeeEpoch(n, c)
  \/ \E l \in leaders : Follow(n, l)
  \/ \E answered \in BOOLEAN : Fetch(n, answered)
  \/ \E m \in Servers : ChangeVoters(n, m)

(* Nodes that begin alike may be exchanged.                                 *)
Alike == Permutations(Initial) \cup Permutations(Servers \ Initial)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What must hold.                                                           *)

OneLeaderPerEpoch == \A a, b \in leaders : a[1] = b[1] => a[2] = b[2]
OneVotePerEpoch   == \A a, b \in ballots : a[1] = b[1] /\ a[2] = b[2] => a[3] = b[3]
LogMatching ==
  \A n, m \in Servers : \A i \in 1..Min(Len(log[n]), Len(log[m])) :
    log[n][i].epoch = log[m][i].epoch => Prefix(log[n], i) = Prefix(log[m], i)
(* What is committed stays: every high watermark agrees with the history ... *)
CommittedAgrees ==
  \A n \in Servers : /\ hw[n] <= Len(log[n]) /\ hw[n] <= Len(committed)
                     /\ Prefix(log[n], hw[n]) = Prefix(committed, hw[n])
(* ... and whoever leads the latest epoch has all of it.                     *)
LeaderHasCommitted ==
  \A n \in Servers :
    role[n] = "leader" /\ (\A l \in leaders : l[1] <= epoch[n]) =>
      Len(committed) <= Len(log[n]) /\ Prefix(log[n], Len(committed)) = committed

Safety == OneLeaderPerEpoch /\ OneVotePerEpoch /\ LogMatching /\ CommittedAgrees /\ LeaderHasCommitted
=============================================================================
