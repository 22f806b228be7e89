import { useMemo } from 'preact/hooks'
import { bytes, count, duration } from '../format.ts'
import { get, Problem, write } from '../http.ts'
import { overview } from '../live.ts'
import { atNow } from '../parts/age.tsx'
import { ActionButton } from '../parts/confirm.tsx'
import { useLoaded } from '../parts/load.ts'
import { LoadingScreen } from '../parts/skeleton.tsx'
import { Empty, Failed } from '../parts/states.tsx'
import { requireServed } from '../served.ts'
import { inFlowOrder } from './flow-order.ts'
import { RateMemory, type Speed } from './rate-memory.ts'
import { ServiceRow } from './service-row.tsx'
import type { Disk, Metrics, PipelineStatus } from './service-shapes.ts'

const REFRESH_MS = 1_000
const TIMEOUT_MS = 60_000

/** By service, also while another screen is shown. */
const memories = new Map<string, RateMemory>()

function remember(service: string, metrics: Metrics): Speed | undefined {
  const memory = memories.get(service) ?? new RateMemory()
  memories.set(service, memory)
  return memory.add(metrics, Date.now())
}

/** The services of the pipeline, in the order of the flow. */
export function ServicesScreen({ service: chosen }: { service?: string }) {
  const status = useLoaded(
    async signal => {
      await requireServed('pipeline')
      return await get<PipelineStatus>('/pipeline', { signal })
    },
    [],
    REFRESH_MS,
  )
  const found = status.value.value
  const speeds = useMemo(
    () => new Map(found?.services.map(({ name, metrics }) => [name, remember(name, metrics)])),
    [found],
  )
  const error = status.error.value
  if (error instanceof Problem && error.code === 'TIDEMARK_NOT_SERVED')
    return (
      <Empty isWhole title="This server runs no pipeline" command="tidemark start">
        It serves topics alone. A pipeline and its services appear here when the server is started with one.
      </Empty>
    )
  const failed = error !== undefined && <Failed error={error} retry={status.reload} />
  if (found === undefined)
    return failed ? (
      <div class="stack">
        <h1>Services</h1>
        {failed}
      </div>
    ) : (
      <LoadingScreen name="services" />
    )
  const isAnyKnown = chosen === undefined || found.services.some(({ name }) => name === chosen)
  return (
    <div class="stack">
      <div class="row spread">
        <div class="row heading">
          <h1>Services</h1>
          <span class="muted">{diskWords(found.disk)}</span>
        </div>
        <PipelineActions status={found} reload={status.reload} />
      </div>
      {failed}
      {found.disk.paused && (
        <p class="banner inset" role="alert">
          The sources wait for {found.disk.reason ?? 'room on the disk'}.
        </p>
      )}
      {!isAnyKnown && <p class="warning">There is no service {chosen}. These are all:</p>}
      <ul class="stack tight services">
        {inFlowOrder(found.services, overview.value?.pipeline ?? null).map(service => (
          <ServiceRow
            key={service.name}
            service={service}
            speed={speeds.get(service.name)}
            rates={memories.get(service.name)?.values ?? []}
            isOpen={service.name === chosen}
            reload={status.reload}
          />
        ))}
      </ul>
    </div>
  )
}

function PipelineActions({ status, reload }: { status: PipelineStatus; reload(): void }) {
  const running = status.services.filter(({ state }) => state !== 'STOPPED' && state !== 'ERROR').length
  const act = (verb: 'start' | 'stop', done: string) => async (): Promise<string> => {
    await write('POST', `/pipeline/${verb}`, {}, { timeoutMs: TIMEOUT_MS })
    reload()
    return `${done} the pipeline${atNow()}.`
  }
  return (
    <div class="row">
      {running < status.services.length && (
        <ActionButton
          label="Start all"
          title="Start all services"
          confirm="Start all"
          needs="operate"
          text={`${count(status.services.length - running)} of ${count(status.services.length)} services start and go on where they were.`}
          run={act('start', 'Started')}
        />
      )}
      {running > 0 && (
        <ActionButton
          label="Stop the pipeline…"
          title="Stop the pipeline"
          confirm={`Stop ${count(running)} services`}
          needs="operate"
          ask="dialog"
          danger
          text={`${count(running)} ${running === 1 ? 'service stops' : 'services stop'}. Nothing is recorded until it starts again.`}
          run={act('stop', 'Stopped')}
          undo={{ label: 'Start', run: () => write('POST', '/pipeline/start', {}, { timeoutMs: TIMEOUT_MS }) }}
        />
      )}
    </div>
  )
}

/** "1.2 GB of 2.0 GB · full in 15 min" */
function diskWords({ bytes: used, maxBytes, secondsLeft, paused }: Disk): string {
  const size = maxBytes === null ? bytes(used) : `${bytes(used)} of ${bytes(maxBytes)}`
  return secondsLeft === null || paused ? size : `${size} · full in ${duration(secondsLeft * 1000)}`
}
