import { times } from '../preferences.ts'

/** The time zone of displayed times: the user's own, unless UTC was chosen. */
export const zone = (): 'local' | 'utc' => (times.value === 'utc' ? 'utc' : 'local')
