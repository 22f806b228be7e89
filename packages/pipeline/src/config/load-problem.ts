import { basename } from 'node:path'

/** Why a module could not be loaded, with the file and line of the author's code that the error points at. */
export function loadProblem(cause: unknown): string {
  const problem = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
  return `it could not be loaded: ${problem}${lineOf(cause)}`
}

/**
 * The stack of a syntax error begins with '<file>:<line>', of the file itself or one that it imports. An error thrown
 * during loading has a frame for each call; the first outside of packages and Node is where the author has to look.
 */
function lineOf(cause: unknown): string {
  const stack = cause instanceof Error ? (cause.stack ?? '') : ''
  const [, parsed, parsedLine] = /^(?:file:\/\/)?(\/.*):(\d+)\n/.exec(stack) ?? []
  if (parsed !== undefined) return ` (${basename(parsed)}, line ${parsedLine})`
  const frames = [...stack.matchAll(/^ +at .*?(?:file:\/\/)?(\/[^()\n]*):(\d+):\d+\)?$/gm)]
  const own = frames.find(([, file = '']) => !file.includes('/node_modules/') && !isOurs(file))
  return own === undefined ? '' : ` (${basename(own[1] ?? '')}, line ${own[2]})`
}

/** Whether it is in the folder of this package's code, which is unknown in a CommonJS bundle. */
function isOurs(file: string): boolean {
  const { url } = import.meta
  return url !== undefined && file.startsWith(new URL('..', url).pathname)
}
