------------------------------- MODULE Trace -------------------------------
(***************************************************************************)
(* Could the model (KRaft.tla) have done what the program did in a run of  *)
(* the simulator?  TraceData.tla, which castellan-sim writes, has a line   *)
(* for whatever a replica showed.  TLC looks for steps of the model, of    *)
(* that replica alone, after which the model shows the same; then for the  *)
(* next line.  The trace is accepted when the last one is reached, and     *)
(* what must hold in the model must hold all along.                        *)
(*                                                                         *)
(* In the program messages take time, so that what was sent can arrive     *)
(* when its sender has gone on.  The model says why that adds nothing;     *)
(* here it has to be followed, which the steps called Late do.             *)
(***************************************************************************)
EXTENDS KRaft, TraceData

VARIABLES
  at,       \* the line to explain
  crashed,  \* whether the crash that this line tells of has been made
  asked,    \* the candidacies there were: [node, epoch, lastEpoch, end]
  led       \* by epoch, the longest log that its leader had

TraceNobody == -1
Line == Trace[at]
Who  == Line.node
traced == <<at, crashed, asked, led>>

TraceInit == Init /\ at = 1 /\ crashed = FALSE /\ asked = {} /\ led = <<>>

(* What a replica shows.  Epoch 0 stands for a record that a snapshot has    *)
(* taken the place of.  What it told others that it has is on its disk.  Its *)
(* high watermark, leader or not, is true.                                   *)
Shows(n) ==
  /\ epoch[n] = Line.epoch /\ voted[n] = Line.voted
  /\ (role[n] = "leader") = Line.leads
  /\ synced[n] <= Line.synced
  /\ Len(log[n]) = Len(Line.epochs) /\ \A i \in 1..Len(log[n]) : Line.epochs[i] \in {0, log[n][i].epoch}
  /\ Voters(n) = Line.voters \/ (Line.voters = {} /\ Naming(log[n]) = {})
  /\ Line.leads => hw[n] = Line.hw
  /\ Line.hw <= Len(committed) /\ Line.hw <= Len(log[n]) /\ Prefix(log[n], Line.hw) = Prefix(committed, Line.hw)

Fits(l) == Len(l) <= Len(Line.epochs) /\ \A i \in 1..Len(l) : Line.epochs[i] \in {0, l[i].epoch}
Grown(n) == Len(log'[n]) > Len(log[n]) /\ Fits(log'[n])

-----------------------------------------------------------------------------
(* A vote for a candidacy that is over: nobody counts it.                    *)
LateVote(n) ==
  \E a \in asked :
    /\ a.node = Line.voted /\ a.epoch = Line.epoch /\ a.node # n
    /\ ~(role[a.node] = "candidate" /\ epoch[a.node] = a.epoch)
    /\ a.epoch > epoch[n] \/ (a.epoch = epoch[n] /\ voted[n] = Nobody)
    /\ a.lastEpoch > LastEpoch(log[n]) \/ (a.lastEpoch = LastEpoch(log[n]) /\ a.end >= Len(log[n]))
    /\ Become(n, "follower", a.epoch, a.node) /\ Forget(n)
    /\ votes' = [votes EXCEPT ![n] = {}]
    /\ UNCHANGED <<log, synced, committed, elected, bounds>>

(* The answer of a leader that has stopped leading since.                    *)
LateAnswer(n) ==
  /\ epoch[n] \in DOMAIN led
  /\ LET theirs == led[epoch[n]]
     IN  IF Agree(log[n], theirs)
         THEN /\ Len(Line.epochs) \in Len(log[n])..Len(theirs)
              /\ log' = [log EXCEPT ![n] = Prefix(theirs, Len(Line.epochs))]
              /\ synced' = [synced EXCEPT ![n] = Len(log[n])]
         ELSE /\ log' = [log EXCEPT ![n] = Prefix(@, CutEnd(log[n], theirs))]
              /\ synced' = [synced EXCEPT ![n] = Min(@, CutEnd(log[n], theirs))]
  /\ UNCHANGED <<elections, acked, hw, committed, bounds>>

(* Giving leadership up, which the model leaves out: a leader may always do  *)
(* nothing more.                                                             *)
GiveUp(n) ==
  /\ role[n] = "leader" /\ ~Line.leads
  /\ role' = [role EXCEPT ![n] = "follower"]
  /\ votes' = [votes EXCEPT ![n] = {}] /\ Forget(n)
  /\ UNCHANGED <<epoch, voted, elected, log, synced, committed, bounds>>

-----------------------------------------------------------------------------
(* Steps that may lead to what the line shows.  Who resigned goes on to the  *)
(* next epoch by itself, hence HearOf of epochs that nobody has.  A leader   *)
(* that was removed commits that and steps down at once, so that it never    *)
(* shows the high watermark.                                                 *)
Step(n) ==
  \/ epoch[n] < Line.epoch /\ HearOf(n, Line.epoch)
  \/ epoch[n] < Line.epoch - 1 /\ Line.voted = n /\ HearOf(n, Line.epoch - 1)
  \/ epoch[n] = Line.epoch - 1 /\ Line.voted = n /\ Stand(n)
  \/ \E c \in Servers : c = Line.voted /\ epoch[c] = Line.epoch /\ Vote(n, c)
  \/ LateVote(n)
  \/ Line.leads /\ \E m \in Servers : voted[m] = n /\ epoch[m] = epoch[n] /\ Vote(m, n)  \* repeated: the voter shows nothing new
  \/ epoch[n] = Line.epoch /\ (Line.leads \/ Line.restarted) /\ Win(n) /\ Grown(n)
  \/ AppendRecord(n) /\ Len(log[n]) + 1 # Line.change /\ Grown(n)
  \/ Len(log[n]) + 1 = Line.change /\ (\E m \in Servers : ChangeVoters(n, m)) /\ Grown(n)
  \/ \E l \in Servers : Fetch(n, l) /\ Grown(n) /\ Len(log'[n]) = Len(Line.epochs)
  \/ \E l \in Servers : Truncate(n, l)
  \/ LateAnswer(n)
  \/ \E end \in 1..Len(log[n]) : (end = Line.hw \/ ~Line.leads) /\ Commit(n, end)
  \/ GiveUp(n)

Explain ==
  /\ at' = at
  /\ \/ Step(Who) /\ crashed' = crashed
     \/ Line.restarted /\ ~crashed /\ crashed' = TRUE /\ Crash(Who) /\ (Len(log'[Who]) = Len(Line.epochs) \/ Line.leads)
  /\ asked' = IF role'[Who] = "candidate"
              THEN asked \cup {[node |-> Who, epoch |-> epoch'[Who], lastEpoch |-> LastEpoch(log'[Who]), end |-> Len(log'[Who])]}
              ELSE asked
  /\ led' = IF role'[Who] = "leader" THEN epoch'[Who] :> log'[Who] @@ led ELSE led

(* The line is explained.  A follower whose log is on its disk fetches: this *)
(* is when its acknowledgement leaves.                                       *)
Acknowledges(l) ==
  l = Line.follows /\ role[l] = "leader" /\ epoch[l] = epoch[Who] /\ Line.synced = Len(log[Who]) /\ Agree(log[Who], log[l])
Accept ==
  /\ Shows(Who) /\ crashed = Line.restarted
  /\ IF \E l \in Servers : Acknowledges(l)
     THEN Fetch(Who, Line.follows) /\ log' = log
     ELSE UNCHANGED vars
  /\ at' = at + 1 /\ crashed' = FALSE /\ UNCHANGED <<asked, led>>

TraceNext == at <= Len(Trace) /\ (Explain \/ Accept)
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, traced>>

-----------------------------------------------------------------------------
ASSUME TLCSet(1, 0)
Furthest == TLCSet(1, Max({TLCGet(1), at}))
Accepted ==
  IF TLCGet(1) > Len(Trace) THEN PrintT(<<"accepted", Len(Trace)>>)
  ELSE PrintT(<<"no step of the model leads to line", TLCGet(1), Trace[TLCGet(1)]>>) /\ FALSE
=============================================================================
