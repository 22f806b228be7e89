/** Milliseconds on the system's monotonic clock, which the processes of one machine share. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6
