------------------------------- MODULE KRaft -------------------------------
(***************************************************************************)
(* The quorum protocol of KRaft with voter changes (KIP-595, KIP-853), as  *)
(* Castellan runs it.  Read it top to bottom: it is meant to be the        *)
(* shortest explanation of why the protocol is safe.                       *)
(*                                                                         *)
(* KRaft is Raft turned round: followers fetch.  A fetch at offset n says  *)
(* "I have all below n on my disk, and the last of it is of epoch e", so   *)
(* it is request, acknowledgement and consistency check in one.            *)
(*                                                                         *)
(* There are no messages here.  A node acts on another's state as it is;   *)
(* a message that is late, lost or doubled shows it a state of earlier.    *)
(* That adds nothing: a vote request of a candidacy that is over gets a    *)
(* vote that nobody counts; the news of a leader of yesterday is an epoch  *)
(* to hear of; an answer to an older fetch is not accepted; an             *)
(* acknowledgement or a vote that was given stays given, so the receiver   *)
(* may use it as late as it likes, or never.                               *)
(*                                                                         *)
(* Left out, since it concerns progress and not safety: time, pre-votes    *)
(* (KIP-996: here anybody may stand at any time), giving leadership up and *)
(* handing it over, and where nodes listen.  Snapshots too: one stands for *)
(* a committed prefix of the log.                                          *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
  Servers,      \* all nodes there may ever be
  Initial,      \* the voters at the beginning
  Nobody,
  MaxEpoch, MaxLog, MaxCrashes, MaxChanges,   \* bounds for the model checker
  Mistakes      \* what to get wrong on purpose, to see that it would be found

VARIABLES
  epoch,        \* durable: the latest epoch that a node has heard of
  voted,        \* durable: for whom it voted in that epoch
  log,          \* records [epoch, voters]; voters = {} is any other record
  synced,       \* durable: how long a prefix of the log must outlive a crash
  role,         \* "follower" (of somebody or nobody), "candidate", "leader"
  votes,        \* at a candidate and leader: who voted for it
  acked,        \* at a leader: the end of each node's log as its fetches told
  hw,           \* at a leader: its high watermark, once it knows one
  committed,    \* history: the longest prefix that was ever committed
  elected,      \* history: <<epoch, node>>
  crashes, changes

vars == <<epoch, voted, log, synced, role, votes, acked, hw, committed, elected, crashes, changes>>
elections == <<epoch, voted, role, votes, elected>>
records   == <<log, synced, acked, hw, committed>>
bounds    == <<crashes, changes>>

Wrong(mistake) == mistake \in Mistakes
Max(S)         == CHOOSE x \in S : \A y \in S : y <= x
Min(a, b)      == IF a < b THEN a ELSE b
Prefix(l, end) == SubSeq(l, 1, end)
LastEpoch(l)   == IF l = <<>> THEN 0 ELSE l[Len(l)].epoch
None           == [n \in Servers |-> 0]

(* The voters are those of the latest record that names them, committed or  *)
(* not: a change is in force as soon as it is in the log.                   *)
Naming(l)    == {i \in 1..Len(l) : l[i].voters # {}}
VotersIn(l)  == IF Naming(l) = {} THEN Initial ELSE l[Max(Naming(l))].voters
Voters(n)    == VotersIn(log[n])
IsMajority(S, voters) == 2 * Cardinality(S \cap voters) > Cardinality(voters)

Init ==
  /\ epoch = None /\ voted = [n \in Servers |-> Nobody]
  /\ log = [n \in Servers |-> <<>>] /\ synced = None
  /\ role = [n \in Servers |-> "follower"] /\ votes = [n \in Servers |-> {}]
  /\ acked = [n \in Servers |-> None] /\ hw = None
  /\ committed = <<>> /\ elected = {}
  /\ crashes = 0 /\ changes = 0

-----------------------------------------------------------------------------
(* Elections.                                                                *)

Become(n, newRole, newEpoch, vote) ==
  /\ epoch' = [epoch EXCEPT ![n] = newEpoch]
  /\ voted' = [voted EXCEPT ![n] = vote]
  /\ role' = [role EXCEPT ![n] = newRole]

(* What a leader knew ends with its leading.                                 *)
Forget(n) ==
  /\ acked' = [acked EXCEPT ![n] = None]
  /\ hw' = [hw EXCEPT ![n] = 0]

(* A later epoch, heard of from anybody, ends what a node is.                *)
HearOf(n, e) ==
  /\ e > epoch[n]
  /\ Become(n, "follower", e, Nobody) /\ Forget(n)
  /\ votes' = [votes EXCEPT ![n] = {}]
  /\ UNCHANGED <<log, synced, committed, elected, bounds>>

(* The vote for itself is on disk before it asks anybody.                   *)
Stand(n) ==
  /\ role[n] # "leader" /\ n \in Voters(n) /\ epoch[n] < MaxEpoch
  /\ Become(n, "candidate", epoch[n] + 1, n)
  /\ votes' = [votes EXCEPT ![n] = {n}]
  /\ UNCHANGED <<records, elected, bounds>>

(* A vote goes to whoever has a log at least as good, the later epoch first, *)
(* whether or not the voter's own log, which may be behind, counts that one  *)
(* among the voters.  It is on disk before the answer leaves, and repeated   *)
(* when it is asked for again, without another look.  Hence the candidate    *)
(* syncs the log that it asks with: it could ask again, after a crash, with  *)
(* less.                                                                     *)
IsAtLeast(l, other) ==
  \/ LastEpoch(l) > LastEpoch(other)
  \/ LastEpoch(l) = LastEpoch(other) /\ Len(l) >= Len(other)

Vote(n, c) ==
  /\ role[c] = "candidate" /\ n # c /\ n \notin votes[c]
  /\ \/ epoch[c] > epoch[n] /\ IsAtLeast(log[c], log[n])
     \/ epoch[c] = epoch[n] /\ voted[n] = Nobody /\ IsAtLeast(log[c], log[n])
     \/ epoch[c] = epoch[n] /\ voted[n] = c
  /\ Become(n, "follower", epoch[c], c) /\ Forget(n)
  /\ votes' = [votes EXCEPT ![n] = {}, ![c] = @ \cup {n}]
  /\ synced' = IF Wrong("a candidate asks before it has synced") THEN synced ELSE [synced EXCEPT ![c] = Len(log[c])]
  /\ UNCHANGED <<log, committed, elected, bounds>>

(* The new leader's first record is of its own epoch: what earlier leaders   *)
(* left behind is committed only together with it.                           *)
Win(n) ==
  /\ role[n] = "candidate" /\ IsMajority(votes[n], Voters(n)) /\ Len(log[n]) < MaxLog
  /\ role' = [role EXCEPT ![n] = "leader"]
  /\ elected' = elected \cup {<<epoch[n], n>>}
  /\ log' = [log EXCEPT ![n] = Append(@, [epoch |-> epoch[n], voters |-> {}])]
  /\ UNCHANGED <<epoch, voted, votes, synced, acked, hw, committed, bounds>>

-----------------------------------------------------------------------------
(* Replication.                                                              *)

AppendRecord(n) ==
  /\ role[n] = "leader" /\ Len(log[n]) < MaxLog
  /\ log' = [log EXCEPT ![n] = Append(@, [epoch |-> epoch[n], voters |-> {}])]
  /\ UNCHANGED <<elections, synced, acked, hw, committed, bounds>>

(* The follower asks for what comes after all it has, and asks only once     *)
(* that is on its disk.  The leader takes note.  Its answer brings records   *)
(* up to `end`; none when it is lost.                                        *)
EndOfEpoch(l, e)   == Max({0} \cup {i \in 1..Len(l) : l[i].epoch <= e})
Agree(l, other)    == Len(l) <= Len(other) /\ LastEpoch(Prefix(other, Len(l))) = LastEpoch(l)

Fetch(n, l) ==
  /\ role[l] = "leader" /\ n # l /\ epoch[n] = epoch[l] /\ Agree(log[n], log[l])
  /\ role' = [role EXCEPT ![n] = "follower"]
  /\ votes' = [votes EXCEPT ![n] = {}]
  /\ synced' = [synced EXCEPT ![n] = Len(log[n])]
  /\ acked' = [acked EXCEPT ![l][n] = Len(log[n])]
  /\ \E end \in Len(log[n])..Len(log[l]) : log' = [log EXCEPT ![n] = Prefix(log[l], end)]
  /\ UNCHANGED <<epoch, voted, hw, committed, elected, bounds>>

(* Where the logs disagree the answer says where the leader's ends for the   *)
(* follower's last epoch or the latest before it; the follower cuts its log  *)
(* to where both may still be equal, and asks again.                         *)
CutEnd(l, leaders) ==
  LET theirs == EndOfEpoch(leaders, LastEpoch(l))
  IN  Min(theirs, EndOfEpoch(l, LastEpoch(Prefix(leaders, theirs))))

Truncate(n, l) ==
  LET end == CutEnd(log[n], log[l])
  IN
  /\ role[l] = "leader" /\ n # l /\ epoch[n] = epoch[l] /\ ~Agree(log[n], log[l])
  /\ role' = [role EXCEPT ![n] = "follower"]
  /\ votes' = [votes EXCEPT ![n] = {}]
  /\ log' = [log EXCEPT ![n] = Prefix(@, end)]
  /\ synced' = [synced EXCEPT ![n] = Min(@, end)]
  /\ UNCHANGED <<epoch, voted, acked, hw, committed, elected, bounds>>

(* A leader counts who of the latest voters has a record on disk; itself     *)
(* only when it is one of them, and by its own sync.  Only a record of its   *)
(* own epoch is committed by counting, and all before it with it.            *)
Commit(n, end) ==
  LET others == {m \in Servers \ {n} : acked[n][m] >= end}
  IN
  /\ role[n] = "leader" /\ end > hw[n] /\ end <= Len(log[n])
  /\ log[n][end].epoch = epoch[n] \/ Wrong("earlier epochs are counted")
  /\ IsMajority(others \cup {n}, Voters(n))
  /\ synced' = [synced EXCEPT ![n] = IF IsMajority(others, Voters(n)) \/ Wrong("the leader counts what it has not synced")
                                     THEN @ ELSE Max({@, end})]
  /\ hw' = [hw EXCEPT ![n] = end]
  /\ committed' = IF end > Len(committed) THEN Prefix(log[n], end) ELSE committed
  /\ UNCHANGED <<elections, log, acked, bounds>>

-----------------------------------------------------------------------------
(* Voters change one at a time, by a leader that has committed a record of   *)
(* its own epoch, and never while an earlier change is not committed.        *)
ChangeVoters(n, m) ==
  LET next == IF m \in Voters(n) THEN Voters(n) \ {m} ELSE Voters(n) \cup {m}
  IN
  /\ role[n] = "leader" /\ Len(log[n]) < MaxLog /\ changes < MaxChanges
  /\ hw[n] > 0
  /\ (\A i \in Naming(log[n]) : i <= hw[n]) \/ Wrong("two changes are pending")
  /\ next # {}
  /\ log' = [log EXCEPT ![n] = Append(@, [epoch |-> epoch[n], voters |-> next])]
  /\ changes' = changes + 1
  /\ UNCHANGED <<elections, synced, acked, hw, committed, crashes>>

(* A leader that was removed leads until that is committed.  It counts for   *)
(* nothing meanwhile (Commit), and steps down then.                          *)
StepDown(n) ==
  /\ role[n] = "leader" /\ n \notin VotersIn(Prefix(log[n], hw[n])) /\ n \notin Voters(n)
  /\ role' = [role EXCEPT ![n] = "follower"]
  /\ votes' = [votes EXCEPT ![n] = {}]
  /\ Forget(n)
  /\ UNCHANGED <<epoch, voted, elected, log, synced, committed, bounds>>

-----------------------------------------------------------------------------
(* Of what was not synced any part may be lost.  A leader does not lead on   *)
(* in its epoch.  A candidate asks again, for all votes.                     *)
Crash(n) ==
  /\ crashes < MaxCrashes
  /\ crashes' = crashes + 1
  /\ \E end \in synced[n]..Len(log[n]) : log' = [log EXCEPT ![n] = Prefix(@, end)]
  /\ IF role[n] = "candidate"
     THEN role' = role /\ votes' = [votes EXCEPT ![n] = {n}]
     ELSE role' = [role EXCEPT ![n] = "follower"] /\ votes' = [votes EXCEPT ![n] = {}]
  /\ voted' = IF Wrong("votes are not durable") /\ role[n] = "follower" THEN [voted EXCEPT ![n] = Nobody] ELSE voted
  /\ Forget(n)
  /\ UNCHANGED <<epoch, elected, synced, committed, changes>>

Next == \E n \in Servers :
  \/ Stand(n) \/ Win(n) \/ AppendRecord(n) \/ StepDown(n) \/ Crash(n)
  \/ \E m \in Servers : HearOf(n, epoch[m]) \/ Vote(n, m) \/ Fetch(n, m) \/ Truncate(n, m) \/ ChangeVoters(n, m)
  \/ \E end \in 1..MaxLog : Commit(n, end)

Spec == Init /\ [][Next]_vars

(* Nodes that begin alike may be exchanged.                                  *)
Alike == Permutations(Initial) \cup Permutations(Servers \ Initial)

-----------------------------------------------------------------------------
(* What must hold.                                                           *)

OneLeaderPerEpoch == \A a, b \in elected : a[1] = b[1] => a[2] = b[2]

OneVotePerEpoch ==
  \A a, b \in Servers : a # b /\ epoch[a] = epoch[b] => votes[a] \cap votes[b] = {}

LogMatching ==
  \A n, m \in Servers : \A i \in 1..Min(Len(log[n]), Len(log[m])) :
    log[n][i].epoch = log[m][i].epoch => Prefix(log[n], i) = Prefix(log[m], i)

(* What is committed stays: a leader's high watermark lies within its log    *)
(* and agrees with all that was ever committed ...                           *)
HighWatermark ==
  \A n \in Servers : hw[n] <= Len(log[n]) /\ hw[n] <= Len(committed) /\ Prefix(log[n], hw[n]) = Prefix(committed, hw[n])

(* ... and whoever leads in the latest epoch has all of it.                  *)
LeaderHasCommitted ==
  \A n \in Servers : role[n] = "leader" /\ (\A e \in elected : e[1] <= epoch[n]) =>
    Len(committed) <= Len(log[n]) /\ Prefix(log[n], Len(committed)) = committed

CommonEnd(l, other) == Max({0} \cup {i \in 1..Min(Len(l), Len(other)) : Prefix(l, i) = Prefix(other, i)})

OneChangeAtATime ==
  \A n \in Servers : Cardinality({i \in Naming(log[n]) : i > CommonEnd(log[n], committed)}) <= 1

(* Any majority of a voter set meets any of the next.                        *)
MajoritiesMeet ==
  \A n \in Servers : \A i \in Naming(log[n]) :
    LET before == VotersIn(Prefix(log[n], i - 1))
        after  == log[n][i].voters
    IN  \A A \in SUBSET before, B \in SUBSET after : IsMajority(A, before) /\ IsMajority(B, after) => A \cap B # {}

Consequences == OneLeaderPerEpoch /\ LogMatching /\ HighWatermark /\ LeaderHasCommitted
Safety       == Consequences /\ OneVotePerEpoch /\ OneChangeAtATime /\ MajoritiesMeet

(* Epochs, a leader's high watermark and what is committed only grow; and    *)
(* but for a crash nobody loses what it shares with that.                    *)
OnlyGrows ==
  /\ \A n \in Servers :
       /\ epoch'[n] >= epoch[n]
       /\ role[n] = "leader" /\ role'[n] = "leader" => hw'[n] >= hw[n]
       /\ crashes' = crashes => CommonEnd(log'[n], committed') >= CommonEnd(log[n], committed)
       /\ synced'[n] >= Min(synced[n], CommonEnd(log[n], committed))
  /\ Prefix(committed', Len(committed)) = committed
Growth == [][OnlyGrows]_vars
=============================================================================
