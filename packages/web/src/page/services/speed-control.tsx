import type { Service } from './service-shapes.ts'

/** Only a simulation has a speed. */
export function SpeedControl(_: { service: Service; reload(): void }) {
  return null
}
