import { times } from '../preferences.ts'

/** The zone in which times of day are written: the reader's own, unless UTC was chosen. */
export const zone = (): 'local' | 'utc' => (times.value === 'utc' ? 'utc' : 'local')
