import { duration, rate, whole } from '../format.ts'
import type { Backfill } from '../shapes.ts'

/** What an action on a group will do, in numbers. Pure functions, so that every sentence can be tested. */

const messages = (value: number): string => `${whole(value)} ${value === 1 ? 'message' : 'messages'}`
const are = (value: number): string => (value === 1 ? 'is' : 'are')

export function pauseText(name: string, inFlight: number, maxRetentionMs: number | null): string {
  const running =
    inFlight === 0 ? 'Nothing is in flight.' : `${whole(inFlight)} in flight ${inFlight === 1 ? 'finishes' : 'finish'}.`
  const upTo = maxRetentionMs === null ? '' : `, up to ${duration(maxRetentionMs)}`
  return `${name} takes nothing new. ${running} What comes waits${upTo}.`
}

/** `perSecond`: the group's recent rate; unknown if it was idle. */
export function resumeText(lag: number, perSecond: number | undefined): string {
  if (lag === 0) return 'Nothing is waiting.'
  const waiting = `${whole(lag)} ${are(lag)} waiting`
  if (perSecond === undefined || perSecond <= 0) return `${waiting}.`
  return `${waiting}; at ${rate(perSecond)}/s that takes about ${duration(Math.max(1_000, (lag / perSecond) * 1_000))}.`
}

export type ResurrectChoice = 'where' | 'newest' | 'present'

export function resurrectText(choice: ResurrectChoice, lag: number, newest: number): string {
  if (choice === 'where') return `Goes on where it stopped: ${messages(lag)} waiting.`
  const skipped = choice === 'present' ? lag : Math.max(0, lag - newest)
  const start =
    choice === 'present' ? 'Goes on at the present' : `Goes on with the newest ${whole(Math.min(newest, lag))}`
  return skipped === 0
    ? `${start}; nothing is skipped.`
    : `${start}: ${messages(skipped)} ${are(skipped)} skipped and ${skipped === 1 ? 'counts' : 'count'} as lost.`
}

export const cancelText = (name: string, lag: number): string =>
  `${name} ends for good; ${whole(lag)} waiting ${are(lag)} not delivered to it. Others aren't touched.`

export function removeText(name: string, inFlight: number, deadLetters: number): string {
  const waits =
    inFlight === 0 ? 'has nothing in flight to wait for' : `waits up to 10 s for ${whole(inFlight)} in flight`
  const letters =
    deadLetters === 0
      ? 'It has no dead letters.'
      : deadLetters === 1
        ? 'Its 1 dead letter stays.'
        : `Its ${whole(deadLetters)} dead letters stay.`
  return `Cancels ${name}, ${waits}, and deletes it. ${letters}`
}

export type ResetPreview = {
  readonly from: number | null
  readonly to: number | null
  readonly direction: 'back' | 'forward' | 'none'
  readonly messages: number
  /** The number is an upper limit. */
  readonly atMost: boolean
  readonly inFlight: number
  readonly retries: number
}

/** `isReference`: a backfill delivers what is repeated. */
export function resetText(name: string, preview: ResetPreview, isReference: boolean): string {
  const { direction, messages: moved, atMost } = preview
  const some = `${atMost ? 'Up to ' : ''}${messages(moved)}`
  if (direction === 'none' || moved === 0)
    return `${name} is there already: nothing comes again and nothing is skipped.`
  if (direction === 'back')
    return `${some} ${moved === 1 ? 'comes' : 'come'} again${isReference ? ', by backfill' : ''}`
  return `${some} never ${moved === 1 ? 'reaches' : 'reach'} ${name}.`
}

export function letGoText(name: string, inFlight: number, retries: number): string {
  if (inFlight === 0 && retries === 0) return `${name} holds nothing now.`
  const parts = [
    ...(inFlight > 0 ? [`${whole(inFlight)} in flight may be done twice`] : []),
    ...(retries > 0 ? [`${whole(retries)} ${retries === 1 ? 'retry drops' : 'retries drop'}`] : []),
  ]
  return `What ${name} holds is let go: ${parts.join(', ')}.`
}

export function resetLabel({ direction, messages: moved }: ResetPreview): string {
  if (direction === 'none' || moved === 0) return 'Move'
  return `Move ${direction === 'back' ? 'back' : 'forward'} by ${whole(moved)}`
}

export const backfillText = (verb: 'start' | 'cancel' | 'resume', processed: number): string =>
  verb === 'start'
    ? 'Up to 1\u202f000\u202f000 earlier messages come again. It slows down for live traffic, and keeps its place.'
    : verb === 'cancel'
      ? `${whole(processed)} brought so far stay. It keeps its place and can be resumed.`
      : `Goes on after ${whole(processed)} where it stopped. It slows down for live traffic.`

/** "61 % · 8 200/s · 2 min left · slowed by live traffic", or how it ended. */
export function progressWords({ status, progress, ratePerSecond, etaMs, slowed, processed, error }: Backfill): string {
  const percent = `${Math.floor(progress * 100)} %`
  if (status === 'RUNNING') {
    const left = etaMs === null ? [] : [`${duration(etaMs)} left`]
    return [percent, `${rate(ratePerSecond)}/s`, ...left, ...(slowed ? ['slowed by live traffic'] : [])].join(' · ')
  }
  if (status === 'COMPLETED') return `complete: ${whole(processed)} brought`
  if (status === 'CANCELLED') return `cancelled at ${percent}, ${whole(processed)} brought`
  return `failed at ${percent}: ${error ?? 'unknown error'}`
}
