import { topicAddress } from '../address.ts'
import { count, duration, rate, whole } from '../format.ts'
import { at, get } from '../http.ts'
import { overview, topicNamed } from '../live.ts'
import { Age } from '../parts/age.tsx'
import { Fact, Facts } from '../parts/facts.tsx'
import { useLoaded } from '../parts/load.ts'
import { kindOfGroup, Mark } from '../parts/mark.tsx'
import { ScrollBox } from '../parts/scroll-box.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import type { Backfill } from '../shapes.ts'
import { GroupActions } from './group-actions.tsx'
import { HistoryCharts } from './history-charts.tsx'

type Consumer = {
  readonly consumer: string
  readonly instance: string
  readonly processed: number
  readonly failed: number
  readonly handler: { readonly p50: number; readonly p95: number }
  readonly lastActiveAt: string | null
}
type Claim = {
  readonly id: string
  readonly consumer: string
  readonly claimedAt: string
  readonly expiresAt: string | null
  readonly unsettled: number
  readonly firstId: number | null
  readonly lastId: number | null
}
type Retry = {
  readonly id: number
  readonly key: string | null
  readonly attempts: number
  readonly dueAt: string
  readonly error: { readonly name: string; readonly message: string } | null
}

const REFRESH_MS = 2_000

export function GroupScreen({ topic: topicName, group: groupName }: { topic: string; group: string }) {
  const topic = topicNamed(topicName)
  const group = topic?.groups.find(each => each.group === groupName)
  const place = at('topics', topicName, 'groups', groupName)
  const consumers = useLoaded(
    signal => get<{ consumers: Consumer[] }>(`${place}/consumers`, { signal }),
    [place],
    REFRESH_MS,
  )
  const claims = useLoaded(
    signal =>
      get<{ claims: Claim[] }>(`${at('topics', topicName)}/claims`, {
        signal,
        query: { ...(groupName !== '' && { group: groupName }), limit: 50 },
      }),
    [place],
    REFRESH_MS,
  )
  const retries = useLoaded(
    signal => get<{ retries: Retry[] }>(`${place}/retries`, { signal, query: { limit: 50 } }),
    [place],
    REFRESH_MS,
  )
  if (overview.value === undefined) return <Loading rows={8} />
  if (topic === undefined || group === undefined)
    return (
      <Empty isWhole title={`${topicName} has no group ${groupName}`}>
        It may have been removed. <a href={topicAddress(topicName)}>{topicName}</a>
      </Empty>
    )
  return (
    <div class="stack">
      <div class="row spread">
        <div class="row">
          <h1>
            <a href={topicAddress(topicName)}>{topicName}</a> / {groupName === '' ? 'queue' : groupName}
          </h1>
          <Mark kind={kindOfGroup(group)} word={group.status}>
            {group.status.toLowerCase()}
          </Mark>
          <span class="muted small">heartbeat {duration(group.sinceHeartbeatMs)} ago</span>
        </div>
        <GroupActions topic={topic} group={group} />
      </div>
      <section class="panel" aria-label="Figures">
        <Facts>
          <Fact name="Lag" title={whole(group.lagMessages)}>
            {count(group.lagMessages)} <span class="muted small">{group.lagMessages > 0 && duration(group.lagMs)}</span>
          </Fact>
          <Fact name="Out">{rate(group.consumedPerSecond)}/s</Fact>
          <Fact name="In">{rate(topic.publishedPerSecond)}/s</Fact>
          <Fact name="In flight">{count(group.inFlight)}</Fact>
          <Fact name="Retries">{count(group.retries)}</Fact>
          <Fact name="Dead letters">
            {group.deadLetters === 0 ? (
              '0'
            ) : (
              <a href={`/dead-letters?topic=${encodeURIComponent(topicName)}&group=${encodeURIComponent(groupName)}`}>
                {count(group.deadLetters)}
              </a>
            )}
          </Fact>
          <Fact name="Members">{count(group.members)}</Fact>
        </Facts>
      </section>
      {group.backfill?.status === 'RUNNING' && <BackfillBar backfill={group.backfill} />}
      <HistoryCharts topic={topicName} group={groupName} />
      <div class="columns">
        <section class="panel stack" aria-labelledby="members">
          <h2 id="members">Members</h2>
          {consumers.error.value !== undefined ? (
            <Failed error={consumers.error.value} retry={consumers.reload} />
          ) : (
            <Members consumers={consumers.value.value?.consumers} />
          )}
        </section>
        <section class="panel stack" aria-labelledby="claims">
          <h2 id="claims">In flight</h2>
          {claims.error.value !== undefined ? (
            <Failed error={claims.error.value} retry={claims.reload} />
          ) : (
            <Claims claims={claims.value.value?.claims} />
          )}
        </section>
      </div>
      {(retries.value.value?.retries.length ?? 0) > 0 && <Retries retries={retries.value.value?.retries ?? []} />}
    </div>
  )
}

function BackfillBar({ backfill }: { backfill: Backfill }) {
  return (
    <section class="panel row" aria-label="Backfill">
      <h2>Backfill</h2>
      <progress max={1} value={backfill.progress} />
      <span>
        {Math.round(backfill.progress * 100)} % · {rate(backfill.ratePerSecond)}/s
        {backfill.etaMs !== null && ` · ${duration(backfill.etaMs)} left`}
      </span>
    </section>
  )
}

function Members({ consumers }: { consumers: readonly Consumer[] | undefined }) {
  if (consumers === undefined) return <Loading rows={2} />
  if (consumers.length === 0) return <p class="muted">No consumer is running in any process.</p>
  return (
    <ScrollBox label="Table of members">
      <table>
        <thead>
          <tr>
            <th scope="col">Consumer</th>
            <th scope="col">Process</th>
            <th scope="col" class="number">
              Processed
            </th>
            <th scope="col" class="number">
              Failed
            </th>
            <th scope="col" class="number">
              Handler p50, p95
            </th>
            <th scope="col">Active</th>
          </tr>
        </thead>
        <tbody>
          {consumers.map(({ consumer, instance, processed, failed, handler, lastActiveAt }) => (
            <tr key={`${consumer} ${instance}`}>
              <td>{consumer}</td>
              <td class="mono">{instance}</td>
              <td class="number">{count(processed)}</td>
              <td class="number">{count(failed)}</td>
              <td class="number">
                {duration(handler.p50)}, {duration(handler.p95)}
              </td>
              <td>
                <Age at={lastActiveAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}

function Claims({ claims }: { claims: readonly Claim[] | undefined }) {
  if (claims === undefined) return <Loading rows={2} />
  if (claims.length === 0) return <p class="muted">Nothing is in flight.</p>
  return (
    <ScrollBox label="Table of claims">
      <table>
        <thead>
          <tr>
            <th scope="col">Messages</th>
            <th scope="col">Consumer</th>
            <th scope="col" class="number">
              Unsettled
            </th>
            <th scope="col">Since</th>
            <th scope="col">Until</th>
          </tr>
        </thead>
        <tbody>
          {claims.map(({ id, consumer, unsettled, claimedAt, expiresAt, firstId, lastId }) => (
            <tr key={id}>
              <td class="mono">{firstId === lastId ? firstId : `${firstId}–${lastId}`}</td>
              <td>{consumer}</td>
              <td class="number">{count(unsettled)}</td>
              <td>
                <Age at={claimedAt} />
              </td>
              <td>{expiresAt === null ? 'released' : new Date(expiresAt).toLocaleTimeString('en-GB')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}

function Retries({ retries }: { retries: readonly Retry[] }) {
  return (
    <section class="panel stack" aria-labelledby="retries">
      <h2 id="retries">Waiting for another attempt</h2>
      <ScrollBox label="Table of retries">
        <table>
          <thead>
            <tr>
              <th scope="col">Message</th>
              <th scope="col">Key</th>
              <th scope="col" class="number">
                Attempts
              </th>
              <th scope="col">Due</th>
              <th scope="col">Error</th>
            </tr>
          </thead>
          <tbody>
            {retries.map(({ id, key, attempts, dueAt, error }) => (
              <tr key={id}>
                <td class="mono">{id}</td>
                <td>{key ?? '–'}</td>
                <td class="number">{attempts}</td>
                <td>{new Date(dueAt).toLocaleTimeString('en-GB')}</td>
                <td class="truncate error-text">{error === null ? '–' : `${error.name}: ${error.message}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </section>
  )
}
