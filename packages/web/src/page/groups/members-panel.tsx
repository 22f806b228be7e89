import { count, duration } from '../format.ts'
import { get } from '../http.ts'
import { Age, Until } from '../parts/age.tsx'
import { type Loaded, useLoaded } from '../parts/load.ts'
import { LoadedPanel } from '../parts/loaded-panel.tsx'
import { ScrollBox } from '../parts/scroll-box.tsx'
import type { Consumer, Member } from './group-shapes.ts'

type Figures = { readonly processed: number; readonly failed: number; readonly p95: number }
type Row = Member & { readonly figures: Figures | undefined }

/** The consumers of the group, and their figures: the number of members and the table show the same. */
export const useMembers = (place: string, isGone: boolean): Loaded<readonly Row[]> =>
  useLoaded(
    async (signal): Promise<readonly Row[]> => {
      if (isGone) return []
      const [{ members }, { consumers }] = await Promise.all([
        get<{ members: Member[] }>(`${place}/members`, { signal, isShared: true }),
        get<{ consumers: Consumer[] }>(`${place}/consumers`, { signal, isShared: true }),
      ])
      return members.map(member => ({ ...member, figures: figuresOf(member, consumers) }))
    },
    [place, isGone],
    isGone ? undefined : 2_000,
  )

/** The consumers of the group, with their process, the messages they hold and the expiry. */
export function MembersPanel({ members }: { members: Loaded<readonly Row[]> }) {
  return (
    <LoadedPanel title="Members" loaded={members}>
      {rows =>
        rows.length === 0 ? <p class="muted">No process works for this group.</p> : <MemberTable rows={rows} />
      }
    </LoadedPanel>
  )
}

/** Of all consumers in the member's process. */
function figuresOf({ host, pid }: Member, consumers: readonly Consumer[]): Figures | undefined {
  const own = consumers.filter(({ instance }) => instance.startsWith(`${host}/${pid}/`))
  if (own.length === 0) return undefined
  const sum = (of: (each: Consumer) => number): number => own.reduce((total, each) => total + of(each), 0)
  return {
    processed: sum(each => each.processed),
    failed: sum(each => each.failed),
    p95: Math.max(...own.map(({ handler }) => handler.p95)),
  }
}

function MemberTable({ rows }: { rows: readonly Row[] }) {
  return (
    <ScrollBox label="Table of members">
      <table>
        <thead>
          <tr>
            <th scope="col">Consumer</th>
            <th scope="col">Process</th>
            <th scope="col">In flight</th>
            <th scope="col" class="number">
              Done, failed
            </th>
            <th scope="col" class="number" title="95 % of its handler's calls took less">
              P95
            </th>
            <th scope="col" class="if-room">
              Since
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ consumer, host, pid, inFlight, until, since, figures }) => (
            <tr key={`${consumer} ${host} ${pid}`}>
              <td class="name" title={consumer}>
                {consumer.replaceAll(',', ', ')}
              </td>
              <td class="mono">
                {host === null ? (
                  <span class="muted" title="Its process is gone, or it pulls over HTTP and sends none">
                    no heartbeat
                  </span>
                ) : (
                  `${host}:${pid ?? '?'}`
                )}
              </td>
              <td>
                {inFlight === null ? '–' : count(inFlight)}{' '}
                {until !== null && (
                  <span class="muted">
                    <Until at={until} over="expired" />
                  </span>
                )}
              </td>
              <td class="number">
                {figures === undefined ? '–' : `${count(figures.processed)}, ${count(figures.failed)}`}
              </td>
              <td class="number">{figures === undefined ? '–' : duration(figures.p95)}</td>
              <td class="if-room">
                <Age at={since} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}
