import { topicAddress } from '../address.ts'
import { count } from '../format.ts'
import { get } from '../http.ts'
import { Until } from '../parts/age.tsx'
import { useLoaded } from '../parts/load.ts'
import { LoadedPanel } from '../parts/loaded-panel.tsx'
import { Mark } from '../parts/mark.tsx'
import { ScrollBox } from '../parts/scroll-box.tsx'
import type { Retry } from './group-shapes.ts'

const SHOWN = 50

/** Failed messages that wait for another attempt, with their errors. */
export function RetriesPanel({ place, topic, count: total }: { place: string; topic: string; count: number }) {
  const loaded = useLoaded(
    signal => get<{ retries: Retry[] }>(`${place}/retries`, { signal, isShared: true, query: { limit: SHOWN } }),
    [place, total === 0],
    total === 0 ? undefined : 2_000,
  )
  return (
    <LoadedPanel title="Waiting for another attempt" loaded={loaded}>
      {({ retries }) =>
        retries.length === 0 ? (
          <p class="muted">Nothing has failed and waits.</p>
        ) : (
          <>
            <Table retries={retries} topic={topic} />
            {total > retries.length && (
              <p class="muted small">
                {count(retries.length)} of {count(total)} are shown.
              </p>
            )}
          </>
        )
      }
    </LoadedPanel>
  )
}

function Table({ retries, topic }: { retries: readonly Retry[]; topic: string }) {
  return (
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
          {retries.map(({ id, key, attempts, dueAt, error, suspect }) => (
            <tr key={id}>
              <td class="mono">
                <a href={`${topicAddress(topic)}/messages?m=${id}`}>{id}</a>
              </td>
              <td class="truncate key" title={key ?? undefined}>
                {key ?? '–'}
              </td>
              <td class="number">{attempts}</td>
              <td>
                <Until at={dueAt} over="due" />
              </td>
              <td class="error-text">
                {error !== null ? (
                  `${error.name}: ${error.message}`
                ) : suspect ? (
                  <Mark kind="warning" word="suspect">
                    its consumer went silent with it
                  </Mark>
                ) : (
                  '–'
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}
