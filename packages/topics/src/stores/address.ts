import { ConfigError } from '../errors.ts'

export const ADDRESSES = "'sqlite:<file>', 'sqlite::memory:', 'postgres://…' or 'nats://…'"

export const addressError = (option: string, url: unknown): ConfigError =>
  new ConfigError(option, typeof url === 'string' ? shownAddress(url) : url, ADDRESSES)

/** The address may contain a password, so only its scheme is shown. */
export const shownAddress = (url: string): string => url.replace(/(:).*$/s, '$1…')
