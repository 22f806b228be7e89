import { randomBytes } from 'node:crypto'
import { apply, lettersOf, type Op } from './group/apply.ts'
import { Draft } from './group/change.ts'
import type { GroupDocument } from './group/document.ts'
import { Missing } from './group/facts.ts'
import type { Known, KnownGroup } from './known-group.ts'
import { LoadedFacts, PageMissing } from './loaded-facts.ts'
import { type Namespace, written } from './namespace.ts'
import { MOST_WRITES } from './nats/client.ts'
import { pause } from './nats/connection.ts'
import { BatchDropped, Conflict, NoAnswer, unreachable } from './nats/errors.ts'

const GIVE_UP_MS = 30_000
const COMMITS_NAMED = 32
/** A leader that was replaced may answer for a while. */
const MOST_OLD_READS = 8

/** What the document says about who changes it. */
export type Stewardship = {
  /** Throws if that is another process. */
  assertMine(steward: string | null): void
  /** Called before this process names itself. Returns whom the new document names. */
  prepare(isLeaving: boolean): Promise<string | null>
}

type Applied = { readonly draft: Draft; readonly results: readonly unknown[] }

/**
 * Applies changes to the document of a group and stores it with everything that belongs to them, in one atomic batch.
 * Returns a result for each, or for the first ones if there was no room for all.
 */
export async function commit(
  ns: Namespace,
  group: KnownGroup,
  ops: readonly Op[],
  stewardship: Stewardship,
): Promise<readonly unknown[]> {
  const until = performance.now() + GIVE_UP_MS
  /** Results of the commits that were sent, by their names in the document. */
  const own = new Map<string, readonly unknown[]>()
  for (let attempt = 0; ; attempt++) {
    if (performance.now() > until) throw unreachable(ns.location, new Error('the change could not be stored'))
    const isKnown = group.known !== null
    const base = group.known ?? (await group.read())
    // A commit of unknown outcome was stored after all.
    const stored = base.value.commits.find(name => own.has(name))
    if (stored !== undefined) return own.get(stored) ?? []
    stewardship.assertMine(base.value.steward)
    const facts = factsOf(ns, group, base)
    const applied = await applyAll(ns, group, base.value, ops, facts).catch(error => {
      // Another process has dropped the page, and the document that names it is an old one.
      if (!(error instanceof PageMissing) || (!isKnown && attempt > MOST_OLD_READS)) throw error
      return null
    })
    if (applied === null) {
      group.known = null
      await pause(attempt * 10)
      continue
    }
    const { draft, results } = applied
    if (!draft.isChanged) {
      // That there is nothing to do is not believed of a document that another process may have replaced.
      if (!isKnown) return results
      group.known = null
      continue
    }
    const name = randomBytes(4).toString('hex')
    const document: GroupDocument = {
      ...draft.document,
      steward: await stewardship.prepare(ops.some(({ kind }) => kind === 'leave')),
      commits: [...draft.document.commits.slice(1 - COMMITS_NAMED), name],
      at: facts.now,
    }
    own.set(name, results)
    try {
      await store(ns, group, { draft, facts, document, revision: base.seq })
      return results
    } catch (error) {
      group.known = null
      if (error instanceof Conflict || error instanceof BatchDropped) {
        if (attempt > 2 || error instanceof BatchDropped) await pause(Math.random() * 2 ** Math.min(attempt, 8))
      } else if (error instanceof NoAnswer) await pause(20)
      else throw error
    }
  }
}

function factsOf(ns: Namespace, group: KnownGroup, { value, since, seq }: Known): LoadedFacts {
  // A leader whose clock was ahead has left a time in the future: from there it goes on at the usual pace.
  const now = Math.max(ns.clock.now(), Math.round(value.at + performance.now() - since))
  return new LoadedFacts(ns, group, { now, revision: seq })
}

/** Applies as many of the changes as one commit has room for, again whenever something had to be fetched. */
async function applyAll(
  ns: Namespace,
  { key }: KnownGroup,
  document: GroupDocument,
  ops: readonly Op[],
  facts: LoadedFacts,
): Promise<Applied> {
  for (;;) {
    const draft = new Draft(structuredClone(document), facts, ns.names, key)
    const results: unknown[] = []
    try {
      for (const op of ops) {
        if (results.length > 0 && !draft.hasRoomFor(lettersOf(op))) break
        results.push(apply(draft, op))
      }
      return { draft, results }
    } catch (error) {
      if (!(error instanceof Missing)) throw error
      await error.fetch()
    }
  }
}

type Change = {
  readonly draft: Draft
  readonly facts: LoadedFacts
  readonly document: GroupDocument
  readonly revision: number
}

async function store(
  { client, names }: Namespace,
  group: KnownGroup,
  { draft, facts, document, revision }: Change,
): Promise<void> {
  const writes = draft.writes()
  if (draft.changedTopic !== undefined) {
    writes.push(written(names.topic(group.key), draft.changedTopic, facts.topicSeq))
  }
  if (writes.length >= MOST_WRITES) throw new Error('a change is too large for one batch')
  const { seq } = await client.store([...writes, written(names.group(group.key, group.ref.id), document, revision)])
  group.wrote(document, seq)
}
