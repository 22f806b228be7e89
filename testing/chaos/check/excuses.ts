/** When a repeated delivery is right: an operator asked for it, or the database lost what it knew. */
import type { History, Span, Story } from './history.ts'

/** Verbs after which messages that were acknowledged, or had attempts, may be delivered again from the first attempt. */
const REWINDING = new Set(['reset', 'redrive', 'backfill', 'resume-backfill'])
/** A claim may reach the disk this much later than its deliveries began (three times PostgreSQL's wal_writer_delay). */
const CLAIM_DELAY = 2e9
/** A claimed page that waits in a process is delivered until its lease is over, and noted when the machine has time. */
export const CLAIM_LIFE = 6e9

type Where = { readonly topic: string; readonly group: string }

const touches = (a: Span, b: Span): boolean => a.from <= b.to && b.from <= a.to

/** An operator rewound the group at some time within the span. */
export const isRewound = ({ operations }: History, { topic, group }: Where, span: Span): boolean =>
  operations.some(
    each =>
      REWINDING.has(each.verb) &&
      each.topic === topic &&
      (each.group === undefined || each.group === group) &&
      touches(each, span),
  )

/** A commit made within the span may have been lost. */
export const isLost = ({ losses }: History, topic: string, span: Span): boolean =>
  losses.some(each => each.what === 'loss' && topic.startsWith(each.scope) && touches(each, span))

/** A claim that led to a delivery within the span may have been lost. */
export const isClaimLost = ({ losses }: History, topic: string, span: Span): boolean =>
  losses.some(
    ({ scope, from, to }) =>
      topic.startsWith(scope) && touches({ from: from - CLAIM_DELAY, to: to + CLAIM_LIFE }, span),
  )

/**
 * SQLite's commits are seen before they are synced, and one whose sync fails is gone after a power loss. A delivery shows
 * that a message was stored for good only if it was made at another time, or settled.
 */
export const isStored = (history: History, { topic, deliveries, settlements }: Story): boolean =>
  settlements.some(({ outcome }) => outcome === 'ok') || deliveries.some(({ at }) => !isUnsynced(history, topic, at))

const isUnsynced = ({ losses }: History, topic: string, at: number): boolean =>
  losses.some(
    ({ fault, scope, from, to }) =>
      fault === 'power-loss' && topic.startsWith(scope) && at >= from - CLAIM_DELAY && at <= to,
  )
