import { readFileSync } from 'node:fs'

/** Of this package, as its manifest says. */
export const VERSION: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
