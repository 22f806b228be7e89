import { until } from '../../../../testing/until.ts'

export type Screen = { readonly name: string; readonly path: string }

const TOPIC = 'demo.orders'

type Overview = {
  readonly topics: readonly { topic: string; groups: readonly { status: string; deadLetters: number }[] }[]
}

/** Every screen of a server. Where it has no world or no such topic, the screen says so, and that is a picture as well. */
export async function screensOf(url: string): Promise<Screen[]> {
  const run = (await listRuns(url)).at(-1)
  return [
    { name: 'overview', path: '/' },
    { name: 'topics', path: '/topics' },
    { name: 'topic', path: `/topics/${TOPIC}` },
    { name: 'messages', path: `/topics/${TOPIC}/messages` },
    { name: 'group', path: `/topics/${TOPIC}/groups/shipping` },
    { name: 'dead-letters', path: '/dead-letters' },
    { name: 'services', path: '/services' },
    { name: 'runs', path: '/runs' },
    ...(run === undefined ? [] : [{ name: 'world', path: `/runs/${run}?t=live` }]),
  ]
}

/** A world that has grown, a group that was killed and given up, and a message that failed for good. */
export async function waitForDemonstration(url: string): Promise<void> {
  const isGrown = async (): Promise<boolean> => {
    const { topics } = await answerOf<Overview>(url, '/api/v1/overview')
    const groups = topics.find(({ topic }) => topic === TOPIC)?.groups ?? []
    return (
      groups.some(({ status }) => status === 'DEAD') &&
      groups.some(({ deadLetters }) => deadLetters > 0) &&
      (await listRuns(url)).length > 0
    )
  }
  await until(isGrown, { what: 'the demonstration to show a dead group and a dead letter', timeout: 300_000 })
}

/** Their ids, oldest first; none where no runs are served. */
async function listRuns(url: string): Promise<readonly string[]> {
  const { runs = [] } = await answerOf<{ runs?: readonly string[] }>(url, '/api/v1/runs')
  return runs
}

async function answerOf<T>(url: string, path: string): Promise<T> {
  return (await (await fetch(url + path)).json()) as T
}
