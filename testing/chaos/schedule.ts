/** Which fault comes when: a function of the seed, so that a run can be repeated. */
import { SeededRandom } from '../seeded-random.ts'
import type { Fault } from './faults/fault.ts'

export type Event = {
  /** Its number in the schedule, for `--events`. */
  readonly number: number
  /** Milliseconds after the processes have started. */
  readonly at: number
  readonly fault: Fault
  /** Seed of the choices that the fault makes. */
  readonly seed: number
}

/**
 * Undisturbed at the beginning, so that everything has started. A group is found dead by a job, whose lock another fault
 * may leave behind for some seconds: the first death is undisturbed too.
 */
const START_MS = { processes: 1_000, database: 4_000 }
/** Mean time between two faults of one lane. */
const GAP_MS = 8_000

/** Every fault comes once before any comes again, as far as the time allows. */
export function scheduleOf(seed: number, milliseconds: number, faults: readonly Fault[]): Event[] {
  const random = new SeededRandom(seed)
  const lanes = ['processes', 'database'] as const
  const events = lanes.flatMap(lane => {
    const ofLane = faults.filter(fault => fault.lane === lane)
    return ofLane.length === 0 ? [] : laneOf(random, START_MS[lane], milliseconds, ofLane)
  })
  return events.sort((a, b) => a.at - b.at).map((event, number) => ({ ...event, number }))
}

function laneOf(
  random: SeededRandom,
  start: number,
  milliseconds: number,
  faults: readonly Fault[],
): Omit<Event, 'number'>[] {
  const events: Omit<Event, 'number'>[] = []
  // A short run still has each fault that a rare path needs.
  const gap = Math.min(GAP_MS, (milliseconds - start) / (faults.length + 1))
  let waiting: Fault[] = []
  for (let at = start; at < milliseconds; at += gap * (0.5 + random.next())) {
    if (waiting.length === 0) waiting = shuffled(random, faults)
    const fault = waiting.pop()
    if (fault !== undefined) events.push({ at: Math.round(at), fault, seed: random.below(0x7fff_ffff) })
  }
  return events
}

/** What a rare path needs comes last in the list, and so first in the run; a death before all others. */
function shuffled(random: SeededRandom, faults: readonly Fault[]): Fault[] {
  const urgency = ({ reaches }: Fault): number => (reaches.includes('resurrections') ? 2 : Math.min(1, reaches.length))
  const order = faults.map(fault => ({ fault, place: random.next() + urgency(fault) }))
  return order.sort((a, b) => a.place - b.place).map(({ fault }) => fault)
}
