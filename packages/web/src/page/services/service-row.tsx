import { ageOf } from '../clock.ts'
import { duration, rate, whole } from '../format.ts'
import { overview } from '../live.ts'
import { Age } from '../parts/age.tsx'
import { kindOfService, Mark } from '../parts/mark.tsx'
import { Sparkline } from '../parts/sparkline.tsx'
import type { Speed } from './rate-memory.ts'
import { ServiceActions } from './service-actions.tsx'
import { metricOf, troublesOf } from './service-figures.ts'
import type { Service } from './service-shapes.ts'
import { SpeedControl } from './speed-control.tsx'

export function ServiceRow({
  service,
  speed,
  rates,
  isOpen,
  reload,
}: {
  service: Service
  speed: Speed | undefined
  rates: readonly (number | null)[]
  isOpen: boolean
  reload(): void
}) {
  const { name, state, healthy, waitingFor } = service
  const troubles = troublesOf(service.errors)
  const [worst] = troubles
  return (
    <li class="panel service" data-service={name}>
      <div class="service-line">
        <a
          class="service-name truncate"
          href={isOpen ? '/services' : `/services/${encodeURIComponent(name)}`}
          aria-expanded={isOpen}
        >
          <span class="twist" aria-hidden="true">
            {isOpen ? '▾' : '▸'}
          </span>
          {name}
        </a>
        <span class="service-state">
          <Mark kind={state === 'RUNNING' && !healthy ? 'warning' : kindOfService(state)} word={state}>
            {state.toLowerCase()} <Since service={service} />
          </Mark>
        </span>
        <span class="service-rate number values">
          {speed === undefined ? <span class="muted">–</span> : `${rate(speed.value)} ${speed.unit}`}
        </span>
        <span class="service-spark values">
          {speed !== undefined && <Sparkline values={rates} says={`now ${rate(speed.value)} ${speed.unit}`} />}
        </span>
        <span class="service-says small">
          {worst !== undefined ? (
            <span class="bad">
              {worst.name}: {worst.message} {worst.times > 1 && `(${whole(worst.times)} times) `}
              <Age at={worst.at} />
            </span>
          ) : waitingFor !== null ? (
            <span class="warning">waits for {waitingFor}</span>
          ) : (
            <span class="muted">{queueWords(name)}</span>
          )}
        </span>
        <span class="row service-controls">
          <ServiceActions service={service} reload={reload} />
        </span>
        <SpeedControl service={service} reload={reload} />
      </div>
      {isOpen && <Details service={service} />}
    </li>
  )
}

/** Since when: running since its start, failed since its last error. */
function Since({ service: { state, startedAt, errors } }: { service: Service }) {
  if (state === 'ERROR') {
    const last = errors.at(-1)
    return last === undefined ? null : (
      <span class="muted small">
        <Age at={last.at} />
      </span>
    )
  }
  if (startedAt === null || state === 'STOPPED') return null
  return <span class="muted small">{duration(ageOf(startedAt))}</span>
}

/** "queue 12 %", for a service that reads one. */
function queueWords(name: string): string {
  const edges =
    overview.value?.pipeline?.edges.filter(({ to, fill }) => to === `service:${name}` && fill !== null) ?? []
  return edges.map(({ fill }) => `queue ${Math.round((fill ?? 0) * 100)} %`).join(', ')
}

function Details({ service }: { service: Service }) {
  const troubles = troublesOf(service.errors)
  const figures = Object.entries(service.metrics).filter(([, value]) => value !== 0)
  return (
    <div class="service-body">
      {troubles.length > 0 && (
        <section class="stack tight" aria-label="Errors">
          <h3>Errors that no success has followed</h3>
          <ul class="stack tight small">
            {troubles.map(({ at, action, name, message, times }) => (
              <li key={`${name} ${message}`}>
                <span class="bad">
                  {name}: {message}
                </span>{' '}
                <span class="muted">
                  {action} · {whole(times)} {times === 1 ? 'time' : 'times'} · last <Age at={at} />
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      <section class="stack tight" aria-label="Metrics">
        <h3>Metrics</h3>
        {figures.length === 0 ? (
          <p class="muted small">Nothing counted yet.</p>
        ) : (
          <dl class="metrics small values">
            {figures.map(([name, value]) => {
              const [label, text] = metricOf(name, value)
              return (
                <div key={name} title={`${name} ${value}`}>
                  <dt>{label}</dt>
                  <dd>{text}</dd>
                </div>
              )
            })}
          </dl>
        )}
      </section>
      {service.bindings.map(({ binding, name, metrics }) => (
        <section key={binding} class="stack tight" aria-label={`Binding ${binding}`}>
          <h3>
            {binding} · {name}
          </h3>
          <dl class="metrics small values">
            {Object.entries(metrics).map(([metric, value]) => {
              const [label, text] = metricOf(metric, value)
              return (
                <div key={metric}>
                  <dt>{label}</dt>
                  <dd>{text}</dd>
                </div>
              )
            })}
          </dl>
        </section>
      ))}
    </div>
  )
}
