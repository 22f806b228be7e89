import packageJson from '../package.json' with { type: 'json' }

/** The version of this server, by which an open page notices a new one. */
export const VERSION: string = packageJson.version
