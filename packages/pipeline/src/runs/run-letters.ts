import type { Tidemark } from 'tidemark'
import { runOfLetter } from '../dead-letters/letter.ts'
import { DeadLetterQueue } from '../queues/dead-letter-queue.ts'

/** More than these are removed with the next call. */
const MOST_TAKEN = 10_000
const MOST_COUNTED = 1_000

/** Takes the run's letters out of a topic; those of other runs are put back. How many they were. */
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
