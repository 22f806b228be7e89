import { count, plural, whole } from '../format.ts'
import { at, get, write } from '../http.ts'
import { Age, Until } from '../parts/age.tsx'
import { ActionButton } from '../parts/confirm.tsx'
import { useLoaded } from '../parts/load.ts'
import { LoadedPanel } from '../parts/loaded-panel.tsx'
import { ScrollBox } from '../parts/scroll-box.tsx'
import type { Claim } from './group-shapes.ts'

const SHOWN = 50

/** Claims with their holders and expiry. A claim can be taken away from its holder. */
export function ClaimsPanel({ topic, group }: { topic: string; group: string }) {
  const place = `${at('topics', topic)}/claims`
  const loaded = useLoaded(
    signal =>
      get<{ claims: Claim[]; next: string | null }>(place, {
        signal,
        isShared: true,
        query: { ...(group !== '' && { group }), limit: SHOWN, messages: 1 },
      }),
    [topic, group],
    2_000,
  )
  const release = async (claim: Claim): Promise<string> => {
    type Released = { consumer: string; released: number; deadLettered: number }
    const { consumer, released, deadLettered } = await write<Released>('POST', `${place}/${claim.id}/release`)
    loaded.reload()
    const dead = deadLettered === 0 ? '' : ` ${plural(deadLettered, 'message')} had no attempt left.`
    return `Took ${plural(released, 'message')} from ${consumer}.${dead}`
  }
  return (
    <LoadedPanel title="In flight" loaded={loaded}>
      {({ claims, next }) =>
        claims.length === 0 ? (
          <p class="muted">Nothing is in flight.</p>
        ) : (
          <>
            <Table claims={claims} topic={topic} release={release} />
            {next !== null && <p class="muted small">The oldest {SHOWN} claims are shown.</p>}
          </>
        )
      }
    </LoadedPanel>
  )
}

function Table({
  claims,
  topic,
  release,
}: {
  claims: readonly Claim[]
  topic: string
  release(claim: Claim): Promise<string>
}) {
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
            <th scope="col" class="if-room">
              Since
            </th>
            <th scope="col">Until</th>
            <th scope="col">
              <span class="offscreen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {claims.map(claim => (
            <tr key={claim.id}>
              <td class="mono">{rangeOf(claim)}</td>
              <td class="name">{claim.consumer.replaceAll(',', ', ')}</td>
              <td class="number">{count(claim.unsettled)}</td>
              <td class="if-room">
                <Age at={claim.claimedAt} />
              </td>
              <td>
                {claim.expiresAt === null ? (
                  <span class="muted">never</span>
                ) : (
                  <Until at={claim.expiresAt} over="expired" />
                )}
              </td>
              <td class="number">
                <ActionButton
                  plain
                  label="Release"
                  name={`Release what ${claim.consumer} holds`}
                  title={`Take ${whole(claim.unsettled)} from ${claim.consumer}`}
                  confirm="Release"
                  needs="operate"
                  topic={topic}
                  text={`${plural(claim.unsettled, 'message')} ${claim.unsettled === 1 ? 'goes' : 'go'} to another member, and this attempt counts. What ${claim.consumer} still does with ${claim.unsettled === 1 ? 'it' : 'them'} may be done twice.`}
                  run={() => release(claim)}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}

const rangeOf = ({ firstId, lastId }: Claim): string =>
  firstId === lastId ? String(firstId ?? '–') : `${firstId}–${lastId}`
