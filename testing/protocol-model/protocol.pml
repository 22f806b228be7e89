/*
 * The protocol of consuming, as Spin checks it: every order in which two processes of one group, the clean-up of dead
 * groups, an operator and the clock can act on two messages. `npm run model` checks it, and checks that it fails without
 * each of the three fences:
 *
 *   NO_VERSION      a settlement does not compare the lease's token
 *   NO_EPOCH        the clean-up of a dead group does not compare the group's epoch
 *   NO_INCARNATION  nobody compares the namespace's incarnation
 *
 * An atomic block is one transaction of a store. What a process remembers between two of them may be outdated by then.
 * Every run ends, because everything that could go on for ever is bounded, so a message that is stuck is an end state
 * that Spin reports as invalid.
 */

#ifndef MESSAGES
#define MESSAGES 1
#endif
#define CONSUMERS 2
#define MAX_ATTEMPTS 2
#define NOBODY 9

mtype:message = { WAITING, LEASED, DONE, BURIED, LOST }
mtype:group = { ACTIVE, DEAD }

/* One message of one group. */
typedef Message {
  mtype:message state = WAITING
  byte token    /* of the lease: the version that fences a settlement */
  byte attempts
  bool expired  /* the lease's deadline has passed */
  bool extended
  byte holder = NOBODY /* known to the checker only, like `handled` */
  bool handled  /* since the message was published or the group was reset */
}

Message message[MESSAGES]
mtype:group status = ACTIVE
byte epoch
byte incarnation
/* Random in the stores. Counted from 1 again in a namespace made anew: the checker assumes the worst. */
byte lastToken
byte lost
byte letters

/* How much of what could go on for ever is left. */
byte deathsLeft = 2
byte resetsLeft = 1
byte recreationsLeft = 1

#define isFinal(m) (message[m].state == DONE || message[m].state == BURIED || message[m].state == LOST)
#if MESSAGES > 1
#define allFinal (isFinal(0) && isFinal(1))
#else
#define allFinal isFinal(0)
#endif
#define over (allFinal && recreationsLeft == 0 && resetsLeft == 0)

#ifdef NO_VERSION
#define tokenFits(m, held) (message[m].state == LEASED)
#else
#define tokenFits(m, held) (message[m].state == LEASED && message[m].token == held)
#endif

#ifdef NO_EPOCH
#define epochFits(seen) (true)
#else
#define epochFits(seen) (epoch == seen)
#endif

#ifdef NO_INCARNATION
#define incarnationFits(known) (true)
#else
#define incarnationFits(known) (incarnation == known)
#endif

inline fail(m) {
  message[m].holder = NOBODY
  message[m].token = 0
  message[m].expired = false
  if
  :: message[m].attempts >= MAX_ATTEMPTS -> message[m].state = BURIED; letters++
  :: else -> message[m].state = WAITING
  fi
}

inline claim(m) {
  /* What was subscribed in an earlier namespace must not take messages of this one. */
  assert(known == incarnation)
  lastToken++
  held = lastToken
  mine = m
  message[m].state = LEASED
  message[m].token = held
  message[m].attempts++
  message[m].expired = false
  message[m].extended = false
  message[m].holder = me
}

/* A process of the group. It may stand still between any two steps, for longer than its lease. */
proctype Consumer(byte me) {
  byte known = incarnation
  byte held
  byte mine = NOBODY
  bool crashed
  do
  :: over -> break

  /* Takes a message that waits. */
  :: atomic { mine == NOBODY && status == ACTIVE && incarnationFits(known) && message[0].state == WAITING -> claim(0) }
#if MESSAGES > 1
  :: atomic { mine == NOBODY && status == ACTIVE && incarnationFits(known) && message[1].state == WAITING -> claim(1) }
#endif

  /* Its handler runs. This is no transaction: the lease may be gone by now. */
  :: atomic { mine != NOBODY && known == incarnation && message[mine].holder == me -> message[mine].handled = true }
     if
     :: atomic { true -> /* ack */
          if
          :: tokenFits(mine, held) && incarnationFits(known) ->
             assert(message[mine].holder == me && known == incarnation)
             message[mine].state = DONE
             message[mine].holder = NOBODY
             message[mine].token = 0
             assert(message[mine].handled)
          :: else -> skip /* stale: refused, and nothing changes */
          fi
          mine = NOBODY
        }
     :: atomic { true -> /* nack */
          if
          :: tokenFits(mine, held) && incarnationFits(known) ->
             assert(message[mine].holder == me && known == incarnation)
             fail(mine)
          :: else -> skip
          fi
          mine = NOBODY
        }
     fi

  :: atomic { /* extend, once for each lease */
       mine != NOBODY && tokenFits(mine, held) && incarnationFits(known) && !message[mine].extended ->
       assert(message[mine].holder == me && known == incarnation)
       message[mine].extended = true
       message[mine].expired = false
     }

  /* What it holds was taken away: it is told so, and lets go. */
  :: atomic { mine != NOBODY && !(tokenFits(mine, held) && incarnationFits(known)) -> mine = NOBODY }

  :: atomic { !crashed -> crashed = true; mine = NOBODY; known = incarnation } /* ended, and started again */

  /* A heartbeat brings a dead group back. */
  :: atomic { status == DEAD && incarnationFits(known) ->
       assert(known == incarnation)
       status = ACTIVE
       epoch++
     }

  /* It is told that its namespace is gone, and subscribes in the new one. */
  :: atomic { mine == NOBODY && known != incarnation -> known = incarnation }
  od
}

/* Leases run out, and any process of the group gives back what they held. Heartbeats stay away, and the group is dead. */
proctype Clock() {
  do
  :: over -> break
  :: atomic { message[0].state == LEASED && !message[0].expired -> message[0].expired = true }
#if MESSAGES > 1
  :: atomic { message[1].state == LEASED && !message[1].expired -> message[1].expired = true }
#endif
  :: atomic { message[0].state == LEASED && message[0].expired -> fail(0) }
#if MESSAGES > 1
  :: atomic { message[1].state == LEASED && message[1].expired -> fail(1) }
#endif
  :: atomic { status == ACTIVE && deathsLeft > 0 -> deathsLeft--; status = DEAD }
  od
}

/* Takes from a dead group what waits for it, and counts it. It looks in one transaction and removes in another. */
proctype DeadGroupCleanUp() {
  byte seen
  byte known = incarnation
  byte m
  bool wanted[MESSAGES]
  do
  :: over -> break
  :: atomic { status == DEAD ->
       seen = epoch
       known = incarnation
       for (m : 0 .. MESSAGES - 1) { wanted[m] = (message[m].state == WAITING) }
     }
     atomic {
       for (m : 0 .. MESSAGES - 1) {
         if
         :: status == DEAD && epochFits(seen) && incarnationFits(known) && wanted[m] ->
            assert(message[m].state == WAITING)
            message[m].state = LOST
            lost++
         :: else -> skip
         fi
         wanted[m] = false
       }
       seen = 0
     }
  od
}

inline beginAgain() {
  for (m : 0 .. MESSAGES - 1) {
    message[m].state = WAITING
    message[m].token = 0
    message[m].attempts = 0
    message[m].expired = false
    message[m].extended = false
    message[m].holder = NOBODY
    message[m].handled = false
  }
  lost = 0
  letters = 0
}

/* Moves the group back to the beginning once, and drops the namespace and makes it again once. Or doesn't. */
proctype Operator() {
  byte m
  if
  :: atomic { true -> beginAgain(); epoch++; resetsLeft = 0 }
  :: atomic { true -> resetsLeft = 0 }
  fi
  if
  :: atomic { true -> beginAgain(); epoch = 0; lastToken = 0; status = ACTIVE; incarnation++; recreationsLeft = 0 }
  :: atomic { true -> recreationsLeft = 0 }
  fi
}

/* When everything has ended, what is told about it is true. */
proctype Checker() {
  byte buried
  byte gone
  byte m
  atomic {
    over ->
    for (m : 0 .. MESSAGES - 1) {
      buried = buried + (message[m].state == BURIED)
      gone = gone + (message[m].state == LOST)
    }
    assert(letters == buried)
    assert(lost == gone)
  }
}

init {
  atomic {
    run Consumer(0)
    run Consumer(1)
    run Clock()
    run DeadGroupCleanUp()
    run Operator()
    run Checker()
  }
}
