import { ConfigError } from 'tidemark'

/** Never quotes it: it may contain a password. */
export function checkEndpoint(path: string, value: unknown): string {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  const isPlain =
    url !== undefined && url.username === '' && url.password === '' && url.search === '' && url.hash === ''
  if (url && isPlain && ['http:', 'https:'].includes(url.protocol) && url.pathname === '/') return url.origin
  throw new ConfigError(
    path,
    '(hidden)',
    'the address of a server such as https://objects.example.com, without a path and without credentials',
  )
}
