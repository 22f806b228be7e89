import { useSignal } from '@preact/signals'
import { rate, whole } from '../format.ts'
import { at, write } from '../http.ts'
import { tell } from '../notices.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import type { Service } from './service-shapes.ts'
import { speedsOf } from './speeds.ts'

type Made = { readonly from: number; readonly to: number }

/** How fast a simulation may run, and single steps. Nothing is asked: the control shows what holds. */
export function SpeedControl({ service, reload }: { service: Service; reload(): void }) {
  const isRunning = useSignal(false)
  const { name, speed, state } = service
  if (speed === null || speed === undefined) return null
  const place = at('pipeline', 'services', name)
  const act = async (run: () => Promise<void>): Promise<void> => {
    if (isRunning.value) return
    isRunning.value = true
    await run().catch((failure: Error) => tell(failure.message, { kind: 'failed' }))
    isRunning.value = false
    reload()
  }
  const setSpeed = (ticksPerSecond: number | null) => () =>
    void act(async () => {
      await write('POST', `${place}/speed`, { ticksPerSecond })
    })
  const step = (): void =>
    void act(async () => {
      const { to } = await write<Made>('POST', `${place}/step`, { ticks: 1 }, { timeoutMs: 40_000 })
      tell(`Made tick ${whole(to)}. ${name} is paused.`)
    })
  const speeds = speedsOf(speed.configured)
  const isOther = speeds.every(([, each]) => each !== speed.ticksPerSecond)
  const isOff = state === 'STOPPED' || state === 'ERROR'
  return (
    <span class="speed">
      <span class="muted small">speed</span>
      <fieldset class="row segments">
        <legend class="offscreen">Speed of {name}</legend>
        {speeds.map(([label, ticksPerSecond]) => (
          <GuardedButton
            key={label}
            needs="admin"
            name={ticksPerSecond === null ? 'As fast as possible' : `At most ${rate(ticksPerSecond)} ticks/s`}
            isPressed={speed.ticksPerSecond === ticksPerSecond}
            press={setSpeed(ticksPerSecond)}
          >
            {label}
          </GuardedButton>
        ))}
      </fieldset>
      {isOther && speed.ticksPerSecond !== null && (
        <span class="muted small">at most {rate(speed.ticksPerSecond)}/s</span>
      )}
      <GuardedButton
        needs="admin"
        name={`Make one tick of ${name}`}
        blocked={isOff ? `${name} does not run.` : undefined}
        press={step}
      >
        Step
      </GuardedButton>
    </span>
  )
}
