import { duration, whole } from '../format.ts'
import type { Attempt, DryRun } from './letter-shapes.ts'

/** From this many on, returning them is asked in a dialog. */
export const MANY = 100

/** "212 return to email with 5 attempts each. 4 stay: their messages were cleaned up." */
export function redriveText({ matching, gone, orphaned }: DryRun, group: string, maxAttempts: number): string {
  const back = matching - gone - orphaned
  const attempts = `${maxAttempts} ${maxAttempts === 1 ? 'attempt' : 'attempts'}${back === 1 ? '' : ' each'}`
  const parts = [
    back === 0
      ? 'None can return.'
      : `${whole(back)} ${back === 1 ? 'returns' : 'return'} to ${group} with ${attempts}.`,
    ...(gone === 0
      ? []
      : [`${whole(gone)} ${gone === 1 ? 'stays: its message was' : 'stay: their messages were'} cleaned up.`]),
    ...(orphaned === 0
      ? []
      : [`${whole(orphaned)} ${orphaned === 1 ? 'stays: its group is' : 'stay: their group is'} gone.`]),
  ]
  return parts.join(' ')
}

export const discardText = (matching: number): string =>
  `${whole(matching)} dead ${matching === 1 ? 'letter is' : 'letters are'} deleted for good.`

/** The times between attempts: "1 s 2 s 4 s 8 s". */
export function waitsOf(history: readonly Pick<Attempt, 'at'>[]): string {
  const times = history.map(({ at }) => Date.parse(at))
  return times
    .slice(1)
    .map((time, index) => duration(Math.max(0, time - (times[index] ?? time))))
    .join(' ')
}
