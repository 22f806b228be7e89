import { groupAddress, runAddress, topicAddress } from '../address.ts'
import type { ErrorKinds } from '../dead-letters/letter-shapes.ts'
import { plural, whole } from '../format.ts'
import { Resurrect } from '../groups/group-actions.tsx'
import { at, get, write } from '../http.ts'
import { topicNamed } from '../live.ts'
import { Age, atNow } from '../parts/age.tsx'
import { ActionButton } from '../parts/confirm.tsx'
import { useLoaded } from '../parts/load.ts'
import { Mark } from '../parts/mark.tsx'
import type { Attention } from '../shapes.ts'
import { textOf } from './letters-in-words.ts'

/** What needs attention, most urgent first, each with what can be done about it. */
export function AttentionList({ attention }: { attention: readonly Attention[] }) {
  const kinds = useErrorKinds(attention)
  if (attention.length === 0)
    return (
      <section class="panel needs">
        <Mark kind="ok" word="healthy">
          Nothing needs you.
        </Mark>
      </section>
    )
  return (
    <section class="panel stack needs" aria-labelledby="needs-you">
      <h2 id="needs-you">Needs you ({whole(attention.length)})</h2>
      <ul class="attention">
        {attention.map(each => (
          <li key={keyOf(each)}>
            <Mark kind={each.severity} word={each.severity === 'bad' ? 'urgent' : 'warning'}>
              <span class="attention-text">{textOf(each, kinds)}</span>
            </Mark>
            <span class="muted small attention-age">{each.since !== null && <Age at={each.since} />}</span>
            <Action each={each} />
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Asked only while there are dead letters, and again when their number changes. */
function useErrorKinds(attention: readonly Attention[]): ErrorKinds | undefined {
  const letters = attention.filter(({ kind }) => kind === 'dead-letters')
  const loaded = useLoaded(
    signal =>
      letters.length === 0
        ? Promise.resolve(undefined)
        : get<ErrorKinds>('/dead-letters/errors', { signal }).catch(() => undefined),
    [letters.map(({ topic, group, count }) => `${topic}/${group} ${count}`).join()],
  )
  return loaded.value.value
}

/** Figures in a text change; a row that the user is about to press stays the same. */
const keyOf = ({ kind, topic, group, service, runId, text }: Attention): string =>
  `${kind} ${topic} ${group} ${service} ${runId} ${topic === undefined && service === undefined ? text : ''}`

function Action({ each }: { each: Attention }) {
  const topic = each.topic === undefined ? undefined : topicNamed(each.topic)
  const group = topic?.groups.find(({ group: name }) => name === each.group)
  if (each.kind === 'dead-group' && topic && group) return <Resurrect topic={topic} group={group} />
  if (each.kind === 'lost-messages' && topic && group)
    return <Acknowledge topic={topic.topic} group={group.group} lost={each.count ?? 0} />
  if (each.kind === 'service' && each.service !== undefined && each.severity === 'bad')
    return <StartService service={each.service} />
  const href = placeOf(each)
  return href === undefined ? (
    <span />
  ) : (
    <a class="button" href={href}>
      Look
    </a>
  )
}

function Acknowledge({ topic, group, lost }: { topic: string; group: string; lost: number }) {
  const name = group === '' ? topic : group
  return (
    <ActionButton
      label="Acknowledge"
      title={`Acknowledge what ${name} has lost`}
      needs="operate"
      topic={topic}
      text={`${plural(lost, 'lost message')} of ${name} ${lost === 1 ? 'is' : 'are'} no longer reported. They stay lost.`}
      run={async () => {
        await write('POST', `${at('topics', topic, 'groups', group)}/acknowledge-loss`)
        return `Acknowledged what ${name} has lost${atNow()}.`
      }}
    />
  )
}

function StartService({ service }: { service: string }) {
  return (
    <ActionButton
      label="Start"
      title={`Start ${service}`}
      needs="operate"
      text={`${service} starts again where it stopped. Nothing is lost.`}
      run={async () => {
        await write('POST', `${at('pipeline', 'services', service)}/start`)
        return `Started ${service}${atNow()}.`
      }}
    />
  )
}

function placeOf({ kind, topic, group, service, runId }: Attention): string | undefined {
  if (kind === 'dead-letters') {
    const named = group === undefined ? '' : `&group=${encodeURIComponent(group)}`
    return `/dead-letters?topic=${encodeURIComponent(topic ?? '')}${named}`
  }
  if (topic !== undefined) return group === undefined ? topicAddress(topic) : groupAddress(topic, group)
  if (service !== undefined) return `/services/${encodeURIComponent(service)}`
  if (runId !== undefined) return runAddress(runId)
  return kind === 'resource' || kind === 'disk' ? '/services' : undefined
}
