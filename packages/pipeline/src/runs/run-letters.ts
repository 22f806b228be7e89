import type { Tidemark } from 'tidemark'
import { runOfLetter } from '../dead-letters/letter.ts'
import { DeadLetterQueue } from '../queues/dead-letter-queue.ts'

/** Maximum per call; the next call removes more. */
const MOST_TAKEN = 10_000
const MOST_COUNTED = 1_000

/** Removes the run's dead letters from a topic and puts back those of other runs. Returns their number. */
export async function removeLetters(topics: Tidemark, topic: string, runId: string): Promise<number> {
  const queue = await DeadLetterQueue.open(topics, { topic })
  await using taken = await queue.take({ limit: MOST_TAKEN })
  const ofRun = taken.letters.filter(({ letter }) => runOfLetter(letter) === runId)
  for (const letter of ofRun) await letter.remove()
  return ofRun.length
}

export async function countLetters(topics: Tidemark, topic: string, runId: string): Promise<number> {
  const queue = await DeadLetterQueue.open(topics, { topic })
  return (await queue.list({ limit: MOST_COUNTED })).filter(letter => runOfLetter(letter) === runId).length
}
