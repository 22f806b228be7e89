import { ageOf } from '../clock.ts'
import { duration, rate } from '../format.ts'
import { at, get, Problem, write } from '../http.ts'
import { Age } from '../parts/age.tsx'
import { ActionButton } from '../parts/confirm.tsx'
import { useLoaded } from '../parts/load.ts'
import { kindOfService, Mark } from '../parts/mark.tsx'
import { ScrollBox } from '../parts/scroll-box.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'

type Service = {
  readonly name: string
  readonly state: 'STOPPED' | 'STARTING' | 'RUNNING' | 'WAITING' | 'PAUSED' | 'ERROR'
  readonly healthy: boolean
  readonly waitingFor: string | null
  readonly startedAt: string | null
  readonly metrics: { readonly [name: string]: number }
  readonly errors: readonly {
    readonly at: string
    readonly action: string
    readonly name: string
    readonly message: string
  }[]
}
type Status = { readonly services: readonly Service[] }

const REFRESH_MS = 1_000

/** The services of the pipeline, in the order of the flow. */
export function ServicesScreen({ service: chosen }: { service?: string }) {
  const status = useLoaded(signal => get<Status>('/pipeline', { signal }), [], REFRESH_MS)
  const error = status.error.value
  if (error instanceof Problem && error.code === 'TIDEMARK_NOT_SERVED')
    return (
      <Empty isWhole title="This server runs no pipeline" command="npx tidemark start">
        It serves topics alone. A pipeline and its services appear here when the server is started with one.
      </Empty>
    )
  if (error !== undefined) return <Failed error={error} retry={status.reload} />
  const found = status.value.value
  if (found === undefined) return <Loading rows={8} />
  return (
    <div class="stack">
      <h1>Services</h1>
      <ScrollBox label="Table of services" panel>
        <table>
          <thead>
            <tr>
              <th scope="col">Service</th>
              <th scope="col">State</th>
              <th scope="col" class="number">
                Rate
              </th>
              <th scope="col">Says</th>
              <th scope="col">Actions</th>
            </tr>
          </thead>
          <tbody class="values">
            {found.services.toReversed().map(service => (
              <ServiceRow
                key={service.name}
                service={service}
                isChosen={service.name === chosen}
                reload={status.reload}
              />
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </div>
  )
}

function ServiceRow({ service, isChosen, reload }: { service: Service; isChosen: boolean; reload(): void }) {
  const { name, state, waitingFor, startedAt, metrics, errors } = service
  const last = errors.at(-1)
  const perSecond = metrics.ticksPerSecond
  const act = (verb: string) => async (): Promise<string> => {
    await write('POST', `${at('pipeline', 'services', name)}/${verb}`)
    reload()
    return `${name}: ${verb}.`
  }
  return (
    <tr aria-selected={isChosen}>
      <td>
        <a href={`/services/${encodeURIComponent(name)}`}>{name}</a>
      </td>
      <td>
        <Mark kind={state === 'RUNNING' && !service.healthy ? 'warning' : kindOfService(state)} word={state}>
          {state.toLowerCase()}{' '}
          <span class="muted small">{startedAt !== null && state === 'RUNNING' && duration(ageOf(startedAt))}</span>
        </Mark>
      </td>
      <td class="number">{perSecond === undefined ? '–' : `${rate(perSecond)}/s`}</td>
      <td class="error-text">
        {last ? (
          <span class="bad">
            {last.name}: {last.message} <Age at={last.at} />
          </span>
        ) : (
          <span class="muted">{waitingFor ?? ''}</span>
        )}
      </td>
      <td>
        <span class="row">
          {(state === 'STOPPED' || state === 'ERROR') && (
            <ActionButton
              label="Start"
              needs="operate"
              text={`${name} starts and goes on where it was.`}
              run={act('start')}
            />
          )}
          {state === 'PAUSED' && (
            <ActionButton label="Resume" needs="operate" text={`${name} goes on.`} run={act('resume')} />
          )}
          {state === 'RUNNING' && (
            <ActionButton
              label="Pause"
              needs="operate"
              text={`${name} stands still between two steps and keeps everything.`}
              run={act('pause')}
            />
          )}
          {state !== 'STOPPED' && state !== 'ERROR' && (
            <ActionButton
              label="Stop"
              needs="operate"
              text={`${name} writes a partly filled batch first, then stops. What others give it waits; indexers catch up later.`}
              run={act('stop')}
            />
          )}
          {state === 'RUNNING' && (
            <ActionButton
              label="Restart"
              needs="operate"
              text={`${name} stops and starts again. Nothing is lost.`}
              run={act('restart')}
            />
          )}
        </span>
      </td>
    </tr>
  )
}
