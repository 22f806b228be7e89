import { readFileSync } from 'node:fs'

/** Version of this package, from its manifest. */
export const VERSION: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
