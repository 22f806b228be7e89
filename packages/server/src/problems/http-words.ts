/**
 * Errors are written for callers of the library. A client of this server has no library, so calls and options are
 * removed, and what it can do over HTTP is said instead. File paths on the server belong only in its log.
 */
import { API } from '../api.ts'

type Fields = { readonly [name: string]: unknown }

const topicPath = ({ topic }: Fields): string => `${API}/topics/${encodeURIComponent(String(topic ?? '<topic>'))}`

/** Advice by code, if the library's advice is a call. */
const ADVICE: { readonly [code: string]: (error: Fields) => string } = {
  TIDEMARK_TOPIC_NOT_FOUND: error => `PUT ${topicPath(error)} creates it`,
  TIDEMARK_PAYLOAD_TOO_LARGE: error =>
    `Store large data elsewhere and publish a reference, or raise maxMessageBytes: PUT ${topicPath(error)}`,
  TIDEMARK_UNKNOWN_TYPE: () => 'Send it as JSON, or as bytes without a type',
  TIDEMARK_STALE_DELIVERY: () =>
    'Undo or deduplicate your work; extend the receipt in time, or give the topic a longer lease',
  TIDEMARK_INVALID_RECEIPT: () => 'Send it exactly as it was given',
  TIDEMARK_TOO_MANY_GROUPS: error =>
    `Remove a group, or POST ${topicPath(error)}/tracking with offset, which supports any number`,
  TIDEMARK_INDEX_NOT_FOUND: () => `GET ${API}/runs lists the runs that have one`,
  TIDEMARK_STRATEGY_MISSING: () => 'The operator has to start this server with that strategy',
}

/** Used if the library's text would be of no use at all. */
const INSTEAD: { readonly [code: string]: (error: Fields) => string } = {
  TIDEMARK_INDEX_NOT_FOUND: ({ runId }) => `There is no index of run ${runId}`,
  TIDEMARK_CLOSED: () => 'The server is closing',
}

/** A called identifier in camel case, or one of our verbs; an option in code; the library's handle. */
const CODE =
  /\b(?:[a-z]+(?:[A-Z]\w*)+\(|(?:open|close|pull|poll|ack|nack|extend|repair|quarantine|start|stop|retry)\([^)]*\)|tm\.\w)|\b(?:create|autoCreate): true|\{ ?tx ?\}/

/** Preceded by neither a word nor another slash: not part of a URL, a media type or a key. */
const ABSOLUTE_PATH = /(?:\bfile:\/\/\/|(?<![\w.~%/*\]-])(?:\/(?!\/)|[A-Za-z]:\\))[^\s'"`,;:()<>|]+/g
const OURS = /^\/(?:api\/|health\b|metrics\b)/

/** What a client may be told of an error. */
export function httpWords(error: Fields): string {
  const code = String(error.code ?? '')
  const said = own(INSTEAD, code)?.(error) ?? withoutCode(String(error.message ?? ''))
  const advice = own(ADVICE, code)?.(error)
  return withoutPaths(advice === undefined ? said : `${said}. ${advice}`)
}

/** The file name stays: it tells which file it is. */
export function withoutPaths(text: string): string {
  return text.replaceAll(ABSOLUTE_PATH, path =>
    OURS.test(path) ? path : `…/${path.split(/[/\\]/).findLast(Boolean) ?? ''}`,
  )
}

const OF_ERRORS = new Set(['error', 'lastError', 'history'])

/** A record of the topics as a client may see it: error texts without paths. Everything else stays. */
export function withPlainErrors<T>(record: T, isError = false): T {
  if (typeof record === 'string') return (isError ? withoutPaths(record) : record) as T
  if (Array.isArray(record)) return record.map(each => withPlainErrors(each, isError)) as T
  if (typeof record !== 'object' || record === null || record instanceof Date) return record
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => {
      const isPayload = !isError && (name === 'payload' || name === 'headers')
      return [name, isPayload ? value : withPlainErrors(value, isError || OF_ERRORS.has(name))]
    }),
  ) as T
}

/** Sentences and clauses that contain code are removed; the others stay. */
function withoutCode(message: string): string {
  if (!CODE.test(message)) return message
  const sentences = message.split(/(?<=[^.])\. /).map(sentence => {
    return sentence
      .split('; ')
      .filter(clause => !CODE.test(clause))
      .join('; ')
  })
  return sentences.filter(sentence => sentence !== '').join('. ')
}

/** Own properties only: every object also has a 'constructor'. */
const own = <T>(table: { readonly [code: string]: T }, code: string): T | undefined =>
  Object.hasOwn(table, code) ? table[code] : undefined
