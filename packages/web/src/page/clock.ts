import { signal } from '@preact/signals'

/** The time of this browser, updated once a second while the page is visible, so that ages grow. */
export const now = signal(Date.now())
/** By how much this browser's clock is ahead of the server's. */
let ahead = 0

setInterval(() => {
  if (document.visibilityState === 'visible') now.value = Date.now()
}, 1000)

export const setServerTime = (time: string): void => {
  ahead = Date.now() - Date.parse(time)
}

/** Milliseconds since a time of the server, never negative. */
export const ageOf = (time: string | number): number =>
  Math.max(0, now.value - ahead - (typeof time === 'number' ? time : Date.parse(time)))

/** The server's time. */
export const serverNow = (): number => now.value - ahead

/** Milliseconds until a time of the server; negative if it has passed. */
export const untilOf = (time: string): number => Date.parse(time) - serverNow()
