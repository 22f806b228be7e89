/** What an action on a service will do. */
export const SERVICE_TEXTS = {
  start: (name: string): string => `${name} starts and goes on where it was.`,
  resume: (name: string): string => `${name} goes on.`,
  pause: (name: string): string => `${name} stands still between two steps and keeps everything in hand.`,
  stop: (name: string): string => `${name} stops. The partly filled batch is written first; indexers catch up later.`,
  restart: (name: string): string =>
    `${name} stops and starts again. The partly filled batch is written first; indexers catch up later.`,
} as const

export type ServiceVerb = keyof typeof SERVICE_TEXTS

export const DONE: { readonly [verb in ServiceVerb]: string } = {
  start: 'Started',
  resume: 'Resumed',
  pause: 'Paused',
  stop: 'Stopped',
  restart: 'Restarted',
}

/** The verb that undoes it; none if nothing does. */
export const UNDO: { readonly [verb in ServiceVerb]?: readonly [label: string, verb: ServiceVerb] } = {
  pause: ['Resume', 'resume'],
  resume: ['Pause', 'pause'],
  stop: ['Start', 'start'],
  start: ['Stop', 'stop'],
}
