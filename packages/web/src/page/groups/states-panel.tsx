import { get } from '../http.ts'
import { Age } from '../parts/age.tsx'
import { useLoaded } from '../parts/load.ts'
import { LoadedPanel } from '../parts/loaded-panel.tsx'
import { kindOfGroup, Mark } from '../parts/mark.tsx'
import type { Status } from '../shapes.ts'

type Change =
  | { readonly at: string; readonly kind: 'status'; readonly from: Status; readonly to: Status; readonly epoch: number }
  | { readonly at: string; readonly kind: 'missed'; readonly misses: number }
  | { readonly at: string; readonly kind: 'seen'; readonly to: Status; readonly epoch: number }
  | { readonly at: string; readonly kind: 'lost'; readonly messages: number }

/** The history of the group, newest first, as far back as the server remembers. */
export function StatesPanel({ place }: { place: string }) {
  const loaded = useLoaded(
    signal => get<{ changes: Change[]; since: string }>(`${place}/history`, { signal }),
    [place],
    5_000,
  )
  return (
    <LoadedPanel title="History" loaded={loaded}>
      {({ changes, since }) => (
        <>
          <ol class="changes">
            {changes.toReversed().map(change => (
              <li key={`${change.at} ${change.kind}`}>
                <span class="muted">
                  <Age at={change.at} />
                </span>
                <Mark kind={kindOf(change)} word={change.kind}>
                  {wordsOf(change)}
                </Mark>
              </li>
            ))}
          </ol>
          <p class="muted small">
            Since the server started, <Age at={since} />.
          </p>
        </>
      )}
    </LoadedPanel>
  )
}

const kindOf = (change: Change) =>
  change.kind === 'missed'
    ? 'warning'
    : change.kind === 'lost'
      ? 'bad'
      : kindOfGroup({ status: change.to, healthy: true })

function wordsOf(change: Change): string {
  if (change.kind === 'missed') return `missed ${change.misses} ${change.misses === 1 ? 'heartbeat' : 'heartbeats'}`
  if (change.kind === 'lost') return `lost ${change.messages} ${change.messages === 1 ? 'message' : 'messages'}`
  if (change.kind === 'seen') return `${change.to.toLowerCase()} when first seen (epoch ${change.epoch})`
  return `${change.from.toLowerCase()} → ${change.to.toLowerCase()} (epoch ${change.epoch})`
}
