import type { GroupHealth, Stats, SubscriptionStatus } from 'tidemark'

/** Number of changes kept per group, the newest. */
export const MOST_CHANGES = 50

export type GroupChange = { readonly at: Date } & (
  | { readonly kind: 'seen'; readonly to: SubscriptionStatus; readonly epoch: number }
  | {
      readonly kind: 'status'
      readonly from: SubscriptionStatus
      readonly to: SubscriptionStatus
      readonly epoch: number
    }
  | { readonly kind: 'missed'; readonly misses: number }
  | { readonly kind: 'lost'; readonly messages: number }
)

type Known = { readonly health: GroupHealth; readonly changes: GroupChange[] }

/** The history of every group since the server started, from one read of the database to the next. Kept in memory. */
export class GroupChanges {
  #groups = new Map<string, Known>()

  add({ takenAt: at, topics }: Stats): void {
    const now = new Map<string, Known>()
    for (const { groups } of Object.values(topics)) {
      for (const health of Object.values(groups)) {
        const name = nameOf(health.topic, health.group)
        const { changes = [], health: before } = this.#groups.get(name) ?? {}
        for (const change of changesOf(before, health, at)) keep(changes, change)
        now.set(name, { health, changes })
      }
    }
    this.#groups = now
  }

  /** Oldest first; undefined if the group is unknown. */
  read(topic: string, group: string): readonly GroupChange[] | undefined {
    return this.#groups.get(nameOf(topic, group))?.changes
  }
}

const nameOf = (topic: string, group: string): string => `${topic}/${group}`

function changesOf(before: GroupHealth | undefined, now: GroupHealth, at: Date): GroupChange[] {
  const { status, epoch } = now
  // A group that was recreated under its name starts a new history.
  if (before === undefined || before.createdAt.getTime() !== now.createdAt.getTime()) {
    return [{ at, kind: 'seen', to: status, epoch }]
  }
  const changes: GroupChange[] = []
  if (now.misses > before.misses) changes.push({ at, kind: 'missed', misses: now.misses })
  if (now.lost > before.lost) changes.push({ at, kind: 'lost', messages: now.lost - before.lost })
  if (status !== before.status || epoch !== before.epoch) {
    changes.push({ at, kind: 'status', from: before.status, to: status, epoch })
  }
  return changes
}

/** Consecutive misses are one line, with their number. */
function keep(changes: GroupChange[], change: GroupChange): void {
  if (change.kind === 'missed' && change.misses > 1 && changes.at(-1)?.kind === 'missed') changes.pop()
  changes.push(change)
  if (changes.length > MOST_CHANGES) changes.shift()
}
