/** Ticks per second at which a run can be played. */
export const SPEEDS = [1, 4, 8, 15, 30, 60, 120, 240, 480] as const
