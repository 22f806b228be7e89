import { count, duration } from '../format.ts'
import { get } from '../http.ts'
import { Age, Until } from '../parts/age.tsx'
import { useLoaded } from '../parts/load.ts'
import { LoadedPanel } from '../parts/loaded-panel.tsx'
import { ScrollBox } from '../parts/scroll-box.tsx'
import type { Consumer, Member } from './group-shapes.ts'

type Row = Member & { readonly figures: Consumer | undefined }

/** The consumers of the group, with their process, the messages they hold and the expiry. */
export function MembersPanel({ place }: { place: string }) {
  const loaded = useLoaded(
    async (signal): Promise<readonly Row[]> => {
      const { consumers } = await get<{ consumers: Consumer[] }>(`${place}/consumers`, { signal })
      return consumers.map(figures => ({ ...memberOf(figures), figures }))
    },
    [place],
    2_000,
  )
  return (
    <LoadedPanel title="Members" loaded={loaded}>
      {rows => (rows.length === 0 ? <p class="muted">No process works for this group.</p> : <Table rows={rows} />)}
    </LoadedPanel>
  )
}

const memberOf = ({ consumer, instance, lastActiveAt }: Consumer): Member => ({
  consumer,
  host: instance,
  pid: null,
  since: lastActiveAt,
  inFlight: 0,
  until: null,
})

function Table({ rows }: { rows: readonly Row[] }) {
  return (
    <ScrollBox label="Table of members">
      <table>
        <thead>
          <tr>
            <th scope="col">Consumer</th>
            <th scope="col">Process</th>
            <th scope="col" class="number">
              In flight
            </th>
            <th scope="col">Until</th>
            <th scope="col" class="number">
              Done, failed
            </th>
            <th scope="col" class="number">
              Handler p50, p95
            </th>
            <th scope="col">Since</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ consumer, host, pid, inFlight, until, since, figures }) => (
            <tr key={`${consumer} ${host} ${pid}`}>
              <td class="name">{consumer}</td>
              <td class="mono">{host === null ? '–' : `${host}:${pid ?? '?'}`}</td>
              <td class="number">{count(inFlight)}</td>
              <td>{until === null ? <span class="muted">–</span> : <Until at={until} over="expired" />}</td>
              <td class="number">
                {figures === undefined ? '–' : `${count(figures.processed)}, ${count(figures.failed)}`}
              </td>
              <td class="number">
                {figures === undefined ? '–' : `${duration(figures.handler.p50)}, ${duration(figures.handler.p95)}`}
              </td>
              <td>
                <Age at={since} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}
