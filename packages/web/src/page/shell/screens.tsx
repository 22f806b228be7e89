import type { ComponentType, VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { GroupScreen } from '../groups/group-screen.tsx'
import { OverviewScreen } from '../overview/overview-screen.tsx'
import { LoadingScreen, type ScreenName } from '../parts/skeleton.tsx'
import { Empty, Failed } from '../parts/states.tsx'
import { TopicScreen } from '../topics/topic-screen.tsx'
import { TopicsScreen } from '../topics/topics-screen.tsx'

type Params = { readonly [name: string]: string }
type Chosen = { readonly service?: string }
type Screen = { readonly title: string; readonly screen: VNode }

/** Patterns of addresses, in order. `:name` takes one part of the path. */
const SCREENS: readonly (readonly [string, (params: Params) => Screen])[] = [
  ['/', () => ({ title: '', screen: <OverviewScreen /> })],
  ['/topics', () => ({ title: 'Topics', screen: <TopicsScreen /> })],
  ['/topics/:topic', ({ topic = '' }) => ({ title: topic, screen: <TopicScreen key={topic} topic={topic} /> })],
  [
    '/topics/:topic/messages',
    ({ topic = '' }) => ({
      title: `${topic} messages`,
      screen: <Lazy key={topic} load={loadMessages} name="messages" props={{ topic }} />,
    }),
  ],
  [
    '/topics/:topic/groups/:group',
    ({ topic = '', group = '' }) => {
      const name = group === '-' ? '' : group
      return {
        title: `${topic} / ${group}`,
        screen: <GroupScreen key={`${topic}/${name}`} topic={topic} group={name} />,
      }
    },
  ],
  [
    '/dead-letters',
    () => ({ title: 'Dead letters', screen: <Lazy key="letters" load={loadLetters} name="letters" props={{}} /> }),
  ],
  [
    '/services',
    () => ({
      title: 'Services',
      screen: <Lazy<Chosen> key="services" load={loadServices} name="services" props={{}} />,
    }),
  ],
  [
    '/services/:service',
    ({ service = '' }) => ({
      title: service,
      screen: <Lazy key="services" load={loadServices} name="services" props={{ service }} />,
    }),
  ],
  ['/login', () => ({ title: '', screen: <OverviewScreen /> })],
  ['/runs', () => ({ title: 'Worlds', screen: <Lazy key="runs" load={loadRuns} name="runs" props={{}} /> })],
  [
    '/runs/:runId',
    ({ runId = '' }) => ({
      title: 'World',
      screen: <Lazy key={runId} load={loadWorld} name="world" props={{ runId }} />,
    }),
  ],
]

/** Separate chunks: what somebody sees first loads without them. */
const loadMessages = async () => (await import('../messages/messages-screen.tsx')).MessagesScreen
const loadLetters = async () => (await import('../dead-letters/dead-letters-screen.tsx')).DeadLettersScreen
const loadServices = async () => (await import('../services/services-screen.tsx')).ServicesScreen
const loadRuns = async () => (await import('../world/runs-screen.tsx')).RunsScreen
const loadWorld = async () => (await import('../world/world-screen.tsx')).WorldScreen

export function screenAt(path: string): Screen {
  for (const [pattern, make] of SCREENS) {
    const params = match(pattern, path)
    if (params !== undefined) return make(params)
  }
  return {
    title: 'Not found',
    screen: (
      <Empty isWhole title="There is no such page">
        Nothing is shown at {path}. <a href="/">Overview</a>
      </Empty>
    ),
  }
}

function match(pattern: string, path: string): Params | undefined {
  const wanted = pattern.split('/')
  const given = path.replace(/(.)\/$/, '$1').split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? ''
    if (part.startsWith(':')) params[part.slice(1)] = decode(value)
    else if (part !== value) return undefined
  }
  return params
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

type LazyProps<P> = {
  readonly load: () => Promise<ComponentType<P>>
  readonly name: ScreenName
  readonly props: P
}

/** A screen in a separate chunk, loaded when it is first shown. */
function Lazy<P extends object>({ load, name, props }: LazyProps<P>) {
  const [loaded, setLoaded] = useState<{ readonly screen: ComponentType<P> }>()
  const [error, setError] = useState<unknown>()
  const start = (): void => {
    setError(undefined)
    load().then(
      screen => setLoaded({ screen }),
      failure => setError(failure),
    )
  }
  useEffect(start, [])
  if (error !== undefined) return <Failed error={error} retry={start} />
  if (loaded === undefined) return <LoadingScreen name={name} />
  const { screen: Loaded } = loaded
  return <Loaded {...props} />
}
